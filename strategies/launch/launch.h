#pragma once
/* Launch commands: the flags with which a training framework runs a layout, one file and one row of
 * RH_FRAMEWORKS per framework. A framework has a flag for each knob of a layout; a knob or value
 * without one is refused by name, and never left out.
 *
 *     g_autoptr(RhLaunch) launch = rh_launch_new("megatron", c, &layout, &error);
 *     g_autofree char *script = rh_launch_script(launch, RH_LAUNCHER_SHELL); */
#include "strategies/train/train.h"

/* The frameworks, a ROW each: the name, whose file ends in rh_framework_NAME. As choices of an
 * option: RH_FRAMEWORK_CHOICES, names behind "|". */
#define RH_FRAMEWORKS(ROW)                                                                         \
    ROW(megatron) ROW(torchtitan) ROW(deepspeed) ROW(peft) ROW(nemo) ROW(maxtext)
#define RH_FRAMEWORK_AS_CHOICE(name) "|" #name "|" #name "+slurm"
#define RH_FRAMEWORK_CHOICES         (&(RH_FRAMEWORKS(RH_FRAMEWORK_AS_CHOICE) "|slurm")[1])

typedef struct RhLaunch {
    const char *title, *version; /* "Megatron-LM", "core_v0.15.3" */
    const char *program;         /* what torchrun starts: "pretrain_gpt.py" */
    /* without torchrun: `program` is the command, once a node, its flags NAME=VALUE */
    bool starts_itself;
    int32_t nodes, gpus_of_node; /* where it is started, and ranks on each */
    char *name;                  /* of the model, fit for a job's name */
    char *environment; /* "CUDA_DEVICE_MAX_CONNECTIONS=1", "" for nothing; owned, as all */
    char *files;       /* here-documents of what the program reads besides; "" for nothing */
    char *flags;       /* one line; $WORDS stand for what only the user knows */
    char *
        preflight; /* a program that torchrun starts before it, and goes on where it ends well; NULL: none */
    char *notes; /* what else must hold, a line each; "" for nothing */
} RhLaunch;

/* Options of a launch script that do not depend on the layout. */
typedef struct {
    const char *save, *load; /* folders of checkpoints: written to, begun from; NULL: none */
    int64_t save_steps;      /* a checkpoint after so many steps each */
    bool preflight;          /* an all-reduce is measured first, beside what was planned with */
} RhLaunchOptions;

/* A launcher starts the program on every node: the user by a shell, with NODE_RANK and MASTER_ADDR
 * set there, or Slurm. */
typedef enum { RH_LAUNCHER_SHELL, RH_LAUNCHER_SLURM } RhLauncher;

/* RH_ERROR_USAGE for a framework that is not known, and for what it cannot run, with the reason. */
RhLaunch *rh_launch_new(const char *framework, const RhProblem *c, const RhLayout *layout,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the launch with further options of its script; NULL: none. Errors as of rh_launch_new. */
RhLaunch *rh_launch_new_with(const char *framework, const RhProblem *c, const RhLayout *layout,
                             const RhLaunchOptions *extras,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_launch_free(RhLaunch *launch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLaunch, rh_launch_free)

/* A shell script that starts it, lines of 79 columns at most where words allow; caller frees.
 * For Slurm it begins as sbatch wants it. */
char *rh_launch_script(const RhLaunch *launch, RhLauncher launcher);

/* Names of the frameworks, NULL-ended. */
const char *const *rh_launch_frameworks(void);

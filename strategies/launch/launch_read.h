#pragma once
/* Reads somebody's own training launch: a script or command of Megatron-LM, TorchTitan, DeepSpeed,
 * MaxText or NeMo, a manifest of Kubernetes that runs one, or the configuration file of one of these, of axolotl or LLaMA-Factory. What it is
 * is found by its content.
 *
 *     g_autoptr(RhLaunchFile) file = rh_launch_read("train.sh", error);
 *     g_autofree char *layout = rh_launch_file_layout(file, gpus, &batch); */
#include "strategies/layout.h"

typedef struct RhLaunchFile {
    const char *framework;     /* "megatron", or a name that no launch is written for: "axolotl" */
    char *about;               /* "a Megatron-LM launch script" */
    char *workload;            /* for -w; NULL: not said */
    GPtrArray *sets;           /* "KEY=VALUE" of the model and the job */
    const char *stack, *dtype; /* for --stack and --dtype */
    int64_t global_batch, sequence, accumulation, nodes, gpus_of_node, gpus; /* 0: not said */
    RhLayout layout;
    uint64_t given;     /* RH_KNOB_BIT (knobs.h) of the knobs that it decides */
    GPtrArray *used;    /* settings that were read: "name value" */
    GPtrArray *unknown; /* whose effect on the cost is unknown */
    GPtrArray *outside; /* whose value is set outside the file: "name $VALUE" */
    GPtrArray *notes;   /* what is simulated otherwise than it is said */
    GPtrArray *files;   /* paths of all that were read: itself, and those that it names */
} RhLaunchFile;

/* Says what a file is, as "a Megatron-LM launch script"; NULL: no launch. */
const char *rh_launch_kind_of(const char *path);
/* Reads a launch; "FILE#2" is the second run of a command in a loop. RH_ERROR_IO; RH_ERROR_INPUT with
 * file:line:col: no launch, a value that it cannot have, or a loop whose runs differ in cost. */
RhLaunchFile *rh_launch_read(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_launch_file_free(RhLaunchFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhLaunchFile, rh_launch_file_free)

/* Returns the layout as -s has it; with GPUs known (0: not), the number of samples of a step follows
 * from micro-batches where the file does not say it. Caller frees. */
char *rh_launch_file_layout(const RhLaunchFile *file);
int64_t rh_launch_file_batch(const RhLaunchFile *file, int64_t gpus);
/* Returns the number of GPUs that the file says or that follows from its batches; 0: neither. */
int64_t rh_launch_file_gpus(const RhLaunchFile *file);

struct RhLaunch;
/* Returns the settings that differ between two launches of one framework, in the words of the
 * second: "--flag old -> new", a line each; the caller frees. */
GPtrArray *rh_launch_changes(const struct RhLaunch *from, const struct RhLaunch *to);

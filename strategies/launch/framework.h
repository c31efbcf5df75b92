#pragma once
/* A framework as a table of words. Private to this folder. */
#include "strategies/knobs.h"
#include "strategies/launch/launch.h"
#include "workloads/features.h"

/* What CUDA does by itself (CUDA C++ programming guide, environment variables), said over what an image or a script may
 * have set. */
#define RH_LAUNCH_CUDA_QUEUES "CUDA_DEVICE_MAX_CONNECTIONS=8"

/* What is said so far. */
typedef struct {
    const RhCase *c;
    const RhLayout *layout;
    GString *environment, *files, *flags, *notes;
} RhLaunchText;

/* How a knob is said: by a flag before its number, by a text for each value, or by a function; by
 * nothing where all three are NULL (the framework derives it). */
typedef struct {
    const char *key; /* of the knob */
    const char *flag;
    const char *const *values; /* by value: "" says nothing, NULL cannot be said */
    int32_t values_count;
    bool (*say)(RhLaunchText *t, GError **error); /* RH_ERROR_USAGE: cannot be said */
} RhLaunchWord;

typedef struct {
    const char *name;    /* --emit megatron */
    const char *title;   /* Megatron-LM */
    const char *version; /* of the project, whose words and rules these are */
    const char *program; /* what torchrun starts: "pretrain_gpt.py", "-m torchtitan.train" */
    bool starts_itself;  /* RhLaunch.starts_itself */
    const RhLaunchWord *words;
    int32_t words_count;
    uint32_t features; /* RhFeature: of models, that are said too; all others are refused */
    /* What the framework refuses of a layout as a whole, and then all that no knob says: the model,
     * the job, the environment. */
    bool (*check)(const RhCase *c, const RhLayout *layout, GError **error);
    bool (*say_rest)(RhLaunchText *t, GError **error);
} RhFramework;

#define RH_DECLARE_FRAMEWORK(name) extern const RhFramework rh_framework_##name;
RH_FRAMEWORKS(RH_DECLARE_FRAMEWORK)

/* RH_ERROR_USAGE: `what` of the case's model ("its attention") has no words here. */
bool rh_launch_fail_model(const RhFramework *framework, const RhCase *c, const char *what,
                          GError **error);
/* Further words, with a space between. */
void rh_launch_say(RhLaunchText *t, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* A file that the program reads: a here-document of the script. `text` ends in a line feed and has no
 * line "END". */
void rh_launch_file(RhLaunchText *t, const char *name, const char *text);
void rh_launch_note(RhLaunchText *t, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Whether the optimizer's moments are other than fp32. */
bool rh_launch_has_narrow_moments(const RhCase *c);

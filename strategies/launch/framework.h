#pragma once
/* A framework as a table of words. Private to this folder. */
#include "strategies/knobs.h"
#include "strategies/launch/framework_settings.h"
#include "strategies/launch/launch.h"
#include "workloads/features.h"

/* CUDA's default (CUDA C++ programming guide, environment variables), set explicitly to override an
 * image or a script. */
#define RH_LAUNCH_CUDA_QUEUES "CUDA_DEVICE_MAX_CONNECTIONS=8"

/* Text of a launch under construction. */
typedef struct RhLaunchText {
    const RhProblem *c;
    const RhLayout *layout;
    int64_t sizes[RH_SIZE_LAST];   /* of the model */
    const RhLaunchOptions *extras; /* never NULL */
    GString *environment, *files, *flags, *notes;
    const char *program; /* what is started in place of the framework's own; NULL: that */
} RhLaunchText;

/* How a framework builds a model, before the first step: a row for degrees of ZeRO up to one. */
typedef struct {
    int32_t zero_most;
    bool adapts;        /* of adapters beside trained weights alone */
    bool once;          /* one rank of a node does, for all of them */
    const char *how;    /* ends "each rank ..." */
    int32_t host_bytes; /* that it has on its host meanwhile, for each parameter of the model */
    const char *where;  /* file:line of the project */
} RhLaunchStart;
#define RH_LAUNCH_STARTS_MAX 4

/* How a knob is written: by a flag before its number, by a text for each value, or by a function; by
 * nothing where all three are NULL (the framework derives it). */
typedef struct {
    const char *key; /* of the knob */
    const char *flag;
    const char *const *values; /* by value: "": no option; NULL: the framework has none */
    int32_t values_count;
    bool (*write)(RhLaunchText *t,
                  GError **error); /* RH_ERROR_USAGE: the framework has no option for the value */
} RhLaunchOption;

typedef struct RhFramework {
    const char *name;    /* --emit megatron */
    const char *title;   /* Megatron-LM */
    const char *version; /* of the project, whose words and rules these are */
    const char *program; /* what torchrun starts: "pretrain_gpt.py", "-m torchtitan.train" */
    bool starts_itself;  /* RhLaunch.starts_itself */
    const RhLaunchOption *words; /* NULL: rows say how knobs are written, too */
    int32_t words_count;
    const RhLaunchRow *rows;
    int32_t rows_count;
    const char *assigned; /* between a flag and its value: " ", "=" */
    const char *dashes;   /* before a flag: "--", "" */
    /* For a launch that is read: what is so where nothing is said (a layout's text), settings that
     * change no cost (patterns, "|" between; "name=a/b": at these values), and what is worked out when all is read. */
    const char *usual, *costless;
    void (*finish)(RhLaunchReading *r);
    const struct RhFramework *kin; /* whose rows are tried by the last part of a name; NULL: none */
    RhLaunchStart starts[RH_LAUNCH_STARTS_MAX]; /* by rising zero_most; ended by one without how */
    uint32_t
        features; /* RhFeature: those of models that it has options for; all others are refused */
    bool
        holds_nf4; /* it is told of frozen weights of 4 bits (NF4), and notes its start itself then */
    /* Refuses layouts as a whole. */
    bool (*check)(const RhProblem *c, const RhLayout *layout, GError **error);
    /* Writes everything that no knob determines: the model, the job, the environment. */
    bool (*write_rest)(RhLaunchText *t, GError **error);
} RhFramework;

#define RH_DECLARE_FRAMEWORK(name) extern const RhFramework rh_framework_##name;
RH_FRAMEWORKS(RH_DECLARE_FRAMEWORK)

/* DeepSpeed's optimizers that exchange by a codec, at its kind; NULL: none does. */
extern const char *const rh_deepspeed_optimizers[RH_CODEC_LAST];

/* RH_ERROR_USAGE: `what` of the case's model ("its attention") has no words here. */
bool rh_launch_fail_model(const RhFramework *framework, const RhProblem *c, const char *what,
                          GError **error);
/* Further words, with a space between. */
void rh_launch_write(RhLaunchText *t, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* A file that the program reads: a here-document of the script. `text` ends in a line feed and
 * has no line "END". */
void rh_launch_file(RhLaunchText *t, const char *name, const char *text);
void rh_launch_note(RhLaunchText *t, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* --- numerics: figures of a model's file that change no cost (workloads/config/rope_and_norm_settings.h) --- */

/* A number as all frameworks read it: "1e-05". `text` is its room. */
typedef struct {
    char text[G_ASCII_DTOSTR_BUF_SIZE];
} RhLaunchNumber;
const char *rh_launch_number(RhLaunchNumber *room, double value);
/* Activation of feed-forward layers; by default SiLU for gated ones and GELU for others. */
typedef enum {
    RH_ACTIVATION_SILU,
    RH_ACTIVATION_GELU,
    RH_ACTIVATION_RELU,
    RH_ACTIVATION_RELU2,
    RH_ACTIVATION_OTHER
} RhActivationKind;
RhActivationKind rh_launch_activation(const RhModel *model);
/* RH_ERROR_USAGE: gated layers have another activation than SiLU, other layers one that is not
 * among `plain` (bits of RhActivationKind), or positions turn a part of each head where `parts`
 * is false. */
bool rh_launch_check_numerics(const RhFramework *framework, const RhProblem *c, uint32_t plain,
                              bool parts, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Notes the numerics that the file leaves out, and a scaling of positions that the framework's words,
 * `written` being false, cannot express. */
void rh_launch_note_numerics(RhLaunchText *t, const RhFramework *framework, bool written);

/* Writes the program that measures all-reduces first, with what they should reach:
 * `extras->preflight`. */
bool rh_launch_preflight(const RhProblem *c, RhLaunchText *t,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
#define RH_LAUNCH_PREFLIGHT_FILE "rehearsed_preflight.py"

/* Whether the optimizer's moments are other than fp32. */
bool rh_launch_has_narrow_moments(const RhProblem *c);

#pragma once
/* A framework's settings as a table in both directions: the rows that a launch is written from are
 * the rows that somebody's launch is read by. Private to this folder.
 *
 * A row with `read` alone is of another release, or of what the simulator says otherwise: it is read
 * and never written. A row is a number of a knob or of the model ("--tensor-model-parallel-size 8"), a switch that
 * stands for one value of it, or has functions of its own, one for each direction. */
#include "strategies/knobs.h"
#include "strategies/launch/launch.h"
#include "strategies/launch/launch_settings.h"

/* Sizes and traits of a model, as frameworks say them; -1: not said. */
typedef enum {
    RH_SIZE_NONE,
    RH_SIZE_LAYERS,
    RH_SIZE_HIDDEN,
    RH_SIZE_FFN,
    RH_SIZE_HEADS,
    RH_SIZE_GROUPS, /* key-value heads */
    RH_SIZE_HEAD,   /* columns of a head */
    RH_SIZE_VOCAB,
    RH_SIZE_POSITIONS,
    RH_SIZE_WINDOW,
    RH_SIZE_EXPERTS,
    RH_SIZE_ASKED,      /* experts of a token */
    RH_SIZE_EXPERT_FFN, /* an expert's width */
    RH_SIZE_SHARED_FFN,
    RH_SIZE_DENSE_LAYERS, /* the first ones, of a model with experts */
    RH_SIZE_Q_LATENT,
    RH_SIZE_KV_LATENT,
    RH_SIZE_NOPE, /* columns of a head without positions, with them, and of a value */
    RH_SIZE_ROPE,
    RH_SIZE_VALUE,
    RH_SIZE_ROTARY_BASE,
    RH_SIZE_GATED, /* traits: 0 or 1 */
    RH_SIZE_RMS,
    RH_SIZE_ROTARY,
    RH_SIZE_TIED,
    RH_SIZE_BIASED,
    RH_SIZE_QKV_BIASED,
    RH_SIZE_QK_NORM,
    RH_SIZE_LATENT, /* latent attention */
    RH_SIZE_LAST
} RhLaunchSize;

/* Figures of the job beside knobs; -1: not said. */
typedef enum {
    RH_JOB_FIELD_NONE,
    RH_JOB_FIELD_GLOBAL_BATCH,
    RH_JOB_FIELD_SEQUENCE,
    RH_JOB_FIELD_ACCUMULATION, /* micro-batches of a step */
    RH_JOB_FIELD_NODES,
    RH_JOB_FIELD_GPUS_OF_NODE,
    RH_JOB_FIELD_GPUS, /* all of them */
    RH_JOB_FIELD_LORA_RANK,
    RH_JOB_FIELD_OWN, /* the first of those that only one framework has */
    RH_JOB_FIELD_LAST = RH_JOB_FIELD_OWN + 24
} RhLaunchJobField;

/* What was read so far. */
typedef struct {
    const struct RhFramework *framework;
    RhLaunchSettings *settings;
    const RhLaunchSetting *at; /* the one that is read */
    RhLayout layout;
    uint64_t given; /* RH_KNOB_BIT of knobs that the file or the framework decides */
    int64_t sizes[RH_SIZE_LAST], job[RH_JOB_FIELD_LAST];
    char *texts[4];    /* of a framework's own rows; owned */
    char *model;       /* a hub's name, a folder, or a catalogue's name; owned; NULL: not said */
    const char *dtype; /* of --dtype; NULL: not said */
    const char *stack; /* NULL: the framework's own */
    GPtrArray *sets;   /* owned: "KEY=VALUE" of the job */
    GPtrArray *notes;  /* owned: what is not as it is simulated */
    GPtrArray *used, *unknown, *outside; /* owned: "--flag value" lines (see launch_read.h) */
    bool nodes_outside;                  /* the number of nodes is among `outside` */
    GPtrArray *files;                    /* owned: paths that were read */
    guint run, runs; /* of a command in a loop: the one that is read, from 1; how many there are */
    guint command_row; /* of its settings: the first that the command itself says */
} RhLaunchReading;

struct RhLaunchText;

typedef struct RhLaunchRow {
    const char *name; /* "tensor-model-parallel-size"; NULL: the framework derives the knob */
    const char *also; /* further names of it, "|" between: of other releases */
    int32_t knob;     /* 1 + place among rh_knobs; 0: it is of no knob */
    int32_t size;     /* RhLaunchSize; 0: none */
    int32_t job;      /* RhLaunchJobField, or a figure of the framework's own; 0: none */
    int32_t on;       /* a switch: the value that it stands for; 0: it is a number */
    int64_t
        otherwise; /* the number that is not written; RH_ROW_ALWAYS: each is, RH_ROW_NEVER: none */
    uint32_t allowed; /* of a row without a name: values that the framework runs, as bits; 0: all */
    /* Returns the value to write, "" of a switch, NULL: nothing is written. Caller frees. */
    char *(*write)(const struct RhLaunchText *t);
    void (*read)(RhLaunchReading *r, const char *text);
    bool quoted;       /* the value needs quotes in a shell */
    bool may_be_unset; /* -1: the framework works it out */
} RhLaunchRow;

#define RH_ROW_ALWAYS      INT64_MIN
#define RH_ROW_NEVER       INT64_MAX /* it is read alone */
#define RH_ROW_KNOB(field) (1 + RH_KNOB_AT_##field)

/* Writes the rows in their order: " --name value". RH_ERROR_USAGE: a knob's value has no row. */
bool rh_launch_write_rows(struct RhLaunchText *t, const struct RhFramework *f,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* RH_ERROR_USAGE: the framework has nothing for this value of a knob. */
bool rh_launch_fail_knob(const struct RhFramework *f, const RhKnob *knob, int32_t value,
                         GError **error);
/* Sets sizes and traits of a model. */
void rh_launch_sizes_of(const RhModel *model, int64_t sizes[RH_SIZE_LAST]);

/* --- reading --- */

/* Reads all settings by the rows of r->framework. */
void rh_launch_read_rows(RhLaunchReading *r);
/* Reads a whole number, also "8.0"; false: it is none (told as a problem), or "auto". */
bool rh_launch_read_number(RhLaunchReading *r, const char *text, int64_t *value);
/* Reads a switch: "", "true", "1" and the like; anything else is off. */
bool rh_launch_read_switch(const char *text);
/* Stores a knob's number or value, as -s has it; a problem where the knob has no such value. */
void rh_launch_store(RhLaunchReading *r, int32_t knob, int64_t value);
/* Reads the name of an optimizer, and tells that another than Adam is simulated as Adam. */
void rh_launch_read_optimizer(RhLaunchReading *r, const char *text);
void rh_launch_problem(RhLaunchReading *r, const char *help, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* Lets a problem found later point at the setting of a knob (RH_ROW_KNOB) or of a figure of the
 * job; the
 * whole file where none says it. */
void rh_launch_point(RhLaunchReading *r, int32_t knob, int32_t job);
void rh_launch_tell(RhLaunchReading *r, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Multiplies counts that a file gave; at most 2^40. */
static inline int64_t rh_launch_times(int64_t a, int64_t b)
{
    int64_t product = 0;
    const int64_t most = INT64_C(1) << 40;
    return __builtin_mul_overflow(a, b, &product) ? most : MIN(product, most);
}

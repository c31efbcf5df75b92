#pragma once
/* A table of training steps that others measured and published: what was run, on what, and how long
 * a step took, or that it ran out of memory. CSV in a form of our own:
 *
 *     # rehearse.steps/1
 *     # source.NAME=who measured it, where it stands, when
 *     # title.NAME=what its rows go by elsewhere (validate/data/published.json)
 *     # network.NAME=why that source's share of its NICs is its own, and not the stack's
 *     # network.NAME/TABLE=the same of one of its tables
 *     # stack.NAME=the stack whose habits its runs have (strategies/software_stack.h); the fitted one's where
 *       there is no such line. Its constants are the fitted one's
 *     # model.NAME=llama layers=40 hidden=5120 heads=40 ffn=13824 vocab=128000
 *     source,table,model,platform,gpus,...                      the header, RH_STEPS_HEADER
 *     aleph,13B_64,aleph-13b,dgx-a100:8,64,2048,2048,bf16,tp2 pp2 dp16 mb1
 * zero1,flash,fused,,26.54,
 *
 * A layout is the text form of strategies/layout.h and a platform that of platforms/platform.h,
 * with spaces for commas. `attention` is flash or unfused, `norms` fused or eager. `apart`: empty,
 * or what of the run the model cannot say, or why it is kept out: such rows are predicted and take
 * no part in a fit. `step_s` is seconds, or oom. `peak_gib`: of the fullest GPU, where measured.
 * A model is a catalogue name or a shape (published_models.h). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "strategies/train/train.h"

#define RH_STEPS_FIRST_LINE "# rehearse.steps/1"
#define RH_STEPS_HEADER                                                                            \
    "source,table,model,platform,gpus,global_batch,sequence,dtype,layout,attention,norms,apart,"   \
    "step_s,peak_gib"

typedef struct {
    const char *source, *table; /* interned */
    const RhModel *model;       /* the table's */
    const RhPlatform *platform; /* the table's; bare, no stack's view */
    RhJob job;
    RhLayout layout;
    const RhStack *habits; /* NULL: the fitted stack's */
    bool flash_attention, fused_norms;
    const char *apart;  /* interned; "" takes part in fits */
    bool out_of_memory; /* the run died; then seconds is 0 */
    double seconds;
    double peak_bytes; /* 0: not measured */
    int32_t line;
    uint32_t group; /* rows that err together: one source, model, sequence, kernels and recompute */
} RhMeasuredStep;

typedef struct {
    char *name;           /* owned: file name, for messages */
    GArray *rows;         /* RhMeasuredStep */
    GPtrArray *models;    /* RhModel*, owned */
    GPtrArray *platforms; /* RhPlatform*, owned */
    GHashTable *sources;  /* interned name -> owned text */
    GHashTable *titles;   /* interned name -> owned text; of sources that have one */
    GHashTable *habits;   /* interned name of a source -> const RhStack* */
    /* const char*, interned: SOURCE or SOURCE/TABLE whose network is its own */
    GPtrArray *networks;
} RhMeasuredSteps;

/* Does the text begin as such a table? */
bool rh_steps_begin(const char *text);
/* RH_ERROR_INPUT with file:line and how to mend it; RH_ERROR_IO. Every row that is not apart is
 * legal under `stack` (whose kernels are the row's). */
RhMeasuredSteps *rh_steps_parse(const char *name, const char *text,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
RhMeasuredSteps *rh_steps_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_steps_free(RhMeasuredSteps *steps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhMeasuredSteps, rh_steps_free)

/* "aleph 13B_64: aleph-13b, 64 GPUs, tp2,pp2,..., flash, eager norms (line 31)". Caller frees. */
char *rh_step_describe(const RhMeasuredStep *step);

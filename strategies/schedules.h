#pragma once
/* The pipeline schedules there are: one row each, and everything that lists, names, reads or
 * searches schedules is made from the rows. The order of a schedule's slots is in
 * strategies/train/schedules/NAME.c.
 *
 * A row: constant (RH_PIPELINE_...), object (rh_pipeline_...), name in text and JSON, title (NULL:
 * what else a title says tells it), and whether a stage holds several chunks (vpp > 1), or one. */
#include <stdbool.h>

#define RH_PIPELINES(ROW)                                                                          \
    ROW(GPIPE, gpipe, "gpipe", "GPipe", false)                                                     \
    ROW(1F1B, 1f1b, "1f1b", NULL, false)                                                           \
    ROW(INTERLEAVED, interleaved, "interleaved", NULL, true)                                       \
    ROW(ZB_H1, zb_h1, "zb-h1", "ZB-H1", false)

typedef enum {
    RH_PIPELINE_NONE,
#define RH_PIPELINE_CONSTANT(constant, object, name, title, chunked) RH_PIPELINE_##constant,
    RH_PIPELINES(RH_PIPELINE_CONSTANT)
#undef RH_PIPELINE_CONSTANT
        RH_PIPELINE_LAST
} RhPipelineKind;

const char *rh_pipeline_kind_name(RhPipelineKind kind);
const char *rh_pipeline_kind_title(RhPipelineKind kind); /* NULL: has none */
/* Does a stage hold several chunks of the model under it? */
bool rh_pipeline_kind_chunked(RhPipelineKind kind);
/* "none" and all names, NULL-ended: the name of `kind` is at [kind]. */
extern const char *const rh_pipeline_kind_names[];

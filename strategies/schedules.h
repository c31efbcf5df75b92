#pragma once
/* The pipeline schedules there are: one row each, and everything that lists, names, reads or
 * searches schedules is made from the rows. The order of a schedule's slots is in
 * strategies/train/schedules/NAME.c.
 *
 * A row: constant (RH_PIPELINE_...), object (rh_pipeline_...), name in text and JSON, title (NULL:
 * what else a title says tells it), how many chunks a stage holds (vpp): one, two, RH_CHUNKS_ANY
 * above one; of how many copies of the model (with two, a stage's second chunk is of the second
 * copy, whose stages lie in opposite order); and for which models the search tries it: of any kind,
 * with experts, of pictures, or where it is asked for. */
#include <stdbool.h>
#include <stdint.h>

#define RH_CHUNKS_ANY 0
typedef enum { RH_FOR_ALL, RH_FOR_EXPERTS, RH_FOR_PICTURES, RH_FOR_THE_ASKING } RhSchedulePurpose;
#define RH_PIPELINES(ROW)                                                                          \
    ROW(GPIPE, gpipe, "gpipe", "GPipe", 1, 1, RH_FOR_ALL)                                          \
    ROW(1F1B, 1f1b, "1f1b", NULL, 1, 1, RH_FOR_ALL)                                                \
    ROW(INTERLEAVED, interleaved, "interleaved", NULL, RH_CHUNKS_ANY, 1, RH_FOR_ALL)               \
    ROW(ZB_H1, zb_h1, "zb-h1", "ZB-H1", 1, 1, RH_FOR_ALL)                                          \
    ROW(ZB_H2, zb_h2, "zb-h2", "ZB-H2", 1, 1, RH_FOR_ALL)                                          \
    ROW(ZB_V, zb_v, "zb-v", "ZB-V", 2, 1, RH_FOR_ALL)                                              \
    ROW(DUALPIPE_V, dualpipe_v, "dualpipe-v", "DualPipeV", 2, 1, RH_FOR_EXPERTS)                   \
    ROW(DUALPIPE, dualpipe, "dualpipe", "DualPipe", 2, 1, RH_FOR_THE_ASKING)                       \
    ROW(GEMS, gems, "gems", "GEMS", 2, 2, RH_FOR_PICTURES)
typedef enum {
    RH_PIPELINE_NONE,
#define RH_PIPELINE_CONSTANT(constant, ...) RH_PIPELINE_##constant,
    RH_PIPELINES(RH_PIPELINE_CONSTANT)
#undef RH_PIPELINE_CONSTANT
        RH_PIPELINE_LAST
} RhPipelineKind;

const char *rh_pipeline_kind_name(RhPipelineKind kind);
const char *rh_pipeline_kind_title(RhPipelineKind kind); /* NULL: has none */
/* Does a stage hold several chunks of the model under it; and how many: RH_CHUNKS_ANY, or the one
 * number there is. */
bool rh_pipeline_kind_chunked(RhPipelineKind kind);
int32_t rh_pipeline_kind_chunks(RhPipelineKind kind);
int32_t rh_pipeline_kind_copies(RhPipelineKind kind);
RhSchedulePurpose rh_pipeline_kind_purpose(RhPipelineKind kind);
/* "none" and all names, NULL-ended: the name of `kind` is at [kind]. */
extern const char *const rh_pipeline_kind_names[];

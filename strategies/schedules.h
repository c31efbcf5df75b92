#pragma once
/* The pipeline schedules there are: one row each, and everything that lists, names, reads or
 * searches schedules is made from the rows. The order of a schedule's slots is in
 * strategies/train/schedules/NAME.c.
 *
 * A row: constant (RH_SCHEDULE_...), object (rh_schedule_...), name in text and JSON, title (NULL:
 * what else a title says tells it), and whether a stage holds several chunks (vpp > 1), or one. */
#include <stdbool.h>

#define RH_SCHEDULES(ROW)                                                                          \
    ROW(GPIPE, gpipe, "gpipe", "GPipe", false)                                                     \
    ROW(1F1B, 1f1b, "1f1b", NULL, false)                                                           \
    ROW(INTERLEAVED, interleaved, "interleaved", NULL, true)                                       \
    ROW(ZB_H1, zb_h1, "zb-h1", "ZB-H1", false)

typedef enum {
    RH_SCHEDULE_NONE,
#define RH_SCHEDULE_CONSTANT(constant, object, name, title, chunked) RH_SCHEDULE_##constant,
    RH_SCHEDULES(RH_SCHEDULE_CONSTANT)
#undef RH_SCHEDULE_CONSTANT
        RH_SCHEDULE_LAST
} RhScheduleKind;

const char *rh_schedule_kind_name(RhScheduleKind kind);
const char *rh_schedule_kind_title(RhScheduleKind kind); /* NULL: has none */
/* Does a stage hold several chunks of the model under it? */
bool rh_schedule_kind_chunked(RhScheduleKind kind);
/* "none" and all names, NULL-ended: the name of `kind` is at [kind]. */
extern const char *const rh_schedule_kind_names[];

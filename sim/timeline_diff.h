#pragma once
/* Two timelines of one program laid over each other: a rehearsal and a real run, say. */
#include "sim/timeline.h"

/* Tasks of one name on one lane. */
typedef struct {
    const char *name; /* interned */
    int32_t lane, count;
    double a_duration_s, b_duration_s; /* means */
    double late_s;                     /* mean start in b less start in a */
} RhTimelineDiffRow;

typedef struct {
    int32_t common_count, a_only_count, b_only_count;
    double a_end_s, b_end_s;        /* of the last task */
    double median_start_error_s;    /* of common tasks, without sign */
    GArray *rows;                   /* RhTimelineDiffRow, by time in a, longest first */
    bool parted;                    /* some task starts off by more than `RH_OVERLAY_PARTED` of a */
    RhTimelineEvent a_part, b_part; /* the first such, by time in a */
} RhTimelineDiff;

#define RH_OVERLAY_PARTED 0.02

/* Events as rh_timeline_read gives them; tasks are matched by GPU and number. */
RhTimelineDiff *rh_timeline_diff_new(const GArray *a, const GArray *b);
void rh_timeline_diff_free(RhTimelineDiff *overlay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhTimelineDiff, rh_timeline_diff_free)

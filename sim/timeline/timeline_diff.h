#pragma once
/* Compares two timelines of one program, such as a rehearsal and a real run. */
#include "sim/timeline/timeline_file.h"

/* Means over the tasks of one name on one lane. */
typedef struct {
    const char *name; /* interned */
    int32_t lane, count;
    double a_duration_s, b_duration_s; /* means */
    double late_s;                     /* mean start in b less start in a */
} RhTimelineDiffRow;

typedef struct {
    int32_t common_count, a_only_count, b_only_count;
    double a_end_s, b_end_s;     /* of the last task */
    double median_start_error_s; /* absolute, over common tasks */
    GArray *rows;                /* RhTimelineDiffRow, by time in a, longest first */
    /* some task's start differs by more than RH_OVERLAY_PARTED of a's end */
    bool parted;
    RhTimelineEvent a_part, b_part; /* the first such task, by time in a */
} RhTimelineDiff;

#define RH_OVERLAY_PARTED 0.02

/* Compares events from rh_timeline_read; tasks are matched by GPU and number. */
RhTimelineDiff *rh_timeline_diff_new(const GArray *a, const GArray *b);
void rh_timeline_diff_free(RhTimelineDiff *overlay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhTimelineDiff, rh_timeline_diff_free)

#pragma once
/* A segment: the stretch of a run between two events, in closed form. Work is done in periods: `every_s`
 * of work, then a checkpoint that stops it for `write_s` and is written in the background for another
 * `drain_s`, in which the next work is slower. What is behind a whole checkpoint is safe. */
#include "strategies/run/training_run_spec.h"

typedef struct {
    double every_s, write_s, drain_s, slow_frac;
    double speed_frac; /* of the job's full size */
    double left_s;     /* work that is not safe yet */
    double position_s; /* of that, done already */
} RhRunSegment;

/* State of a segment after some time. */
typedef struct {
    double safe_s;       /* work that is safe now, of `left_s` */
    double checkpoint_s; /* time that its checkpoints took, and slowed down */
    double compute_s;    /* time of the safe work, without what was done before the segment */
    double position_s;   /* work after that: a failure undoes it */
    double open_s;       /* time since then */
    bool finished;
} RhSegmentState;

/* Until all is safe. */
double rh_run_segment_length_s(const RhRunSegment *segment);
RhSegmentState rh_run_segment_after(const RhRunSegment *segment, double time_s);
/* The first moment from `time_s` on at which a checkpoint becomes safe. */
double rh_run_segment_next_safe_s(const RhRunSegment *segment, double time_s);

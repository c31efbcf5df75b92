#include "strategies/run/run_segment.h"

#include <math.h>

/* Periods of a segment: the first, equal ones, and a last that may be shorter. */
typedef struct {
    double count;
    double first_work_s, last_work_s; /* work of those */
    double first_s, each_s;           /* time until their checkpoint is written */
} Periods;

static Periods periods_of(const RhRunSegment *segment)
{
    double first = fmin(fmax(segment->every_s, segment->position_s), segment->left_s);
    double after = fmax(ceil((segment->left_s - first) / segment->every_s * (1 - 1e-12)), 0);
    return (Periods){.count = 1 + after,
                     .first_work_s = first,
                     .last_work_s = segment->left_s - first - (after - 1) * segment->every_s,
                     .first_s =
                         (first - segment->position_s) / segment->speed_frac + segment->write_s,
                     .each_s = segment->every_s / segment->speed_frac +
                               segment->slow_frac * segment->drain_s + segment->write_s};
}

/* Work of period i, from 0. */
static double work_of(const RhRunSegment *segment, const Periods *p, double i)
{
    return i < 1 ? p->first_work_s : i >= p->count - 1 ? p->last_work_s : segment->every_s;
}

/* Time until the checkpoint of period i is written. */
static double written_s(const RhRunSegment *segment, const Periods *p, double i)
{
    if (i < 1)
        return p->first_s;
    double before = p->first_s + (i - 1) * p->each_s;
    return before + work_of(segment, p, i) / segment->speed_frac +
           segment->slow_frac * segment->drain_s + segment->write_s;
}

double rh_run_segment_length_s(const RhRunSegment *segment)
{
    Periods p = periods_of(segment);
    return written_s(segment, &p, p.count - 1) + segment->drain_s;
}

/* Checkpoints that are written (`drain_s` 0), or safe, by then. */
static double count_by(const RhRunSegment *segment, const Periods *p, double time_s, double drain_s)
{
    double t = time_s - drain_s;
    if (t < p->first_s)
        return 0;
    double count = fmin(1 + floor((t - p->first_s) / p->each_s), p->count);
    if (p->count > 1 && t >= written_s(segment, p, p->count - 1))
        return p->count;
    return fmin(count, fmax(p->count - 1, 1));
}

/* Work of the period under way, `t` after the checkpoint before it was written. */
static double work_under_way(const RhRunSegment *segment, double t, bool drains)
{
    double slow = drains ? fmin(t, segment->drain_s) * segment->slow_frac : 0;
    return fmax(t - slow, 0) * segment->speed_frac;
}

RhSegmentState rh_run_segment_after(const RhRunSegment *segment, double time_s)
{
    Periods p = periods_of(segment);
    double written = count_by(segment, &p, time_s, 0),
           safe = count_by(segment, &p, time_s, segment->drain_s);
    RhSegmentState state = {.finished = safe >= p.count};
    double until = written > 0 ? written_s(segment, &p, written - 1) : 0; /* the last written one */
    if (safe > 0) {
        state.safe_s =
            safe >= p.count ? segment->left_s : p.first_work_s + (safe - 1) * segment->every_s;
        state.checkpoint_s =
            safe * segment->write_s + (safe - 1) * segment->slow_frac * segment->drain_s;
        state.compute_s = (state.safe_s - segment->position_s) / segment->speed_frac;
    }
    if (state.finished) {
        state.checkpoint_s += segment->drain_s; /* nothing is computed beside the last one */
        return state;
    }
    double position = written <= 0 ? segment->position_s : 0;
    double most = work_of(segment, &p, written);
    if (written < p.count)
        position = fmin(position + work_under_way(segment, time_s - until, written > 0), most);
    if (written > safe)
        position += work_of(segment, &p, written - 1);
    state.position_s = position;
    state.open_s = time_s - state.compute_s - state.checkpoint_s;
    return state;
}

double rh_run_segment_next_safe_s(const RhRunSegment *segment, double time_s)
{
    Periods p = periods_of(segment);
    double safe = count_by(segment, &p, time_s, segment->drain_s);
    double index = fmin(safe, p.count - 1);
    return fmax(written_s(segment, &p, index) + segment->drain_s, time_s);
}

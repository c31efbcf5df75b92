#include "strategies/run/run_leg.h"

#include <math.h>

/* Periods of a leg: the first, equal ones, and a last that may be shorter. */
typedef struct {
    double count;
    double first_work_s, last_work_s; /* work of those */
    double first_s, each_s;           /* time until their checkpoint is written */
} Periods;

static Periods periods_of(const RhRunLeg *leg)
{
    double first = fmin(fmax(leg->every_s, leg->position_s), leg->left_s);
    double after = fmax(ceil((leg->left_s - first) / leg->every_s * (1 - 1e-12)), 0);
    return (Periods){.count = 1 + after,
                     .first_work_s = first,
                     .last_work_s = leg->left_s - first - (after - 1) * leg->every_s,
                     .first_s = (first - leg->position_s) / leg->speed_frac + leg->write_s,
                     .each_s = leg->every_s / leg->speed_frac + leg->slow_frac * leg->drain_s +
                               leg->write_s};
}

/* Work of period i, from 0. */
static double work_of(const RhRunLeg *leg, const Periods *p, double i)
{
    return i < 1 ? p->first_work_s : i >= p->count - 1 ? p->last_work_s : leg->every_s;
}

/* Time until the checkpoint of period i is written. */
static double written_s(const RhRunLeg *leg, const Periods *p, double i)
{
    if (i < 1)
        return p->first_s;
    double before = p->first_s + (i - 1) * p->each_s;
    return before + work_of(leg, p, i) / leg->speed_frac + leg->slow_frac * leg->drain_s +
           leg->write_s;
}

double rh_leg_length_s(const RhRunLeg *leg)
{
    Periods p = periods_of(leg);
    return written_s(leg, &p, p.count - 1) + leg->drain_s;
}

/* Checkpoints that are written (`drain_s` 0), or safe, by then. */
static double count_by(const RhRunLeg *leg, const Periods *p, double time_s, double drain_s)
{
    double t = time_s - drain_s;
    if (t < p->first_s)
        return 0;
    double count = fmin(1 + floor((t - p->first_s) / p->each_s), p->count);
    if (p->count > 1 && t >= written_s(leg, p, p->count - 1))
        return p->count;
    return fmin(count, fmax(p->count - 1, 1));
}

/* Work of the period under way, `t` after the checkpoint before it was written. */
static double work_under_way(const RhRunLeg *leg, double t, bool drains)
{
    double slow = drains ? fmin(t, leg->drain_s) * leg->slow_frac : 0;
    return fmax(t - slow, 0) * leg->speed_frac;
}

RhLegState rh_leg_after(const RhRunLeg *leg, double time_s)
{
    Periods p = periods_of(leg);
    double written = count_by(leg, &p, time_s, 0), safe = count_by(leg, &p, time_s, leg->drain_s);
    RhLegState state = {.finished = safe >= p.count};
    double until = written > 0 ? written_s(leg, &p, written - 1) : 0; /* the last written one */
    if (safe > 0) {
        state.safe_s = safe >= p.count ? leg->left_s : p.first_work_s + (safe - 1) * leg->every_s;
        state.checkpoint_s = safe * leg->write_s + (safe - 1) * leg->slow_frac * leg->drain_s;
        state.compute_s = (state.safe_s - leg->position_s) / leg->speed_frac;
    }
    if (state.finished) {
        state.checkpoint_s += leg->drain_s; /* nothing is computed beside the last one */
        return state;
    }
    double position = written <= 0 ? leg->position_s : 0;
    double most = work_of(leg, &p, written);
    if (written < p.count)
        position = fmin(position + work_under_way(leg, time_s - until, written > 0), most);
    if (written > safe)
        position += work_of(leg, &p, written - 1);
    state.position_s = position;
    state.open_s = time_s - state.compute_s - state.checkpoint_s;
    return state;
}

double rh_leg_next_safe_s(const RhRunLeg *leg, double time_s)
{
    Periods p = periods_of(leg);
    double safe = count_by(leg, &p, time_s, leg->drain_s);
    double index = fmin(safe, p.count - 1);
    return fmax(written_s(leg, &p, index) + leg->drain_s, time_s);
}

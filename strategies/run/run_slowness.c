#include "strategies/run/run_slowness.h"

#include <math.h>

#include "strategies/run/failure_stream.h"

/* Purposes of generators, beside those of a failure stream. */
enum { SLOW_RNG = 3, STALL_RNG };

struct RhRunSlowness {
    const RhTrainingRun *run;
    gsl_rng *slow, *stall;
    double slow_s, stall_s;  /* when the next one begins; HUGE_VAL: never */
    double until_s, found_s; /* of those that are there */
};

static double drawn_s(gsl_rng *rng, double mean_s)
{
    return -log(gsl_rng_uniform_pos(rng)) * mean_s;
}

RhRunSlowness *rh_run_slowness_new(const RhTrainingRun *run, int32_t replication)
{
    RhRunSlowness *s = g_new0(RhRunSlowness, 1);
    s->run = run;
    s->slow_s = s->stall_s = s->found_s = HUGE_VAL;
    if (run->slow_every_s > 0) {
        s->slow = rh_run_rng_new(run->seed, replication, SLOW_RNG);
        s->slow_s = drawn_s(s->slow, run->slow_every_s);
    }
    if (run->stall_every_s > 0) {
        s->stall = rh_run_rng_new(run->seed, replication, STALL_RNG);
        s->stall_s = drawn_s(s->stall, run->stall_every_s);
    }
    return s;
}

void rh_run_slowness_free(RhRunSlowness *s)
{
    if (!s)
        return;
    if (s->slow)
        gsl_rng_free(s->slow);
    if (s->stall)
        gsl_rng_free(s->stall);
    g_free(s);
}

double rh_run_slowness_times(const RhRunSlowness *s, double t_s)
{
    return (1 + s->run->jitter_frac) * (t_s < s->until_s ? 1 + s->run->slow_frac : 1);
}

double rh_run_slowness_next_s(const RhRunSlowness *s, double t_s)
{
    double end_s = s->until_s > t_s ? s->until_s : HUGE_VAL;
    return fmin(fmin(s->slow_s, s->stall_s), end_s);
}

bool rh_run_slowness_is_slow(const RhRunSlowness *s, double t_s)
{
    return t_s < s->until_s;
}

/* Those that begin while others are there only prolong the time; one that goes by itself is not found. */
static void begin_slow(RhRunSlowness *s)
{
    const RhTrainingRun *run = s->run;
    double end_s = s->slow_s + drawn_s(s->slow, run->slow_lasts_s);
    double found_s = run->slow_found_s > 0 ? s->slow_s + run->slow_found_s : HUGE_VAL;
    s->found_s = fmin(s->found_s, found_s < end_s ? found_s : HUGE_VAL);
    s->until_s = fmax(s->until_s, end_s);
    s->slow_s += drawn_s(s->slow, run->slow_every_s);
}

double rh_run_slowness_change(RhRunSlowness *s, double t_s)
{
    while (s->slow_s <= t_s)
        begin_slow(s);
    if (s->until_s <= t_s)
        s->found_s = HUGE_VAL; /* it went before a checkpoint came */
    double pause_s = 0;
    for (; s->stall_s <= t_s; s->stall_s += drawn_s(s->stall, s->run->stall_every_s))
        pause_s = s->run->stall_s; /* those that came while nothing ran are one */
    return pause_s;
}

double rh_run_slowness_found_s(const RhRunSlowness *s)
{
    return s->found_s;
}

void rh_run_slowness_remove(RhRunSlowness *s)
{
    s->until_s = 0;
    s->found_s = HUGE_VAL;
}

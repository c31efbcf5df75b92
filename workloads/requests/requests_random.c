/* Requests drawn at random (Mersenne twister of GSL, seeded). */
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>

#include "workloads/requests/requests.h"

/* Offsets of the random streams of one seed; primes, so that the streams of neighbouring seeds
 * rarely coincide. */
#define SEED_ARRIVALS 0
#define SEED_LENGTHS  1000003
#define LOOKS_EVERY   (1 << 20) /* requests between two checks of the deadline: some 30 ms */

static gsl_rng *rng_new(uint64_t seed, unsigned long stream)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    /* GSL reads 32 bits of a seed, and 0 as its default. */
    gsl_rng_set(rng, (unsigned long)((seed ^ (seed >> 32)) & 0xffffffffu) + 1 + stream);
    return rng;
}

/* Time at which a rate that goes linearly from a to b, `count` requests long, has brought s of them:
 * the inverse of s = a t + (b - a) t^2 / (2 T), T = 2 count / (a + b); behind T the rate stays b. */
static double ramp_time_s(const RhRequestsPlan *plan, double count, double s)
{
    double a = plan->rate_per_s, b = plan->rate_end_per_s, end_s = 2 * count / (a + b);
    if (s >= count)
        return end_s + (s - count) / b;
    if (s <= 0)
        return 0;
    return 2 * s / (a + sqrt(a * a + 2 * s * (b - a) / end_s));
}

/* Distance to the next arrival in requests: mean 1. */
static double arrival_gap(const RhRequestsPlan *plan, gsl_rng *rng)
{
    switch (plan->arrival) {
    case RH_ARRIVAL_BURST:
        return 0;
    case RH_ARRIVAL_EVEN:
        return 1;
    case RH_ARRIVAL_GAMMA:
        return gsl_ran_gamma(rng, plan->burstiness, 1 / plan->burstiness);
    case RH_ARRIVAL_POISSON:
    case RH_ARRIVAL_RAMP:
        break;
    }
    return gsl_ran_exponential(rng, 1);
}

/* Is the deadline over? Checked once per LOOKS_EVERY requests. */
static bool is_late(const RhRequestsPlan *plan, guint i)
{
    return i > 0 && i % LOOKS_EVERY == 0 && rh_deadline_passed(plan->deadline);
}

void rh_requests_arrive(RhRequests *requests, const RhRequestsPlan *plan)
{
    gsl_rng *rng = rng_new(plan->seed, SEED_ARRIVALS);
    guint together = (guint)MAX(plan->turns, 1);
    double s = 0, next = 0;
    for (guint i = 0; i < requests->list->len && !is_late(plan, i); i++) {
        RhRequest *q = &g_array_index(requests->list, RhRequest, i);
        if (i % together == 0) {
            s = next;
            next += together * arrival_gap(plan, rng);
        }
        q->t_s = plan->arrival == RH_ARRIVAL_BURST  ? 0
                 : plan->arrival == RH_ARRIVAL_RAMP ? ramp_time_s(plan, requests->list->len, s)
                                                    : s / plan->rate_per_s;
    }
    gsl_rng_free(rng);
    requests->timed = true;
}

static int32_t length(RhLengthRange range, gsl_rng *rng)
{
    double share =
        gsl_rng_uniform(rng); /* drawn even without a choice, so that the stream stays the same */
    return range.low + (int32_t)floor(share * ((double)range.high - range.low + 1));
}

/* Makes request i a later turn of a session; its prompt begins with the whole conversation so
 * far. */
static void draw_turn(RhRequests *requests, int32_t i, int32_t turns)
{
    RhRequest *q = &g_array_index(requests->list, RhRequest, i);
    q->session = i / turns;
    q->turn = i % turns;
    if (q->turn > 0)
        q->input_tokens += q[-1].input_tokens + q[-1].output_tokens;
}

RhRequests *rh_requests_draw(const RhRequestsPlan *plan)
{
    RhRequests *requests = rh_requests_new("drawn");
    requests->once = plan->once;
    gsl_rng *rng = rng_new(plan->seed, SEED_LENGTHS);
    for (int32_t i = 0; i < plan->count && !is_late(plan, (guint)i); i++) {
        if (i % LOOKS_EVERY == 0) /* growing the array takes time, too */
            g_array_set_size(requests->list, (guint)MIN(plan->count - i, LOOKS_EVERY) + (guint)i);
        RhRequest *q = &g_array_index(requests->list, RhRequest, i);
        *q = (RhRequest){.session = -1};
        q->input_tokens = length(plan->input, rng);
        q->output_tokens = plan->once ? 1 : length(plan->output, rng);
        if (plan->turns > 0)
            draw_turn(requests, i, plan->turns);
    }
    gsl_rng_free(rng);
    rh_requests_arrive(requests, plan);
    if (plan->count <= LOOKS_EVERY || !rh_deadline_passed(plan->deadline))
        return requests;
    rh_requests_free(requests);
    return NULL;
}

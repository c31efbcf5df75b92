#include "strategies/run/failure_stream.h"

#include <gsl/gsl_randist.h>
#include <math.h>

#include "base/heap.h"
#include "strategies/run/failure_rates.h"

/* A node of Weibull lives: the running time at which it fails next. */
typedef struct {
    double t_s;
    int32_t node;
} Life;

static inline bool ends_first(const Life *a, const Life *b)
{
    return a->t_s < b->t_s || (a->t_s <= b->t_s && a->node < b->node);
}

RH_HEAP(life_heap, Life, ends_first)

struct RhFailureStream {
    const RhTrainingRun *run;
    gsl_rng *times, *kinds, *causes;
    double budget;  /* of failures in expectation until the next one: exponential */
    double per_s;   /* failures of the whole job in a second of running time */
    double run_s;   /* running time so far */
    int32_t bad;    /* nodes of the job that fail more often */
    int32_t next;   /* in the trace */
    GArray *lives;  /* Life, a heap; NULL: not needed */
    double scale_s; /* of a Weibull life */
};

/* Finaliser of SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

gsl_rng *rh_run_rng_new(uint64_t seed, int32_t replication, uint64_t purpose)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    uint64_t place = ((uint64_t)(uint32_t)replication << 3) + purpose + 1;
    uint64_t bits = mixed(mixed(seed) + place * UINT64_C(0x9E3779B97F4A7C15));
    gsl_rng_set(rng, (unsigned long)(bits & 0xffffffffU));
    return rng;
}

static double drawn_exponential(gsl_rng *rng)
{
    return -log(gsl_rng_uniform_pos(rng));
}

/* Rate of the job with so many bad nodes: the mean over drawn sets of nodes is 1/mtbf. */
static double rate_with(const RhTrainingRun *run, int32_t bad)
{
    if (run->law != RH_LAW_BAD_NODES)
        return 1 / run->mtbf_s;
    double nodes = run->nodes_count, mean = 1 + run->bad_frac * (run->bad_times - 1);
    return (nodes + bad * (run->bad_times - 1)) / (nodes * mean * run->mtbf_s);
}

/* Nodes fail one by one, each with mean life nodes x mtbf = scale Gamma(1 + 1/shape). */
static void draw_lives(RhFailureStream *s)
{
    const RhTrainingRun *run = s->run;
    s->scale_s = run->mtbf_s * run->nodes_count / tgamma(1 + 1 / run->weibull_shape);
    s->lives = g_array_sized_new(FALSE, FALSE, sizeof(Life), (guint)run->nodes_count);
    for (int32_t node = 0; node < run->nodes_count; node++)
        life_heap_push(s->lives,
                       (Life){gsl_ran_weibull(s->times, s->scale_s, run->weibull_shape), node});
}

RhFailureStream *rh_failure_stream_new(const RhTrainingRun *run, int32_t replication)
{
    RhFailureStream *s = g_new0(RhFailureStream, 1);
    s->run = run;
    s->times = rh_run_rng_new(run->seed, replication, 0);
    s->kinds = rh_run_rng_new(run->seed, replication, 1);
    s->causes = rh_run_rng_new(run->seed, replication, 2);
    if (run->law == RH_LAW_BAD_NODES)
        s->bad = (int32_t)gsl_ran_binomial(s->kinds, run->bad_frac, (unsigned)run->nodes_count);
    s->per_s = run->law == RH_LAW_TRACE ? 0 : rate_with(run, s->bad);
    s->budget = drawn_exponential(s->times);
    if (run->law == RH_LAW_WEIBULL)
        draw_lives(s);
    return s;
}

void rh_failure_stream_free(RhFailureStream *s)
{
    if (!s)
        return;
    gsl_rng_free(s->times);
    gsl_rng_free(s->kinds);
    gsl_rng_free(s->causes);
    if (s->lives)
        g_array_unref(s->lives);
    g_free(s);
}

double rh_failure_stream_next_s(RhFailureStream *s, double size_frac, double clock_s)
{
    const RhTrainingRun *run = s->run;
    if (run->law == RH_LAW_WEIBULL)
        return fmax(g_array_index(s->lives, Life, 0).t_s - s->run_s, 0);
    if (run->law != RH_LAW_TRACE)
        return s->budget / (s->per_s * size_frac);
    while (s->next < run->trace_count && run->trace[s->next].t_s < clock_s)
        s->next++; /* it found the job down */
    return s->next < run->trace_count ? run->trace[s->next].t_s - clock_s : HUGE_VAL;
}

void rh_failure_stream_run(RhFailureStream *s, double size_frac, double time_s)
{
    s->run_s += time_s;
    s->budget = fmax(s->budget - time_s * s->per_s * size_frac, 0);
}

static int32_t drawn_component(RhFailureStream *s)
{
    const RhFailureRates *rates = s->run->rates;
    double at = gsl_rng_uniform(s->kinds) * rh_failure_rates_per_gpu_hour(rates);
    int32_t i = 0;
    while (i < rates->components_count - 1 && at >= rates->components[i].per_gpu_hour.value)
        at -= rates->components[i++].per_gpu_hour.value;
    return i;
}

/* A node that leaves may be a bad one, and so may the one that takes its place. */
static void replace_bad(RhFailureStream *s)
{
    const RhTrainingRun *run = s->run;
    double weight = s->bad * run->bad_times;
    if (gsl_rng_uniform(s->kinds) * (run->nodes_count - s->bad + weight) < weight)
        s->bad--;
    if (gsl_rng_uniform(s->kinds) < run->bad_frac)
        s->bad = MIN(s->bad + 1, run->nodes_count);
    s->per_s = rate_with(run, s->bad);
}

int32_t rh_failure_stream_strike(RhFailureStream *s)
{
    int32_t component = drawn_component(s);
    if (s->run->law == RH_LAW_WEIBULL) {
        Life life = life_heap_remove(s->lives, 0);
        s->run_s = life.t_s;
        life.t_s += gsl_ran_weibull(s->times, s->scale_s, s->run->weibull_shape);
        life_heap_push(s->lives, life);
    }
    if (s->run->law == RH_LAW_TRACE) {
        int32_t known = s->run->trace[s->next++].component;
        component = known >= 0 ? known : component;
    }
    if (s->run->law == RH_LAW_BAD_NODES && s->run->rates->components[component].nodes_away > 0)
        replace_bad(s);
    s->budget = drawn_exponential(s->times);
    return component;
}

bool rh_failure_stream_missed(RhFailureStream *s)
{
    return s->run->missed_frac > 0 && gsl_rng_uniform(s->causes) < s->run->missed_frac;
}

guint rh_failure_stream_draw(RhFailureStream *s, int32_t count)
{
    return (guint)gsl_rng_uniform_int(s->kinds, (unsigned long)count);
}

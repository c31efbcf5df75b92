/* Finds the steady window of a simulated service, and what its GPUs did in it. A service begins
 * empty and ends by running dry. If no request waited, it would hold as many requests as in the
 * steady state once it has run as long as any of them takes (M/G/infinity from empty: the mean
 * number at t is the rate times the integral of P(S > u) until t). So the window begins once 99 %
 * of the answers take no longer than it has run, and ends when the last request arrives. */
#include <math.h>
#include <stdlib.h>

#include "base/garray_access.h"
#include "platforms/devices/power.h"
#include "strategies/serve/service/service_private.h"

#define ANSWERS_SHARE 0.99 /* the very longest answers do not count */
#define WARM_MOST                                                                                  \
    0.5 /* of the time in which requests arrive: where it takes longer, nothing is steady */
#define COME_LEAST                                                                                 \
    100 /* in the window: with fewer, chance makes a tenth (1/sqrt), more than its ends */

static void meter(RhServiceMeter *m, double gpus, double t_s)
{
    m->gpus += gpus;
    m->sum_gpu_s -= gpus * t_s;
}

static double read_meter(const RhServiceMeter *m, double t_s)
{
    return m->sum_gpu_s + m->gpus * t_s;
}

void rh_service_window_open(RhServiceClock *c)
{
    c->marks = g_array_sized_new(FALSE, FALSE, sizeof(RhServiceMark), c->requests->list->len);
    c->begun_s = g_new(double, c->replicas);
    for (int32_t i = 0; i < c->replicas; i++)
        c->begun_s[i] = (double)NAN;
}

static void change(RhServiceClock *c, int32_t number, int sign, double t_s)
{
    int32_t inside;
    double gpus = sign * rh_pool_gpus(&rh_service_stage(c, number, &inside)->pool);
    meter(&c->busy, gpus, t_s);
    if (rh_replica_reads(rh_service_replica(c, number)))
        meter(&c->reading, gpus, t_s);
}

void rh_service_window_begins(RhServiceClock *c, int32_t number, double t_s)
{
    if (!rh_replica_busy(rh_service_replica(c, number)))
        return;
    c->begun_s[number] = t_s;
    change(c, number, 1, t_s);
}

void rh_service_window_ends(RhServiceClock *c, int32_t number, double t_s)
{
    if (isnan(c->begun_s[number]))
        return;
    c->begun_s[number] = (double)NAN;
    change(c, number, -1, t_s);
}

static RhServiceMark mark_at(const RhServiceClock *c, double t_s)
{
    RhServiceMark mark = {.t_s = t_s,
                          .busy_gpu_s = read_meter(&c->busy, t_s),
                          .reading_gpu_s = read_meter(&c->reading, t_s)};
    for (int32_t p = 0; p < c->service->deployment.pools_count; p++) {
        const RhServicePool *stage = &c->service->stages[p];
        double replica_s = stage->pool.scale > 0 ? rh_scaling_replica_s(stage->scaling, t_s)
                                                 : t_s * stage->pool.replicas;
        mark.replica_s += replica_s;
        mark.gpu_s += replica_s * rh_pool_gpus(&stage->pool);
    }
    return mark;
}

void rh_service_window_mark(RhServiceClock *c, double t_s)
{
    RhServiceMark mark = mark_at(c, t_s);
    g_array_append_val(c->marks, mark);
}

/* --- the window --- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Duration of most answers; HUGE_VAL: there is none. */
static double answer_s(const RhServiceClock *c)
{
    guint count = 0;
    g_autofree double *answers_s = g_new(double, c->result->served->len + 1);
    for (guint i = 0; i < c->result->served->len; i++) {
        const RhRequestRecord *s = rh_service_served(c, (int32_t)i);
        if (s->outcome == RH_SERVED_DONE)
            answers_s[count++] = s->t_end_s - s->t_arrive_s;
    }
    qsort(answers_s, count, sizeof *answers_s, ascending);
    return count > 0 ? answers_s[(guint)ceil(ANSWERS_SHARE * count) - 1] : HUGE_VAL;
}

/* Mark at which the steady window begins; -1: there is none. In a closed loop, as in benchmarks,
 * all of the run counts, and so it does where servers fail: the cost of a failure continues after
 * the last arrival. */
static int32_t find_begin(const RhServiceClock *c)
{
    const RhServiceMark *marks = RH_ELEMENTS(c->marks, RhServiceMark);
    if (c->client->at_once > 0 || c->client->failures || c->marks->len < 2)
        return -1;
    double warm_s = c->result->window.answer_s,
           span_s = marks[c->marks->len - 1].t_s - marks[0].t_s;
    if (warm_s > WARM_MOST * span_s)
        return -1;
    guint i = 0;
    while (marks[i].t_s - marks[0].t_s < warm_s)
        i++;
    return i + COME_LEAST <= c->marks->len ? (int32_t)i : -1;
}

/* Energy of the GPUs: a device computes while prompts are read, waits for memory while tokens are
 * made, and idles otherwise. */
static double energy_j(const RhServiceClock *c, const RhServiceMark *spent)
{
    int32_t gpus = c->result->gpus;
    RhPowerTimes mean = {0};
    if (gpus == 0)
        return 0;
    mean.state_s[RH_POWER_COMPUTE] = spent->reading_gpu_s / gpus;
    mean.state_s[RH_POWER_MEMORY] = (spent->busy_gpu_s - spent->reading_gpu_s) / gpus;
    mean.state_s[RH_POWER_IDLE] = fmax(spent->gpu_s - spent->busy_gpu_s, 0) / gpus;
    return rh_energy_of(c->service->serving.platform, gpus, &mean).total_j;
}

void rh_service_window_close(RhServiceClock *c)
{
    RhSteadyWindow *w = &c->result->window;
    double price_per_s = c->service->serving.platform->price_usd_per_gpu_hour.value / 3600;
    w->cost_usd = (double)NAN;
    if (c->marks->len == 0)
        return;
    const RhServiceMark *marks = RH_ELEMENTS(c->marks, RhServiceMark);
    w->answer_s = answer_s(c);
    int32_t begin = find_begin(c);
    RhServiceMark first = marks[MAX(begin, 0)],
                  last = begin >= 0 ? marks[c->marks->len - 1] : mark_at(c, c->last_s);
    RhServiceMark spent = {last.t_s - first.t_s, last.busy_gpu_s - first.busy_gpu_s,
                           last.reading_gpu_s - first.reading_gpu_s, last.gpu_s - first.gpu_s,
                           last.replica_s - first.replica_s};
    w->steady = begin >= 0;
    w->t_begin_s = first.t_s;
    w->duration_s = spent.t_s;
    w->gpu_s = spent.gpu_s;
    w->replica_s = spent.replica_s;
    w->busy_frac = spent.gpu_s > 0 ? CLAMP(spent.busy_gpu_s / spent.gpu_s, 0, 1) : 0;
    w->energy_j = energy_j(c, &spent);
    w->cost_usd = price_per_s > 0 ? price_per_s * spent.gpu_s : (double)NAN;
}

/* The whole question: plan the 405B job, and how tight the bounds are over the best 200 layouts. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench_job.h"

typedef struct {
    GArray *closed, *segment;
} Ratios;

static void seen(const RhRehearsal *r, void *user)
{
    Ratios *ratios = user;
    double closed = r->bound_closed_s / r->step_time_s,
           segment = r->bound_segment_s / r->step_time_s;
    g_array_append_val(ratios->closed, closed);
    g_array_append_val(ratios->segment, segment);
}

static gint ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(GArray *values, double q)
{
    g_array_sort(values, ascending);
    return values->len ? g_array_index(values, double, (guint)(q * (values->len - 1))) : 0;
}

static double peak_mb(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)usage.ru_maxrss / 1024;
}

typedef struct {
    double wall_s, used_s; /* the least seen; of all processes */
} Asked;

/* Plans the job; says what came of it where it is asked for the first time. */
static bool plan_405b(BenchJob job, const char *what, Asked *asked)
{
    RhPlanOptions o = {.gap_frac = 0.002};
    g_autoptr(GError) error = NULL;
    double before_s = bench_used_s(RUSAGE_SELF) + bench_used_s(RUSAGE_CHILDREN);
    g_autoptr(RhPlan) plan = rh_plan(&job.c, &o, &error);
    double used_s = bench_used_s(RUSAGE_SELF) + bench_used_s(RUSAGE_CHILDREN) - before_s;
    bool first = asked->used_s == 0;
    bench_job_clear(&job);
    if (!plan) {
        printf("%s\n", error->message);
        return false;
    }
    asked->wall_s = first ? plan->wall_s : fmin(asked->wall_s, plan->wall_s);
    asked->used_s = first ? used_s : fmin(asked->used_s, used_s);
    if (!first)
        return true;
    const RhRehearsal *best = plan->entries->pdata[0];
    bench_line(what, (double)plan->legal_count, "layouts", "");
    bench_line("  rehearsed", (double)plan->rehearsed_count, "", "");
    bench_line("  proof closed", plan->proved, "", "1");
    bench_line("  winner: bytes that went as flows", best->bytes_as_flows / best->bytes_total, "",
               "");
    return true;
}

#define TIMES 5

static void tell(const char *what, Asked asked, const char *bar)
{
    printf("%s, least of %d\n", what, TIMES);
    bench_line("  wall clock", asked.wall_s, "s", bar);
    bench_line("  processors", asked.used_s, "s", "");
}

/* Cost follows the layout and not the GPUs: in turns, so that what else the machine does meets both. */
static bool plan_sizes(void)
{
    Asked small = {0}, large = {0};
    if (!plan_405b(bench_405b(), "405B on 16,384 GPUs: legal", &small))
        return false;
    double small_mb = peak_mb(RUSAGE_SELF);
    if (!plan_405b(bench_405b_large(), "405B on 131,072 GPUs: legal", &large))
        return false;
    double large_mb = peak_mb(RUSAGE_SELF);
    for (int i = 1; i < TIMES; i++)
        if (!plan_405b(bench_405b(), "", &small) || !plan_405b(bench_405b_large(), "", &large))
            return false;
    tell("405B on 16,384 GPUs", small, "<= 5");
    bench_line("  peak memory, planner", small_mb, "MB", "");
    tell("405B on 131,072 GPUs", large, "");
    bench_line("  peak memory, planner", large_mb, "MB", "<= 150");
    bench_line("  peak memory, largest rehearsal of both", peak_mb(RUSAGE_CHILDREN), "MB",
               "<= 150");
    bench_line("  processors, over those of 16,384", large.used_s / small.used_s, "", "<= 1.5");
    bench_line("  wall clock, over that of 16,384", large.wall_s / small.wall_s, "", "<= 1.5");
    return true;
}

/* The best 200 of a job, all rehearsed: the proof needs them when 200 are asked for. */
static bool tightness(const char *model, const char *platform, int64_t batch, int64_t sequence,
                      int32_t gpus)
{
    BenchJob job = bench_job(model, platform, batch, sequence, gpus);
    Ratios ratios = {g_array_new(FALSE, FALSE, sizeof(double)),
                     g_array_new(FALSE, FALSE, sizeof(double))};
    RhPlanOptions o = {.gap_frac = 0.002, .top = 200, .variants = true};
    g_autoptr(RhPlan) plan = rh_plan(&job.c, &o, NULL);
    if (!plan)
        return false;
    for (guint i = 0; i < plan->entries->len; i++)
        seen(plan->entries->pdata[i], &ratios);
    printf("%s, %s, %d GPUs: best %u of %" G_GINT64_FORMAT " fitting layouts, %" G_GINT64_FORMAT
           " rehearsed, %.1f s\n",
           model, platform, gpus, plan->entries->len, plan->fit_count, plan->rehearsed_count,
           plan->wall_s);
    bench_line("  closed form / rehearsed, median", quantile(ratios.closed, 0.5), "", ">= 0.93");
    bench_line("  closed form / rehearsed, worst", quantile(ratios.closed, 0), "", "");
    bench_line("  segment graph / rehearsed, median", quantile(ratios.segment, 0.5), "",
               ">= 0.985");
    bench_line("  segment graph / rehearsed, worst", quantile(ratios.segment, 0), "", "");
    g_array_unref(ratios.closed);
    g_array_unref(ratios.segment);
    bench_job_clear(&job);
    return true;
}

int main(void)
{
    bool good = plan_sizes() && tightness("llama-3.1-8b", "dgx-h100:2", 128, 8192, 16) &&
                tightness("llama-3.1-70b", "dgx-h100:8", 128, 8192, 64) &&
                tightness("llama-3.1-405b", "llama3-roce", 2048, 8192, 16384);
    return good ? 0 : 1;
}

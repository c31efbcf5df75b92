/* The whole question: plan the 405B job, and how tight the bounds are over the best 200 layouts. */
#include <stdlib.h>

#include "bench/bench_kit.h"

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

static bool plan_405b(void)
{
    BenchJob job = bench_405b();
    RhPlanOptions o = {.gap_frac = 0.002};
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlan) plan = rh_plan(&job.c, &o, &error);
    if (!plan) {
        printf("%s\n", error->message);
        return false;
    }
    bench_line("405B, 16,384 GPUs: legal layouts", (double)plan->legal_count, "", "");
    bench_line("  rehearsed", (double)plan->rehearsed_count, "", "");
    bench_line("  proof closed", plan->proved, "", "1");
    bench_line("  wall clock", plan->wall_s, "s", "<= 20");
    bench_line("  peak memory, planner", peak_mb(RUSAGE_SELF), "MB", "<= 500");
    bench_line("  peak memory, largest rehearsal", peak_mb(RUSAGE_CHILDREN), "MB", "");
    const RhRehearsal *best = plan->entries->pdata[0];
    bench_line("  winner: bytes that went as flows", best->bytes_as_flows / best->bytes_total, "",
               "");
    bench_job_clear(&job);
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
    bool good = plan_405b() && tightness("llama-3.1-8b", "dgx-h100:2", 128, 8192, 16) &&
                tightness("llama-3.1-70b", "dgx-h100:8", 128, 8192, 64) &&
                tightness("llama-3.1-405b", "llama3-roce", 2048, 8192, 16384);
    return good ? 0 : 1;
}

/* How fast layouts are screened: closed-form bounds and segment graphs per second, one core. Rates
 * are of a space that is gone through again and again, so that what layouts share, and each one's
 * critical path, is in tables; the first time through fills them. */
#include "bench/bench_job.h"
#include "strategies/search/bounds/bound_cache.h"

#define LEAST_S 1.0

static volatile double sink;

static double bounds_per_s(RhBoundCache *cache, GArray *space)
{
    int64_t done = 0;
    double start = bench_cpu_s();
    while (bench_cpu_s() - start < LEAST_S) {
        for (guint i = 0; i < space->len; i++)
            sink = rh_closed_form_s(cache, &g_array_index(space, RhLayout, i));
        done += space->len;
    }
    return (double)done / (bench_cpu_s() - start);
}

static double memories_per_s(RhBoundCache *cache, GArray *space)
{
    int64_t done = 0;
    double start = bench_cpu_s();
    while (bench_cpu_s() - start < LEAST_S) {
        for (guint i = 0; i < space->len; i++)
            sink = rh_bound_memory(cache, &g_array_index(space, RhLayout, i)).peak_bytes;
        done += space->len;
    }
    return (double)done / (bench_cpu_s() - start);
}

/* Of every layout once. */
static double segments_per_s(RhBoundCache *cache, GArray *space)
{
    double start = bench_cpu_s();
    for (guint i = 0; i < space->len; i++)
        sink = rh_segment_graph_s(cache, &g_array_index(space, RhLayout, i));
    return (double)space->len / (bench_cpu_s() - start);
}

static void count_layouts(BenchJob job)
{
    g_autoptr(GArray) legal = rh_space_list(&job.c, NULL, 0);
    job.c.stack = rh_stack_by_name("bare", NULL);
    g_autoptr(GArray) bare = rh_space_list(&job.c, NULL, 0);
    bench_line("canonical legal layouts, 405B on 16,384 GPUs", legal->len, "", "");
    bench_line("  without what Megatron-LM has not", bare->len, "", ">= 10,000");
}

int main(void)
{
    BenchJob job = bench_405b();
    count_layouts(job);
    g_autoptr(RhBoundCache) cache = rh_bound_new(&job.c);
    g_autoptr(GArray) space = rh_space_list(&job.c, NULL, 0);
    double start = bench_cpu_s();
    for (guint i = 0; i < space->len; i++)
        sink = rh_closed_form_s(cache, &g_array_index(space, RhLayout, i));
    bench_line("closed-form bounds of all, tables and all", bench_cpu_s() - start, "s", "");
    bench_line("closed-form bounds, one core", bounds_per_s(cache, space), "1/s", ">= 1e+06");
    bench_line("memory accounts, one core", memories_per_s(cache, space), "1/s", ">= 2e+05");
    bench_line("segment graphs, tables of messages and all", segments_per_s(cache, space), "1/s",
               "");
    double rate = segments_per_s(cache, space);
    bench_line("segment graphs, one core", rate, "1/s", ">= 1e+04");
    bench_line("one segment graph, mean over the space", 1e3 / rate, "ms", "< 1");
    bench_job_clear(&job);
    return 0;
}

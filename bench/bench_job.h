#pragma once
/* The large job that the benchmarks share: Llama-3.1-405B on 16,384 H100s of llama3-roce. */
#include <stdio.h>
#include <sys/resource.h>

#include "strategies/search/plan.h"

typedef struct {
    RhModel *model;
    RhPlatform *bare, *platform;
    RhProblem c;
} BenchJob;

static inline BenchJob bench_job(const char *model, const char *platform, int64_t batch,
                                 int64_t sequence, int32_t gpus)
{
    GError *error = NULL;
    BenchJob j = {.model = rh_model_load(model, &error)};
    j.bare = j.model ? rh_platform_load(platform, &error) : NULL;
    g_assert_no_error(error);
    const RhStack *stack = rh_stack_by_name("megatron", NULL);
    j.platform = rh_stack_platform(stack, j.bare);
    j.c = (RhProblem){
        j.model,
        j.platform,
        stack,
        {.global_batch = batch, .sequence = sequence, .gpus = gpus, .recipe = &rh_recipe_bf16}};
    return j;
}

static inline BenchJob bench_405b(void)
{
    return bench_job("llama-3.1-405b", "llama3-roce", 2048, 8192, 16384);
}

/* The same with as many samples for each GPU on eight times as many. */
static inline BenchJob bench_405b_large(void)
{
    return bench_job("llama-3.1-405b", "llama3-roce:16384", 16384, 8192, 131072);
}

static inline void bench_job_clear(BenchJob *j)
{
    rh_model_free(j->model);
    rh_platform_free(j->bare);
    rh_platform_free(j->platform);
}

static inline RhLayout bench_layout(const BenchJob *j, const char *text)
{
    RhLayout l = rh_layout_default();
    GError *error = NULL;
    bool fine = rh_layout_parse(text, &l, &error);
    g_assert_no_error(error);
    l = rh_train_canonical(&j->c, &l);
    fine = fine && rh_train_legal(&j->c, &l, &error);
    g_assert_no_error(error);
    g_assert(fine);
    return l;
}

static inline double bench_now_s(void)
{
    return (double)g_get_monotonic_time() / 1e6;
}

/* Seconds of processors that `who` (RUSAGE_*) has used, whatever else the machine is at. */
static inline double bench_used_s(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Of this process alone. */
static inline double bench_cpu_s(void)
{
    return bench_used_s(RUSAGE_SELF);
}

static inline void bench_line(const char *what, double value, const char *unit, const char *bar)
{
    printf("%-58s %12.4g %-12s bar %s\n", what, value, unit, bar);
    fflush(stdout);
}

/* The rehearsal: one folded 16,384-GPU step, folded against unfolded at 512 ranks, and events per
 * second. */
#include <math.h>

#include "bench/bench_kit.h"

static RhRun *perform(const BenchJob *job, const RhProgram *p, RhEngineOptions o, double *wall_s)
{
    GError *error = NULL;
    double start = bench_now_s();
    RhRun *run = rh_engine_run(p, job->platform, &o, &error);
    *wall_s = bench_now_s() - start;
    g_assert_no_error(error);
    return run;
}

static void one_step(const BenchJob *job, const char *text)
{
    RhLayout l = bench_layout(job, text);
    double start = bench_now_s(), wall_s = 0;
    g_autoptr(RhProgram) p = rh_train_build(&job->c, &l, NULL);
    double built_s = bench_now_s() - start;
    g_autoptr(RhRun) run = perform(job, p, (RhEngineOptions){0}, &wall_s);
    printf("405B on 16,384 GPUs, %s: %u tasks, step %.4f s%s\n", text, p->tasks->len,
           run->step_time_s, run->approximate ? " (approximate fold)" : "");
    bench_line("  build the program", built_s, "s", "");
    bench_line("  rehearse it, folded", wall_s, "s", "<= 0.5");
    bench_line("  events", (double)run->events_count / wall_s, "1/s", "");
}

static void fold_of_512(const char *text)
{
    BenchJob job = bench_job("llama-3.1-8b", "dgx-h100:64", 1024, 4096, 512);
    RhLayout l = bench_layout(&job, text);
    g_autoptr(RhProgram) p = rh_train_build(&job.c, &l, NULL);
    double folded_s, unfolded_s;
    g_autoptr(RhRun) a = perform(&job, p, (RhEngineOptions){0}, &folded_s);
    g_autoptr(RhRun) b = perform(&job, p, (RhEngineOptions){.unfolded = true}, &unfolded_s);
    printf("8B on 512 GPUs, %s: folded %.3f s, unfolded %.3f s of wall clock\n", text, folded_s,
           unfolded_s);
    bench_line("  step, folded against unfolded", fabs(a->step_time_s / b->step_time_s - 1), "",
               "<= 1e-3");
    bench_job_clear(&job);
}

int main(void)
{
    BenchJob job = bench_405b();
    one_step(&job, "tp8,pp16,dp128,vpp8,zero1");
    one_step(&job, "tp8,pp16,dp128,vpp8,zero1,order=tp-pp-dp");
    one_step(&job, "tp8,pp32,dp64,vpp4,zero1");
    bench_job_clear(&job);
    fold_of_512("tp1,pp1,zero3");
    fold_of_512("tp8,pp4,zero1");
    fold_of_512("tp2,pp8,zero2,order=tp-pp-dp");
    return 0;
}

/* The rehearsal: one folded 16,384-GPU step, folded against unfolded at 512 ranks, and events per
 * second. */
#include <math.h>

#include "bench/bench_job.h"
#include "sim/engine/workers/isolated_run.h"

static RhRun *perform(const BenchJob *job, const RhProgram *p, RhEngineOptions o, double *wall_s)
{
    GError *error = NULL;
    double start = bench_now_s();
    RhRun *run = rh_rehearse_isolated(p, job->platform, &o, &error);
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
    bench_line("  rehearse it, folded", wall_s, "s", "<= 0.15");
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

#define CHAINS 32
#define ROUNDS 4000

/* `sharing` ranks compute and send to as many behind them, over and over, as the bare loop does; then
 * the next. */
static RhProgram *chains_program(int32_t sharing)
{
    RhProgram *p = rh_program_new(2 * CHAINS);
    int32_t label = rh_program_label(p, "chain"), bundle = rh_program_add_wait(p, 10e-6);
    RhStride spans[] = {{1, sharing}, {2 * sharing, CHAINS / sharing}};
    g_autofree int32_t *sends = g_new(int32_t, ROUNDS);
    RhTask task = {.label = label, .layer = -1, .microbatch = -1, .group = -1, .peer_task = -1};
    rh_program_begin_role(p, "senders", 0, spans, 2);
    for (int32_t i = 0, last = -1; i < ROUNDS; i++) {
        task = (RhTask){.kind = RH_TASK_KERNEL,
                        .lane = RH_LANE_COMPUTE,
                        .label = label,
                        .bundle = bundle,
                        .layer = -1,
                        .microbatch = -1,
                        .group = -1,
                        .peer_task = -1};
        int32_t kernel = rh_program_add_task(p, task, &last, 1);
        task.kind = RH_TASK_SEND;
        task.lane = RH_LANE_SEND_NEXT;
        task.bundle = -1;
        task.peer_delta = sharing;
        task.bytes = 1e6;
        last = sends[i] = rh_program_add_task(p, task, &kernel, 1);
    }
    rh_program_end_role(p);
    rh_program_begin_role(p, "receivers", sharing, spans, 2);
    task.kind = RH_TASK_RECV;
    task.lane = RH_LANE_RECV_PREV;
    task.peer_delta = -sharing;
    for (int32_t i = 0; i < ROUNDS; i++)
        rh_program_match(p, sends[i], rh_program_add_task(p, task, NULL, 0));
    rh_program_end_role(p);
    return p;
}

#define TURNS 9

/* Seconds of processors from the beginning of its program. */
static double bare_s(const char *folder, int32_t sharing)
{
    g_autofree char *command =
        g_strdup_printf("%s/bare_loop %d %d %d 10e-6 1e-6 1e6", folder, CHAINS, sharing, ROUNDS);
    g_autofree char *said = NULL;
    GError *error = NULL;
    g_spawn_command_line_sync(command, &said, NULL, NULL, &error);
    g_assert_no_error(error);
    return g_ascii_strtod(said, NULL);
}

/* Of the child that rehearses, from its beginning to its end. */
static double our_s(const BenchJob *job, const RhProgram *p, bool flows)
{
    double wall_s, before_s = bench_used_s(RUSAGE_CHILDREN);
    RhEngineOptions o = {.unfolded = true, .collapse_disabled = flows};
    rh_run_free(perform(job, p, o, &wall_s));
    return bench_used_s(RUSAGE_CHILDREN) - before_s;
}

/* Every rank performed, with the same kernels and messages as the bare loop. In turns, the least of
 * several: by the clock, and measured once, the ratio was between 0.83 and 1.28 on one machine within
 * minutes. */
static void against_bare_simgrid(const char *folder, const char *platform, int32_t sharing)
{
    BenchJob job = bench_job("gpt2", platform, 64, 1024, 64);
    g_autoptr(RhProgram) p = chains_program(sharing);
    double ours = 1e9, flows = 1e9, bare = 1e9;
    for (int i = 0; i < TURNS; i++) {
        ours = fmin(ours, our_s(&job, p, false));
        flows = fmin(flows, our_s(&job, p, true));
        bare = fmin(bare, bare_s(folder, sharing));
    }
    double events = 3.0 * CHAINS * ROUNDS;
    printf("%d chains of %d kernels and messages, %d on a link; by seconds of processors\n", CHAINS,
           ROUNDS, sharing);
    bench_line("  rehearsed", events / ours, "1/s", "");
    bench_line("  rehearsed, every byte a flow", events / flows, "1/s", "");
    bench_line("  a bare SimGrid loop with the same", events / bare, "1/s", "");
    bench_line("  ratio", bare / ours, "", ">= 1");
    bench_line("  ratio, every byte a flow", bare / flows, "", "");
    bench_job_clear(&job);
}

int main(int argc, char **argv)
{
    (void)argc;
    g_autofree char *folder = g_path_get_dirname(argv[0]);
    BenchJob job = bench_405b();
    one_step(&job, "tp8,pp16,dp128,vpp8,zero1");
    one_step(&job, "tp8,pp16,dp128,vpp8,zero1,order=tp-pp-dp");
    one_step(&job, "tp8,pp32,dp64,vpp4,zero1");
    bench_job_clear(&job);
    fold_of_512("tp1,pp1,zero3");
    fold_of_512("tp8,pp4,zero1");
    fold_of_512("tp2,pp8,zero1,order=tp-pp-dp");
    against_bare_simgrid(folder, "h100-sxm:2x32,nvlink:450GB/s,ib:400Gb/s", 1);
    against_bare_simgrid(folder, "h100-sxm:4x16,nvlink:450GB/s,ib:400Gb/s,nics:1", 4);
    return 0;
}

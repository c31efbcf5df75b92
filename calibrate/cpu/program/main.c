/* rehearse-kernels-cpu: measures this machine's processor and writes raw CSV. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/cpu/cpu_kernels.h"
#include "calibrate/measure/measure_main.h"

#define REPETITIONS_MAX 101
#define GROUP_S         2e-4 /* repetitions of less are timed together */
#define GROUP_MAX       4096
#define WIDTH_WANTED    0.02
#define SWITCH_S        0.01 /* of longer repetitions a switch and its cold caches are a small part */
#define AWAY_FRAC       0.01 /* of a repetition that the thread did not run: it was preempted */
#define TRIES_MAX       400  /* repetitions, preempted ones among them */
#define LONGER          3    /* budgets more for a sample of which none was undisturbed */
#define WARM_UP_S       1.0

static const char HELP[] =
    "Usage: rehearse-kernels-cpu [OPTION...]\n"
    "Measures kernels of single precision on cores of this machine and writes them as raw CSV, from\n"
    "which `rehearse calibrate` makes a profile. Needs OpenBLAS (libopenblas0).\n"
    "\n"
    "  --run CLASS,...   only these and what begins so: gemm (gemm_nn, gemm_nt), attention\n"
    "                    (attention_backward), add, norm, optimizer, reduce, copy_device, empty\n"
    "  --threads N       cores that a kernel may use, 1 by default\n"
    "  --budget TIME     stop after this time, 4.5m by default (90s, 5m); the rest is left out\n"
    "  -o FILE           write there instead of standard output\n"
    "  --list LIST.csv   measure the kernels of a list alone and the list as a whole\n"
    "  --grid            print the designed grid as CSV and exit\n"
    "  --help, --version\n"
    "\n"
    "Repetitions in which the system took the core away are dropped and counted.\n"
    "Exit status: 0 all measured; 1 stopped early or a class is missing, what was measured is valid;\n"
    "3 bad input; 4 no OpenBLAS.\n";

static RkGridOptions grid_options(void)
{
    static const RkClass CLASSES[] = {
        RK_GEMM, RK_GEMM_NN, RK_GEMM_NT,   RK_ATTENTION, RK_ATTENTION_BACKWARD,
        RK_NORM, RK_ADD,     RK_OPTIMIZER, RK_REDUCE,    RK_COPY_DEVICE,
        RK_EMPTY};
    RkGridOptions grid = rk_grid_defaults();
    memset(grid.classes, 0, sizeof grid.classes);
    memset(grid.dtypes, 0, sizeof grid.dtypes);
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        grid.classes[CLASSES[i]] = true;
    grid.dtypes[RH_DTYPE_FP32] = true;
    grid.main = RH_DTYPE_FP32;
    grid.sms = 1;
    grid.m_max = 2048;
    grid.bytes_max = 2e8;
    grid.flops_max = 2e10; /* a fifth of a second at 100 GFLOP/s */
    return grid;
}

/* --- Timing --- */

typedef struct {
    RkCpu *cpu;
    long preempted, repetitions;
} Processor;

typedef struct {
    double wall_s, run_s;
    long switches;
} Stamp;

static double clock_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Switches are those of all threads: of OpenBLAS's, too. */
static Stamp stamp(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (Stamp){rk_now_s(), clock_s(CLOCK_THREAD_CPUTIME_ID), use.ru_nivcsw};
}

/* Seconds of one of `group` runs; negative: the core was taken away meanwhile. */
static double once_s(Processor *p, const RkSample *s, int group)
{
    Stamp begin = stamp();
    for (int i = 0; i < group; i++)
        rk_cpu_run(p->cpu, s);
    Stamp end = stamp();
    double wall_s = end.wall_s - begin.wall_s, away_s = wall_s - (end.run_s - begin.run_s);
    p->repetitions++;
    bool switched = end.switches > begin.switches && wall_s < SWITCH_S;
    if (switched || away_s > AWAY_FRAC * wall_s + 1e-6) {
        p->preempted++;
        return -1;
    }
    return wall_s / group;
}

static RkOutcome measure(void *self, const RkSample *shape, double budget_s, RkRawRow *row,
                         RkError *why)
{
    Processor *p = (Processor *)self;
    double values[REPETITIONS_MAX], sorted[REPETITIONS_MAX], end_s = rk_now_s() + budget_s;
    size_t count = 0;
    if (!rk_cpu_run(p->cpu, shape)) {
        rk_fail(why, "not a kernel of this program, or too large for it");
        return RK_LEFT_OUT;
    }
    double begin_s = rk_now_s();
    rk_cpu_run(p->cpu, shape);
    double first_s = rk_now_s() - begin_s;
    int group = first_s * GROUP_MAX < GROUP_S ? GROUP_MAX : (int)(GROUP_S / first_s) + 1;
    for (int tries = 0; tries < TRIES_MAX && count < REPETITIONS_MAX; tries++) {
        double s = once_s(p, shape, group);
        if (s > 0)
            values[count++] = s;
        memcpy(sorted, values, count * sizeof *values);
        row->seconds = rk_median(sorted, count);
        double now_s = rk_now_s();
        if (now_s > end_s + LONGER * budget_s || rk_is_stopped() ||
            (count > 0 && (rk_median_known(&row->seconds, WIDTH_WANTED) || now_s > end_s)))
            break;
    }
    snprintf(row->library, sizeof row->library, "%s", rk_cpu_library(p->cpu));
    if (count > 0)
        return RK_MEASURED;
    rk_fail(why, "the system took the core away in every repetition");
    return RK_LEFT_OUT;
}

/* --- The list as a whole --- */

static bool measure_whole(void *self, const RkList *list, double budget_s, FILE *out, RkError *why)
{
    Processor *p = (Processor *)self;
    double values[REPETITIONS_MAX], end_s = rk_now_s() + budget_s;
    size_t count = 0;
    do {
        double begin_s = rk_now_s();
        for (size_t i = 0; i < list->count; i++)
            for (int64_t n = 0; n < list->items[i].count; n++)
                if (!rk_cpu_run(p->cpu, &list->items[i].shape))
                    return rk_fail(why, "line %zu is no kernel of this program", i + 1);
        values[count++] = rk_now_s() - begin_s;
    } while (count < 3 || (count < REPETITIONS_MAX && rk_now_s() < end_s && !rk_is_stopped()));
    RkRawRow row = {.seconds = rk_median(values, count)};
    snprintf(row.library, sizeof row.library, "%s", rk_cpu_library(p->cpu));
    return rk_run_whole(list, "sequence", row, out) || rk_fail(why, "the output cannot be written");
}

/* --- The device of a run --- */

static double memory_bytes(void)
{
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

static void warm_up(RkCpu *cpu)
{
    RkSample gemm = {.cls = RK_GEMM, .dtype = RH_DTYPE_FP32, .m = 512, .n = 512, .k = 512};
    double end_s = rk_now_s() + WARM_UP_S;
    while (rk_now_s() < end_s)
        rk_cpu_run(cpu, &gemm);
}

static double largest_bytes(const RkSamples *samples, const RkList *list)
{
    double most = 0, bytes;
    for (size_t i = 0; i < samples->count; i++)
        most = (bytes = rk_cpu_bytes(&samples->items[i])) > most ? bytes : most;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].shape.cls <= RK_ATTENTION_BACKWARD)
            most = (bytes = rk_cpu_bytes(&list->items[i].shape)) > most ? bytes : most;
    return most;
}

static RkExit run(Processor *p, const RkOptions *options, const RkList *list, RkSamples *samples,
                  FILE *out)
{
    RkDevice device = {.self = p, .measure = measure, .measure_whole = measure_whole};
    rk_host_cpu(device.head.device, sizeof device.head.device);
    rk_host_cpu(device.head.host_cpu, sizeof device.head.host_cpu);
    rk_date(device.head.date, sizeof device.head.date);
    snprintf(device.head.blas, sizeof device.head.blas, "%.31s", rk_cpu_library(p->cpu));
    device.head.sms = options->threads;
    device.head.hbm_bytes = memory_bytes();
    warm_up(p->cpu);
    RkExit status = options->task == RK_DO_LIST ? rk_run_list(&device, options, list, out)
                                                : rk_run_samples(&device, options, samples, out);
    if (p->preempted > 0)
        fprintf(stderr,
                "note: in %.0f %% of %ld repetitions the system took a core away; these "
                "were dropped\n",
                100.0 * (double)p->preempted / (double)p->repetitions, p->repetitions);
    return status;
}

static RkExit perform(const RkOptions *options, const RkList *list)
{
    RkSamples samples = {0};
    RkGridOptions grid = grid_options();
    RkError why;
    Processor p = {0};
    for (int i = 0; i < RK_CLASS_LAST; i++)
        grid.classes[i] = grid.classes[i] && options->classes[i];
    if (options->task == RK_DO_MEASURE && !rk_grid(&grid, &samples)) {
        fprintf(stderr, "error: no memory for the grid\n");
        return RK_EXIT_PARTIAL;
    }
    RkExit status = RK_EXIT_DEVICE;
    p.cpu = rk_cpu_open(options->threads, largest_bytes(&samples, list), &why);
    if (p.cpu == NULL) {
        fprintf(stderr, "error: %s\n", why.text);
    } else {
        FILE *out = rk_program_output(options);
        rk_stop_on_signals();
        status = out == NULL ? RK_EXIT_INPUT
                             : rk_program_close(out, run(&p, options, list, &samples, out));
    }
    rk_cpu_close(p.cpu);
    rk_samples_clear(&samples);
    return status;
}

int main(int argc, char **argv)
{
    static const RkProgram program = {HELP, "rehearse-kernels-cpu, writes rehearse.raw/1",
                                      grid_options, perform};
    return rk_program_main(argc, argv, &program);
}

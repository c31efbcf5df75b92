#include "calibrate/cuda/measure.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/cuda/grid.h"
#include "calibrate/cuda/libraries.h"
#include "calibrate/cuda/meter.h"
#include "calibrate/cuda/progress.h"
#include "calibrate/cuda/raw.h"
#include "calibrate/cuda/whole.h"

#define SAMPLE_S_MIN 0.03
#define SAMPLE_S_MAX 0.5
#define REASONS_MAX  24
#define QUIET_S      10 /* seconds between lines of progress that are not shown on a terminal */

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    stopped = 1;
    signal(number, SIG_DFL); /* a second signal ends the process at once */
}

void rk_stop_on_signals(void)
{
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
}

/* --- A run --- */

/* Reasons for which samples were left out, each once. */
typedef struct {
    char text[REASONS_MAX][320];
    int count[REASONS_MAX];
} Reasons;

typedef struct {
    RkGpu *gpu;
    FILE *out;
    double begin_s, budget_s, shown_s;
    size_t done, total;
    Reasons reasons;
} Run;

static void note(Reasons *reasons, RkClass cls, const RkError *why)
{
    char text[sizeof reasons->text[0]];
    snprintf(text, sizeof text, "%s: %s", rk_class_name(cls), why->text);
    for (int i = 0; i < REASONS_MAX; i++) {
        if (reasons->count[i] == 0)
            snprintf(reasons->text[i], sizeof reasons->text[i], "%s", text);
        if (strcmp(reasons->text[i], text) == 0) {
            reasons->count[i]++;
            return;
        }
    }
}

static void show(Run *run, const RkSample *sample)
{
    char now[64], line[160];
    double elapsed_s = rk_now_s() - run->begin_s;
    bool terminal = isatty(STDERR_FILENO);
    if (!terminal && elapsed_s - run->shown_s < QUIET_S)
        return;
    run->shown_s = elapsed_s;
    snprintf(now, sizeof now, "%s %s", rk_class_name(sample->cls), rk_dtype_name(sample->dtype));
    RkProgress progress = {run->done, run->total, elapsed_s, run->budget_s, now};
    rk_progress_line(&progress, line, sizeof line);
    fprintf(stderr, terminal ? "\r\033[K%s" : "%s\n", line);
}

static void show_end(const Run *run, bool complete)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    for (int i = 0; i < REASONS_MAX && run->reasons.count[i] > 0; i++)
        fprintf(stderr, "note: %d left out, %s\n", run->reasons.count[i], run->reasons.text[i]);
    fprintf(stderr, "%zu of %zu done in %.0f s%s\n", run->done, run->total,
            rk_now_s() - run->begin_s, complete ? "" : ": stopped early, the file is valid");
}

static bool time_is_up(const Run *run)
{
    return stopped || rk_now_s() - run->begin_s > run->budget_s;
}

/* Time for a sample. Cheap samples leave time to expensive ones: several times the even share,
 * within bounds. */
static double share_s(const Run *run)
{
    double left_s = run->budget_s - (rk_now_s() - run->begin_s);
    double even_s = left_s / (double)(run->total - run->done + 1);
    return fmin(SAMPLE_S_MAX, fmax(SAMPLE_S_MIN, 4 * even_s));
}

/* Is the device usable? After some errors every later call fails, too. */
static bool device_lives(const RkGpu *gpu)
{
    return cudaStreamSynchronize(gpu->stream) == cudaSuccess && cudaGetLastError() == cudaSuccess;
}

/* Measures one sample; `listed` is written into the row, `shape` is what runs. */
static bool measure_one(Run *run, const RkSample *listed, const RkSample *shape)
{
    RkCase c;
    RkError why;
    RkRawRow row = {};
    if (!rk_case_open(run->gpu, shape, INT32_MAX, &c, &why)) {
        note(&run->reasons, shape->cls, &why);
        return device_lives(run->gpu);
    }
    bool timed = rk_time(run->gpu, &c, share_s(run), &row.seconds, &why);
    RkReading reading = rk_meter_read();
    row.sample = *listed;
    row.sm_mhz = reading.sm_mhz;
    row.watts = reading.watts;
    snprintf(row.library, sizeof row.library, "%s", c.library);
    rk_case_close(run->gpu, &c);
    if (timed && row.seconds.median > 0)
        return rk_raw_write_row(run->out, &row);
    if (!timed)
        note(&run->reasons, shape->cls, &why);
    return device_lives(run->gpu);
}

/* --- The head of the file --- */

static void host_cpu(char *out, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    out[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(out, size, "%s", colon[1] == ' ' ? colon + 2 : colon + 1);
        break;
    }
    if (file != NULL)
        fclose(file);
}

static bool write_head(const RkGpu *gpu, FILE *out)
{
    RkRawHead head = {};
    time_t now = time(NULL);
    struct tm utc;
    snprintf(head.device, sizeof head.device, "%s", gpu->name);
    snprintf(head.cuda, sizeof head.cuda, "%d.%d", CUDART_VERSION / 1000,
             CUDART_VERSION % 1000 / 10);
    rk_cublas_version(head.cublas, sizeof head.cublas);
    rk_cudnn_version(head.cudnn, sizeof head.cudnn);
    rk_nccl_version(head.nccl, sizeof head.nccl);
    rk_meter_driver(head.driver, sizeof head.driver);
    host_cpu(head.host_cpu, sizeof head.host_cpu);
    strftime(head.date, sizeof head.date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    head.sms = gpu->sms;
    head.sm_major = gpu->sm / 10;
    head.sm_minor = gpu->sm % 10;
    head.hbm_bytes = (double)gpu->memory_bytes;
    head.l2_bytes = (double)gpu->l2_bytes;
    head.clock_mhz_max = rk_meter_sm_mhz_max();
    head.memory_clock_mhz = rk_meter_memory_mhz();
    return rk_raw_write_head(out, &head);
}

static Run begin(RkGpu *gpu, const RkOptions *options, FILE *out, size_t total)
{
    Run run = {};
    run.gpu = gpu;
    run.out = out;
    run.begin_s = rk_now_s();
    run.budget_s = options->budget_s;
    run.total = total;
    return run;
}

static RkExit finish(const Run *run, bool complete, FILE *out)
{
    bool written = rk_raw_write_end(out, complete);
    show_end(run, complete);
    if (!written)
        fprintf(stderr, "error: the output cannot be written\n");
    return complete && written ? RK_EXIT_OK : RK_EXIT_PARTIAL;
}

/* --- The grid --- */

RkExit rk_measure_grid(RkGpu *gpu, const RkOptions *options, FILE *out)
{
    RkGridOptions grid = rk_grid_defaults();
    RkSamples samples = {};
    memcpy(grid.classes, options->classes, sizeof grid.classes);
    grid.sms = gpu->sms;
    grid.bytes_max = (double)gpu->arena_bytes / 2;
    if (cudaGetDeviceCount(&grid.gpus) != cudaSuccess || !rk_grid(&grid, &samples)) {
        fprintf(stderr, "error: no memory for the grid\n");
        return RK_EXIT_PARTIAL;
    }
    Run run = begin(gpu, options, out, samples.count);
    bool going = write_head(gpu, out);
    for (; going && run.done < samples.count && !time_is_up(&run); run.done++) {
        show(&run, &samples.items[run.done]);
        going = measure_one(&run, &samples.items[run.done], &samples.items[run.done]);
    }
    bool complete = going && run.done == samples.count;
    rk_samples_clear(&samples);
    return finish(&run, complete, out);
}

/* --- A list --- */

static void enqueue_whole(const RkGpu *gpu, void *data)
{
    rk_whole_launch(gpu, (const RkWhole *)data);
}

static void launch_graph(const RkGpu *gpu, void *data)
{
    cudaGraphLaunch((cudaGraphExec_t)data, gpu->stream);
}

static bool write_whole(Run *run, const char *name, const RkWhole *whole, const RkMedian *seconds)
{
    RkReading reading = rk_meter_read();
    RkRawRow row = {};
    row.sample.dtype = whole->list->items[0].sample.dtype;
    row.seconds = *seconds;
    row.sm_mhz = reading.sm_mhz;
    row.watts = reading.watts;
    snprintf(row.library, sizeof row.library, "rehearse-kernels");
    return rk_raw_write_whole(run->out, name, whole->launches, &row);
}

/* Measures the list back to back on one stream, then as a graph. */
static bool measure_whole(Run *run, const RkList *list)
{
    RkWhole whole;
    RkMedian seconds;
    RkError why;
    cudaGraphExec_t graph = NULL;
    double each_s = fmax(1, (run->budget_s - (rk_now_s() - run->begin_s)) / 3);
    bool ok = rk_whole_open(run->gpu, list, &whole, &why) &&
              rk_time_enqueued(run->gpu, enqueue_whole, &whole, each_s, &seconds, &why) &&
              write_whole(run, "sequence", &whole, &seconds) && !stopped &&
              rk_whole_capture(run->gpu, &whole, &graph, &why) &&
              rk_time_enqueued(run->gpu, launch_graph, graph, each_s, &seconds, &why) &&
              write_whole(run, "sequence_graph", &whole, &seconds);
    if (!ok)
        fprintf(stderr, "warning: the list as a whole was not measured: %s\n",
                stopped ? "stopped" : why.text);
    if (graph != NULL)
        cudaGraphExecDestroy(graph);
    rk_whole_close(run->gpu, &whole);
    return ok;
}

/* Measures a list; half of the budget is for the list as a whole. */
RkExit rk_measure_list(RkGpu *gpu, const RkOptions *options, const RkList *list, FILE *out)
{
    Run run = begin(gpu, options, out, list->count);
    bool going = write_head(gpu, out);
    run.budget_s /= 2;
    for (; going && run.done < list->count && !time_is_up(&run); run.done++) {
        const RkListed *item = &list->items[run.done];
        show(&run, &item->sample);
        if (rk_list_first_like(list, run.done) == run.done)
            going = measure_one(&run, &item->sample, &item->shape);
    }
    bool complete = going && run.done == list->count && run.reasons.count[0] == 0;
    run.budget_s = options->budget_s;
    if (going && !stopped)
        complete = measure_whole(&run, list) && complete;
    return finish(&run, complete, out);
}

/* --- Checks --- */

static bool check_one(RkGpu *gpu, RkClass cls, const RkKernel *kernel)
{
    double worst = 0;
    RkError why = {};
    if (kernel->reference == NULL)
        return true;
    bool ran = rk_kernel_check(gpu, kernel, &worst, &why);
    if (!ran && device_lives(gpu)) {
        fprintf(stderr, "%-20s %-9s skipped: %s\n", rk_class_name(cls), kernel->library, why.text);
        return true;
    }
    bool good = ran && worst <= 1;
    fprintf(stderr, "%-20s %-9s %s: largest error %.2f of what its dtype allows\n",
            rk_class_name(cls), kernel->library, good ? "ok" : "WRONG", worst);
    return good;
}

RkExit rk_check_kernels(RkGpu *gpu, const RkOptions *options)
{
    bool good = true;
    RkClass cls;
    const RkKernel *kernel;
    for (size_t i = 0; (kernel = rk_kernel_at(i, &cls)) != NULL; i++)
        if (options->classes[cls])
            good = check_one(gpu, cls, kernel) && good;
    return good ? RK_EXIT_OK : RK_EXIT_CHECK;
}

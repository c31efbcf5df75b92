#include "calibrate/cuda/gpu_backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/cuda/clock_power_meter.h"
#include "calibrate/cuda/kernel_list_launch.h"
#include "calibrate/cuda/vendor_libraries.h"
#include "calibrate/measure/shape_grid.h"

#define SAMPLE_S_MIN 0.03
#define WARM_UP_S    0.5

/* Is the device usable? After some errors every later call fails, too. */
static bool device_lives(const RkGpu *gpu)
{
    return cudaStreamSynchronize(gpu->stream) == cudaSuccess && cudaGetLastError() == cudaSuccess;
}

static RkOutcome left_out(const RkGpu *gpu)
{
    return device_lives(gpu) ? RK_LEFT_OUT : RK_BROKEN;
}

/* Measures one shape; what its preparation takes is part of the budget. */
static RkOutcome measure(void *self, const RkSample *shape, double budget_s, RkRawRow *row,
                         RkError *why)
{
    RkGpu *gpu = (RkGpu *)self;
    RkCase c;
    double begin_s = rk_now_s();
    if (!rk_case_open(gpu, shape, INT32_MAX, &c, why))
        return left_out(gpu);
    double rest_s = fmax(SAMPLE_S_MIN, budget_s - (rk_now_s() - begin_s));
    bool timed = rk_time(gpu, &c, rest_s, &row->seconds, why);
    row->sm_mhz = c.during.sm_mhz;
    row->watts = c.during.watts;
    snprintf(row->library, sizeof row->library, "%s", c.library);
    rk_case_close(gpu, &c);
    return timed ? RK_MEASURED : left_out(gpu);
}

/* --- The list as a whole --- */

static void enqueue_whole(const RkGpu *gpu, void *data)
{
    rk_whole_launch(gpu, (const RkWhole *)data);
}

static void launch_graph(const RkGpu *gpu, void *data)
{
    cudaGraphLaunch((cudaGraphExec_t)data, gpu->stream);
}

/* One way to run the list. */
typedef struct {
    const char *name;
    RkEnqueue enqueue;
    void *data; /* its */
    double budget_s;
} ListRun;

/* Times a way to run the list, and writes its row. */
static bool measure_run(RkGpu *gpu, const RkList *list, ListRun run, FILE *out, RkError *why)
{
    RkRawRow row = {};
    RkReading during = {};
    if (!rk_time_enqueued(gpu, run.enqueue, run.data, run.budget_s, &row.seconds, &during, why))
        return false;
    row.sm_mhz = during.sm_mhz;
    row.watts = during.watts;
    snprintf(row.library, sizeof row.library, "rehearse-kernels");
    return rk_run_whole(list, run.name, row, out) || rk_fail(why, "the output cannot be written");
}

/* Measures the list back to back on one stream, then as a graph. */
static bool measure_whole(void *self, const RkList *list, double budget_s, FILE *out, RkError *why)
{
    RkGpu *gpu = (RkGpu *)self;
    RkWhole whole;
    cudaGraphExec_t graph = NULL;
    bool ok =
        rk_whole_open(gpu, list, &whole, why) &&
        measure_run(gpu, list, ListRun{"sequence", enqueue_whole, &whole, budget_s}, out, why) &&
        (!rk_is_stopped() || rk_fail(why, "stopped")) &&
        rk_whole_capture(gpu, &whole, &graph, why) &&
        measure_run(gpu, list, ListRun{"sequence_graph", launch_graph, graph, budget_s}, out, why);
    if (graph != NULL)
        cudaGraphExecDestroy(graph);
    rk_whole_close(gpu, &whole);
    return ok;
}

/* --- The device of a run --- */

/* Lets the GPU work for a moment, so that its clock has left idle before the first sample. */
static void warm_up(RkGpu *gpu)
{
    RkOperand noise = {
        RH_DTYPE_FP32, (int64_t)(gpu->arena_bytes / 8 / sizeof(float)), RK_FILL_NORMAL, 1, 0,
        false};
    double end_s = rk_now_s() + WARM_UP_S;
    do
        rk_gpu_fill(gpu, gpu->arena, &noise, gpu->seed);
    while (cudaStreamSynchronize(gpu->stream) == cudaSuccess && rk_now_s() < end_s);
}

static RkDevice device_of(RkGpu *gpu)
{
    RkDevice device = {};
    RkRawHead *head = &device.head;
    device.self = gpu;
    device.measure = measure;
    device.measure_whole = measure_whole;
    snprintf(head->device, sizeof head->device, "%s", gpu->name);
    snprintf(head->cuda, sizeof head->cuda, "%d.%d", CUDART_VERSION / 1000,
             CUDART_VERSION % 1000 / 10);
    rk_cublas_version(head->cublas, sizeof head->cublas);
    rk_cudnn_version(head->cudnn, sizeof head->cudnn);
    rk_nccl_version(head->nccl, sizeof head->nccl);
    rk_meter_driver(head->driver, sizeof head->driver);
    rk_host_cpu(head->host_cpu, sizeof head->host_cpu);
    rk_date(head->date, sizeof head->date);
    head->sms = gpu->sms;
    head->sm_major = gpu->sm / 10;
    head->sm_minor = gpu->sm % 10;
    head->hbm_bytes = (double)gpu->memory_bytes;
    head->l2_bytes = (double)gpu->l2_bytes;
    head->clock_mhz_max = rk_meter_sm_mhz_max();
    head->memory_clock_mhz = rk_meter_memory_mhz();
    warm_up(gpu);
    return device;
}

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
    RkDevice device = device_of(gpu);
    RkExit status = rk_run_samples(&device, options, &samples, out);
    rk_samples_clear(&samples);
    return status;
}

RkExit rk_measure_list(RkGpu *gpu, const RkOptions *options, const RkList *list, FILE *out)
{
    RkDevice device = device_of(gpu);
    return rk_run_list(&device, options, list, out);
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

/* rehearse-kernels: measures a GPU and writes raw CSV. */
#include <stdio.h>
#include <string.h>

#include "calibrate/cuda/grid.h"
#include "calibrate/cuda/measure.h"
#include "calibrate/cuda/meter.h"
#include "calibrate/cuda/raw.h"
#include "calibrate/cuda/serve.h"

static RkExit print_grid(const RkOptions *options)
{
    RkGridOptions grid = rk_grid_defaults();
    RkSamples samples = {};
    memcpy(grid.classes, options->classes, sizeof grid.classes);
    bool ok = rk_grid(&grid, &samples) && rk_raw_write_grid(stdout, &samples);
    rk_samples_clear(&samples);
    return ok ? RK_EXIT_OK : RK_EXIT_PARTIAL;
}

static RkExit run(RkGpu *gpu, const RkOptions *options, const RkList *list, FILE *out)
{
    if (options->task == RK_DO_CHECK)
        return rk_check_kernels(gpu, options);
    if (options->task == RK_DO_LIST)
        return rk_measure_list(gpu, options, list, out);
    if (options->task == RK_DO_SERVE)
        return rk_serve(gpu, list, stdin, out);
    return rk_measure_grid(gpu, options, out);
}

static RkExit run_into_file(RkGpu *gpu, const RkOptions *options, const RkList *list)
{
    if (options->out_file == NULL)
        return run(gpu, options, list, stdout);
    FILE *out = fopen(options->out_file, "w");
    if (out == NULL) {
        fprintf(stderr, "error: -o %s: cannot be written\n", options->out_file);
        return RK_EXIT_INPUT;
    }
    RkExit status = run(gpu, options, list, out);
    return fclose(out) == 0 ? status : RK_EXIT_PARTIAL;
}

/* Runs the task with a GPU. The output file is created only once a GPU is open. */
static RkExit with_gpu(const RkOptions *options, const RkList *list)
{
    RkGpu gpu;
    RkError why;
    if (!rk_gpu_open(options->device, options->seed, &gpu, &why)) {
        fprintf(stderr, "error: no usable GPU: %s\n", why.text);
        return RK_EXIT_GPU;
    }
    rk_meter_open(gpu.pci);
    if (options->task != RK_DO_SERVE) /* serving ends when its input is closed */
        rk_stop_on_signals();
    RkExit status = run_into_file(&gpu, options, list);
    rk_gpu_close(&gpu);
    return status;
}

static bool read_list(const char *name, RkList *list)
{
    char why[512];
    FILE *file = fopen(name, "r");
    if (file == NULL) {
        fprintf(stderr, "error: %s: cannot be opened\n", name);
        return false;
    }
    bool ok = rk_list_read(file, name, list, why, sizeof why);
    if (!ok)
        fprintf(stderr, "error: %s\n", why);
    fclose(file);
    return ok;
}

static RkExit measure(const RkOptions *options)
{
    RkList list = {};
    if (options->list_file != NULL && !read_list(options->list_file, &list))
        return RK_EXIT_INPUT;
    RkExit status = with_gpu(options, &list);
    rk_list_clear(&list);
    return status;
}

int main(int argc, char **argv)
{
    RkOptions options;
    char why[256];
    if (!rk_options_parse(argc, argv, &options, why, sizeof why)) {
        fprintf(stderr, "error: %s\n", why);
        return RK_EXIT_INPUT;
    }
    switch (options.task) {
    case RK_DO_HELP:
        fputs(rk_options_help(), stdout);
        return RK_EXIT_OK;
    case RK_DO_VERSION:
        printf("rehearse-kernels, writes rehearse.raw/1, CUDA %d.%d\n", CUDART_VERSION / 1000,
               CUDART_VERSION % 1000 / 10);
        return RK_EXIT_OK;
    case RK_DO_GRID:
        return print_grid(&options);
    case RK_DO_MEASURE:
    case RK_DO_LIST:
    case RK_DO_SERVE:
    case RK_DO_CHECK:
    default:
        return measure(&options);
    }
}

/* rehearse-kernels: measures a GPU and writes raw CSV. */
#include <stdio.h>
#include <string.h>

#include "calibrate/cuda/clock_power_meter.h"
#include "calibrate/cuda/gpu_backend.h"
#include "calibrate/cuda/kernel_server.h"
#include "calibrate/measure/measure_main.h"

static const char HELP[] =
    "Usage: rehearse-kernels [OPTION...]\n"
    "Measures this GPU's kernels, copies, launches and collectives and writes them as raw CSV,\n"
    "from which `rehearse calibrate` makes a profile. Changes no clock and no setting.\n"
    "\n"
    "  --run CLASS,...   only these and what begins so: gemm (gemm_nn, gemm_nt, gemm_beside_copy),\n"
    "                    grouped_gemm, attention (attention_backward), softmax, norm, rotary,\n"
    "                    activation, add, embedding, cross_entropy, optimizer, reduce, permute,\n"
    "                    copy, empty, launch, graph_launch, sustained_gemm, nccl\n"
    "  --budget TIME     stop after this time, 4.5m by default (90s, 5m); the rest is left out\n"
    "  -o FILE           write there instead of standard output\n"
    "  --list LIST.csv   measure the kernels of a list alone and the list as a whole\n"
    "  --serve LIST.csv  run lines of a list as standard input asks (calibrate/measure/kernel_server_protocol.h)\n"
    "  --device N        the GPU, 0 by default\n"
    "  --seed N          of the random data, 1 by default\n"
    "  --grid            print the designed grid as CSV and exit; needs no GPU\n"
    "  --check           compare our kernels with a double-precision reference and exit\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 all measured; 1 stopped early or a class is missing, what was measured is valid;\n"
    "2 a check failed; 3 bad input; 4 no usable GPU.\n";

static RkExit run(RkGpu *gpu, const RkOptions *options, const RkList *list, FILE *out)
{
    if (options->task == RK_DO_LIST)
        return rk_measure_list(gpu, options, list, out);
    if (options->task == RK_DO_SERVE)
        return rk_serve(gpu, list, stdin, out);
    return rk_measure_grid(gpu, options, out);
}

/* Performs the task on a GPU. The output file is created only once a GPU is open. */
static RkExit perform(const RkOptions *options, const RkList *list)
{
    RkGpu gpu;
    RkError why;
    if (!rk_gpu_open(options->device, options->seed, &gpu, &why)) {
        fprintf(stderr, "error: no usable GPU: %s\n", why.text);
        return RK_EXIT_DEVICE;
    }
    rk_meter_open(gpu.pci);
    if (options->task != RK_DO_SERVE) /* serving ends when its input is closed */
        rk_stop_on_signals();
    RkExit status = RK_EXIT_INPUT;
    if (options->task == RK_DO_CHECK) {
        status = rk_check_kernels(&gpu, options);
    } else {
        FILE *out = rk_program_output(options);
        status = out != NULL ? rk_program_close(out, run(&gpu, options, list, out)) : status;
    }
    rk_gpu_close(&gpu);
    return status;
}

int main(int argc, char **argv)
{
    char version[96];
    snprintf(version, sizeof version, "rehearse-kernels, writes rehearse.raw/1, CUDA %d.%d",
             CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    RkProgram program = {HELP, version, rk_grid_defaults, perform};
    return rk_program_main(argc, argv, &program);
}

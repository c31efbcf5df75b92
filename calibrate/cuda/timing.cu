#include "calibrate/cuda/timing.h"

#include <math.h>

#define REPETITIONS_MAX 101
#define GROUP_S         200e-6 /* event stamps resolve about half a microsecond */
#define GROUP_MAX       32
#define READ_S          1e-3 /* shorter groups end before the driver has told its clock */
/* Assumed upper bound of the host time to enqueue one run, so that the stream never waits for it. */
#define ENQUEUE_NS 12000
#define FIRST_NS   20000

/* Kernel that holds the stream while the host enqueues the timed runs. */
static __global__ void delay(uint64_t nanoseconds)
{
    uint64_t begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < nanoseconds);
}

/* Seconds of one run of a group; reads the clock while a group of `expected_s` seconds runs. */
static double group_s(const RkGpu *gpu, RkCase *c, int group, double expected_s)
{
    float milliseconds = -1;
    delay<<<1, 1, 0, gpu->stream>>>(FIRST_NS + (uint64_t)group * ENQUEUE_NS);
    cudaEventRecord(gpu->begin, gpu->stream);
    for (int i = 0; i < group; i++)
        rk_case_launch(gpu, c, gpu->stream);
    cudaEventRecord(gpu->end, gpu->stream);
    if (expected_s > READ_S)
        c->during = rk_meter_read();
    if (rk_case_was_refused() || cudaGetLastError() != cudaSuccess ||
        cudaEventSynchronize(gpu->end) != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, gpu->begin, gpu->end) != cudaSuccess)
        return -1;
    return 1e-3 * (double)milliseconds / group;
}

static double once_s(const RkGpu *gpu, RkCase *c, int group, double expected_s)
{
    return c->kernel->time_s != NULL ? c->kernel->time_s(gpu, c)
                                     : group_s(gpu, c, group, expected_s);
}

static bool failed(const RkGpu *gpu, RkError *why)
{
    cudaError_t status = cudaStreamSynchronize(gpu->stream);
    if (status == cudaSuccess)
        status = cudaGetLastError();
    return rk_cuda(status, "running", why) && rk_fail(why, "running: no time came back");
}

bool rk_time(const RkGpu *gpu, RkCase *c, double budget_s, RkMedian *out, RkError *why)
{
    double values[REPETITIONS_MAX], sorted[REPETITIONS_MAX], end_s = rk_now_s() + budget_s;
    double first_s = once_s(gpu, c, 1, 0);
    if (first_s >= 0)
        first_s = once_s(gpu, c, 1, 0); /* the first run loads code */
    if (first_s < 0)
        return failed(gpu, why);
    int group = (int)fmin(GROUP_MAX, fmax(1, ceil(GROUP_S / fmax(first_s, 1e-7))));
    RkMedian median = {};
    for (size_t count = 0; count < REPETITIONS_MAX;) {
        values[count] = once_s(gpu, c, group, group * first_s);
        if (values[count] < 0)
            return failed(gpu, why);
        count++;
        for (size_t i = 0; i < count; i++)
            sorted[i] = values[i];
        median = rk_median(sorted, count);
        if (rk_median_known(&median, RK_WIDTH_WANTED) || rk_now_s() > end_s)
            break;
    }
    *out = median;
    return true;
}

bool rk_time_enqueued(const RkGpu *gpu, RkEnqueue enqueue, void *data, double budget_s,
                      RkMedian *out, RkReading *during, RkError *why)
{
    double values[REPETITIONS_MAX], sorted[REPETITIONS_MAX], end_s = rk_now_s() + budget_s;
    RkMedian median = {};
    enqueue(gpu, data); /* warm-up */
    for (size_t count = 0; count < REPETITIONS_MAX;) {
        float milliseconds = 0;
        cudaEventRecord(gpu->begin, gpu->stream);
        enqueue(gpu, data);
        cudaEventRecord(gpu->end, gpu->stream);
        *during = rk_meter_read();
        if (rk_case_was_refused())
            return rk_fail(why, "running the list: a library refused a launch");
        if (!rk_cuda(cudaEventSynchronize(gpu->end), "running the list", why) ||
            !rk_cuda(cudaEventElapsedTime(&milliseconds, gpu->begin, gpu->end), "timing the list",
                     why))
            return false;
        values[count++] = 1e-3 * (double)milliseconds;
        for (size_t i = 0; i < count; i++)
            sorted[i] = values[i];
        median = rk_median(sorted, count);
        if (rk_median_known(&median, RK_WIDTH_WANTED) || rk_now_s() > end_s)
            break;
    }
    *out = median;
    return true;
}

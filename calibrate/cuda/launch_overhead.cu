/* Measures the cost of a launch: alone from call to end, back to back, and as a node of a graph, by
 * the host's clock, because a launch begins on the host. */
#include <stdlib.h>

#include "calibrate/cuda/kernel_case.h"
#include "calibrate/cuda/timing.h"

#define WARM_LAUNCHES 8

static __global__ void empty()
{
}

static void launch(const RkGpu *, const RkCase *c, cudaStream_t stream, void *const *)
{
    for (int64_t i = 0; i < c->sample.n; i++)
        empty<<<1, 1, 0, stream>>>();
}

/* Seconds per launch, for the number of launches in the sample. */
static double time_launches(const RkGpu *gpu, RkCase *c)
{
    for (int i = 0; i < WARM_LAUNCHES; i++)
        empty<<<1, 1, 0, gpu->stream>>>();
    if (cudaStreamSynchronize(gpu->stream) != cudaSuccess)
        return -1;
    double begin_s = rk_now_s();
    launch(gpu, c, gpu->stream, NULL);
    if (cudaStreamSynchronize(gpu->stream) != cudaSuccess)
        return -1;
    return (rk_now_s() - begin_s) / (double)c->sample.n;
}

static bool prepare_graph(RkGpu *gpu, RkCase *c, RkError *why)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    if (!rk_cuda(cudaStreamBeginCapture(gpu->stream, cudaStreamCaptureModeThreadLocal),
                 "capturing a graph", why))
        return false;
    launch(gpu, c, gpu->stream, NULL);
    bool ok = rk_cuda(cudaStreamEndCapture(gpu->stream, &graph), "capturing a graph", why) &&
              rk_cuda(cudaGraphInstantiateWithFlags(&ready, graph, 0), "making a graph", why);
    if (graph != NULL)
        cudaGraphDestroy(graph);
    c->plan = ready;
    return ok;
}

static double time_graph(const RkGpu *gpu, RkCase *c)
{
    double begin_s = rk_now_s();
    if (cudaGraphLaunch((cudaGraphExec_t)c->plan, gpu->stream) != cudaSuccess ||
        cudaStreamSynchronize(gpu->stream) != cudaSuccess)
        return -1;
    return (rk_now_s() - begin_s) / (double)c->sample.n;
}

static void release_graph(RkCase *c)
{
    cudaGraphExecDestroy((cudaGraphExec_t)c->plan);
}

static void launch_one(const RkGpu *, const RkCase *, cudaStream_t stream, void *const *)
{
    empty<<<1, 1, 0, stream>>>();
}

/* Timed by events behind a delay, as every other kernel is: the host does not count. */
extern const RkKernel RK_KERNEL_EMPTY = {"cudart", NULL, NULL, launch_one, NULL, NULL, NULL, NULL};
extern const RkKernel RK_KERNEL_LAUNCH = {"cudart",      NULL, NULL, launch,
                                          time_launches, NULL, NULL, NULL};
extern const RkKernel RK_KERNEL_GRAPH_LAUNCH = {"cudart",   NULL,          prepare_graph, launch,
                                                time_graph, release_graph, NULL,          NULL};

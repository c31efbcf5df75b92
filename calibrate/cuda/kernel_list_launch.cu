#include "calibrate/cuda/kernel_list_launch.h"

#include <stdlib.h>

bool rk_whole_open(RkGpu *gpu, const RkList *list, RkWhole *whole, RkError *why)
{
    *whole = RkWhole{(RkCase *)calloc(list->count, sizeof(RkCase)),
                     (size_t *)calloc(list->count, sizeof(size_t)), 0, list};
    if (whole->cases == NULL || whole->case_of == NULL)
        return rk_fail(why, "no memory");
    for (size_t i = 0; i < list->count; i++) {
        size_t first = rk_list_first_like(list, i);
        if (first < i) {
            whole->case_of[i] = whole->case_of[first];
            continue;
        }
        RkCase *next = &whole->cases[whole->cases_count];
        if (!rk_case_open(gpu, &list->items[i].shape, 1, next, why))
            return false;
        whole->case_of[i] = whole->cases_count++;
    }
    return true;
}

void rk_whole_close(RkGpu *gpu, RkWhole *whole)
{
    while (whole->cases_count > 0)
        rk_case_close(gpu, &whole->cases[--whole->cases_count]);
    free(whole->cases);
    free(whole->case_of);
}

void rk_whole_launch_line(const RkGpu *gpu, const RkWhole *whole, size_t line)
{
    rk_case_launch(gpu, &whole->cases[whole->case_of[line]], gpu->stream);
}

void rk_whole_launch(const RkGpu *gpu, const RkWhole *whole)
{
    for (size_t i = 0; i < whole->list->count; i++)
        for (int64_t n = 0; n < whole->list->items[i].count; n++)
            rk_whole_launch_line(gpu, whole, i);
}

bool rk_whole_capture(const RkGpu *gpu, const RkWhole *whole, cudaGraphExec_t *out, RkError *why)
{
    cudaGraph_t graph = NULL;
    if (!rk_cuda(cudaStreamBeginCapture(gpu->stream, cudaStreamCaptureModeThreadLocal),
                 "capturing the list", why))
        return false;
    rk_whole_launch(gpu, whole);
    bool ok =
        rk_cuda(cudaStreamEndCapture(gpu->stream, &graph), "capturing the list", why) &&
        rk_cuda(cudaGraphInstantiateWithFlags(out, graph, 0), "making a graph of the list", why);
    if (graph != NULL)
        cudaGraphDestroy(graph);
    return ok;
}

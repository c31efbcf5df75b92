#include "calibrate/cuda/kernel_server.h"

#include <stdlib.h>

#include "calibrate/cuda/kernel_list_launch.h"
#include "calibrate/measure/kernel_server_protocol.h"

/* Loads code and raises clocks before an answer is awaited. */
static bool warm_up(const RkGpu *gpu, const RkWhole *whole, RkError *why)
{
    for (size_t i = 0; i < whole->list->count; i++)
        rk_whole_launch_line(gpu, whole, i);
    return rk_cuda(cudaStreamSynchronize(gpu->stream), "running the list", why);
}

static bool follow(const RkGpu *gpu, const RkWhole *whole, const RkOrder *order, RkError *why)
{
    for (size_t i = 0; i < order->count; i++)
        rk_whole_launch_line(gpu, whole, order->lines[i]);
    return rk_cuda(cudaStreamSynchronize(gpu->stream), "running an order", why) &&
           rk_cuda(cudaGetLastError(), "running an order", why);
}

static bool serve(const RkGpu *gpu, const RkWhole *whole, FILE *in, FILE *out, RkError *why)
{
    RkOrder order = {};
    char *text = NULL;
    size_t room = 0;
    bool ok = true;
    fprintf(out, "ready %zu\n", whole->list->count);
    fflush(out);
    while (ok && getline(&text, &room, in) >= 0) {
        ok = rk_order_parse(text, whole->list->count, &order, why->text, sizeof why->text) &&
             follow(gpu, whole, &order, why);
        if (ok)
            fprintf(out, "done %.9f\n", rk_now_s());
        fflush(out);
    }
    free(text);
    rk_order_clear(&order);
    return ok;
}

RkExit rk_serve(RkGpu *gpu, const RkList *list, FILE *in, FILE *out)
{
    RkWhole whole;
    RkError why;
    bool ok = rk_whole_open(gpu, list, &whole, &why) && warm_up(gpu, &whole, &why) &&
              serve(gpu, &whole, in, out, &why);
    if (!ok)
        fprintf(stderr, "error: --serve: %s\n", why.text);
    rk_whole_close(gpu, &whole);
    return ok ? RK_EXIT_OK : RK_EXIT_PARTIAL;
}

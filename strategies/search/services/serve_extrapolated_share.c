#include "strategies/search/services/serve_extrapolated_share.h"

#include <math.h>

/* most chunks of a prompt that are considered, however small the server's chunks are */
#define CHUNKS_MOST 256

/* A mean request, and the number of others that a replica continues meanwhile. */
typedef struct {
    int32_t prompt, answer, running;
} Mean;

static Mean mean_of(const RhDeployment *d, const RhServiceMetrics *o)
{
    double done = (double)o->completed_count, answer = (double)o->tokens_out / done;
    double tpot_s = o->metrics[RH_METRIC_TPOT].mean.value;
    const RhPool *pool = &d->pools[d->pools_count - 1];
    double running = isfinite(tpot_s) /* Little 1961 */
                         ? o->request_rate_per_s * (answer - 1) * tpot_s / pool->replicas
                         : 1;
    return (Mean){MAX((int32_t)((double)o->tokens_in / done), 1), MAX((int32_t)answer, 1),
                  MAX((int32_t)round(running), 1)};
}

static void add_pool(RhIterations *it, const RhServer *server, const Mean *m, bool reads,
                     bool makes, RhIterationKernels *sums)
{
    const RhPool *pool = rh_iterations_pool(it);
    int32_t most = MAX(pool->chunk > 0 ? pool->chunk : server->chunk, m->prompt / CHUNKS_MOST + 1);
    RhBatch token = {.decodes = m->running,
                     .contexts = (int64_t)m->running * (m->prompt + m->answer / 2)};
    for (int32_t cached = 0; reads && cached < m->prompt; cached += most) {
        RhChunk chunk = {cached, MIN(m->prompt - cached, most)};
        RhBatch read = {.chunks = &chunk, .chunks_count = 1};
        rh_iteration_add_kernels(it, &read, 1, sums);
    }
    if (makes && m->answer > 1)
        rh_iteration_add_kernels(it, &token, (m->answer - 1.0) / m->running, sums);
}

static void extrapolate(RhServeExtrapolation *out, const RhDevice *device,
                        const RhIterationKernels *sums)
{
    for (int kind = 0; kind < RH_CALIBRATED_RANGE_LAST; kind++) {
        const RhExtrapolation *b = &sums->beyond[kind];
        if (b->seconds > 0)
            out->kinds[kind] =
                (RhExtrapolated){.share_frac = b->seconds / sums->kernels_s,
                                 .largest = b->largest,
                                 .shapes = *rh_extrapolation_shapes(device, &b->largest)};
    }
    out->untabled_frac = sums->untabled_s / sums->kernels_s;
    out->device = device->name;
}

#define TYPICAL_TOKENS  1024 /* of a prompt, and of an answer */
#define TYPICAL_AT_ONCE 32

double rh_served_untabled_frac(RhIterations *it)
{
    RhIterationKernels sums = {0};
    RhChunk chunk = {0, TYPICAL_TOKENS};
    RhBatch read = {.chunks = &chunk, .chunks_count = 1};
    RhBatch token = {.decodes = TYPICAL_AT_ONCE,
                     .contexts = TYPICAL_AT_ONCE * (TYPICAL_TOKENS + TYPICAL_TOKENS / 2)};
    rh_iteration_add_kernels(it, &read, 1, &sums);
    rh_iteration_add_kernels(it, &token, (TYPICAL_TOKENS - 1.0) / TYPICAL_AT_ONCE, &sums);
    return sums.kernels_s > 0 ? sums.untabled_s / sums.kernels_s : 0;
}

RhServeExtrapolation rh_serve_extrapolation(const RhServing *serving, const RhDeployment *d,
                                            const RhServiceMetrics *outcome)
{
    RhServeExtrapolation out = {0};
    if (outcome->completed_count == 0 || outcome->once)
        return out;
    Mean m = mean_of(d, outcome);
    RhIterationKernels sums = {0};
    for (int32_t i = 0; i < d->pools_count; i++) {
        g_autoptr(RhIterations) it = rh_iterations_new(serving, &d->pools[i], NULL);
        if (!it)
            return out;
        add_pool(it, serving->server, &m, i == 0, i == d->pools_count - 1, &sums);
        if (i == d->pools_count - 1 && sums.kernels_s > 0)
            extrapolate(&out, rh_iterations_platform(it)->device, &sums);
    }
    return out;
}

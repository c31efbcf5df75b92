/* Ends a simulated service: counts, costs, and its replicas. */
#include <math.h>

#include "strategies/serve/service/service_private.h"

bool rh_service_remembers(const RhServiceClock *c, const RhServicePool *stage)
{
    return c->prompts && rh_service_finds_again(c, stage);
}

/* Can a later prompt use the cache of an earlier one? States of linear mixers are of the whole
 * prompt, so a prefix of it cannot be taken from them. */
bool rh_service_finds_again(const RhServiceClock *c, const RhServicePool *stage)
{
    const RhPool *pool = &stage->pool;
    if (rh_iterations_sequence_bytes(stage->iterations) > 0)
        return false;
    return pool->prefix == RH_PREFIX_AUTO ? c->service->serving.server->prefix
                                          : pool->prefix == RH_PREFIX_ON;
}

/* GPU-seconds of a pool; those of the whole run where nothing scales. */
static double close_scaling(RhServiceClock *c, RhServicePool *stage, double end_s)
{
    RhServiceResult *r = c->result;
    int32_t gpus = rh_pool_gpus(&stage->pool);
    if (stage->pool.scale == 0) {
        g_clear_pointer(&stage->scaling, rh_scaling_free);
        r->replicas_most += stage->pool.replicas;
        return r->duration_s * gpus * stage->pool.replicas;
    }
    RhScaled scaled = rh_scaling_end(stage->scaling, end_s);
    g_clear_pointer(&stage->scaling, rh_scaling_free);
    r->scales = true;
    r->replicas_most += scaled.most;
    r->starts += scaled.starts;
    r->start_s = fmax(r->start_s, stage->budget.start_s);
    return scaled.replica_s * gpus;
}

static void close_replicas(RhServiceClock *c)
{
    RhServiceResult *result = c->result;
    for (int32_t p = 0; p < c->service->deployment.pools_count; p++) {
        RhServicePool *stage = &c->service->stages[p];
        for (int32_t i = 0; i < stage->pool.replicas; i++) {
            RhReplicaCounts counts = rh_replica_counts(stage->replicas[i]);
            result->iterations_stepped += counts.iterations_stepped;
            result->iterations_skipped += counts.iterations_skipped;
            result->tokens_in += counts.tokens_in;
            result->tokens_out += counts.tokens_out;
            result->tokens_found += counts.tokens_found;
            for (int t = 0; t < RH_CACHE_TIER_LAST; t++)
                result->tokens_loaded[t] += counts.tokens_loaded[t];
            result->load_s += counts.load_s;
            result->tiers |= stage->pool.host > 0 || stage->pool.nvme > 0;
            result->remembers |= rh_service_remembers(c, stage);
            result->kv_peak_frac = fmax(result->kv_peak_frac, counts.kv_peak_frac);
            result->blocks_left += llabs(counts.blocks_held) + llabs(counts.blocks_promised);
            rh_replica_free(stage->replicas[i]);
        }
        g_clear_pointer(&stage->replicas, g_free);
    }
}

void rh_service_sum_up(RhServiceClock *c)
{
    double first_s = HUGE_VAL;
    for (guint i = 0; i < c->result->served->len; i++) {
        RhRequestRecord *served = rh_service_served(c, (int32_t)i);
        if (served->outcome == RH_SERVED_TIMED_OUT)
            rh_served_read_in_vain(served);
        first_s = fmin(first_s, served->t_arrive_s);
        c->result->tokens_lost += served->lost_tokens;
        c->result->prompt_tokens_lost += served->lost_prompt_tokens;
    }
    c->result->duration_s = fmax(c->last_s - first_s, 0);
    c->result->gpus = rh_deployment_gpus(&c->service->deployment);
    rh_service_window_close(c);
    for (int32_t p = 0; p < c->service->deployment.pools_count; p++)
        c->result->gpu_s += close_scaling(c, &c->service->stages[p], c->last_s);
    close_replicas(c);
    if (c->result->history)
        rh_service_history_end(c->result->history, c->last_s);
}

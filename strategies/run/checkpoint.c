#include "strategies/run/checkpoint.h"

#include <math.h>

#include "strategies/train/block_cost.h"
#include "workloads/model.h"

/* Sustained, of 16,384 GPUs. */
#define LLAMA_3_STORAGE_BYTES_PER_S 2e12
#define LLAMA_3_GPUS                16384.0

double rh_checkpoint_bytes(const RhProblem *c)
{
    bool once = c->job.narrow_weights || (c->stack->casts_masters && rh_has_masters(c));
    double weights = once ? 0 : rh_weight_bytes(c);
    double trained = c->job.lora.rank > 0 ? 0 : rh_optimizer_state_bytes(c);
    return (double)rh_model_params(c->model) * (weights + trained);
}

RhFact rh_checkpoint_storage(int32_t gpus)
{
    return (RhFact){.value = LLAMA_3_STORAGE_BYTES_PER_S / LLAMA_3_GPUS * gpus,
                    .tag = RH_TAG_ASSUMED,
                    .source = "The Llama 3 Herd of Models, 3.3.1: 2 TB/s for 16,384 GPUs, by GPU",
                    .date = "2024-07"};
}

static double nics_bytes_per_s(const RhPlatform *p)
{
    return p->nic_bytes_per_s.value * p->nics_per_node;
}

RhCheckpointTimes rh_checkpoint_times(const RhCheckpointSetup *setup, const RhPlatform *p,
                                      int32_t nodes)
{
    double nics = nics_bytes_per_s(p);
    double client = setup->client_bytes_per_s > 0 ? setup->client_bytes_per_s : nics;
    if (nics > 0)
        client = fmin(client, nics);
    double rate = setup->storage_bytes_per_s.value;
    if (client > 0)
        rate = fmin(rate, client * nodes);
    double time_s = setup->bytes / rate;
    RhCheckpointTimes t = {.write_s = time_s, .read_s = time_s};
    double links =
        p->host_bytes_per_s.value * (p->gpus_per_node / fmax(p->host_gpus_per_link.value, 1));
    if (!setup->async || links <= 0)
        return t;
    t.write_s = setup->bytes / (links * nodes);
    t.drain_s = time_s;
    if (nics > 0) /* communication that is waited for has the rest of the NICs */
        t.slow_frac = setup->exposed_frac * fmin(rate / nodes / nics, 1);
    return t;
}

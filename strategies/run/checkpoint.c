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

/* All nodes together, into the storage. */
static double storage_rate(const RhCheckpointSetup *setup, const RhPlatform *p, int32_t nodes)
{
    double nics = nics_bytes_per_s(p);
    double client = setup->client_bytes_per_s > 0 ? setup->client_bytes_per_s : nics;
    if (nics > 0)
        client = fmin(client, nics);
    double rate = setup->storage_bytes_per_s.value;
    return client > 0 ? fmin(rate, client * nodes) : rate;
}

/* Rate of a node into what is written first, host memory or its drives; 0: neither. */
static double first_rate(const RhCheckpointSetup *setup, const RhPlatform *p)
{
    double links =
        p->host_bytes_per_s.value * (p->gpus_per_node / fmax(p->host_gpus_per_link.value, 1));
    double drives = setup->nvme_bytes_per_s;
    if (drives > 0 && !setup->async)
        return links > 0 ? fmin(drives, links) : drives;
    return setup->async ? links : 0;
}

double rh_checkpoint_nics_frac(const RhCheckpointSetup *setup, const RhPlatform *p, int32_t nodes)
{
    double nics = nics_bytes_per_s(p);
    if (nics <= 0 || first_rate(setup, p) <= 0)
        return 0;
    return fmin(storage_rate(setup, p, nodes) / nodes / nics, 1);
}

RhCheckpointTimes rh_checkpoint_times(const RhCheckpointSetup *setup, const RhPlatform *p,
                                      int32_t nodes)
{
    double time_s = setup->bytes / storage_rate(setup, p, nodes), first = first_rate(setup, p);
    RhCheckpointTimes t = {.write_s = time_s, .read_s = time_s};
    if (setup->nvme_bytes_per_s > 0)
        t.local_read_s = setup->bytes / (setup->nvme_bytes_per_s * nodes);
    if (first <= 0)
        return t;
    t.write_s = setup->bytes / (first * nodes);
    t.drain_s = time_s;
    if (setup->async && setup->nvme_bytes_per_s > 0) /* host memory, then drives, then storage */
        t.drain_s = fmax(time_s, t.local_read_s);
    t.slow_frac = setup->slow_frac;
    return t;
}

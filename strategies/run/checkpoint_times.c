#include "strategies/run/checkpoint_times.h"

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

RhStorage rh_checkpoint_storage(const RhPlatform *p, int32_t gpus)
{
    if (p->storage.bytes_per_s.value > 0)
        return p->storage;
    return (RhStorage){
        .bytes_per_s = {
            .value = LLAMA_3_STORAGE_BYTES_PER_S / LLAMA_3_GPUS * gpus,
            .tag = RH_TAG_ASSUMED,
            .source = "Llama 3's 2 TB/s for 16,384 GPUs, in proportion (arXiv:2407.21783, 3.3.1)",
            .date = "2024-07"}};
}

/* Rate of a node's links to host memory. */
static double host_rate(const RhPlatform *p)
{
    return p->host_bytes_per_s.value * (p->gpus_per_node / fmax(p->host_gpus_per_link.value, 1));
}

bool rh_checkpoint_drains(const RhCheckpointSetup *setup)
{
    return setup->async || setup->nvme_bytes_per_s > 0;
}

/* Rate of a node into what is written first: host memory, or its drives. */
static double first_rate(const RhCheckpointSetup *setup, const RhPlatform *p)
{
    return setup->async ? host_rate(p) : fmin(setup->nvme_bytes_per_s, host_rate(p));
}

RhCheckpointTimes rh_checkpoint_times(const RhCheckpointSetup *setup, const RhPlatform *platform,
                                      int32_t nodes)
{
    RhPlatform p = *platform; /* its links are borrowed */
    p.storage = setup->storage;
    double hosts = host_rate(&p) * nodes, drives = setup->nvme_bytes_per_s * nodes;
    double out = rh_platform_storage_bytes_per_s(&p, nodes, true);
    double in = rh_platform_storage_bytes_per_s(&p, nodes, false);
    RhCheckpointTimes t = {.write_s = setup->bytes / fmin(out, hosts),
                           .read_s = setup->bytes / fmin(in, hosts)};
    if (drives > 0)
        t.local_read_s = setup->bytes / fmin(drives, hosts);
    if (!rh_checkpoint_drains(setup))
        return t;
    t.write_s = setup->bytes / (first_rate(setup, &p) * nodes);
    t.drain_s = setup->bytes / (drives > 0 ? fmin(out, drives) : out) * fmax(setup->drain_times, 1);
    t.slow_frac = setup->slow_frac;
    return t;
}

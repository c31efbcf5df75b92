/* Costs of a step's samples: time of the host, bytes to the device. */
#include "strategies/train/train.h"

bool rh_stage_loads(const RhProblem *c, int32_t stage)
{
    return stage == 0 && c->job.loader.sample_s > 0;
}

static double samples_of_replica(const RhProblem *c, const RhLayout *l)
{
    return (double)c->job.global_batch / l->dp;
}

static double sample_bytes(const RhProblem *c)
{
    return rh_model_sees_pictures(c->model) ? 4 * rh_tensor_elements(&c->model->picture)
                                            : 8.0 * (double)c->job.sequence;
}

double rh_step_loading_s(const RhProblem *c, const RhLayout *l)
{
    int32_t each = l->tp * l->cp, on_node = MIN(c->platform->gpus_per_node, c->job.gpus);
    int32_t replicas = MIN(MAX(on_node / each, 1), l->dp);
    RhLoaderWork work = {replicas, samples_of_replica(c, l), sample_bytes(c)};
    return rh_loading_s(&c->job.loader, c->platform, &work);
}

double rh_step_sample_bytes(const RhProblem *c, const RhLayout *l)
{
    return samples_of_replica(c, l) * sample_bytes(c);
}

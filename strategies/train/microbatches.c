#include "strategies/train/train.h"

int64_t rh_train_microbatches(const RhProblem *c, const RhLayout *l)
{
    int64_t replicas = (int64_t)l->dp * rh_pipeline_kind_copies(l->schedule);
    return c->job.global_batch / (replicas * l->microbatch);
}

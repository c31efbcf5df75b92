#include "strategies/train/train.h"

int64_t rh_train_microbatches(const RhProblem *c, const RhLayout *l)
{
    return c->job.global_batch / ((int64_t)l->dp * l->microbatch);
}

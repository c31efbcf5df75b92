#include "strategies/search/memory_smallest.h"

#include <math.h>

#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/space.h"
#include "strategies/train/layout_representatives.h"

RhTrainingStates rh_training_states(const RhProblem *c)
{
    bool frozen = c->job.lora.rank > 0;
    bool least = c->job.narrow_weights || (c->stack->casts_masters && rh_has_masters(c));
    double params = (double)rh_model_params(c->model), weights = least ? 0 : rh_weight_bytes(c);
    if (frozen && c->job.frozen) /* its embedding and head are wider */
        weights = fmin(weights, c->job.frozen->bytes);
    if (rh_job_has_reference(&c->job) && !frozen)
        weights += rh_weight_bytes(c);
    return (RhTrainingStates){.weights = params * weights,
                              .gradients = frozen ? 0 : params * rh_gradient_bytes(c),
                              .optimizer = frozen ? 0 : params * rh_optimizer_state_bytes(c)};
}

double rh_training_states_bytes(const RhTrainingStates *s)
{
    return s->weights + s->gradients + s->optimizer;
}

/* May some of the layouts that are asked for have states in the host's memory? */
static bool may_leave(const RhPlanOptions *o)
{
    const RhKnob *states = rh_train_host_knobs()[0];
    bool leave = false;
    for (int32_t i = 0; i < o->constraints_count; i++)
        leave |= o->constraints[i].knob == states && o->constraints[i].value > 0;
    return leave;
}

/* Can the states fit? All GPUs together hold them at least once, so one of them holds its share or
 * more. The factor allows for rounding. */
static bool states_fit(const RhProblem *c, const RhPlanOptions *o, double most_bytes)
{
    RhTrainingStates states = rh_training_states(c);
    if (may_leave(o))
        return true;
    return rh_training_states_bytes(&states) / c->job.gpus * (1 - 1e-9) <= most_bytes;
}

typedef struct {
    RhBoundCache *cache;
    RhSmallestMemory least;
} Search;

static bool keep_least(const RhLayout *layout, void *user)
{
    Search *s = user;
    RhTrainMemory m;
    if (rh_bound_memory_within(s->cache, layout, s->least.peak_bytes, &m))
        s->least = (RhSmallestMemory){.some = true, .peak_bytes = m.peak_bytes, .layout = *layout};
    return true;
}

RhSmallestMemory rh_memory_smallest(const RhProblem *c, const RhPlanOptions *o, RhDeadline deadline,
                                    double most_bytes)
{
    Search s = {.least = {.peak_bytes = most_bytes}};
    if (!states_fit(c, o, most_bytes))
        return s.least;
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    cache->deadline = deadline;
    s.cache = cache;
    rh_space_walk(c, o->constraints, o->constraints_count, deadline, keep_least, &s);
    return s.least;
}

/* Times of a candidate beside generation, its lower bound, and its simulation. */
#include <math.h>

#include "strategies/rl/transports/transports.h"
#include "strategies/search/rl/rl_plan.h"

/* Steps before those that count: one, and twice as many as run ahead, for the groups of the first
 * ones all begin at once. */
#define WARM_STEPS(ahead) (1 + 2 * (int32_t)ceil(ahead))
#define BATCH_STEPS       2 /* that count: batches are alike but for their draws */
#define STREAMED_STEPS    4

/* Frameworks offload a trainer's states to memory that is not pinned, so the host copies them once more:
 * fitted to NeMo-RL 0.3 with Llama-3.1-8B on 8 H100, where 48 GB a GPU go both ways in the 8 s of a step of
 * 112 s that are neither generation nor training (NVIDIA-NeMo/RL issue 959); its 70B takes 2.6 GB/s. */
#define PAGEABLE_BYTES_PER_S 6e9

/* Seconds to copy a GPU's states to or from host memory; 0: no link to it is known. */
static double host_copy_s(const RhPlatform *p, double bytes)
{
    double link_s = rh_weight_host_copy_s(p, bytes);
    return link_s > 0 ? fmax(link_s, bytes / PAGEABLE_BYTES_PER_S) : 0;
}

static double weight_bytes(const RhRlPlanOptions *o)
{
    const RhRecipe *recipe = o->problem->job.recipe;
    double each = o->sent ? o->sent->operand_bytes : rh_dtype_bytes(recipe->dtype);
    return (double)rh_model_params(o->problem->model) * each;
}

static RhWeightTimes weights_of(const RhRlPlanOptions *o, const RhRlEntry *e)
{
    RhWeightRoute route = {.platform = o->hardware,
                           .bytes = weight_bytes(o),
                           .shards = rh_train_copy_ranks(&e->trainer.layout),
                           .server_first = e->placement->shares_gpus ? 0 : e->trainer.gpus,
                           .server_gpus = e->servers.gpus,
                           .matrices = rh_rl_weight_matrices(o->problem->model),
                           .changed_frac = o->changed_frac};
    return e->transport->times(&route);
}

/* Whether a node's memory holds the states of its GPUs while servers have these. */
static bool host_holds(const RhPlatform *p, double bytes)
{
    if (p->host_bytes_per_s.value <= 0)
        return false;
    return p->host_bytes.value <= 0 || bytes * p->gpus_per_node <= p->host_bytes.value;
}

bool rh_rl_entry_settle(const RhRlPlanOptions *o, RhRlEntry *e)
{
    const RhRlTrainer *t = &e->trainer;
    const RhRlAlgorithm *algorithm = o->job->algorithm;
    bool shares = e->placement->shares_gpus;
    double states_bytes = t->states_bytes * algorithm->trained;
    if (shares && !host_holds(o->hardware, states_bytes))
        return false;
    e->transport = shares ? &rh_weight_transport_handover : o->transport;
    e->weights = weights_of(o, e);
    double copy_s = shares ? host_copy_s(o->hardware, states_bytes) : 0;
    e->times = (RhRlTimes){
        .to_train_s = copy_s,
        .forward_s = t->forward_s * rh_rl_forwards(o->job),
        .update_s = t->update_s * algorithm->trained * (double)rh_rl_updates(o->job),
        .sync_s = e->weights.sync_s + copy_s,
        .pause_s = e->weights.pause_s,
    };
    double trainer_s =
        e->times.to_train_s + e->times.forward_s + e->times.update_s + e->times.sync_s;
    /* Questions asked ahead may hide the longest answer, not the work of all. */
    double servers_s = e->placement->streams ? e->servers.work_s : e->servers.bound_s;
    double behind_s = e->placement->streams ? e->times.pause_s : e->times.sync_s;
    e->bound_s = e->ahead == 0 ? trainer_s + servers_s : fmax(trainer_s, servers_s + behind_s);
    return true;
}

bool rh_rl_entry_simulate(const RhRlPlanOptions *o, RhRlEntry *e, double timeout_s, GError **error)
{
    RhServing serving = rh_rl_serving(o);
    g_autoptr(RhService) service = rh_service_new(&serving, &e->servers.deployment, error);
    RhRlStepSpec spec = {.job = o->job,
                         .placement = e->placement,
                         .ahead = e->ahead,
                         .takes = rh_rl_takes(o->job),
                         .times = e->times,
                         .warm = WARM_STEPS(e->placement->streams ? e->ahead : 0),
                         .steps = e->placement->streams ? STREAMED_STEPS : BATCH_STEPS,
                         .timeout_s = timeout_s};
    return service && rh_rl_step_simulate(service, &spec, &e->step, error);
}

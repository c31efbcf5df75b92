/* Times of a candidate beside generation, its lower bound, and its simulation. */
#include <math.h>

#include "strategies/rl/transports/transports.h"
#include "strategies/search/rl/rl_plan.h"

/* Steps before those that count: one, and twice as many as run ahead, for the groups of the first
 * ones all begin at once. */
#define WARM_STEPS(ahead) (1 + 2 * (int32_t)ceil(ahead))
#define BATCH_STEPS       2 /* that count: batches are alike but for their draws */
#define STREAMED_STEPS    4
#define FAILING_STEPS     64

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

/* Bytes of a GPU's share of the models that are asked and not trained: a reference policy, a reward model. */
static double asked_bytes(const RhRlPlanOptions *o, const RhRlTrainer *t)
{
    const RhRlAlgorithm *a = o->job->algorithm;
    int32_t asked = a->forwards - a->trained + (a->reference && o->job->reference);
    return asked * t->weights_bytes;
}

/* Other models stay on the GPUs where they fit beside the policy's peak. Elsewhere, and where servers need the GPUs,
 * they are in host memory: those that are asked come once a step, and those that are trained take turns with the
 * policy (which they do anyway where GPUs are shared). */
static void set_models(const RhRlPlanOptions *o, RhRlEntry *e)
{
    const RhRlTrainer *t = &e->trainer;
    double trained = o->job->algorithm->trained, asked = asked_bytes(o, t);
    bool shares = e->placement->shares_gpus;
    e->models_bytes = asked + (trained - 1) * t->states_bytes;
    if (e->models_bytes <= 0 || (!shares && t->peak_bytes + e->models_bytes <= t->capacity_bytes))
        return;
    double turns = !shares && trained > 1 ? 2 * trained * t->states_bytes : 0;
    e->models_copy_s = host_copy_s(o->hardware, asked + turns);
}

/* Bytes of a GPU that are in host memory at times. */
static double bytes_on_host(const RhRlPlanOptions *o, const RhRlEntry *e)
{
    const RhRlTrainer *t = &e->trainer;
    double trained = t->states_bytes * o->job->algorithm->trained, asked = asked_bytes(o, t);
    if (e->placement->shares_gpus)
        return trained + asked;
    bool stays = t->peak_bytes + e->models_bytes <= t->capacity_bytes;
    return stays ? 0 : asked + (o->job->algorithm->trained > 1 ? trained : 0);
}

/* Whether a node's memory holds what its GPUs leave there. */
static bool host_holds(const RhPlatform *p, double bytes)
{
    if (bytes <= 0)
        return true;
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
    set_models(o, e);
    if (!host_holds(o->hardware, bytes_on_host(o, e)))
        return false;
    e->transport = shares ? &rh_weight_transport_handover : o->transport;
    e->weights = weights_of(o, e);
    e->states_copy_s = shares ? host_copy_s(o->hardware, states_bytes) : 0;
    e->times = (RhRlTimes){
        .to_train_s = e->states_copy_s + e->models_copy_s,
        .forward_s = t->forward_s * rh_rl_forwards(o->job),
        .update_s = t->update_s * algorithm->trained * (double)rh_rl_updates(o->job),
        .sync_s = e->weights.sync_s + e->states_copy_s,
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

/* Simulates so many steps that count. */
static bool simulate(const RhRlPlanOptions *o, const RhRlEntry *e, const RhFailures *failures,
                     int32_t steps, double timeout_s, RhRlStep *out, GError **error)
{
    RhServing serving = rh_rl_serving(o);
    g_autoptr(RhService) service = rh_service_new(&serving, &e->servers.deployment, error);
    RhRlStepSpec spec = {.job = o->job,
                         .placement = e->placement,
                         .ahead = e->ahead,
                         .takes = rh_rl_takes(o->job),
                         .times = e->times,
                         .failures = failures,
                         .warm = WARM_STEPS(e->placement->streams ? e->ahead : 0),
                         .steps = steps,
                         .timeout_s = timeout_s};
    return service && rh_rl_step_simulate(service, &spec, out, error);
}

bool rh_rl_entry_simulate(const RhRlPlanOptions *o, RhRlEntry *e, double timeout_s, GError **error)
{
    int32_t steps = e->placement->streams ? STREAMED_STEPS : BATCH_STEPS;
    return simulate(o, e, NULL, steps, timeout_s, &e->step, error);
}

bool rh_rl_entry_fails(const RhRlPlanOptions *o, const RhRlEntry *e, double timeout_s,
                       RhRlFailures *out, GError **error)
{
    RhRlStep step = {0}, unharmed = {0};
    bool done = simulate(o, e, o->failures, FAILING_STEPS, timeout_s, &step, error) &&
                simulate(o, e, NULL, FAILING_STEPS, timeout_s, &unharmed, error);
    if (done)
        *out = (RhRlFailures){FAILING_STEPS, step.step_s, unharmed.step_s, step.age_p99};
    rh_rl_step_clear(&step);
    rh_rl_step_clear(&unharmed);
    return done;
}

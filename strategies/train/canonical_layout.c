/* Completes layouts, and makes their canonical form: knobs without effect have their defaults. */
#include <string.h>

#include "base/error.h"
#include "strategies/knobs.h"
#include "strategies/layer_partition.h"
#include "strategies/train/parallelism/parallelism.h"
#include "strategies/train/recompute_fewest_layers.h"
#include "strategies/train/schedules/schedule.h"
#include "strategies/train/train.h"

RhLayout rh_train_default(const RhProblem *c)
{
    RhLayout l = rh_layout_default();
    l.sequence_parallel = c->stack->sequence_parallel;
    return l;
}

bool rh_train_change(const RhProblem *c, RhLayout *layout, const char *text, GError **error)
{
    RhLayout changed = *layout;
    changed.dp = 0;
    uint64_t given;
    if (!rh_layout_change(text, &changed, &given, error))
        return false;
    bool as_many = changed.stage_layers_count == rh_partition_chunks(&changed);
    if (!as_many && !(given & RH_KNOB_BIT(stage_layers_count)))
        changed.stage_layers_count = 0;
    if (layout->tp == 1 && changed.tp > 1 && !(given & RH_KNOB_BIT(sequence_parallel)))
        changed.sequence_parallel = rh_train_default(c).sequence_parallel;
    *layout = changed;
    return true;
}

int32_t rh_train_least_replicas(const RhLayout *l)
{
    int64_t experts = (int64_t)l->ep * rh_train_expert_tensor(l), ranks = (int64_t)l->tp * l->cp;
    int64_t shares = MAX(l->shard, l->hpz) / l->cp; /* groups of replicas, all of cp first */
    return (int32_t)CLAMP(MAX(experts / ranks, shares), 1, RH_LAYOUT_DEGREE_MAX);
}

void rh_train_complete(const RhProblem *c, RhLayout *l)
{
    if (l->dp == 0)
        l->dp = (int32_t)MAX(1, c->job.gpus / rh_layout_replica_ranks(l));
}

static bool has_shared_expert(const RhModel *model)
{
    bool some = false;
    for (int k = 0; k < model->kinds_count; k++)
        some |= model->kinds[k].experts > 0 && model->kinds[k].shared_width > 0;
    return some;
}

/* Does the list of recomputed layers hold only zeros? */
static bool recomputes_nothing(const RhLayout *l)
{
    bool none = l->recomputed_layers_count > 0;
    for (int32_t i = 0; i < l->recomputed_layers_count; i++)
        none &= l->recomputed_layers[i] == 0;
    return none;
}

/* Does the list give one number for all chunks? */
static bool recomputes_evenly(const RhLayout *l)
{
    bool even = l->recomputed_layers_count > 1 && l->recomputed_layers_count == l->pp * l->vpp;
    for (int32_t i = 1; even && i < l->recomputed_layers_count; i++)
        even = l->recomputed_layers[i] == l->recomputed_layers[0];
    return even;
}

/* Sets knobs that have no effect to their defaults. */
static void make_canonical(const RhProblem *c, RhLayout *l)
{
    rh_train_complete(c, l);
    if (l->tp == 1)
        l->sequence_parallel = false;
    if (!l->sequence_parallel)
        l->tensor_overlap = false;
    l->slice = rh_train_slice(c, l);
    if (l->cp == l->ulysses || l->slice != RH_SLICE_NONE)
        l->kv = RH_CONTEXT_RING;
    if (l->etp == l->tp)
        l->etp = 0;
    if (l->ep == 1)
        l->dispatch = RH_DISPATCH_ALLTOALL;
    if (!rh_train_spreads_experts(l) ||
        (l->overlap == RH_OVERLAP_SHARED && !has_shared_expert(c->model)))
        l->overlap = RH_OVERLAP_NONE;
    if (l->overlap == RH_OVERLAP_PAIRS && rh_pipeline_schedule(l->schedule)->pairs)
        l->overlap = RH_OVERLAP_NONE; /* such a schedule always overlaps */
    if (l->states == RH_PLACE_DEVICE)
        l->states_percent = 100;
    if (rh_params_replicas_most(l) == 1 && (l->states == RH_PLACE_DEVICE || l->zero < 2))
        l->zero = 0; /* with states on the host, 2 says that gradients leave as they are made */
    if (l->shard == 1)
        l->zero = 0;
    if (l->zero == 0 || l->shard == rh_train_replicas(l))
        l->shard = 0;
    if (l->shard == 0)
        l->outer = false;
    if (l->zero < 3 || l->hpz == rh_params_shards(l, RH_PARAMS_COMMON))
        l->hpz = 0;
    if (l->zero < 3)
        l->qwz = false;
    if (rh_params_replicas_most(l) == 1)
        l->codec = RH_CODEC_NONE;
    if (l->pp == 1 || (l->schedule == RH_PIPELINE_GPIPE && rh_train_microbatches(c, l) == 1))
        l->schedule = RH_PIPELINE_1F1B;
    if (l->recompute == RH_RECOMPUTE_SELECTIVE && rh_model_sees_pictures(c->model))
        l->recompute = RH_RECOMPUTE_NONE; /* there are no modules to select in steps */
    if (recomputes_nothing(l))
        l->recompute = RH_RECOMPUTE_NONE;
    if (l->recompute == RH_RECOMPUTE_NONE)
        l->recomputed_layers_count = 0;
    if (recomputes_evenly(l))
        l->recomputed_layers_count = 1;
    if (l->stage_layers_count > 0)
        l->partition = RH_PARTITION_EVEN;
    if (l->pp == 1 || l->dp == 1)
        l->order = RH_ORDER_TP_DP_PP;
    if (l->cp == 1 || l->cp_stages >= l->pp)
        l->cp_stages = 0;
    if (l->slice == RH_SLICE_NONE)
        l->halo = RH_HALO_STEP;
    if (l->cp_stages > 0)
        l->order = RH_ORDER_TP_PP_DP;
    else
        l->local_dp = 1;
}

/* Copies a layout without the unused entries of its lists: most layouts list no layers, and a
 * search copies millions. */
static void copy(RhLayout *to, const RhLayout *from)
{
    memcpy(to, from, G_STRUCT_OFFSET(RhLayout, stage_layers));
    memcpy(to->stage_layers, from->stage_layers,
           (gsize)MAX(from->stage_layers_count, 0) * sizeof *from->stage_layers);
    memcpy(to->recomputed_layers, from->recomputed_layers,
           (gsize)MAX(from->recomputed_layers_count, 0) * sizeof *from->recomputed_layers);
}

bool rh_train_is_canonical(const RhProblem *c, const RhLayout *layout, uint64_t knobs)
{
    RhLayout l;
    copy(&l, layout);
    make_canonical(c, &l);
    if (knobs == ~UINT64_C(0))
        return rh_layout_equal(&l, layout);
    for (int i = 0; i < RH_KNOB_AT_LAST; i++)
        if (knobs >> i & 1 &&
            rh_knob_value(&rh_knobs[i], &l) != rh_knob_value(&rh_knobs[i], layout))
            return false;
    return true;
}

RhLayout rh_train_canonical(const RhProblem *c, const RhLayout *layout)
{
    RhLayout l = *layout;
    make_canonical(c, &l);
    return l;
}

/* Checks that the product of the given degrees is not beyond any machine; products below stay far
 * inside 32 bits. */
static bool check_ranks(const RhLayout *l, GError **error)
{
    double ranks = (double)rh_layout_replica_ranks(l) * MAX(l->dp, 1);
    if (ranks <= 1 << 24)
        return true;
    return rh_fail(error, RH_ERROR_USAGE, "tp%d x pp%d x cp%d x dp%d are %.0f ranks", l->tp, l->pp,
                   l->cp, MAX(l->dp, 1), ranks);
}

/* Checks the layout on a machine that fits it. `each`: factor of the batch besides the replicas. */
static bool fits_some_machine(const RhProblem *c, const RhLayout *layout, int64_t each,
                              GError **error)
{
    RhLayout l = *layout;
    RhProblem fitting = *c;
    rh_train_complete(c, &l);
    if (layout->dp == 0) {
        l.dp = MIN(l.dp, rh_train_least_replicas(&l));
        fitting.job.global_batch *= l.dp * each; /* makes the batch divisible by the replicas, which
                                                  * are not given */
    }
    if (!check_ranks(&l, error))
        return false;
    fitting.job.gpus = (int32_t)rh_layout_replica_ranks(&l) * l.dp;
    return rh_train_legal(&fitting, &l, error);
}

bool rh_train_fits_some_machine(const RhProblem *c, const RhLayout *layout, GError **error)
{
    return fits_some_machine(c, layout, 1, error);
}

bool rh_train_settle_layout(const RhProblem *c, RhLayout *layout, GError **error)
{
    RhLayout l = *layout;
    if (!check_ranks(&l, error))
        return false;
    if (l.tp == 1)
        l.sequence_parallel = false;
    /* the allowed micro-batches are reported with the replicas that this machine has */
    if (l.dp == 0 && !fits_some_machine(c, &l, l.microbatch, error))
        return false;
    rh_train_complete(c, &l);
    if (!rh_train_legal(c, &l, error))
        return false;
    *layout = rh_train_canonical(c, &l);
    rh_train_settle(c, layout);
    return true;
}

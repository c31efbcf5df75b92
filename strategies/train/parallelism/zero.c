/* ZeRO: replicas share out optimizer states (1), gradients (2), parameters (3).
 *
 * ZeRO-1: gradients are reduce-scattered instead of all-reduced, and the updated parameters
 * all-gathered at the start of the next step, bucket by bucket ahead of the first forward. ZeRO-2:
 * gradients are reduce-scattered layer by layer in every micro-batch, since no rank keeps them
 * whole; where the stack reduces once, layer by layer behind a chunk's last backward. ZeRO-3 / FSDP:
 * besides, every layer's parameters are gathered before its forward and again before its backward,
 * `prefetch_layers` ahead (Rajbhandari et al. 2020, arXiv 1910.02054, section 7; Zhao et al. 2023,
 * arXiv 2304.11277). Gradients that are reduced once a step travel in the stack's main width, those of
 * every micro-batch in the parameters' 2 bytes; parameters in 2 bytes, layers' in the recipe's narrow
 * format where weights are held so (rh_gathered_weight_bytes).
 *
 * Shares may go over some replicas and be the same in all groups of so many: then the gradients of a
 * share are all-reduced once a step among those who have it (FSDP's hybrid sharding, section 3.2.2;
 * Megatron-LM's num_distributed_optimizer_instances). Experts that are spread over ranks are shared out in
 * the same groups, among the ranks that have the same ones; where a group has each expert once, they are whole
 * there, and replicas of groups sum their gradients. Those who have the same share may share out its optimizer
 * states (Megatron-FSDP's outer_dp_sharding_strategy optim): they scatter what they else all-reduce, and the
 * first forward of a step gathers the weights' share among them before it gathers the weights. And weights may be shared out a second time over
 * few replicas, among whom backward gathers them (hpZ of ZeRO++, Wang et al. 2023, arXiv 2306.10209,
 * section 3.2): experts among those of the group that have the same ones, or not at all where each has them once. */
#include "base/error.h"
#include "strategies/train/parallelism/gradient_buckets.h"
#include "strategies/train/parallelism/parallelism.h"

static int32_t stage_of_sharding(const RhStageProgramWriter *w, int cls)
{
    return rh_params_zero(w->stage_program->model_cost->c, w->stage_program->layout,
                          (RhParamsClass)cls);
}

static void gather(RhStageProgramWriter *w, RhGroupKind group, double bytes, int32_t ahead,
                   int32_t buffers)
{
    bool copied = w->stage_program->layout->weights != RH_PLACE_DEVICE;
    rh_stage_program_communicate(w, (RhInstr){.lane = RH_LANE_GATHER,
                                              .after = copied ? RH_LANE_BIT(RH_LANE_WEIGHTS_IN) : 0,
                                              .group = (uint8_t)group,
                                              .op = RH_OP_ALL_GATHER,
                                              .phase = RH_PHASE_PARAMETER,
                                              .bytes = bytes,
                                              .label = "all-gather parameters",
                                              .ahead = (int16_t)ahead,
                                              .buffers = (int16_t)buffers});
}

static void set_shares(const RhProblem *c, const RhLayout *l, RhParamsClass cls, RhShares *shares)
{
    int32_t ranks = rh_params_shards(l, cls), zero = rh_params_degree(l, cls);
    bool each = rh_stack_reduces_each(c->stack, zero, l->pp);
    shares->optimizer *= rh_params_optimizer_shards(l, cls);
    shares->gradients *= each ? ranks : 1;
    shares->reduced *= each || (zero >= 1 && c->stack->frees_gradients) ? ranks : 1;
    shares->weights *= zero >= 3 ? ranks : 1;
    shares->again = rh_params_second_shards(l, cls);
}

/* A bucket of parameters being collected. */
typedef struct {
    double params, bytes;
    guint first; /* first layer of the bucket, or an earlier one */
} Bucket;

/* Gathers the bucket of layers up to i; each waits for the latest gather that brings some of it. */
static void gather_bucket(RhStageProgramWriter *w, int cls, Bucket *bucket, guint i, int32_t *sent)
{
    for (; bucket->first <= i; bucket->first++) {
        bool some =
            rh_stage_program_layer(w->stage_program, (int32_t)bucket->first)->params.of[cls] > 0;
        if (bucket->params > 0 && some)
            w->begin_of_layer[bucket->first] = MAX(w->begin_of_layer[bucket->first], *sent);
    }
    *sent += bucket->params > 0;
    gather(w, rh_params_shard_group(w->stage_program->layout, (RhParamsClass)cls), bucket->bytes, 0,
           0);
    bucket->params = bucket->bytes = 0;
}

static void gather_updated_weights(RhStageProgramWriter *w)
{
    const RhStageProgram *s = w->stage_program;
    Bucket buckets[RH_PARAMS_LAST] = {0};
    int32_t sent = 0;
    for (guint i = 0; i < s->items->len; i++)
        for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
            int32_t zero = stage_of_sharding(w, cls);
            Bucket *bucket = &buckets[cls];
            if (zero != 1 && zero != 2)
                continue;
            const RhStageLayer *item = rh_stage_program_layer(s, (int32_t)i);
            bucket->params += item->params.of[cls];
            bucket->bytes +=
                item->params.of[cls] * rh_gathered_weight_bytes(s->model_cost->c, item->layer >= 0);
            if (bucket->params >=
                    rh_bucket_params(s->model_cost->c, s->layout, (RhParamsClass)cls) ||
                i + 1 == s->items->len)
                gather_bucket(w, cls, bucket, i, &sent);
        }
    if (s->model_cost->c->stack->late_exchange && sent > 0)
        w->begin_of_layer[0] = sent - 1;
}

/* Group in which weights are gathered; backward uses the second shards, where there are any. */
static RhGroupKind gather_group(const RhLayout *l, int cls, RhSlotPass pass)
{
    bool again = rh_params_second_shards(l, (RhParamsClass)cls) > 0 && pass != RH_SLOT_FORWARD;
    return again ? rh_params_second_group((RhParamsClass)cls)
                 : rh_params_shard_group(l, (RhParamsClass)cls);
}

/* Are weights of the class gathered for the pass? Not for gradients of weights alone, nor for
 * backward where each rank has a second shard that holds all of them. */
static bool is_gathered(const RhStageProgramWriter *w, int cls, RhSlotPass pass)
{
    bool whole = pass != RH_SLOT_FORWARD &&
                 rh_params_second_shards(w->stage_program->layout, (RhParamsClass)cls) == 1;
    return stage_of_sharding(w, cls) == 3 && pass != RH_SLOT_BACKWARD_WEIGHT && !whole;
}

/* Number of classes of parameters that the stage gathers layer by layer. */
static int32_t classes_gathered(const RhStageProgramWriter *w, RhSlotPass pass)
{
    int32_t classes = 0;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        classes += is_gathered(w, cls, pass) && (w->stage_program->states.params.of[cls] > 0 ||
                                                 w->stage_program->states.frozen.of[cls] > 0);
    return classes;
}

/* Does a reference run the pass, too? */
static bool is_referred(const RhStageProgramWriter *w, RhSlotPass pass)
{
    return pass == RH_SLOT_FORWARD && rh_job_has_reference(&w->stage_program->model_cost->c->job);
}

/* Gathers the updated share of weights, where the ranks that have the same share divide its
 * optimizer states. */
static void gather_share(RhStageProgramWriter *w, int cls, double params, int32_t ahead)
{
    const RhStageProgram *s = w->stage_program;
    gather(w, rh_params_same_share_group((RhParamsClass)cls),
           rh_weight_bytes(s->model_cost->c) * params /
               rh_params_shards(s->layout, (RhParamsClass)cls),
           ahead, 0);
}

/* Quantises the share of so many bytes of weights, and makes them wide again once they are gathered; on
 * the compute lane behind the gather, where DeepSpeed quantises ahead of it. */
static void quantise(RhStageProgramWriter *w, double bytes, int32_t ranks)
{
    const RhStageProgram *s = w->stage_program;
    double sent = bytes * rh_gather_sent_frac(s->model_cost->c, s->layout);
    RhKernel kernel = {
        .cls = RH_KERNEL_CAST, .dtype = RH_DTYPE_FP32, .bytes = (bytes + sent) * (1 + 1.0 / ranks)};
    if (s->layout->qwz && bytes > 0)
        rh_stage_program_run_kernel(w, &kernel, "quantise weights");
}

/* Gathers a layer's weights of a class for a pass, so many gathers ahead. */
static void gather_layer(RhStageProgramWriter *w, int cls, RhSlotPass pass, int32_t item,
                         int32_t back)
{
    const RhStageProgram *s = w->stage_program;
    const RhProblem *c = s->model_cost->c;
    const RhStageLayer *layer = rh_stage_program_layer(s, item);
    RhGroupKind group = gather_group(s->layout, cls, pass);
    RhGrid grid = rh_grid(s->layout);
    double bytes =
        rh_layer_gather_bytes(c, layer->params.of[cls], layer->weights.of[cls], layer->layer >= 0);
    if (is_referred(w, pass)) { /* the reference's, or the frozen base once more: the same buffer */
        gather(w, group, bytes * rh_gather_sent_frac(c, s->layout), back, 0);
        quantise(w, bytes, rh_grid_group_size(&grid, group));
    }
    gather(w, group, bytes * rh_gather_sent_frac(c, s->layout), back,
           c->stack->prefetch_layers + 1);
    rh_stage_program_wait(w, RH_LANE_GATHER);
    quantise(w, bytes, rh_grid_group_size(&grid, group));
}

/* Adds the gathers before a layer. One lane has the gathers of all classes, one after another, so
 * the gathers of several layers ahead are that many times the classes back. */
static void before_layer(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item)
{
    const RhStageLayer *layer = rh_stage_program_layer(w->stage_program, item);
    const RhParamCounts *params = &layer->params, *weights = &layer->weights;
    int32_t ahead = w->stage_program->model_cost->c->stack->prefetch_layers,
            classes = classes_gathered(w, slot->pass);
    bool first = slot->pass == RH_SLOT_FORWARD && slot->first && w->stage_program->layout->outer;
    int32_t gathers = (first ? 2 : 1) + is_referred(w, slot->pass);
    int32_t back = ahead * classes * gathers;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        if (is_gathered(w, cls, slot->pass) && weights->of[cls] > 0) {
            if (first)
                gather_share(w, cls, params->of[cls], back);
            gather_layer(w, cls, slot->pass, item, back);
        }
    if (slot->pass == RH_SLOT_FORWARD && slot->first && w->begin_of_layer[item] >= 0)
        rh_stage_program_wait_begin(w, w->begin_of_layer[item]);
}

/* Are gradients sent in buckets? Those are for gradients that are held whole to the end of the
 * step. */
static bool is_bucketed(const RhStageProgramWriter *w, int cls)
{
    return stage_of_sharding(w, cls) == 1 &&
           !w->stage_program->model_cost->c->stack->frees_gradients;
}

static void after_layer(RhStageProgramWriter *w, const RhSlotKind *slot, int32_t item)
{
    const RhProblem *c = w->stage_program->model_cost->c;
    const RhStageLayer *layer = rh_stage_program_layer(w->stage_program, item);
    const RhParamCounts *params = &layer->params;
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++) {
        int32_t zero = stage_of_sharding(w, cls);
        bool each = rh_stack_reduces_each(c->stack, zero, w->stage_program->layout->pp);
        if (zero == 0 || !rh_slot_ends(slot->pass) || !(each || slot->last))
            continue;
        if (is_bucketed(w, cls)) {
            rh_gradients_collect(w, (RhParamsClass)cls, layer, RH_OP_REDUCE_SCATTER);
            continue;
        }
        double width = each ? rh_weight_bytes(c) : rh_gradient_bytes(c);
        rh_gradients_reduce(w, (RhParamsClass)cls, RH_OP_REDUCE_SCATTER, width * params->of[cls],
                            1);
        if (slot->last)
            rh_gradients_sum_shares(w, (RhParamsClass)cls, params->of[cls]);
    }
}

static void close_buckets(RhStageProgramWriter *w, const RhSlotKind *slot)
{
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        if (is_bucketed(w, cls) && slot->last && rh_slot_ends(slot->pass))
            rh_gradients_close(w, (RhParamsClass)cls, RH_OP_REDUCE_SCATTER);
}

static void reduce_shares(RhStageProgramWriter *w)
{
    for (int cls = 0; cls < RH_PARAMS_LAST; cls++)
        if (is_bucketed(w, cls) && rh_gradients_end(w, (RhParamsClass)cls))
            rh_stage_program_wait(w, RH_LANE_DP);
}

/* Is a group of `size` replicas legal? They are as close as can be, among `within`. */
static bool group_legal(const RhLayout *l, const char *key, int32_t size, int32_t within,
                        GError **error)
{
    if (size > 1 && size <= within && within % size == 0 && rh_grid_divides(l, l->tp * size))
        return true;
    if (size == 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s=1: a group of one rank shares nothing out\nhelp: zero=%d says that", key,
                       g_str_equal(key, "hpz") ? 2 : 0);
    if (within == l->shard) /* the number of groups does not matter */
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s=%d does not fit into groups of shard=%d\n"
                       "note: it must divide shard, and divide cp or be cp x a divisor of dp",
                       key, size, within);
    return rh_fail(error, RH_ERROR_USAGE,
                   "%s=%d does not fit into the %d ranks with the same parameters, cp%d x dp%d\n"
                   "note: it must divide cp, or be cp x a divisor of dp",
                   key, size, within, l->cp, l->dp);
}

/* Does every group of so many replicas have all experts equally often? */
static bool experts_legal(const RhLayout *l, const char *key, int32_t size, GError **error)
{
    int32_t experts = l->ep * rh_train_expert_tensor(l);
    if (size == 0 || !rh_train_spreads_experts(l) || l->tp * size % experts == 0)
        return true;
    return rh_fail(error, RH_ERROR_USAGE,
                   "%s=%d with ep=%d: experts spread over %d ranks do not fit into groups of %d\n"
                   "note: tp x %s must be a multiple of ep x etp",
                   key, size, l->ep, experts, l->tp * size, key);
}

static bool legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    int32_t replicas = rh_train_replicas(l);
    if (l->shard > 0 && !group_legal(l, "shard", l->shard, replicas, error))
        return false;
    if (l->hpz > 0 && !group_legal(l, "hpz", l->hpz, l->shard > 0 ? l->shard : replicas, error))
        return false;
    if (!experts_legal(l, "shard", l->shard, error) || !experts_legal(l, "hpz", l->hpz, error))
        return false;
    if (l->outer && (l->zero < 3 || l->shard == 0))
        return rh_fail(error, RH_ERROR_USAGE,
                       "outer=optim shares the optimizer's states out over groups that share out "
                       "weights\nhelp: zero=3 and shard=8 make such");
    if (l->qwz && (c->job.narrow_weights || c->job.frozen))
        return rh_fail(error, RH_ERROR_USAGE,
                       "qwz=on: weights that are narrow already travel as they are held\n"
                       "help: `qwz=off`");
    if (l->hpz > 0 && !c->stack->second_shards)
        return rh_fail(error, RH_ERROR_USAGE,
                       "hpz=%d: the stack %s does not share weights out a second time\n"
                       "help: the stack bare does",
                       l->hpz, c->stack->name);
    return true;
}

const RhParallelism rh_parallelism_zero = {.name = "zero",
                                           .legal = legal,
                                           .share = set_shares,
                                           .begin = gather_updated_weights,
                                           .before_layer = before_layer,
                                           .after_layer = after_layer,
                                           .close = close_buckets,
                                           .end = reduce_shares};

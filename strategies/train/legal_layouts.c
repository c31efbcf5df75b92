/* Decides which layouts are legal. */
#include "base/error.h"
#include "strategies/a2a_backend.h"
#include "strategies/framework_rules.h"
#include "strategies/knobs.h"
#include "strategies/layer_partition.h"
#include "strategies/train/parallelism/parallelism.h"
#include "strategies/train/schedules/schedule.h"
#include "strategies/train/train.h"

/* Lists the schedules of a stack: "gpipe, 1f1b". */
static char *schedules_text(const RhStack *stack)
{
    g_autoptr(GString) s = g_string_new(NULL);
    for (int kind = RH_PIPELINE_NONE + 1; kind < RH_PIPELINE_LAST; kind++)
        if (rh_stack_runs(stack, (RhPipelineKind)kind))
            g_string_append_printf(s, "%s%s", s->len ? ", " : "",
                                   rh_pipeline_kind_name((RhPipelineKind)kind));
    return g_string_free(g_steal_pointer(&s), FALSE);
}

/* Lists the degrees of ZeRO that a stack runs in this pipeline: "0, 1". */
static char *zeros_text(const RhStack *stack, int32_t pp)
{
    g_autoptr(GString) s = g_string_new(NULL);
    for (int32_t zero = 0; zero <= 3; zero++)
        if (rh_stack_shards(stack, zero, pp))
            g_string_append_printf(s, "%s%d", s->len ? ", " : "", zero);
    return g_string_free(g_steal_pointer(&s), FALSE);
}

/* Note on a knob that the stack's framework forbids, as "note: DeepSpeed has ZeRO-2 and 3 without
 * ..."; else "". */
static char *framework_note(const RhProblem *c, const RhLayout *l, const RhKnob *knob)
{
    const RhFrameworkRules *rules = rh_framework_rules(c->stack->framework, NULL);
    const RhFrameworkRule *rule = rh_framework_refusal_by(rules, c, l, knob);
    g_autofree char *text = rule ? rh_framework_refusal_text(rules, rule) : NULL;
    return text ? g_strdup_printf("note: %s\n", text) : g_strdup("");
}

static bool stack_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (l->partition != RH_PARTITION_EVEN && c->stack->even_stages)
        return rh_fail(error, RH_ERROR_USAGE,
                       "partition: the stack %s deals out layers evenly\n"
                       "help: leave it out, or name a stack that does not",
                       c->stack->name);
    if (!rh_stack_runs(c->stack, l->schedule)) {
        g_autofree char *legal = error ? schedules_text(c->stack) : NULL;
        return rh_fail(error, RH_ERROR_USAGE,
                       "schedule=%s: the stack %s does not run it\nnote: valid schedules: %s\n"
                       "help: the stack bare runs all of them",
                       rh_pipeline_kind_name(l->schedule), c->stack->name, legal);
    }
    int32_t zero =
        rh_params_replicas_most(l) > 1 ? l->zero : 0; /* with one replica ZeRO has no effect */
    if (!rh_stack_shards(c->stack, zero, l->pp)) {
        g_autofree char *legal = error ? zeros_text(c->stack, l->pp) : NULL;
        g_autofree char *note = error ? framework_note(c, l, RH_KNOB_OF(zero)) : NULL;
        return rh_fail(error, RH_ERROR_USAGE,
                       "zero=%d, pp=%d: the stack %s does not run this degree of ZeRO with "
                       "pipeline stages\nnote: valid zero with stages: %s\n"
                       "%shelp: the stack bare runs all of them",
                       zero, l->pp, c->stack->name, legal, note);
    }
    if (zero == 3 && rh_model_shares_layers(c->model))
        return rh_fail(error, RH_ERROR_USAGE,
                       "zero=3: layers of %s share parameters, which would be gathered again for "
                       "each of them, which is not supported\nnote: valid zero: 0, 1, 2",
                       c->model->name);
    return true;
}

static bool stages_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    int32_t layers = c->model->layers_count;
    bool copied = rh_pipeline_kind_copies(l->schedule) > 1;
    int64_t chunks = rh_partition_chunks(l), split = 0;
    const char *whole = rh_partition_whole(c->model, true);
    if (l->pp > 1 && whole)
        return rh_fail(error, RH_ERROR_USAGE, "pp=%d: %s %s\nnote: valid pp: 1", l->pp,
                       c->model->name, whole);
    if (copied && chunks > layers)
        return rh_fail(error, RH_ERROR_USAGE,
                       "pp=%d: schedule=%s needs a layer for each stage of a copy of the model, "
                       "which has %d",
                       l->pp, rh_pipeline_kind_name(l->schedule), layers);
    if (chunks > layers && chunks != layers + 2)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "pp=%d x vpp=%d chunks are more than the %d layers\n"
            "note: two chunks more are legal: the first holds the embedding alone, the last the head",
            l->pp, l->vpp, layers);
    for (int32_t i = 0; i < l->stage_layers_count; i++)
        split += l->stage_layers[i];
    if (l->stage_layers_count && (l->stage_layers_count != chunks || split != layers))
        return rh_fail(error, RH_ERROR_USAGE,
                       "the stage split names %d chunks and %" G_GINT64_FORMAT
                       " layers; the layout has "
                       "%d chunks, the model %d layers",
                       l->stage_layers_count, split, (int)chunks, layers);
    for (int32_t i = 0; i < l->stage_layers_count; i++)
        if (l->stage_layers[i] < 1)
            return rh_fail(error, RH_ERROR_USAGE,
                           "the stage split leaves chunk %d without a layer\n"
                           "help: at least one layer for each of the %d chunks",
                           i, l->stage_layers_count);
    return true;
}

/* Does the schedule run this number of chunks? */
static bool chunks_legal(const RhLayout *l, GError **error)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    const char *name = rh_pipeline_kind_name(l->schedule);
    int32_t only = rh_pipeline_kind_chunks(l->schedule);
    if (only == RH_CHUNKS_ANY ? l->vpp == 1 : l->vpp != only)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "vpp=%d and schedule=%s do not go together\nhelp: the interleaved schedule has vpp > 1, "
            "zb-v, dualpipe-v, dualpipe and gems have vpp=2, and they alone",
            l->vpp, name);
    if (l->vpp > 1 && l->pp == 1 && only != RH_CHUNKS_ANY)
        return rh_fail(error, RH_ERROR_USAGE,
                       "schedule=%s needs a pipeline: pp=1%s\nhelp: pp=2 or more", name,
                       schedule->crosses ? ", which counts pairs of its stages" : "");
    if (l->vpp > 1 && l->pp == 1)
        return rh_fail(error, RH_ERROR_USAGE, "vpp=%d needs a pipeline: pp=1", l->vpp);
    return true;
}

/* Does the schedule run this number of micro-batches and replicas? */
static bool schedule_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    const char *name = rh_pipeline_kind_name(l->schedule);
    int64_t m = rh_train_microbatches(c, l);
    int32_t least = schedule->rounds_least;
    if (schedule->in_rounds && m % l->pp != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "schedule=%s needs micro-batches divisible by pp: %" G_GINT64_FORMAT
                       " micro-batches, pp=%d",
                       name, m, l->pp);
    if (m < (int64_t)least * l->pp)
        return rh_fail(error, RH_ERROR_USAGE,
                       "schedule=%s needs %d micro-batches for each of pp: %" G_GINT64_FORMAT
                       " micro-batches, pp=%d",
                       name, least, m, l->pp);
    if (schedule->crosses && l->dp % 2 != 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "schedule=%s feeds pipelines from both ends, two replicas each: dp=%d is odd", name,
            l->dp);
    return true;
}

static bool batch_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    int32_t copies = rh_pipeline_kind_copies(l->schedule);
    int64_t per_replica = c->job.global_batch / l->dp / copies;
    if (copies > 1 && c->job.global_batch % (l->dp * (int64_t)copies) != 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "schedule=%s has %d copies of the model in each of dp=%d pipelines, which do "
            "not divide the global batch of %" G_GINT64_FORMAT " samples",
            rh_pipeline_kind_name(l->schedule), copies, l->dp, c->job.global_batch);
    if (c->job.global_batch % l->dp != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "dp=%d does not divide the global batch of %" G_GINT64_FORMAT " samples",
                       l->dp, c->job.global_batch);
    if (l->microbatch % l->local_dp != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "localdp=%d does not divide the %d pictures of a micro-batch (mb)",
                       l->local_dp, l->microbatch);
    if (per_replica % l->microbatch != 0) {
        g_autofree char *legal = error ? rh_divisors_text(per_replica, 16) : NULL;
        return rh_fail(error, RH_ERROR_USAGE,
                       "mb=%d does not divide the %" G_GINT64_FORMAT " samples of a %s (global "
                       "batch %" G_GINT64_FORMAT " / dp %d%s)\nnote: valid mb: %s",
                       l->microbatch, per_replica, copies > 1 ? "copy of the model" : "replica",
                       c->job.global_batch, l->dp, copies > 1 ? " / 2 copies" : "", legal);
    }
    return true;
}

/* Joins names of modules by commas; the caller frees. */
static char *modules_text(uint32_t modules)
{
    g_autoptr(GString) s = g_string_new(NULL);
    for (int bit = 0; rh_recompute_modules[bit]; bit++)
        if (modules >> bit & 1)
            g_string_append_printf(s, "%s%s", s->len ? ", " : "", rh_recompute_modules[bit]);
    return g_string_free(g_steal_pointer(&s), FALSE);
}

static bool again_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    int32_t chunks = l->pp * l->vpp, count = l->recomputed_layers_count;
    if (count > 0 && l->recompute == RH_RECOMPUTE_NONE)
        return rh_fail(error, RH_ERROR_USAGE,
                       "relayers says how many layers run again, and recompute=none runs none\n"
                       "help: recompute=full");
    if (count <= 1)
        return true;
    if (count != chunks)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "relayers names %d chunks; the layout has %d\nhelp: one number is for all chunks",
            count, chunks);
    g_autofree int32_t *layers = g_new(int32_t, chunks);
    rh_partition_layers(c, l, layers);
    for (int32_t g = 0; g < chunks; g++)
        if (l->recomputed_layers[g] > layers[g])
            return rh_fail(error, RH_ERROR_USAGE,
                           "relayers: %d layers of chunk %d are recomputed, and it has %d",
                           l->recomputed_layers[g], g, layers[g]);
    return true;
}

/* Is the recomputation legal? Selective and full are legal for any model, and have no effect where
 * there is nothing to recompute. */
static bool recompute_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    uint32_t asked = (uint32_t)l->recompute;
    if (!again_legal(c, l, error))
        return false;
    if (asked < RH_RECOMPUTE_LAST)
        return true;
    uint32_t have = rh_model_modules(c->model);
    for (int bit = 0; rh_recompute_modules[bit]; bit++)
        if (asked & ~have & (1u << bit)) {
            g_autofree char *named = error ? modules_text(have) : NULL;
            return rh_fail(error, RH_ERROR_USAGE, "recompute: %s has no %s\nnote: its modules: %s",
                           c->model->name, rh_recompute_modules[bit], named);
        }
    if (l->overlap == RH_OVERLAP_SHARED && (asked & RH_RECOMPUTE_SHARED))
        return rh_fail(
            error, RH_ERROR_USAGE,
            "recompute: a shared expert that runs beside exchanges (epoverlap=shared) is "
            "not run again by itself\nhelp: leave out shared_experts");
    if (l->overlap == RH_OVERLAP_BATCHES && (asked & RH_RECOMPUTE_MIXTURE))
        return rh_fail(error, RH_ERROR_USAGE,
                       "recompute: halves that take turns (epoverlap=batches) do not run their "
                       "experts again\nhelp: leave out moe");
    return true;
}

/* Are adapters legal here? Frozen weights have no gradients that a schedule could delay. */
static bool adapters_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (c->job.lora.rank == 0)
        return true;
    if (rh_pipeline_schedule(l->schedule)->splits_backward)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "schedule=%s with lora.rank=%d: frozen weights have no gradients to put off\n"
            "help: 1f1b, interleaved or gpipe",
            rh_pipeline_kind_name(l->schedule), c->job.lora.rank);
    if (c->job.frozen && l->hpz > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "hpz=%d with lora.base=%s: second shares are of weights in 16 bits\n"
                       "help: leave hpz out",
                       l->hpz, c->job.frozen->name);
    return true;
}

/* Are narrow weights legal? That is Megatron-LM's --fp8-param-gather, which its distributed
 * optimizer has. Frozen weights are never gathered from it. */
static bool narrow_weights_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    return !c->job.narrow_weights || l->zero > 0 || c->job.lora.rank > 0 ||
           rh_fail(error, RH_ERROR_USAGE,
                   "weights=narrow with zero=%d: narrow weights are gathered from the optimizer's "
                   "shares\nnote: valid zero: 1, 2, 3",
                   l->zero);
}

/* Are documents legal here? They limit attention, while context ranks have parts of a sequence. */
static bool documents_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    const RhDocuments *d = &c->job.documents;
    for (int32_t i = 0; l->cp > 1 && !d->padded && i < d->runs_count; i++)
        if (d->runs[i].tokens < 2 * (int64_t)l->cp)
            return rh_fail(error, RH_ERROR_USAGE,
                           "cp=%d with documents of %" G_GINT64_FORMAT
                           " tokens: each is shared out in %d parts\n"
                           "help: a smaller cp, or longer documents",
                           l->cp, d->runs[i].tokens, 2 * l->cp);
    return true;
}

/* Are the link rates known, where kernels send tokens to experts (block_cost.c reads them)? */
static bool kernels_known(const RhProblem *c, GError **error)
{
    bool may = rh_model_experts_kind(c->model) && c->platform->messages.sender == RH_SHARING_NONE;
    return !may || rh_a2a_backend_by_name(RH_A2A_BACKEND_ONCE, error) != NULL;
}

/* Does the device have a recipe's matrix units? The error names a missing type. */
static bool has_units(const RhRecipe *recipe, const RhDevice *device, GError **error)
{
    const char *lacks = rh_recipe_lacks_units(recipe, device);
    if (!lacks)
        return true;
    rh_fail(error, RH_ERROR_USAGE, "%s: %s has no units for %s", recipe->name, device->name, lacks);
    static const RhDtype wide[] = {RH_DTYPE_FP16, RH_DTYPE_BF16, RH_DTYPE_FP32};
    for (size_t i = 0; i < G_N_ELEMENTS(wide); i++)
        if (device->peak_flops_per_s[wide[i]].value > 0) {
            rh_error_help(error, "it has units for %s", rh_dtype_name(wide[i]));
            break;
        }
    return false;
}

bool rh_train_job_legal(const RhProblem *c, GError **error)
{
    const char *framework = c->stack->framework;
    if (!kernels_known(c, error) || (framework && !rh_framework_rules(framework, error)))
        return false;
    if (c->job.gpus > rh_platform_gpus(c->platform))
        return rh_fail(error, RH_ERROR_USAGE, "%d GPUs asked for, %s has %d", c->job.gpus,
                       c->platform->name, rh_platform_gpus(c->platform));
    const RhRecipe *recipe = c->job.recipe;
    for (int32_t i = 0; i < rh_platform_devices_count(c->platform); i++)
        if (!has_units(recipe, rh_platform_device(c->platform, i), error))
            return false;
    if (recipe->weight_alone_bytes > 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "%s: narrow weights alone serve a model, they do not train one\n"
            "help: bf16, or a recipe of narrow linear layers such as fp8; adapters "
            "beside frozen weights of 4 bits (QLoRA) are `dtype=bf16`, `lora.rank=16` and "
            "`lora.base=nf4`",
            recipe->name);
    if (rh_model_sees_pictures(c->model) && recipe->linear != recipe->dtype)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s: convolutions of %s stay in 16 bits here\nhelp: bf16 or fp16",
                       recipe->name, c->model->name);
    if (!rh_train_formats_legal(c, error) || !rh_expert_load_fits(&c->job.load, c->model, error))
        return false;
    bool parted = c->job.documents.runs_count > 0 && !c->job.documents.padded;
    for (int k = 0; parted && k < c->model->kinds_count; k++)
        if (!rh_kind_takes_documents(&c->model->kinds[k]))
            return rh_fail(error, RH_ERROR_USAGE,
                           "documents: %s of %s looks at chosen tokens of the whole sample, or "
                           "at those of an encoder\n"
                           "help: leave documents out, or pad samples (packing=off)",
                           rh_operator_name(c->model->kinds[k].mixer), c->model->name);
    for (int k = 0; c->job.lora.rank > 0 && k < c->model->kinds_count; k++)
        if (!rh_kind_takes_adapters(&c->model->kinds[k]))
            return rh_fail(
                error, RH_ERROR_USAGE,
                "lora: %s has layers of %s and %s, whose adapters are not supported\n"
                "note: attention without an indexer, linear mixers, dense networks and experts have them",
                c->model->name, rh_operator_name(c->model->kinds[k].mixer),
                rh_operator_name(c->model->kinds[k].ffn));
    int64_t longest = c->job.sequence / (c->job.preference == RH_PREFERENCE_NONE ? 1 : 2);
    if (c->model->position == RH_POSITION_LEARNED && longest > c->model->positions)
        return rh_fail(error, RH_ERROR_USAGE,
                       "sequence %" G_GINT64_FORMAT " is longer than the model's %" G_GINT64_FORMAT
                       " learned positions",
                       longest, c->model->positions);
    return true;
}

/* Are the degrees' product and the ranks equal? Degrees are below 2^20 each, and three of them are
 * at most what the fourth leaves. */
static bool ranks_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    double product = (double)rh_layout_replica_ranks(l) * l->dp;
    int64_t ranks = product < 1e18 ? (int64_t)product : G_MAXINT64;
    if (ranks == c->job.gpus)
        return true;
    if (l->cp_stages > 0)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "cpstages=%d: a replica of %d stages, %d of them on cp%d ranks, others on %d, has "
            "%" G_GINT64_FORMAT " ranks, dp%d of them %" G_GINT64_FORMAT ", not %d GPUs\n"
            "help: GPUs that are a multiple of a replica's ranks, or other numbers",
            l->cp_stages, l->pp, l->cp_stages, l->cp, l->local_dp, rh_layout_replica_ranks(l),
            l->dp, ranks, c->job.gpus);
    return rh_fail(error, RH_ERROR_USAGE,
                   "tp%d x pp%d x dp%d x cp%d = %" G_GINT64_FORMAT " ranks, not %d %s\n"
                   "note: tp x pp x cp must divide %d; dp, left out, is what they leave",
                   l->tp, l->pp, l->dp, l->cp, ranks, c->job.gpus,
                   rh_clients_share(&c->job.clients) ? "processes on GPUs" : "GPUs", c->job.gpus);
}

/* Processes of one GPU do the same at one time: replicas. */
static bool clients_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    bool replicas = l->tp == 1 && l->pp == 1 && l->cp == 1 && l->ep == 1;
    if (!rh_clients_share(&c->job.clients) || replicas)
        return true;
    return rh_fail(error, RH_ERROR_USAGE,
                   "tp%d, pp%d, cp%d, ep%d: with clients=%d data-parallel replicas alone share a "
                   "GPU\nhelp: tp1, pp1, cp1, ep1, or a process for each GPU (clients=1)",
                   l->tp, l->pp, l->cp, l->ep, c->job.clients.count);
}

static bool parallelism_legal(const RhParallelism *parallelism, const RhProblem *c,
                              const RhLayout *l, GError **error)
{
    return (!parallelism->grid_legal || parallelism->grid_legal(c, l, error)) &&
           (!parallelism->legal || parallelism->legal(c, l, error));
}

bool rh_train_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    if (!rh_train_job_legal(c, error))
        return false;
    for (int i = 0; rh_parallelisms[i]; i++)
        if (!parallelism_legal(rh_parallelisms[i], c, l, error))
            return false;
    return ranks_legal(c, l, error) && clients_legal(c, l, error) && recompute_legal(c, l, error) &&
           adapters_legal(c, l, error) && narrow_weights_legal(c, l, error) &&
           documents_legal(c, l, error) && rh_train_reference_legal(c, l, error) &&
           stack_legal(c, l, error) && batch_legal(c, l, error) && stages_legal(c, l, error) &&
           chunks_legal(l, error) && schedule_legal(c, l, error);
}

/* --- the same rules grouped by the knobs that they read, for walking a space --- */

static bool grid_legal(const RhProblem *c, const RhLayout *l)
{
    for (int i = 0; rh_parallelisms[i]; i++)
        if (rh_parallelisms[i]->grid_legal && !rh_parallelisms[i]->grid_legal(c, l, NULL))
            return false;
    return ranks_legal(c, l, NULL) && clients_legal(c, l, NULL) && documents_legal(c, l, NULL);
}

static bool batch_and_schedule_legal(const RhProblem *c, const RhLayout *l)
{
    return rh_stack_runs(c->stack, l->schedule) && batch_legal(c, l, NULL) &&
           schedule_legal(c, l, NULL);
}

static bool slots_legal(const RhProblem *c, const RhLayout *l)
{
    return stages_legal(c, l, NULL) && chunks_legal(l, NULL);
}

static bool rest_legal(const RhProblem *c, const RhLayout *l)
{
    for (int i = 0; rh_parallelisms[i]; i++)
        if (rh_parallelisms[i]->legal && !rh_parallelisms[i]->legal(c, l, NULL))
            return false;
    return recompute_legal(c, l, NULL) && adapters_legal(c, l, NULL) &&
           narrow_weights_legal(c, l, NULL) && stack_legal(c, l, NULL);
}

#define GRID                                                                                       \
    (RH_KNOB_BIT(tp) | RH_KNOB_BIT(pp) | RH_KNOB_BIT(dp) | RH_KNOB_BIT(cp) |                       \
     RH_KNOB_BIT(ulysses) | RH_KNOB_BIT(slice) | RH_KNOB_BIT(cp_stages) | RH_KNOB_BIT(local_dp) |  \
     RH_KNOB_BIT(halo) | RH_KNOB_BIT(ep) | RH_KNOB_BIT(etp))
#define SCHEDULE (GRID | RH_KNOB_BIT(microbatch) | RH_KNOB_BIT(schedule) | RH_KNOB_BIT(overlap))
#define SLOTS    (SCHEDULE | RH_KNOB_BIT(vpp) | RH_KNOB_BIT(stage_layers_count))

/* Knobs besides `order`, which only places ranks and forbids nothing. */
#define REST (~RH_KNOB_BIT(order))

const RhTrainRules rh_train_rules[] = {{GRID, grid_legal},
                                       {SCHEDULE, batch_and_schedule_legal},
                                       {SLOTS, slots_legal},
                                       {REST, rest_legal},
                                       {0}};

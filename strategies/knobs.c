#include "strategies/knobs.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "strategies/partition.h"
#include "strategies/stages.h"

static const char *const partition_names[] = {"even", "parameters", "work", "uniform", NULL};
static const char *const stages_names[] = {"even", NULL};
static const char *const again_names[] = {"all", "least", NULL};
static const char *const order_names[] = {"none", "tp-dp-pp", "tp-pp-dp", NULL};
static const char *const recompute_names[] = {"none", "selective", "full", NULL};
static const char *const context_names[] = {"ring", "gather", NULL};
static const char *const outer_names[] = {"none", "optim", NULL};
static const char *const switch_names[] = {"off", "on", NULL};

static const char *const dispatch_names[] = {"alltoall", "deepep", NULL};

static const char *const overlap_names[] = {"none", "shared", "batches", "pairs", NULL};

/* --- titles --- */

static char *title_always(const RhKnob *knob, const RhLayout *l)
{
    int32_t value = rh_knob_value(knob, l);
    return value >= knob->low ? g_strdup_printf("%s%d", knob->key, value) : NULL;
}

static char *title_above_1(const RhKnob *knob, const RhLayout *l)
{
    return rh_knob_value(knob, l) > 1 ? title_always(knob, l) : NULL;
}

static char *title_expert_tensor(const RhKnob *knob, const RhLayout *l)
{
    return l->etp > 0 ? title_always(knob, l) : NULL;
}

static char *title_context(const RhKnob *knob, const RhLayout *l)
{
    bool gathers = l->kv == RH_CONTEXT_GATHER;
    return gathers ? g_strdup_printf("keys and values by %s", knob->names[l->kv]) : NULL;
}

static char *title_dispatch(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->dispatch == RH_DISPATCH_DEEPEP ? g_strdup("DeepEP") : NULL;
}

static char *title_overlap(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    static const char *const titles[] = {NULL, "shared expert overlapped", "halves overlapped",
                                         "forward beside backward"};
    return g_strdup(titles[l->overlap]);
}

static char *title_microbatch(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return g_strdup_printf("micro-batch %d", l->microbatch);
}

static char *title_zero(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->zero > 0 ? g_strdup_printf("ZeRO-%d", l->zero) : NULL;
}

static char *title_shard(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->shard > 0 ? g_strdup_printf("shares over %d", l->shard) : NULL;
}

static char *title_outer(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->outer ? g_strdup("optimizer over groups") : NULL;
}

static char *title_secondary(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->hpz > 0 ? g_strdup_printf("second shares over %d", l->hpz) : NULL;
}

static char *title_recompute(const RhKnob *knob, const RhLayout *l)
{
    g_autofree char *what = rh_knob_value_text(knob, (int32_t)l->recompute);
    bool some = l->recompute != RH_RECOMPUTE_NONE;
    return g_strdup_printf("%s recompute", some ? what : "no");
}

static char *title_again(const RhKnob *knob, const RhLayout *l)
{
    if (l->again_layers_count == 0)
        return NULL;
    g_autofree char *layers = rh_knob_text(knob, l);
    return g_strdup_printf("of %s layer%s", layers, strcmp(layers, "1") == 0 ? "" : "s");
}

static char *title_offload(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->offload > 0 ? g_strdup_printf("%d %% offloaded", l->offload) : NULL;
}

static char *title_schedule(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->pp > 1 ? g_strdup(rh_pipeline_kind_title(l->schedule)) : NULL;
}

static char *title_tensor_overlap(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->tensor_overlap ? g_strdup("tensor overlap") : NULL;
}

static char *title_partition(const RhKnob *knob, const RhLayout *l)
{
    bool shown = l->partition != RH_PARTITION_EVEN && l->pp > 1;
    return shown ? g_strdup_printf("stages of equal %s", knob->names[l->partition]) : NULL;
}

static char *title_stages(const RhKnob *knob, const RhLayout *l)
{
    (void)knob;
    return l->stage_layers_count > 0 ? g_strdup("stages as given") : NULL;
}

/* --- cells of the table of plans --- */

/* Of several modules the beginning of each name. */
#define MODULE_CHARS 4
static char *cell_recompute(const RhLayout *l)
{
    if (l->recompute == RH_RECOMPUTE_SELECTIVE)
        return g_strdup("select");
    g_autofree char *text = rh_knob_value_text(RH_KNOB_OF(recompute), (int32_t)l->recompute);
    if (!strchr(text, '+'))
        return g_steal_pointer(&text);
    g_auto(GStrv) names = g_strsplit(text, "+", -1);
    for (char **name = names; *name; name++)
        if (strlen(*name) > MODULE_CHARS)
            (*name)[MODULE_CHARS] = 0;
    return g_strjoinv("+", names);
}

/* Without other ranks' tokens there is nothing to bring. */
static char *cell_context(const RhLayout *l)
{
    return g_strdup(l->cp > l->ulysses ? context_names[l->kv] : "-");
}

static char *cell_expert_tensor(const RhLayout *l)
{
    return l->ep == 1 && l->etp == 0 ? g_strdup("-")
                                     : g_strdup_printf("%d", l->etp > 0 ? l->etp : l->tp);
}

static char *cell_shard(const RhLayout *l)
{
    return l->shard > 0 ? g_strdup_printf("%d", l->shard) : g_strdup(l->zero > 0 ? "all" : "-");
}

static char *cell_outer(const RhLayout *l)
{
    return g_strdup(l->shard > 0 ? outer_names[l->outer] : "-");
}

static char *cell_secondary(const RhLayout *l)
{
    return l->hpz > 0 ? g_strdup_printf("%d", l->hpz) : g_strdup("-");
}

/* What has no title shows in vpp already. */
static char *cell_schedule(const RhLayout *l)
{
    bool titled = rh_pipeline_kind_title(l->schedule) != NULL;
    return g_strdup(rh_pipeline_kind_name(titled ? l->schedule : RH_PIPELINE_1F1B));
}

static char *cell_sequence_parallel(const RhLayout *l)
{
    return g_strdup(l->tp == 1 ? "-" : switch_names[l->sequence_parallel]);
}

static char *cell_tensor_overlap(const RhLayout *l)
{
    return g_strdup(l->sequence_parallel ? switch_names[l->tensor_overlap] : "-");
}

static char *cell_order(const RhLayout *l)
{
    return g_strdup(order_names[l->order] + strlen("tp-"));
}

/* --- the space: the next value to try (knobs.h) --- */

static bool next_in_range(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)c, (void)l;
    return ++*value <= knob->high;
}

/* None, attention's core, whole layers; then the sums of modules that the stack is known for. */
static bool next_recompute(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)l;
    if (*value < knob->high)
        return ++*value <= knob->high;
    const RhRecompute *known = c->stack->recomputes;
    int32_t i = 0;
    while (*value > knob->high && i < RH_STACK_RECOMPUTES && (int32_t)known[i++] != *value)
        ;
    if (i == RH_STACK_RECOMPUTES || known[i] == RH_RECOMPUTE_NONE)
        return false;
    *value = (int32_t)known[i];
    return true;
}

static bool next_tensor(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)knob, (void)l;
    return ++*value <= MIN(c->platform->gpus_per_node, c->job.gpus);
}

/* What divides the GPUs; two stages more than layers can be: embedding and head alone. */
static bool next_pipeline(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)knob;
    bool whole = rh_partition_whole(c->model, true) != NULL;
    int32_t most = whole ? 1 : MIN(c->model->layers_count + 2, c->job.gpus / l->tp);
    while (++*value <= most)
        if (c->job.gpus % (l->tp * *value) == 0)
            return true;
    return false;
}

/* Where the search for longer rings ends: each rank keeps so many tokens of a sequence. Assumed, to keep the space
 * small: nothing was measured. */
#define CONTEXT_TOKENS_MIN 8192

static int32_t context_most(const RhCase *c)
{
    return (int32_t)CLAMP(c->job.sequence / CONTEXT_TOKENS_MIN, 1, RH_LAYOUT_DEGREE_MAX);
}

static bool context_up_to(const RhCase *c, const RhLayout *l, int32_t most, int32_t *value)
{
    int32_t gpus = c->job.gpus / (l->tp * l->pp);
    while (++*value <= MIN(gpus, most))
        if (gpus % *value == 0)
            return true;
    return false;
}

static bool next_context(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)knob;
    return context_up_to(c, l, context_most(c), value);
}

static bool longer_context(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)knob;
    *value = MAX(*value, context_most(c));
    return context_up_to(c, l, RH_LAYOUT_DEGREE_MAX, value);
}

/* The GPUs that are left, where the batch divides among them. */
static bool next_data(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    int32_t rest = c->job.gpus / (l->tp * l->pp * l->cp);
    bool first = *value < knob->low;
    *value = rest;
    return first && rest >= 1 && c->job.global_batch % rest == 0;
}

/* Divisors of cp, while a rank has a key-value head of its own: frameworks repeat none. */
static bool next_ulysses(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)knob;
    while (++*value <= l->cp) {
        bool whole = l->cp % *value == 0;
        for (int k = 0; whole && *value > 1 && k < c->model->kinds_count; k++)
            whole = c->model->kinds[k].kv_heads % (l->tp * *value) == 0;
        if (whole)
            return true;
    }
    return false;
}

/* Gathered where nothing else is done to them: no framework gathers behind an exchange. */
static bool next_keys_and_values(const RhKnob *knob, const RhCase *c, const RhLayout *l,
                                 int32_t *value)
{
    (void)c;
    return ++*value <= (l->cp > 1 && l->ulysses == 1 ? knob->high : 0);
}

/* Weights are shared out over all replicas, or over those of a node, which NVLink joins. */
static bool next_shard(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    int32_t node = c->platform->gpus_per_node / l->tp;
    bool first = *value < knob->low, all = *value == 0;
    bool neighbours = node <= l->cp ? l->cp % MAX(node, 1) == 0
                                    : node % l->cp == 0 && l->dp % (node / l->cp) == 0;
    bool experts_spread = l->ep > 1 || l->etp > 0;
    *value = first ? 0 : node;
    return first || (all && l->zero == 3 && neighbours && !experts_spread && node > 1 &&
                     node < l->cp * l->dp);
}

/* Experts of the layers that have some; 0: none has. */
static int32_t experts_of(const RhModel *model)
{
    int32_t experts = 0;
    for (int k = 0; k < model->kinds_count; k++)
        experts = MAX(experts, model->kinds[k].experts);
    return experts;
}

static bool next_expert(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)knob;
    int32_t experts = experts_of(c->model), most = l->tp * l->cp * l->dp;
    while (++*value <= MIN(MAX(experts, 1), most))
        if (*value == 1 || experts % *value == 0)
            return true;
    return false;
}

/* As the rest of the layer is cut, or whole. */
static bool next_expert_tensor(const RhKnob *knob, const RhCase *c, const RhLayout *l,
                               int32_t *value)
{
    (void)knob;
    bool may_differ = l->tp > 1 && l->ep > 1 && experts_of(c->model) > 0;
    return ++*value <= (may_differ ? 1 : 0);
}

static bool next_dispatch(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    bool may_differ = l->ep > 1 && c->platform->messages.sender == RH_SHARING_NONE;
    return ++*value <= (may_differ ? knob->high : 0);
}

/* Every divisor of a replica's samples: which of them fit is the memory stage's to say. Of the
 * numbers that a quotient is of, only the largest can be a divisor: 2 sqrt(samples) steps in all.
 */
static bool next_microbatch(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    int64_t samples = c->job.global_batch / l->dp;
    for (int64_t next = *value + 1; next <= MIN(samples, knob->high); next++) {
        next = samples / (samples / next);
        if (samples % next == 0) {
            *value = (int32_t)MIN(next, (int64_t)knob->high + 1);
            return next <= knob->high;
        }
    }
    return false;
}

static bool next_chunks(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    int32_t only = rh_pipeline_kind_chunks(l->schedule);
    bool first = *value < knob->low;
    *value = only != RH_CHUNKS_ANY ? only : MAX(*value + 1, 2);
    if (only != RH_CHUNKS_ANY && (only == 1 || !first))
        return first;
    return l->pp > 1 && l->pp * *value <= c->model->layers_count + 2;
}

/* By work too, where that makes another split; by parameters only when asked. */
static bool next_partition(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)knob;
    if (++*value == RH_PARTITION_EVEN)
        return true;
    if (*value > RH_PARTITION_WORK)
        return false;
    *value = RH_PARTITION_WORK;
    return l->pp > 1 && !c->stack->even_stages && rh_partition_differs(c, l, RH_PARTITION_WORK);
}

static bool has_experts(const RhModel *model)
{
    for (int k = 0; k < model->kinds_count; k++)
        if (model->kinds[k].experts > 0)
            return true;
    return false;
}

static bool tries_schedule(const RhModel *model, RhPipelineKind kind)
{
    RhSchedulePurpose purpose = rh_pipeline_kind_purpose(kind);
    return purpose == RH_FOR_ALL || (purpose == RH_FOR_EXPERTS && has_experts(model));
}

static bool next_schedule(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)l;
    do
        ++*value;
    while (*value <= knob->high && !tries_schedule(c->model, (RhPipelineKind)*value));
    return *value <= knob->high;
}

/* --- the same in the whole space --- */

/* Where the search for more context ranks ends: each keeps so many tokens of a sequence. Assumed: published layouts keep
 * 2,048 and more, and exchanges of fewer cannot hide behind attention. */
#define WIDER_CONTEXT_TOKENS_MIN 2048

static int32_t wider_context_most(const RhCase *c)
{
    return (int32_t)CLAMP(c->job.sequence / WIDER_CONTEXT_TOKENS_MIN, 1, RH_LAYOUT_DEGREE_MAX);
}

static bool wider_context(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    int32_t gpus = c->job.gpus / (l->tp * l->pp);
    (void)knob;
    while (++*value <= MIN(gpus, wider_context_most(c)))
        if (gpus % *value == 0)
            return true;
    return false;
}

/* The smallest degree that leaves fewer tokens than the search's, in the place of replicas. */
static bool context_of_few_tokens(const RhCase *c, RhLayout *l, int32_t step)
{
    int32_t ranks = l->cp * l->dp, value = wider_context_most(c);
    if (step > 0 || !context_up_to(c, l, ranks, &value) || ranks % value != 0)
        return false;
    l->cp = value;
    l->dp = ranks / value;
    return true;
}

#define OFFLOAD_STEP_PERCENT 10

/* In the place of all that is recomputed, which is what it is for. */
static bool offload_instead(const RhCase *c, RhLayout *l, int32_t step)
{
    (void)c;
    int32_t percent = OFFLOAD_STEP_PERCENT * (step + 1);
    if (l->recompute == RH_RECOMPUTE_NONE || percent > 100)
        return false;
    l->recompute = RH_RECOMPUTE_NONE;
    l->again_layers_count = 0;
    l->offload = percent;
    return true;
}

/* None; what of the model's modules may be run again, one or several of them; whole layers, the last of all. */
static bool wider_recompute(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)l;
    uint32_t modules = rh_model_modules(c->model), next = (uint32_t)*value;
    if (*value < 0) {
        *value = RH_RECOMPUTE_NONE;
        return true;
    }
    if (next == RH_RECOMPUTE_FULL)
        return false;
    do /* the next larger subset of the modules */
        next = (next - modules) & modules;
    while (next != 0 && rh_recompute_repeats(next));
    *value = next != 0 ? (int32_t)next : RH_RECOMPUTE_FULL;
    (void)knob;
    return true;
}

/* All layers of those that run again, or as few as fit. */
static bool wider_again(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)knob, (void)c;
    if (*value < RH_AGAIN_LEAST) {
        *value = l->recompute == RH_RECOMPUTE_FULL ? RH_AGAIN_LEAST : 0;
        return true;
    }
    return ++*value <= 0;
}

/* Off alone for single ranks, and where the stack has none. On, the same bytes are exchanged in twice as many
 * collectives, and norms and residuals are cut, too: off is quicker where messages are small. */
static bool wider_sequence_parallel(const RhKnob *knob, const RhCase *c, const RhLayout *l,
                                    int32_t *value)
{
    (void)knob;
    return ++*value <= (l->tp > 1 && c->stack->sequence_parallel);
}

/* States are shared out over all replicas, or over those of a node, which NVLink joins, of four nodes, of sixteen ... */
static bool wider_shard(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    int32_t replicas = l->cp * l->dp, node = MAX(1, c->platform->gpus_per_node / l->tp);
    bool experts_spread = l->ep > 1 || l->etp > 0;
    if (*value < knob->low) {
        *value = 0;
        return true;
    }
    if (l->zero == 0 || experts_spread)
        return false;
    do
        *value = *value == 0 ? node : 4 * *value;
    while (*value < replicas && (*value == 1 || replicas % *value != 0 || *value % l->cp != 0));
    return *value < replicas;
}

static bool wider_outer(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)knob, (void)c;
    return ++*value <= (l->zero == 3 && l->shard > 0 ? 1 : 0);
}

/* Second shares over the replicas of a node. */
static bool wider_secondary(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    int32_t node = MAX(1, c->platform->gpus_per_node / l->tp);
    bool first = *value < knob->low;
    bool more = *value == 0 && l->zero == 3 && c->stack->second_shards && node > 1;
    *value = first ? 0 : node;
    return first || more;
}

/* What may run while tokens travel to experts. */
static bool wider_overlap(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    (void)c;
    return ++*value <= (l->ep > 1 || l->etp > 0 ? knob->high : 0);
}

/* Those that the stack runs. */
static bool wider_schedule(const RhKnob *knob, const RhCase *c, const RhLayout *l, int32_t *value)
{
    do
        ++*value;
    while (*value <= knob->high && (l->pp == 1 ? *value != RH_PIPELINE_1F1B
                                               : !rh_stack_runs(c->stack, (RhPipelineKind)*value)));
    return *value <= knob->high;
}

/* --- the table --- */

#define RH_KNOB(type, field_, ...)                                                                 \
    {.offset = G_STRUCT_OFFSET(RhLayout, field_), .size = sizeof(type), __VA_ARGS__},

const RhKnob rh_knobs[] = {
#include "strategies/knob_rows.h"
    {0}};

G_STATIC_ASSERT(G_N_ELEMENTS(rh_knobs) <= RH_KNOBS_MAX);
G_STATIC_ASSERT(RH_KNOBS_MAX <= 64); /* rh_layout_parse keeps a bit for each */

uint64_t rh_knobs_before(int32_t part)
{
    uint64_t bits = 0;
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if ((knob->next || knob->wide) && knob->part < part)
            bits |= UINT64_C(1) << (knob - rh_knobs);
    return bits;
}

const RhKnob *rh_knob_find(const char *key, size_t length)
{
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (strlen(knob->key) == length && strncmp(knob->key, key, length) == 0)
            return knob;
    return NULL;
}

const char *const *rh_knob_keys(void)
{
    static const char *keys[G_N_ELEMENTS(rh_knobs)];
    for (size_t i = 0; rh_knobs[i].key; i++)
        keys[i] = rh_knobs[i].key;
    return keys;
}

const char *rh_knob_json_key(const RhKnob *knob)
{
    return knob->json ? knob->json : knob->key;
}

bool rh_knob_is_switch(const RhKnob *knob)
{
    return knob->size == sizeof(bool);
}

/* --- values --- */

int32_t rh_knob_value(const RhKnob *knob, const RhLayout *layout)
{
    const char *field = (const char *)layout + knob->offset;
    return rh_knob_is_switch(knob) ? *(const bool *)field : *(const int32_t *)(const void *)field;
}

void rh_knob_store(const RhKnob *knob, RhLayout *layout, int32_t value)
{
    char *field = (char *)layout + knob->offset;
    if (rh_knob_is_switch(knob))
        *(bool *)(void *)field = value != 0;
    else
        *(int32_t *)(void *)field = value;
}

bool rh_knob_is_silent(const RhKnob *knob, const RhLayout *layout)
{
    return (knob->quiet || knob->list) && rh_knob_value(knob, layout) == knob->otherwise;
}

static char *words_text(const RhKnob *knob, int32_t value)
{
    g_autoptr(GString) s = g_string_new(NULL);
    for (int bit = 0; knob->words[bit]; bit++)
        if ((uint32_t)value >> bit & 1)
            g_string_append_printf(s, "%s%s", s->len ? "+" : "", knob->words[bit]);
    return g_string_free(g_steal_pointer(&s), FALSE);
}

char *rh_knob_value_text(const RhKnob *knob, int32_t value)
{
    if (knob->words && value > knob->high)
        return words_text(knob, value);
    if (knob->list)
        return value <= 0 ? g_strdup(knob->names[-value]) : g_strdup_printf("of %d", value);
    return knob->names ? g_strdup(knob->names[value]) : g_strdup_printf("%d", value);
}

char *rh_knob_text(const RhKnob *knob, const RhLayout *layout)
{
    int32_t value = rh_knob_value(knob, layout);
    if (rh_knob_is_silent(knob, layout) || value < knob->low)
        return NULL;
    return knob->list ? rh_stages_text(knob, layout) : rh_knob_value_text(knob, value);
}

char *rh_knob_cell(const RhKnob *knob, const RhLayout *layout)
{
    return knob->cell ? knob->cell(layout) : rh_knob_value_text(knob, rh_knob_value(knob, layout));
}

/* Bit of a word of so many characters; -1: there is none. */
static int bit_of_word(const RhKnob *knob, const char *word, size_t length)
{
    for (int bit = 0; knob->words[bit]; bit++)
        if (strlen(knob->words[bit]) == length && strncmp(knob->words[bit], word, length) == 0)
            return bit;
    return -1;
}

/* "layernorm+moe_act": each word once. A word that is a value by name, too, stands alone. */
static bool read_words(const RhKnob *knob, const char *text, int64_t *value)
{
    uint32_t sum = 0;
    bool several = strchr(text, '+') != NULL;
    for (const char *word = text;; word++) {
        size_t length = strcspn(word, "+");
        int bit = bit_of_word(knob, word, length);
        bool alone = bit >= 0 && 1 << bit <= knob->high &&
                     strcmp(knob->words[bit], knob->names[1 << bit]) == 0;
        if (bit < 0 || (sum >> bit & 1) || (alone && several))
            return false;
        sum |= 1u << bit;
        word += length;
        if (!*word)
            break;
    }
    *value = (int64_t)sum;
    return true;
}

static bool fail_name(const RhKnob *knob, const char *text, GError **error)
{
    g_autoptr(GString) legal = g_string_new(NULL);
    for (int64_t i = knob->low; i <= knob->high; i++)
        g_string_append_printf(legal, "%s%s", legal->len ? ", " : "", knob->names[i]);
    g_autofree char *words = knob->words ? g_strjoinv(", ", (char **)knob->words) : NULL;
    return rh_fail(error, RH_ERROR_USAGE, "%s has no value \"%s\"\nnote: values of %s: %s%s%s",
                   knob->key, text, knob->key, legal->str,
                   words ? "; or a sum, as in layernorm+moe_act, of " : "", words ? words : "");
}

static bool read_name(const RhKnob *knob, const char *text, int64_t *value, GError **error)
{
    for (int64_t i = knob->low; i <= knob->high; i++)
        if (strcmp(knob->names[i], text) == 0) {
            *value = i;
            return true;
        }
    return (knob->words && read_words(knob, text, value)) || fail_name(knob, text, error);
}

static bool read_number(const RhKnob *knob, const char *text, int64_t *value, GError **error)
{
    GError *local = NULL;
    if (rh_integer_parse(text, knob->low, knob->high, value, &local))
        return true;
    local->code = RH_ERROR_USAGE;
    g_propagate_prefixed_error(error, local, "layout key %s: ", knob->key);
    return false;
}

bool rh_knob_read(const RhKnob *knob, const char *text, RhLayout *layout, size_t *at,
                  GError **error)
{
    int64_t value = 0;
    *at = 0;
    if (knob->list)
        return rh_stages_read(knob, text, layout, at, error);
    if (!(knob->names ? read_name : read_number)(knob, text, &value, error))
        return false;
    rh_knob_store(knob, layout, (int32_t)value);
    return true;
}

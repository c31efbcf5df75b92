#include "strategies/software_stack_file.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/nearest_names.h"
#include "platforms/fabric/collective_library.h"
#include "sim/collective/library_choice.h"
#include "strategies/framework_rules.h"
#include "strategies/knobs.h"

static void *load(const char *spec, GError **error);
static RhDataCatalogue shelf = {
    .noun = "stack", .folder = "strategies/stacks", .takes_paths = true, .load = load};

/* Other names of stacks: those of their frameworks. */
static const struct {
    const char *alias, *name;
} aliases[] = {{"nemo", "megatron-bridge"}};

#define FACT(path, unit, field, low, high, ...)                                                    \
    {                                                                                              \
        .key = path, .kind = RH_QUANTITY_##unit, .offset = offsetof(RhStack, field),               \
        .range = {low, high, true}, ##__VA_ARGS__                                                  \
    }
/* Facts that a file may give, with their plausible ranges; 0 is allowed where it has a meaning. */
static const RhStackFact facts[] = {
    FACT("attention", FRAC, attention_frac, 0.01, 2),
    FACT("gemm", FRAC, gemm_frac, 0.01, 2),
    FACT("gemm_fp8", FRAC, gemm_fp8_frac, 0.01, 2),
    FACT("gemm_gradient", FRAC, gemm_gradient_frac, 0.01, 1),
    FACT("kernel_gap", S, kernel_gap_s, 0, 1e-3, .required = true),
    FACT("nvlink", FRAC, nvlink_training_frac, 0.01, 2, .required = true),
    FACT("nic", FRAC, nic_training_frac, 0.01, 1, .required = true),
    FACT("straggler", FRAC, straggler_frac, 0, 0.1, .required = true),
    FACT("optimizer_bytes", COUNT, optimizer_bytes, 1, 1000, .required = true),
    FACT("norm_bytes", COUNT, passes.norm_bytes, 1, 1000),
    FACT("eager_norm_bytes", COUNT, passes.eager_norm_bytes, 1, 1000),
    FACT("backward_excess", COUNT, passes.backward_excess, 0.1, 10),
    FACT("softmax_backward_bytes", COUNT, passes.softmax_backward_bytes, 1, 1000),
    FACT("eager_softmax_bytes", COUNT, passes.eager_softmax_bytes, 1, 1000),
    FACT("eager_softmax_backward_bytes", COUNT, passes.eager_softmax_backward_bytes, 1, 1000),
    FACT("bucket_params", COUNT, bucket_params, 1, 1e12, .required = true),
    FACT("bucket_params_per_replica", COUNT, bucket_params_per_replica, 0, 1e12),
    FACT("bucket", BYTES, bucket_bytes, 0, 1e12),
    FACT("first_bucket", BYTES, first_bucket_bytes, 0, 1e12),
    FACT("bucket_cycle", S, bucket_cycle_s, 0, 10),
    FACT("buckets", COUNT, buckets, 0, 16),
    FACT("reserve", BYTES, reserve_bytes, 0, 1e12, .required = true),
};

static const struct {
    const char *key;
    size_t offset;
} flags[] = {
    {"flash_attention", offsetof(RhStack, flash_attention)},
    {"fused_norms", offsetof(RhStack, fused_norms)},
    {"fused_softmax", offsetof(RhStack, fused_softmax)},
    {"fused_elementwise", offsetof(RhStack, fused_elementwise)},
    {"fused_loss", offsetof(RhStack, fused_loss)},
    {"whole_logits", offsetof(RhStack, whole_logits)},
    {"keeps_outputs", offsetof(RhStack, keeps_outputs)},
    {"keeps_gathered", offsetof(RhStack, keeps_gathered)},
    {"drops_context", offsetof(RhStack, drops_context)},
    {"drops_projection", offsetof(RhStack, drops_projection)},
    {"narrow_gates", offsetof(RhStack, narrow_gates)},
    {"fused_casts", offsetof(RhStack, fused_casts)},
    {"weights_in_one_layout", offsetof(RhStack, weights_in_one_layout)},
    {"casts_masters", offsetof(RhStack, casts_masters)},
    {"casts_anew", offsetof(RhStack, casts_anew)},
    {"eager_loss", offsetof(RhStack, eager_loss)},
    {"keeps_messages", offsetof(RhStack, keeps_messages)},
    {"scatters_messages", offsetof(RhStack, scatters_messages)},
    {"sequence_parallel", offsetof(RhStack, sequence_parallel)},
    {"tensor_overlap", offsetof(RhStack, tensor_overlap)},
    {"pulls_rows", offsetof(RhStack, pulls_rows)},
    {"gathers_heads", offsetof(RhStack, gathers_heads)},
    {"sums_behind_weights", offsetof(RhStack, sums_behind_weights)},
    {"expert_parallel", offsetof(RhStack, expert_parallel)},
    {"experts_apart", offsetof(RhStack, experts_apart)},
    {"fills_experts", offsetof(RhStack, fills_experts)},
    {"sorts_by_products", offsetof(RhStack, sorts_by_products)},
    {"dummy_gradients", offsetof(RhStack, dummy_gradients)},
    {"even_stages", offsetof(RhStack, even_stages)},
    {"tiles", offsetof(RhStack, tiles)},
    {"gradient_norm", offsetof(RhStack, gradient_norm)},
    {"late_exchange", offsetof(RhStack, late_exchange)},
    {"frees_gradients", offsetof(RhStack, frees_gradients)},
    {"flat_gradients", offsetof(RhStack, flat_gradients)},
    {"reduces_once", offsetof(RhStack, reduces_once)},
    {"stops_early", offsetof(RhStack, stops_early)},
    {"second_shards", offsetof(RhStack, second_shards)},
};

static RhFact *fact_at(RhStack *stack, const RhStackFact *row)
{
    return (RhFact *)(void *)((char *)stack + row->offset);
}

/* Reads a flag, as "key": {"value": true, "source": "..."}; where it is missing, *out stays. */
static void read_flag(RhJson *doc, const RhJsonNode *root, const char *key, bool *out)
{
    const RhJsonNode *node = rh_json_object_or_null(doc, root, key);
    if (!node)
        return;
    *out = rh_json_bool_or(doc, node, "value", *out);
    rh_json_string(doc, node, "source");
}

/* Drops the sizes of buckets that another one replaces: who gives a number of parameters means
 * neither bytes nor a floor that grows with the replicas. */
static void drop_replaced(RhStack *s, bool params, bool per_replica, bool bytes)
{
    if (params && !per_replica)
        s->bucket_params_per_replica = (RhFact){.value = 0};
    if ((params || per_replica) && !bytes)
        s->bucket_bytes = s->first_bucket_bytes = (RhFact){.value = 0};
}

static void read_facts(RhJson *doc, const RhJsonNode *root, RhStack *s)
{
    drop_replaced(s, rh_json_has(root, "bucket_params"),
                  rh_json_has(root, "bucket_params_per_replica"), rh_json_has(root, "bucket"));
    for (size_t i = 0; i < G_N_ELEMENTS(facts); i++)
        if (rh_json_has(root, facts[i].key))
            *fact_at(s, &facts[i]) =
                rh_json_fact_within(doc, root, facts[i].key, facts[i].kind, &facts[i].range);
}

/* Reads combinations of modules, as "recompute": {"value": ["layernorm", "core_attn+layernorm"],
 * "source": "..."}. */
static void read_recomputes(RhJson *doc, const RhJsonNode *root, RhStack *s)
{
    const RhJsonNode *node = rh_json_object_or_null(doc, root, "recompute");
    const RhJsonNode *words = node ? rh_json_array(doc, node, "value") : NULL;
    if (!node)
        return;
    rh_json_string(doc, node, "source");
    if (rh_json_count(words) > RH_STACK_RECOMPUTES)
        rh_json_problem(doc, words, NULL, "%d at most", RH_STACK_RECOMPUTES);
    memset(s->recomputes, 0, sizeof s->recomputes);
    const RhJsonNode *word = words ? rh_json_first(words) : NULL;
    for (int i = 0; i < RH_STACK_RECOMPUTES && word; i++, word = rh_json_next(word)) {
        RhLayout l = rh_layout_default();
        const char *text = rh_json_node_string(doc, word);
        size_t at;
        if (!rh_knob_read(RH_KNOB_OF(recompute), text, &l, &at, NULL) ||
            l.recompute < RH_RECOMPUTE_LAST)
            rh_json_problem(doc, word, "modules, as \"core_attn+layernorm\"",
                            "\"%s\" is not a sum of modules", text);
        else
            s->recomputes[i] = l.recompute;
    }
}

/* The bit of the schedule that a node names; 0, and a problem, where there is none. */
static uint32_t schedule_bit(RhJson *doc, const RhJsonNode *node)
{
    const char *name = rh_json_node_string(doc, node);
    for (int kind = RH_PIPELINE_NONE + 1; kind < RH_PIPELINE_LAST; kind++)
        if (strcmp(rh_pipeline_kind_name(kind), name) == 0)
            return 1u << kind;
    const char *near = rh_near_name(name, rh_pipeline_kind_names + 1);
    g_autofree char *help = near ? g_strdup_printf("\"%s\"", near) : NULL;
    rh_json_problem(doc, node, help, "there is no schedule \"%s\"", name);
    return 0;
}

/* Reads schedules, as "schedules": {"value": ["1f1b", "interleaved"], "source": "..."}; "any" means
 * all. */
static void read_schedules(RhJson *doc, const RhJsonNode *root, RhStack *s)
{
    const RhJsonNode *node = rh_json_object_or_null(doc, root, "schedules");
    if (!node)
        return;
    rh_json_string(doc, node, "source");
    s->schedules = 0;
    const RhJsonNode *value = rh_json_member(node, "value");
    if (value && rh_json_kind(value) == RH_JSON_TEXT) {
        if (strcmp(rh_json_string(doc, node, "value"), "any") != 0)
            rh_json_problem(doc, value, "a list of them, as [\"1f1b\"], or \"any\"",
                            "no list of schedules");
        return;
    }
    const RhJsonNode *names = rh_json_array(doc, node, "value");
    if (names && rh_json_count(names) == 0)
        rh_json_problem(doc, names, "\"any\" stands for all there are",
                        "a stack without a pipeline's schedule");
    for (const RhJsonNode *n = names ? rh_json_first(names) : NULL; n; n = rh_json_next(n))
        s->schedules |= schedule_bit(doc, n);
}

/* Reads degrees of ZeRO, as "zero_unstaged": {"value": [2, 3], "source": "..."}. */
static void read_zero_unstaged(RhJson *doc, const RhJsonNode *root, RhStack *s)
{
    const RhJsonNode *node = rh_json_object_or_null(doc, root, "zero_unstaged");
    const RhJsonNode *degrees = node ? rh_json_array(doc, node, "value") : NULL;
    if (!node)
        return;
    rh_json_string(doc, node, "source");
    s->zero_unstaged = 0;
    for (const RhJsonNode *n = degrees ? rh_json_first(degrees) : NULL; n; n = rh_json_next(n))
        s->zero_unstaged |= 1u << rh_json_node_int(doc, n, 1, 3);
}

/* Reads the communication library, as "library": {"value": "mvapich", "source": "..."}. */
static void read_library(RhJson *doc, const RhJsonNode *root, RhStack *s)
{
    const RhJsonNode *node = rh_json_object_or_null(doc, root, "library");
    GError *why = NULL;
    if (!node)
        return;
    rh_json_string(doc, node, "source");
    s->library = rh_library_by_name(rh_json_string(doc, node, "value"), &why);
    if (!s->library || !rh_library_check_names(s->library, &why))
        rh_json_problem_of(doc, node, "value", why);
}

static void read_habits(RhJson *doc, const RhJsonNode *root, RhStack *s)
{
    for (size_t i = 0; i < G_N_ELEMENTS(flags); i++)
        read_flag(doc, root, flags[i].key, (bool *)(void *)((char *)s + flags[i].offset));
    read_schedules(doc, root, s);
    read_zero_unstaged(doc, root, s);
    read_recomputes(doc, root, s);
    read_library(doc, root, s);
    const RhJsonNode *gradients = rh_json_object_or_null(doc, root, "gradients");
    if (gradients) {
        s->gradient_bytes = (int32_t)rh_json_int(doc, gradients, "bytes", 2, 4);
        rh_json_string(doc, gradients, "source");
    }
}

/* Refuses a stack that both exchanges whole gradients after the last backward and frees reduced
 * gradients before; blames the flag that this file gives, else that of the file it derives from. */
static void refuse_contradiction(RhJson *doc, const RhJsonNode *root, const RhStack *s)
{
    const RhJsonNode *freed = rh_json_object_or_null(doc, root, "frees_gradients");
    const RhJsonNode *late = rh_json_object_or_null(doc, root, "late_exchange");
    if (s->late_exchange && s->frees_gradients)
        rh_json_problem(
            doc,
            freed  ? freed
            : late ? late
                   : root,
            freed ? "say \"late_exchange\": {\"value\": false, \"source\": ...} in this file"
                  : "say \"frees_gradients\": {\"value\": false, \"source\": ...} in this file",
            "gradients that are freed as they are reduced (frees_gradients) cannot wait "
            "whole for the last backward (late_exchange)");
}

/* Name of the catalogue's stack under a key; NULL: none. */
static const char *read_other(RhJson *doc, const RhJsonNode *root, const char *key)
{
    const char *other = rh_json_string_or(doc, root, key, NULL);
    if (!other || g_strv_contains(rh_stack_names(), other))
        return other;
    const char *near = rh_near_name(other, rh_stack_names());
    g_autofree char *help =
        near ? g_strdup_printf("\"%s\", or another of `rehearse show stacks`", near)
             : g_strdup("`rehearse show stacks` lists all");
    rh_json_problem(doc, rh_json_member(root, key), help, "there is no stack \"%s\"", other);
    return other;
}

/* Initial values of a stack that derives from none. */
static RhStack blank_stack(void)
{
    return (RhStack){.passes = rh_passes_assumed, .prefetch_layers = 1, .gradient_bytes = 4};
}

/* Reports the facts that a stack lacks if it derives from none. */
static void check_whole(RhJson *doc, const RhJsonNode *root)
{
    g_autoptr(GString) lacks = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(facts); i++)
        if (facts[i].required && !rh_json_has(root, facts[i].key))
            g_string_append_printf(lacks, "%s%s", lacks->len ? ", " : "", facts[i].key);
    if (lacks->len)
        rh_json_problem(doc, root,
                        "\"derives\": \"megatron\", or another of `rehearse show stacks`",
                        "a stack that derives from none needs %s", lacks->str);
}

static void read_base(RhJson *doc, const RhJsonNode *root, RhStack *s)
{
    const char *base = rh_json_string_or(doc, root, "derives", NULL);
    GError *why = NULL;
    *s = blank_stack();
    if (!base) {
        if (!rh_json_member(root, "derives"))
            check_whole(doc, root);
        return;
    }
    const RhStack *known =
        g_strv_contains(rh_stack_names(), base) ? rh_stack_by_name(base, &why) : NULL;
    if (known)
        *s = *known;
    else if (why)
        rh_json_problem_of(doc, root, "derives", why);
    else
        read_other(doc, root, "derives");
}

static void read_name(RhJson *doc, const RhJsonNode *root, const char *spec, RhStack *s)
{
    s->name = rh_json_word(doc, root, "name");
    s->spec = rh_intern(spec);
    const RhJsonNode *node = rh_json_member(root, "name");
    if (!rh_data_is_path(spec)) {
        if (strcmp(s->name, spec) != 0)
            rh_json_problem(doc, root, NULL, "\"%s\" stands in the file of %s", s->name, spec);
    } else if (g_strv_contains(rh_stack_names(), s->name)) {
        rh_json_problem(doc, node, "a name of your own: error bars are looked up by it",
                        "\"%s\" is a stack of the catalogue", s->name);
    }
}

/* Reads the framework: that of the stack it derives from, unless the file names another, or
 * null. */
static void read_framework(RhJson *doc, const RhJsonNode *root, RhStack *s)
{
    if (!rh_json_member(root, "framework"))
        return;
    GError *unruled = NULL;
    s->framework = rh_json_string_or(doc, root, "framework", NULL);
    if (s->framework && !rh_framework_rules(s->framework, &unruled))
        rh_json_problem_of(doc, root, "framework", unruled);
}

static void read_stack(RhJson *doc, const char *spec, RhStack *s)
{
    const RhJsonNode *root = rh_json_root(doc);
    read_base(doc, root, s);
    read_name(doc, root, spec, s);
    s->about = rh_json_word(doc, root, "about");
    read_framework(doc, root, s);
    s->judged_as = read_other(doc, root, "judged_as");
    s->holds_as = read_other(doc, root, "holds_as");
    read_facts(doc, root, s);
    read_habits(doc, root, s);
    refuse_contradiction(doc, root, s);
}

RhStack *rh_stack_parse(RhJson *doc, const char *spec, GError **error)
{
    g_autofree RhStack *stack = g_new0(RhStack, 1);
    read_stack(doc, spec, stack);
    return rh_json_finish(doc, error) ? g_steal_pointer(&stack) : NULL;
}

static void *load(const char *spec, GError **error)
{
    g_autofree char *path = rh_data_shelf_path(&shelf, spec);
    g_autoptr(RhJson) doc = rh_json_load_described(path, "stack", error);
    return doc ? rh_stack_parse(doc, spec, error) : NULL;
}

const RhStack *rh_stack_by_name(const char *spec, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(aliases); i++)
        if (strcmp(aliases[i].alias, spec) == 0)
            spec = aliases[i].name;
    return rh_data_shelf_get(&shelf, spec, error);
}

const char *const *rh_stack_names(void)
{
    return rh_data_shelf_names(&shelf);
}

/* --- facts of a loaded stack --- */

const RhStackFact *rh_stack_facts(size_t *count)
{
    *count = G_N_ELEMENTS(facts);
    return facts;
}

const RhFact *rh_stack_fact(const RhStack *stack, const RhStackFact *row)
{
    return (const RhFact *)(const void *)((const char *)stack + row->offset);
}

static bool fail_unknown(const char *key, GError **error)
{
    g_autoptr(GString) all = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(facts); i++)
        g_string_append_printf(all, "%s%s", i ? ", " : "", facts[i].key);
    return rh_fail(error, RH_ERROR_USAGE, "no \"%s\" in a stack\nnote: %s", key, all->str);
}

bool rh_stack_choose(RhStack *stack, const char *key, const char *value, GError **error)
{
    if (!rh_stack_set(stack, key, value, error))
        return false;
    drop_replaced(stack, strcmp(key, "bucket_params") == 0,
                  strcmp(key, "bucket_params_per_replica") == 0, false);
    return true;
}

bool rh_stack_set(RhStack *stack, const char *key, const char *value, GError **error)
{
    const RhStackFact *row = NULL;
    double parsed = 0;
    g_autoptr(GError) inner = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(facts); i++)
        row = strcmp(facts[i].key, key) == 0 ? &facts[i] : row;
    if (!row)
        return fail_unknown(key, error);
    if (!rh_quantity_parse(value, row->kind, &parsed, &inner))
        return rh_fail(error, RH_ERROR_USAGE, "stack.%s: %s", key, inner->message);
    if (!rh_range_holds(&row->range, parsed)) {
        g_autofree char *wanted = rh_range_text(&row->range, row->kind);
        return rh_fail(error, RH_ERROR_USAGE, "stack.%s=%s: %s", key, value, wanted);
    }
    *fact_at(stack, row) = (RhFact){.value = parsed,
                                    .tag = RH_TAG_ASSUMED,
                                    .source = rh_intern(RH_SOURCE_USER),
                                    .date = rh_intern("")};
    return true;
}

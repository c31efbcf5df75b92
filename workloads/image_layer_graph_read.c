/* Reads a layer's steps as our own form lists them ("steps": [...]; docs/guide/models.md). */
#include <string.h>

#include "base/interned_strings.h"
#include "workloads/config/field_rows.h"
#include "workloads/model_private.h"

#define KERNEL_MAX 1024

typedef struct {
    RhJson *doc;
    GHashTable *names; /* of tensors: interned name -> 1 + number */
    GArray *steps;     /* RhLayerStep */
    int32_t inputs;
    int32_t number; /* number of the current step */
} Reader;

/* --- tensors --- */

static int32_t latest_tensor(const Reader *r)
{
    return r->steps->len > 0 ? r->inputs + (int32_t)r->steps->len - 1 : 0;
}

static void name_tensor(Reader *r, const RhJsonNode *at, const char *name, int32_t tensor)
{
    if (!g_hash_table_insert(r->names, (void *)name, GINT_TO_POINTER(tensor + 1)))
        rh_json_problem(r->doc, at, "names of a layer's tensors differ",
                        "two tensors are called \"%s\"", name);
}

static int32_t find_tensor(Reader *r, const RhJsonNode *at, const char *name)
{
    int32_t found = GPOINTER_TO_INT(g_hash_table_lookup(r->names, name));
    if (found == 0)
        rh_json_problem(r->doc, at,
                        "a name that the layer's \"in\" lists (\"input\" unless it does), or an "
                        "earlier step's \"as\"",
                        "no tensor is called \"%s\" here", name);
    return MAX(found - 1, 0);
}

/* Reads a tensor's name, or a list of them; returns how many. */
static int32_t read_tensors(Reader *r, const RhJsonNode *at, const char *key, int32_t most,
                            int32_t *tensors)
{
    const RhJsonNode *node = rh_json_find(at, key, NULL, NULL);
    if (node == NULL || rh_json_kind(node) != RH_JSON_ARRAY) {
        const char *name = rh_json_string(r->doc, at, key);
        tensors[0] = node != NULL ? find_tensor(r, node, name) : 0;
        return 1;
    }
    int32_t count = 0;
    for (const RhJsonNode *n = rh_json_first(rh_json_array(r->doc, at, key)); n != NULL;
         n = rh_json_next(n)) {
        const char *name = rh_json_node_string(r->doc, n);
        if (count == most)
            rh_json_problem(r->doc, node, NULL, "\"%s\" names more than %d tensors", key, most);
        if (count++ < most)
            tensors[count - 1] = find_tensor(r, n, name);
    }
    if (count == 0)
        rh_json_problem(r->doc, node, NULL, "\"%s\" names no tensor", key);
    return CLAMP(count, 1, most);
}

/* --- figures --- */

/* Reads a number for both axes, or two: down and across. */
static void read_pair(Reader *r, const RhJsonNode *at, const char *key, int64_t low,
                      const int32_t otherwise[2], int32_t pair[2])
{
    const RhJsonNode *node = rh_json_find(at, key, NULL, NULL);
    if (node == NULL || rh_json_kind(node) != RH_JSON_ARRAY) {
        for (int i = 0; i < 2; i++)
            pair[i] = (int32_t)rh_json_int_or(r->doc, at, key, low, KERNEL_MAX, otherwise[i]);
        return;
    }
    const RhJsonNode *list = rh_json_array(r->doc, at, key);
    if (rh_json_count(list) != 2)
        rh_json_problem(r->doc, list, "[down, across]", "\"%s\" lists %d numbers", key,
                        rh_json_count(list));
    const RhJsonNode *n = rh_json_first(list);
    for (int i = 0; i < 2; i++, n = n != NULL ? rh_json_next(n) : NULL)
        pair[i] = n != NULL ? (int32_t)rh_json_node_int(r->doc, n, low, KERNEL_MAX) : (int32_t)low;
    for (; n != NULL; n = rh_json_next(n))
        rh_json_node_int(r->doc, n, low, KERNEL_MAX);
}

static int32_t read_size(Reader *r, const RhJsonNode *at, const char *key)
{
    return (int32_t)rh_json_int(r->doc, at, key, 1, WIDTH_MAX);
}

static bool read_flag(Reader *r, const RhJsonNode *at, const char *key, bool otherwise)
{
    return rh_json_bool_or(r->doc, at, key, otherwise);
}

static void read_conv(Reader *r, const RhJsonNode *at, RhLayerStep *step)
{
    static const int32_t ones[] = {1, 1};
    bool depthwise = read_flag(r, at, "depthwise", false);
    read_pair(r, at, "kernel", 1, ones, step->kernel);
    read_pair(r, at, "stride", 1, ones, step->stride);
    read_pair(r, at, "dilation", 1, ones, step->dilation);
    int32_t same[] = {step->dilation[0] * (step->kernel[0] - 1) / 2,
                      step->dilation[1] * (step->kernel[1] - 1) / 2};
    read_pair(r, at, "padding", 0, same, step->padding);
    step->bias = read_flag(r, at, "bias", false);
    if (depthwise)
        return;
    step->out = read_size(r, at, "out");
    step->groups = (int32_t)rh_json_int_or(r->doc, at, "groups", 1, WIDTH_MAX, 1);
}

static void read_transposed(Reader *r, const RhJsonNode *at, RhLayerStep *step)
{
    static const int32_t none[] = {0, 0}, two[] = {2, 2};
    read_pair(r, at, "kernel", 1, two, step->kernel);
    read_pair(r, at, "stride", 1, two, step->stride);
    read_pair(r, at, "padding", 0, none, step->padding);
    step->out = read_size(r, at, "out");
    step->bias = read_flag(r, at, "bias", true);
    step->groups = 1;
}

static void read_upsample(Reader *r, const RhJsonNode *at, RhLayerStep *step)
{
    static const int32_t two[] = {2, 2}, none[] = {0, 0};
    read_pair(r, at, "factor", 1, two, step->stride);
    if (rh_json_has(at, "to"))
        read_pair(r, at, "to", 1, none, step->to);
}

static void read_pool(Reader *r, const RhJsonNode *at, RhLayerStep *step)
{
    static const int32_t none[] = {0, 0}, two[] = {2, 2};
    read_pair(r, at, "kernel", 1, two, step->kernel);
    read_pair(r, at, "stride", 1, step->kernel, step->stride);
    read_pair(r, at, "padding", 0, none, step->padding);
    step->dilation[0] = step->dilation[1] = 1;
}

/* Reads over what a norm averages: the batch, the channels of each place (layer norm), or groups of
 * a picture's channels. */
static RhNormKind read_over(Reader *r, const RhJsonNode *at)
{
    static const char *const names[] = {[RH_NORM_OF_BATCH] = "batch",
                                        [RH_NORM_OF_PLACES] = "channels",
                                        [RH_NORM_OF_GROUPS] = "groups"};
    const char *over = rh_json_string_or(r->doc, at, "over", "batch");
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_equal(over, names[i]))
            return (RhNormKind)i;
    rh_json_problem(r->doc, rh_json_find(at, "over", NULL, NULL), "known: batch, channels, groups",
                    "over \"%s\"", over);
    return RH_NORM_OF_BATCH;
}

static void read_figures(Reader *r, const RhJsonNode *at, RhLayerStep *step)
{
    switch ((RhLayerStepKind)step->kind) {
    case RH_STEP_OF_CONV:
        read_conv(r, at, step);
        break;
    case RH_STEP_OF_MAX_POOL:
    case RH_STEP_OF_AVERAGE_POOL:
        read_pool(r, at, step);
        break;
    case RH_STEP_OF_SPLIT:
        step->parts = read_size(r, at, "of");
        step->part = (int32_t)rh_json_int(r->doc, at, "part", 1, MAX(step->parts, 1));
        break;
    case RH_STEP_OF_SHUFFLE:
        step->groups = read_size(r, at, "groups");
        break;
    case RH_STEP_OF_LINEAR:
        step->out = read_size(r, at, "out");
        step->bias = read_flag(r, at, "bias", true);
        break;
    case RH_STEP_OF_NORM:
        step->over = (int32_t)read_over(r, at);
        step->bias = read_flag(r, at, "affine", true);
        break;
    case RH_STEP_OF_WINDOWS:
        step->heads = read_size(r, at, "heads");
        step->window = (int32_t)rh_json_int(r->doc, at, "window", 1, KERNEL_MAX);
        step->shifted = read_flag(r, at, "shifted", false);
        break;
    case RH_STEP_OF_ATTENTION:
        step->heads = read_size(r, at, "heads");
        break;
    case RH_STEP_OF_CROSS:
        step->heads = read_size(r, at, "heads");
        step->tokens = read_size(r, at, "tokens");
        step->width = read_size(r, at, "width");
        break;
    case RH_STEP_OF_CONDITION:
        step->width = read_size(r, at, "width");
        step->parts = (int32_t)rh_json_int_or(r->doc, at, "vectors", 1, 3, 1);
        break;
    case RH_STEP_OF_TRANSPOSED:
        read_transposed(r, at, step);
        break;
    case RH_STEP_OF_UPSAMPLE:
        read_upsample(r, at, step);
        break;
    case RH_STEP_OF_SILU:
    case RH_STEP_OF_GATE:
    case RH_STEP_OF_GELU:
    case RH_STEP_OF_SCALE:
    case RH_STEP_OF_MERGE:
    case RH_STEP_OF_RELU:
    case RH_STEP_OF_GLOBAL_POOL:
    case RH_STEP_OF_ADD:
    case RH_STEP_OF_CONCAT:
    case RH_STEP_OF_NONE:
    case RH_STEP_OF_LAST:
    default:
        break;
    }
}

/* --- steps --- */

static RhLayerStepKind read_kind(Reader *r, const RhJsonNode *at)
{
    const char *name = rh_json_string(r->doc, at, "operator");
    RhLayerStepKind kind = rh_layer_step_by_name(name);
    if (kind != RH_STEP_OF_NONE || !rh_json_has(at, "operator"))
        return kind;
    g_autofree char *known = g_strjoinv(", ", (char **)rh_layer_step_names());
    g_autofree char *help = g_strdup_printf("known: %s", known);
    rh_json_problem(r->doc, at, help, "step \"%s\" is unknown", name);
    return kind;
}

/* Adds a step on the output of the latest one. */
static void add_following_step(Reader *r, RhLayerStepKind kind)
{
    RhLayerStep step = {.kind = (int32_t)kind,
                        .number = r->number,
                        .from = {latest_tensor(r)},
                        .from_count = 1,
                        .bias = kind == RH_STEP_OF_NORM};
    g_array_append_val(r->steps, step);
}

/* Adds the norm and the ReLU that a step may carry as members "norm" and "relu". */
static void read_following_steps(Reader *r, const RhJsonNode *at, RhLayerStepKind kind)
{
    bool conv = kind == RH_STEP_OF_CONV;
    bool norm = conv && read_flag(r, at, "norm", false);
    bool relu =
        (conv || kind == RH_STEP_OF_ADD || kind == RH_STEP_OF_LINEAR || kind == RH_STEP_OF_NORM) &&
        read_flag(r, at, "relu", false);
    if (norm)
        add_following_step(r, RH_STEP_OF_NORM);
    if (relu)
        add_following_step(r, RH_STEP_OF_RELU);
}

static void read_step(Reader *r, const RhJsonNode *at)
{
    RhLayerStep step = {.kind = (int32_t)read_kind(r, at), .number = r->number, .from_count = 1};
    bool joins = step.kind == RH_STEP_OF_ADD || step.kind == RH_STEP_OF_CONCAT;
    step.from[0] = latest_tensor(r);
    if (joins || rh_json_has(at, "from"))
        step.from_count = read_tensors(r, at, "from", RH_STEP_INPUTS_MAX, step.from);
    if (joins != (step.from_count > 1))
        rh_json_problem(r->doc, at, NULL,
                        joins ? "it joins two tensors at least"
                              : "it takes one "
                                "tensor");
    read_figures(r, at, &step);
    g_array_append_val(r->steps, step);
    read_following_steps(r, at, (RhLayerStepKind)step.kind);
    if (rh_json_has(at, "as"))
        name_tensor(r, at, rh_json_string(r->doc, at, "as"), latest_tensor(r));
}

static void read_inputs(Reader *r, const RhJsonNode *at)
{
    const RhJsonNode *list = rh_json_has(at, "in") ? rh_json_array(r->doc, at, "in") : NULL;
    const RhJsonNode *n = rh_json_first(list);
    for (r->inputs = 0; n != NULL && r->inputs < RH_LAYER_INPUTS_MAX; n = rh_json_next(n))
        name_tensor(r, n, rh_json_node_string(r->doc, n), r->inputs++);
    if (n != NULL)
        rh_json_problem(r->doc, list, NULL, "a layer takes %d tensors at most",
                        RH_LAYER_INPUTS_MAX);
    if (r->inputs == 0)
        name_tensor(r, at, rh_intern("input"), r->inputs++);
}

RhStepList *rh_step_list_read(RhJson *doc, const RhJsonNode *layer)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(RhLayerStep));
    Reader r = {.doc = doc, .names = names, .steps = steps};
    read_inputs(&r, layer);
    const RhJsonNode *list = rh_json_array(doc, layer, "steps");
    for (const RhJsonNode *n = rh_json_first(list); n != NULL && r.number < RH_LAYER_STEPS_MAX;
         n = rh_json_next(n)) {
        r.number++;
        if (rh_json_kind(n) == RH_JSON_OBJECT)
            read_step(&r, n);
        else
            rh_json_problem(doc, n, "{\"operator\": \"conv\", ...}", "a step is an object");
    }
    if (list != NULL && (steps->len == 0 || rh_json_count(list) > RH_LAYER_STEPS_MAX))
        rh_json_problem(doc, list, NULL, "a layer has 1 to %d steps", RH_LAYER_STEPS_MAX);
    RhStepList *made = rh_step_list_new(r.inputs, (int32_t)steps->len, false);
    if (steps->len > 0)
        memcpy(made->steps, steps->data, sizeof(RhLayerStep) * steps->len);
    made->outputs_count = 1;
    made->outputs[0] = latest_tensor(&r);
    if (rh_json_has(layer, "out"))
        made->outputs_count = read_tensors(&r, layer, "out", RH_LAYER_INPUTS_MAX, made->outputs);
    return made;
}

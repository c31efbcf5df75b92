/* Published nets on pictures whose stages halve height and width: their config.json says sizes alone, and layers follow, each a list of
 * steps (steps.h). Swin (Liu et al. 2021, arXiv 2103.14030, section 3), ConvNeXt (arXiv 2201.03545, section 2), ResNet (arXiv 1512.03385,
 * table 1); keys and defaults as in transformers' configuration_TYPE.py. */
#include <math.h>
#include <string.h>

#include "workloads/fields.h"
#include "workloads/model_private.h"
#include "workloads/operators/operator.h"

#define STAGES_MAX 8

/* What all of these say, and what may be changed later: every size follows. Classes are names, two where there are none. */
static const RhField PICTURE[] = {
    SIZE("image_size", picture_height, WIDTH_MAX, 224),
    SIZE("num_channels", channels, WIDTH_MAX, 3),
    MEMBERS("id2label", vocab, VOCAB_MAX),
    CONSTANT(hidden, 1),
    CONSTANT(positions, 1),
    CONSTANT(window_used, 1),
    END,
};

/* What lists of steps are made of. */
static const RhField SWIN[] = {
    SIZE("patch_size", patch_side, TOKENS_MAX, 4),
    SIZE("embed_dim", embedding_size, WIDTH_MAX, 96),
    SIZE("window_size", window_side, 512, 7),
    RATIO("mlp_ratio", ffn_ratio, 4000),
    FLAG("qkv_bias", qkv_bias, 1),
    END,
};

static const RhField CONVNEXT[] = {
    SIZE("patch_size", patch_side, TOKENS_MAX, 4),
    RATE("layer_scale_init_value", layer_scales, 1),
    END,
};

/* Its second (arXiv 2301.00808): what a network widens is normed by each channel's size over the picture, and nothing is scaled. */
static const RhField CONVNEXTV2[] = {
    SIZE("patch_size", patch_side, TOKENS_MAX, 4),
    CONSTANT(response_norms, 1),
    END,
};

static const RhField RESNET[] = {
    SIZE("embedding_size", embedding_size, WIDTH_MAX, 64),
    BEGINS("layer_type", bottlenecks, "bottleneck", 1),
    FLAG("downsample_in_first_stage", first_halves, 0),
    FLAG("downsample_in_bottleneck", bottleneck_halves, 0),
    END,
};

static void settle(RhConfig *c)
{
    c->picture_width = c->picture_height;
    c->vocab = MAX(c->vocab, 2);
}

#define HIERARCHY(name)                                                                            \
    {                                                                                              \
        name, RH_NORM_NONE, RH_POSITION_NONE, &rh_steps, &rh_ffn, PICTURE, NULL, NULL, settle      \
    }

const RhFamily rh_families_hierarchies[] = {
    HIERARCHY("convnext"), HIERARCHY("convnextv2"), HIERARCHY("resnet"), HIERARCHY("swin"), {0},
};

bool rh_family_is_hierarchy(const RhFamily *family)
{
    for (const RhFamily *f = rh_families_hierarchies; f->name != NULL; f++)
        if (f == family)
            return true;
    return false;
}

/* --- Stages --- */

typedef struct {
    int32_t count, figures[STAGES_MAX];
} Stages;

static Stages read_stages(RhJson *doc, const RhJsonNode *root, const char *key, int64_t most)
{
    Stages s = {.count = 1};
    for (int i = 0; i < STAGES_MAX; i++) /* something to go on with, where others are missing */
        s.figures[i] = 1;
    const RhJsonNode *list = rh_json_array(doc, root, key);
    int32_t i = 0;
    for (const RhJsonNode *n = rh_json_first(list); n != NULL; n = rh_json_next(n), i++) {
        int64_t figure = rh_json_node_int(doc, n, 1, most);
        if (i < STAGES_MAX)
            s.figures[i] = (int32_t)figure;
    }
    s.count = CLAMP(i, 1, STAGES_MAX);
    if (list != NULL && s.count != i)
        rh_json_problem(doc, list, NULL, "\"%s\": 1 to %d stages", key, STAGES_MAX);
    return s;
}

static void check_same(RhJson *doc, const RhJsonNode *root, const char *key, const Stages *a,
                       const Stages *b)
{
    if (a->count != b->count)
        rh_json_problem(doc, rh_json_member(root, key), "one for each stage",
                        "\"%s\" has %d figures, where there are %d stages", key, b->count,
                        a->count);
}

/* --- Layers as lists of steps --- */

typedef struct {
    const RhConfig *c;
    GArray *plans; /* RhLayerPlan */
    GPtrArray *lists;
    GArray *steps; /* of the layer at hand; tensor 0 is its input, tensor i + 1 what step i makes */
} Net;

static int32_t latest(const Net *net)
{
    return (int32_t)net->steps->len;
}

static int32_t add(Net *net, RhLayerStep step)
{
    step.number = latest(net) + 1;
    if (step.from_count == 0) {
        step.from[0] = latest(net);
        step.from_count = 1;
    }
    g_array_append_val(net->steps, step);
    return latest(net);
}

static int32_t add_kind(Net *net, RhLayerStepKind kind)
{
    return add(net, (RhLayerStep){.kind = (int32_t)kind});
}

/* The norm over channels of a place, and the one over a batch. */
static void norm(Net *net, bool by_place)
{
    add(net, (RhLayerStep){.kind = RH_STEP_OF_NORM, .by_place = by_place});
}

static RhLayerStep conv(int32_t out, int32_t kernel, int32_t stride, int32_t padding, bool bias)
{
    return (RhLayerStep){.kind = RH_STEP_OF_CONV,
                         .out = out,
                         .kernel = {kernel, kernel},
                         .stride = {stride, stride},
                         .padding = {padding, padding},
                         .groups = 1,
                         .bias = bias};
}

/* A matrix at every place. */
static void matrix(Net *net, int32_t out, bool bias)
{
    add(net, conv(out, 1, 1, 0, bias));
}

static void sum(Net *net, int32_t a, int32_t b)
{
    add(net, (RhLayerStep){.kind = RH_STEP_OF_ADD, .from = {a, b}, .from_count = 2});
}

static void end_layer(Net *net)
{
    RhStepList *list = rh_step_list_new(1, (int32_t)net->steps->len, false);
    memcpy(list->steps, net->steps->data, sizeof(RhLayerStep) * net->steps->len);
    list->outputs_count = 1;
    list->outputs[0] = latest(net);
    g_ptr_array_add(net->lists, list);
    RhLayerPlan plan = {.steps = list};
    g_array_append_val(net->plans, plan);
    g_array_set_size(net->steps, 0);
}

static void pool_all(Net *net)
{
    norm(net, true);
    add_kind(net, RH_STEP_OF_GLOBAL_POOL);
    end_layer(net);
}

/* --- Swin --- */

/* Attention in windows, every second time half of one off, and a network; no window is off where one is all there is. */
static void swin_block(Net *net, int32_t channels, int32_t heads, bool shifted)
{
    const RhConfig *c = net->c;
    norm(net, true);
    matrix(net, 3 * channels, c->qkv_bias != 0);
    add(net, (RhLayerStep){.kind = RH_STEP_OF_WINDOWS,
                           .heads = heads,
                           .window = (int32_t)c->window_side,
                           .shifted = shifted});
    matrix(net, channels, true);
    sum(net, latest(net), 0);
    int32_t between = latest(net);
    norm(net, true);
    matrix(net, (int32_t)(c->ffn_ratio * channels / 1000), true);
    add_kind(net, RH_STEP_OF_GELU);
    matrix(net, channels, true);
    sum(net, latest(net), between);
    end_layer(net);
}

static void swin(Net *net, const Stages *depths, const Stages *heads)
{
    const RhConfig *c = net->c;
    int32_t side = (int32_t)(c->picture_height / c->patch_side);
    int32_t channels = (int32_t)c->embedding_size, patch = (int32_t)c->patch_side;
    add(net, conv(channels, patch, patch, 0, true));
    norm(net, true);
    end_layer(net);
    for (int32_t s = 0; s < depths->count; s++, channels *= 2, side = (side + 1) / 2) {
        for (int32_t i = 0; i < depths->figures[s]; i++)
            swin_block(net, channels, heads->figures[s], i % 2 == 1 && side > c->window_side);
        if (s + 1 == depths->count)
            break;
        add_kind(net, RH_STEP_OF_MERGE);
        norm(net, true);
        matrix(net, 2 * channels, false);
        end_layer(net);
    }
    pool_all(net);
}

/* --- ConvNeXt --- */

/* Seven by seven places of each channel, then a network; what comes of it is scaled. */
static void convnext_block(Net *net, int32_t channels)
{
    RhLayerStep depthwise = conv(channels, 7, 1, 3, true);
    depthwise.groups = 0;
    add(net, depthwise);
    norm(net, true);
    matrix(net, 4 * channels, true);
    add_kind(net, RH_STEP_OF_GELU);
    if (net->c->response_norms) /* reads twice, as a norm over the batch does */
        norm(net, false);
    matrix(net, channels, true);
    if (net->c->layer_scales)
        add_kind(net, RH_STEP_OF_SCALE);
    sum(net, latest(net), 0);
    end_layer(net);
}

static void convnext(Net *net, const Stages *depths, const Stages *widths)
{
    int32_t patch = (int32_t)net->c->patch_side;
    for (int32_t s = 0; s < depths->count; s++) {
        if (s > 0)
            norm(net, true);
        add(net, conv(widths->figures[s], s > 0 ? 2 : patch, s > 0 ? 2 : patch, 0, true));
        if (s == 0)
            norm(net, true);
        end_layer(net);
        for (int32_t i = 0; i < depths->figures[s]; i++)
            convnext_block(net, widths->figures[s]);
    }
    pool_all(net);
}

/* --- ResNet --- */

static void normed_conv(Net *net, int32_t out, int32_t kernel, int32_t stride, bool relu)
{
    add(net, conv(out, kernel, stride, kernel / 2, false));
    norm(net, false);
    if (relu)
        add_kind(net, RH_STEP_OF_RELU);
}

/* Two or three convolutions, and a matrix beside them where sizes change. */
static void resnet_block(Net *net, int32_t in, int32_t out, int32_t stride)
{
    const RhConfig *c = net->c;
    bool early = c->bottleneck_halves != 0;
    if (c->bottlenecks) {
        normed_conv(net, out / 4, 1, early ? stride : 1, true);
        normed_conv(net, out / 4, 3, early ? 1 : stride, true);
        normed_conv(net, out, 1, 1, false);
    } else {
        normed_conv(net, out, 3, stride, true);
        normed_conv(net, out, 3, 1, false);
    }
    int32_t body = latest(net), beside = 0;
    if (in != out || stride > 1) {
        RhLayerStep step = conv(out, 1, stride, 0, false);
        step.from_count = 1; /* of the layer's input */
        add(net, step);
        norm(net, false);
        beside = latest(net);
    }
    sum(net, body, beside);
    add_kind(net, RH_STEP_OF_RELU);
    end_layer(net);
}

static void resnet(Net *net, const Stages *depths, const Stages *widths)
{
    int32_t in = (int32_t)net->c->embedding_size;
    normed_conv(net, in, 7, 2, true);
    add(net,
        (RhLayerStep){
            .kind = RH_STEP_OF_MAX_POOL, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
    end_layer(net);
    for (int32_t s = 0; s < depths->count; s++)
        for (int32_t i = 0; i < depths->figures[s]; i++) {
            bool halves = i == 0 && (s > 0 || net->c->first_halves);
            resnet_block(net, in, widths->figures[s], halves ? 2 : 1);
            in = widths->figures[s];
        }
    add_kind(net, RH_STEP_OF_GLOBAL_POOL);
    end_layer(net);
}

/* --- The model --- */

static const struct {
    const char *family, *figures; /* the key of what each stage has besides its depth */
    const RhField *fields;
    void (*build)(Net *net, const Stages *depths, const Stages *figures);
} NETS[] = {
    {"convnext", "hidden_sizes", CONVNEXT, convnext},
    {"convnextv2", "hidden_sizes", CONVNEXTV2, convnext},
    {"resnet", "hidden_sizes", RESNET, resnet},
    {"swin", "num_heads", SWIN, swin},
};

/* Keys that are nearly one of these, or say of more parameters. */
static void check_keys(RhJson *doc, const RhJsonNode *root, const RhFamily *family,
                       const RhField *fields)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(RhField));
    for (const RhField *f = fields; f->type != RH_FIELD_NONE; f++)
        g_array_append_val(all, *f);
    for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
        g_array_append_val(all, *f);
    const RhField end = END;
    g_array_append_val(all, end);
    RhFamily whole = *family;
    whole.fields = (const RhField *)(const void *)all->data;
    rh_check_other_keys(doc, root, &whole);
}

/* Layers of a net that cannot be are told at the file's beginning. */
static void give_layers(RhJson *doc, const RhJsonNode *root, const Net *net, RhModel *m)
{
    guint count = net->plans->len;
    RhLayersProblem problem = {-1, NULL};
    m->read_steps = g_ptr_array_ref(net->lists);
    RhLayerPlan *taken = g_memdup2(net->plans->data, count * sizeof *taken);
    if (!rh_model_set_layers(m, m->config, taken, (int32_t)count, &problem))
        rh_json_problem(doc, root, NULL, "layer %d, %s", problem.layer + 1, problem.text);
    g_free(problem.text);
}

RhModel *rh_hierarchy_read(RhJson *doc, const RhFamily *family, const char *name)
{
    const RhJsonNode *root = rh_json_root(doc);
    RhConfig c = {0};
    rh_fields_read(doc, root, family->fields, &c);
    size_t at = 0;
    while (!g_str_equal(NETS[at].family, family->name))
        at++;
    const char *key = NETS[at].figures;
    rh_fields_read(doc, root, NETS[at].fields, &c);
    check_keys(doc, root, family, NETS[at].fields);
    Stages depths = read_stages(doc, root, "depths", LAYERS_MAX / STAGES_MAX);
    Stages figures = read_stages(doc, root, key, WIDTH_MAX);
    if (rh_json_problems_count(doc) == 0)
        check_same(doc, root, key, &depths, &figures);
    settle(&c);
    g_autoptr(GArray) plans = g_array_new(FALSE, FALSE, sizeof(RhLayerPlan)),
                      steps = g_array_new(FALSE, FALSE, sizeof(RhLayerStep));
    g_autoptr(GPtrArray) lists = g_ptr_array_new_with_free_func((GDestroyNotify)rh_step_list_free);
    Net net = {&c, plans, lists, steps};
    NETS[at].build(&net, &depths, &figures);
    c.layers = plans->len;
    RhModel *m = rh_model_new(name, family, &c);
    give_layers(doc, root, &net, m);
    m->hash = g_strdup(rh_json_hash(doc));
    return m;
}

#include "workloads/image_layer_graph.h"

#include <string.h>

static const char *const NAMES[RH_STEP_OF_LAST + 1] = {
    [RH_STEP_OF_NONE] = "none",
    [RH_STEP_OF_CONV] = "conv",
    [RH_STEP_OF_NORM] = "norm",
    [RH_STEP_OF_RELU] = "relu",
    [RH_STEP_OF_MAX_POOL] = "max pool",
    [RH_STEP_OF_AVERAGE_POOL] = "average pool",
    [RH_STEP_OF_GLOBAL_POOL] = "global pool",
    [RH_STEP_OF_ADD] = "add",
    [RH_STEP_OF_CONCAT] = "concat",
    [RH_STEP_OF_SPLIT] = "split",
    [RH_STEP_OF_SHUFFLE] = "shuffle",
    [RH_STEP_OF_LINEAR] = "linear",
    [RH_STEP_OF_GELU] = "gelu",
    [RH_STEP_OF_SCALE] = "scale",
    [RH_STEP_OF_MERGE] = "merge",
    [RH_STEP_OF_WINDOWS] = "window attention",
    [RH_STEP_OF_TRANSPOSED] = "transposed conv",
    [RH_STEP_OF_UPSAMPLE] = "upsample",
    [RH_STEP_OF_SILU] = "silu",
    [RH_STEP_OF_GATE] = "gate",
    [RH_STEP_OF_ATTENTION] = "attention",
    [RH_STEP_OF_CROSS] = "cross attention",
    [RH_STEP_OF_CONDITION] = "condition",
};

const char *rh_layer_step_name(RhLayerStepKind kind)
{
    g_return_val_if_fail(kind < RH_STEP_OF_LAST, "none");
    return NAMES[kind];
}

RhLayerStepKind rh_layer_step_by_name(const char *name)
{
    for (int kind = RH_STEP_OF_NONE + 1; kind < RH_STEP_OF_LAST; kind++)
        if (g_str_equal(NAMES[kind], name))
            return (RhLayerStepKind)kind;
    return RH_STEP_OF_NONE;
}

const char *const *rh_layer_step_names(void)
{
    return &NAMES[RH_STEP_OF_NONE + 1];
}

/* --- lists --- */

RhStepList *rh_step_list_new(int32_t inputs, int32_t steps, bool shaped)
{
    RhStepList *list = g_new0(RhStepList, 1);
    list->inputs_count = inputs;
    list->steps_count = steps;
    list->steps = g_new0(RhLayerStep, MAX(steps, 1)); /* never NULL */
    list->tensors = shaped ? g_new0(RhStepTensor, inputs + steps) : NULL;
    return list;
}

void rh_step_list_free(RhStepList *list)
{
    if (list == NULL)
        return;
    g_free(list->steps);
    g_free(list->tensors);
    g_free(list);
}

static int32_t tensors_count(const RhStepList *list)
{
    return list->inputs_count + list->steps_count;
}

static bool same_bytes(const void *a, const void *b, size_t each, int32_t count)
{
    return memcmp(a, b, each * (size_t)count) == 0;
}

bool rh_step_list_equal(const RhStepList *a, const RhStepList *b)
{
    bool shaped = a->tensors != NULL;
    if (a->inputs_count != b->inputs_count || a->steps_count != b->steps_count ||
        a->outputs_count != b->outputs_count || shaped != (b->tensors != NULL))
        return false;
    bool tensors =
        !shaped || same_bytes(a->tensors, b->tensors, sizeof *a->tensors, tensors_count(a));
    /* Compares what steps do; their place in the file does not count. */
    for (int32_t i = 0; i < a->steps_count; i++) {
        RhLayerStep x = a->steps[i], y = b->steps[i];
        x.number = y.number = 0;
        if (memcmp(&x, &y, sizeof x) != 0)
            return false;
    }
    return tensors && same_bytes(a->outputs, b->outputs, sizeof *a->outputs, a->outputs_count);
}

/* --- sizes --- */

typedef struct {
    const RhStepList *list;
    const RhLayerStep *step;
    const RhTensor *in[RH_STEP_INPUTS_MAX];
    char **problem;
} At;

static bool fail(const At *at, char *what)
{
    *at->problem = g_strdup_printf("step %d (%s): %s", at->step->number,
                                   rh_layer_step_name((RhLayerStepKind)at->step->kind), what);
    g_free(what);
    return false;
}

/* Number of windows of `kernel` that fit, `stride` apart. */
static int32_t windows_count(int32_t size, int axis, const RhLayerStep *step)
{
    int32_t extent = (step->kernel[axis] - 1) * step->dilation[axis] + 1;
    int32_t room = size + 2 * step->padding[axis] - extent;
    return room < 0 ? 0 : room / step->stride[axis] + 1;
}

static bool size_after_window(const At *at, RhTensor *out)
{
    const RhTensor *in = at->in[0];
    out->height = windows_count(in->height, 0, at->step);
    out->width = windows_count(in->width, 1, at->step);
    if (out->height > 0 && out->width > 0)
        return true;
    return fail(at,
                g_strdup_printf("a kernel of %d x %d does not fit into %d x %d",
                                at->step->kernel[0], at->step->kernel[1], in->height, in->width));
}

/* Size after a transposed convolution: that of the picture from which a convolution makes the input. */
static bool size_transposed(const At *at, RhTensor *out)
{
    const RhLayerStep *step = at->step;
    int32_t *size[] = {&out->height, &out->width};
    for (int axis = 0; axis < 2; axis++)
        *size[axis] =
            (*size[axis] - 1) * step->stride[axis] + step->kernel[axis] - 2 * step->padding[axis];
    out->channels = step->out;
    return (out->height > 0 && out->width > 0) ||
           fail(at, g_strdup("its padding leaves nothing of the picture"));
}

static bool size_upsample(const At *at, RhTensor *out)
{
    const RhLayerStep *step = at->step;
    int32_t *size[] = {&out->height, &out->width};
    for (int axis = 0; axis < 2; axis++) {
        int32_t to = step->to[axis] > 0 ? step->to[axis] : *size[axis] * step->stride[axis];
        if (to < *size[axis])
            return fail(at, g_strdup_printf("%d places are more than %d", *size[axis], to));
        *size[axis] = to;
    }
    return true;
}

static bool size_conv(const At *at, RhTensor *out)
{
    int32_t channels = at->in[0]->channels, groups = at->step->groups;
    if (channels % groups != 0 || at->step->out % groups != 0)
        return fail(at, g_strdup_printf("%d groups do not divide %d channels in and %d out", groups,
                                        channels, at->step->out));
    out->channels = at->step->out;
    return size_after_window(at, out);
}

static bool size_add(const At *at, RhTensor *out)
{
    for (int32_t i = 1; i < at->step->from_count; i++)
        if (memcmp(at->in[i], out, sizeof *out) != 0)
            return fail(at,
                        g_strdup_printf("%d x %d x %d and %d x %d x %d are of different sizes",
                                        out->height, out->width, out->channels, at->in[i]->height,
                                        at->in[i]->width, at->in[i]->channels));
    return true;
}

static bool size_concat(const At *at, RhTensor *out)
{
    for (int32_t i = 1; i < at->step->from_count; i++) {
        if (at->in[i]->height != out->height || at->in[i]->width != out->width)
            return fail(at,
                        g_strdup_printf("%d x %d and %d x %d are of different sizes", out->height,
                                        out->width, at->in[i]->height, at->in[i]->width));
        out->channels += at->in[i]->channels;
    }
    return true;
}

static bool size_parts(const At *at, int32_t parts, RhTensor *out, bool one)
{
    if (out->channels % parts != 0)
        return fail(at, g_strdup_printf("%d channels in %d parts", out->channels, parts));
    out->channels /= one ? parts : 1;
    return true;
}

static bool size_cross(const At *at)
{
    int32_t channels = at->in[0]->channels, heads = at->step->heads;
    return channels % heads == 0 ||
           fail(at, g_strdup_printf("%d channels are no queries of %d heads", channels, heads));
}

/* Size of attention between places: a third of the channels are queries, keys and values each,
 * divided into heads. */
static bool size_windows(const At *at, RhTensor *out)
{
    int32_t channels = at->in[0]->channels, heads = at->step->heads;
    if (channels % (3 * heads) != 0)
        return fail(at, g_strdup_printf("%d channels are no queries, keys and values of %d heads",
                                        channels, heads));
    out->channels = channels / 3;
    return true;
}

static bool size_of(const At *at, RhTensor *out)
{
    *out = *at->in[0];
    switch ((RhLayerStepKind)at->step->kind) {
    case RH_STEP_OF_CONV:
        return size_conv(at, out);
    case RH_STEP_OF_MAX_POOL:
    case RH_STEP_OF_AVERAGE_POOL:
        return size_after_window(at, out);
    case RH_STEP_OF_GLOBAL_POOL:
        out->height = out->width = 1;
        return true;
    case RH_STEP_OF_ADD:
        return size_add(at, out);
    case RH_STEP_OF_CONCAT:
        return size_concat(at, out);
    case RH_STEP_OF_SPLIT:
        return size_parts(at, at->step->parts, out, true);
    case RH_STEP_OF_SHUFFLE:
        return size_parts(at, at->step->groups, out, false);
    case RH_STEP_OF_LINEAR:
        *out = (RhTensor){1, 1, at->step->out};
        return true;
    case RH_STEP_OF_MERGE: /* squares of two by two, the last one padded */
        *out = (RhTensor){(out->height + 1) / 2, (out->width + 1) / 2, 4 * out->channels};
        return true;
    case RH_STEP_OF_WINDOWS:
    case RH_STEP_OF_ATTENTION:
        return size_windows(at, out);
    case RH_STEP_OF_CROSS:
        return size_cross(at);
    case RH_STEP_OF_TRANSPOSED:
        return size_transposed(at, out);
    case RH_STEP_OF_UPSAMPLE:
        return size_upsample(at, out);
    case RH_STEP_OF_GATE:
        return size_parts(at, 2, out, true);
    case RH_STEP_OF_CONDITION:
    case RH_STEP_OF_SILU:
    case RH_STEP_OF_GELU:
    case RH_STEP_OF_SCALE:
    case RH_STEP_OF_NORM:
    case RH_STEP_OF_RELU:
    case RH_STEP_OF_NONE:
    case RH_STEP_OF_LAST:
    default:
        return true;
    }
}

/* --- uses of tensors --- */

static bool has_parameters(const RhLayerStep *step)
{
    return step->kind == RH_STEP_OF_CONV || step->kind == RH_STEP_OF_NORM ||
           step->kind == RH_STEP_OF_LINEAR || step->kind == RH_STEP_OF_SCALE ||
           step->kind == RH_STEP_OF_WINDOWS || step->kind == RH_STEP_OF_TRANSPOSED ||
           step->kind == RH_STEP_OF_CROSS;
}

static bool is_output(const RhStepList *list, int32_t tensor)
{
    for (int32_t i = 0; i < list->outputs_count; i++)
        if (list->outputs[i] == tensor)
            return true;
    return false;
}

/* Is the tensor made by a step, and read by exactly one? */
static bool is_private(const RhStepList *list, int32_t tensor, const int32_t *readers)
{
    return tensor >= list->inputs_count && readers[tensor] == 1 && !is_output(list, tensor);
}

static const RhLayerStep *maker_of(const RhStepList *list, int32_t tensor)
{
    return tensor < list->inputs_count ? NULL : &list->steps[tensor - list->inputs_count];
}

/* Is the tensor a private one that a norm, or a sum, has just made? */
static bool follows(const RhStepList *list, int32_t tensor, const int32_t *readers, bool sums)
{
    const RhLayerStep *maker = maker_of(list, tensor);
    return maker != NULL && is_private(list, tensor, readers) &&
           (maker->kind == RH_STEP_OF_NORM || (sums && maker->kind == RH_STEP_OF_ADD));
}

static void mark_steps(RhStepList *list)
{
    g_autofree int32_t *readers = g_new0(int32_t, tensors_count(list));
    for (int32_t i = 0; i < list->steps_count; i++)
        for (int32_t k = 0; k < list->steps[i].from_count; k++)
            readers[list->steps[i].from[k]]++;
    for (int32_t i = 0; i < list->steps_count; i++) {
        RhLayerStep *step = &list->steps[i];
        if (step->kind == RH_STEP_OF_RELU) {
            step->in_place = is_private(list, step->from[0], readers);
            step->rides = follows(list, step->from[0], readers, true);
        }
        for (int32_t k = 0; step->kind == RH_STEP_OF_ADD && k < step->from_count; k++)
            step->rides |= follows(list, step->from[k], readers, false);
    }
}

/* Tensor that a step's backward pass reads: its input, or for a ReLU its output. */
static int32_t wanted_by(const RhStepList *list, int32_t i)
{
    const RhLayerStep *step = &list->steps[i];
    bool in = has_parameters(step) || step->kind == RH_STEP_OF_GELU ||
              step->kind == RH_STEP_OF_SILU || step->kind == RH_STEP_OF_GATE ||
              step->kind == RH_STEP_OF_ATTENTION || step->kind == RH_STEP_OF_MAX_POOL ||
              step->kind == RH_STEP_OF_AVERAGE_POOL;
    return in ? step->from[0] : step->kind == RH_STEP_OF_RELU ? list->inputs_count + i : -1;
}

static void note_uses(RhStepList *list)
{
    RhStepTensor *t = list->tensors;
    for (int32_t i = 0; i < list->steps_count; i++) {
        const RhLayerStep *step = &list->steps[i];
        RhStepTensor *made = &t[list->inputs_count + i];
        bool view = step->kind == RH_STEP_OF_SPLIT || step->in_place;
        made->first_use = made->last_use = i;
        made->root = view ? t[step->from[0]].root : list->inputs_count + i;
        made->has_gradient = has_parameters(step) || step->kind == RH_STEP_OF_CONDITION;
        for (int32_t k = 0; k < step->from_count; k++) {
            made->has_gradient |= t[step->from[k]].has_gradient;
            t[step->from[k]].uses++;
            t[t[step->from[k]].root].last_use = i;
        }
        t[made->root].last_use = i;
        int32_t wanted = wanted_by(list, i);
        if (wanted >= 0)
            t[t[wanted].root].wanted = 1;
    }
    for (int32_t i = 0; i < list->outputs_count; i++) {
        t[list->outputs[i]].uses++;
        t[t[list->outputs[i]].root].last_use = list->steps_count;
    }
}

/* --- tensors between layers --- */

/* Marks the tensors that the layer keeps for backward. An output is counted by the next layer; an
 * input is counted here unless an earlier layer keeps it. */
static void note_kept(RhStepList *list, const RhLayerOutput *before, RhLayerOutput *after)
{
    RhStepTensor *t = list->tensors;
    for (int32_t i = 0; i < tensors_count(list); i++)
        t[i].kept = t[i].root == i && t[i].wanted;
    for (int32_t i = 0; i < list->outputs_count; i++)
        if (t[list->outputs[i]].root >= list->inputs_count)
            t[t[list->outputs[i]].root].kept = 0;
    for (int32_t i = 0; i < list->inputs_count; i++)
        if (before->tensors[i].kept)
            t[i].kept = RH_KEPT_BEFORE;
    *after = (RhLayerOutput){.count = list->outputs_count};
    for (int32_t i = 0; i < list->outputs_count; i++) {
        const RhStepTensor *made = &t[list->outputs[i]], *root = &t[made->root];
        after->tensors[i] = (RhStepTensor){.size = made->size,
                                           .has_gradient = made->has_gradient,
                                           .kept = root->kept != 0,
                                           .wanted = root->wanted};
    }
}

static bool size_steps(RhStepList *list, char **problem)
{
    for (int32_t i = 0; i < list->steps_count; i++) {
        RhLayerStep *step = &list->steps[i];
        At at = {.list = list, .step = step, .problem = problem};
        for (int32_t k = 0; k < step->from_count; k++)
            at.in[k] = &list->tensors[step->from[k]].size;
        if (step->kind == RH_STEP_OF_CONV && step->groups == 0) {
            step->groups = at.in[0]->channels;
            step->out = step->out > 0 ? step->out : step->groups;
        }
        if (!size_of(&at, &list->tensors[list->inputs_count + i].size))
            return false;
    }
    return true;
}

RhStepList *rh_step_list_shape(const RhStepList *list, const RhLayerOutput *before,
                               RhLayerOutput *after, char **problem)
{
    g_return_val_if_fail(list != NULL && before != NULL && after != NULL, NULL);
    if (list->inputs_count != before->count) {
        *problem = g_strdup_printf("takes %d tensors, the layer before hands on %d",
                                   list->inputs_count, before->count);
        return NULL;
    }
    g_autoptr(RhStepList) shaped = rh_step_list_new(list->inputs_count, list->steps_count, true);
    memcpy(shaped->steps, list->steps, sizeof *list->steps * (size_t)list->steps_count);
    memcpy(shaped->outputs, list->outputs, sizeof list->outputs);
    shaped->outputs_count = list->outputs_count;
    for (int32_t i = 0; i < list->inputs_count; i++) {
        shaped->tensors[i] = before->tensors[i];
        shaped->tensors[i].root = i;
        shaped->tensors[i].first_use = shaped->tensors[i].last_use = -1;
        shaped->tensors[i].kept = 0;
    }
    if (!size_steps(shaped, problem))
        return NULL;
    mark_steps(shaped);
    note_uses(shaped);
    note_kept(shaped, before, after);
    return g_steal_pointer(&shaped);
}

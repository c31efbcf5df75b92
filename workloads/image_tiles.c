/* Lists of steps on tiles of pictures: spatial parallelism, where each rank has a part of every picture
 * (Dryden et al. 2019, arXiv 1903.06681, section III). Windows at a tile's edge reach into its
 * neighbours by half their extent (MPI4DL's conv_spatial and Pool, github.com/OSU-Nowlab/MPI4DL 998d9ad,
 * src/torchgems/spatial.py). Norms are of a rank's own tiles, as there. */
#include <math.h>
#include <string.h>

#include "workloads/image_layer_graph.h"
#include "workloads/operator_costs.h"

int32_t rh_slice_across(RhSlice slice, int32_t tiles)
{
    int32_t side = (int32_t)lround(sqrt(tiles));
    return slice == RH_SLICE_VERTICAL ? tiles
           : slice != RH_SLICE_SQUARE ? 1
           : side * side == tiles     ? side
                                      : 0;
}

static int32_t extent(const RhLayerStep *step, int side)
{
    return MAX(step->dilation[side], 1) * (step->kernel[side] - 1) + 1;
}

static bool has_windows(const RhLayerStep *step)
{
    return step->kind == RH_STEP_OF_CONV || step->kind == RH_STEP_OF_MAX_POOL ||
           step->kind == RH_STEP_OF_AVERAGE_POOL;
}

int32_t rh_step_halo(const RhLayerStep *step, bool across)
{
    return has_windows(step) ? (extent(step, across) - 1) / 2 : 0;
}

static bool has_places(const RhTensor *size)
{
    return size->height > 1 || size->width > 1;
}

bool rh_step_list_has_places(const RhStepList *list)
{
    return has_places(&list->tensors[list->outputs[list->outputs_count - 1]].size);
}

/* Widens the margins of what a step reads by what its windows reach into. */
static void widen(const RhStepList *list, int32_t i, RhTiles tiles, int32_t (*margins)[2])
{
    const RhLayerStep *step = &list->steps[i];
    const int32_t *made = margins[list->inputs_count + i];
    bool cut[2] = {tiles.down > 1, tiles.across > 1};
    for (int32_t k = 0; k < step->from_count; k++)
        for (int side = 0; side < 2; side++) {
            int32_t *read = &margins[step->from[k]][side];
            int32_t wide = has_windows(step)
                               ? step->stride[side] * made[side] + rh_step_halo(step, side == 1)
                               : made[side];
            *read = cut[side] ? MAX(*read, wide) : 0;
        }
}

int32_t (*rh_step_list_margins(const RhStepList *list, RhTiles tiles))[2]
{
    int32_t(*margins)[2] =
        g_malloc0_n((gsize)(list->inputs_count + list->steps_count), sizeof *margins);
    for (int32_t i = list->steps_count - 1; i >= 0; i--)
        widen(list, i, tiles, margins);
    return margins;
}

RhStepList *rh_step_list_tile(const RhStepList *list, RhTiles tiles)
{
    int32_t(*margins)[2] = tiles.once ? rh_step_list_margins(list, tiles) : NULL;
    int32_t tensors = list->inputs_count + list->steps_count;
    RhStepList *tile = rh_step_list_new(list->inputs_count, list->steps_count, true);
    tile->outputs_count = list->outputs_count;
    memcpy(tile->outputs, list->outputs, sizeof list->outputs);
    memcpy(tile->steps, list->steps, sizeof *list->steps * (size_t)list->steps_count);
    memcpy(tile->tensors, list->tensors, sizeof *list->tensors * (size_t)tensors);
    for (int32_t i = 0; i < tensors; i++)
        if (has_places(&list->tensors[i].size)) {
            bool wide = margins && i >= list->inputs_count;
            RhTensor *size = &tile->tensors[i].size;
            size->height = size->height / tiles.down + (wide ? 2 * margins[i][0] : 0);
            size->width = size->width / tiles.across + (wide ? 2 * margins[i][1] : 0);
        }
    g_free(margins);
    return tile;
}

/* Steps that see places one by one, or through windows around them, or all of a channel's. */
static bool is_local(const RhLayerStep *step)
{
    switch ((RhLayerStepKind)step->kind) {
    case RH_STEP_OF_NORM:
        return step->over != RH_NORM_OF_GROUPS;
    case RH_STEP_OF_CONV:
    case RH_STEP_OF_MAX_POOL:
    case RH_STEP_OF_AVERAGE_POOL:
    case RH_STEP_OF_GLOBAL_POOL:
    case RH_STEP_OF_RELU:
    case RH_STEP_OF_ADD:
    case RH_STEP_OF_CONCAT:
    case RH_STEP_OF_SPLIT:
    case RH_STEP_OF_SHUFFLE:
    case RH_STEP_OF_LINEAR:
    case RH_STEP_OF_GELU:
    case RH_STEP_OF_SILU:
    case RH_STEP_OF_GATE:
    case RH_STEP_OF_SCALE:
        return true;
    case RH_STEP_OF_MERGE:
    case RH_STEP_OF_WINDOWS:
    case RH_STEP_OF_TRANSPOSED:
    case RH_STEP_OF_UPSAMPLE:
    case RH_STEP_OF_ATTENTION:
    case RH_STEP_OF_CROSS:
    case RH_STEP_OF_CONDITION:
    case RH_STEP_OF_NONE:
    case RH_STEP_OF_LAST:
    default:
        return false;
    }
}

/* Why the margins of a list's inputs are too wide; NULL: they are not. */
static char *wide_input(const RhStepList *list, RhTiles tiles)
{
    g_autofree int32_t *margins = (int32_t *)rh_step_list_margins(list, tiles);
    for (int32_t i = 0; i < list->inputs_count; i++) {
        const RhTensor *size = &list->tensors[i].size;
        if (margins[2 * i] > size->height / tiles.down ||
            margins[2 * i + 1] > size->width / tiles.across)
            return g_strdup_printf("all steps of a layer together see %d rows and %d columns "
                                   "around a tile of %d x %d",
                                   margins[2 * i], margins[2 * i + 1], size->height / tiles.down,
                                   size->width / tiles.across);
    }
    return NULL;
}

/* Why one side of a tensor cannot be cut; NULL: it can. */
static char *uncut_side(const RhLayerStep *step, int32_t places, int32_t parts, bool across)
{
    const char *name = rh_layer_step_name((RhLayerStepKind)step->kind);
    const char *side = across ? "columns" : "rows";
    if (places < parts)
        return g_strdup_printf("%s (step %d) works on %d %s, fewer than %d tiles", name,
                               step->number, places, side, parts);
    if (places % parts != 0)
        return g_strdup_printf("%d tiles do not divide the %d %s of %s (step %d)", parts, places,
                               side, name, step->number);
    if (rh_step_halo(step, across) > places / parts)
        return g_strdup_printf("%s (step %d) sees more than a neighbour's tile of %d %s", name,
                               step->number, places / parts, side);
    return NULL;
}

static char *uncut_tensor(const RhLayerStep *step, const RhTensor *size, int32_t down,
                          int32_t across)
{
    char *why = uncut_side(step, size->height, down, false);
    return why ? why : uncut_side(step, size->width, across, true);
}

char *rh_step_list_uncut(const RhStepList *list, RhTiles tiles)
{
    int32_t down = tiles.down, across = tiles.across;
    for (int32_t i = 0; i < list->steps_count; i++) {
        const RhLayerStep *step = &list->steps[i];
        const RhTensor *in = &list->tensors[step->from[0]].size;
        const RhTensor *out = &list->tensors[list->inputs_count + i].size;
        if (!has_places(in))
            continue;
        const char *name = rh_layer_step_name((RhLayerStepKind)step->kind);
        if (!is_local(step) || step->kind == RH_STEP_OF_LINEAR)
            return g_strdup_printf("%s (step %d) sees all places of a picture at once", name,
                                   step->number);
        char *why = uncut_tensor(step, in, down, across);
        if (!why && has_places(out))
            why = uncut_tensor(step, out, down, across);
        if (why)
            return why;
    }
    return tiles.once ? wide_input(list, tiles) : NULL;
}

/* Spatial parallelism: context ranks of a model of pictures have one tile of every picture each, and all
 * parameters (Dryden et al. 2019, arXiv 1903.06681; MPI4DL, github.com/OSU-Nowlab/MPI4DL 998d9ad,
 * src/torchgems/spatial.py). Before each convolution and pool with windows wider than a place, tiles send
 * their edges to their neighbours: to those beside them, then to those above and below, corners
 * included; backward the same of gradients. Nothing runs beside an exchange. A global pool's channels
 * are summed over all tiles, and the layers behind it run on every rank. Gradients of parameters are
 * summed with the replicas' (data.c).
 *
 * An exchange is a shift round the tiles of a row or column, each way, so the last tile sends to the
 * first as well, which nobody waits for longer; of two tiles one shift does both ways. */
#include "base/error.h"
#include "strategies/knobs.h"
#include "strategies/layer_partition.h"
#include "strategies/train/parallelism/parallelism.h"

static bool exchange_edges(RhLayerOpsBuilder *w, const char *label, const RhKernelSequence *part)
{
    const RhExchange *at = &part->exchange;
    bool edges = at->kind == RH_EXCHANGE_HALO;
    if (!edges && at->kind != RH_EXCHANGE_TILES_SUM)
        return false;
    RhGroupKind group = !edges         ? RH_GROUP_CONTEXT
                        : at->step < 2 ? RH_GROUP_TILES_ACROSS
                                       : RH_GROUP_TILES_DOWN;
    rh_layer_ops_continue_after(
        w, rh_layer_ops_collective(w, RH_LANE_CP, group, edges ? RH_OP_SHIFT : RH_OP_ALL_REDUCE,
                                   at->bytes,
                                   edges ? "exchange edges of tiles" : "sum the tiles' channels"));
    rh_layer_ops_kernels(w, label, RH_PARTS(part));
    return true;
}

/* Kinds of the layers of the stages that are cut, a bit each. */
static uint64_t cut_kinds(const RhProblem *c, const RhLayout *l)
{
    g_autofree int32_t *layers = NULL;
    uint64_t kinds = 0;
    int32_t count = 0;
    if (l->cp_stages == 0)
        return ~UINT64_C(0);
    layers = g_new(int32_t, l->pp * l->vpp);
    rh_partition_layers(c, l, layers);
    for (int32_t stage = 0; stage < rh_layout_cut_stages(l); stage++)
        count += layers[stage];
    for (int32_t i = 0; i < MIN(count, c->model->layers_count); i++)
        kinds |= UINT64_C(1) << c->model->kind_of_layer[i];
    return kinds;
}

/* Can the pictures of every layer that is cut be cut into such tiles? */
static bool tiles_legal(const RhProblem *c, const RhLayout *l, int32_t across, GError **error)
{
    uint64_t kinds = cut_kinds(c, l);
    for (int k = 0; k < c->model->kinds_count; k++) {
        const RhStepList *list = kinds >> k & 1 ? c->model->kinds[k].steps : NULL;
        RhTiles tiles = {l->cp / across, across, l->halo == RH_HALO_LAYER};
        g_autofree char *why = list ? rh_step_list_uncut(list, tiles) : NULL;
        if (why)
            return rh_fail(error, RH_ERROR_USAGE,
                           "cp=%d: %s: %s\nhelp: fewer tiles, or another slice", l->cp,
                           c->model->name, why);
    }
    return true;
}

static bool grid_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    g_autofree char *slice = rh_knob_text(RH_KNOB_OF(slice), l);
    if (!rh_model_sees_pictures(c->model))
        return l->slice == RH_SLICE_NONE ||
               rh_fail(error, RH_ERROR_USAGE,
                       "slice=%s: %s sees no pictures that could be cut into tiles\nhelp: cp=%d "
                       "alone cuts its sequences",
                       slice, c->model->name, MAX(l->cp, 2));
    if (l->cp == 1)
        return l->slice == RH_SLICE_NONE ||
               rh_fail(error, RH_ERROR_USAGE,
                       "slice=%s: with cp=1 pictures are not cut into tiles\nhelp: cp=4", slice);
    if (!c->stack->tiles)
        return rh_fail(error, RH_ERROR_USAGE,
                       "cp=%d: the stack %s cuts no pictures into tiles\nnote: valid cp: 1\n"
                       "help: the stacks bare and mpi4dl do",
                       l->cp, c->stack->name);
    int32_t across = rh_slice_across(rh_train_slice(c, l), l->cp);
    if (across == 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "slice=square: %d tiles are no square\nnote: valid cp: 4, 9, 16, ...\n"
                       "help: slice=vertical or slice=horizontal",
                       l->cp);
    if (l->ulysses > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "ulysses=%d: %s has layers of steps on pictures, which have no heads to "
                       "exchange\nnote: valid ulysses: 1",
                       l->ulysses, c->model->name);
    return l->cp_stages > 0 || tiles_legal(c, l, across, error);
}

static bool refuse_part(const RhLayout *l, const char *what, GError **error)
{
    return rh_fail(error, RH_ERROR_USAGE, "cpstages=%d: %s", l->cp_stages, what);
}

/* May only the first stages be cut? */
static bool part_legal(const RhProblem *c, const RhLayout *l, GError **error)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    if (l->cp_stages == 0)
        return true;
    if (!rh_model_sees_pictures(c->model))
        return refuse_part(l, "stages of sequences are all cut alike\nnote: valid cpstages: 0",
                           error);
    if (l->vpp > 1 || schedule->turns || schedule->splits_backward)
        return refuse_part(l, "such a pipeline runs schedule=1f1b and gpipe", error);
    if (l->pp > (int32_t)G_N_ELEMENTS(l->stage_layers))
        return refuse_part(l, "such a pipeline has 256 stages at most", error);
    if (l->tp > 1)
        return refuse_part(l, "tiles of tensor ranks are not joined\nnote: valid tp: 1", error);
    if (l->zero > 0 || l->codec != RH_CODEC_NONE || c->stack->gradient_norm)
        return refuse_part(l,
                           "stages have unequal numbers of replicas, over which no states are "
                           "shared out, and no norm is summed\nnote: valid zero: 0",
                           error);
    if (rh_train_copies(l))
        return refuse_part(l, "states and activations stay on the GPU", error);
    if (l->recomputed_layers_count != 0)
        return refuse_part(l, "all layers are recomputed, or none", error);
    return tiles_legal(c, l, rh_slice_across(rh_train_slice(c, l), l->cp), error);
}

const RhParallelism rh_parallelism_spatial = {
    .name = "tiles", .grid_legal = grid_legal, .legal = part_legal, .exchange = exchange_edges};

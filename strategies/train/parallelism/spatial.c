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

/* Can every layer's pictures be cut into such tiles? */
static bool tiles_legal(const RhProblem *c, const RhLayout *l, int32_t across, GError **error)
{
    for (int k = 0; k < c->model->kinds_count; k++) {
        const RhStepList *list = c->model->kinds[k].steps;
        g_autofree char *why = list ? rh_step_list_uncut(list, l->cp / across, across) : NULL;
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
    return tiles_legal(c, l, across, error);
}

const RhParallelism rh_parallelism_spatial = {
    .name = "tiles", .grid_legal = grid_legal, .exchange = exchange_edges};

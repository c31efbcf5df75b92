#pragma once
/* A layout: how one training job is cut over the ranks. Plain data; copy freely.
 *
 * Text form (and the plan's):
 * tp8,pp16,dp64,cp1,ep1,vpp1,mb1,zero1,recompute=selective,schedule=1f1b,sp=on,order=tp-dp-pp
 * and, where the layers are not split evenly, those of each of the pp x vpp chunks in the order of
 * the model: stages=15-16x6-15 (16x6 is 16 six times; stages=even is the default) */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "strategies/codecs.h"
#include "strategies/schedules.h"
#include "workloads/operator_costs.h"

/* RhLayout.recomputed_layers_count: rh_recompute_fewest_layers says how many. */
#define RH_RECOMPUTED_FEWEST (-1)

/* Degrees and micro-batches are at most this (legal_layouts.c multiplies them). */
#define RH_LAYOUT_DEGREE_MAX (1 << 20)

/* How tokens get to experts on other ranks: as often as experts are asked, or once to a node and
 * once to a rank. */
typedef enum { RH_DISPATCH_ALLTOALL, RH_DISPATCH_DEEPEP, RH_DISPATCH_LAST } RhDispatch;
/* Computation that runs while tokens are sent to experts. */
typedef enum {
    RH_OVERLAP_NONE,
    RH_OVERLAP_SHARED,
    RH_OVERLAP_BATCHES,
    RH_OVERLAP_PAIRS,
    RH_OVERLAP_LAST
} RhOverlap;
/* Memory in which optimizer states, or weights, are from step to step. */
typedef enum { RH_PLACE_DEVICE, RH_PLACE_HOST, RH_PLACE_NVME, RH_PLACE_LAST } RhPlace;
/* Rank order, innermost first. */
typedef enum { RH_ORDER_NONE, RH_ORDER_TP_DP_PP, RH_ORDER_TP_PP_DP, RH_ORDER_LAST } RhOrder;

/* By what layers are dealt out to the chunks of a pipeline, where they are not named. */
typedef enum {
    RH_PARTITION_EVEN,
    RH_PARTITION_PARAMETERS,
    RH_PARTITION_WORK,
    RH_PARTITION_UNIFORM,
    RH_PARTITION_LAST
} RhPartition;

typedef struct {
#define RH_KNOB(type, field, ...) type field;
#include "strategies/knob_rows.h"
#undef RH_KNOB
    int16_t stage_layers[256]; /* of an uneven split: pp x vpp of them; count 0: an even one */
    int16_t recomputed_layers
        [256]; /* that are recomputed, of each chunk its first: pp x vpp of them, or one
                                  for all; count 0: all layers are, -1: as few as fit, not known yet */
} RhLayout;

/* Parses the text form; keys left out keep what *layout holds. "pp16" and "pp=16" both work.
 * RH_ERROR_USAGE with near keys and the place; nothing at all and a key given twice are errors. */
bool rh_layout_parse(const char *text, RhLayout *layout, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Parses the text form and gets the knobs that it names: RH_KNOB_BIT of each (knobs.h). */
bool rh_layout_change(const char *text, RhLayout *layout, uint64_t *given,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads the text form from a file, in which ends of lines count as commas and '#' starts a comment.
 * RH_ERROR_IO, RH_ERROR_INPUT with file:line:column. */
bool rh_layout_load(const char *path, RhLayout *layout, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* That a layout of such a file is refused: `why`, whose first word is the key at fault or
 * nearest to it, at the place where the file says that key (else at its first). Takes `why`;
 * RH_ERROR_INPUT; false. */
bool rh_layout_refuse(const char *path, GError *why, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The row whose key a refusal begins with, as in "tp=3 does not divide ..."; NULL: none. */
const struct RhKnob *rh_layout_refused_knob(const GError *why);
/* The text form in full, caller frees. A dp still to be derived (0) has no text and is left out. */
char *rh_layout_format(const RhLayout *layout);
/* "tp4 pp8 dp2, micro-batch 1, ZeRO-1, selective recompute", caller frees */
char *rh_layout_title(const RhLayout *layout);
/* How the model is cut, in a word: "expert", "context", "fsdp" (shards alone), "hybrid" (shards
 * beside tensor or pipeline groups), "tensor/pipeline", "data"; the first that fits. */
const char *rh_layout_family(const RhLayout *layout);
/* The two that it may be of while its degree of ZeRO is open: of shared weights, of none. */
void rh_layout_open_families(const RhLayout *layout, const char *families[2]);
RhLayout rh_layout_default(void);
/* How many of the `layers` of model chunk g are recomputed, where any are. */
static inline int32_t rh_layout_again(const RhLayout *l, int32_t g, int32_t layers)
{
    if (l->recomputed_layers_count <= 0)
        return layers;
    return MIN(l->recomputed_layers[l->recomputed_layers_count > 1 ? g : 0], layers);
}
/* How many of the stages are cut over cp ranks: all, or the first few (cpstages). */
static inline int32_t rh_layout_cut_stages(const RhLayout *l)
{
    return l->cp_stages > 0 ? MIN(l->cp_stages, l->pp) : l->pp;
}
/* Do stages have unequal numbers of ranks? */
static inline bool rh_stages_unequal(const RhLayout *l)
{
    return rh_layout_cut_stages(l) < l->pp;
}
/* Ranks of one replica, over all stages. MPI4DL counts them alike: split + the tiles of spatial parts -
 * their number + (local-DP - 1) for each of the others (github.com/OSU-Nowlab/MPI4DL 998d9ad, src/torchgems/comm.py). */
static inline int64_t rh_layout_replica_ranks(const RhLayout *l)
{
    int32_t cut = rh_layout_cut_stages(l);
    return (int64_t)l->tp * ((int64_t)cut * l->cp + (int64_t)(l->pp - cut) * l->local_dp);
}
bool rh_layout_equal(const RhLayout *a, const RhLayout *b);

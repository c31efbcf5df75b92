#pragma once
/* Which ranks behave the same, derived and not assumed.
 *
 * Colours ranks by role, and by the links their flows use; links by capacity and by the flows that
 * cross them; until nothing splits any more (an equitable partition: then one rank per colour, on
 * quotient links, takes the times of the whole). Members of a rank's groups and its peers are part
 * of its colour, so that a colour meets exactly one colour at the other end of each message and one
 * multiset of colours in each group. Colours are numbered by their smallest rank, which represents
 * them. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/engine/traffic.h"

#define RH_FOLD_COLOURS_MAX   512  /* more are merged */
#define RH_UNFOLDED_RANKS_MAX 1024 /* the solver's cost explodes beyond (docs/model-engine.md) */

typedef struct {
    int32_t colours_count;
    int32_t *colour_of_rank; /* -1 where no role */
    int32_t *representative; /* rank, per colour */
    int32_t *ranks_count;    /* per colour */
    uint64_t *link_hash;     /* per link of the platform; equal hash, same colour */
    uint64_t *flow_hash;     /* per flow of the traffic */
    char *approximate_why;   /* owned; NULL when the partition is exact */
} RhFold;

/* `unfolded` gives every rank its own colour; RH_ERROR_INPUT above RH_UNFOLDED_RANKS_MAX. */
RhFold *rh_fold_new(const RhTraffic *traffic, bool unfolded, GError **error);
void rh_fold_free(RhFold *fold);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFold, rh_fold_free)

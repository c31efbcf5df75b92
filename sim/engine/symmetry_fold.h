#pragma once
/* Derives which ranks behave the same.
 *
 * Four kinds of objects are coloured until no colour can be split (an equitable partition: one
 * representative of each colour, on quotient links, then has the times of the whole): *ranks* by
 * role and by the colours of their groups, of their peers and of the messages they send;
 * *instances* of groups by shape, by their members' colours and their flows' colours; *flows* by
 * pattern, by their owner (an instance, as the flows of a round start and end together; a rank for
 * messages) and by the colours of their links; *links* by capacity and by the flows that cross
 * them. Thus a ring that leaves the pod at two of its members, or a tree, has several classes of
 * flows, but its members need not be distinguished. Colours are numbered by their smallest member,
 * which represents them. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "sim/engine/approximate_fold_rates.h"
#include "sim/engine/program_flows.h"
#include "sim/map64.h"

#define RH_FOLD_COLOURS_MAX   512     /* more are merged */
#define RH_FOLD_TASKS_MAX     4000000 /* over all performers; a few seconds of work */
#define RH_UNFOLDED_RANKS_MAX 1024 /* the solver's cost explodes beyond (docs/develop/engine.md) */

typedef struct {
    int32_t colours_count;
    int32_t *colour_of_rank; /* -1 where no role */
    int32_t *representative; /* rank, per colour */
    int32_t *ranks_count;    /* per colour */
    int32_t calls_count;     /* colours of instances */
    int32_t *call_of_instance;
    int32_t *call_instance;   /* the representative, per call */
    int32_t *instances_count; /* per call */
    uint64_t *link_hash;      /* per link of the traffic; equal hash means equal colour */
    uint64_t *flow_hash;      /* per flow of the traffic */
    RhMergedRates *steps;     /* rates of merged ranks; else NULL */
    struct RhRefinement
        *unfinished;       /* owned; state for rh_fold_end; NULL when nothing is left to do */
    char *approximate_why; /* owned; NULL when the partition is exact */
} RhFold;

/* Returns the link's own colour, for merged folds, in which every link has one. */
static inline uint64_t rh_fold_own_hash(RhLink link)
{
    return rh_mix64(59, (uint64_t)link + 1);
}

/* Folds a program's traffic; `unfolded` gives every rank its own colour. RH_ERROR_USAGE above
 * RH_UNFOLDED_RANKS_MAX. */
RhFold *rh_fold_new(const RhTraffic *traffic, bool unfolded,
                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* First part of a fold: which ranks share a colour. NULL after the deadline, which is checked
 * before each step that takes long on a million GPUs. The second part is rh_fold_end, which needs
 * the loads that collectives put on links. The traffic is borrowed until then. */
RhFold *rh_fold_ranks(const RhTraffic *traffic, RhDeadline deadline);
/* Second part of a fold, needed before a quotient is made: colours of instances and flows, and
 * representatives of instances where ranks were merged. */
void rh_fold_end(RhFold *fold);
/* Frees the data that only the making of a quotient needs. */
void rh_fold_trim(RhFold *fold);
void rh_fold_free(RhFold *fold);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFold, rh_fold_free)

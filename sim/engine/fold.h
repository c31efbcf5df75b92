#pragma once
/* Which ranks behave the same, derived and not assumed.
 *
 * Colours four kinds of things until nothing splits any more (an equitable partition: then one of
 * each colour, on quotient links, takes the times of the whole): *ranks* by role, by the colours of
 * their groups, of their peers and of the messages they send; *instances* of groups by shape, their
 * members' colours and their flows' colours; *flows* by what they are, whose they are (an
 * instance's, as the flows of a collective's round start and end together; a rank's when messages)
 * and the colours of their links; *links* by capacity and the flows that cross them. So a ring that
 * leaves the pod at two of its members, or a tree, has several classes of flows but its members
 * need not be told apart. Colours are numbered by their smallest member, which represents them. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "sim/engine/merged_rates.h"
#include "sim/engine/traffic.h"
#include "sim/map64.h"

#define RH_FOLD_COLOURS_MAX   512     /* more are merged */
#define RH_FOLD_TASKS_MAX     4000000 /* of all performers; a few seconds' work */
#define RH_UNFOLDED_RANKS_MAX 1024 /* the solver's cost explodes beyond (docs/develop/engine.md) */

typedef struct {
    int32_t colours_count;
    int32_t *colour_of_rank; /* -1 where no role */
    int32_t *representative; /* rank, per colour */
    int32_t *ranks_count;    /* per colour */
    int32_t meetings_count;  /* colours of instances */
    int32_t *meeting_of_instance;
    int32_t *meeting_instance; /* the representative, per meeting */
    int32_t *instances_count;  /* per meeting */
    uint64_t *link_hash;       /* per link of the traffic; equal hash, same colour */
    uint64_t *flow_hash;       /* per flow of the traffic */
    RhMergedRates *steps;      /* merged; else NULL */
    struct RhRefine
        *unfinished; /* owned: what rh_fold_end goes on from; NULL where nothing is left to do */
    char *approximate_why; /* owned; NULL when the partition is exact */
} RhFold;

/* Merged: every link of the platform is of a colour of its own. */
static inline uint64_t rh_fold_own_hash(RhLink link)
{
    return rh_mix64(59, (uint64_t)link + 1);
}

/* `unfolded` gives every rank its own colour; RH_ERROR_USAGE above RH_UNFOLDED_RANKS_MAX. */
RhFold *rh_fold_new(const RhTraffic *traffic, bool unfolded, GError **error);
/* The same folded, in two parts, as only the second asks what collectives put on links: which ranks stand for
 * which; NULL beyond the deadline, which is looked at before each thing that takes long on a million GPUs. The
 * traffic is borrowed until the fold has ended. */
RhFold *rh_fold_ranks(const RhTraffic *traffic, RhDeadline deadline);
/* Which instances and flows are alike, and which instances stand for others, where ranks were merged: before a
 * quotient is made. */
void rh_fold_end(RhFold *fold);
/* Lets go of what only a quotient is made from. */
void rh_fold_trim(RhFold *fold);
void rh_fold_free(RhFold *fold);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhFold, rh_fold_free)

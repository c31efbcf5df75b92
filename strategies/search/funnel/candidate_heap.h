#pragma once
/* Candidate heap: layouts ordered by their lower bounds, least first, then in the order of the
 * space. Private to this folder. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Kinds of a candidate's key, each a lower bound of the next. Before WORK, some knobs are still
 * open. */
typedef enum {
    RH_KEY_KERNELS, /* the kernels of all layers under a cut (space.h) */
    RH_KEY_CUT,     /* all work of the cut's layers */
    RH_KEY_SLOTS,   /* chunks are set, too: the work of its slots, if nothing were recomputed */
    RH_KEY_CHUNKS,  /* likewise, if only as little is recomputed as memory requires */
    RH_KEY_SHARES,  /* likewise; what replicas share out is set, too */
    RH_KEY_LAYERS,  /* all knobs are set except the number of recomputed layers */
    RH_KEY_WORK,    /* all knobs are set: the work of its slots */
    RH_KEY_SUMS,
    RH_KEY_CLOSED,
    RH_KEY_GRAPH, /* the segment graph, with messages that share no link */
    RH_KEY_SEGMENT
} RhKeyKind;
typedef struct {
    int32_t layout; /* index into the space */
    double key;     /* lower bound, or the objective where it is exact */
    RhKeyKind kind;
} RhCandidate;

/* Adds a candidate to the heap, a GArray of RhCandidate. */
void rh_candidate_heap_push(GArray *heap, RhCandidate candidate);
/* Removes and returns the candidate with the least key; the heap must not be empty. */
RhCandidate rh_candidate_heap_pop(GArray *heap);
/* Returns the candidate with the least key, which stays in the heap. */
const RhCandidate *rh_candidate_heap_top(const GArray *heap);
/* Returns the least key; INFINITY if the heap is empty. */
double rh_candidate_heap_least(const GArray *heap);

#pragma once
/* The space of layouts: canonical legal ones that the stack's framework runs, within what the user
 * asked for. The usual one is walked layout by layout (RhKnob.next).
 *
 * The whole one (RhKnob.wide) has every value that a framework can be told; it is walked in
 * parts, so that a search need not go into what a bound of the first part rules out
 * (docs/theory/search.md): the *cut* (the grid of ranks, the micro-batch, the schedule and what
 * overlaps: all that the seconds of a layer depend on but for recomputation), chunks (vpp,
 * partition), shares (ZeRO), then which activations are recomputed and how ranks are numbered. */
#include "base/deadline.h"
#include "strategies/knobs.h"

/* `--fix tp=8` / `--limit tp<=8`, `--limit memory<=90%`, `--limit memory<=70GiB`. */
typedef struct {
    const RhKnob *knob; /* with one value; NULL: memory */
    int relation;       /* 0: =, -1: <=, +1: >= */
    double value;       /* rh_knob_value(); of memory a fraction of what there is, or bytes */
    bool in_bytes;
} RhConstraint;
/* Parses "tp=8", "tp<=8", "memory<=90%" into *out. RH_ERROR_USAGE with near keys. */
bool rh_constraint_parse(const char *text, bool is_limit, RhConstraint *out,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* "recompute=full", as it may have been typed; caller frees. */
char *rh_constraint_text(const RhConstraint *constraint);

/* Gets one layout after another; false: no more. */
typedef bool (*RhSpaceVisit)(const RhLayout *layout, void *user);

/* Every layout, in a fixed order, as far as it is found by the deadline. */
void rh_space_walk(const RhProblem *c, const RhConstraint *constraints, int32_t count,
                   RhDeadline deadline, RhSpaceVisit visit, void *user);
/* Returns every layout as a list (GArray of RhLayout); the caller unrefs it. */
GArray *rh_space_list(const RhProblem *c, const RhConstraint *constraints, int32_t count);

/* --- the whole space, in parts --- */

typedef struct RhSpace RhSpace;
/* Borrows what it is given. */
RhSpace *rh_space_new(const RhProblem *c, const RhConstraint *constraints, int32_t count,
                      RhDeadline deadline);
void rh_space_free(RhSpace *space);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhSpace, rh_space_free)
/* Leaves out the cuts that another problem of the same stack (borrowed) allows as well; NULL: none. */
void rh_space_leave_out(RhSpace *space, const RhProblem *other);
/* Every cut; the other knobs stand at their defaults, or where they are fixed. Some cuts have no
 * legal layout. */
void rh_space_walk_cuts(RhSpace *space, RhSpaceVisit visit, void *user);
/* Every choice of chunks for a cut, and of shares for these. */
void rh_space_walk_chunks(RhSpace *space, const RhLayout *cut, RhSpaceVisit visit, void *user);
void rh_space_walk_shares(RhSpace *space, const RhLayout *chunks, RhSpaceVisit visit, void *user);
/* Is the layout, all knobs set, in the space? */
bool rh_space_admits(const RhSpace *space, const RhLayout *layout);
/* A choice of recomputation; lists are in ascending order of recomputed work. */
typedef struct {
    RhRecompute recompute;
    int32_t
        layers_count; /* RhLayout.recomputed_layers_count: 0 (all layers), or RH_RECOMPUTED_FEWEST */
} RhRecomputeChoice;
const GArray *rh_space_recompute_choices(const RhSpace *space); /* RhRecomputeChoice; the space's */
/* Modules that are in any choice which the framework does not refuse under this cut: bits of
 * RhRecompute. */
uint32_t rh_space_recompute_modules(const RhSpace *space, const RhLayout *cut);
/* May chunks differ in how many of their layers are recomputed? */
bool rh_space_recomputes_unevenly(const RhSpace *space);
/* The knob that may take the place of recomputation under this cut, since the framework runs it
 * (RhKnob.instead); NULL: there is none, or it is fixed. */
const RhKnob *rh_space_instead(const RhSpace *space, const RhLayout *cut);
/* The orders of ranks that may be tried. */
const GArray *rh_space_orders(const RhSpace *space); /* RhOrder; the space's */

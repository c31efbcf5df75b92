#pragma once
/* Layouts that beat a plan's first row. They come from a generator of its own: it takes values of every knob, whether or
 * not the search goes through them (RhKnob.next is not asked), keeps what is legal and what the stack's framework
 * runs, and looks for the quickest that fits as surely. Around the first row by one change and by more, and
 * drawn at random from the whole space. */
#include "strategies/search/plan.h"

/* Left as asked: activations in the host's memory, whose use and traffic besides a plan does not know; frameworks that
 * are launched here have no words for them. */
#define RH_REGRET_LEFT RH_KNOB_BIT(offload)

typedef struct {
    const RhProblem *c;
    RhBoundCache *cache; /* owned, as all below that is a pointer but untaken */
    double ranked_bytes; /* what fits as surely as the rows needs at most this */
    double gap_frac;
    uint64_t left; /* RH_KNOB_BIT of knobs that stay as they are */
    /* Beginnings of values that are not taken, "schedule=dualpipe"; NULL-ended, or NULL: all are. */
    const char *const *untaken;
    RhLayout row;
    double row_s; /* of the plan's first row */
    GHashTable *seen;
    GArray *layouts; /* RhLayout, all that were legal and new, in the order they came */
    guint expanded,
        evaluated; /* so many of them: their neighbours were looked at, they were evaluated */
    RhLayout best;
    double best_s; /* of the quickest so far; row_s: none is quicker */
    int64_t fit_count, rehearsed_count;
} RhRegret;

/* Against a plan with at least one entry, of the same case, which outlives it. */
RhRegret rh_regret_new(const RhProblem *c, const RhPlan *plan, double gap_frac);
void rh_regret_clear(RhRegret *r);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhRegret, rh_regret_clear)

/* Takes layouts one change further away than before: first the first row itself and its neighbours, then theirs. */
void rh_regret_search_around(RhRegret *r);
/* Draws until so many are legal and new, a hundred times as often at most. */
void rh_regret_search_drawn(RhRegret *r, int32_t count, uint32_t seed);
/* Judges what was taken since: rehearses the most promising first, until none left can beat the best. */
void rh_regret_judge(RhRegret *r);
/* By how much the first row is slower than the best that was found. */
double rh_regret_behind_frac(const RhRegret *r);
/* "mb=1", "mb=2" ...: what is taken of a knob (GPtrArray of char *); dp follows the other degrees. Caller frees. */
GPtrArray *rh_regret_values(const RhRegret *r, const RhKnob *knob);

#pragma once
/* How quickly flows move where ranks are merged: of every step of a pattern (an instance's flows, or one
 * message) its slowest flow, where each link is shared by all that moves at one time. A merged colour is
 * represented by the slowest of its ranks and instances, a step by the slowest of its flows. */
#include "sim/engine/traffic.h"

typedef struct {
    double s_per_byte; /* of the slowest flow, per byte of the round's largest flow */
    double latency_s;  /* the longest of its flows' */
    double shares;     /* of all its flows that cross links */
    int32_t slowest;   /* which it is, of the step's flows */
} RhMergedRate;

typedef struct {
    /* Of each pattern, one more at the end: steps of all patterns, one behind another, each set when found. */
    int32_t *first;
    RhMergedRate *steps;
    /* Seconds a byte that own flows take at least, whatever their shares: a listed rank's are messages. */
    double *of_listed, *of_instance;
    RhCrossed *crossed; /* room, by links */
} RhMergedRates;

/* Copies are among messages. */
typedef enum { RH_MOVES_MESSAGES, RH_MOVES_COLLECTIVES } RhMoves;

/* Nothing is known of them yet. */
RhMergedRates *rh_merged_rates_new(const RhTraffic *traffic);
/* Finds those of messages or of collectives, which never move as one. */
void rh_merged_rates_find(RhMergedRates *steps, const RhTraffic *traffic, RhMoves moves);
void rh_merged_rates_free(RhMergedRates *steps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhMergedRates, rh_merged_rates_free)

static inline const RhMergedRate *rh_merged_rate(const RhMergedRates *steps, int32_t pattern,
                                                 int32_t step)
{
    return &steps->steps[steps->first[pattern] + step];
}

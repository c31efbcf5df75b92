#pragma once
/* Rates of flows where ranks are merged (approximate folds): the slowest flow of every step of a
 * pattern (an instance's flows, or one message), where each link is shared by all flows that move
 * at one time. A merged colour is represented by the slowest of its ranks and instances, a step by
 * the slowest of its flows. */
#include "sim/engine/program_flows.h"

typedef struct {
    double s_per_byte; /* slowest flow, per byte of the round's largest flow */
    double latency_s;  /* longest latency of its flows */
    double shares;     /* sum of shares over its flows that cross links */
    int32_t slowest;   /* index of the slowest among the step's flows */
} RhMergedRate;

typedef struct {
    /* Per pattern, one more at the end: index into `steps`, which are filled in when found. */
    int32_t *first;
    RhMergedRate *steps;
    /* Least seconds per byte of the flows of a listed rank (messages) and of an instance, whatever
     * their shares. */
    double *of_listed, *of_instance;
    RhCrossed *crossed; /* scratch space, per link */
} RhMergedRates;

/* Kind of traffic; copies count as messages. */
typedef enum { RH_MOVES_MESSAGES, RH_MOVES_COLLECTIVES } RhMoves;

/* Makes a table of rates that are not yet known. */
RhMergedRates *rh_merged_rates_new(const RhTraffic *traffic);
/* Computes the rates of messages or of collectives, which never move together. */
void rh_merged_rates_find(RhMergedRates *steps, const RhTraffic *traffic, RhMoves moves);
void rh_merged_rates_free(RhMergedRates *steps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhMergedRates, rh_merged_rates_free)

static inline const RhMergedRate *rh_merged_rate(const RhMergedRates *steps, int32_t pattern,
                                                 int32_t step)
{
    return &steps->steps[steps->first[pattern] + step];
}

#pragma once
/* All-reduce by a serving engine's own kernels among the GPUs of one node: one shot (each GPU reads
 * all peers), two shots (each sums a part, and all read the sums), and the library's collective for
 * larger sizes. The engine's choice is part of the measured times. In a profile:
 *
 *     "device.peer_reduce": {"tag": "fitted", "source": ..., "date": ..., "error_mean": 0.02,
 *                            "curves": [{"ranks": 2, "bytes": [256, ...], "us": [2.6, ...]}, ...]}
 *
 * Times ascend with bytes, because a message can be padded to a larger one. It is independent of
 * the platform's links: it assumes a node as the vendor builds it. */
#include <stdint.h>

#include "base/json/json.h"

#define RH_PEER_KNOTS_MAX  32
#define RH_PEER_CURVES_MAX 4

typedef struct {
    int32_t ranks, count;
    double bytes[RH_PEER_KNOTS_MAX], seconds[RH_PEER_KNOTS_MAX]; /* both ascend */
} RhPeerCurve;

/* By ascending number of ranks. */
typedef struct {
    int32_t curves_count; /* 0: no data */
    RhPeerCurve curves[RH_PEER_CURVES_MAX];
    double error_mean_frac; /* mean error on sizes left out of the curve */
    const char *source, *date;
} RhPeerReduce;

/* Return the seconds of an all-reduce of `bytes` on each rank: linear between knots, extrapolated
 * from the last two beyond them, and linear between numbers of ranks. HUGE_VAL where ranks are
 * fewer or more than were measured; 0 for one. */
double rh_peer_curve_s(const RhPeerCurve *curve, double bytes);
double rh_peer_reduce_of_s(const RhPeerReduce *peers, int32_t ranks, double bytes);

/* Reads the curves; problems are collected in the document. */
void rh_peer_reduce_read(RhJson *doc, const RhJsonNode *node, RhPeerReduce *peers);
void rh_peer_reduce_write(RhJsonWriter *w, const char *key, const RhPeerReduce *peers);

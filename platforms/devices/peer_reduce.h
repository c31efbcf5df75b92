#pragma once
/* All-reduce by an engine's own kernels among the GPUs of one node: one shot (each reads all of its
 * peers), two shots (each sums a part, and all read the sums), and the library's collective for what
 * is larger; which of them is the engine's affair, and in the times. In a profile:
 *
 *   "device.peer_reduce": {"tag": "fitted", "source": ..., "date": ..., "error_mean": 0.02,
 *                          "curves": [{"ranks": 2, "bytes": [256, ...], "us": [2.6, ...]}, ...]}
 *
 * Times ascend with bytes: what is sent in less time as a part of more can be padded. Knows no
 * links: of a node as the device's makers build it. */
#include <stdint.h>

#include "base/json.h"

#define RH_PEER_KNOTS_MAX  32
#define RH_PEER_CURVES_MAX 4

typedef struct {
    int32_t ranks, count;
    double bytes[RH_PEER_KNOTS_MAX], seconds[RH_PEER_KNOTS_MAX]; /* both ascend */
} RhPeerCurve;

/* By ascending number of ranks. */
typedef struct {
    int32_t curves_count; /* 0: nothing is known */
    RhPeerCurve curves[RH_PEER_CURVES_MAX];
    double error_mean_frac; /* of sizes left out of the curve */
    const char *source, *date;
} RhPeerReduce;

/* Seconds of an all-reduce of so many bytes on each of `ranks`: on a line between knots, and on that of
 * the last two beyond; between numbers of ranks on a line, too. HUGE_VAL where ranks are fewer or
 * more than were timed; 0 for one. */
double rh_peer_curve_s(const RhPeerCurve *curve, double bytes);
double rh_peer_reduce_of_s(const RhPeerReduce *peers, int32_t ranks, double bytes);

/* Problems are collected in the document. */
void rh_peer_reduce_read(RhJson *doc, const RhJsonNode *node, RhPeerReduce *peers);
void rh_peer_reduce_write(RhJsonWriter *w, const char *key, const RhPeerReduce *peers);

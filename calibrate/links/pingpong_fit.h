#pragma once
/* Fits the cost of a message to ping-pong measurements: software latency, noise and copies.
 *
 * The model is the rehearsal itself: t(n) is its one-way time of a ping-pong of n bytes on this
 * platform (with packets, headers, buckets, store and forward) when a message of n bytes has the
 * latency s + n / c. Both constants are fitted to the medians of the measured times by least
 * squares of relative errors, each weighted by the certainty of its median (GSL,
 * Levenberg-Marquardt).
 *
 * Noise: a latency is modelled as a constant and an exponential part of mean e. Half a round trip
 * then contains half of an Erlang-2 variable: its 10th and 90th percentiles are 1.679 e apart, its
 * median lies 0.161 e below its mean. e is the median spread of the messages of at most 1 KiB.
 * Reactions are modelled as exponential too: their mean is the median over ln 2. */
#include <glib.h>
#include <stdbool.h>

#include "platforms/platform.h"

/* One row of the file: half a round trip, or how long a host took to see a kernel end. */
typedef struct {
    bool reaction;
    int32_t source, destination; /* GPUs of the platform */
    double bytes, seconds;
} RhPing;

typedef struct {
    bool between_nodes;                            /* pairs on two nodes were among them */
    double latency_s, latency_error_s;             /* mean; half of its 95 % interval */
    double noise_s;                                /* the part that is exponential */
    double reaction_s;                             /* mean; 0 without rows */
    double copy_s_per_byte, copy_error_s_per_byte; /* beyond the links' own; 0: too short to tell */
    double efficiency_frac; /* of the link, where the platform has no messages that copy; else 0 */
    double mape_frac, worst_frac, worst_bytes;
    double disturbance_frac; /* between quartiles of equal large messages; above some %: repeat */
    int32_t rows_count, groups_count; /* a group: one pair, one size */
} RhPingFit;

/* CSV with the header kind,source,destination,bytes,seconds; kind: trip, reaction. RhPing, caller
 * unrefs. RH_ERROR_IO; RH_ERROR_INPUT with FILE:LINE. */
GArray *rh_pings_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Parses measurements from text; `name` is used in messages. */
GArray *rh_pings_parse(const char *name, const char *text,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* RH_ERROR_INPUT when rows name GPUs that the platform has not, cannot determine the constants (too
 * few, of too few sizes, of two kinds of link) or are not described by them; RH_ERROR_NO_ANSWER
 * after `timeout_s` (0: none). */
bool rh_pings_fit(const GArray *pings, const RhPlatform *platform, double timeout_s, RhPingFit *fit,
                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* One-way seconds of a ping-pong in the rehearsal, which may take `timeout_s` (0: what it takes).
 */
bool rh_ping_rehearse(const RhPlatform *platform, const RhPing *ping, double timeout_s,
                      double *seconds, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The profile as JSON text; caller frees. `source` names the file of the measurements. With
 * messages one network stack serves all links, and the profile has its facts; without, it has the
 * latency and the efficiency of the links between the nodes, or of those inside one. */
char *rh_pings_profile(const RhPingFit *fit, const RhPlatform *platform, const char *source,
                       const char *date);

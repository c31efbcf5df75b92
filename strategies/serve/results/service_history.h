#pragma once
/* A service's history for pictures: queues, running sequences, use of the cache and replicas, in
 * bins of equal width. There are so many bins at most, however long it is played:
 * where time goes beyond them, two become one.
 *
 *     g_autoptr(RhServiceHistory) h = rh_service_history_new(replicas);
 *     rh_service_history_level(h, 0, t_s, &(RhServiceLevel){.waiting = 3, .running = 8, .cached_frac = 0.4});
 *     rh_service_history_end(h, t_end_s);
 *     ... rh_service_history_bin(h, i)->waiting_s / h->bin_s ... */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define RH_SERVICE_HISTORY_BINS 240

/* Level of a replica from a time on. */
typedef struct {
    int32_t waiting, running; /* sequences */
    double cached_frac;       /* of the cache's blocks, in use */
} RhServiceLevel;

/* Sums over replicas, times seconds of the bin. */
typedef struct {
    double waiting_s, running_s;
    double cached_s;         /* fractions of a replica's cache */
    double cached_most_frac; /* of the fullest replica, at any time */
    double there_s;          /* replicas that take requests */
} RhServiceBin;

typedef struct {
    double bin_s;       /* width */
    int32_t bins_count; /* that were reached */
    double t_end_s;     /* the last time told: the last bin is filled until then */
    RhServiceBin bins[RH_SERVICE_HISTORY_BINS];
    /* Private: levels since a time, by replica, and replicas that are there. */
    int32_t replicas;
    RhServiceLevel *levels;
    double *since_s;
    double there, there_since_s;
} RhServiceHistory;

RhServiceHistory *rh_service_history_new(int32_t replicas);
void rh_service_history_free(RhServiceHistory *history);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServiceHistory, rh_service_history_free)

/* From t_s on; no earlier than what was said of the replica before. */
void rh_service_history_level(RhServiceHistory *history, int32_t replica, double t_s,
                              const RhServiceLevel *level);
/* Until t_s the use of its cache went evenly to this. */
void rh_service_history_ramp(RhServiceHistory *history, int32_t replica, double t_s,
                             double cached_frac);
/* Sets the number of replicas that take requests from t_s on. */
void rh_service_history_there(RhServiceHistory *history, double t_s, int32_t replicas);
/* Nothing comes behind t_s. */
void rh_service_history_end(RhServiceHistory *history, double t_s);

#pragma once
/* Nodes that come and go, from a file. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double t_s; /* from the start of the run */
    int32_t node;
    bool joins; /* else it is taken away */
} RhSpotEvent;

/* Price of a GPU and hour from a moment on. */
typedef struct {
    double t_s, usd_per_gpu_hour;
} RhSpotPrice;

/* Integral of the price over [from_s, to_s], in USD an hour times seconds. Before the first price that one holds. */
double rh_spot_price_sum(const RhSpotPrice *prices, int32_t count, double from_s, double to_s);

/* Reads a table into `events` (RhSpotEvent): either `seconds,event,node`, where an event is `add` or
 * `remove` and a node a name, or `seconds,instances`, how many there are from then on: of those the one that
 * has been there longest leaves first. A column `usd_per_gpu_hour` is read into `prices` (RhSpotPrice); an empty cell:
 * the price stays. RH_ERROR_INPUT with file:line:col, RH_ERROR_IO. */
bool rh_spot_trace_load(const char *path, GArray *events, GArray *prices,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;

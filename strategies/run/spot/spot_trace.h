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

/* Reads a table into `events` (RhSpotEvent): either `seconds,event,node`, where an event is `add` or
 * `remove` and a node a name, or `seconds,instances`, how many there are from then on: of those the one that
 * has been there longest leaves first. RH_ERROR_INPUT with file:line:col, RH_ERROR_IO. */
bool rh_spot_trace_load(const char *path, GArray *events, GError **error) G_GNUC_WARN_UNUSED_RESULT;

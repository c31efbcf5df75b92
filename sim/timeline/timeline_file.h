#pragma once
/* Writes a run's timeline as gzipped Chrome trace JSON (for Perfetto): a slice for each task, named
 * "ffn F 3" where it belongs to a micro-batch, with its shapes, FLOPs and bytes; a track per GPU
 * and lane that ran anything and a track of passes ("F 3", "B 3"), a counter of memory, arrows for
 * messages. At most 2,000,000 events; more is RH_ERROR_INPUT with the number and a way to get
 * fewer. Simulated and real runs are written in the same format, and read back for comparison. */
#include "sim/program_result.h"

/* One task of a timeline that was read. Strings are interned. */
typedef struct {
    int32_t gpu, lane, task;
    const char *name; /* without the micro-batch */
    double t_start_s, t_end_s;
} RhTimelineEvent;

bool rh_timeline_write(const RhProgram *p, const RhRun *run, const char *path,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads the events of such a file: RhTimelineEvent, caller unrefs. RH_ERROR_IO, RH_ERROR_INPUT. */
GArray *rh_timeline_read(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads the events from the parsed JSON. RH_ERROR_INPUT. */
GArray *rh_timeline_parse(RhJson *doc, GError **error) G_GNUC_WARN_UNUSED_RESULT;

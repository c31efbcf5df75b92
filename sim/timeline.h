#pragma once
/* A run's timeline as gzipped Chrome trace JSON (opens in Perfetto): a slice for each task, named
 * "ffn F 3" where it is part of a micro-batch, with its shapes, FLOPs and bytes; a track per GPU
 * and lane that ran anything and one of passes ("F 3", "B 3"), a counter of memory, arrows for
 * messages. At most 2,000,000 events; more is RH_ERROR_INPUT with the number and how to get fewer.
 * Rehearsed and real runs are written alike, and read back to be laid over each other. */
#include "sim/run.h"

/* One task of a timeline as read. Texts are interned. */
typedef struct {
    int32_t gpu, lane, task;
    const char *name; /* without the micro-batch */
    double t_start_s, t_end_s;
} RhTimelineEvent;

bool rh_timeline_write(const RhProgram *p, const RhRun *run, const char *path, GError **error);
/* The events of a file written so: RhTimelineEvent, caller unrefs. RH_ERROR_IO, RH_ERROR_INPUT. */
GArray *rh_timeline_read(const char *path, GError **error);
/* The same from the text inside. */
GArray *rh_timeline_parse(RhJson *doc, GError **error);

#pragma once
/* Reads the options of `run` that are lists: --failures, --checkpoint, --spares. */
#include "cli/parse/arguments.h"
#include "strategies/run/checkpoint.h"

/* Values of --checkpoint; 0: not said. */
typedef struct {
    double every_s, write_s, read_s, storage_bytes_per_s, client_bytes_per_s, memory_every_s;
    bool async;
} RhCheckpointWords;

/* RH_ERROR_USAGE or RH_ERROR_INPUT. */
bool rh_run_words_checkpoint(const char *text, RhCheckpointWords *out,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Sets rates, law and trace; `trace_s` (double) receives the times of a file, which the run borrows. */
bool rh_run_words_failures(const char *text, RhTrainingRun *run, GArray *trace_s,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
bool rh_run_words_spares(const char *text, RhTrainingRun *run,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

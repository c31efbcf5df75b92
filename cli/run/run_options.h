#pragma once
/* Reads the options of `run` that are lists: --failures, --checkpoint, --spares. */
#include "cli/parse/parsed_arguments.h"
#include "strategies/run/checkpoint_times.h"

/* Values of --checkpoint; 0: not said. */
typedef struct {
    double every_s, write_s, read_s, storage_bytes_per_s, client_bytes_per_s, memory_every_s;
    double nvme_bytes_per_s;
    bool async, drives; /* nvme without a rate: the platform's */
} RhCheckpointWords;

/* RH_ERROR_USAGE or RH_ERROR_INPUT. */
bool rh_run_words_checkpoint(const char *text, RhCheckpointWords *out,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Value of --failures; the run borrows it. */
typedef struct {
    RhFailureRates rates; /* with times of components as the other options say */
    GArray *trace;        /* RhTimedFailure; empty: by the rates */
} RhFailureWords;
/* Sets rates, law and trace of the run. */
bool rh_run_words_failures(const char *text, RhFailureWords *out, RhTrainingRun *run,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Reads "10min,network=30s": a time for all, and times of components. */
typedef RhOwnTime *RhComponentTimeOf(RhFailureComponent *component);
RhComponentTimeOf rh_run_words_detection, rh_run_words_repair;
bool rh_run_words_times(const char *option, const char *text, double *all_s,
                        RhComponentTimeOf *time_of, RhFailureRates *rates,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads "5min,GPU=20min,missed=10%". */
bool rh_run_words_diagnosis(const char *text, RhTrainingRun *run, RhFailureRates *rates,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads "every=5d,slows=20%,lasts=3h,found=10min" and "every=1h,lasts=30s". */
bool rh_run_words_stragglers(const char *text, RhTrainingRun *run,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
bool rh_run_words_stalls(const char *text, RhTrainingRun *run,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Words of a phase; 0: as the job. */
typedef struct {
    double tokens, batch, sequence, step_s, drop_frac;
    double whole_frac, silent_frac; /* of its steps: gradients as they are, nothing exchanged */
} RhPhaseWords;
/* Reads "tokens=100B,batch=512,seq=2048,step=3.1s,drop=50%,whole=15%,silent=50%". */
bool rh_run_words_phase(const char *text, RhPhaseWords *out,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads "every=30d,lasts=4h". */
bool rh_run_words_stops(const char *text, RhTrainingRun *run,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Nodes that come and go, and what a GPU and hour of them costs. */
typedef struct {
    GArray *events, *prices; /* RhSpotEvent, RhSpotPrice */
    double usd_per_gpu_hour; /* all the time; 0: not said */
} RhSpotWords;
/* Reads "FILE,price=0.91USD". */
bool rh_run_words_spot(const char *text, RhSpotWords *out,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
bool rh_run_words_spares(const char *text, RhTrainingRun *run,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

#pragma once
/* The part of `calibrate` for a GPU: raw samples of kernels to a profile. */
#include "cli/parse/parsed_arguments.h"

/* Kind of a file for `--from`, by its first line. NONE with an error when it cannot be read. */
typedef enum {
    RH_CALIBRATE_NONE,
    RH_CALIBRATE_KERNELS,   /* raw samples of kernels */
    RH_CALIBRATE_STEPS,     /* published training steps */
    RH_CALIBRATE_LINKS,     /* output of link benchmarks */
    RH_CALIBRATE_SERVED,    /* published serving runs */
    RH_CALIBRATE_EXCHANGES, /* tables of tokens sent to experts and back */
    RH_CALIBRATE_PINGS,
} RhCalibrateKind;
RhCalibrateKind rh_calibrate_kind(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the path of rehearse-kernels: from REHEARSE_KERNELS, else beside this program, else on
 * the path; NULL when there is none. Caller frees. */
char *rh_kernels_program(void);
/* Returns the path of rehearse-kernels-cpu likewise: from REHEARSE_KERNELS_CPU first. Caller frees. */
char *rh_kernels_cpu_program(void);
/* Is it this machine's processor that is to be measured: --device cpu? */
bool rh_calibrate_is_processor(const RhArguments *a);
/* Runs rehearse-kernels, or rehearse-kernels-cpu; *raw_path (owned) is its output file. Returns the exit status, with
 * `error` unless it is 0. */
int rh_calibrate_measure(const RhArguments *a, char **raw_path,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Fits the files (const char*), reports, writes the profile. Returns the exit status. */
int rh_calibrate_kernels(const RhArguments *a, const GPtrArray *paths,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Runs --tables without other inputs. Returns the exit status. */
int rh_calibrate_tables(const RhArguments *a, GError **error) G_GNUC_WARN_UNUSED_RESULT;

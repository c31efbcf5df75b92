#pragma once
/* The half of `calibrate` that is about a GPU: raw samples of kernels to a profile. */
#include "cli/arguments.h"

/* Does this file hold raw samples of kernels? False with an error when it cannot be read. */
bool rh_calibrate_is_raw(const char *path, bool *is_raw, GError **error);
/* rehearse-kernels: what REHEARSE_KERNELS names, else beside this program, else on the path; NULL
 * when it is nowhere. Caller frees. */
char *rh_kernels_program(void);
/* Runs rehearse-kernels; *raw_path (owned) is the file it left. Exit status; `error`
 * says why it is not 0. */
int rh_calibrate_measure(const RhArguments *a, char **raw_path, GError **error);
/* Fits the files (const char*), reports, writes the profile. Exit status. */
int rh_calibrate_kernels(const RhArguments *a, const GPtrArray *paths, GError **error);

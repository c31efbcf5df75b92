#pragma once
/* A device's constants from raw samples of its kernels. Method and formulas:
 * docs/theory/calibration.md.
 *
 *     g_autoptr(RhKernelsFit) fit = rh_kernels_fit(raws, device, 0.2, "2026-11-21", 0, &error);
 *     g_autofree char *profile = rh_kernels_fit_profile(fit);
 *
 * Order: the floor from empty kernels, streaming kernels, GEMM (form and main number format, then
 * the peak of each other format), attention forward, backward. What later fits need is fitted by
 * then. Kernels without a constant in the model (grouped GEMM, a GEMM beside a copy) are predicted
 * and reported. */
#include "calibrate/fit/fit_gemm_correction.h"
#include "calibrate/fit/fitted_facts.h"
#include "calibrate/surfaces/surfaces_fit.h"

typedef struct {
    char *name;     /* "gemm bf16 large", "gemm bf16 large, form" without the correction */
    bool predicted; /* no constant was fitted to these rows */
    RhFitFigures fitted, held_out;
} RhFitClass;

typedef struct {
    RhDevice *device;             /* with the fitted facts in place, owned */
    GArray *facts;                /* RhFittedFact */
    GArray *classes;              /* RhFitClass */
    GPtrArray *notes;             /* char*, owned: what was left out, and why */
    RhCorrectionTrial correction; /* kept: it is in the device */
    char *source;                 /* of every fact: files, GPU, libraries, day */
    const char *date;             /* of every fact, interned "YYYY-MM" */
    double holdout_frac;
    double clock_frac; /* median SM clock of the long GEMMs over the most; 0: unknown */
} RhKernelsFit;

/* `raws`: RhRaw, of one GPU model. `today` dates files that carry no date. RH_ERROR_INPUT when the
 * files are of another device than `device`, or hold nothing that can be fitted; RH_ERROR_NO_ANSWER
 * after `timeout_s` (0: none). */
RhKernelsFit *rh_kernels_fit(const GPtrArray *raws, const RhDevice *device, double holdout_frac,
                             const char *today, double timeout_s,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_kernels_fit_free(RhKernelsFit *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhKernelsFit, rh_kernels_fit_free)

/* The catalogue's device that these samples are of, by its name in them. RH_ERROR_USAGE when none
 * or several could be meant. Interned. */
const char *rh_kernels_fit_device_name(const RhRaw *raw, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The profile as JSON text, caller frees. `surfaces`, of serving's tables, go beside; either of the
 * two may be NULL. */
char *rh_kernels_fit_profile(const RhKernelsFit *fit, const char *device,
                             const RhSurfacesFit *surfaces);

#pragma once
/* Raw samples of a device that exists nowhere: its constants are known, its times come from the
 * cost model, with noise. */
#include <glib.h>
#include <gsl/gsl_randist.h>
#include <math.h>

#include "calibrate/kernels/kernels_fit.h"

#define KIT_HEADER                                                                                 \
    "kernel,dtype,batch,m,n,k,heads,kv_heads,causal,bytes,flops,library,repetitions,seconds,"      \
    "low_s,high_s,sm_mhz,watts\n"
#define KIT_HEAD                                                                                   \
    RH_RAW_FIRST_LINE "\n# device=synthetic\n# sms=132\n# date=2026-11-21T00:00:00Z\n" KIT_HEADER

/* An h200-sxm whose constants are round figures. */
RhDevice *kit_device(void);

typedef struct {
    const RhDevice *device;
    gsl_rng *rng;
    double noise_frac;
    double (*factor)(const RhKernel *kernel); /* NULL: 1 */
    GString *text;
} KitRaw;

void kit_row(const KitRaw *kit, const char *name, const RhKernel *k);

/* `sides` of n and k each, `rows` of m. */
void kit_gemms(const KitRaw *kit, RhDtype dtype, int rows, int sides);

void kit_attentions(const KitRaw *kit, const char *name, RhKernelClass cls);

void kit_streams(const KitRaw *kit);

KitRaw kit_raw(const RhDevice *device, double noise_frac);

void kit_raw_clear(KitRaw *kit);

/* Fits constants of a device to raw samples, a fifth of them held out; NULL with the error. */
RhKernelsFit *kit_fit(const char *text, const RhDevice *device, GError **error);
/* The constant of this key; NULL: it was not fitted. */
const RhFittedFact *kit_fact(const RhKernelsFit *fit, const char *key);

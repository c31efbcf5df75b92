#pragma once
/* Correction of the GEMM formula: factors on its time over a coarse grid of shapes.
 *
 * Nodes lie two octaves apart: m = 1, 4 ... 65536; n and k = 64, 256 ... 65536, clamped beyond.
 * Between nodes the factor is trilinear in the positions of m, n and k, where a position is the
 * binary exponent plus the mantissa's fraction: continuous, positive and cheap. Nodes without
 * samples have factor 1. The fit is in calibrate/. */
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "platforms/devices/kernel.h"

#define RH_CORRECTION_M     9
#define RH_CORRECTION_N     6
#define RH_CORRECTION_K     6
#define RH_CORRECTION_NODES (RH_CORRECTION_M * RH_CORRECTION_N * RH_CORRECTION_K)

typedef struct {
    RhDtype dtype;                       /* format of the samples; NONE: no correction */
    double factors[RH_CORRECTION_NODES]; /* [m][n][k], k fastest; above 0 */
    double spread_frac;                  /* 95 % interval of a typical node's factor, +- */
    const char *source, *date;           /* as in RhFact */
} RhGemmCorrection;

/* Nodes around a shape with their weights, which are at least 0 and sum to 1. */
typedef struct {
    int32_t node[8];
    double weight[8];
} RhCorrectionPlace;

void rh_gemm_correction_place(int64_t m, int64_t n, int64_t k, RhCorrectionPlace *place);
double rh_gemm_correction_factor(const RhGemmCorrection *c, int64_t m, int64_t n, int64_t k);
/* Returns whether the correction applies to this format. The 16-bit formats share one. */
bool rh_gemm_correction_fits(const RhGemmCorrection *c, RhDtype dtype);

/* Reads {"dtype": "bf16", "tag": "fitted", "source": ..., "date": ..., "spread": "2%", "factors":
 * [...]}; problems are collected in the document. */
void rh_gemm_correction_read(RhJson *doc, const RhJsonNode *node, RhGemmCorrection *c);
void rh_gemm_correction_write(RhJsonWriter *w, const char *key, const RhGemmCorrection *c);

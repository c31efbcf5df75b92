#pragma once
/* What linear mixers have in common: a short convolution, and a scan of the sequence that carries a
 * matrix of state from chunk to chunk. Private to workloads/operators/. */
#include "workloads/operators/operator.h"

/* One rank's share of a scan. */
typedef struct {
    int64_t heads, groups; /* of values, of keys */
    int64_t key, value;    /* columns of one of each: the state is a matrix of both, in fp32 */
    int64_t chunk;
} RhScan;

/* A kernel of the scan: what it does and touches for one token. */
typedef struct {
    double flops, bytes;
} RhScanStep;

/* Appends each step as a kernel, its figures `times` as large. */
void rh_scan_steps(RhOps *ops, const RhScan *scan, const RhScanStep *steps, int count,
                   double times);
/* A token of each sequence on its state, which is read and written; `flops` a token. */
void rh_scan_decode(RhOps *ops, const RhScan *scan, double flops);
/* The state of a sequence, and the tokens that the next convolution looks back to. */
RhCacheBytes rh_scan_cache(const RhOps *ops, const RhScan *scan, double channels);
/* A depthwise convolution of so many channels with its activation; backward, the data's gradient. */
void rh_scan_convolve(RhOps *ops, double channels, bool backward);
/* ... and the gradient of its taps. */
void rh_scan_taps_gradient(RhOps *ops, double channels);
/* The gradient of the first matrix, and of the biases of both ends where there are any. */
void rh_scan_in_gradient(RhOps *ops, int64_t in);
double rh_scan_convolution_flops(const RhOps *ops, double channels);
double rh_scan_convolution_params(const RhOps *ops, double channels);
/* A norm of the scan's output, scaled by a gate of as many elements. */
void rh_scan_gated_norm(RhOps *ops, double elements, bool backward);
/* Mamba-2's scan a token, in chunks of Q: states at the ends of chunks from values and keys; these handed on; the output from
 * queries, the states, and the chunk's own tokens, whose scores are queries times keys (whole squares). */
void rh_scan_chunks(const RhOps *ops, const RhScan *scan, RhScanStep steps[3]);
/* Bytes a token of the states between chunks, once. */
double rh_scan_state_bytes(const RhScan *scan);
/* Linear layers of such a mixer: one matrix in, one out of `values` columns; bytes kept of the second's input for
 * its own gradient alone. Returns how many. */
int rh_scan_linears(const RhOps *ops, int64_t in, int64_t values, double kept,
                    RhLinear list[RH_LINEARS_MAX]);

#pragma once
/* Small programs for the engine's tests. */
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/collective/collective.h"
#include "sim/engine/workers/isolated_run.h"
#include "sim/uncontended_critical_path.h"
#include "tests/kit/testkit.h"

RhPlatform *kit_platform(const char *spec);

/* Runs, and fails the test with the message when that fails. */
RhRun *kit_run(const RhProgram *p, const RhPlatform *platform, RhEngineOptions options);

double kit_time_s(const RhProgram *p, const RhPlatform *platform, RhEngineOptions options);

RhTask kit_task(RhTaskKind kind, RhLane lane);

int32_t kit_wait(RhProgram *p, double seconds, const int32_t *preds, int32_t count);

int32_t kit_collective(RhProgram *p, RhLane lane, RhOp op, RhAlgo algo, int32_t group, double bytes,
                       int32_t pred);

int32_t kit_message(RhProgram *p, RhTaskKind kind, RhLane lane, int32_t delta, double bytes,
                    int32_t pred);

/* One collective on every rank: groups of `size` ranks, `stride` apart. */
RhProgram *kit_one_collective(int32_t ranks, int32_t size, int32_t stride, RhOp op, RhAlgo algo,
                              double bytes);

/* `count` ranks from rank 0 on send to the ranks `delta` above them, all at once. */
RhProgram *kit_messages(int32_t ranks, int32_t count, int32_t delta, double bytes);

/* Rank 0 runs a kernel and then sends to rank 1. */
RhProgram *kit_kernel_then_message(double kernel_s, double bytes);

/* A GPipe step of pp stages x dp replicas x tp shards, tensor shards innermost; gradients are
 * reduced layer by layer while the backward pass goes on. */
typedef struct {
    int32_t tp, dp, pp, microbatches, layers;
    bool stages_inside; /* ranks: tp, then stages, then replicas; else tp, replicas, stages */
    RhAlgo tp_algo, dp_algo;
    double kernel_s, tp_bytes, dp_bytes, message_bytes;
    double uneven_s; /* stage k's kernels take kernel_s + k * uneven_s */
    /* bytes that the first and the last stage sum between them, after which all ranks sum a number;
     * 0: no such sums */
    double shared_bytes;
} KitStep;

RhProgram *kit_step(KitStep k);

/* A step of up to 512 ranks. */
KitStep kit_draw(gsl_rng *rng);

/* Ranks on GPUs of the first nodes in any order. */
void kit_shuffle(RhProgram *p, gsl_rng *rng);

static const char *const kit_clusters[] = {
    "h100-sxm:8x16,ib:400Gb/s",
    "h100-sxm:8x16,ib:400Gb/s,nics:1",
    "h100-sxm:8x16,ib:200Gb/s,leaf:4,oversub:7",
    "h100-sxm:4x32,ib:400Gb/s,nics:2",
};

/* Gives collectives that this placement cannot perform with their algorithm a ring instead. */
void kit_settle(RhProgram *p, const RhPlatform *platform);

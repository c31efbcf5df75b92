#pragma once
/* A case from catalogue names, for tests of strategies. */
#include <string.h>

#include "sim/engine/workers/isolated_run.h"
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/plan.h"
#include "strategies/train/program/program_build.h"
#include "strategies/train/train.h"
#include "tests/kit/testkit.h"

typedef struct {
    RhModel *model;
    RhPlatform *bare, *platform;
    RhStack *stack; /* its own, where it has one */
    RhProblem c;
} TrainKit;

/* Model and platform from the catalogue or one-line form; every GPU of the platform. Free with
 * train_kit_clear. */
TrainKit train_kit(const char *model, const char *platform, const char *stack, int64_t global_batch,
                   int64_t sequence);

/* Lets the stack run every degree of ZeRO with stages, second shares and every schedule, whatever its
 * framework does: for tests of what a step costs. */
void train_kit_runs_all(TrainKit *k);

/* Some modules of the model's layers, by the bits of a number that was drawn. */
RhRecompute train_drawn_modules(const RhModel *model, uint32_t bits);

void train_kit_clear(TrainKit *k);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TrainKit, train_kit_clear)

RhLayout train_layout(const TrainKit *k, const char *text);

/* Builds the program of a layout and checks it; the caller frees it. */
RhProgram *train_build(const TrainKit *k, const char *layout);

/* Returns the rehearsed step of a layout. */
double train_step_s(const RhProblem *c, const RhLayout *l, bool unfolded);

/* Returns the bound of its segment graph. */
double train_segment_s(const RhProblem *c, const RhLayout *l);

/* A layout of two nodes, and a part of the reason why it is refused. */
typedef struct {
    const char *model, *stack, *layout, *why; /* why: NULL: it is legal */
} TrainJudged;

void train_check_judged(const TrainJudged *row);

/* Collectives of one kind of group. */
double train_group_bytes(const RhProgram *p, const char *label, RhOp op);

/* Bytes of a role's collectives on a lane, as buffers. */
double train_buffers(const RhProgram *p, int32_t role, RhLane lane, RhOp op);

double train_kernel_flops(const RhProgram *p, RhKernelClass cls);

double train_kernel_bytes(const RhProgram *p, RhKernelClass cls);

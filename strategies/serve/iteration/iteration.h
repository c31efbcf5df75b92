#pragma once
/* What an iteration of a server takes: one pass over the model for a batch of prompts, parts of
 * prompts, and one token each of sequences that are being continued.
 *
 *   T = tokens(n) + logits(r) + sum of chunks + decode(b, contexts) + host
 *
 * from the kernels of operators (RH_PASS_PREFILL, RH_PASS_DECODE) on one rank, and what tensor ranks
 * exchange. What is done to every token alike depends on their number; attention on whose tokens they
 * are. All parts are remembered, so that an iteration costs a few look-ups. Formulas:
 * docs/theory/serving.md. */
#include <stdint.h>

#include "base/cost.h"
#include "platforms/devices/extrapolation.h"
#include "platforms/platform.h"
#include "sim/program.h"
#include "strategies/serve/server.h"
#include "workloads/expert_load.h"
#include "workloads/model.h"
#include "workloads/recipe.h"

/* What is served, on what, by what: borrowed pointers that outlive it. `platform` is as described; the
 * server's profile is laid over a copy. */
typedef struct {
    const RhModel *model;
    const RhRecipe *recipe; /* of weights and linear layers */
    const RhPlatform *platform;
    const RhServer *server;
    const RhExpertLoad *load; /* how evenly experts are asked; NULL: balanced */
} RhServing;

typedef struct RhIterations RhIterations;

/* Tokens of one prompt, behind `cached` ones that are in the cache. */
typedef struct {
    int32_t cached, tokens;
} RhChunk;

/* A batch. `contexts`: of the sequences that are continued, all cached tokens together, the new ones
 * among them. */
typedef struct {
    int32_t decodes;
    int64_t contexts;
    const RhChunk *chunks;
    int32_t chunks_count;
    int32_t ended; /* of the chunks, those that end their prompt: each gives a token */
} RhBatch;

/* Iterations that differ by their contexts alone, each sequence one token longer each time: the j-th
 * takes first_s + j growth_s, for j < steps. */
typedef struct {
    double first_s, growth_s;
    int32_t steps;
} RhDecodeRun;

/* RH_ERROR_USAGE: the pool cannot be on this platform, or cuts what does not divide. */
RhIterations *rh_iterations_new(const RhServing *serving, const RhPool *pool, GError **error);
void rh_iterations_free(RhIterations *iterations);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhIterations, rh_iterations_free)

double rh_iteration_s(RhIterations *it, const RhBatch *batch);
/* Of `decodes` sequences with so many cached tokens together. At least one step. */
RhDecodeRun rh_iteration_run(RhIterations *it, int32_t decodes, int64_t contexts);
/* What ranks of a server send each other in an iteration, in the order of its layers' kinds; but for sums by
 * the server's own kernels inside a node. */
typedef struct {
    RhOp op;
    bool experts; /* over all ranks that share them; else over the tensor ranks */
    double bytes; /* as a program's collective has them */
} RhServedExchange;
/* Of one that reads and continues so many tokens of its fullest group, `sequences` of which get one: appended to
 * `out`. */
void rh_iteration_exchanges(RhIterations *it, int32_t tokens, int32_t sequences, GArray *out);
/* Seconds of all of these, of the server's own kernels, and of handing on from stage to stage. */
double rh_iteration_exchanges_s(RhIterations *it, int32_t tokens, int32_t sequences);
/* Of the stream between layers, of so many tokens. */
double rh_iteration_hidden_bytes(const RhIterations *it, int32_t tokens);
/* What a stage of so many tokens hands on to the next: besides, as numbers (RH_CHOSEN_KEY_BYTES), which keys were chosen, where layers look
 * at those of one before them; of every context as though there were more to choose from. */
double rh_iteration_handed_bytes(const RhIterations *it, int32_t tokens);
/* What it takes, alone. */
double rh_served_exchange_s(RhIterations *it, const RhServedExchange *exchange);

/* Of the kernels of iterations: seconds of all, of those whose shapes the device's tables and constants do not hold, and
 * of experts of which there is no table. */
typedef struct {
    double kernels_s, untabled_s;
    RhExtrapolation beyond[RH_CALIBRATED_RANGE_LAST];
} RhIterationKernels;
/* Adds those of a batch, so many times. */
void rh_iteration_add_kernels(RhIterations *it, const RhBatch *batch, double times,
                              RhIterationKernels *sums);

const RhPool *rh_iterations_pool(const RhIterations *it);
/* One rank: bytes of weights; of keys and values of one token; and for a sequence however long (states
 * of linear mixers). */
double rh_iterations_weight_bytes(const RhIterations *it);
double rh_iterations_token_bytes(const RhIterations *it);
double rh_iterations_sequence_bytes(const RhIterations *it);
double rh_iterations_streamed_bytes(const RhIterations *it); /* weights that lie elsewhere */
/* To bring the weights that stay to the GPUs, from drives where there are some. */
double rh_iterations_weights_s(const RhIterations *it);
const RhPlatform *rh_iterations_platform(const RhIterations *it); /* with the server's profile */

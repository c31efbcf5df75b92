#pragma once
/* Time of an iteration of a server: one pass of the model over a batch of prompts, chunks of
 * prompts, and one token of each decoded sequence.
 *
 *   T = tokens(n) + logits(r) + prompts + decode(b, contexts) + host
 *
 * from the kernels of operators (RH_PASS_PREFILL, RH_PASS_DECODE) on one rank and the exchanges of
 * tensor ranks. Attention depends on the sequences; everything else depends only on the number of
 * tokens. All terms are cached, so that an iteration costs a few look-ups. Formulas:
 * docs/theory/serving.md. */
#include <stdint.h>

#include "base/cost_tree.h"
#include "platforms/devices/extrapolated_time_sum.h"
#include "platforms/platform.h"
#include "sim/program.h"
#include "strategies/serve/server_software.h"
#include "workloads/expert_load.h"
#include "workloads/model.h"
#include "workloads/precision_recipe.h"

/* Model, platform and server of a service: borrowed pointers, which must outlive it. `platform` is
 * without the server's profile, which is applied to a copy. */
typedef struct {
    const RhModel *model;
    const RhRecipe *recipe; /* of weights and linear layers */
    const RhPlatform *platform;
    const RhServer *server;
    const RhExpertLoad *load; /* distribution of tokens over experts; NULL: balanced */
} RhServing;

typedef struct RhIterations RhIterations;

/* Libraries of experts' grouped products that a pool may name; the first, "auto": the server's.
 * NULL-ended. */
extern const char *const rh_expert_libraries[];

/* A chunk of a prompt: `tokens` tokens after `cached` ones that are in the cache. */
typedef struct {
    int32_t cached, tokens;
} RhChunk;

/* The batch of an iteration. */
typedef struct {
    int32_t decodes;  /* number of decoded sequences */
    int64_t contexts; /* sum of their cached tokens, new ones included */
    const RhChunk *chunks;
    int32_t chunks_count;
    int32_t ended; /* number of chunks that end their prompt, each of which yields a token */
} RhBatch;

/* Run of decode iterations in which every sequence grows by one token each time: iteration j takes
 * first_s + j growth_s, for j < steps. */
typedef struct {
    double first_s, growth_s;
    int32_t steps;
} RhDecodeRun;

/* Returns the iterations of a pool; the caller frees them. RH_ERROR_USAGE: the pool does not fit
 * the platform, or divides the model unevenly. */
RhIterations *rh_iterations_new(const RhServing *serving, const RhPool *pool,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_iterations_free(RhIterations *iterations);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhIterations, rh_iterations_free)

/* Returns the seconds of an iteration. */
double rh_iteration_s(RhIterations *it, const RhBatch *batch);
/* Returns a run of decode iterations, with at least one step, for `decodes` sequences with
 * `contexts` cached tokens in total. */
RhDecodeRun rh_iteration_run(RhIterations *it, int32_t decodes, int64_t contexts);
/* A collective between the ranks of a server. */
typedef struct {
    RhOp op;
    bool experts; /* over all ranks that share the experts; else over the tensor ranks */
    double bytes; /* as of a collective of a program */
} RhServedExchange;
/* Appends the exchanges (RhServedExchange) of an iteration to `out`, by kind of layer, without sums
 * by the server's own kernels inside a node. `tokens`: tokens of the largest attention group;
 * `sequences`: number of them that get logits. */
void rh_iteration_exchanges(RhIterations *it, int32_t tokens, int32_t sequences, GArray *out);
/* Returns the seconds of all these exchanges, of the server's own kernels, and of messages between
 * stages. */
double rh_iteration_exchanges_s(RhIterations *it, int32_t tokens, int32_t sequences);
/* Returns the bytes of the hidden states of `tokens` tokens. */
double rh_iteration_hidden_bytes(const RhIterations *it, int32_t tokens);
/* Returns the bytes that a stage sends to the next for `tokens` tokens: hidden states and, if later
 * layers reuse the key selection of a layer before, the selected indices (RH_CHOSEN_KEY_BYTES
 * each), counted as for contexts longer than the selection. */
double rh_iteration_handed_bytes(const RhIterations *it, int32_t tokens);
/* Returns the seconds of an exchange without contention. */
double rh_served_exchange_s(RhIterations *it, const RhServedExchange *exchange);

/* Sums over the kernels of iterations: seconds of all, of experts without a measured table, and of
 * kernels outside of the calibrated ranges. */
typedef struct {
    double kernels_s, untabled_s;
    RhExtrapolation beyond[RH_CALIBRATED_RANGE_LAST];
} RhIterationKernels;
/* Adds the kernels of a batch `times` times. */
void rh_iteration_add_kernels(RhIterations *it, const RhBatch *batch, double times,
                              RhIterationKernels *sums);

const RhPool *rh_iterations_pool(const RhIterations *it);
/* Return bytes on one rank: of weights; of keys and values of one token; of a sequence regardless
 * of its length (states of linear mixers); and of weights that are streamed from host memory or
 * drives. */
double rh_iterations_weight_bytes(const RhIterations *it);
double rh_iterations_token_bytes(const RhIterations *it);
double rh_iterations_sequence_bytes(const RhIterations *it);
double rh_iterations_streamed_bytes(const RhIterations *it);
/* Returns the seconds to load the resident weights to the GPUs, from drives if the node has any. */
double rh_iterations_weights_s(const RhIterations *it);
const RhPlatform *rh_iterations_platform(const RhIterations *it); /* with the server's profile */

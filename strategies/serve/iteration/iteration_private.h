#pragma once
/* Members of RhIterations. Private to iteration*.c. */
#include "strategies/serve/iteration/iteration.h"
#include "workloads/operator_costs.h"

struct RhIterations {
    const RhModel *model;
    const RhServer *server;
    RhPlatform *platform;
    RhPool pool;
    RhShard shard;
    RhRecipe recipe; /* the shard's: nothing is kept for a backward pass */
    bool casts_inside;
    /* Maximum bytes of sums over tensor ranks that include the norm; negative: none does. */
    double norms_bytes;
    int32_t layers[RH_LAYER_KINDS_MAX];
    GArray *tokens_s;    /* double by number of tokens; NaN: not computed yet */
    GArray *exchanges_s; /* part of tokens_s: exchanges of ranks */
    GArray *logits_s;    /* double by number of sequences */
    GPtrArray *decode_s; /* by number of sequences: NODES doubles, or NULL */
    /* double by sequences << 32 | tokens of each, for models without tokens to decode. */
    GHashTable *passes_s;
    bool makes_tokens;
    GArray *kernels;             /* RhKernel: buffer */
    RhIterationKernels *watched; /* sums to which timed kernels are added; NULL: none */
    double watched_times;
    double weight_bytes, token_bytes, sequence_bytes;
    double streamed_bytes, stream_s; /* of a rank, in an iteration; 0: no streamed weights */
};

/* --- iteration_exchange.c --- */

/* Returns the shard of a chunk: `tokens` tokens of a prompt after `cached` ones. */
RhShard rh_iteration_prompt_shard(const RhIterations *it, int32_t tokens, int32_t cached);
/* Returns the shard of one rank's part of the tokens, which it sends to spread experts. */
RhShard rh_iteration_experts_shard(const RhShard *shard);
/* Return the seconds of the exchanges for the shard's tokens, and of gathering the logits of
 * `sequences` sequences. */
double rh_iteration_shard_exchanges_s(RhIterations *it, const RhShard *shard);
double rh_iteration_gather_s(const RhIterations *it, int32_t sequences);

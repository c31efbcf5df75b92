#pragma once
/* What iterations of a pool are told from. Private to iteration*.c. */
#include "strategies/serve/iteration/iteration.h"
#include "workloads/ops.h"

struct RhIterations {
    const RhModel *model;
    const RhServer *server;
    RhPlatform *platform;
    RhPool pool;
    RhShard shard;
    RhRecipe recipe; /* the shard's: nothing is kept for a backward pass */
    bool casts_inside;
    /* sums over tensor ranks of at most so many make norms too; below 0: none does */
    double norms_bytes;
    int32_t layers[RH_LAYER_KINDS_MAX];
    GArray *tokens_s;    /* double by tokens; NaN: not asked yet */
    GArray *exchanges_s; /* of these, what ranks exchange */
    GArray *logits_s;    /* by sequences */
    GPtrArray *decode_s; /* by sequences: NODES doubles; NULL */
    GHashTable
        *passes_s; /* double by sequences << 32 | tokens of each: of a model that is asked once */
    bool makes_tokens;
    GArray *kernels;             /* RhKernel: work space */
    RhIterationKernels *watched; /* where kernels are added that are timed; NULL: nowhere */
    double watched_times;
    double weight_bytes, token_bytes, sequence_bytes;
    double streamed_bytes, stream_s; /* of a rank, in an iteration; 0: weights stay */
};

/* --- iteration_exchange.c --- */

/* Of so many tokens of a prompt, behind `cached` ones. */
RhShard rh_iteration_prompt_shard(const RhIterations *it, int32_t tokens, int32_t cached);
/* Where experts lie on some of the ranks, each rank gives its own part of the tokens to them. */
RhShard rh_iteration_experts_shard(const RhShard *shard);
/* Seconds that the ranks exchange for the shard's tokens; and to gather the logits of so many sequences. */
double rh_iteration_shard_exchanges_s(RhIterations *it, const RhShard *shard);
double rh_iteration_gather_s(const RhIterations *it, int32_t sequences);

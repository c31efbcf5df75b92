#pragma once
/* Who is given what: a rank's experts, and the tokens that are theirs. Knows how expert parallelism
 * spreads experts over ranks, and how evenly they are asked (workloads/expert_load.h); of kernels and bytes
 * it knows nothing (mixture_of_experts.c). */
#include "workloads/operators/operator.h"

/* A rank's experts and the tokens that they are given, one for each expert asked; columns of what an
 * expert is given (the hidden state, or a latent of it), and of its matrices up and down. `sent` of
 * the rank's own tokens leave for experts, from `from` tokens that it has, and `come` to it. Where
 * experts are asked unevenly all this is the busiest rank's, to which others send `busiest` times as
 * much as in the mean. */
typedef struct {
    int64_t experts, tokens, in, up, down;
    int64_t shared; /* of the tokens, those of a shared expert, which is one of the products */
    double from, sent, come, busiest;
    bool spread; /* over ranks: tokens travel */
    bool once;   /* ... to each rank once, whose experts share what came */
    bool filled; /* ... as many rows for each expert, filled up */
    RhRouting routing;
} RhRouted;

/* Ranks that share each expert's width. */
int32_t rh_expert_tensor_of(const RhShard *shard);
/* Over other ranks than those of the tensor group. */
bool rh_experts_are_spread(const RhShard *shard);
/* The shared expert, asked by every token, is in the experts' grouped products: forward alone, as a
 * server has it. */
bool rh_experts_share_inside(const RhOps *ops);

RhRouted rh_routed_of(const RhOps *ops);
/* With a shared expert inside. */
RhRouted rh_routed_with_shared(RhRouted routed);

/* Experts that have tokens, and what each has of them, in whole rows. Each token asks for k of all E
 * experts, evenly: one of them has none of T tokens with probability (1 - k/E)^T. */
int64_t rh_routed_busy(const RhRouted *routed);
int64_t rh_routed_rows(const RhRouted *routed);

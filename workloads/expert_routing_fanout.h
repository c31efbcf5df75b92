#pragma once
/* Which experts a token asks, as far as volumes depend on it: `chosen` of `experts`, which first may
 * have to be within `groups_chosen` of `groups` (node-limited routing, DeepSeek-V3, arXiv
 * 2412.19437, section 2.1.2). Experts stand in order of their groups and are dealt out in that order.
 * Assumed: every choice that the rule allows is as likely. */
#include <stdint.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded" /* compared by its bytes */
typedef struct {
    int32_t experts, chosen;       /* experts 0: no routing */
    int32_t groups, groups_chosen; /* 1 and 1: no such limit */
    /* What the kernels that carry the tokens make of the links' rates by their data sheets, where that is
     * known apart from collectives; 0: what collectives make of them. */
    double nvlink_frac, nic_frac;
} RhRouting;
#pragma GCC diagnostic pop

#define RH_ROUTING_EXPERTS_MAX 4096 /* of a program that was read */

/* Of `parts` equal runs of consecutive experts (ranks, nodes) the number, in the mean, that hold some
 * expert that a token asks: what it is copied to if nobody is sent it twice. `parts` divides
 * experts, `groups` too. Formula: docs/theory/workload.md. */
double rh_routing_parts(const RhRouting *routing, int32_t parts);
/* What falls to the busiest of `parts`, of so many tokens, over the mean: chance makes ranks uneven, the more
 * so where a token's experts are within a few groups. 1 where there is no such limit. Formula:
 * docs/theory/workload.md. */
double rh_routing_busiest(const RhRouting *routing, int32_t parts, double tokens);

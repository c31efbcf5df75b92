#pragma once
/* Backends of all-to-all: kernels that send tokens to the experts of other GPUs and back (DeepEP,
 * pplx-kernels), as facts of a version in strategies/a2a_backends/NAME.json. They reach all ranks at
 * once, by NVLink inside a node and by the NIC of each GPU beyond, both at the same time:
 *
 *   T = base + inter [more than one node] + node log2(nodes) + slot tokens experts/ranks
 *         + max(NIC bytes / (nic bandwidth), NVLink bytes / (peer bandwidth), handled bytes / (sm SMs))
 *
 * Formulas and how far off: docs/theory/serving.md. */
#include <stdbool.h>
#include <stdint.h>

#include "base/fact.h"
#include "platforms/platform.h"
#include "workloads/expert_routing_fanout.h"

/* Constants of one direction. */
typedef struct {
    RhFact base_s;
    RhFact inter_s;   /* added if there is more than one node */
    RhFact node_s;    /* added for each doubling of nodes */
    RhFact slot_s;    /* per token and expert of a rank, for buffers sized for all tokens */
    RhFact nic_frac;  /* of the NIC's bandwidth */
    RhFact peer_frac; /* of NVLink's bandwidth */
    /* Bytes per second of one SM within a node and across nodes (other kernels, whose SMs also
     * forward): it handles all copies of a token, those to its own rank and to the NIC included,
     * and own_count more for reading or writing the token itself. 0: SMs are never the limit. */
    RhFact sm_bytes_per_s, sm_inter_bytes_per_s, own_count;
} RhA2aBackendPart;

typedef struct {
    const char *name, *about;
    /* a token goes once to a node, and there once to a rank, however many of its experts are there;
     * else once for each expert */
    bool once;
    bool alone;        /* all of it goes through the NIC, what stays in the node too */
    int32_t sms_count; /* that the kernels run on where nobody says otherwise; 0: not said */
    RhA2aBackendPart dispatch, combine;
} RhA2aBackend;

/* Load of one rank. */
typedef struct {
    int32_t ranks;
    double tokens;
    double token_bytes; /* of a token, once */
    int32_t sms_count;  /* 0: as the backend says */
    RhRouting routing;  /* experts and chosen at least 1 */
} RhA2aLoad;

double rh_a2a_backend_s(const RhA2aBackend *backend, const RhA2aBackendPart *part,
                        const RhPlatform *platform, const RhA2aLoad *load);
/* Copies of a token in the mean, its own rank's or node's included: to ranks, and to nodes of
 * `each`. */
double rh_a2a_copies(const RhA2aLoad *load, int32_t parts);

/* Name of the backend that training's `dispatch=deepep` uses. */
#define RH_A2A_BACKEND_ONCE "deepep"

/* Borrowed, for ever. RH_ERROR_USAGE: there is none of that name; RH_ERROR_INPUT with positions:
 * its file is wrong. */
const RhA2aBackend *rh_a2a_backend_by_name(const char *name,
                                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
const char *const *rh_a2a_backend_names(void); /* sorted, NULL-ended */

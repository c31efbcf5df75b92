#pragma once
/* The software that serves a model, of one version: its scheduler, and what it adds to the
 * hardware.
 *
 * A file each (strategies/serve/servers/NAME.json), which may derive from another; every number
 * is a fact. A server never knows a model or a deployment. What its kernels take is in the
 * profiles of devices that it names. */
#include <stdbool.h>
#include <stdint.h>

#include "base/fact.h"
#include "base/units.h"
#include "platforms/platform.h"
#include "strategies/a2a_backend.h"
#include "strategies/serve/deployment.h"
#include "strategies/serve/memory_reserve.h"

typedef struct RhScheduler RhScheduler;

#define RH_SERVER_PROFILES_MAX 16
#define RH_SERVER_NORMS_MAX    4

/* All of the device's memory; what is free before weights are loaded; what weights and a full
 * iteration leave. */
typedef enum { RH_MEMORY_OF_ALL, RH_MEMORY_OF_FREE, RH_MEMORY_OF_REST } RhMemoryOf;

/* Profiles by device. */
typedef struct {
    const char *format; /* interned; of experts, the only one that these are for: "fp8_block" */
    int32_t count;
    struct {
        const char *device, *profile; /* interned */
    } list[RH_SERVER_PROFILES_MAX];
} RhServerProfiles;

typedef struct {
    const char *name, *about;
    const char *derives; /* name of the server that it differs from; NULL: none */
    const RhScheduler *scheduler;
    RhFact step_s;        /* of each iteration, beside its kernels: the host's share that shows */
    RhFact rank_step_s;   /* more for each doubling of tensor ranks */
    RhFact sequence_s;    /* more for each sequence that an iteration makes a token of */
    RhFact prompt_frac;   /* rate of kernels in iterations that read prompts, over that of kernels
                              timed one by one: clocks fall under their power */
    RhFact admit_s;       /* from a request's arrival until it can be scheduled */
    RhFact first_s;       /* from an iteration's end until the client has its tokens */
    RhFact memory_frac;   /* of the device's memory that the server takes */
    RhFact reserve_bytes; /* neither weights, cache nor activations: the process, graphs, buffers */
    /* more where there are tensor ranks: what they exchange goes through */
    RhFact rank_reserve_bytes;
    /* of the rate of the link to the host's memory, what streamed weights reach */
    RhFact stream_host_frac;
    /* the same while weights from drives, which are in host memory by then, are copied */
    RhFact stream_nvme_frac;
    RhFact start_s;       /* until it serves, weights aside: processes, compiled kernels, graphs */
    RhFact logit_bytes;   /* of a word and a sequence, while a token is drawn */
    RhMemoryOf memory_of; /* what memory_frac is a fraction of */
    RhMemoryReserve left; /* of the device's memory, in place of that fraction */
    /* room for those of all sequences there may be, not of an iteration's alone */
    bool logits_at_start;
    int32_t block_tokens;  /* of the cache */
    int32_t batch, chunk;  /* defaults of a deployment */
    int32_t stream_tokens; /* the client is sent so many at a time */
    bool stream_waits;     /* its first message, too; else that has one token */
    int32_t receive;       /* who came is looked for every so many iterations that only continue */
    RhCacheFormat cache;   /* default; AUTO: as the model's activations */
    bool reduce_norms;     /* sums over tensor ranks, residual sums and norms are one kernel */
    bool reduce_norms_new; /* reduce_norms applies only to devices of the Blackwell generation */
    /* Maximum bytes of a sum to which reduce_norms applies, by number of tensor ranks; none: no
     * limit. */
    int32_t norms_most_count;
    struct {
        int32_t ranks;
        double bytes;
    } norms_most[RH_SERVER_NORMS_MAX];
    bool prefix; /* the cache remembers prompts, where a deployment does not say */
    /* Where experts are spread over groups of attention: kernels that send tokens to them, for at most
     * `few_tokens` of a rank and for more. NULL: the library's collectives. */
    const RhA2aBackend *exchange_few, *exchange_many;
    int32_t few_tokens;
    /* by the library's: every rank gets all tokens, and results are summed and scattered; with
     * `domain_sends` not where NVLink joins more GPUs than a host has, to more ranks than a token asks experts */
    bool gather, domain_sends;
    bool fills_experts, experts_apart; /* as RhShard's */
    /* an iteration is planned when the one before it begins: who comes later waits for the next */
    bool ahead;
    /* layers with a window keep all tokens of a sequence, as the other layers do */
    bool keeps_windows;
    /* it starts only where a cache holds one request of max_model_len */
    bool holds_longest;
    /* a sequence comes in where the cache has room for all its prompt, not for its first chunk alone */
    bool whole_prompts;
    /* whole_prompts also requires space for its answer, beside this fraction of the remaining
     * answers of running sequences; none: no answers are counted. */
    RhFact answer_frac;
    /* to launch the kernels of a layer, in iterations that read prompts: no graph holds these */
    RhFact launch_s;
    RhFact rank_launch_s; /* more for each doubling of tensor ranks */
    /* the same in iterations that a deployment says no graph holds (RhCudaGraph) */
    RhFact eager_launch_s, rank_eager_launch_s;
    bool host_each;        /* each group of attention has a host of its own */
    bool host_beside;      /* the host works beside the kernels: the slower of the two counts */
    bool batch_each_stage; /* the limit of sequences is of one stage's batch, not of all stages' */
    RhServerProfiles profiles; /* of all kernels */
    /* Models of so many routed experts have a shared one that is as wide in the same grouped products, where each is cut
     * (not spread); 0: none */
    int32_t shared_inside;
    /* of experts' grouped products, where these kernels are another software's: experts that every rank has a part
     * of (cut), and whole ones on some of the ranks (spread) */
    RhServerProfiles experts_cut, experts_spread;
    /* library of these products by the format of experts ("nvfp4"), and where attention is in groups (dp) */
    RhServerProfiles experts_library, experts_library_groups;
} RhServer;

/* Blocks of a cache that so many tokens fill, prompt and answer together. */
static inline int64_t rh_server_blocks_of(const RhServer *server, int64_t tokens)
{
    return (tokens + server->block_tokens - 1) / server->block_tokens;
}

/* Return what a pool of the server has, or the server's default. */
static inline int32_t rh_server_receive(const RhServer *server, const RhPool *pool)
{
    return pool->receive > 0 ? pool->receive : server->receive;
}
/* Returns the number of tokens in the client's first message. */
static inline int32_t rh_server_first_tokens(const RhServer *server, const RhPool *pool)
{
    return server->stream_waits ? pool->stream > 0 ? pool->stream : server->stream_tokens : 1;
}

/* Borrowed, for ever. RH_ERROR_USAGE: there is none of that name; else as rh_server_load(). */
/* Returns how many times the limit of sequences a replica may have: once for each group of attention and,
 * where it is of a stage's batch, for each stage. */
static inline int32_t rh_server_batches(const RhServer *server, const RhPool *pool)
{
    return server->batch_each_stage ? rh_pool_batches(pool) : pool->dp;
}

const RhServer *rh_server_by_name(const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Reads a server's file anew; the caller owns the server. RH_ERROR_INPUT with positions. */
RhServer *rh_server_load(const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;
const char *const *rh_server_names(void); /* sorted, NULL-ended */
/* The profile that tells what kernels take on this device; NULL: there is none of it. */
const char *rh_server_profile(const RhServerProfiles *profiles, const char *device);
/* The platform as its kernels find it: a copy with the profile of all of them laid over, unless
 * the platform brings one. The caller's; NULL where the profile cannot be read. */
RhPlatform *rh_server_hardware(const RhServer *server, const RhPlatform *platform,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A fact of a server: its key in a file. */
typedef struct {
    const char *key;
    RhQuantity kind;
    size_t offset;    /* of the RhFact in RhServer */
    double low, high; /* plausible, and 0 */
} RhServerFact;
const RhServerFact *rh_server_facts(size_t *count);

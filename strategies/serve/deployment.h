#pragma once
/* A deployment: how a model is served on a cluster. Plain data.
 *
 * Text form: "server=vllm,tp4,replicas=2,batch=256,chunk=8192,kv=fp8"; keys left out take their
 * defaults, those of the server where it has its own (0 here). Two pools with a slash between them
 * are disaggregated: the first reads prompts, the second makes tokens: "tp4,replicas=2/tp8". */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define RH_POOLS_MAX 2

typedef enum { RH_CACHE_AUTO, RH_CACHE_BF16, RH_CACHE_FP8, RH_CACHE_LAST } RhCacheFormat;

/* Whether the cache remembers prompts. */
typedef enum { RH_PREFIX_AUTO, RH_PREFIX_OFF, RH_PREFIX_ON, RH_PREFIX_LAST } RhPrefixCaching;

/* Where weights lie; elsewhere than on the GPU they are streamed, layer by layer, in every
 * iteration. */
typedef enum { RH_WEIGHTS_GPU, RH_WEIGHTS_HOST, RH_WEIGHTS_NVME, RH_WEIGHTS_LAST } RhWeightsIn;

/* Which of the sequences that wait, of one priority, goes first: the one that came first, or the
 * one of whose prompt the cache has most. */
typedef enum { RH_WAITING_FCFS, RH_WAITING_LPM, RH_WAITING_LAST } RhWaitingOrder;

/* Which iterations CUDA graphs hold; others are launched kernel by kernel. AUTO: as the server has
 * it. */
typedef enum { RH_GRAPHS_AUTO, RH_GRAPHS_DECODE, RH_GRAPHS_NONE, RH_GRAPHS_LAST } RhCudaGraph;

/* Like replicas of one server, each with its share of the model on tp x pp GPUs. */
typedef struct {
    int32_t tp, pp, ep;
    int32_t dp; /* replicas of attention in one server, which share its experts */
    int32_t replicas;
    int32_t batch;    /* sequences at once at most; 0: the server's default */
    int32_t chunk;    /* tokens of an iteration at most; 0: the server's default */
    int32_t cache;    /* RhCacheFormat; AUTO: the server's default */
    int32_t memory;   /* % of a GPU's that the server takes, in its own sense; 0: its default */
    int32_t prefix;   /* RhPrefixCaching */
    int32_t stream;   /* tokens of a message to the client; 0: the server's default */
    int32_t receive;  /* iterations from one look for new requests to the next; 0: likewise */
    int32_t graphs;   /* RhCudaGraph */
    int32_t captured; /* sequences of the largest graph; 0: the server's default */
    int32_t experts;  /* of rh_expert_libraries (iteration.h) */
    /* Iterations that prompts are held back at most, until each group of attention has one; 0:
     * they are not (prefill_delay_policy.c). */
    int32_t balance;
    /* Iterations that prompts wait without groups, until they fill so much of an iteration's tokens. */
    int32_t wait, fill; /* iterations; % */
    int32_t order;      /* RhWaitingOrder */
    int32_t draft;      /* tokens guessed in an iteration (speculation.h); 0: none */
    /* % of guesses that are right, given that those before them are; -1: not said */
    int32_t accept;
    int32_t drafter;  /* layers, as the model's, that guess; 0: a table of what was said */
    int32_t blocks;   /* of a replica's cache, at most; 0: what the memory leaves */
    int32_t window;   /* ms that a batch waits for more requests, where it begins and ends as one */
    int32_t passes;   /* of the model for an answer, of one that makes no tokens; 0: one */
    int32_t guidance; /* is each pass made twice, in one batch? */
    int32_t scale;    /* of rh_scaler_names (autoscaling.h) */
    int32_t least;    /* replicas that are there at all times, with a scaler */
    int32_t target;   /* requests of a replica that a scaler wants; 0: its default */
    int32_t weights;  /* RhWeightsIn */
    int32_t resident; /* % of streamed weights that stay on the GPU all the same */
    int32_t prefetch_off;  /* are streamed layers read only when they are needed (prefetch=off)? */
    int32_t host;          /* GiB of its nodes' memory behind a replica's cache (cache_tiers.h) */
    int32_t nvme;          /* GiB of their drives, likewise */
    int32_t max_model_len; /* tokens of a request at most, prompt and answer; 0: no limit is said */
} RhPool;

typedef struct {
    const char *server; /* interned: a name of servers/ */
    const char *router; /* interned */
    int32_t pools_count;
    RhPool pools[RH_POOLS_MAX];
} RhDeployment;

RhDeployment rh_deployment_default(void);
/* RH_ERROR_USAGE with near keys and legal values; *deployment is whole or as it was. */
bool rh_deployment_parse(const char *text, RhDeployment *deployment,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* The text form, defaults left out; caller frees. */
char *rh_deployment_format(const RhDeployment *deployment);
/* Returns the number of GPUs of all pools. */
int32_t rh_deployment_gpus(const RhDeployment *deployment);
/* Replicas are numbered through all pools, and stand on the GPUs in that order: the first one's. */
int32_t rh_deployment_first_gpu(const RhDeployment *deployment, int32_t replica);
static inline int32_t rh_pool_gpus(const RhPool *pool)
{
    return pool->tp * pool->pp * pool->dp; /* of one replica */
}
/* Returns the number of batches of a replica that are under way at once: one of each group of
 * attention in each stage. */
static inline int32_t rh_pool_batches(const RhPool *pool)
{
    return pool->dp * pool->pp;
}
/* Returns the number of ranks that each expert is cut over. */
static inline int32_t rh_pool_expert_tensor(const RhPool *pool)
{
    return pool->tp * pool->dp / pool->ep;
}
/* Returns the number of ranks that send one another tokens for experts. */
static inline int32_t rh_pool_expert_ranks(const RhPool *pool)
{
    return pool->dp > 1 ? pool->tp * pool->dp : pool->ep;
}

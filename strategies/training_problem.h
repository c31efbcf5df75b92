#pragma once
/* A problem: the model that is trained, the platform, the software, and the work of a step. */
#include "platforms/shared_gpus.h"
#include "strategies/preference_training.h"
#include "strategies/sample_loading.h"
#include "strategies/software_stack.h"
#include "workloads/adam_moments.h"
#include "workloads/document_packing.h"
#include "workloads/expert_load.h"
#include "workloads/frozen_formats.h"
#include "workloads/lora.h"
#include "workloads/model.h"
#include "workloads/precision_recipe.h"

/* Parameters of the job besides model, platform and stack. */
typedef struct {
    int64_t global_batch; /* samples */
    int64_t sequence;     /* tokens per sample */
    int32_t gpus;         /* ranks: places of processes, several on a GPU with `clients` */
    RhGpuClients clients; /* processes on each GPU */
    RhSampleLoader loader;
    const RhRecipe *recipe;       /* number formats */
    const RhAdamMoments *moments; /* of the optimizer; NULL: fp32 */
    int32_t gradient_bytes;       /* of a main gradient, 2 or 4; 0: the stack's */
    RhExpertLoad load;            /* how evenly experts are asked */
    RhDocuments documents;        /* that samples are made of; settled */
    RhLora lora;                  /* adapters, which alone are trained; rank 0: all weights are */
    const RhFrozenFormat *frozen; /* of layers' weights beside adapters; NULL: the recipe's */
    RhPreference preference;      /* pairs of sequences; not NONE: `documents` are their halves */
    bool narrow_weights;   /* layers' weights are held and gathered in the recipe's format alone */
    bool narrow_attention; /* attention's core reads fp8, as linear layers do or less */
    bool accumulates;      /* a step only adds up gradients: replicas exchange nothing */
    bool no_masters;       /* weights narrower than fp32 are updated as they are */
    bool forward_only;     /* a step is the forward passes alone, as for log-probabilities; its
                              memory and lower bounds are of the whole step */
} RhJob;

/* Returns the number of GPUs of the job. */
static inline int32_t rh_job_gpus(const RhJob *job)
{
    return rh_clients_share(&job->clients) ? job->gpus / job->clients.count : job->gpus;
}

/* Is every forward run by a frozen reference, too? */
static inline bool rh_job_has_reference(const RhJob *job)
{
    return job->preference == RH_PREFERENCE_DPO;
}

/* Borrowed pointers: they outlive the case. `platform` is the stack's view (rh_stack_platform), with
 * the places of processes that share GPUs (rh_platform_share). */
typedef struct {
    const RhModel *model;
    const RhPlatform *platform;
    const RhStack *stack;
    RhJob job;
} RhProblem;

#pragma once
/* The table of emitters: the RhRlEmitter rh_rl_emitter_NAME that a file here defines. A new one is
 * its file and a line here. */
#include "strategies/layout.h"
#include "strategies/rl/rl_step.h"

/* A placement that a framework is to start. Borrowed. */
typedef struct {
    const char *model; /* as it was asked for */
    const RhRlJob *job;
    const RhRlPlacement *placement;
    double ahead;
    const RhLayout *layout;
    const RhPool *servers;
    const char *server; /* "vllm" */
    int32_t train_gpus, server_gpus, node_gpus;
    int64_t packed_tokens;
    int64_t longest_prompt, longest_answer;
} RhRlSetup;

/* Has each of the nodes as many of so many GPUs? */
static inline bool rh_rl_nodes_even(int32_t gpus, int32_t node_gpus)
{
    return gpus <= node_gpus || gpus % node_gpus == 0;
}

typedef struct {
    const char *name;
    const char *checked; /* which sources its words were compared with, and when */
    /* Returns the words, a line each, and what they leave out as comments. Caller frees.
     * RH_ERROR_NO_ANSWER: the framework cannot run it. */
    char *(*words)(const RhRlSetup *setup, GError **error);
} RhRlEmitter;

#define RH_RL_EMITTERS(ROW) ROW(verl)

#define RH_RL_EMITTER_ROW(name) extern const RhRlEmitter rh_rl_emitter_##name;
RH_RL_EMITTERS(RH_RL_EMITTER_ROW)
#undef RH_RL_EMITTER_ROW

/* NULL-ended. */
const char *const *rh_rl_emitter_names(void);
/* NULL: there is none of that name. */
const RhRlEmitter *rh_rl_emitter_by_name(const char *name);

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

/* --- parts that emitters share (emitter_words.c) --- */

/* Append a line key=value. */
void rh_rl_put(GString *out, const char *key, int64_t value);
void rh_rl_put_word(GString *out, const char *key, const char *value);
void rh_rl_put_bool(GString *out, const char *key, bool value); /* True, False */
/* Are weights, gradients and states sharded over all ranks, and nothing else is cut? */
bool rh_rl_is_sharded(const RhLayout *layout);
/* Has each of the nodes as many of so many GPUs? */
static inline bool rh_rl_nodes_even(int32_t gpus, int32_t node_gpus)
{
    return gpus <= node_gpus || gpus % node_gpus == 0;
}
/* Has each of its nodes as many GPUs of a pool? RH_ERROR_NO_ANSWER names the framework that wants it. */
bool rh_rl_splits_evenly(const RhRlSetup *setup, const char *framework,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Does a batch begin no more prompts than are trained on? None of the frameworks drops answers in the middle of a batch.
 * RH_ERROR_NO_ANSWER. */
bool rh_rl_begins_no_more(const RhRlSetup *setup, const char *framework,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Is it a whole number of steps ahead? RH_ERROR_NO_ANSWER. */
bool rh_rl_ahead_is_whole(const RhRlSetup *setup, const char *framework,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the nodes of so many GPUs. */
int32_t rh_rl_nodes(const RhRlSetup *setup, int32_t gpus);

typedef struct {
    const char *name;
    const char *checked; /* which sources its words were compared with, and when */
    /* Returns the words, a line each, and what they leave out as comments. Caller frees.
     * RH_ERROR_NO_ANSWER: the framework cannot run it. */
    char *(*words)(const RhRlSetup *setup, GError **error);
} RhRlEmitter;

#define RH_RL_EMITTERS(ROW)                                                                        \
    ROW(verl)                                                                                      \
    ROW(nemo_rl)                                                                                   \
    ROW(areal)                                                                                     \
    ROW(openrlhf)

#define RH_RL_EMITTER_ROW(name) extern const RhRlEmitter rh_rl_emitter_##name;
RH_RL_EMITTERS(RH_RL_EMITTER_ROW)
#undef RH_RL_EMITTER_ROW

/* NULL-ended. */
const char *const *rh_rl_emitter_names(void);
/* NULL: there is none of that name. */
const RhRlEmitter *rh_rl_emitter_by_name(const char *name);

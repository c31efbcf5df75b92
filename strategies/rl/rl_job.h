#pragma once
/* A job of post-training by reinforcement: what one step of it asks of servers and of the trainer.
 *
 * In a step servers answer every prompt several times (a *group*), each answer gets a reward, and
 * the trainer updates the weights once or several times (minibatches). Knows nothing of GPUs. */
#include <math.h>

#include "workloads/document_packing.h"
#include "workloads/model.h"
#include "workloads/requests/requests.h"

/* Computation of an algorithm beside answers: passes over all tokens of a step, in passes of the
 * policy's size. A row of algorithms/. */
typedef struct {
    const char *name, *about;
    int32_t trained;  /* models that are updated: the policy, and a critic */
    int32_t forwards; /* passes forward before the update: old log-probabilities, values, a
                            reward model */
    bool reference;   /* one more, of a reference policy, unless the job has none */
    int32_t samples;  /* of a prompt by default */
    const char *source;
} RhRlAlgorithm;

/* Lengths in tokens. Answers are log-normal with a cap, which stands for the limit of a response;
 * prompts are even from low to high. */
typedef struct {
    double mean;  /* with the cap applied */
    double sigma; /* of the logarithm; 0: all alike */
    int32_t most; /* the cap; 0: none */
} RhRlAnswers;

typedef struct {
    const RhRlAlgorithm *algorithm;
    int32_t prompts, samples; /* of a step; of a prompt */
    int32_t minibatch;        /* samples of an update; 0: all of a step */
    int32_t epochs;           /* times that the trainer goes through a step's samples */
    bool reference;           /* a reference policy is asked */
    bool served_log_probs; /* old log-probabilities are the servers', and no pass of the trainer */
    RhLengthRange prompt;
    RhRlAnswers answer;
    const RhRequests *lengths; /* drawn from instead, borrowed; NULL: none */
    double reward_s;           /* from an answer to its reward */
    int32_t sandboxes;         /* rewards that are computed at once; 0: any number */
    int32_t
        turns; /* of an answer, between which a tool is asked; its tokens are shared out evenly */
    double tool_s;       /* from a turn's end to what the tool says */
    int32_t tool_tokens; /* of that: read by the next turn, and by the trainer */
    double
        begun_frac; /* groups that a batch begins, over prompts: what is still written when as many as are
                          trained on have their rewards is dropped; 1: no more */
    double
        useful_frac; /* of groups: the others, whose answers all get one reward, teach nothing and
                           are replaced (DAPO's dynamic sampling) */
    uint64_t seed;
} RhRlJob;

/* Returns the groups that a batch begins with. */
static inline int32_t rh_rl_batch_groups(const RhRlJob *job)
{
    return (int32_t)ceil(job->prompts * job->begun_frac - 1e-9);
}
/* Returns the requests of a group. */
static inline int32_t rh_rl_group_requests(const RhRlJob *job)
{
    return job->samples * job->turns;
}
static inline int64_t rh_rl_step_samples(const RhRlJob *job)
{
    return (int64_t)job->prompts * job->samples;
}
/* Returns the samples of an update. */
static inline int64_t rh_rl_update_samples(const RhRlJob *job)
{
    int64_t all = rh_rl_step_samples(job);
    return job->minibatch > 0 ? MIN(job->minibatch, all) : all;
}
/* Returns the number of updates of a step. */
int64_t rh_rl_updates(const RhRlJob *job);
/* Returns how many batches of a step the trainer may take one by one as groups are ready: one for
 * each update where an update has whole groups and each sample is used once; else 1. */
int32_t rh_rl_takes(const RhRlJob *job);
/* Returns the number of matrices and vectors that a model's file holds, those of each expert by themselves. */
int64_t rh_rl_weight_matrices(const RhModel *model);
/* Returns the number of passes forward over all tokens of a step. */
int32_t rh_rl_forwards(const RhRlJob *job);

/* Returns the median of a log-normal law whose mean, values above `most` counted as `most`, is
 * `mean`; 0: no such law has it. */
double rh_rl_median(double mean, double sigma, double most);
/* Draws the requests of so many groups, those of a group one after another, with names for the
 * blocks of their common prompt. Caller frees. */
RhRequests *rh_rl_requests(const RhRlJob *job, int32_t groups);

/* Keeps the groups of a batch that are over first, those with the shortest longest answers, as many as are trained on;
 * the others go. */
void rh_rl_keep_first(const RhRlJob *job, RhRequests *requests);

/* Tokens of a step as the trainer sees them. */
typedef struct {
    double prompt, answer, tools; /* means of a sample: asked, drawn by servers, said by tools */
    int64_t longest_prompt, longest_answer;
    int64_t longest;        /* prompt and answer */
    int64_t update_longest; /* mean over updates of the longest in each */
    RhDocuments documents;  /* samples as documents that are packed; not settled */
} RhRlTokens;
/* Counts the tokens of drawn requests, `update` of which are an update's. */
RhRlTokens rh_rl_tokens(const RhRequests *requests, int64_t update);

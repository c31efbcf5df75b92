/* Holds prompts back until there are more of them, as TensorRT-LLM does by request
 * (tensorrt_llm/_torch/pyexecutor/py_executor.py, _balance_adp_requests and _waiting_requests):
 * one iteration then reads what several would have read, each of which delays all tokens.
 *
 * balance (attention_dp_config.enable_balance): until each group of attention has a prompt, at most
 * so many iterations since the last that could have read one. wait (batch_wait_timeout_iters): until
 * prompts and tokens fill a part of an iteration, at most so many iterations. Neither where a group
 * has no sequence to continue. */
#include "strategies/serve/iteration/speculation.h"
#include "strategies/serve/replica/replica_private.h"

typedef struct {
    int32_t sequences;
    bool prompt, continued;
} Group;

static bool balances(const RhReplica *r)
{
    return r->spec.pool.balance > 0 && r->spec.pool.dp > 1;
}

static bool is_seen(const RhReplica *r, const RhSequence *s)
{
    return s->t_taken_s <= r->t_seen_s && !s->fetched;
}

/* Fills the groups of attention. */
static void count_groups(const RhReplica *r, Group *groups)
{
    for (const GList *l = r->waiting.head; l; l = l->next) {
        const RhSequence *s = rh_replica_sequence(r, GPOINTER_TO_INT(l->data));
        groups[s->group].sequences++;
        groups[s->group].prompt = groups[s->group].prompt || is_seen(r, s);
    }
    for (guint i = 0; i < r->reading->len; i++) {
        Group *g = &groups[rh_replica_sequence(r, g_array_index(r->reading, int32_t, i))->group];
        g->sequences++;
        g->prompt = true;
    }
    for (guint i = 0; i < r->endings->len; i++) {
        Group *g =
            &groups[rh_replica_sequence(r, g_array_index(r->endings, RhEnding, i).sequence)->group];
        g->sequences++;
        g->continued = true;
    }
}

int32_t rh_replica_group(const RhReplica *r)
{
    if (!balances(r))
        return 0;
    int32_t least = 0;
    g_autofree Group *groups = g_new0(Group, r->spec.pool.dp);
    count_groups(r, groups);
    for (int32_t g = 1; g < r->spec.pool.dp; g++)
        least = groups[g].sequences < groups[least].sequences ? g : least;
    return least;
}

/* The count goes on from one iteration to the next, whether prompts are there or not. */
static bool hold_for_groups(RhReplica *r)
{
    bool prompts = true, continued = true;
    g_autofree Group *groups = g_new0(Group, r->spec.pool.dp);
    count_groups(r, groups);
    for (int32_t g = 0; g < r->spec.pool.dp; g++) {
        prompts = prompts && groups[g].prompt;
        continued = continued && groups[g].continued;
    }
    int32_t skipped = MAX(r->run.steps - 1, 0);
    r->held_iterations = (r->held_iterations + skipped) % r->spec.pool.balance;
    bool held = !prompts && continued && ++r->held_iterations < r->spec.pool.balance;
    if (!held)
        r->held_iterations = 0;
    return held;
}

/* Tokens of prompts that the server knows of. */
static int64_t waiting_tokens(const RhReplica *r)
{
    int64_t tokens = 0;
    for (const GList *l = r->waiting.head; l; l = l->next) {
        const RhSequence *s = rh_replica_sequence(r, GPOINTER_TO_INT(l->data));
        tokens += is_seen(r, s) ? s->prompt - s->read : 0;
    }
    return tokens;
}

static bool hold_for_tokens(RhReplica *r)
{
    int64_t prompts = waiting_tokens(r), most = r->spec.pool.chunk;
    int64_t continued = r->endings->len,
            tokens = prompts + continued * rh_pool_verified(&r->spec.pool);
    if (r->held)
        r->held_iterations += r->run.steps - 1;
    bool held = prompts > 0 && continued > 0 && r->held_iterations < r->spec.pool.wait &&
                (double)tokens < r->spec.pool.fill / 100.0 * (double)most;
    r->held_iterations = held ? r->held_iterations + 1 : 0;
    return held;
}

void rh_replica_hold_prompts(RhReplica *r)
{
    if (balances(r))
        r->held = hold_for_groups(r);
    else if (r->spec.pool.wait > 0)
        r->held = hold_for_tokens(r);
}

int32_t rh_replica_held_steps(const RhReplica *r)
{
    int32_t limit = balances(r) ? r->spec.pool.balance : r->spec.pool.wait + 1;
    return r->held ? MAX(limit - r->held_iterations, 1) : INT32_MAX;
}

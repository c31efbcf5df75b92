/* Parts that emitters share. */
#include <math.h>

#include "base/error.h"
#include "strategies/rl/emitters/emitters.h"

void rh_rl_put(GString *out, const char *key, int64_t value)
{
    g_string_append_printf(out, "%s=%" G_GINT64_FORMAT "\n", key, value);
}

void rh_rl_put_word(GString *out, const char *key, const char *value)
{
    g_string_append_printf(out, "%s=%s\n", key, value);
}

void rh_rl_put_bool(GString *out, const char *key, bool value)
{
    rh_rl_put_word(out, key, value ? "True" : "False");
}

bool rh_rl_is_sharded(const RhLayout *l)
{
    return l->zero == 3 && l->tp == 1 && l->pp == 1 && l->ep == 1;
}

bool rh_rl_splits_evenly(const RhRlSetup *s, const char *framework, GError **error)
{
    int32_t node = s->node_gpus, whole = MAX(s->train_gpus / node, 1) * node;
    if (s->placement->shares_gpus ||
        (rh_rl_nodes_even(s->train_gpus, node) && rh_rl_nodes_even(s->server_gpus, node)))
        return true;
    return rh_fail(error, RH_ERROR_NO_ANSWER,
                   "%s takes as many GPUs of every node, and of %d and %d some nodes of %d GPUs "
                   "would have fewer\nhelp: %d GPUs that train",
                   framework, s->train_gpus, s->server_gpus, node, whole);
}

bool rh_rl_begins_no_more(const RhRlSetup *s, const char *framework, GError **error)
{
    return s->job->begun_frac <= 1 ||
           rh_fail(error, RH_ERROR_NO_ANSWER,
                   "%s waits for all answers of a batch\nhelp: as many prompts as are trained on",
                   framework);
}

bool rh_rl_ahead_is_whole(const RhRlSetup *s, const char *framework, GError **error)
{
    return s->ahead == floor(s->ahead) ||
           rh_fail(error, RH_ERROR_NO_ANSWER,
                   "%s counts whole steps ahead, not %g\nhelp: %g steps ahead", framework, s->ahead,
                   ceil(s->ahead));
}

int32_t rh_rl_nodes(const RhRlSetup *s, int32_t gpus)
{
    return MAX(gpus / s->node_gpus, 1);
}

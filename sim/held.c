#include "sim/held.h"

typedef struct {
    double t_s, bytes;
    int32_t order;
    uint8_t use;
} Change;

static int by_time(gconstpointer a, gconstpointer b)
{
    const Change *x = a, *y = b;
    return x->t_s < y->t_s ? -1 : x->t_s > y->t_s ? 1 : x->order - y->order;
}

/* What a step allocates again; the rest lies there from the first, before its first task. */
static bool is_of_step(RhMemoryUse use, int32_t local)
{
    return local > 0 || use == RH_MEMORY_ACTIVATIONS || use == RH_MEMORY_RECOMPUTE ||
           use == RH_MEMORY_LOGITS || use == RH_MEMORY_COMMUNICATION;
}

/* When the step's span of the event's task begins; behind the last task, when that ends. */
static void add_changes(GArray *changes, const RhSpanIndex *x, int32_t performer,
                        const RhMemoryEvent *event)
{
    const RhRole *role = rh_spans_role(x, performer);
    int32_t local = event->at_task - role->tasks_first;
    bool behind = local == role->tasks_count;
    int32_t span = role->tasks_count > 0 ? x->first[performer][behind ? local - 1 : local] : -1;
    for (; span >= 0; span = x->next[span]) {
        const RhSpanOfTime *at = rh_spans_at(x, span);
        Change change = {behind ? at->t_end_s : at->t_start_s, event->bytes, (int32_t)changes->len,
                         event->use};
        g_array_append_val(changes, change);
        if (!is_of_step((RhMemoryUse)event->use, local))
            break;
    }
}

GArray *rh_moments_new(const RhSpanIndex *x, int32_t performer)
{
    const RhRole *role = rh_spans_role(x, performer);
    g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(Change));
    GArray *held = g_array_new(FALSE, FALSE, sizeof(RhMoment));
    for (int32_t i = 0; i < role->memory_count; i++) {
        const RhMemoryEvent *event =
            &g_array_index(x->p->memory, RhMemoryEvent, role->memory_first + i);
        if (event->tier == RH_MEMORY_TIER_HBM)
            add_changes(changes, x, performer, event);
    }
    g_array_sort(changes, by_time);
    RhMoment now = {0};
    for (guint i = 0; i < changes->len; i++) {
        const Change *change = &g_array_index(changes, Change, i);
        now.t_s = change->t_s;
        now.bytes[change->use] += change->bytes;
        if (i + 1 == changes->len || g_array_index(changes, Change, i + 1).t_s != change->t_s)
            g_array_append_val(held, now);
    }
    return held;
}

double rh_moment_sum_bytes(const RhMoment *held)
{
    double sum = 0;
    for (int use = 0; use < RH_MEMORY_LAST; use++)
        sum += held->bytes[use];
    return sum;
}

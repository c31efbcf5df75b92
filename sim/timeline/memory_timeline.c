#include "sim/timeline/memory_timeline.h"

typedef struct {
    double t_s, bytes;
    uint8_t use;
} Change;

/* Is the memory allocated anew in each step? Other memory is allocated before the first task. */
static bool is_of_step(RhMemoryUse use, int32_t local)
{
    return local > 0 || use == RH_MEMORY_ACTIVATIONS || use == RH_MEMORY_RECOMPUTE ||
           use == RH_MEMORY_LOGITS || use == RH_MEMORY_COMMUNICATION;
}

/* A performer, and for each of its role's tasks the interval of a step; -1: none. */
typedef struct {
    const RhTaskIntervals *x;
    const RhRole *role;
    int32_t *spans;
} Step;

/* Start of the event's task in the step; after the last task, the end of that. False: it was not
 * performed. */
static bool time_of(const Step *step, const RhMemoryEvent *event, double *t_s)
{
    int32_t local = event->at_task - step->role->tasks_first;
    bool behind = local == step->role->tasks_count;
    int32_t span = step->role->tasks_count > 0 ? step->spans[behind ? local - 1 : local] : -1;
    if (span < 0)
        return false;
    const RhTaskInterval *at = rh_task_intervals_at(step->x, span);
    *t_s = behind ? at->t_end_s : at->t_start_s;
    return true;
}

/* Adds the changes of a step in program order, as a caching allocator sees them: memory that the
 * program frees before an allocation is free then, though a task of another lane may begin earlier.
 * So the peak is the ledger's. False: nothing of the step was performed. */
static bool add_step(GArray *changes, const Step *step, bool first)
{
    const RhRole *role = step->role;
    double now_s = changes->len ? g_array_index(changes, Change, changes->len - 1).t_s : 0;
    bool performed = false;
    for (int32_t i = role->memory_first; i < role->memory_first + role->memory_count; i++) {
        const RhMemoryEvent *event = &g_array_index(step->x->p->memory, RhMemoryEvent, i);
        double t_s;
        bool here =
            first || is_of_step((RhMemoryUse)event->use, event->at_task - role->tasks_first);
        if (event->tier != RH_MEMORY_TIER_HBM || !here || !time_of(step, event, &t_s))
            continue;
        now_s = MAX(now_s, t_s);
        Change change = {now_s, event->bytes, event->use};
        g_array_append_val(changes, change);
        performed = true;
    }
    return performed;
}

static GArray *changes_of(const RhTaskIntervals *x, int32_t performer)
{
    GArray *changes = g_array_new(FALSE, FALSE, sizeof(Change));
    const RhRole *role = rh_task_intervals_role(x, performer);
    g_autofree int32_t *spans =
        g_memdup2(x->first[performer], sizeof(int32_t) * (gsize)role->tasks_count);
    Step step = {x, role, spans};
    for (bool first = true; add_step(changes, &step, first); first = false)
        for (int32_t i = 0; i < role->tasks_count; i++)
            spans[i] = spans[i] < 0 ? -1 : x->next[spans[i]];
    return changes;
}

/* Adds the samples of changes at one time: their largest value, unless it is the last one, and the
 * last. */
static guint add_moments(GArray *held, const GArray *changes, guint i, RhMemorySample *now)
{
    double t_s = g_array_index(changes, Change, i).t_s, before = rh_memory_sample_bytes(now);
    RhMemorySample most = *now;
    for (now->t_s = t_s; i < changes->len && g_array_index(changes, Change, i).t_s == t_s; i++) {
        const Change *change = &g_array_index(changes, Change, i);
        now->bytes[change->use] += change->bytes;
        if (rh_memory_sample_bytes(now) > rh_memory_sample_bytes(&most))
            most = *now;
    }
    double sum = rh_memory_sample_bytes(&most);
    if (sum > before && sum > rh_memory_sample_bytes(now))
        g_array_append_val(held, most);
    g_array_append_val(held, *now);
    return i;
}

GArray *rh_memory_timeline_new(const RhTaskIntervals *x, int32_t performer)
{
    g_autoptr(GArray) changes = changes_of(x, performer);
    GArray *held = g_array_new(FALSE, FALSE, sizeof(RhMemorySample));
    RhMemorySample now = {0};
    for (guint i = 0; i < changes->len;)
        i = add_moments(held, changes, i, &now);
    return held;
}

double rh_memory_sample_bytes(const RhMemorySample *held)
{
    double sum = 0;
    for (int use = 0; use < RH_MEMORY_LAST; use++)
        sum += held->bytes[use];
    return sum;
}

/* Two halves of a micro-batch take turns: while the tokens of one are on their way, the kernels of the
 * other run (two-batch overlap, as DeepSeek-V3's inference does it, arXiv 2412.19437, section 3.4).
 * Both are the same list of tasks; woven into one, each keeps its order, and a half whose next kernel
 * waits for an exchange steps back once for the other. */
#include <string.h>

#include "strategies/train/item.h"

typedef struct {
    guint next;      /* task to add */
    int32_t *ids;    /* of its tasks, in the list of both */
    int32_t kernels; /* its latest kernel there; -1: none yet */
} Half;

typedef struct {
    const GArray *tasks; /* of one half */
    GArray *both;
    Half half[2];
} Turns;

static const RhItemTask *task_of(const Turns *t, guint i)
{
    return &g_array_index(t->tasks, RhItemTask, i);
}

/* The exchange that the half's next kernel waits for, where the other half has run nothing beside it;
 * -1: nothing keeps it. */
static int32_t awaited(const Turns *t, int which)
{
    const Half *own = &t->half[which], *other = &t->half[1 - which];
    const RhItemTask *task = task_of(t, own->next);
    if (task->lane != RH_LANE_COMPUTE)
        return -1;
    for (int32_t i = 0; i < task->after_count; i++) {
        int32_t after = task->after[i];
        if (after != RH_ITEM_ENTRY && task_of(t, (guint)after)->lane == RH_LANE_EP &&
            own->ids[after] > other->kernels)
            return own->ids[after];
    }
    return -1;
}

static bool is_done(const Turns *t, int which)
{
    return t->half[which].next == t->tasks->len;
}

/* Whose turn it is: the same half's until it would wait; where both would, that of the one that has
 * waited longer. */
static int turn_of(const Turns *t, int now)
{
    if (is_done(t, now) || is_done(t, 1 - now))
        return is_done(t, now) ? 1 - now : now;
    int32_t own = awaited(t, now), others = awaited(t, 1 - now);
    if (own < 0)
        return now;
    return others < 0 || others < own ? 1 - now : now;
}

static void add_next(Turns *t, int which)
{
    Half *h = &t->half[which];
    RhItemTask task = *task_of(t, h->next);
    for (int32_t i = 0; i < task.after_count; i++)
        if (task.after[i] != RH_ITEM_ENTRY)
            task.after[i] = h->ids[task.after[i]];
    h->ids[h->next++] = (int32_t)t->both->len;
    if (task.lane == RH_LANE_COMPUTE)
        h->kernels = (int32_t)t->both->len;
    g_array_append_val(t->both, task);
}

/* Of each lane the later of both: lanes run in order. */
static void leave(const Turns *t, const RhItemPass *half, RhItemPass *both)
{
    for (int32_t i = 0; i < half->left_count; i++) {
        int32_t left = half->left[i];
        both->left[both->left_count++] =
            left == RH_ITEM_ENTRY ? left : MAX(t->half[0].ids[left], t->half[1].ids[left]);
    }
}

RhItemPass rh_item_take_turns(const RhItemPass *half)
{
    guint count = half->tasks->len;
    g_autofree int32_t *ids = g_new(int32_t, 2 * count + 1);
    RhItemPass both = {.tasks = g_array_new(FALSE, FALSE, sizeof(RhItemTask))};
    Turns t = {.tasks = half->tasks,
               .both = both.tasks,
               .half = {{.ids = ids, .kernels = -1}, {.ids = ids + count, .kernels = -1}}};
    for (int now = 0; both.tasks->len < 2 * count;) {
        now = turn_of(&t, now);
        add_next(&t, now);
    }
    leave(&t, half, &both);
    return both;
}

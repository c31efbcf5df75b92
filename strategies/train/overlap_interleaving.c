/* Interleaves two lists of tasks: while one waits for its communication, the kernels of the other
 * run. In the joint list each keeps its order, and a half whose next kernel waits for a collective
 * yields once to the other. The two are halves of a micro-batch (two-batch overlap, as in
 * DeepSeek-V3's inference, arXiv 2412.19437, section 3.4), or a pair: the forward of one
 * micro-batch and the backward of another (the same paper, section 3.2.1, figure 4: attention,
 * dispatch, experts, combine). */
#include <string.h>

#include "strategies/train/program/layer_ops.h"

typedef struct {
    const GArray *tasks;
    guint next;      /* task to add */
    int32_t *ids;    /* indices of its tasks in the joint list */
    int32_t kernels; /* index of its latest kernel there; -1: none yet */
} Half;

typedef struct {
    GArray *both;
    Half half[2];
    bool tokens_alone; /* a half yields for exchanges of tokens, not for other collectives */
} Turns;

static const RhLayerOp *task_of(const Half *h, guint i)
{
    return &g_array_index(h->tasks, RhLayerOp, i);
}

static bool steps_back_for(const Turns *t, RhLane lane)
{
    return lane == RH_LANE_EP || (lane != RH_LANE_COMPUTE && !t->tokens_alone);
}

/* The collective that the half's next kernel waits for, if the other half has not run a kernel
 * since; -1: there is none. */
static int32_t awaited(const Turns *t, int which)
{
    const Half *own = &t->half[which], *other = &t->half[1 - which];
    const RhLayerOp *task = task_of(own, own->next);
    if (task->lane != RH_LANE_COMPUTE)
        return -1;
    for (int32_t i = 0; i < task->after_count; i++) {
        int32_t after = task->after[i];
        if (after != RH_LAYER_OP_ENTRY && steps_back_for(t, task_of(own, (guint)after)->lane) &&
            own->ids[after] > other->kernels)
            return own->ids[after];
    }
    return -1;
}

static bool is_done(const Turns *t, int which)
{
    return t->half[which].next == t->half[which].tasks->len;
}

/* The half whose task is next: the same half until it would wait; where both would, the one that
 * has waited longer. */
static int next_half(const Turns *t, int now)
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
    RhLayerOp task = *task_of(h, h->next);
    for (int32_t i = 0; i < task.after_count; i++)
        if (task.after[i] != RH_LAYER_OP_ENTRY)
            task.after[i] = h->ids[task.after[i]];
    task.half = which;
    h->ids[h->next++] = (int32_t)t->both->len;
    if (task.lane == RH_LANE_COMPUTE)
        h->kernels = (int32_t)t->both->len;
    g_array_append_val(t->both, task);
}

/* Interleaves the halves. Communication that a half starts before its first kernel is added first,
 * whichever half is next. */
static void interleave(Turns *t, int first)
{
    for (int which = 0; which < 2; which++)
        while (!is_done(t, which) &&
               task_of(&t->half[which], t->half[which].next)->lane != RH_LANE_COMPUTE)
            add_next(t, which);
    for (int now = first; !is_done(t, 0) || !is_done(t, 1);) {
        now = next_half(t, now);
        add_next(t, now);
    }
}

static Turns turns_of(const GArray *first, const GArray *second, int32_t *ids)
{
    return (Turns){
        .both = g_array_sized_new(FALSE, FALSE, sizeof(RhLayerOp), first->len + second->len + 1),
        .half = {{.tasks = first, .ids = ids, .kernels = -1},
                 {.tasks = second, .ids = ids + first->len, .kernels = -1}}};
}

/* Sets what the joint pass leaves: on each lane the later of both halves' tasks, as lanes run in
 * order. */
static void leave(const Turns *t, const RhLayerPass *half, RhLayerPass *both)
{
    for (int32_t i = 0; i < half->left_count; i++) {
        int32_t left = half->left[i];
        both->left[both->left_count++] =
            left == RH_LAYER_OP_ENTRY ? left : MAX(t->half[0].ids[left], t->half[1].ids[left]);
    }
}

/* Added to the numbers of the second half's calls. */
#define CALLS_OF_HALF (RH_LAYER_CALLS_MAX * 20)

RhLayerPass rh_layer_pass_overlap(const RhLayerPass *half)
{
    g_autofree int32_t *ids = g_new(int32_t, 2 * half->tasks->len + 1);
    Turns t = turns_of(half->tasks, half->tasks, ids);
    RhLayerPass both = {.tasks = t.both, .calls = half->calls};
    t.tokens_alone = true;
    interleave(&t, 0);
    leave(&t, half, &both);
    for (guint i = 0; i < both.tasks->len; i++) {
        RhLayerOp *task = &g_array_index(both.tasks, RhLayerOp, i);
        task->first_call += CALLS_OF_HALF * task->half;
        task->last_call += CALLS_OF_HALF * task->half;
        task->half = 0; /* one micro-batch */
    }
    return both;
}

/* Makes a pair. The backward comes first: it soon sends, and the forward's attention runs beside
 * that; then the backward's experts run beside the forward's dispatch, the forward's beside the
 * backward's combine, and the backward's attention beside the forward's combine. */
RhLayerPassPair rh_layer_pass_pair(const RhLayerPass *forward, const RhLayerPass *backward)
{
    const RhLayerPass *passes[] = {forward, backward};
    g_autofree int32_t *ids = g_new(int32_t, forward->tasks->len + backward->tasks->len + 1);
    Turns t = turns_of(forward->tasks, backward->tasks, ids);
    RhLayerPassPair pair = {.tasks = t.both};
    interleave(&t, 1);
    for (int which = 0; which < 2; which++) {
        pair.half[which].calls = passes[which]->calls;
        pair.half[which].left_count = passes[which]->left_count;
        for (int32_t i = 0; i < passes[which]->left_count; i++) {
            int32_t left = passes[which]->left[i];
            pair.half[which].left[i] = left == RH_LAYER_OP_ENTRY ? left : t.half[which].ids[left];
        }
    }
    return pair;
}

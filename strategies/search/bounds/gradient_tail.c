/* Bounds what a stage still runs behind its first sum of gradients, and what the sums add to that;
 * gradient_interference.c says why. */
#include "strategies/search/bounds/gradient_interference.h"

#include "base/garray_access.h"

typedef struct {
    const RhGradientStage *s;
    const RhStageProgram *stage_program;
    double held_frac;
    bool over;      /* no forward behind the first call, nor a message of one */
    GArray *path;   /* RhGradientInterval, from the first call on */
    GArray *called; /* Called */
} Tail;

typedef struct {
    guint at;                   /* of the path: what comes behind */
    const RhGradientCall *call; /* NULL: of no bytes */
} Called;

static void add_item(Tail *t, int kind, RhSlotPass pass, bool out)
{
    const GArray *path = t->s->paths[kind][pass][out];
    for (guint i = 0; t->called->len > 0 && path && i < path->len; i++) {
        const RhGradientInterval *stretch = &g_array_index(path, RhGradientInterval, i);
        g_array_append_val(t->path, *stretch);
    }
}

static void add_call(Tail *t, const RhInstr *step)
{
    Called called = {t->path->len, NULL};
    for (guint i = 0; i < t->s->calls->len; i++) {
        const RhGradientCall *call = &g_array_index(t->s->calls, RhGradientCall, i);
        if (call->group == step->group && call->op == step->op && call->bytes == step->bytes)
            called.call = call;
    }
    g_array_append_val(t->called, called);
}

static void add_slot(Tail *t, const RhSlot *slot, RhInstrRange steps)
{
    const RhStageProgram *stage_program = t->stage_program;
    int32_t first = stage_program->chunk_layers[slot->chunk],
            end = stage_program->chunk_layers[slot->chunk + 1];
    bool forward = slot->pass == RH_SLOT_FORWARD;
    for (int32_t i = first; steps.count == 0 && i < end; i++) {
        int32_t at = forward ? i : end - 1 - (i - first);
        add_item(t, stage_program->kinds[at], slot->pass, i + 1 < end);
    }
    int32_t last = steps.first + steps.count - 1;
    while (last >= steps.first && rh_stage_program_instr(stage_program, last)->kind != RH_INSTR_RUN)
        last--;
    for (int32_t i = steps.first; i < steps.first + steps.count; i++) {
        const RhInstr *step = rh_stage_program_instr(stage_program, i);
        if (step->kind == RH_INSTR_RUN)
            add_item(t, rh_stage_program_layer(stage_program, step->item)->kind,
                     (RhSlotPass)step->pass, i < last);
        else if (rh_is_gradient_reduction(step))
            add_call(t, step);
    }
}

/* Most seconds of kernels in a stretch of the path that lies beside the flow. */
static double beside_s(const Tail *t, const RhGradientFlow *flow)
{
    const RhGradientInterval *path = RH_ELEMENTS(t->path, RhGradientInterval);
    double fast = 1 - t->held_frac, sum = 0, kernels = 0, most = 0;
    for (guint i = 0, j = 0; i < t->path->len; i++) {
        for (; j < t->path->len; j++) {
            double more = path[j].kernels_s / fast + flow->part[t->over] * path[j].meets_s;
            if (sum + more > flow->moving_s)
                break;
            sum += more;
            kernels += path[j].kernels_s;
        }
        double part =
            j < t->path->len ? rh_min_d(path[j].kernels_s, (flow->moving_s - sum) * fast) : 0;
        most = rh_max_d(most, kernels + part);
        if (j == i) {
            j++;
            sum = kernels = 0;
        } else {
            sum -= path[i].kernels_s / fast + flow->part[t->over] * path[i].meets_s;
            kernels -= path[i].kernels_s;
        }
    }
    return rh_min_d(most * (1 + 1e-9), flow->moving_s);
}

/* Returns the time that a call adds to the path or after it. */
static double added_s(const Tail *t, const RhGradientCall *call)
{
    double sum = 0;
    for (guint i = 0; call && i < call->flows->len; i++) {
        const RhGradientFlow *flow = &g_array_index(call->flows, RhGradientFlow, i);
        sum += flow->repeat * (flow->moving_s - beside_s(t, flow));
    }
    return sum;
}

static double latest_s(const Tail *t, const RhGradientCalled *calls)
{
    double latest = 0, behind_s = 0, added = 0, known_s = 0;
    const RhGradientCall *known = NULL;
    guint at = t->path->len;
    for (guint k = t->called->len; k-- > 0;) {
        const Called *called = &g_array_index(t->called, Called, k);
        for (; at > called->at; at--) {
            const RhGradientInterval *stretch = &g_array_index(t->path, RhGradientInterval, at - 1);
            behind_s += stretch->kernels_s + stretch->meets_s;
        }
        if (called->call != known) {
            known = called->call;
            known_s = added_s(t, known);
        }
        added += known_s;
        latest = rh_max_d(latest, calls[k].compute_s + behind_s + added);
    }
    return latest;
}

/* Then all that follows from the forward's message came before. */
static bool is_back_of(const RhSlot *back, const RhSlot *forward)
{
    return back->pass != RH_SLOT_FORWARD && back->chunk == forward->chunk &&
           back->microbatch == forward->microbatch;
}

double rh_gradient_stage_s(const RhGradientStage *s, const RhBoundCache *cache,
                           const RhCommSteps *flows, const RhSlot *slots, int64_t total,
                           const GArray *called)
{
    if (!s)
        return 0;
    const RhStageProgram *stage_program = flows->stage_program;
    int32_t m = 0;
    for (int64_t i = 0; i < total; i++)
        m += slots[i].pass == RH_SLOT_FORWARD && slots[i].chunk == 0;
    g_autofree int32_t *done = g_new0(int32_t, stage_program->layout->vpp * RH_SLOT_PASSES);
    Tail t = {s,
              stage_program,
              cache->held_frac,
              false,
              g_array_new(FALSE, FALSE, sizeof(RhGradientInterval)),
              g_array_new(FALSE, FALSE, sizeof(Called))};
    for (int64_t i = 0, last = -1; i < total; i++) {
        RhSlotKind kind = rh_slot_kind_next(&slots[i], m, done);
        bool none = t.called->len == 0, forward = slots[i].pass == RH_SLOT_FORWARD;
        add_slot(&t, &slots[i], rh_stage_program_slot(stage_program, &kind));
        if (forward)
            last = i;
        if (none && t.called->len > 0)
            t.over = is_back_of(&slots[i], &slots[last]);
        t.over = t.over && !(forward && !none);
    }
    g_assert(called->len == t.called->len);
    double latest = latest_s(&t, RH_ELEMENTS(called, RhGradientCalled));
    g_array_unref(t.path);
    g_array_unref(t.called);
    return latest;
}

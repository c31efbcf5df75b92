#include "strategies/train/shape.h"

#include <math.h>
#include <string.h>

/* Longer schedules have no critical path of their own: there, what the busiest stage does between
 * fill and drain is nearly all. */
#define PATH_SLOTS_MAX 400000

/* --- memory: the fullest moments --- */

static RhKeptRun run_at(const GArray *runs, int32_t i)
{
    return g_array_index(runs, RhKeptRun, i);
}

/* One micro-batch more or less of the chunk: its run is parted, and joined to neighbours that keep as
 * many. */
static void change_kept(GArray *runs, int32_t chunk, int32_t by)
{
    int32_t i = 0;
    while (run_at(runs, i).end <= chunk)
        i++;
    int32_t begin = i > 0 ? run_at(runs, i - 1).end : 0, from = i, count = 0;
    RhKeptRun old = run_at(runs, i), fresh[3];
    RhKeptRun changed = {chunk + 1, old.kept + by};
    if (begin < chunk)
        fresh[count++] = (RhKeptRun){chunk, old.kept};
    else if (i > 0 && run_at(runs, i - 1).kept == changed.kept)
        from--;
    bool joins = chunk + 1 == old.end && i + 1 < (int32_t)runs->len &&
                 run_at(runs, i + 1).kept == changed.kept;
    if (!joins)
        fresh[count++] = changed;
    if (chunk + 1 < old.end)
        fresh[count++] = old;
    g_array_remove_range(runs, (guint)from, (guint)(i - from + 1));
    g_array_insert_vals(runs, (guint)from, fresh, (guint)count);
}

/* Has `a` at least as many of every chunk? Both end with the last one. */
static bool covers(const RhKeptRun *a, const RhKeptRun *b, int32_t v)
{
    for (int32_t end = 0; end < v; end = MIN(a->end, b->end)) {
        a += a->end == end;
        b += b->end == end;
        if (a->kept < b->kept)
            return false;
    }
    return true;
}

static void keep_runs(RhShape *s, RhFullMoment *moment, const GArray *runs)
{
    moment->runs_first = (int32_t)s->runs->len;
    moment->runs_count = (int32_t)runs->len;
    g_array_append_vals(s->runs, runs->data, runs->len);
}

/* Keeps the moment unless another of its kind has at least as many of every chunk. *first is the first
 * one of the chunk and pass. */
static void note_moment(RhShape *s, int32_t *first, const RhSlot *slot, int32_t beside,
                        const GArray *runs)
{
    const RhKeptRun *kept = &g_array_index(runs, RhKeptRun, 0);
    int32_t *at = first;
    while (*at >= 0) {
        RhFullMoment *have = &g_array_index(s->moments, RhFullMoment, *at);
        const RhKeptRun *old = &g_array_index(s->runs, RhKeptRun, have->runs_first);
        at = &have->next;
        if (have->beside != beside)
            continue;
        if (covers(old, kept, s->v))
            return;
        if (covers(kept, old, s->v)) {
            keep_runs(s, have, runs);
            return;
        }
    }
    RhFullMoment moment = {.chunk = slot->chunk, .pass = slot->pass, .beside = beside, .next = -1};
    keep_runs(s, &moment, runs);
    *at = (int32_t)s->moments->len;
    g_array_append_val(s->moments, moment);
}

static void note_stage_memory(RhShape *s, const RhSlot *slots)
{
    g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(RhKeptRun));
    RhKeptRun nothing = {s->v, 0};
    g_array_append_val(runs, nothing);
    size_t kinds = (size_t)s->v * RH_SLOT_PASSES;
    g_autofree int32_t *first = g_new(int32_t, kinds);
    memset(first, -1, kinds * sizeof *first);
    int64_t pair_end = 0; /* what runs beside a forward has its moment with that */
    for (int64_t i = 0; i < s->slots_count; i++) {
        int32_t kind = slots[i].chunk * RH_SLOT_PASSES + (int32_t)slots[i].pass;
        if (slots[i].pass == RH_SLOT_FORWARD)
            change_kept(runs, slots[i].chunk, 1);
        if (i >= pair_end)
            note_moment(s, &first[kind], &slots[i], slots[i].beside ? slots[i + 1].chunk : -1,
                        runs);
        if (slots[i].beside)
            pair_end = i + 1 + slots[i].beside;
        if (rh_slot_ends(slots[i].pass))
            change_kept(runs, slots[i].chunk, -1);
    }
}

/* --- what runs before the first gradients are whole --- */

static void count_slots(int32_t *counts, const RhSlot *slots, int64_t from, int64_t end)
{
    for (int64_t i = from; i < end; i++)
        counts[slots[i].chunk * RH_SLOT_PASSES + (int32_t)slots[i].pass]++;
}

static void note_before_last(RhShape *s, int32_t stage, const RhSlot *slots)
{
    g_autofree int32_t *done = g_new0(int32_t, (gsize)s->v * RH_SLOT_PASSES);
    int32_t *before = s->before_last + (int64_t)stage * s->v * RH_SLOT_PASSES;
    int64_t first = 0; /* of the slots that run at once */
    for (int64_t i = 0; i < s->slots_count; i++) {
        RhSlotKind kind = rh_slot_kind_next(&slots[i], s->m, done);
        if (i > first + slots[first].beside) {
            count_slots(before, slots, first, i);
            first = i;
        }
        if (kind.last && rh_slot_ends(kind.pass))
            return;
    }
}

static void note_behind_back(RhShape *s, int32_t stage, const RhSlot *slots)
{
    int32_t *behind = s->behind_back + (int64_t)stage * s->v * RH_SLOT_PASSES;
    int64_t i = s->slots_count - 1;
    while (i > 0 && !rh_slot_goes_back(slots[i].pass))
        i--;
    s->back_chunk[stage] = slots[i].chunk;
    count_slots(behind, slots, i + 1, s->slots_count);
    if (i > 0 && slots[i - 1].beside) /* its gradients may leave first */
        count_slots(behind, slots, i - 1, i);
}

static void note_pairs(RhShape *s, int32_t stage, const RhSlot *slots)
{
    int32_t *alone = s->alone + (int64_t)stage * s->v * RH_SLOT_PASSES;
    int32_t *pairs = s->pairs + (int64_t)stage * s->v * s->v;
    for (int64_t i = 0; i < s->slots_count; i += 1 + slots[i].beside)
        if (slots[i].beside)
            pairs[slots[i].chunk * s->v + slots[i + 1].chunk]++;
        else
            count_slots(alone, slots, i, i + 1);
}

/* --- critical paths --- */

/* A slot of the graph, and where its latest input came from. */
typedef struct {
    double end;
    int32_t from; /* node: stage * slots_count + position; -1: the start */
    bool by_message;
} Node;

/* Costs under which a path is looked for: of a forward and a backward (its two halves share it), of
 * the model's first chunk, which has the embedding, and of the last, which has the head. */
typedef struct {
    double forward, backward, first, last, message;
} PlainCosts;

static const PlainCosts plain[] = {
    {1, 2, 1, 1, 0.01}, {1, 2, 1, 1.4, 0.01}, {1, 3, 1, 1, 0.01}, {1, 2, 1.3, 1, 0.2}};

typedef struct {
    const RhShape *s;
    const PlainCosts *costs;
    const RhSlot *slots;     /* p x slots_count */
    const RhSlotKind *kinds; /* of the slots */
    Node *nodes;
    int32_t *next;     /* per stage: position of the slot to run */
    int32_t *input[2]; /* [backward][chunk * m + micro-batch]: node that sends it, -1 not yet */
} Graph;

static double cost_of(const Graph *g, const RhSlot *slot, int32_t at)
{
    double scale = at == 0 ? g->costs->first : at == g->s->p * g->s->v - 1 ? g->costs->last : 1;
    double pass = slot->pass == RH_SLOT_FORWARD ? g->costs->forward : g->costs->backward;
    bool half = g->s->schedule->splits_backward && slot->pass != RH_SLOT_FORWARD;
    return scale * pass / (half ? 2 : 1);
}

/* The node that a slot's input comes from: -1 none needed, -2 not there yet. */
static int32_t input_of(const Graph *g, const RhSlot *slot, int32_t at)
{
    int32_t last = g->s->p * g->s->v - 1;
    bool back = rh_slot_goes_back(slot->pass);
    if (slot->pass == RH_SLOT_BACKWARD_WEIGHT || (!back && at == 0) || (back && at == last))
        return -1;
    int32_t node = g->input[back][(int64_t)at * g->s->m + slot->microbatch];
    return node < 0 ? -2 : node;
}

static void hand_on(Graph *g, const RhSlot *slot, int32_t at, int32_t node)
{
    int32_t to = rh_slot_goes_back(slot->pass) ? at - 1 : at + 1;
    if (slot->pass != RH_SLOT_BACKWARD_WEIGHT && to >= 0 && to < g->s->p * g->s->v)
        g->input[rh_slot_goes_back(slot->pass)][(int64_t)to * g->s->m + slot->microbatch] = node;
}

static int32_t place_of(const Graph *g, const RhSlot *slot, int32_t stage)
{
    return rh_pipeline_model_chunk(g->s->schedule, g->s->p, stage, slot->chunk);
}

/* When the node's input from another stage is there; -1: it came before, on this one. */
static double arrival_of(const Graph *g, int32_t input, int32_t stage)
{
    bool same = input < 0 || input / g->s->slots_count == stage;
    return same ? -1 : g->nodes[input].end + g->costs->message;
}

/* A slot, or a pair: each half has its own latest input, and they end together. */
static bool advance(Graph *g, int32_t stage)
{
    int64_t n = g->s->slots_count, here = g->next[stage];
    if (here == n)
        return false;
    const RhSlot *slots = &g->slots[stage * n + here];
    int32_t node = (int32_t)(stage * n + here), count = 1 + slots->beside;
    double before = here ? g->nodes[node - 1].end : 0, latest = before;
    for (int32_t i = 0; i < count; i++) {
        int32_t input = input_of(g, &slots[i], place_of(g, &slots[i], stage));
        if (input == -2)
            return false;
        double arrival = arrival_of(g, input, stage);
        bool sent = arrival > before;
        g->nodes[node + i] = (Node){.from = sent   ? input
                                            : here ? node - 1
                                                   : -1,
                                    .by_message = sent};
        latest = fmax(latest, arrival);
    }
    for (int32_t i = 0; i < count; i++)
        latest += cost_of(g, &slots[i], place_of(g, &slots[i], stage));
    for (int32_t i = 0; i < count; i++) {
        g->nodes[node + i].end = latest;
        hand_on(g, &slots[i], place_of(g, &slots[i], stage), node + i);
    }
    g->next[stage] += count;
    return true;
}

static void run(Graph *g)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t stage = 0; stage < g->s->p; stage++)
            while (advance(g, stage))
                moved = true;
    }
}

static void count_message(RhPathMessages *messages, const RhShape *s, const RhSlot *slot,
                          int32_t stage)
{
    if (rh_slot_goes_down(s->schedule, slot))
        *(stage == 0 ? &messages->back_wrap : &messages->back) += 1;
    else
        *(stage == s->p - 1 ? &messages->next_wrap : &messages->next) += 1;
}

static void note_ends(const Graph *g, int32_t path, int32_t node, bool is_end)
{
    int32_t stage = (int32_t)(node / g->s->slots_count);
    RhPathSlot slot = {path, stage, g->kinds[node]};
    if (is_end) {
        g->s->path_messages[path].end_stage = stage;
        g->s->path_messages[path].end = slot.kind;
    } else if (g->nodes[node].from >= 0 && (slot.kind.first || slot.kind.last)) {
        g_array_append_val(g->s->path_slots, slot);
    }
}

typedef struct {
    const Graph *g;
    int32_t path;
    RhPathCount *counts;
    RhPathMessages *messages;
} Trace;

static RhPathCount *count_of(const Trace *t, int32_t node)
{
    const RhSlot *slot = &t->g->slots[node];
    int32_t at = place_of(t->g, slot, (int32_t)(node / t->g->s->slots_count));
    return &t->counts[at * RH_SLOT_PASSES + (int32_t)slot->pass];
}

static void leave_by_message(const Trace *t, int32_t node)
{
    count_of(t, node)->sent++;
    count_message(t->messages, t->g->s, &t->g->slots[node], (int32_t)(node / t->g->s->slots_count));
}

/* The pair's forward, where the slot is of one; else -1. */
static int32_t pair_of(const Graph *g, int32_t node)
{
    for (int32_t k = 0; k <= 2 && k <= node % g->s->slots_count; k++)
        if (g->slots[node - k].beside >= MAX(k, 1))
            return node - k;
    return -1;
}

/* A pair. An output waits for all of its own half, the slot behind for both; but what came late for one
 * half holds up no more than that half. Returns the node that the path comes from. */
static int32_t trace_pair(const Trace *t, int32_t first, int32_t node, bool sent)
{
    const Node *nodes = t->g->nodes;
    int32_t back = first + 1, end = first + t->g->slots[first].beside;
    int32_t half = node == first ? first : back;
    if (!sent && nodes[first].by_message)
        half = first;
    if (!sent && nodes[back].by_message &&
        (half == back || nodes[nodes[back].from].end > nodes[nodes[first].from].end))
        half = back;
    bool all = !sent && !nodes[half].by_message;
    if (sent)
        leave_by_message(t, half);
    if (all || half == first)
        count_of(t, first)->on += !sent;
    for (int32_t i = back; (all || half == back) && i <= end; i++)
        count_of(t, i)->on += !sent || i > back;
    return half;
}

/* Follows the latest inputs back from the node that ends last. */
static void trace(const Trace *t)
{
    const Graph *g = t->g;
    int64_t n = g->s->slots_count;
    int32_t node = 0;
    bool sent = false, is_end = true;
    for (int32_t stage = 0; stage < g->s->p; stage++)
        if (g->nodes[stage * n + n - 1].end >= g->nodes[node].end)
            node = (int32_t)(stage * n + n - 1);
    while (node >= 0) {
        int32_t pair = pair_of(g, node), from = node;
        if (is_end || pair < 0)
            note_ends(g, t->path, node, is_end);
        if (pair >= 0)
            from = trace_pair(t, pair, node, sent);
        else if (sent)
            leave_by_message(t, node);
        else
            count_of(t, node)->on++;
        sent = g->nodes[from].by_message;
        node = g->nodes[from].from;
        is_end = false;
    }
}

static RhSlotKind *list_kinds(const RhShape *s, const RhSlot *slots)
{
    gsize counters = (gsize)s->v * RH_SLOT_PASSES;
    g_autofree int32_t *done = g_new0(int32_t, counters * (gsize)s->p);
    RhSlotKind *kinds = g_new(RhSlotKind, (gsize)s->p * (gsize)s->slots_count);
    for (int64_t i = 0; i < s->p * s->slots_count; i++)
        kinds[i] =
            rh_slot_kind_next(&slots[i], s->m, done + counters * (gsize)(i / s->slots_count));
    return kinds;
}

static void find_paths(RhShape *s, const RhSlot *slots)
{
    size_t nodes = (size_t)s->p * (size_t)s->slots_count;
    size_t cells = (size_t)s->p * (size_t)s->v * (size_t)s->m;
    size_t entries = (size_t)s->p * (size_t)s->v * RH_SLOT_PASSES;
    g_autofree Node *room = g_new(Node, nodes);
    g_autofree int32_t *next = g_new(int32_t, s->p), *inputs = g_new(int32_t, 2 * cells);
    g_autofree RhSlotKind *kinds = list_kinds(s, slots);
    s->paths_count = G_N_ELEMENTS(plain);
    s->paths = g_new0(RhPathCount, entries * (size_t)s->paths_count);
    s->path_messages = g_new0(RhPathMessages, s->paths_count);
    for (int32_t i = 0; i < s->paths_count; i++) {
        Graph g = {s, &plain[i], slots, kinds, room, next, {inputs, inputs + cells}};
        memset(inputs, -1, 2 * cells * sizeof *inputs);
        memset(next, 0, sizeof *next * (size_t)s->p);
        run(&g);
        trace(&(Trace){&g, i, s->paths + entries * (size_t)i, &s->path_messages[i]});
    }
}

/* Micro-batches that are walked: of a long schedule that settles, its ends and some of the middle. */
static int32_t walked(const RhPipelineSchedule *schedule, int32_t p, int32_t v, int32_t m)
{
    bool is_long = p * rh_pipeline_slots_count(schedule, v, m) > PATH_SLOTS_MAX;
    return schedule->settles && is_long ? MIN(m, 4 * p + m % p) : m;
}

/* What the middle that was not walked adds: every pass of every chunk, once a micro-batch. */
static void add_middle(RhShape *s, int32_t more)
{
    bool splits = s->schedule->splits_backward;
    for (int32_t cell = 0; cell < s->p * s->v; cell++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
            if (pass == RH_SLOT_FORWARD || splits == (pass != RH_SLOT_BACKWARD))
                s->before_last[cell * RH_SLOT_PASSES + pass] += more;
}

static RhShape *shape_alloc(const RhPipelineSchedule *schedule, int32_t p, int32_t v, int32_t m)
{
    RhShape *s = g_new0(RhShape, 1);
    gsize entries = (gsize)p * (gsize)v * RH_SLOT_PASSES;
    *s = (RhShape){.schedule = schedule, .p = p, .v = v, .m = m};
    s->moments = g_array_new(FALSE, FALSE, sizeof(RhFullMoment));
    s->runs = g_array_new(FALSE, FALSE, sizeof(RhKeptRun));
    s->moments_first = g_new0(int32_t, p + 1);
    s->before_last = g_new0(int32_t, entries);
    s->behind_back = g_new0(int32_t, entries);
    s->back_chunk = g_new0(int32_t, p);
    s->path_slots = g_array_new(FALSE, FALSE, sizeof(RhPathSlot));
    return s;
}

RhShape *rh_shape_new(const RhPipelineSchedule *schedule, int32_t p, int32_t v, int32_t m)
{
    RhShape *s = shape_alloc(schedule, p, v, walked(schedule, p, v, m));
    s->slots_count = rh_pipeline_slots_count(schedule, v, s->m);
    if (schedule->pairs && s->m == m) {
        s->alone = g_new0(int32_t, (gsize)p * (gsize)v * RH_SLOT_PASSES);
        s->pairs = g_new0(int32_t, (gsize)p * (gsize)v * (gsize)v);
    }
    bool paths = p > 1 && s->m == m && p * s->slots_count <= PATH_SLOTS_MAX;
    g_autofree RhSlot *slots = g_new(RhSlot, (gsize)(paths ? p : 1) * (gsize)s->slots_count);
    for (int32_t stage = 0; stage < p; stage++) {
        RhSlot *own = slots + (paths ? stage * s->slots_count : 0);
        schedule->order(p, v, s->m, stage, own);
        note_stage_memory(s, own);
        s->moments_first[stage + 1] = (int32_t)s->moments->len;
        note_before_last(s, stage, own);
        note_behind_back(s, stage, own);
        if (s->pairs)
            note_pairs(s, stage, own);
    }
    if (paths)
        find_paths(s, slots);
    add_middle(s, m - s->m);
    s->m = m;
    s->slots_count = rh_pipeline_slots_count(schedule, v, m);
    return s;
}

void rh_shape_free(RhShape *s)
{
    if (!s)
        return;
    g_array_unref(s->moments);
    g_array_unref(s->runs);
    g_free(s->moments_first);
    g_free(s->before_last);
    g_free(s->behind_back);
    g_free(s->back_chunk);
    g_free(s->alone);
    g_free(s->pairs);
    g_free(s->paths);
    g_free(s->path_messages);
    g_array_unref(s->path_slots);
    g_free(s);
}

#include "strategies/train/schedule_critical_path.h"

#include <math.h>
#include <string.h>

/* A slot of the graph, and the origin of its latest input. */
typedef struct {
    double end, out; /* time at which the stage is free; at which the output is sent */
    int32_t from;    /* node: stage * slots_count + position; -1: the start */
    bool by_message;
} Node;

typedef struct {
    const RhPipelineSchedule *schedule;
    int32_t p, v, m;
    int32_t slots_count; /* of one stage */
    RhSlot *slots;       /* p x slots_count */
    RhSlotKind *kinds;   /* of the slots */
    RhSlotTurn *turns;   /* per stage */
    Node *nodes;         /* per slot */
    int32_t *next;       /* per stage: position of the slot to run */
    int32_t *input[2];   /* [backward][chunk * m + micro-batch]: node that sends it, -1 not yet */
    GArray *steps;       /* Step: of the path, from its end */
    const RhSchedulePathCosts *costs;
} Finder;

/* --- the graph --- */

/* Node that a slot's input comes from: -1 none needed, -2 not there yet. */
static int32_t input_of(const Finder *f, const RhSlot *slot, int32_t at)
{
    bool back = rh_slot_goes_back(slot->pass);
    bool first = back ? rh_pipeline_ends(f->schedule, f->p, f->v, at)
                      : rh_pipeline_begins(f->schedule, f->p, at);
    if (slot->pass == RH_SLOT_BACKWARD_WEIGHT || first)
        return -1;
    int32_t node = f->input[back][(int64_t)at * f->m + slot->microbatch];
    return node < 0 ? -2 : node;
}

static void hand_on(Finder *f, const RhSlot *slot, int32_t at, int32_t node)
{
    int32_t to = rh_pipeline_receiver(f->schedule, f->p, f->v, slot->pass, at);
    if (to >= 0)
        f->input[rh_slot_goes_back(slot->pass)][(int64_t)to * f->m + slot->microbatch] = node;
}

static int32_t place_of(const Finder *f, const RhSlot *slot, int32_t stage)
{
    return rh_pipeline_model_chunk(f->schedule, f->p, stage, slot->chunk);
}

/* Arrival of the node's input from another stage; -1: it was made earlier on this one. */
static double arrival_of(const Finder *f, int32_t input, int32_t stage)
{
    bool same = input < 0 || input / f->slots_count == stage;
    return same ? -1 : f->nodes[input].out + f->costs->message_s;
}

static int32_t cell_of(const Finder *f, int32_t node)
{
    const RhSlot *slot = &f->slots[node];
    return place_of(f, slot, node / f->slots_count) * RH_SLOT_PASSES + (int32_t)slot->pass;
}

/* Time at which the stage is free for the node, which a message sent just before may delay. */
static double free_s(const Finder *f, int32_t node, int32_t stage)
{
    int32_t here = node % f->slots_count;
    double end = here ? f->nodes[node - 1].end : 0;
    if (here == 0 || !f->costs->behind_s || f->slots[node].beside)
        return end;
    const RhSlot *before = &f->slots[node - 1];
    int32_t to =
        rh_pipeline_receiver(f->schedule, f->p, f->v, before->pass, place_of(f, before, stage));
    bool sends = to >= 0 && rh_pipeline_stage(f->schedule, f->p, to) != stage;
    int32_t stand = (int32_t)rh_slot_stand(&f->turns[stage], here - 1);
    int32_t kind = stand * 2 + rh_slot_goes_down(f->schedule, before);
    int32_t cells = f->p * f->v * RH_SLOT_PASSES;
    return end + (sends ? f->costs->behind_s[kind * cells + cell_of(f, node)] : 0);
}

/* Performs the stage's next slot, or pair, in which each half has its own latest input, and both
 * end together. */
static bool perform_next(Finder *f, int32_t stage)
{
    int32_t here = f->next[stage];
    if (here == f->slots_count)
        return false;
    int32_t node = stage * f->slots_count + here;
    const RhSlot *slots = &f->slots[node];
    int32_t count = 1 + slots->beside;
    double before = free_s(f, node, stage), start = before, more = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t input = input_of(f, &slots[i], place_of(f, &slots[i], stage));
        if (input == -2)
            return false;
        double arrival = arrival_of(f, input, stage);
        bool sent = arrival > before;
        f->nodes[node + i] = (Node){.from = sent   ? input
                                            : here ? node - 1
                                                   : -1,
                                    .by_message = sent};
        start = fmax(start, arrival);
    }
    double end = start;
    for (int32_t i = 0; i < count; i++) {
        int32_t cell = cell_of(f, node + i);
        bool last = f->kinds[node + i].last && rh_slot_ends(slots[i].pass);
        end += f->costs->busy_s[cell] * (1 + (last ? f->costs->last_frac : 0));
        more = f->costs->out_s[cell] - f->costs->busy_s[cell];
    }
    for (int32_t i = 0; i < count; i++) {
        f->nodes[node + i].end = end;
        f->nodes[node + i].out = end + (count == 1 ? more : 0);
        hand_on(f, &slots[i], place_of(f, &slots[i], stage), node + i);
    }
    f->next[stage] += count;
    return true;
}

static void perform_all(Finder *f)
{
    memset(f->input[0], -1, 2 * (size_t)f->p * (size_t)f->v * (size_t)f->m * sizeof *f->input[0]);
    memset(f->next, 0, sizeof *f->next * (size_t)f->p);
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t stage = 0; stage < f->p; stage++)
            while (perform_next(f, stage))
                moved = true;
    }
}

/* --- from the end back --- */

/* A slot of the path, which sends to the following one, or is part of a pair. */
typedef struct {
    int32_t node;
    bool sent, pair;
} Step;

static double busy_s(const Finder *f, int32_t node)
{
    return f->costs->busy_s[cell_of(f, node)];
}

static void leave_by_message(const Finder *f, RhSchedulePath *path, int32_t node)
{
    int32_t stage = node / f->slots_count;
    path->slots_s += f->costs->out_s[cell_of(f, node)];
    path->messages[2 * stage + rh_slot_goes_down(f->schedule, &f->slots[node])]++;
}

/* The forward of the pair that the slot is part of; else -1. */
static int32_t pair_of(const Finder *f, int32_t node)
{
    for (int32_t k = 0; k <= 2 && k <= node % f->slots_count; k++)
        if (f->slots[node - k].beside >= MAX(k, 1))
            return node - k;
    return -1;
}

/* Follows the path through a pair. An output waits for all of its own half, the next slot for both;
 * but an input that is late for one half delays only that half. Returns the node that the path
 * comes from. */
static int32_t trace_pair(const Finder *f, RhSchedulePath *path, int32_t first, Step at)
{
    const Node *nodes = f->nodes;
    int32_t back = first + 1, end = first + f->slots[first].beside;
    int32_t half = at.node == first ? first : back;
    if (!at.sent && nodes[first].by_message)
        half = first;
    if (!at.sent && nodes[back].by_message &&
        (half == back || nodes[nodes[back].from].end > nodes[nodes[first].from].end))
        half = back;
    bool all = !at.sent && !nodes[half].by_message;
    if (at.sent)
        leave_by_message(f, path, half);
    if (!at.sent && (all || half == first))
        path->slots_s += busy_s(f, first);
    for (int32_t i = back; (all || half == back) && i <= end; i++)
        path->slots_s += !at.sent || i > back ? busy_s(f, i) : 0;
    return half;
}

/* Follows the latest inputs back from the node that ends last. */
static void trace_path(Finder *f, RhSchedulePath *path)
{
    int32_t n = f->slots_count, node = 0;
    bool sent = false;
    for (int32_t stage = 0; stage < f->p; stage++)
        if (f->nodes[stage * n + n - 1].end >= f->nodes[node].end)
            node = stage * n + n - 1;
    g_array_set_size(f->steps, 0);
    while (node >= 0) {
        int32_t pair = pair_of(f, node), from = node;
        Step step = {node, sent, pair >= 0};
        g_array_append_val(f->steps, step);
        if (pair >= 0)
            from = trace_pair(f, path, pair, step);
        else if (sent)
            leave_by_message(f, path, node);
        else
            path->slots_s += busy_s(f, node);
        sent = f->nodes[from].by_message;
        node = f->nodes[from].from;
    }
}

/* Lists the path's slots. After a chunk's last gradients their sums may be on their way until the
 * path leaves the stage. */
static void list_slots(const Finder *f, RhSchedulePath *path)
{
    bool behind = false;
    for (guint left = f->steps->len; left > 0; left--) {
        const Step *step = &g_array_index(f->steps, Step, left - 1);
        const RhSlotKind *kind = &f->kinds[step->node];
        bool ends = left == 1 || left == f->steps->len;
        int32_t stage = step->node / f->slots_count;
        RhSlotStand stand = rh_slot_stand(&f->turns[stage], step->node % f->slots_count);
        RhSchedulePathSlot slot = {stage, *kind, behind && !step->pair, step->sent, stand};
        bool listed =
            slot.follows || f->costs->all || (!step->pair && (kind->first || kind->last)) || ends;
        if (listed)
            g_array_append_val(path->slots, slot);
        behind = !step->pair && !step->sent &&
                 (slot.follows || f->costs->all || (kind->last && rh_slot_ends(kind->pass)));
    }
}

/* --- the whole search --- */

static void list_kinds(Finder *f)
{
    gsize counters = (gsize)f->v * RH_SLOT_PASSES;
    g_autofree int32_t *done = g_new0(int32_t, counters * (gsize)f->p);
    for (int32_t i = 0; i < f->p * f->slots_count; i++)
        f->kinds[i] =
            rh_slot_kind_next(&f->slots[i], f->m, done + counters * (gsize)(i / f->slots_count));
}

static void finder_fill(Finder *f)
{
    gsize nodes = (gsize)f->p * (gsize)f->slots_count;
    gsize cells = (gsize)f->p * (gsize)f->v * (gsize)f->m;
    f->slots = g_new(RhSlot, nodes);
    f->kinds = g_new(RhSlotKind, nodes);
    f->turns = g_new(RhSlotTurn, f->p);
    f->nodes = g_new(Node, nodes);
    f->next = g_new(int32_t, f->p);
    f->input[0] = g_new(int32_t, 2 * cells);
    f->input[1] = f->input[0] + cells;
    f->steps = g_array_new(FALSE, FALSE, sizeof(Step));
    for (int32_t stage = 0; stage < f->p; stage++) {
        RhSlot *slots = f->slots + stage * f->slots_count;
        f->schedule->order(f->p, f->v, f->m, stage, slots);
        f->turns[stage] = rh_slot_turn(slots, f->slots_count);
    }
    list_kinds(f);
}

static void finder_clear(Finder *f)
{
    g_free(f->slots);
    g_free(f->kinds);
    g_free(f->turns);
    g_free(f->nodes);
    g_free(f->next);
    g_free(f->input[0]);
    g_array_unref(f->steps);
}

RhSchedulePath *rh_schedule_path_find(const RhPipelineSchedule *schedule, int32_t p, int32_t v,
                                      int32_t m, const RhSchedulePathCosts *costs)
{
    int64_t slots = rh_pipeline_slots_count(schedule, v, m);
    if (p * slots > RH_PATH_SLOTS_MAX)
        return NULL;
    Finder f = {.schedule = schedule,
                .p = p,
                .v = v,
                .m = m,
                .slots_count = (int32_t)slots,
                .costs = costs};
    RhSchedulePath *path = g_new0(RhSchedulePath, 1);
    path->message_s = costs->message_s;
    path->last_frac = costs->last_frac;
    path->all = costs->all;
    path->messages = g_new0(int32_t, 2 * p);
    path->slots = g_array_new(FALSE, FALSE, sizeof(RhSchedulePathSlot));
    finder_fill(&f);
    perform_all(&f);
    trace_path(&f, path);
    list_slots(&f, path);
    finder_clear(&f);
    return path;
}

void rh_schedule_path_free(RhSchedulePath *path)
{
    g_free(path->messages);
    g_array_unref(path->slots);
    g_free(path);
}

/* Idle seconds: of collectives, and of an item's pass, by walking its tasks. */
#include <math.h>
#include <string.h>

#include "sim/collective/shorten.h"
#include "strategies/search/screen.h"

typedef struct {
    RhOp op;
    RhAlgo algo;
    double bytes;
    RhRouting routing;
} Call;

/* The builder's choice: one for all groups of a kind, the first one's. */
RhAlgo rh_screen_algorithm(RhScreen *s, const RhNet *net, int32_t group, RhOp op, double bytes,
                           const RhRouting *routing)
{
    RhCollectiveKey key = {net->id, 0, group, (int32_t)op, bytes, *routing};
    gpointer found = g_hash_table_lookup(s->algorithms, &key);
    if (!found) {
        RhAlgo algo = rh_train_algorithm(s->asked, net->skeleton, group, op, bytes, routing);
        found = GINT_TO_POINTER(1 + (gint)algo);
        g_hash_table_insert(s->algorithms, g_memdup2(&key, sizeof key), found);
    }
    return (RhAlgo)(GPOINTER_TO_INT(found) - 1);
}

static Call call_of(RhScreen *s, const RhNet *net, int32_t group, RhOp op, double bytes,
                    const RhRouting *routing)
{
    return (Call){op, rh_screen_algorithm(s, net, group, op, bytes, routing), bytes, *routing};
}

static Call plain_call(RhScreen *s, const RhNet *net, int32_t group, RhOp op, double bytes)
{
    return call_of(s, net, group, op, bytes, &(RhRouting){0});
}

/* Every instance of a group in a role at once; the one at its first rank decides the steps. */
static RhScheduleTime together(const RhScreen *s, const RhProgram *p, int32_t group, int32_t role,
                               const Call *call)
{
    return rh_collective_time(p, s->c->platform, group, role, call->op, call->algo, call->bytes,
                              call->routing.experts > 0 ? &call->routing : NULL);
}

static double together_s(const RhScreen *s, const RhProgram *p, int32_t group, int32_t role,
                         const Call *call)
{
    RhScheduleTime time = together(s, p, group, role, call);
    return time.fixed_s + time.moving_s;
}

/* The same, kept for all bytes where one says what others take. `key` says which groups. */
static double together_kept_s(RhScreen *s, RhCollectiveKey key, const RhProgram *p, int32_t group,
                              int32_t role, const Call *call)
{
    key.stage = ~key.stage;
    key.op = (int32_t)call->op * RH_ALGO_LAST + (int32_t)call->algo;
    key.bytes = 0;
    key.routing = call->routing;
    RhScheduleTime *kept = g_hash_table_lookup(s->collectives, &key);
    if (kept)
        return kept->fixed_s + kept->moving_s * call->bytes;
    RhScheduleTime time = together(s, p, group, role, call);
    if (time.linear) {
        RhScheduleTime per_byte = {time.fixed_s, time.moving_s / call->bytes, true};
        g_hash_table_insert(s->collectives, g_memdup2(&key, sizeof key),
                            g_memdup2(&per_byte, sizeof per_byte));
    }
    return time.fixed_s + time.moving_s;
}

/* The groups of a stage. */
static double stage_together_s(RhScreen *s, const RhNet *net, int32_t stage, int32_t group,
                               const Call *call)
{
    RhCollectiveKey key = {.net = net->id, .stage = stage, .group = group};
    return together_kept_s(s, key, net->skeleton, group, stage, call);
}

/* The instance that holds `rank`, alone. */
static double alone_s(const RhScreen *s, const RhProgram *p, int32_t group, int32_t rank,
                      const Call *call)
{
    const RhGroup *g = rh_program_group(p, group);
    g_autofree int32_t *gpus = g_new(int32_t, g->size);
    rh_group_members(g, rank, gpus);
    for (int32_t i = 0; i < g->size; i++)
        gpus[i] = rh_program_gpu(p, gpus[i]);
    if (call->routing.experts == 0)
        return rh_alone_time_s(s->alone, call->op, call->algo, g->size, gpus, call->bytes);
    g_autoptr(RhProgram) one = rh_program_new(g->size);
    RhSpan all = {1, g->size};
    one->gpu_of_rank = g_steal_pointer(&gpus);
    int32_t only = rh_program_add_group(one, "alone", &all, 1);
    return together_s(s, one, only, -1, call);
}

/* Do the ranks that the instances of a kind of group take in, from the first place on and so on, meet
 * links like one another's? Those of one such interval of places begin together; those of another may
 * not where they lie otherwise. */
static bool intervals_lie_alike(const RhScreen *s, const RhNet *net, int32_t stage,
                                RhGroupKind kind)
{
    const RhPlatform *p = s->c->platform;
    int32_t places = net->grid.high[kind], ranks = rh_grid_stage_ranks(&net->grid);
    int32_t first = rh_grid_rank(&net->grid, stage, 0);
    RhFootprint set = rh_platform_footprint();
    for (int32_t place = 0; place < places; place++)
        rh_platform_footprint_add(p, &set, rh_grid_rank(&net->grid, stage, place));
    for (int32_t place = places; place < ranks; place += places)
        if (!rh_platform_moves_alike(p, &set, rh_grid_rank(&net->grid, stage, place) - first))
            return false;
    return true;
}

/* The quickest instance alone. */
static double least_alone_s(const RhScreen *s, const RhNet *net, int32_t stage, RhGroupKind kind,
                            const Call *call)
{
    int32_t low = net->grid.low[kind], high = net->grid.high[kind];
    double least = (double)INFINITY;
    for (int32_t from = 0; from < rh_grid_stage_ranks(&net->grid); from += high)
        for (int32_t place = from; place < from + low; place++)
            least = rh_earlier(least, alone_s(s, net->skeleton, net->groups[kind],
                                              rh_grid_rank(&net->grid, stage, place), call));
    return least;
}

/* Where pairs of GPUs differ in how they are joined, groups beside one another do, too; so do those whose
 * members share nodes in other ways (of every third rank, on nodes of four). One that is ahead in a phase meets
 * fewer flows in the next. What goes to neighbours alone has one phase, and the last byte over a link is the
 * last group's. Of other algorithms all bytes over the busiest link are counted, whatever the phase. */
static bool phases_keep_step(const RhScreen *s, const RhNet *net, RhGroupKind kind,
                             const Call *call)
{
    const RhPlatform *p = s->c->platform;
    int32_t each = p->gpus_per_node, beside = net->grid.low[kind];
    bool alike = each % beside == 0 || beside % each == 0;
    bool joined_alike = p->mesh.gpus == 0 || net->block == 1 || net->block % each == 0;
    return (alike && joined_alike) || rh_collective_is_to_neighbours(call->op, call->algo);
}

/* Side by side on a stage there is an instance for each place in a block. They are at one time in
 * the network where blocks lie alike. Else each is taken to be alone, and the bound follows one
 * rank; or, where a block's ranks keep together, its slowest. Of a kind that has instances apart in
 * other blocks, the quickest is taken unless all lie alike. */
static double stage_s(RhScreen *s, const RhNet *net, int32_t stage, RhGroupKind kind,
                      const Call *call)
{
    int32_t group = net->groups[kind];
    bool everywhere = rh_grid_group_meets_blocks(&net->grid, kind);
    bool together = net->uniform && (everywhere || intervals_lie_alike(s, net, stage, kind));
    if (together && phases_keep_step(s, net, kind, call))
        return stage_together_s(s, net, stage, group, call);
    if (!everywhere)
        return least_alone_s(s, net, stage, kind, call);
    bool meets = rh_grid_block_meets(&net->grid);
    int32_t one = net->placement[stage]->rank;
    RhCollectiveKey key = {net->id, stage, (int32_t)kind, (int32_t)call->op, call->bytes, {0}};
    double slowest = together ? rh_screen_busiest_s(s, net, group, &key) : 0;
    for (int32_t place = meets ? 0 : one; place < (meets ? net->block : one + 1); place++) {
        int32_t rank = rh_grid_rank(&net->grid, stage, place);
        slowest = fmax(slowest, alone_s(s, net->skeleton, group, rank, call));
    }
    return slowest;
}

/* The kinds of pairs there are: how far one member is from the other. Between the same places of two
 * nodes one GPU of each node speaks for all. */
typedef struct {
    RhHop hop;
    int32_t rank; /* in one of them */
} Pair;

static GArray *kinds_of_pairs(const RhScreen *s, const RhProgram *p, int32_t stage, int32_t group)
{
    const RhRole *role = rh_program_role(p, stage);
    const RhGroup *g = rh_program_group(p, group);
    GArray *kinds = g_array_new(FALSE, FALSE, sizeof(Pair));
    bool same_places = g->spans[0].stride % s->c->platform->gpus_per_node == 0;
    int32_t node = -1;
    for (int32_t i = 0; i < role->ranks_count; i++) {
        int32_t rank = rh_role_rank(role, i), before = node;
        node = rh_platform_node_of(s->c->platform, rank);
        if (same_places && node == before)
            continue;
        Pair pair = {rh_hop(s->c->platform, rank, rank + g->spans[0].stride), rank};
        bool known = false;
        for (guint k = 0; k < kinds->len && !known; k++)
            known = memcmp(&g_array_index(kinds, Pair, k).hop, &pair.hop, sizeof pair.hop) == 0;
        if (!known)
            g_array_append_val(kinds, pair);
    }
    return kinds;
}

/* Pairs of a rank of this stage and one of another. Where blocks lie alike all begin behind the same
 * sums of gradients: at one time in the network when pairs are of one kind, else the slowest is
 * taken to be alone. Where blocks do not, the bound followed one of them until now, so it is the
 * quickest. */
static double pairs_s(RhScreen *s, const RhNet *net, int32_t stage, RhGroupKind joins,
                      const Call *call)
{
    int32_t group = net->groups[joins];
    g_autoptr(GArray) kinds = kinds_of_pairs(s, net->skeleton, stage, group);
    if (net->uniform && kinds->len == 1)
        return stage_together_s(s, net, stage, group, call);
    double slowest = 0, quickest = (double)INFINITY;
    for (guint k = 0; k < kinds->len; k++) {
        int32_t rank = g_array_index(kinds, Pair, k).rank;
        double alone = alone_s(s, net->skeleton, group, rank, call);
        slowest = rh_later(slowest, alone);
        quickest = rh_earlier(quickest, alone);
    }
    return net->uniform ? slowest : quickest;
}

/* Ranks of all stages meet, in the first of their groups: latencies, which no other traffic makes
 * longer. The step waits for the slowest group, so any of them is a bound. All ranks of the job are the
 * same ones in every layout. */
static double stages_s(RhScreen *s, const RhNet *net, int32_t stage, RhGroupKind kind,
                       const Call *call)
{
    int32_t group = net->groups[kind];
    int32_t size = rh_program_group(net->skeleton, group)->size;
    bool all = size == net->skeleton->ranks_count;
    RhCollectiveKey key = {0, stage, size, (int32_t)call->op, call->bytes, {0}};
    double *found = all ? g_hash_table_lookup(s->collectives, &key) : NULL;
    if (found)
        return *found;
    double seconds = alone_s(s, net->skeleton, group, 0, call);
    if (all)
        g_hash_table_insert(s->collectives, g_memdup2(&key, sizeof key),
                            g_memdup2(&seconds, sizeof seconds));
    return seconds;
}

/* Beyond the deadline no more is timed: among many thousands of ranks that takes its time. What is not
 * timed takes none, and a bound without it is a bound. */
static bool too_late(const RhScreen *s)
{
    return rh_deadline_passed(s->deadline);
}

double rh_screen_block_s(RhScreen *s, const RhNet *net, const RhPlacement *at,
                         const RhItemTask *task)
{
    int32_t group = at->groups[task->group];
    RhCollectiveKey key = {.net = ~at->id,
                           .group = (int32_t)task->group,
                           .op = (int32_t)task->op,
                           .bytes = task->bytes,
                           .routing = task->routing};
    double *found = g_hash_table_lookup(s->collectives, &key);
    if (!found && too_late(s))
        return 0;
    if (!found) {
        Call call =
            call_of(s, net, net->groups[task->group], task->op, task->bytes, &task->routing);
        found = g_new(double, 1);
        *found = net->uniform ? together_kept_s(s, key, at->program, group, 0, &call)
                              : alone_s(s, at->program, group, at->rank, &call);
        g_hash_table_insert(s->collectives, g_memdup2(&key, sizeof key), found);
    }
    return *found;
}

static double call_s(RhScreen *s, const RhNet *net, int32_t stage, RhGroupKind group,
                     const Call *call)
{
    return (rh_group_meets_all_stages(group) ? stages_s
            : rh_group_joins_stages(group)   ? pairs_s
                                             : stage_s)(s, net, stage, group, call);
}

/* Remembered under `key`; a call without an algorithm takes the library's. */
static double call_kept_s(RhScreen *s, const RhNet *net, RhCollectiveKey key, Call call)
{
    RhGroupKind group = (RhGroupKind)key.group;
    /* The first stage calls all that join stages, and all callers take the same time. */
    key.stage = rh_group_joins_stages(group) ? 0 : net->alike[key.stage];
    double *found = g_hash_table_lookup(s->collectives, &key);
    if (!found && too_late(s))
        return 0;
    if (!found) {
        found = g_new(double, 1);
        if (call.algo == RH_ALGO_NONE)
            call = plain_call(s, net, net->groups[group], call.op, call.bytes);
        *found = call_s(s, net, key.stage, group, &call);
        g_hash_table_insert(s->collectives, g_memdup2(&key, sizeof key), found);
    }
    return *found;
}

double rh_screen_collective_s(RhScreen *s, const RhNet *net, int32_t stage, RhGroupKind group,
                              RhOp op, double bytes)
{
    if (net->groups[group] < 0 || bytes <= 0)
        return 0;
    RhCollectiveKey key = {
        .net = net->id, .stage = stage, .group = (int32_t)group, .op = (int32_t)op, .bytes = bytes};
    return call_kept_s(s, net, key, (Call){op, RH_ALGO_NONE, bytes, {0}});
}

double rh_screen_latency_s(RhScreen *s, const RhNet *net, int32_t stage, RhGroupKind group, RhOp op,
                           double bytes)
{
    if (net->groups[group] < 0 || bytes <= 0)
        return 0;
    Call call = plain_call(s, net, net->groups[group], op, bytes);
    RhCollectiveKey key = {.net = net->id,
                           .stage = stage,
                           .group = (int32_t)group,
                           .op = -1 - ((int32_t)op * RH_ALGO_LAST + (int32_t)call.algo),
                           .bytes = 1};
    call.bytes = 1;
    return call_kept_s(s, net, key, call);
}

/* --- items --- */

/* A task of a pass as it runs alone. `path_s` counts kernels on the longest path to its end. */
typedef struct {
    double start_s, end_s, path_s;
} Run;

typedef struct {
    double free_s, path_s;
    double since_s; /* it has been busy from here on */
} Lane;

typedef struct {
    RhScreen *screen;
    const RhNet *net;
    const RhPlacement *placement;
    const RhItemPass *pass;
    Run *runs;
    Lane lanes[RH_LANE_LAST];
    int beside_most; /* lanes beside a kernel */
} Walk;

static double kernels_s(const RhItemTask *task)
{
    double sum = 0;
    for (int i = 0; i < RH_PARTS_MAX && task->parts[i]; i++)
        sum += task->parts[i]->seconds;
    return sum;
}

/* A kernel's seconds from t on: every lane that is busy then holds SMs until it is free. Solves end
 * = t + work + held x (time that each lane is busy meanwhile), nearest end of a lane first. */
static double beside(Walk *w, double t, double work_s)
{
    double now = t, left = work_s;
    while (left > 0) {
        double next = (double)INFINITY;
        int busy = 0;
        for (int lane = RH_LANE_COMPUTE + 1; lane < RH_LANE_LAST; lane++)
            if (w->lanes[lane].free_s > now && w->lanes[lane].since_s <= t) {
                next = fmin(next, w->lanes[lane].free_s);
                busy++;
            }
        w->beside_most = MAX(w->beside_most, busy);
        double speed = rh_screen_kept_frac(w->screen, busy);
        double end = now + left / speed;
        if (end <= next)
            return end - t;
        left -= (next - now) * speed;
        now = next;
    }
    return now - t;
}

static void start_after(const Walk *w, const RhItemTask *task, const Lane *lane, Run *run)
{
    run->start_s = lane->free_s;
    run->path_s = lane->path_s;
    for (int32_t i = 0; i < task->after_count; i++) {
        const Run *before = task->after[i] == RH_ITEM_ENTRY ? NULL : &w->runs[task->after[i]];
        if (before && before->end_s > run->start_s) {
            run->start_s = before->end_s;
            run->path_s = before->path_s;
        }
    }
}

static void run_task(Walk *w, const RhItemTask *task, Run *run)
{
    Lane *lane = &w->lanes[task->lane];
    start_after(w, task, lane, run);
    if (task->lane == RH_LANE_COMPUTE) {
        double took = beside(w, run->start_s, kernels_s(task));
        run->end_s = run->start_s + took;
        run->path_s += took;
    } else {
        lane->since_s =
            run->start_s > lane->free_s ? run->start_s : rh_earlier(lane->since_s, run->start_s);
        run->end_s = run->start_s + rh_screen_block_s(w->screen, w->net, w->placement, task);
    }
    lane->free_s = run->end_s;
    lane->path_s = run->path_s;
}

static void walk(Walk *w)
{
    for (guint i = 0; i < w->pass->tasks->len; i++)
        run_task(w, &g_array_index(w->pass->tasks, RhItemTask, i), &w->runs[i]);
}

/* Collectives that the output waits for begin when kernels end, of which the last is the latest, and
 * then none of their ranks is idle until they end. Were they to wait for others, a rank could be idle
 * while these are under way elsewhere. */
static double held_s(const Walk *w)
{
    const GArray *tasks = w->pass->tasks;
    int32_t last = (int32_t)tasks->len - 1;
    while (last > 0 && g_array_index(tasks, RhItemTask, last).lane != RH_LANE_COMPUTE)
        last--;
    double held = 0;
    for (int32_t i = 0; i < w->pass->left_count; i++) {
        int32_t left = w->pass->left[i];
        if (left == RH_ITEM_ENTRY || g_array_index(tasks, RhItemTask, left).lane == RH_LANE_COMPUTE)
            continue;
        const RhItemTask *task = &g_array_index(tasks, RhItemTask, left);
        for (int32_t k = 0; k < task->after_count; k++) {
            int32_t before = task->after[k];
            if (before == RH_ITEM_ENTRY ||
                g_array_index(tasks, RhItemTask, before).lane != RH_LANE_COMPUTE)
                return (double)-INFINITY;
            if (before == last)
                held = rh_later(held, w->runs[left].end_s - w->runs[left].start_s);
        }
    }
    return held;
}

static const RhItemTask *task_of(const RhItemPass *pass, int32_t i)
{
    return &g_array_index(pass->tasks, RhItemTask, i);
}

static bool waits_for(const RhItemTask *task, int32_t before)
{
    for (int32_t i = 0; i < task->after_count; i++)
        if (task->after[i] == before)
            return true;
    return false;
}

static int32_t last_of(const RhItemPass *pass, RhLane lane)
{
    int32_t last = (int32_t)pass->tasks->len - 1;
    while (last >= 0 && task_of(pass, last)->lane != lane)
        last--;
    return last;
}

/* An output that waits for nothing else waits for the last kernel. Kernels follow one another: of those behind
 * the last collective of lane TP the first that waits for it, and all from there on. */
static double tail_s(const RhItemPass *pass)
{
    int32_t met = last_of(pass, RH_LANE_TP), out = last_of(pass, RH_LANE_COMPUTE);
    double sum = 0;
    if (met < 0 || pass->left_count > 1)
        return (double)-INFINITY;
    if (pass->left_count == 1)
        return pass->left[0] == met ? 0 : (double)-INFINITY;
    for (int32_t i = met + 1; i <= out; i++)
        if (task_of(pass, i)->lane == RH_LANE_COMPUTE &&
            (sum > 0 || waits_for(task_of(pass, i), met)))
            sum += kernels_s(task_of(pass, i));
    return sum > 0 ? sum : (double)-INFINITY;
}

/* When the compute lane is free, and when the output may leave. */
static RhItemTime ends(const Walk *w)
{
    const Lane *compute = &w->lanes[RH_LANE_COMPUTE];
    RhItemTime time = RH_ITEM_TIME_NONE;
    time.busy_s = time.out_s = compute->free_s;
    time.kernels_s = time.out_kernels_s = compute->path_s;
    time.held_s = held_s(w);
    time.tail_s = tail_s(w->pass);
    time.beside = w->beside_most;
    for (int32_t i = 0; i < w->pass->left_count; i++) {
        const Run *left = w->pass->left[i] == RH_ITEM_ENTRY ? NULL : &w->runs[w->pass->left[i]];
        if (left && left->end_s > time.out_s) {
            time.out_s = left->end_s;
            time.out_kernels_s = left->path_s;
        }
    }
    return time;
}

static double after_s(double end_s, double c)
{
    return end_s > c ? end_s - c : (double)-INFINITY;
}

/* The same walk where the lane is busy for so long that all that does not wait for it is done: what
 * is left then is left at least, whenever the lane becomes free, since every start and every end
 * grows with those before. */
static RhItemLane behind(const Walk *idle, int lane, double busy_until_s)
{
    Walk w = *idle;
    memset(w.lanes, 0, sizeof w.lanes);
    w.lanes[lane] = (Lane){.free_s = busy_until_s, .since_s = (double)INFINITY};
    walk(&w);
    RhItemTime time = ends(&w);
    return (RhItemLane){idle->lanes[lane].free_s, after_s(w.lanes[lane].free_s, busy_until_s),
                        after_s(time.busy_s, busy_until_s), after_s(time.out_s, busy_until_s)};
}

static RhItemTime item_time(RhScreen *screen, const RhNet *net, const RhPlacement *placement,
                            const RhItemPass *pass)
{
    g_autofree Run *runs = g_new0(Run, pass->tasks->len + 1);
    Walk w = {.screen = screen, .net = net, .placement = placement, .pass = pass, .runs = runs};
    walk(&w);
    RhItemTime time = ends(&w);
    double over_s = 0;
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        over_s = rh_later(over_s, w.lanes[lane].free_s);
    for (int lane = RH_LANE_TP; lane < RH_LANE_DP; lane++)
        if (w.lanes[lane].free_s > 0) {
            time.lane[lane - RH_LANE_TP] = behind(&w, lane, over_s);
            time.lanes_end = lane - RH_LANE_TP + 1;
        }
    return time;
}

/* One pass and then another: the second starts when the first one's output is there. */
static RhItemLane lane_add(const RhItemTime *a, const RhItemTime *b, int lane)
{
    const RhItemLane *x = &a->lane[lane], *y = &b->lane[lane];
    bool used = y->free_s > 0;
    return (RhItemLane){
        .free_s = used ? a->out_s + y->free_s : x->free_s,
        .lane_after_s =
            used ? rh_later(x->out_after_s + y->free_s, y->lane_after_s) : x->lane_after_s,
        .busy_after_s = rh_later(x->out_after_s + b->busy_s, y->busy_after_s),
        .out_after_s = rh_later(x->out_after_s + b->out_s, y->out_after_s),
    };
}

static RhItemTime then(const RhItemTime *a, const RhItemTime *b)
{
    RhItemTime sum = {.busy_s = a->out_s + b->busy_s,
                      .out_s = a->out_s + b->out_s,
                      .kernels_s = a->out_kernels_s + b->kernels_s,
                      .out_kernels_s = a->out_kernels_s + b->out_kernels_s,
                      .held_s = b->held_s,
                      .tail_s = b->tail_s,
                      .lanes_end = MAX(a->lanes_end, b->lanes_end),
                      .beside = MAX(a->beside, b->beside)};
    for (int lane = 0; lane < RH_ITEM_LANES; lane++)
        sum.lane[lane] = lane_add(a, b, lane);
    return sum;
}

RhItemTime rh_item_time_add(RhItemTime a, RhItemTime b, double times)
{
    if (times > 1) { /* all but the last of them go to the first */
        for (int lane = 0; lane < RH_ITEM_LANES; lane++) {
            double first_s = rh_later(a.lane[lane].out_after_s + b.out_s, b.lane[lane].out_after_s);
            a.lane[lane].out_after_s = first_s + (times - 2) * b.out_s;
        }
        a.out_s += (times - 1) * b.out_s;
        a.out_kernels_s += (times - 1) * b.out_kernels_s;
    }
    return then(&a, &b);
}

static void time_items(RhScreen *screen, const RhNet *net, const RhPlacement *at,
                       const RhItems *items, RhItemTimes *times)
{
    static const RhItemTime none = RH_ITEM_TIME_NONE;
    guint count = 0;
    for (int i = 0; i < RH_ITEM_KINDS * RH_SLOT_PASSES; i++)
        count += items->pass[i / RH_SLOT_PASSES][i % RH_SLOT_PASSES].tasks != NULL;
    times->own = g_array_sized_new(FALSE, FALSE, sizeof(RhItemTime), MAX(count, 1));
    for (int i = 0; i < RH_ITEM_KINDS * RH_SLOT_PASSES; i++) {
        const RhItemPass *pass = &items->pass[i / RH_SLOT_PASSES][i % RH_SLOT_PASSES];
        const RhItemTime **time = &times->of[i / RH_SLOT_PASSES][i % RH_SLOT_PASSES];
        *time = &none;
        if (!pass->tasks)
            continue;
        RhItemTime found = item_time(screen, net, at, pass);
        g_array_append_val(times->own, found);
        *time = &g_array_index(times->own, RhItemTime, times->own->len - 1);
    }
}

const RhItemTimes *rh_screen_item_times(RhScreen *screen, RhShardCost *shard, const RhNet *net,
                                        int32_t stage)
{
    const RhPlacement *at = net->placement[stage];
    RhItemTimes *times = g_hash_table_lookup(shard->times, at);
    if (!times) {
        times = g_new0(RhItemTimes, 1);
        time_items(screen, net, at, rh_screen_items(shard), times);
        rh_pair_times_add(screen, net, at, times, rh_screen_items(shard));
        g_hash_table_insert(shard->times, (void *)(uintptr_t)at, times);
    }
    return times;
}

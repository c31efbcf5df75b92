/* A layer's pass on an idle stage, by walking its tasks; passes one after another. Pairs take the same
 * walk, two halves that wait for their own (overlapped_pair_times.c). */
#include <math.h>

#include "strategies/search/bounds/bound_cache.h"

/* A task of a pass as it runs alone. `path_s` counts kernels on the longest path to its end. */
typedef struct {
    double start_s, end_s, path_s;
    int32_t before; /* the task on that path before this one; -1: none */
} Run;

typedef struct {
    RhBoundCache *cache;
    const RhGroupNetwork *net;
    const RhPlacement *placement;
    const RhLayerPass *pass;
    const int32_t *order; /* of the tasks: walk_order_new */
    Run *runs;
    /* Per lane: when it is free, since when it has been busy, kernels on the path to then. */
    double free_s[RH_LANE_LAST], since_s[RH_LANE_LAST], path_s[RH_LANE_LAST];
    int32_t last[RH_LANE_LAST]; /* task; -1: none */
    int beside_most;            /* lanes beside a kernel */
} Walk;

static const RhLayerOp *task_of(const RhLayerPass *pass, int32_t i)
{
    return &g_array_index(pass->tasks, RhLayerOp, i);
}

double rh_task_kernels_s(const RhLayerOp *task)
{
    double sum = 0;
    for (int i = 0; i < RH_PARTS_MAX && task->parts[i]; i++)
        sum += task->parts[i]->seconds;
    return sum;
}

double rh_layer_kernels_s(const RhLayerPass *pass)
{
    double sum = 0;
    for (guint i = 0; pass->tasks && i < pass->tasks->len; i++)
        sum += rh_task_kernels_s(&g_array_index(pass->tasks, RhLayerOp, i));
    return sum;
}

double rh_bound_beside_s(const RhBoundCache *cache, const double *free_s, const double *since_s,
                         double t, double work_s, int *most)
{
    double now = t, left = work_s;
    while (left > 0) {
        double next = (double)INFINITY;
        int busy = 0;
        for (int lane = RH_LANE_TP; lane < RH_LANE_DP; lane++)
            if (free_s[lane] > now && since_s[lane] <= t) {
                next = rh_min_d(next, free_s[lane]);
                busy++;
            }
        *most = MAX(*most, busy);
        double speed = rh_bound_sms_left_frac(cache, busy);
        double end = now + left / speed;
        if (end <= next)
            return end - t;
        left -= (next - now) * speed;
        now = next;
    }
    return now - t;
}

static void start_after(const Walk *w, const RhLayerOp *task, Run *run)
{
    run->start_s = w->free_s[task->lane];
    run->path_s = w->path_s[task->lane];
    run->before = w->last[task->lane];
    for (int32_t i = 0; i < task->after_count; i++) {
        const Run *before = task->after[i] == RH_LAYER_OP_ENTRY ? NULL : &w->runs[task->after[i]];
        if (before && before->end_s > run->start_s) {
            run->start_s = before->end_s;
            run->path_s = before->path_s;
            run->before = task->after[i];
        }
    }
}

static void run_task(Walk *w, const RhLayerOp *task, Run *run)
{
    double *free_s = &w->free_s[task->lane], *since_s = &w->since_s[task->lane];
    start_after(w, task, run);
    if (task->lane == RH_LANE_COMPUTE) {
        double took = rh_bound_beside_s(w->cache, w->free_s, w->since_s, run->start_s,
                                        rh_task_kernels_s(task), &w->beside_most);
        run->end_s = run->start_s + took;
        run->path_s += took;
    } else {
        *since_s = run->start_s > *free_s ? run->start_s : rh_min_d(*since_s, run->start_s);
        run->end_s = run->start_s + rh_bound_block_s(w->cache, w->net, w->placement, task);
    }
    *free_s = run->end_s;
    w->path_s[task->lane] = run->path_s;
}

static void walk(Walk *w)
{
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        w->last[lane] = -1;
    for (guint k = 0; k < w->pass->tasks->len; k++) {
        int32_t i = w->order[k];
        const RhLayerOp *task = task_of(w->pass, i);
        run_task(w, task, &w->runs[i]);
        w->last[task->lane] = i;
    }
}

/* --- the order of the walk --- */

/* Does the task wait for nothing but what is over when the kernel starts, and what is before it on its lane? */
static bool follows_lane(const RhLayerPass *pass, int32_t task, int32_t kernel, const bool *awaited)
{
    const RhLayerOp *op = task_of(pass, task);
    for (int32_t i = 0; i < op->after_count; i++) {
        int32_t before = op->after[i];
        if (before == RH_LAYER_OP_ENTRY || awaited[before])
            continue;
        RhLane lane = task_of(pass, before)->lane;
        if (lane != op->lane && (lane != RH_LANE_COMPUTE || before >= kernel))
            return false;
    }
    return true;
}

/* Adds the collectives that surely run beside a kernel to the order. A lane ends with the first that may leave a
 * gap. */
static void add_beside(const RhLayerPass *pass, int32_t kernel, const bool *awaited, bool *ordered,
                       int32_t *order, int32_t *count)
{
    uint32_t ends = RH_LANE_BIT(RH_LANE_COMPUTE);
    for (int32_t i = 0; i < (int32_t)pass->tasks->len; i++) {
        uint32_t lane = RH_LANE_BIT(task_of(pass, i)->lane);
        if (awaited[i] || (ends & lane))
            continue;
        if (!follows_lane(pass, i, kernel, awaited)) {
            ends |= lane;
            continue;
        }
        if (!ordered[i])
            order[(*count)++] = i;
        ordered[i] = true;
    }
}

/* Returns the order in which tasks are walked: as they are listed, but collectives of a later place come before
 * a kernel if, whatever the times are, their lane goes on with them without a gap while it runs: the steps of a
 * ring that a linear layer gathers its rows by. So the kernel is slowed until the last of them ends, which a
 * later end of one before only puts off. The caller frees it. */
static int32_t *walk_order_new(const RhLayerPass *pass)
{
    int32_t tasks = (int32_t)pass->tasks->len, count = 0;
    int32_t *order = g_new(int32_t, tasks + 1);
    g_autofree bool *ordered = g_new0(bool, 2 * tasks + 1);
    bool *awaited = ordered + tasks; /* by kernels so far */
    for (int32_t i = 0; i < tasks; i++) {
        const RhLayerOp *task = task_of(pass, i);
        bool kernel = task->lane == RH_LANE_COMPUTE;
        for (int32_t k = 0; kernel && k < task->after_count; k++)
            if (task->after[k] != RH_LAYER_OP_ENTRY)
                awaited[task->after[k]] = true;
        if (kernel)
            add_beside(pass, i, awaited, ordered, order, &count);
        if (!ordered[i])
            order[count++] = i;
        ordered[i] = true;
    }
    return order;
}

/* Returns how long the collectives that the output waits for hold it up. They begin when kernels
 * end, of which the last is the latest, and then none of their ranks is idle until they end. Were
 * they to wait for others, a rank could be idle while these are under way elsewhere. */
static double held_s(const Walk *w)
{
    const GArray *tasks = w->pass->tasks;
    int32_t last = (int32_t)tasks->len - 1;
    while (last > 0 && g_array_index(tasks, RhLayerOp, last).lane != RH_LANE_COMPUTE)
        last--;
    double held = 0;
    for (int32_t i = 0; i < w->pass->left_count; i++) {
        int32_t left = w->pass->left[i];
        if (left == RH_LAYER_OP_ENTRY ||
            g_array_index(tasks, RhLayerOp, left).lane == RH_LANE_COMPUTE)
            continue;
        const RhLayerOp *task = &g_array_index(tasks, RhLayerOp, left);
        for (int32_t k = 0; k < task->after_count; k++) {
            int32_t before = task->after[k];
            if (before == RH_LAYER_OP_ENTRY ||
                g_array_index(tasks, RhLayerOp, before).lane != RH_LANE_COMPUTE)
                return (double)-INFINITY;
            if (before == last)
                held = rh_max_d(held, w->runs[left].end_s - w->runs[left].start_s);
        }
    }
    return held;
}

static bool waits_for(const RhLayerOp *task, int32_t before)
{
    for (int32_t i = 0; i < task->after_count; i++)
        if (task->after[i] == before)
            return true;
    return false;
}

static int32_t last_of(const RhLayerPass *pass, RhLane lane)
{
    int32_t last = (int32_t)pass->tasks->len - 1;
    while (last >= 0 && task_of(pass, last)->lane != lane)
        last--;
    return last;
}

/* Returns the seconds of the kernels that the output waits for behind the last collective of lane
 * TP: from the first that waits for it on, as kernels follow one another. -infinity: the output
 * waits for something else, or there are none. */
static double tail_s(const RhLayerPass *pass)
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
            sum += rh_task_kernels_s(task_of(pass, i));
    return sum > 0 ? sum : (double)-INFINITY;
}

/* Returns when the compute lane is free, and when the output may leave. */
static RhLayerTime ends(const Walk *w)
{
    RhLayerTime time = RH_LAYER_TIME_NONE;
    time.busy_s = time.out_s = w->free_s[RH_LANE_COMPUTE];
    time.kernels_s = time.out_kernels_s = w->path_s[RH_LANE_COMPUTE];
    time.held_s = held_s(w);
    time.tail_s = tail_s(w->pass);
    time.beside = w->beside_most;
    for (int32_t i = 0; i < w->pass->left_count; i++) {
        const Run *left = w->pass->left[i] == RH_LAYER_OP_ENTRY ? NULL : &w->runs[w->pass->left[i]];
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

/* Walks the tasks with a lane that is busy for so long that all that does not wait for it is done:
 * what is left then is left at least, whenever the lane becomes free, since every start and every
 * end grows with those before. */
static RhLayerLaneTime behind(const Walk *idle, int lane, double busy_until_s)
{
    Walk w = *idle;
    for (int i = 0; i < RH_LANE_LAST; i++)
        w.free_s[i] = w.since_s[i] = w.path_s[i] = 0;
    w.free_s[lane] = busy_until_s;
    w.since_s[lane] = (double)INFINITY;
    walk(&w);
    RhLayerTime time = ends(&w);
    return (RhLayerLaneTime){idle->free_s[lane], after_s(w.free_s[lane], busy_until_s),
                             after_s(time.busy_s, busy_until_s), after_s(time.out_s, busy_until_s)};
}

/* Adds what waits on the path to the end of a task. */
static void add_waits(const Walk *w, int32_t last, RhLayerWaits *waits)
{
    double part_s = waits->length_s / RH_LAYER_WINDOWS, on_path_s[RH_LAYER_WINDOWS] = {0};
    for (int32_t at = last; at >= 0; at = w->runs[at].before) {
        const Run *run = &w->runs[at];
        bool kernel = task_of(w->pass, at)->lane == RH_LANE_COMPUTE;
        for (int i = 0; !kernel && i < RH_LAYER_WINDOWS; i++)
            on_path_s[i] += rh_max_d(0, rh_min_d(run->end_s, (i + 1) * part_s) - run->start_s);
    }
    for (int i = 0; i < RH_LAYER_WINDOWS; i++)
        waits->wait_s[i] = rh_max_d(waits->wait_s[i], on_path_s[i]);
}

static RhLayerWaits waits_of(const Walk *w, const RhLayerTime *time)
{
    RhLayerWaits waits = {.length_s = rh_min_d(time->busy_s, time->out_s)};
    add_waits(w, w->last[RH_LANE_COMPUTE], &waits);
    for (int32_t i = 0; i < w->pass->left_count; i++)
        if (w->pass->left[i] != RH_LAYER_OP_ENTRY)
            add_waits(w, w->pass->left[i], &waits);
    return waits;
}

static RhLayerTime item_time(RhBoundCache *cache, const RhGroupNetwork *net,
                             const RhPlacement *placement, const RhLayerPass *pass)
{
    g_autofree Run *runs = g_new0(Run, pass->tasks->len + 1);
    g_autofree int32_t *order = walk_order_new(pass);
    Walk w = {cache, net, placement, pass, order, .runs = runs};
    walk(&w);
    RhLayerTime time = ends(&w);
    double over_s = 0;
    time.waits = waits_of(&w, &time);
    for (int lane = 0; lane < RH_LANE_LAST; lane++)
        over_s = rh_max_d(over_s, w.free_s[lane]);
    for (int lane = RH_LANE_TP; lane < RH_LANE_DP; lane++)
        if (w.free_s[lane] > 0) {
            time.lane[lane - RH_LANE_TP] = behind(&w, lane, over_s);
            time.lanes_end = lane - RH_LANE_TP + 1;
        }
    return time;
}

/* Joins two passes: the second starts when the first one's output is there. */
static RhLayerLaneTime lane_add(const RhLayerTime *a, const RhLayerTime *b, int lane)
{
    const RhLayerLaneTime *x = &a->lane[lane], *y = &b->lane[lane];
    bool used = y->free_s > 0;
    return (RhLayerLaneTime){
        .free_s = used ? a->out_s + y->free_s : x->free_s,
        .lane_after_s =
            used ? rh_max_d(x->out_after_s + y->free_s, y->lane_after_s) : x->lane_after_s,
        .busy_after_s = rh_max_d(x->out_after_s + b->busy_s, y->busy_after_s),
        .out_after_s = rh_max_d(x->out_after_s + b->out_s, y->out_after_s),
    };
}

static RhLayerTime then(const RhLayerTime *a, const RhLayerTime *b)
{
    RhLayerTime sum = {.busy_s = a->out_s + b->busy_s,
                       .out_s = a->out_s + b->out_s,
                       .kernels_s = a->out_kernels_s + b->kernels_s,
                       .out_kernels_s = a->out_kernels_s + b->out_kernels_s,
                       .held_s = b->held_s,
                       .tail_s = b->tail_s,
                       .lanes_end = MAX(a->lanes_end, b->lanes_end),
                       .beside = MAX(a->beside, b->beside),
                       .waits = a->out_s > 0 ? a->waits : b->waits};
    for (int lane = 0; lane < RH_LAYER_LANES; lane++)
        sum.lane[lane] = lane_add(a, b, lane);
    return sum;
}

RhLayerTime rh_layer_time_add(RhLayerTime a, RhLayerTime b, double times)
{
    if (times > 1) { /* all but the last of them go to the first */
        for (int lane = 0; lane < RH_LAYER_LANES; lane++) {
            double first_s = rh_max_d(a.lane[lane].out_after_s + b.out_s, b.lane[lane].out_after_s);
            a.lane[lane].out_after_s = first_s + (times - 2) * b.out_s;
        }
        a.out_s += (times - 1) * b.out_s;
        a.out_kernels_s += (times - 1) * b.out_kernels_s;
    }
    return then(&a, &b);
}

static void time_items(RhBoundCache *cache, const RhGroupNetwork *net, const RhPlacement *at,
                       const RhLayerOps *items, RhLayerTimes *times)
{
    static const RhLayerTime none = RH_LAYER_TIME_NONE;
    guint count = 0;
    for (int i = 0; i < RH_LAYER_OP_KINDS * RH_SLOT_PASSES; i++)
        count += items->pass[i / RH_SLOT_PASSES][i % RH_SLOT_PASSES].tasks != NULL;
    times->own = g_array_sized_new(FALSE, FALSE, sizeof(RhLayerTime), MAX(count, 1));
    for (int i = 0; i < RH_LAYER_OP_KINDS * RH_SLOT_PASSES; i++) {
        const RhLayerPass *pass = &items->pass[i / RH_SLOT_PASSES][i % RH_SLOT_PASSES];
        const RhLayerTime **time = &times->of[i / RH_SLOT_PASSES][i % RH_SLOT_PASSES];
        *time = &none;
        if (!pass->tasks)
            continue;
        RhLayerTime found = item_time(cache, net, at, pass);
        g_array_append_val(times->own, found);
        *time = &g_array_index(times->own, RhLayerTime, times->own->len - 1);
    }
}

RhLayerTimes *rh_bound_pair_times(RhBoundCache *cache, RhShardCost *shard,
                                  const RhGroupNetwork *net, int32_t stage)
{
    if (!shard->spans)
        rh_shard_add_tables(shard);
    const RhPlacement *at = net->placement[stage];
    RhLayerTimes *times = g_hash_table_lookup(shard->times, at);
    if (!times) {
        times = g_new0(RhLayerTimes, 1);
        rh_pair_times_add(cache, net, at, times, rh_bound_layer_ops(shard));
        g_hash_table_insert(shard->times, (void *)(uintptr_t)at, times);
    }
    return times;
}

const RhLayerTimes *rh_bound_layer_times(RhBoundCache *cache, RhShardCost *shard,
                                         const RhGroupNetwork *net, int32_t stage)
{
    RhLayerTimes *times = rh_bound_pair_times(cache, shard, net, stage);
    if (!times->own)
        time_items(cache, net, net->placement[stage], rh_bound_layer_ops(shard), times);
    return times;
}

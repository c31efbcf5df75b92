/* GOAL, the text that LogGOPSim and ATLAHS read (Hoefler, Siebert, Lumsdaine 2009): one block per
 * rank, `calc` in nanoseconds, every message a send here and a recv of the same bytes and tag
 * there.
 *
 *   num_ranks 2
 *   rank 0 {
 *   l1: calc 1200
 *   l2: send 1000b to 1 tag 7
 *   l2 requires l1
 *   }
 *
 * Kernels and copies are `calc`s; those off the compute lane are of another processor ("cpu 1"). A collective is its launch, then the sends and receives of this
 * rank step by step, joined by an empty `calc` after each step; the next step waits for it. Steps
 * have tags of their own: task + step * tasks. Lanes are queues, so a task also requires the one
 * before it on its lane. What GOAL cannot say is left out: SMs held by communication, links. */
#include <math.h>

#include "base/error.h"
#include "sim/collective_expansion.h"
#include "sim/role_task_graph.h"
#include "sim/tier_copy.h"

#define RANKS_MAX 1024
#define TEXT_MAX  ((gsize)512 << 20)

typedef struct {
    const RhProgram *p;
    const RhPlatform *platform;
    GString *out;
    int32_t rank;
    int32_t line;    /* last label used in this block */
    int32_t *end_of; /* per task: its last line */
    int32_t *role_of;
    RhRoleTable *tables;
    RhExpansions *expanded;
} Goal;

/* Lines that a task waits for, each once. */
typedef struct {
    int32_t lines[UINT8_MAX + 1];
    int32_t count;
} Before;

/* --- lines --- */

/* Writes a calculation. Processor 0 has the kernels, others have concurrent tasks, by lane. */
static int32_t put_calc(Goal *g, double seconds, int32_t lane)
{
    g_string_append_printf(g->out, "l%d: calc %.0f", ++g->line, rint(seconds * 1e9));
    if (lane != RH_LANE_COMPUTE)
        g_string_append_printf(g->out, " cpu %d", lane);
    g_string_append_c(g->out, '\n');
    return g->line;
}

/* Writes a message of whole bytes, at least one, as an empty message is not possible. */
static int32_t put_message(Goal *g, bool sends, double bytes, int32_t peer, int64_t tag)
{
    g_string_append_printf(g->out, "l%d: %s %.0fb %s %d tag %" G_GINT64_FORMAT "\n", ++g->line,
                           sends ? "send" : "recv", fmax(1, rint(bytes)), sends ? "to" : "from",
                           peer, tag);
    return g->line;
}

static void require(Goal *g, int32_t line, int32_t on)
{
    g_string_append_printf(g->out, "l%d requires l%d\n", line, on);
}

static void wait_for(Before *b, int32_t line)
{
    for (int32_t i = 0; i < b->count; i++)
        if (b->lines[i] == line)
            return;
    if (line > 0)
        b->lines[b->count++] = line;
}

static Before before_task(const Goal *g, const RhTask *t, int32_t lane_last)
{
    Before b = {.count = 0};
    wait_for(&b, lane_last);
    for (int32_t k = t->preds_first; k < t->preds_first + t->preds_count; k++)
        wait_for(&b, g->end_of[g_array_index(g->p->preds, int32_t, k)]);
    return b;
}

/* Writes this rank's part of one step: each flow after `start`; returns the line that ends the
 * step. */
static int32_t put_step(Goal *g, const RhExpansion *e, int32_t own, int32_t from, int32_t to,
                        int64_t tag, int32_t start)
{
    int32_t first = g->line + 1;
    for (int32_t i = from; i < to; i++) {
        const RhFlow *flow = rh_expansion_flow(e, i);
        bool sends = flow->src == own;
        int32_t peer = e->members[sends ? flow->dst : flow->src];
        require(g, put_message(g, sends, rh_flow_payload_bytes(e->schedule, flow), peer, tag),
                start);
    }
    if (g->line <= first)
        return g->line < first ? start : first;
    int32_t end = put_calc(g, 0, RH_LANE_COMPUTE);
    for (int32_t line = first; line < end; line++)
        require(g, end, line);
    return end;
}

/* The task in which member 0 makes the call that rank g->rank makes in task i: a number that all
 * members know, also where they have different roles. */
static int32_t call_of(const Goal *g, int32_t i, const RhExpansion *e)
{
    const RhTask *t = rh_program_task(g->p, i);
    const RhRoleTable *own = &g->tables[t->role], *r = &g->tables[g->role_of[e->members[0]]];
    int32_t ordinal = own->ordinal[i - own->tasks_first];
    return r->tasks_first + r->calls[r->calls_first[t->group] + ordinal];
}

static bool put_collective(Goal *g, int32_t i, int32_t start, int32_t *end, GError **error)
{
    int32_t own;
    const RhExpansion *e =
        rh_expansion_get(g->expanded, rh_program_task(g->p, i), g->rank, &own, error);
    if (!e)
        return false;
    int64_t tag = call_of(g, i, e);
    RhExpansionPlace at = rh_expansion_begin(e, own);
    while (rh_expansion_next(e, own, &at))
        start =
            put_step(g, e, own, at.from, at.to, tag + (int64_t)at.step * g->p->tasks->len, start);
    *end = start;
    return true;
}

static const RhDevice *device_of(const Goal *g)
{
    int32_t gpu = rh_program_gpu(g->p, g->rank);
    return rh_platform_device(g->platform, rh_platform_device_of(g->platform, gpu));
}

static double launch_s(const Goal *g, const RhTask *t)
{
    int32_t size = rh_program_group(g->p, t->group)->size;
    if (size < 2)
        return 0;
    g_autofree int32_t *nodes = rh_group_gpus(g->p, t->group, g->rank);
    for (int32_t i = 0; i < size; i++)
        nodes[i] = rh_platform_node_of(g->platform, nodes[i]);
    return rh_collective_launch_s((RhOp)t->op, (RhAlgo)t->algo, size, nodes, g->platform);
}

static double calc_s(const Goal *g, const RhTask *t)
{
    switch ((RhTaskKind)t->kind) {
    case RH_TASK_KERNEL:
        return rh_bundle_time_s(g->p, device_of(g), t->bundle);
    case RH_TASK_COPY:
        return t->bytes / rh_copy_bytes_per_s(g->platform, t, rh_program_gpu(g->p, g->rank));
    case RH_TASK_COLLECTIVE:
        return launch_s(g, t);
    case RH_TASK_NONE:
    case RH_TASK_SEND:
    case RH_TASK_RECV:
    case RH_TASK_MARK:
    case RH_TASK_LAST:
        break;
    }
    return 0;
}

static bool put_task(Goal *g, int32_t i, int32_t lane_last, GError **error)
{
    const RhTask *t = rh_program_task(g->p, i);
    Before before = before_task(g, t, lane_last);
    bool sends = t->kind == RH_TASK_SEND, message = sends || t->kind == RH_TASK_RECV;
    int32_t line =
        message ? put_message(g, sends, t->bytes, g->rank + t->peer_delta, sends ? i : t->peer_task)
                : put_calc(g, calc_s(g, t), t->lane);
    for (int32_t k = 0; k < before.count; k++)
        require(g, line, before.lines[k]);
    g->end_of[i] = line;
    return t->kind != RH_TASK_COLLECTIVE || put_collective(g, i, line, &g->end_of[i], error);
}

static bool put_rank(Goal *g, const RhRole *role, GError **error)
{
    int32_t lane_last[RH_LANES_MAX] = {0};
    gsize start = g->out->len;
    g->line = 0;
    g_string_append_printf(g->out, "rank %d {\n", g->rank);
    for (int32_t i = 0; role && i < role->tasks_count; i++) {
        int32_t task = role->tasks_first + i;
        int32_t *last = &lane_last[rh_program_task(g->p, task)->lane];
        if (!put_task(g, task, *last, error))
            return false;
        *last = g->end_of[task];
        /* stops once the text is too long; ranks of a role have similar texts, so its size is known
         * early */
        if (g->out->len > TEXT_MAX ||
            (g->out->len - start) / 4 * (gsize)role->ranks_count > TEXT_MAX)
            return rh_fail(error, RH_ERROR_INPUT,
                           "the GOAL text of this program is longer than %d MiB\n"
                           "help: fewer GPUs, layers or micro-batches; or write .program.json, "
                           "which lists each role once",
                           (int)(TEXT_MAX >> 20));
    }
    g_string_append(g->out, "}\n");
    return true;
}

static bool check_placement(const RhProgram *p, const RhPlatform *platform, GError **error)
{
    if (p->ranks_count > RANKS_MAX)
        return rh_fail(error, RH_ERROR_INPUT,
                       "GOAL lists every rank by itself: at most %d, not %d\n"
                       "help: the same layout with fewer data-parallel replicas (fewer GPUs and a "
                       "smaller global batch), or .program.json, which lists each role once",
                       RANKS_MAX, p->ranks_count);
    for (int32_t r = 0; r < p->ranks_count; r++)
        if (rh_program_gpu(p, r) < 0 || rh_program_gpu(p, r) >= rh_platform_gpus(platform))
            return rh_fail(error, RH_ERROR_INPUT, "rank %d is on GPU %d; %s has %d", r,
                           rh_program_gpu(p, r), platform->name, rh_platform_gpus(platform));
    return true;
}

char *rh_program_to_goal(const RhProgram *p, const RhPlatform *platform, GError **error)
{
    if (!check_placement(p, platform, error) || !rh_copies_possible(p, platform, error))
        return NULL;
    g_autofree int32_t *end_of = g_new0(int32_t, p->tasks->len + 1);
    g_autofree int32_t *role_of = rh_program_role_of_rank(p);
    g_autoptr(RhExpansions) expanded = rh_expansions_new(p, platform);
    g_autoptr(GString) out = g_string_new(NULL);
    Goal g = {.p = p,
              .platform = platform,
              .out = out,
              .end_of = end_of,
              .role_of = role_of,
              .tables = rh_role_tables_new(p, platform),
              .expanded = expanded};
    g_string_append_printf(out, "num_ranks %d\n", p->ranks_count);
    bool put = true;
    for (g.rank = 0; put && g.rank < p->ranks_count; g.rank++) {
        int32_t role = role_of[g.rank];
        put = put_rank(&g, role < 0 ? NULL : rh_program_role(p, role), error);
    }
    rh_role_tables_free(g.tables, (int32_t)p->roles->len);
    return put ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

/* GOAL, the text that LogGOPSim and ATLAHS read: one block per rank; collectives become their
 * steps' sends and receives, kernels `calc` nanoseconds. A step of a collective waits for this
 * rank's last step of it. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/collective.h"

#define RANKS_MAX 1024
#define LINES_MAX 20000000.0

typedef struct {
    const RhProgram *p;
    const RhPlatform *platform;
    GString *out;
    int32_t rank;
    int32_t line;    /* last label used in this block */
    int32_t *end_of; /* per task: its last line */
    const int32_t *role_of;
} Goal;

static int32_t add_line(Goal *g, const char *what)
{
    g_string_append_printf(g->out, "l%d: %s\n", ++g->line, what);
    return g->line;
}

static void require(Goal *g, int32_t line, int32_t on)
{
    if (on > 0)
        g_string_append_printf(g->out, "l%d requires l%d\n", line, on);
}

/* Everything a task waits for, as lines: explicit predecessors and the task before it on its lane.
 */
typedef struct {
    int32_t lines[UINT8_MAX + 1];
    int32_t count;
} Before;

static Before before_task(const Goal *g, int32_t i, const int32_t *lane_last)
{
    const RhTask *t = rh_program_task(g->p, i);
    Before b = {.count = 0};
    for (int32_t k = t->preds_first; k < t->preds_first + t->preds_count; k++)
        b.lines[b.count++] = g->end_of[g_array_index(g->p->preds, int32_t, k)];
    b.lines[b.count++] = lane_last[t->lane];
    return b;
}

static int32_t put_one(Goal *g, const Before *b, const char *what)
{
    int32_t line = add_line(g, what);
    for (int32_t k = 0; k < b->count; k++)
        require(g, line, b->lines[k]);
    return line;
}

/* One tag per task: the same on both ends. */
static int32_t put_message(Goal *g, int32_t i, const Before *b)
{
    const RhTask *t = rh_program_task(g->p, i);
    bool sends = t->kind == RH_TASK_SEND;
    g_autofree char *what =
        g_strdup_printf("%s %.0fb %s %d tag %d", sends ? "send" : "recv", ceil(t->bytes),
                        sends ? "to" : "from", g->rank + t->peer_delta, sends ? i : t->peer_task);
    return put_one(g, b, what);
}

/* The steps of a collective this rank takes part in: each waits for the rank's flows of the step
 * before. */
static int32_t put_collective(Goal *g, int32_t i, const Before *b)
{
    const RhTask *t = rh_program_task(g->p, i);
    const RhGroup *group = rh_program_group(g->p, t->group);
    g_autofree int32_t *members = g_new(int32_t, group->size), *nodes = g_new(int32_t, group->size);
    int32_t own = rh_group_members(group, g->rank, members);
    for (int32_t m = 0; m < group->size; m++)
        nodes[m] = rh_platform_node_of(g->platform, rh_program_gpu(g->p, members[m]));
    g_autoptr(RhSchedule) s =
        rh_schedule_new((RhOp)t->op, (RhAlgo)t->algo, group->size, nodes, t->bytes, NULL);
    int32_t last = put_one(g, b, "calc 0");
    for (guint f = 0; s && f < s->phases->len; f++) {
        const RhStepPhase *phase = &g_array_index(s->phases, RhStepPhase, f);
        for (int32_t q = 0; q < phase->repeat; q++) {
            int32_t start = last, join = 0;
            for (int32_t k = phase->flows_first; k < phase->flows_first + phase->flows_count; k++) {
                const RhFlow *flow = &g_array_index(s->flows, RhFlow, k);
                if (flow->src != own && flow->dst != own)
                    continue;
                bool sends = flow->src == own;
                g_autofree char *what = g_strdup_printf(
                    "%s %.0fb %s %d tag %d", sends ? "send" : "recv", fmax(1, ceil(flow->bytes)),
                    sends ? "to" : "from", members[sends ? flow->dst : flow->src], i);
                int32_t line = add_line(g, what);
                require(g, line, start);
                if (!join)
                    join = add_line(g, "calc 0");
                require(g, join, line);
            }
            last = join ? join : last;
        }
    }
    return last;
}

static int32_t put_task(Goal *g, int32_t i, const int32_t *lane_last)
{
    const RhTask *t = rh_program_task(g->p, i);
    Before b = before_task(g, i, lane_last);
    if (t->kind == RH_TASK_SEND || t->kind == RH_TASK_RECV)
        return put_message(g, i, &b);
    if (t->kind == RH_TASK_COLLECTIVE)
        return put_collective(g, i, &b);
    double seconds = t->kind == RH_TASK_KERNEL
                         ? rh_bundle_time_s(g->p, g->platform->device, t->bundle)
                     : t->kind == RH_TASK_COPY ? t->bytes / g->platform->host_bytes_per_s.value
                                               : 0;
    g_autofree char *what = g_strdup_printf("calc %.0f", seconds * 1e9);
    return put_one(g, &b, what);
}

static void put_rank(Goal *g, int32_t rank)
{
    const RhRole *role = g->role_of[rank] < 0 ? NULL : rh_program_role(g->p, g->role_of[rank]);
    int32_t lane_last[RH_LANE_LAST] = {0};
    g->rank = rank;
    g->line = 0;
    g_string_append_printf(g->out, "rank %d {\n", rank);
    for (int32_t i = role ? role->tasks_first : 0;
         role && i < role->tasks_first + role->tasks_count; i++)
        lane_last[rh_program_task(g->p, i)->lane] = g->end_of[i] = put_task(g, i, lane_last);
    g_string_append(g->out, "}\n");
}

char *rh_program_to_goal(const RhProgram *p, const RhPlatform *platform, GError **error)
{
    if (p->ranks_count > RANKS_MAX || (double)p->ranks_count * p->tasks->len > LINES_MAX) {
        rh_fail(
            error, RH_ERROR_INPUT,
            "GOAL lists every task of every rank: %d ranks and %u tasks are too many\nhelp: at most %d ranks; "
            "fewer GPUs, or the program itself as .program.json",
            p->ranks_count, p->tasks->len, RANKS_MAX);
        return NULL;
    }
    g_autofree int32_t *end_of = g_new0(int32_t, p->tasks->len + 1),
                       *role_of = rh_program_role_of_rank(p);
    Goal g = {.p = p,
              .platform = platform,
              .out = g_string_new(NULL),
              .end_of = end_of,
              .role_of = role_of};
    g_string_append_printf(g.out, "num_ranks %d\n", p->ranks_count);
    for (int32_t rank = 0; rank < p->ranks_count; rank++)
        put_rank(&g, rank);
    return g_string_free(g.out, FALSE);
}

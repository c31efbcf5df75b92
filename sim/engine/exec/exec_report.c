/* Reports a run: waits, links, timeline; or the stuck task. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "sim/engine/exec/exec_private.h"
#include "sim/program_result.h"

/* Is the wait before a collective caused by the pipeline? In backward under sequence parallelism
 * the first gather waits for the next stage's message; and a collective of several stages waits for
 * the latest one. */
static bool waits_for_stages(const RhExec *x, const RhActor *actor, const RhTask *task)
{
    const RhProgram *p = x->program;
    for (int32_t i = task->preds_first; i < task->preds_first + task->preds_count; i++)
        if (rh_program_task(p, g_array_index(p->preds, int32_t, i))->kind == RH_TASK_RECV)
            return true;
    size_t cell = (size_t)(actor - x->actors) * p->groups->len + (size_t)task->group;
    int32_t call = x->quotient->call_of[cell];
    return call >= 0 && RH_AT(x->quotient->calls, RhCollectiveCall, call)->joins_roles;
}

/* Attributes idle time of the compute lane to the task that ended it. */
void rh_exec_charge(const RhExec *x, RhActor *actor, double gap_s, RhCause cause)
{
    if (cause.task < 0) {
        actor->wait_s[RH_WAIT_BUBBLE] += gap_s;
        return;
    }
    const RhTask *task = rh_actor_task(x, actor, cause.task);
    double transfer_s = MIN(gap_s, cause.duration_s), waited_s;
    switch ((RhTaskKind)task->kind) {
    case RH_TASK_COLLECTIVE:
        waited_s = waits_for_stages(x, actor, task) ? gap_s - transfer_s : 0;
        actor->wait_s[rh_lane_wait(task->lane)] += gap_s - waited_s;
        actor->wait_s[rh_lane_bubble(task->lane)] += waited_s;
        break;
    case RH_TASK_COPY:
        actor->wait_s[rh_copy_wait(task)] += gap_s;
        break;
    case RH_TASK_SEND:
    case RH_TASK_RECV:
        actor->wait_s[rh_lane_transfer(task->lane)] += transfer_s;
        actor->wait_s[rh_lane_bubble(task->lane)] += gap_s - transfer_s;
        break;
    case RH_TASK_KERNEL:
        actor->wait_s[rh_lane_on_host(task->lane) ? RH_WAIT_HOST : RH_WAIT_BUBBLE] += gap_s;
        break;
    case RH_TASK_NONE:
    case RH_TASK_MARK:
    case RH_TASK_LAST:
    default:
        actor->wait_s[RH_WAIT_BUBBLE] += gap_s;
        break;
    }
}

typedef struct {
    RhLinkUse of;
    int32_t link; /* index in the folded network */
} Use;

static int busier(const void *left, const void *right)
{
    const RhLinkUse *a = &((const Use *)left)->of, *b = &((const Use *)right)->of;
    if (a->busy_frac > b->busy_frac)
        return -1;
    if (a->busy_frac < b->busy_frac)
        return 1;
    return strcmp(a->name, b->name);
}

static void report_links(const RhExec *x, int32_t job, RhRun *run, double total_s)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Use));
    for (uint32_t i = 0; i < x->quotient->links->len; i++) {
        const RhFoldedLink *link = RH_AT(x->quotient->links, RhFoldedLink, i);
        double bytes = x->transport->link_bytes(x, job, (int32_t)i);
        if (bytes <= 0 && x->jobs_count > 1)
            continue; /* of another job */
        Use use = {.of = {.name = rh_platform_link_name(x->platform, link->link),
                          .bytes = bytes / x->jobs[job].step_times->len},
                   .link = (int32_t)i};
        double capacity = link->bytes_per_s * link->divisor;
        use.of.busy_frac = total_s > 0 ? bytes / capacity / total_s : 0;
        g_array_append_val(all, use);
    }
    g_array_sort(all, busier);
    int32_t series[RH_LINK_SERIES], count = 0;
    for (uint32_t i = 0; i < all->len; i++) {
        const Use *use = RH_AT(all, Use, i);
        if (i < RH_LINK_SERIES && use->of.bytes > 0)
            series[count++] = use->link;
        if (i < 10)
            g_array_append_val(run->links, use->of);
        else
            g_free(use->of.name);
    }
    rh_exec_link_loads(x, job, series, count, total_s, run->link_loads);
}

static void report_performers(const RhExec *x, const RhExecJob *job, RhRun *run)
{
    double steps = job->step_times->len;
    for (int32_t i = job->actors_first; i < job->actors_end; i++) {
        const RhActor *a = &x->actors[i];
        RhPerformer performer = {
            .role = a->role_index,
            .rank = a->rank,
            .ranks_count = a->ranks_count,
            .kernel_flops = a->kernel_flops / steps,
            .bounds = {a->bounds.compute_s / steps, a->bounds.memory_s / steps}};
        for (int32_t k = 0; k < RH_WAIT_LAST; k++)
            performer.wait_s[k] = a->wait_s[k] / steps;
        for (int32_t k = 0; k < RH_PHASE_LAST; k++)
            performer.kernel_s[k] = a->kernel_s[k] / steps;
        for (int32_t k = 0; k < RH_LANE_LAST; k++)
            performer.lane_busy_s[k] = a->lane_busy_s[k] / steps;
        g_array_append_val(run->performers, performer);
    }
}

RhRun *rh_exec_report(RhExec *x, int32_t index)
{
    const RhExecJob *job = &x->jobs[index];
    if (x->transport->account)
        x->transport->account(x);
    RhRun *run = rh_run_new();
    double total_s = 0;
    for (uint32_t i = 0; i < job->step_times->len; i++)
        total_s += *RH_AT(job->step_times, double, i);
    run->step_time_s = total_s / job->step_times->len;
    run->events_count = x->events_count;
    run->bytes_total = job->bytes_total;
    run->bytes_as_flows = job->bytes_as_flows;
    if (x->fold->approximate_why)
        run->approximate_why = g_strdup(x->fold->approximate_why);
    else if (x->quotient->weights_rounded)
        run->approximate_why = g_strdup_printf(
            "a link is shared in proportions beyond 1:%d, which were rounded", RH_WEIGHT_MAX);
    run->approximate = run->approximate_why != NULL;
    report_performers(x, job, run);
    report_links(x, index, run, total_s);
    g_array_append_vals(run->timeline, job->timeline->data, job->timeline->len);
    return run;
}

int32_t rh_exec_steps_done(const RhExec *x, int32_t job)
{
    return (int32_t)x->jobs[job].step_times->len;
}

double rh_exec_link_bytes(RhExec *x, int32_t job, int32_t link)
{
    if (x->transport->account)
        x->transport->account(x);
    return x->transport->link_bytes(x, job, link);
}

int64_t rh_exec_link_met(const RhExec *x, int32_t link)
{
    return x->transport->link_met(x, link);
}

/* --- stuck runs --- */

static const char *label_of(const RhExec *x, int32_t label)
{
    return label >= 0 && label < (int32_t)x->program->labels->len
               ? g_ptr_array_index(x->program->labels, (guint)label)
               : "unnamed";
}

static char *missing_members(const RhExec *x, const RhActor *actor, int32_t index, int32_t task)
{
    const RhTask *t = rh_actor_task(x, actor, task);
    int32_t m = x->quotient->call_of[(size_t)index * x->program->groups->len + (size_t)t->group];
    const RhCollectiveCall *call = RH_AT(x->quotient->calls, RhCollectiveCall, m);
    for (int32_t i = 0; i < call->colours_count; i++) {
        const RhActor *other =
            &x->actors[*RH_AT(x->quotient->colours, int32_t, call->colours_first + i)];
        const int32_t *calls = other->role->calls_first + call->group;
        int32_t ordinal = actor->role->ordinal[task];
        if (ordinal >= calls[1] - calls[0] ||
            other->state[other->role->calls[calls[0] + ordinal]] == RH_STATE_WAITING)
            return g_strdup_printf(
                "rank %d of role '%s' to join the %s", other->rank,
                label_of(x, rh_program_role(x->program, other->role_index)->label),
                rh_op_name((RhOp)t->op));
    }
    return g_strdup_printf("the members of its group to join the %s", rh_op_name((RhOp)t->op));
}

static char *waits_for(const RhExec *x, int32_t index, int32_t task)
{
    const RhActor *actor = &x->actors[index];
    const RhTask *t = rh_actor_task(x, actor, task);
    if (actor->state[task] == RH_STATE_WAITING)
        return g_strdup_printf("%d predecessors", actor->waiting[task]);
    if (t->kind == RH_TASK_COLLECTIVE)
        return missing_members(x, actor, index, task);
    return g_strdup_printf("rank %d to %s", actor->rank + t->peer_delta,
                           t->kind == RH_TASK_SEND ? "receive" : "send");
}

#define STUCK_RANKS_MAX 32 /* ranks that are named */

/* Reports the links that failed, and where each rank waits. False when no link failed. */
static bool report_failed_links(const RhExec *x, GError **error)
{
    g_autoptr(GString) links = g_string_new(NULL);
    g_autoptr(GString) ranks = g_string_new(NULL);
    for (RhLink l = 0; x->transport->links_die && l < rh_platform_links_count(x->platform); l++) {
        double t_s = rh_platform_link_dies_s(x->platform, l);
        g_autofree char *name = rh_platform_link_name(x->platform, l);
        g_autofree char *when = isfinite(t_s) ? rh_quantity_format(t_s, RH_QUANTITY_S, 3) : NULL;
        if (when)
            g_string_append_printf(links, "%s%s died at %s", links->len ? ", " : "", name, when);
    }
    for (int32_t i = 0; i < MIN(x->actors_count, STUCK_RANKS_MAX); i++) {
        const RhActor *a = &x->actors[i];
        for (int32_t task = 0; task < a->role->tasks_count; task++) {
            const RhTask *t = rh_actor_task(x, a, task);
            if (a->state[task] != RH_STATE_ARRIVED)
                continue;
            g_string_append_printf(
                ranks, "\nnote: rank %d waits in task %d (%s \"%s\", micro-batch %d)", a->rank,
                a->role->tasks_first + task, rh_task_kind_name((RhTaskKind)t->kind),
                label_of(x, t->label), t->microbatch);
            break;
        }
    }
    if (links->len > 0)
        rh_fail(error, RH_ERROR_NO_ANSWER, "the step does not end: %s%s", links->str, ranks->str);
    return links->len > 0;
}

/* Reports the first task that has arrived, as the others wait for it; else the first that is not
 * done. */
bool rh_exec_fail_stuck(const RhExec *x, GError **error)
{
    if (report_failed_links(x, error))
        return false;
    for (int32_t wanted = RH_STATE_ARRIVED; wanted >= RH_STATE_WAITING; wanted--)
        for (int32_t i = 0; i < x->actors_count; i++)
            for (int32_t task = 0; task < x->actors[i].role->tasks_count; task++) {
                const RhActor *actor = &x->actors[i];
                if (actor->state[task] != wanted || !x->jobs[actor->job].under_way)
                    continue;
                const RhTask *t = rh_actor_task(x, actor, task);
                g_autofree char *what = waits_for(x, i, task);
                return rh_fail(
                    error, RH_ERROR_INTERNAL,
                    "the simulation is stuck: %s '%s' (task %d) of role '%s', micro-batch %d, waits "
                    "for %s\nnote: %" G_GINT64_FORMAT " tasks were left",
                    rh_task_kind_name((RhTaskKind)t->kind), label_of(x, t->label),
                    actor->role->tasks_first + task,
                    label_of(x, rh_program_role(x->program, actor->role_index)->label),
                    t->microbatch, what, x->jobs[actor->job].tasks_left);
            }
    return rh_fail(error, RH_ERROR_INTERNAL, "the simulation ended with tasks under way");
}

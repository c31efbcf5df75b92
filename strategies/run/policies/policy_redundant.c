/* Pipelines whose stages are held twice (Bamboo, NSDI 2023): the node in front of a lost one takes its stage
 * over, and only a second loss at the same place restarts the job. A node is a stage, the nodes of a replica group
 * are a pipeline. Nodes come and go by a trace; without one they fail at random and come back repaired. */
#include <math.h>

#include "base/garray_access.h"
#include "strategies/run/failure_stream.h"
#include "strategies/run/policies/policies.h"
#include "strategies/run/spot/redundant_stages.h"

/* uclasystem/bamboo, project_pactum/simulation/simulator.py (2022), of transformers; measured by its authors. */
#define SLOWER_TIMES   1.5
#define RISK_FRAC      0.05
#define MEETING_MS     20000 /* between steps */
#define FAILURES_TIMES 10    /* as long as the work: so far failures are drawn */

/* Nodes that fail one after another, drawn at random, and come back: RhSpotEvent. */
static GArray *drawn_events(const RhTrainingRun *run, int32_t replication)
{
    GArray *events = g_array_new(FALSE, FALSE, sizeof(RhSpotEvent));
    g_autoptr(RhFailureStream) stream = rh_failure_stream_new(run, replication);
    for (int32_t i = 0; i < run->nodes_count; i++) {
        RhSpotEvent one = {0, i + 1, true};
        g_array_append_val(events, one);
    }
    GArray *live = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (int32_t i = 1; i <= run->nodes_count; i++)
        g_array_append_val(live, i);
    double t_s = 0, until_s = FAILURES_TIMES * run->work_s;
    for (int32_t next = run->nodes_count + 1;; next++) {
        double wait_s = rh_failure_stream_next_s(stream, 1, t_s);
        t_s += wait_s;
        if (t_s > until_s)
            break;
        rh_failure_stream_run(stream, 1, wait_s);
        int32_t component = rh_failure_stream_strike(stream);
        bool away = run->rates->components[component].nodes_away > 0 && !run->spares_endless;
        double back_s = away ? rh_run_repair_s(run, component) : 0;
        int32_t *node = RH_AT(live, int32_t, rh_failure_stream_draw(stream, run->nodes_count));
        RhSpotEvent pair[] = {{t_s, *node, false}, {t_s + back_s, next, true}};
        g_array_append_vals(events, pair, 2);
        *node = next;
    }
    g_array_unref(live);
    return events;
}

static RhRedundantStages problem_of(const RhTrainingRun *run, double every_s, GArray *step_ms)
{
    int32_t pipelines = run->nodes_count / run->group_nodes;
    double writes_s = run->checkpoint.write_s * run->step_s / every_s;
    for (int32_t i = 1; i <= pipelines; i++) {
        double speed = run->speeds ? run->speeds[i] : (double)i / pipelines;
        int64_t ms = (int64_t)fmax(round(1000 * (run->step_s / speed + writes_s)), 1);
        g_array_append_val(step_ms, ms);
    }
    return (RhRedundantStages){.stages = run->group_nodes,
                               .step_ms = (const int64_t *)(const void *)step_ms->data,
                               .pipelines_most = pipelines,
                               .creation_ms = run->spot ? (int64_t)(1000 * run->swap_s) : 0,
                               .global_ms = (int64_t)(1000 * rh_run_restart_s(run)),
                               .local_ms = run->reshape_s > 0 ? (int64_t)(1000 * run->reshape_s)
                                                              : MEETING_MS,
                               .slower = SLOWER_TIMES,
                               .risk_frac = RISK_FRAC,
                               .meets_once = true,
                               .checkpoint_steps = (int64_t)fmax(round(every_s / run->step_s), 1),
                               .steps_most = (int64_t)fmax(round(run->work_s / run->step_s), 1)};
}

static void account(const RhTrainingRun *run, const RhRedundantStages *p,
                    const RhRedundantResult *r, RhRunOutcome *out)
{
    double steps = (double)r->steps_count, *spent = out->spent_s;
    double writes_s = steps * ((double)p->step_ms[p->pipelines_most - 1] / 1000 - run->step_s);
    out->time_s = (double)r->last_ms / 1000;
    spent[RH_RUN_COMPUTE] = steps * run->step_s;
    spent[RH_RUN_CHECKPOINT] = writes_s;
    spent[RH_RUN_SHRUNK] =
        (double)(r->alone_ms + r->slower_ms) / 1000 - spent[RH_RUN_COMPUTE] - writes_s;
    spent[RH_RUN_LOST] = (double)r->lost_ms / 1000;
    spent[RH_RUN_RESTART] = (double)r->meeting_ms / 1000;
    spent[RH_RUN_WAIT] = (double)MAX(r->first_ms, 0) / 1000;
    out->failures_count = r->lost_count;
    out->node_s = r->node_ms / 1000;
    out->stuck = out->starved = r->steps_count < p->steps_most;
}

static void simulate(const RhTrainingRun *run, double every_s, int32_t replication,
                     RhRunOutcome *out)
{
    GArray *step_ms = g_array_new(FALSE, FALSE, sizeof(int64_t));
    GArray *drawn = run->spot ? NULL : drawn_events(run, replication);
    RhRedundantStages p = problem_of(run, every_s, step_ms);
    p.events = drawn ? (const RhSpotEvent *)(const void *)drawn->data : run->spot;
    p.events_count = drawn ? (int32_t)drawn->len : run->spot_count;
    RhRedundantResult r = rh_redundant_stages(&p);
    *out = (RhRunOutcome){0};
    account(run, &p, &r, out);
    g_array_unref(step_ms);
    if (drawn)
        g_array_unref(drawn);
}

const RhRunPolicy rh_run_policy_redundant = {
    .name = "redundant",
    .about = "each node holds the next one's pipeline stage as well, and takes it over (Bamboo)",
    .goes_on = true,
    .simulate = simulate};

#include "strategies/search/rehearsals/steady_state.h"

#include <string.h>

#include "strategies/train/schedules/schedule.h"

/* Least ratio of the step's micro-batches to those of both parts. */
#define PARTS_LEAST 2

RhProgram *rh_rehearsal_build(const void *note, void *user, GError **error)
{
    const RhRehearsalNote *n = note;
    RhProblem c = *(const RhProblem *)user;
    if (n->microbatches > 0)
        c.job.global_batch = n->microbatches * n->layout.dp * (int64_t)n->layout.microbatch;
    return rh_train_build(&c, &n->layout, error);
}

bool rh_steady_state_parts(const RhProblem *c, const RhLayout *l, RhSteadyStateParts *out)
{
    const RhPipelineSchedule *schedule = rh_pipeline_of(l);
    int64_t round = (int64_t)l->pp * (schedule->crosses ? 2 : 1);
    int64_t whole = rh_train_microbatches(c, l);
    int64_t first = MAX(2, schedule->rounds_least) * round + whole % round;
    *out = (RhSteadyStateParts){first, first + round, whole};
    return whole >= PARTS_LEAST * (out->first + out->second);
}

/* Extrapolates a value linearly from both parts to the whole step. */
static double beyond(double first, double second, RhSteadyStateParts parts)
{
    double rounds = (double)(parts.whole - parts.second) / (double)(parts.second - parts.first);
    return second + rounds * (second - first);
}

static void extend(double *values, const double *first, size_t count, RhSteadyStateParts parts)
{
    for (size_t i = 0; i < count; i++)
        values[i] = beyond(first[i], values[i], parts);
}

static void extend_performer(RhPerformer *p, const RhPerformer *first, RhSteadyStateParts parts)
{
    extend(p->wait_s, first->wait_s, G_N_ELEMENTS(p->wait_s), parts);
    extend(p->kernel_s, first->kernel_s, G_N_ELEMENTS(p->kernel_s), parts);
    extend(p->lane_busy_s, first->lane_busy_s, G_N_ELEMENTS(p->lane_busy_s), parts);
    extend(&p->kernel_flops, &first->kernel_flops, 1, parts);
    extend(&p->bounds.compute_s, &first->bounds.compute_s, 1, parts);
    extend(&p->bounds.memory_s, &first->bounds.memory_s, 1, parts);
}

static const RhLinkUse *link_named(const RhRun *run, const char *name)
{
    for (guint i = 0; i < run->links->len; i++)
        if (strcmp(g_array_index(run->links, RhLinkUse, i).name, name) == 0)
            return &g_array_index(run->links, RhLinkUse, i);
    return NULL;
}

/* Extrapolates the use of a link. If the first run does not list it among its busiest links, its
 * use per round is taken from the second run. */
static RhLinkUse extended_link(const RhRun *first, const RhRun *second, const RhLinkUse *use,
                               double step_s, RhSteadyStateParts parts)
{
    const RhLinkUse *before = link_named(first, use->name);
    double part = before ? 0 : (double)parts.first / (double)parts.second;
    double busy_s = use->busy_frac * second->step_time_s;
    double before_s = before ? before->busy_frac * first->step_time_s : part * busy_s;
    double before_bytes = before ? before->bytes : part * use->bytes;
    return (RhLinkUse){g_strdup(use->name), beyond(before_s, busy_s, parts) / step_s,
                       beyond(before_bytes, use->bytes, parts)};
}

RhRun *rh_steady_state_run(const RhRun *first, const RhRun *second, RhSteadyStateParts parts)
{
    RhRun *run = rh_run_new();
    run->step_time_s = beyond(first->step_time_s, second->step_time_s, parts);
    run->jitter_correction_s =
        beyond(first->jitter_correction_s, second->jitter_correction_s, parts);
    run->events_count = first->events_count + second->events_count;
    run->bytes_total = beyond(first->bytes_total, second->bytes_total, parts);
    run->bytes_as_flows = beyond(first->bytes_as_flows, second->bytes_as_flows, parts);
    run->approximate = second->approximate;
    run->approximate_why = g_strdup(second->approximate_why);
    g_array_append_vals(run->performers, second->performers->data, second->performers->len);
    for (guint i = 0; i < run->performers->len && i < first->performers->len; i++)
        extend_performer(&g_array_index(run->performers, RhPerformer, i),
                         &g_array_index(first->performers, RhPerformer, i), parts);
    for (guint i = 0; i < second->links->len; i++) {
        RhLinkUse use = extended_link(first, second, &g_array_index(second->links, RhLinkUse, i),
                                      run->step_time_s, parts);
        g_array_append_val(run->links, use);
    }
    return run;
}

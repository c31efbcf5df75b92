#include "sim/run_cost_tree.h"

#include <math.h>

static const char *const kernel_sources[RH_PHASE_LAST] = {
    [RH_PHASE_RECOMPUTE] = "forward kernels, run again",
    [RH_PHASE_OPTIMIZER] = "Adam, bound by memory bandwidth",
};

/* Means over ranks of a step's times. */
typedef struct {
    double ranks;
    double wait_s[RH_WAIT_LAST], kernel_s[RH_PHASE_LAST];
    double flops;
    RhBoundTimes bounds;
} Mean;

static Mean mean_rank(const RhRun *run)
{
    Mean mean = {0};
    for (guint i = 0; i < run->performers->len; i++)
        mean.ranks += g_array_index(run->performers, RhPerformer, i).ranks_count;
    for (guint i = 0; i < run->performers->len; i++) {
        const RhPerformer *p = &g_array_index(run->performers, RhPerformer, i);
        double share = p->ranks_count / mean.ranks;
        for (int w = 0; w < RH_WAIT_LAST; w++)
            mean.wait_s[w] += share * p->wait_s[w];
        for (int phase = 0; phase < RH_PHASE_LAST; phase++)
            mean.kernel_s[phase] += share * p->kernel_s[phase];
        mean.flops += share * p->kernel_flops;
        mean.bounds.compute_s += share * p->bounds.compute_s;
        mean.bounds.memory_s += share * p->bounds.memory_s;
    }
    return mean;
}

void rh_run_costs_add_kernels(RhCost *root, double compute_s, const double kernel_s[RH_PHASE_LAST])
{
    RhCost *compute = rh_cost_add(root, rh_wait_name(RH_WAIT_COMPUTE), compute_s, "");
    for (int phase = 0; phase < RH_PHASE_LAST; phase++)
        if (kernel_s[phase] > 0)
            rh_cost_add(compute, rh_phase_name((RhPhase)phase), kernel_s[phase],
                        kernel_sources[phase] ? kernel_sources[phase] : "kernels and launch gaps");
}

/* Parts the wait for pipeline stages: GPUs that work most wait for the bubble alone, others as well for these. */
static void add_wait_parts(RhCost *wait, const RhRun *run)
{
    double bubble_s = (double)INFINITY;
    for (guint i = 0; i < run->performers->len; i++)
        bubble_s =
            fmin(bubble_s, g_array_index(run->performers, RhPerformer, i).wait_s[RH_WAIT_BUBBLE]);
    double imbalance_s = wait->value_s - bubble_s;
    if (bubble_s <= 0 || imbalance_s <= 1e-9 * wait->value_s)
        return;
    rh_cost_add(wait, "bubble", bubble_s, "fill and drain: idle time of the busiest stage");
    rh_cost_add(wait, "imbalance", imbalance_s, "further idle time of stages with less work");
}

RhCost *rh_run_costs(const RhRun *run, double step_time_s)
{
    Mean mean = mean_rank(run);
    RhCost *root = rh_cost_new("step", step_time_s, "mean of all GPUs");
    rh_run_costs_add_kernels(root, mean.wait_s[RH_WAIT_COMPUTE], mean.kernel_s);
    for (int w = RH_WAIT_COMPUTE + 1; w < RH_WAIT_LAST; w++)
        if (mean.wait_s[w] > 0) {
            RhCost *wait = rh_cost_add(root, rh_wait_name((RhWait)w), mean.wait_s[w],
                                       rh_wait_source((RhWait)w));
            if (w == RH_WAIT_BUBBLE)
                add_wait_parts(wait, run);
        }
    return root;
}

double rh_run_mean_flops(const RhRun *run)
{
    return mean_rank(run).flops;
}

RhPowerTimes rh_run_power_times(const RhRun *run)
{
    Mean mean = mean_rank(run);
    RhPowerTimes times = {0};
    double waits_s = 0;
    for (int w = 0; w < RH_WAIT_LAST; w++) {
        waits_s += mean.wait_s[w];
        if (rh_wait_communicates((RhWait)w))
            times.state_s[RH_POWER_COMMUNICATION] += mean.wait_s[w];
    }
    times.state_s[RH_POWER_COMPUTE] = mean.bounds.compute_s;
    times.state_s[RH_POWER_MEMORY] = mean.bounds.memory_s;
    double idle_s = waits_s - times.state_s[RH_POWER_COMMUNICATION] - mean.bounds.compute_s -
                    mean.bounds.memory_s;
    times.state_s[RH_POWER_IDLE] = fmax(idle_s, 0); /* rounding may leave slightly less than
                                                     * nothing */
    return times;
}

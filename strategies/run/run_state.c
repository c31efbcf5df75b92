#include "strategies/run/run_state.h"

#include <math.h>

double rh_run_restart_s(const RhTrainingRun *run)
{
    return run->startup_s + run->checkpoint.read_s;
}

double rh_run_restart_after_s(const RhTrainingRun *run, const RhRunFailure *failure)
{
    bool local = run->checkpoint.local_read_s > 0 && failure->nodes_away == 0 && !failure->by_pool;
    return run->startup_s + (local ? fmin(run->checkpoint.local_read_s, run->checkpoint.read_s)
                                   : run->checkpoint.read_s);
}

void rh_run_repair(RhRunState *state, const RhRunFailure *failure)
{
    rh_events_add(state->events, state->t_s + failure->repair_s, RH_RUN_NODE_BACK,
                  failure->nodes_away);
}

/* Hot spares are made up first. */
static void add_to_pool(RhRunState *state, int32_t nodes)
{
    int32_t hot = MIN(nodes, state->run->hot_spares - state->hot);
    state->hot += hot;
    state->cold += nodes - hot;
}

void rh_run_collect(RhRunState *state)
{
    RhTimedEvent event;
    while (rh_events_next_s(state->events) <= state->t_s && rh_events_next(state->events, &event))
        add_to_pool(state, event.who);
}

double rh_run_replace_s(RhRunState *state, int32_t nodes)
{
    const RhTrainingRun *run = state->run;
    if (run->spares_endless)
        return 0;
    rh_run_collect(state);
    int32_t hot = MIN(nodes, state->hot), cold = MIN(nodes - hot, state->cold);
    double wait_s = cold > 0 ? run->swap_s : 0;
    RhTimedEvent event;
    state->hot -= hot;
    state->cold -= cold;
    for (nodes -= hot + cold; nodes > 0 && rh_events_next(state->events, &event);
         nodes -= event.who) {
        wait_s = event.t_s - state->t_s + run->swap_s;
        add_to_pool(state, MAX(event.who - nodes, 0));
    }
    return wait_s;
}

double rh_run_speed_frac_of_replicas(const RhTrainingRun *run, int32_t missing)
{
    int32_t groups = run->nodes_count / run->group_nodes;
    int32_t gone = (missing + run->group_nodes - 1) / run->group_nodes;
    int32_t left = MAX(groups - gone, 0);
    return run->speeds ? run->speeds[left] : (double)left / groups;
}

double rh_run_speed_frac(const RhTrainingRun *run, int32_t missing)
{
    double speed = rh_run_speed_frac_of_replicas(run, missing);
    for (int32_t i = 0; i < run->sizes_count && missing > 0; i++)
        if (run->sizes[i].nodes <= run->nodes_count - missing)
            speed = fmax(speed, run->sizes[i].speed_frac);
    return speed;
}

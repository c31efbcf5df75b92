#include "strategies/run/run_state.h"

#include <math.h>

double rh_run_restart_s(const RhTrainingRun *run)
{
    return run->startup_s + run->checkpoint.read_s;
}

void rh_run_repair(RhRunState *state, int32_t nodes)
{
    rh_events_add(state->events, state->t_s + state->run->repair_s, RH_RUN_NODE_BACK, nodes);
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

double rh_run_replace_s(RhRunState *state)
{
    const RhTrainingRun *run = state->run;
    if (run->spares_endless)
        return 0;
    rh_run_collect(state);
    if (state->hot > 0) {
        state->hot--;
        return 0;
    }
    if (state->cold > 0) {
        state->cold--;
        return run->swap_s;
    }
    RhTimedEvent event = {.t_s = state->t_s, .who = 1};
    if (!rh_events_next(state->events, &event))
        return run->repair_s;
    add_to_pool(state, event.who - 1);
    return event.t_s - state->t_s + run->swap_s;
}

double rh_run_speed_frac(const RhTrainingRun *run, int32_t missing)
{
    int32_t groups = run->nodes_count / run->group_nodes;
    int32_t gone = (missing + run->group_nodes - 1) / run->group_nodes;
    return (double)MAX(groups - gone, 0) / groups;
}

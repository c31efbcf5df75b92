/* Lets a pacer decide when requests are sent and when servers stand still. */
#include <math.h>

#include "strategies/serve/service/service_private.h"

void rh_service_pacer_release(RhServiceClock *c, double t_s)
{
    const RhRequestPacer *pacer = c->client->pacer;
    for (int32_t dropped = 0; pacer && pacer->drops && dropped >= 0;) {
        dropped = pacer->drops(pacer->self);
        if (dropped >= 0)
            rh_service_drop(c, dropped, t_s);
    }
    for (int32_t n = pacer ? pacer->releases(pacer->self, t_s) : 0; n > 0; n--)
        rh_service_begin_next(c, t_s);
}

double rh_service_paused_until_s(const RhServiceClock *c)
{
    const RhRequestPacer *pacer = c->client->pacer;
    return pacer ? pacer->paused_until_s(pacer->self) : 0;
}

/* Ends every run of iterations with the one that is under way. */
static void cut_runs(RhServiceClock *c, double t_s)
{
    for (int32_t i = 0; i < c->replicas; i++) {
        RhReplica *r = rh_service_replica(c, i);
        if (!rh_replica_busy(r) || rh_service_traffic_play(c, i))
            continue;
        double begun_s = rh_replica_begun_s(r), s = rh_replica_cut(r, t_s);
        c->end_of[i] = rh_events_add(c->events, begun_s + s, RH_SERVICE_ENDS, i);
    }
}

bool rh_service_pacer_acts(RhServiceClock *c)
{
    const RhRequestPacer *pacer = c->client->pacer;
    double t_s = pacer ? pacer->next_s(pacer->self) : HUGE_VAL;
    if (!isfinite(t_s) || t_s > rh_events_next_s(c->events))
        return false;
    pacer->act(pacer->self, t_s);
    if (rh_service_paused_until_s(c) > t_s)
        cut_runs(c, t_s);
    rh_service_pacer_release(c, t_s);
    return true;
}

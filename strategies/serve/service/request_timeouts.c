/* Clients that give up: their request is dropped with the iteration under way. */
#include <math.h>

#include "strategies/serve/service/service_private.h"

void rh_service_request_timeouts(RhServiceClock *c, int32_t request, double t_s)
{
    const RhClient *client = c->client;
    if (client->ttft_patience_s > 0)
        rh_events_add(c->events, t_s + client->ttft_patience_s, RH_SERVICE_GIVES_UP_FIRST, request);
    if (client->e2e_patience_s > 0)
        rh_events_add(c->events, t_s + client->e2e_patience_s, RH_SERVICE_GIVES_UP, request);
}

double rh_service_too_late_s(const RhServiceClock *c, int32_t request, double t_s)
{
    const RhRequestRecord *served = rh_service_served(c, request);
    const RhClient *client = c->client;
    double first_s = served->t_arrive_s + client->ttft_patience_s,
           end_s = served->t_arrive_s + client->e2e_patience_s, too_late_s = HUGE_VAL;
    /* a client that had its first message by then goes on waiting */
    if (client->ttft_patience_s > 0 && served->t_first_s > first_s && first_s >= t_s)
        too_late_s = first_s;
    if (client->e2e_patience_s > 0 && served->t_end_s > end_s)
        too_late_s = fmin(too_late_s, end_s);
    return too_late_s;
}

/* Has the client its first message, of as many tokens as the server sends at once? */
static bool has_first(const RhServiceClock *c, int32_t request, double t_s)
{
    const RhRequestRecord *served = rh_service_served(c, request);
    int32_t inside, number = c->request_at[request];
    const RhPool *pool = &rh_service_stage(c, number, &inside)->pool;
    int32_t first =
        MIN(rh_server_first_tokens(c->service->serving.server, pool), served->output_tokens);
    return served->t_first_s <= t_s &&
           rh_replica_streamed_tokens(rh_service_replica(c, number), request, t_s) >= MAX(first, 1);
}

void rh_service_drop(RhServiceClock *c, int32_t request, double t_s)
{
    int32_t number = c->request_at[request];
    RhReplica *r = rh_service_replica(c, number);
    rh_service_served(c, request)->outcome = RH_SERVED_TIMED_OUT;
    bool here = rh_replica_drop(r, request);
    if (here && rh_replica_busy(r) && !rh_service_traffic_play(c, number)) {
        double s = rh_replica_cut(r, t_s);
        c->end_of[number] =
            rh_events_add(c->events, rh_replica_begun_s(r) + s, RH_SERVICE_ENDS, number);
    }
    rh_service_over(c, request, t_s);
}

void rh_service_gives_up(RhServiceClock *c, const RhTimedEvent *event)
{
    int32_t request = event->who;
    RhRequestRecord *served = rh_service_served(c, request);
    if (served->outcome != RH_SERVED_UNFINISHED ||
        (event->kind == RH_SERVICE_GIVES_UP_FIRST && has_first(c, request, event->t_s)))
        return;
    rh_service_drop(c, request, event->t_s);
}

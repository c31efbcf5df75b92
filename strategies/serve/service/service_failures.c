/* Servers that fail and return, and the requests that they had. */
#include <math.h>

#include "strategies/serve/service/service_private.h"

static const RhFailures *failures_of(const RhServiceClock *c)
{
    return c->client->failures;
}

static bool is_working(const RhServiceClock *c, int32_t number)
{
    int32_t inside;
    const RhServicePool *stage = rh_service_stage(c, number, &inside);
    return rh_scaling_works(stage->scaling, inside);
}

static void draw_next(RhServiceClock *c, int32_t number, double t_s)
{
    if (failures_of(c)->mtbf_s > 0)
        rh_events_add(c->events,
                      t_s + rh_failures_life_s(failures_of(c), number, c->drawn_of[number]++),
                      RH_SERVICE_FAILS_DRAWN, number);
}

void rh_service_failures_open(RhServiceClock *c)
{
    const RhFailures *f = failures_of(c);
    if (!f)
        return;
    c->result->fails = true;
    c->broken = g_new0(bool, c->requests->list->len);
    c->drawn_of = g_new0(int32_t, c->replicas + 1);
    for (int p = 0; p < RH_POOLS_MAX; p++)
        c->stranded[p] = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (guint i = 0; f->list && i < f->list->len; i++) {
        const RhFailure *failure = &g_array_index(f->list, RhFailure, i);
        rh_events_add(c->events, failure->t_s, RH_SERVICE_FAILS, failure->replica);
    }
    for (int32_t i = 0; i < c->replicas; i++)
        draw_next(c, i, 0);
}

void rh_service_failures_close(RhServiceClock *c)
{
    for (int p = 0; p < RH_POOLS_MAX; p++)
        g_clear_pointer(&c->stranded[p], g_array_unref);
    g_clear_pointer(&c->broken, g_free);
    g_clear_pointer(&c->drawn_of, g_free);
}

/* --- requests --- */

void rh_service_strand(RhServiceClock *c, int32_t request, int32_t pool)
{
    g_array_append_val(c->stranded[pool], request);
}

/* Retries a request whose server has failed: it begins anew, or is dropped after too many tries. */
static void try_again(RhServiceClock *c, int32_t request, double t_s)
{
    RhRequestRecord *served = rh_service_served(c, request);
    c->broken[request] = false;
    rh_served_read_in_vain(served);
    if (served->resent_count >= failures_of(c)->retries) {
        served->outcome = RH_SERVED_LOST;
        rh_service_over(c, request, t_s);
        return;
    }
    served->resent_count++;
    served->t_admit_s = served->t_first_s = (double)NAN;
    served->t_stall_s = served->t_transfer_s = served->t_slot_s = served->t_out_s = 0;
    served->t_lost_s = t_s - served->t_arrive_s;
    served->found_tokens = 0;
    rh_service_route(c, request, t_s);
}

bool rh_service_in_vain(RhServiceClock *c, int32_t request, bool read, double t_s)
{
    RhRequestRecord *served = rh_service_served(c, request);
    int32_t number = c->request_at[request];
    bool waits = served->outcome == RH_SERVED_UNFINISHED;
    bool fails = failures_of(c) && (c->broken[request] || !is_working(c, number));
    if (waits && !fails)
        return false;
    rh_replica_forget(rh_service_replica(c, number), request);
    served->lost_tokens += read; /* its first token */
    if (waits)
        try_again(c, request, t_s);
    return true;
}

/* Breaks off transfers of caches from or to a server that fails. */
static void break_transfers(RhServiceClock *c, int32_t number)
{
    for (guint i = 0; i < c->result->served->len; i++) {
        const RhRequestRecord *served = rh_service_served(c, (int32_t)i);
        if (served->outcome == RH_SERVED_UNFINISHED && served->t_transfer_s < 0 &&
            (served->replica == number || c->request_at[i] == number))
            c->broken[i] = true;
    }
}

/* --- servers --- */

static void fail_server(RhServiceClock *c, int32_t number, double t_s)
{
    int32_t inside;
    const RhServicePool *stage = rh_service_stage(c, number, &inside);
    double restart_s = failures_of(c)->restart_s;
    g_autoptr(GArray) dropped = g_array_new(FALSE, FALSE, sizeof(int32_t));
    restart_s = restart_s > 0 ? restart_s : stage->budget.start_s;
    c->result->failures_count++;
    c->result->down_s += restart_s;
    c->end_of[number] = -1; /* nothing ends there any more */
    rh_service_window_ends(c, number, t_s);
    rh_service_traffic_fail(c, number);
    break_transfers(c, number);
    rh_replica_fail(rh_service_replica(c, number), t_s, dropped);
    if (rh_scaling_fail(stage->scaling, inside, t_s))
        rh_events_add(c->events, t_s + restart_s, RH_SERVICE_IS_BACK, number);
    for (guint i = 0; i < dropped->len; i++)
        try_again(c, g_array_index(dropped, int32_t, i), t_s);
}

void rh_service_fails(RhServiceClock *c, const RhTimedEvent *event)
{
    bool drawn = event->kind == RH_SERVICE_FAILS_DRAWN, over = c->over >= c->requests->list->len;
    if (over)
        return; /* no requests remain */
    if (is_working(c, event->who))
        fail_server(c, event->who, event->t_s);
    if (drawn)
        draw_next(c, event->who, event->t_s);
}

/* Has the client given up while the request waited for a server, after its first token was lost? */
static bool is_forgotten(RhServiceClock *c, int32_t request, int32_t pool)
{
    RhRequestRecord *served = rh_service_served(c, request);
    if (served->outcome == RH_SERVED_UNFINISHED)
        return false;
    served->lost_tokens += pool;
    return true;
}

void rh_service_is_back(RhServiceClock *c, int32_t number, double t_s)
{
    int32_t inside, pool = number < c->service->stages[0].pool.replicas ? 0 : 1;
    const RhServicePool *stage = rh_service_stage(c, number, &inside);
    rh_scaling_started(stage->scaling, inside);
    g_autoptr(GArray) waited = c->stranded[pool];
    c->stranded[pool] = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (guint i = 0; i < waited->len; i++) {
        int32_t request = g_array_index(waited, int32_t, i);
        if (is_forgotten(c, request, pool))
            continue;
        if (pool > 0 && c->broken[request]) {
            rh_service_served(c, request)->lost_tokens++;
            try_again(c, request, t_s);
        } else if (pool > 0) {
            rh_service_hand_over(c, request, t_s);
        } else {
            rh_service_route(c, request, t_s);
        }
    }
}

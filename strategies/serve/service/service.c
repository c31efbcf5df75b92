/* Simulates a service from its first event to its last: where requests go, and when replicas
 * work. */
#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "strategies/serve/service/service_private.h"

static void send_request(RhServiceClock *c, int32_t request, double t_s)
{
    rh_events_add(c->events, t_s, RH_SERVICE_SENT, request);
}

void rh_service_begin_next(RhServiceClock *c, double t_s)
{
    int32_t count = (int32_t)c->requests->list->len;
    while (c->next < count && c->turn_before[c->next] >= 0)
        c->next++;
    if (c->next < count)
        send_request(c, c->next++, t_s);
}

void rh_service_over(RhServiceClock *c, int32_t request, double t_s)
{
    int32_t next = c->next_turn[request];
    bool closed = c->client->at_once > 0;
    const RhRequestPacer *pacer = c->client->pacer;
    c->over++;
    if (pacer)
        pacer->ended(pacer->self, request, t_s);
    c->last_s = fmax(c->last_s, t_s);
    t_s += c->client->turnaround_s;
    if (next >= 0 && (closed || pacer || c->held_back[next]))
        send_request(c, next, t_s);
    else if (closed)
        rh_service_begin_next(c, t_s);
}

static void start_iteration(RhServiceClock *c, int32_t number, double t_s)
{
    RhReplica *r = rh_service_replica(c, number);
    double paused_s = rh_service_paused_until_s(c);
    if (paused_s > t_s) {
        rh_events_add(c->events, paused_s, RH_SERVICE_WAKES, number);
        return;
    }
    double s = rh_replica_begin(r, t_s);
    if (rh_replica_busy(r))
        c->end_of[number] = rh_events_add(c->events, t_s + s, RH_SERVICE_ENDS, number);
    rh_service_window_begins(c, number, t_s);
    rh_service_traffic_begin(c, number, t_s);
}

static void refuse(RhServiceClock *c, int32_t request, double t_s)
{
    rh_service_served(c, request)->outcome = RH_SERVED_REFUSED;
    rh_service_over(c, request, t_s);
}

/* Chooses a replica of the pool for a request; false: none is there. */
static bool choose_replica(RhServiceClock *c, int32_t request, int32_t pool)
{
    RhServicePool *stage = &c->service->stages[pool];
    int32_t count = stage->pool.replicas;
    const int32_t *places = NULL;
    RhReplica *const *serving =
        stage->scaling ? rh_scaling_serving(stage->scaling, &count, &places) : stage->replicas;
    if (count == 0)
        return false;
    int32_t chosen = c->service->router->choose(serving, count, stage->turn++, request);
    chosen = places ? places[chosen] : chosen;
    rh_replica_expect(stage->replicas[chosen], request);
    c->request_at[request] = chosen + (pool > 0 ? c->service->stages[0].pool.replicas : 0);
    return true;
}

void rh_service_route(RhServiceClock *c, int32_t request, double t_s)
{
    if (choose_replica(c, request, 0))
        rh_events_add(c->events, t_s + c->service->serving.server->admit_s.value, RH_SERVICE_COMES,
                      request);
    else
        rh_service_strand(c, request, 0);
}

/* Does a session's next turn come before the previous answer is complete? */
static bool comes_too_early(RhServiceClock *c, int32_t request, double t_s)
{
    if (c->turn_before[request] < 0)
        return false;
    const RhRequestRecord *before = rh_service_served(c, c->turn_before[request]);
    double earliest_s = before->t_end_s + c->client->turnaround_s;
    c->held_back[request] = before->outcome == RH_SERVED_UNFINISHED;
    if (earliest_s > t_s)
        send_request(c, request, earliest_s);
    return c->held_back[request] || earliest_s > t_s;
}

static void on_sent(RhServiceClock *c, int32_t request, double t_s)
{
    if (comes_too_early(c, request, t_s))
        return;
    rh_service_served(c, request)->t_arrive_s = t_s;
    c->last_s = fmax(c->last_s, t_s);
    rh_service_window_mark(c, t_s);
    rh_service_request_timeouts(c, request, t_s);
    if (c->search)
        rh_events_add(c->events, rh_vector_search_stage_done_s(c->search, request, t_s),
                      RH_SERVICE_FOUND, request);
    else
        rh_service_route(c, request, t_s);
}

/* Handles a request's arrival at a replica. An idle one begins an iteration once all requests of
 * this moment have arrived. A run under way ends with its current iteration, which is followed by
 * one that can admit the request. */
static void on_arrival_at_replica(RhServiceClock *c, int32_t request, double t_s, bool read)
{
    int32_t number = c->request_at[request];
    RhReplica *r = rh_service_replica(c, number);
    if (rh_service_in_vain(c, request, read, t_s))
        return;
    if (!rh_replica_take(r, request, read, t_s)) {
        refuse(c, request, t_s);
        return;
    }
    int32_t inside, window_ms = rh_service_stage(c, number, &inside)->pool.window;
    if (window_ms > 0)
        rh_events_add(c->events, t_s + window_ms / 1000.0, RH_SERVICE_WAKES, number);
    if (!rh_replica_busy(r)) {
        rh_events_add(c->events, t_s, RH_SERVICE_WAKES, number);
        return;
    }
    if (rh_service_traffic_play(c, number))
        return; /* one iteration already */
    double begun_s = rh_replica_begun_s(r), s = rh_replica_cut(r, t_s);
    c->end_of[number] = rh_events_add(c->events, begun_s + s, RH_SERVICE_ENDS, number);
}

/* Bytes of a prompt's cache from each GPU that read it. */
static double moved_bytes(const RhServiceClock *c, int32_t request)
{
    const RhIterations *iterations = c->service->stages[0].iterations;
    return rh_iterations_token_bytes(iterations) * rh_service_served(c, request)->input_tokens +
           rh_iterations_sequence_bytes(iterations);
}

/* Starts the transfer of a prompt's keys and values to the replica that makes its tokens: a part
 * from each GPU of one replica, to the GPUs of the other in turn. */
static bool start_transfer(RhServiceClock *c, int32_t request, double t_s, GError **error)
{
    int32_t from = rh_service_served(c, request)->replica, to = c->request_at[request], inside;
    const RhServicePool *source = rh_service_stage(c, from, &inside),
                        *target = rh_service_stage(c, to, &inside);
    int32_t ranks = rh_pool_gpus(&source->pool), there = rh_pool_gpus(&target->pool);
    double bytes = moved_bytes(c, request);
    if (rh_service_in_vain(c, request, true, t_s))
        return true;
    rh_service_traffic_met(c, request, t_s);
    for (int32_t i = 0; i < ranks; i++)
        if (!c->carrier->start(c->carrier->self, t_s, rh_service_first_gpu(c, from) + i,
                               rh_service_first_gpu(c, to) + i % there, bytes, request, error))
            return false;
    c->flows_of[request] = ranks;
    c->flows += ranks;
    return true;
}

static void on_flow(RhServiceClock *c, const RhKvTransfer *carried)
{
    int32_t request = carried->who;
    if (--c->flows_of[request] > 0)
        return;
    rh_service_traffic_parted(c, request);
    RhRequestRecord *served = rh_service_served(c, request);
    if (c->result->moves) {
        RhKvMove start_transfer = {
            request,      served->replica,        c->request_at[request], -served->t_transfer_s,
            carried->t_s, moved_bytes(c, request)};
        g_array_append_val(c->result->moves, start_transfer);
    }
    served->t_transfer_s += carried->t_s;
    served->t_first_s += served->t_transfer_s; /* sent by the replica that continues it */
    on_arrival_at_replica(c, request, carried->t_s, true);
}

void rh_service_hand_over(RhServiceClock *c, int32_t request, double t_s)
{
    if (!choose_replica(c, request, 1)) {
        rh_service_strand(c, request, 1);
        return;
    }
    int32_t from = rh_service_served(c, request)->replica;
    double latency_s = c->carrier->latency_s(c->carrier->self, rh_service_first_gpu(c, from),
                                             rh_service_first_gpu(c, c->request_at[request]));
    rh_events_add(c->events, t_s + latency_s, RH_SERVICE_MOVES, request);
}

/* Handles a completed request, perhaps after its client's timeout. */
static void on_done(RhServiceClock *c, int32_t request, double t_s)
{
    RhRequestRecord *served = rh_service_served(c, request);
    double too_late_s = rh_service_too_late_s(c, request, t_s);
    if (isfinite(too_late_s)) {
        served->outcome = RH_SERVED_TIMED_OUT;
        served->lost_tokens += served->output_tokens;
    }
    rh_service_over(c, request, fmin(served->t_end_s, too_late_s));
}

static void on_answered(RhServiceClock *c, int32_t request, int32_t number, double t_s)
{
    RhRequestRecord *served = rh_service_served(c, request);
    if (served->outcome == RH_SERVED_TIMED_OUT)
        return; /* it timed out meanwhile */
    bool moves = number < c->service->stages[0].pool.replicas &&
                 c->service->deployment.pools_count > 1 && served->output_tokens > 1;
    if (moves) {
        served->t_transfer_s = -t_s; /* until the cache has arrived */
        served->replica = number;
        rh_service_hand_over(c, request, t_s);
    } else {
        on_done(c, request, t_s);
    }
}

static void on_ends(RhServiceClock *c, const RhTimedEvent *event)
{
    int32_t number = event->who;
    if (c->end_of[number] != event->number)
        return; /* the run was cut short meanwhile */
    g_array_set_size(c->ended, 0);
    c->last_s = fmax(c->last_s, event->t_s);
    rh_service_window_ends(c, number, event->t_s);
    rh_replica_end(rh_service_replica(c, number), event->t_s, c->ended);
    for (guint i = 0; i < c->ended->len; i++)
        on_answered(c, g_array_index(c->ended, int32_t, i), number, event->t_s);
    start_iteration(c, number, event->t_s);
}

#define LOOKS_EVERY 1024 /* events between two checks of the deadline */

/* Handles the end of a batching window, or of a moment in which requests arrived at an idle
 * replica. */
static void on_wakes(RhServiceClock *c, int32_t number, double t_s)
{
    if (!rh_replica_busy(rh_service_replica(c, number)))
        start_iteration(c, number, t_s);
}

/* --- replicas that start and stop --- */

static void sample_loads(RhServiceClock *c, int32_t pool, double t_s)
{
    RhServicePool *stage = &c->service->stages[pool];
    if (c->over >= c->requests->list->len) /* no requests remain */
        return;
    g_array_set_size(c->ended, 0);
    rh_scaling_look(stage->scaling, t_s, c->ended);
    for (guint i = 0; i < c->ended->len; i++)
        rh_events_add(c->events, t_s + stage->budget.start_s, RH_SERVICE_STARTS,
                      g_array_index(c->ended, int32_t, i) +
                          (pool > 0 ? c->service->stages[0].pool.replicas : 0));
    rh_events_add(c->events, t_s + rh_scaling_look_s(stage->scaling), RH_SERVICE_LOOKS, pool);
}

static void on_started(RhServiceClock *c, int32_t number)
{
    int32_t inside;
    const RhServicePool *stage = rh_service_stage(c, number, &inside);
    rh_scaling_started(stage->scaling, inside);
}

static void open_scaling(RhServiceClock *c, int32_t pool)
{
    RhServicePool *stage = &c->service->stages[pool];
    if (stage->pool.scale == 0 && !c->client->failures)
        return;
    stage->scaling = rh_scaling_new(stage->replicas, &stage->pool, stage->budget.start_s);
    if (stage->pool.scale > 0)
        rh_events_add(c->events, rh_scaling_look_s(stage->scaling), RH_SERVICE_LOOKS, pool);
}

/* Records for the history which replicas take requests now. */
static void record_replicas(RhServiceClock *c, double t_s)
{
    int32_t there = 0;
    for (int32_t p = 0; c->result->history && p < c->service->deployment.pools_count; p++) {
        const RhServicePool *stage = &c->service->stages[p];
        int32_t serving = stage->pool.replicas;
        const int32_t *places;
        if (stage->scaling)
            rh_scaling_serving(stage->scaling, &serving, &places);
        there += serving;
    }
    if (c->result->history)
        rh_service_history_there(c->result->history, t_s, there);
}

static bool changes_replicas(int32_t event)
{
    return event == RH_SERVICE_LOOKS || event == RH_SERVICE_STARTS || event == RH_SERVICE_FAILS ||
           event == RH_SERVICE_FAILS_DRAWN || event == RH_SERVICE_IS_BACK;
}

static bool on_event(RhServiceClock *c, const RhTimedEvent *event, GError **error)
{
    if (event->kind == RH_SERVICE_MOVES)
        return start_transfer(c, event->who, event->t_s, error);
    if (event->kind == RH_SERVICE_EXCHANGES)
        return rh_service_traffic_exchange(c, event, error);
    if (event->kind == RH_SERVICE_SENT)
        on_sent(c, event->who, event->t_s);
    else if (event->kind == RH_SERVICE_FOUND)
        rh_service_route(c, event->who, event->t_s);
    else if (event->kind == RH_SERVICE_ENDS)
        on_ends(c, event);
    else if (event->kind == RH_SERVICE_LOOKS)
        sample_loads(c, event->who, event->t_s);
    else if (event->kind == RH_SERVICE_STARTS)
        on_started(c, event->who);
    else if (event->kind == RH_SERVICE_WAKES)
        on_wakes(c, event->who, event->t_s);
    else if (event->kind == RH_SERVICE_GIVES_UP || event->kind == RH_SERVICE_GIVES_UP_FIRST)
        rh_service_gives_up(c, event);
    else if (event->kind == RH_SERVICE_FAILS || event->kind == RH_SERVICE_FAILS_DRAWN)
        rh_service_fails(c, event);
    else if (event->kind == RH_SERVICE_IS_BACK)
        rh_service_is_back(c, event->who, event->t_s);
    else
        on_arrival_at_replica(c, event->who, event->t_s, false);
    if (changes_replicas(event->kind))
        record_replicas(c, event->t_s);
    rh_service_pacer_release(c, event->t_s);
    return true;
}

/* Advances to the next event, or the next arrival of a transfer. */
static bool next_event(RhServiceClock *c, bool *over, GError **error)
{
    RhTimedEvent event;
    RhKvTransfer carried = {.who = -1};
    if (rh_service_pacer_acts(c))
        return true;
    if (c->flows > 0 &&
        !c->carrier->run(c->carrier->self, rh_events_next_s(c->events), &carried, error))
        return false;
    c->flows -= carried.who >= 0;
    int32_t requests = (int32_t)c->requests->list->len;
    if (carried.who >= requests)
        rh_service_traffic_carried(c, carried.who - requests, carried.t_s);
    else if (carried.who >= 0)
        on_flow(c, &carried);
    else if (rh_events_next(c->events, &event))
        return on_event(c, &event, error);
    else
        *over = true;
    return true;
}

static bool run_events(RhServiceClock *c, GError **error)
{
    bool over = false;
    for (int64_t done = 0; !over; done++) {
        if (done % LOOKS_EVERY == 0 && rh_deadline_passed(c->deadline))
            return rh_fail(error, RH_ERROR_NO_ANSWER,
                           "the service was not played to its end in the time that was allowed");
        if (!next_event(c, &over, error))
            return false;
        over |= c->client->pacer && c->client->pacer->over(c->client->pacer->self);
    }
    return true;
}

/* --- beginning and end --- */

static void link_turns(RhServiceClock *c)
{
    guint count = c->requests->list->len;
    g_autoptr(GHashTable) latest = g_hash_table_new(NULL, NULL); /* session + 1 -> request + 1 */
    for (guint i = 0; i < count; i++) {
        int32_t session = g_array_index(c->requests->list, RhRequest, i).session;
        gpointer key = GINT_TO_POINTER(session + 1);
        int32_t before = session < 0 ? -1 : GPOINTER_TO_INT(g_hash_table_lookup(latest, key)) - 1;
        c->turn_before[i] = before;
        c->next_turn[i] = -1;
        if (before >= 0)
            c->next_turn[before] = (int32_t)i;
        if (session >= 0)
            g_hash_table_insert(latest, key, GINT_TO_POINTER((int32_t)i + 1));
    }
}

/* Adds the first events, as far as there is time: none after the deadline. */
static void begin_events(RhServiceClock *c)
{
    const GArray *list = c->requests->list;
    for (guint i = 0; i < list->len; i++) {
        if (i % LOOKS_EVERY == 0 && rh_deadline_passed(c->deadline))
            return;
        const RhRequest *request = &g_array_index(list, RhRequest, i);
        RhRequestRecord served = {.t_admit_s = (double)NAN,
                                  .t_first_s = (double)NAN,
                                  .t_end_s = (double)NAN,
                                  .input_tokens = request->input_tokens,
                                  .output_tokens = request->output_tokens,
                                  .replica = -1};
        g_array_append_val(c->result->served, served);
        if (c->client->at_once == 0 && !c->client->pacer)
            send_request(c, (int32_t)i, request->t_s);
    }
    for (int32_t i = 0; i < c->client->at_once; i++)
        rh_service_begin_next(c, c->client->stagger_s * i);
    rh_service_pacer_release(c, 0);
}

/* Returns the longest sequence of a pool: max_model_len, and the model's. Learned positions end;
 * rotary ones do not, but a cache holds less than this. A model that makes no tokens has no
 * answers. */
static int32_t longest_of(const RhModel *model, const RhPool *pool)
{
    bool learned = model->position == RH_POSITION_LEARNED && model->positions > 0;
    int64_t positions = model->positions + !rh_model_makes_tokens(model);
    int64_t limit = pool->max_model_len > 0 ? pool->max_model_len : 1 << 30;
    return (int32_t)MIN(learned ? positions : 1 << 30, limit);
}

/* Is the request too long? As in rh_replica_take() the first of two pools holds a prompt and its
 * first token. */
static bool is_too_long(const RhService *service, const RhRequest *request)
{
    for (int32_t p = 0; p < service->deployment.pools_count; p++) {
        const RhServicePool *stage = &service->stages[p];
        bool prompts_only = p == 0 && service->deployment.pools_count > 1;
        int64_t tokens = (int64_t)request->input_tokens + stage->pool.draft +
                         (prompts_only ? 1 : request->output_tokens);
        if (tokens > longest_of(service->serving.model, &stage->pool) ||
            rh_server_blocks_of(service->serving.server, tokens) > stage->budget.blocks)
            return true;
    }
    return false;
}

int32_t rh_service_too_long(const RhService *service, const RhRequests *requests)
{
    int32_t count = 0;
    for (guint i = 0; i < requests->list->len; i++)
        count += is_too_long(service, &g_array_index(requests->list, RhRequest, i));
    return count;
}

static void open_replicas(RhServiceClock *c)
{
    int32_t number = 0;
    for (int32_t p = 0; p < c->service->deployment.pools_count; p++) {
        RhServicePool *stage = &c->service->stages[p];
        stage->turn = 0;
        stage->replicas = g_new0(RhReplica *, stage->pool.replicas);
        for (int32_t i = 0; i < stage->pool.replicas; i++, number++) {
            RhReplicaSpec spec = {.iterations = stage->iterations,
                                  .server = c->service->serving.server,
                                  .pool = stage->pool,
                                  .longest = longest_of(c->service->serving.model, &stage->pool),
                                  .blocks = stage->budget.blocks,
                                  .number = number,
                                  .requests = c->requests,
                                  .prompts = rh_service_remembers(c, stage) ? c->prompts : NULL,
                                  .finds_again = rh_service_finds_again(c, stage),
                                  .served = c->result->served,
                                  .gaps = c->result->gaps,
                                  .works = c->result->works,
                                  .history = c->result->history,
                                  .each_iteration = c->client->each_iteration,
                                  .prompts_only = p == 0 && c->service->deployment.pools_count > 1};
            memcpy(spec.tier_tokens, stage->budget.tier_tokens, sizeof spec.tier_tokens);
            memcpy(spec.tier_s, stage->budget.tier_s, sizeof spec.tier_s);
            stage->replicas[i] = rh_replica_new(&spec);
        }
        open_scaling(c, p);
    }
    c->end_of = g_new0(int64_t, number);
    record_replicas(c, 0);
}

static RhServiceResult *result_new(const RhService *service, const RhClient *client)
{
    const RhModel *model = service->serving.model;
    RhServiceResult *result = g_new0(RhServiceResult, 1);
    int32_t replicas = 0;
    for (int32_t p = 0; p < service->deployment.pools_count; p++)
        replicas += service->stages[p].pool.replicas;
    result->history = client->history ? rh_service_history_new(replicas) : NULL;
    result->once = !rh_model_makes_tokens(model);
    result->open = client->at_once == 0 && !client->pacer;
    result->served = g_array_new(FALSE, FALSE, sizeof(RhRequestRecord));
    if (client->timeline) {
        result->works = g_array_new(FALSE, FALSE, sizeof(RhServiceWork));
        result->moves = g_array_new(FALSE, FALSE, sizeof(RhKvMove));
    }
    return result;
}

static void open_clock(RhServiceClock *c)
{
    guint count = c->requests->list->len;
    c->events = rh_events_new();
    c->ended = g_array_new(FALSE, FALSE, sizeof(int32_t));
    c->request_at = g_new0(int32_t, count);
    c->flows_of = g_new0(int32_t, count);
    c->turn_before = g_new(int32_t, count);
    c->next_turn = g_new(int32_t, count);
    c->held_back = g_new0(bool, count);
    if (c->client->index)
        c->search = rh_vector_search_stage_new(c->client->index);
    link_turns(c);
    open_replicas(c);
    rh_service_traffic_open(c);
    rh_service_window_open(c);
    rh_service_failures_open(c);
}

static void close_clock(RhServiceClock *c)
{
    if (c->search)
        c->result->searches = rh_vector_search_stage_sums(c->search);
    rh_vector_search_stage_free(c->search);
    rh_service_failures_close(c);
    rh_events_free(c->events);
    g_array_unref(c->ended);
    g_free(c->request_at);
    g_free(c->flows_of);
    g_free(c->turn_before);
    g_free(c->next_turn);
    g_free(c->held_back);
    g_free(c->end_of);
    g_free(c->begun_s);
    g_array_unref(c->marks);
    g_free(c->traffic);
}

RhServiceResult *rh_service_run(RhService *service, const RhRequests *requests,
                                const RhClient *client, GError **error)
{
    if (!rh_service_takes(service->serving.model, requests, error) ||
        (client->failures && !rh_failures_check(client->failures, &service->deployment, error)))
        return NULL;
    RhDeadline deadline = rh_deadline_in(client->timeout_s);
    RhServiceResult *result = result_new(service, client);
    g_autoptr(RhPromptPrefixes) prompts =
        rh_prompt_prefixes_new(requests, service->serving.server->block_tokens);
    g_auto(RhKvTransport) own = rh_kv_transport_own(service->serving.platform);
    RhServiceClock c = {.service = service,
                        .requests = requests,
                        .client = client,
                        .result = result,
                        .prompts = prompts,
                        .carrier = client->carrier ? client->carrier : &own,
                        .deadline = deadline};
    open_clock(&c);
    begin_events(&c);
    bool whole = run_events(&c, error);
    rh_service_sum_up(&c);
    close_clock(&c);
    if (!whole)
        g_clear_pointer(&result, rh_service_result_free);
    return result;
}

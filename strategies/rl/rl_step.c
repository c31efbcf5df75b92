#include "strategies/rl/rl_step.h"

#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "base/error.h"
#include "sim/event_queue.h"

#define SEED_OFFSET 9000011

typedef struct {
    double t_start_s, t_ended_s, t_sent_s; /* of its last answer; servers have its update */
    double t_rewarded_s;
    int32_t left;         /* answers that are not there yet */
    int32_t version, age; /* updates of the weights at its start; further ones until training */
    int32_t batch;
    bool useless, queued, dropped;
} Group;

/* Groups that begin together; it is open until as many useful ones as are trained on have their rewards. */
typedef struct {
    int32_t first, ready; /* its first group; useful ones with rewards */
    bool open;
    double t_begun_s, taken_s; /* from then until it is no longer open */
} Batch;

typedef enum { EVENT_REWARDED, EVENT_LOADED, EVENT_TRAINED, EVENT_SENT } EventKind;

typedef struct {
    const RhRlStepSpec *spec;
    RhEvents *events;
    Group *groups;
    int32_t groups_count, started, trained;      /* trained: servers have their update */
    int32_t *queue;                              /* groups with their rewards, in that order */
    int32_t queue_first, queue_taken, queue_end; /* of a step; taken of it; all */
    int32_t part;                                /* batches of the step that are trained */
    int32_t ended;    /* groups whose answers are all there, or that were dropped */
    int32_t rewarded; /* and have their rewards, or were dropped */
    int32_t dropped, drop_next, drop_end; /* groups; requests that are looked at to be dropped */
    Batch *batches;                       /* the last one begun is batches_count - 1 */
    int32_t batches_count;
    double *sandbox_s; /* when each is free */
    int64_t rewards;
    bool *answered; /* requests */
    int32_t begun_at_warm, dropped_at_warm, begun_at_end, dropped_at_end;
    double t_s, paused_until_s;
    RhRlAct act; /* the trainer's, since act_s */
    double act_s;
    bool sends_wait; /* weights wait for the end of a batch */
    double *step_end_s;
    int32_t steps_done, under_way_most;
    double under_way_area; /* groups x seconds */
    double area_at_warm, area_at_end, t_warm_s;
    GArray *spans, *levels;
} Sim;

/* --- the trainer --- */

static void turn_to(Sim *s, RhRlAct act, double t_s)
{
    RhRlSpan span = {s->act_s, t_s, s->act};
    if (t_s > s->act_s)
        g_array_append_val(s->spans, span);
    s->act = act;
    s->act_s = t_s;
}

/* Updates of the weights that servers have. */
static int32_t version(const Sim *s)
{
    return s->trained / s->spec->job->prompts;
}

static int32_t total_steps(const Sim *s)
{
    return s->spec->warm + s->spec->steps;
}

static int32_t takes(const Sim *s)
{
    return s->spec->placement->streams ? MAX(s->spec->takes, 1) : 1;
}

/* Takes a batch, or the next part of one, if the trainer is free and the rewards are there. */
static void take_batch(Sim *s, double t_s)
{
    int32_t count = s->spec->job->prompts / takes(s);
    if (s->act != RH_RL_WAITS || s->sends_wait || s->queue_end - s->queue_taken < count)
        return;
    for (int32_t i = 0; i < count; i++) {
        Group *g = &s->groups[s->queue[s->queue_taken++]];
        g->age = version(s) - g->version;
    }
    turn_to(s, RH_RL_LOADS, t_s);
    rh_events_add(s->events, t_s + (s->part == 0 ? s->spec->times.to_train_s : 0), EVENT_LOADED, 0);
}

static void begin_sending(Sim *s, double t_s)
{
    const RhRlTimes *times = &s->spec->times;
    bool streams = s->spec->placement->streams;
    s->sends_wait = false;
    turn_to(s, RH_RL_SENDS, t_s);
    s->paused_until_s = t_s + (streams ? times->pause_s : times->sync_s);
    rh_events_add(s->events, t_s + times->sync_s, EVENT_SENT, 0);
}

/* Are answers under way? */
static bool generates(const Sim *s)
{
    return s->ended < s->started;
}

/* Groups that are started, and whose update servers lack. */
static int32_t under_way(const Sim *s)
{
    return s->started - s->trained - s->dropped;
}

/* Does what a batch begins depend on rewards? */
static bool awaits_rewards(const Sim *s)
{
    return s->spec->job->begun_frac > 1 || s->spec->job->useful_frac < 1;
}

static void move_area(Sim *s, double t_s)
{
    RhRlLevel level = {t_s, s->started - s->ended, s->queue_end - s->queue_taken};
    if (t_s > s->t_s)
        g_array_append_val(s->levels, level);
    s->under_way_area += (t_s - s->t_s) * under_way(s);
    s->t_s = t_s;
}

static void on_trained(Sim *s, double t_s)
{
    if (++s->part < takes(s)) {
        turn_to(s, RH_RL_WAITS, t_s);
        return;
    }
    s->part = 0;
    if (s->spec->placement->streams || !generates(s)) {
        begin_sending(s, t_s);
    } else {
        s->sends_wait = true;
        turn_to(s, RH_RL_WAITS, t_s);
    }
}

/* Servers have the weights of a batch: its groups are under way no longer, and a step has ended. */
static void on_sent(Sim *s, double t_s)
{
    int32_t prompts = s->spec->job->prompts;
    for (int32_t i = 0; i < prompts; i++)
        s->groups[s->queue[s->queue_first++]].t_sent_s = t_s;
    s->trained += prompts;
    s->step_end_s[s->steps_done++] = t_s;
    if (s->steps_done == s->spec->warm) {
        s->area_at_warm = s->under_way_area;
        s->t_warm_s = t_s;
        s->begun_at_warm = s->started;
        s->dropped_at_warm = s->dropped;
    }
    s->area_at_end = s->under_way_area;
    s->begun_at_end = s->started;
    s->dropped_at_end = s->dropped;
    turn_to(s, RH_RL_WAITS, t_s);
}

static void drop(Sim *s, Group *g)
{
    g->dropped = true;
    s->dropped++;
}

/* Drops what a batch has begun beside the groups that are trained on. */
static void drop_rest(Sim *s, const Batch *b)
{
    for (int32_t i = b->first; i < s->started; i++) {
        Group *g = &s->groups[i];
        if (!g->queued && !g->dropped)
            drop(s, g);
    }
    s->drop_next = b->first * rh_rl_group_requests(s->spec->job);
    s->drop_end = s->started * rh_rl_group_requests(s->spec->job);
}

static void on_rewarded(Sim *s, int32_t number, double t_s)
{
    Group *g = &s->groups[number];
    Batch *b = &s->batches[g->batch];
    s->rewarded++;
    if (g->dropped)
        return;
    if (g->useless) {
        drop(s, g);
        return;
    }
    g->queued = true;
    s->queue[s->queue_end++] = number;
    if (s->spec->placement->streams || ++b->ready < s->spec->job->prompts)
        return;
    b->open = false;
    b->taken_s = t_s - b->t_begun_s;
    if (awaits_rewards(s))
        drop_rest(s, b);
}

static void on_event(Sim *s, const RhTimedEvent *event)
{
    const RhRlTimes *times = &s->spec->times;
    double t_s = event->t_s;
    switch ((EventKind)event->kind) {
    case EVENT_REWARDED:
        on_rewarded(s, event->who, t_s);
        break;
    case EVENT_LOADED:
        turn_to(s, RH_RL_TRAINS, t_s);
        rh_events_add(s->events, t_s + (times->forward_s + times->update_s) / takes(s),
                      EVENT_TRAINED, 0);
        break;
    case EVENT_TRAINED:
        on_trained(s, t_s);
        break;
    case EVENT_SENT:
        on_sent(s, t_s);
        break;
    }
    take_batch(s, t_s);
}

/* --- the pacer of the service --- */

/* Is there a batch that more groups may join? */
static bool refills(const Sim *s)
{
    return awaits_rewards(s) && s->batches_count > 0 && s->batches[s->batches_count - 1].open;
}

/* Groups of a batch that may start now: all at once when none is under way; where the rewards of one leave
 * too few that are useful, as many again. */
static int32_t batch_free(const Sim *s)
{
    int32_t prompts = s->spec->job->prompts;
    int32_t room = (int32_t)floor(prompts * (s->spec->ahead + 1) + 1e-9) - under_way(s);
    if (generates(s) || s->sends_wait || s->act == RH_RL_SENDS)
        return 0;
    if (refills(s))
        return s->rewarded == s->started ? rh_rl_batch_groups(s->spec->job) : 0;
    return room >= prompts ? rh_rl_batch_groups(s->spec->job) : 0;
}

/* Groups that may start now: as many as the bound leaves, or a batch. */
static int32_t groups_free(const Sim *s)
{
    const RhRlStepSpec *spec = s->spec;
    int32_t room = (int32_t)floor(spec->job->prompts * (spec->ahead + 1) + 1e-9) - under_way(s);
    int32_t left = s->groups_count - s->started,
            batch = spec->placement->streams ? 0 : batch_free(s);
    if (spec->placement->streams)
        return MAX(MIN(room, left), 0);
    return batch <= left ? batch : 0;
}

static void begin_batch(Sim *s, double t_s)
{
    if (!refills(s))
        s->batches[s->batches_count++] =
            (Batch){.first = s->started, .open = true, .t_begun_s = t_s};
}

static int32_t releases(void *self, double t_s)
{
    Sim *s = self;
    move_area(s, t_s);
    int32_t count = groups_free(s);
    if (count > 0 && !s->spec->placement->streams)
        begin_batch(s, t_s);
    for (int32_t i = 0; i < count; i++) {
        Group *g = &s->groups[s->started++];
        g->t_start_s = t_s;
        g->left = rh_rl_group_requests(s->spec->job);
        g->version = version(s);
        g->batch = MAX(s->batches_count - 1, 0);
    }
    s->under_way_most = MAX(s->under_way_most, under_way(s));
    return count * s->spec->job->samples;
}

/* Requests of dropped groups that are still answered. */
static int32_t drops(void *self)
{
    Sim *s = self;
    for (; s->drop_next < s->drop_end; s->drop_next++) {
        const Group *g = &s->groups[s->drop_next / rh_rl_group_requests(s->spec->job)];
        if (g->dropped && !s->answered[s->drop_next])
            return s->drop_next++;
    }
    return -1;
}

/* Returns when the reward of an answer that is there at t_s is: sandboxes take answers in their order, all for as
 * long, so one is free when the reward so many answers before is there. */
static double reward_s(Sim *s, double t_s)
{
    const RhRlJob *job = s->spec->job;
    if (job->sandboxes <= 0)
        return t_s + job->reward_s;
    double *before_s = &s->sandbox_s[s->rewards++ % job->sandboxes];
    *before_s = fmax(*before_s, t_s) + job->reward_s;
    return *before_s;
}

static void ended(void *self, int32_t request, double t_s)
{
    Sim *s = self;
    const RhRlJob *job = s->spec->job;
    int32_t number = request / rh_rl_group_requests(job);
    Group *g = &s->groups[number];
    s->answered[request] = true;
    g->t_ended_s = fmax(g->t_ended_s, t_s);
    if (request % job->turns == job->turns - 1 && !g->dropped)
        g->t_rewarded_s = fmax(g->t_rewarded_s, reward_s(s, t_s));
    if (--g->left > 0)
        return;
    s->ended++;
    rh_events_add(s->events, fmax(g->t_rewarded_s, t_s), EVENT_REWARDED, number);
    if (s->sends_wait && !generates(s))
        begin_sending(s, t_s);
}

static double next_s(const void *self)
{
    return rh_events_next_s(((const Sim *)self)->events);
}

static void act(void *self, double t_s)
{
    Sim *s = self;
    RhTimedEvent event;
    move_area(s, t_s);
    if (rh_events_next(s->events, &event))
        on_event(s, &event);
}

static double paused_until_s(const void *self)
{
    return ((const Sim *)self)->paused_until_s;
}

static bool over(const void *self)
{
    const Sim *s = self;
    return s->steps_done == total_steps(s);
}

/* --- results --- */

static bool counts(const Sim *s, const Group *g)
{
    return g->t_sent_s > s->t_warm_s && g->t_sent_s <= s->step_end_s[total_steps(s) - 1];
}

static void sum_groups(const Sim *s, RhRlStep *out)
{
    g_autofree double *ages = g_new(double, s->groups_count);
    for (int32_t i = 0; i < s->started; i++) {
        const Group *g = &s->groups[i];
        if (!counts(s, g))
            continue;
        ages[out->groups++] = g->age;
        out->ages[MIN(g->age, RH_RL_AGES_MOST)]++;
        out->generation_s += g->t_ended_s - g->t_start_s;
        out->under_way_s += g->t_sent_s - g->t_start_s;
    }
    if (out->groups == 0)
        return;
    size_t count = (size_t)out->groups;
    gsl_sort(ages, 1, count);
    out->age_mean = gsl_stats_mean(ages, 1, count);
    out->age_p99 = gsl_stats_quantile_from_sorted_data(ages, 1, count, 0.99);
    out->generation_s /= out->groups;
    out->under_way_s /= out->groups;
}

static void sum_spans(const Sim *s, RhRlStep *out, double t_begin_s, double t_end_s)
{
    for (guint i = 0; i < s->spans->len; i++) {
        const RhRlSpan *span = &g_array_index(s->spans, RhRlSpan, i);
        double s_inside = fmin(span->t_end_s, t_end_s) - fmax(span->t_begin_s, t_begin_s);
        if (s_inside > 0)
            out->spent_s[span->act] += s_inside / s->spec->steps;
    }
}

/* From the start of a batch to the last reward that it needs, of batches that count. */
static double mean_batch_s(const Sim *s)
{
    double sum_s = 0;
    for (int32_t b = s->spec->warm; b < total_steps(s); b++)
        sum_s += s->batches[b].taken_s;
    return sum_s / s->spec->steps;
}

static void sum_up(Sim *s, RhRlStep *out)
{
    const RhRlStepSpec *spec = s->spec;
    double t_begin_s = s->t_warm_s, t_end_s = s->step_end_s[total_steps(s) - 1];
    turn_to(s, RH_RL_WAITS, s->t_s);
    *out = (RhRlStep){.step_s = (t_end_s - t_begin_s) / spec->steps,
                      .under_way_most = s->under_way_most,
                      .begun = (double)(s->begun_at_end - s->begun_at_warm) / spec->steps,
                      .dropped = (double)(s->dropped_at_end - s->dropped_at_warm) / spec->steps,
                      .spans = g_array_ref(s->spans),
                      .levels = g_array_ref(s->levels),
                      .t_begin_s = t_begin_s,
                      .t_end_s = t_end_s};
    sum_groups(s, out);
    sum_spans(s, out, t_begin_s, t_end_s);
    out->batch_s = spec->placement->streams ? 0 : mean_batch_s(s);
}

static bool check(RhService *service, const RhRequests *requests, GError **error)
{
    int32_t too_long = rh_service_too_long(service, requests);
    return too_long == 0 ||
           rh_fail(error, RH_ERROR_NO_ANSWER,
                   "%d of %u answers are too long for the servers' cache or the model", too_long,
                   requests->list->len);
}

/* Groups that are drawn: those of all steps and of what runs ahead, and where some are dropped as many more as leave no
 * doubt. */
static int32_t groups_needed(const RhRlStepSpec *spec)
{
    const RhRlJob *job = spec->job;
    int32_t batches = spec->warm + spec->steps + (int32_t)ceil(spec->ahead) + 1;
    double each = rh_rl_batch_groups(job), useful_frac = job->useful_frac;
    return useful_frac >= 1
               ? (int32_t)each * batches
               : (int32_t)(each * batches * (1.5 / useful_frac + 4) + 64 / useful_frac);
}

static void draw_useless(Sim *s)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, (unsigned long)(s->spec->job->seed & 0xffffffffU) + SEED_OFFSET);
    for (int32_t i = 0; s->spec->job->useful_frac < 1 && i < s->groups_count; i++)
        s->groups[i].useless = gsl_rng_uniform(rng) >= s->spec->job->useful_frac;
    gsl_rng_free(rng);
}

static void open_sim(Sim *s, const RhRlStepSpec *spec)
{
    int32_t steps = spec->warm + spec->steps;
    s->spec = spec;
    s->groups_count = groups_needed(spec);
    s->events = rh_events_new();
    s->groups = g_new0(Group, s->groups_count);
    s->queue = g_new(int32_t, s->groups_count);
    s->answered = g_new0(bool, (gsize)s->groups_count *(gsize)rh_rl_group_requests(spec->job));
    s->sandbox_s = g_new0(double, MAX(spec->job->sandboxes, 1));
    s->step_end_s = g_new0(double, steps + 1);
    s->batches = g_new0(Batch, s->groups_count / spec->job->prompts + 1);
    s->spans = g_array_new(FALSE, FALSE, sizeof(RhRlSpan));
    s->levels = g_array_new(FALSE, FALSE, sizeof(RhRlLevel));
    draw_useless(s);
}

static void close_sim(Sim *s)
{
    rh_events_free(s->events);
    g_free(s->groups);
    g_free(s->queue);
    g_free(s->answered);
    g_free(s->sandbox_s);
    g_free(s->batches);
    g_free(s->step_end_s);
    g_array_unref(s->spans);
    g_array_unref(s->levels);
}

bool rh_rl_step_simulate(RhService *service, const RhRlStepSpec *spec, RhRlStep *out,
                         GError **error)
{
    Sim s = {0};
    open_sim(&s, spec);
    RhRequestPacer pacer = {.releases = releases,
                            .drops = drops,
                            .ended = ended,
                            .next_s = next_s,
                            .act = act,
                            .paused_until_s = paused_until_s,
                            .over = over,
                            .self = &s};
    RhClient client = {.pacer = &pacer,
                       .timeout_s = spec->timeout_s,
                       .turnaround_s = spec->job->tool_s,
                       .failures = spec->failures};
    g_autoptr(RhRequests) requests = rh_rl_requests(spec->job, s.groups_count);
    g_autoptr(RhServiceResult) result =
        check(service, requests, error) ? rh_service_run(service, requests, &client, error) : NULL;
    bool whole = result && s.steps_done == total_steps(&s);
    if (result && !whole)
        rh_fail(error, RH_ERROR_INTERNAL, "the trainer made %d of %d steps", s.steps_done,
                total_steps(&s));
    if (whole)
        sum_up(&s, out);
    if (whole)
        out->under_way_mean = (s.area_at_end - s.area_at_warm) / (out->step_s * spec->steps);
    close_sim(&s);
    return whole;
}

void rh_rl_step_clear(RhRlStep *step)
{
    g_clear_pointer(&step->spans, g_array_unref);
    g_clear_pointer(&step->levels, g_array_unref);
}

const char *rh_rl_act_name(RhRlAct act)
{
    static const char *const names[RH_RL_ACTS_LAST] = {
        [RH_RL_WAITS] = "waits for answers",
        [RH_RL_LOADS] = "brings states back",
        [RH_RL_TRAINS] = "trains",
        [RH_RL_SENDS] = "sends weights",
    };
    return names[act];
}

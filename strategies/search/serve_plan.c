#include "strategies/search/serve_private.h"

#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "sim/engine/workers.h"
#include "strategies/serve/server.h"

#define LARGE_AT_ONCE 2 /* whatever the jobs: what is tried does not depend on them */

/* Deployments [first, first + count) of the space. */
typedef struct {
    guint first, count;
} Kind;

/* A kind's: what is large waits for the turn in which those are tried that need fewest GPUs. */
typedef struct {
    guint kind;
    bool again;
} Turn;

typedef struct {
    RhServeAsked asked;
    GArray *turns; /* Turn, of the processes that run now */
    GArray *space; /* RhDeployment */
    GArray *kinds; /* Kind */
    RhServePlan *plan;
    GArray *found; /* RhServeFound, by kind */
    RhDeadline deadline;
    int32_t done;
    GError *failed; /* what else than "it does not fit" went wrong; owned */
} Search;

/* By less of its level. */
static bool is_nearer(const RhServeUnkept *a, const RhServeUnkept *b, const RhSlos *slos)
{
    return a->least_s / slos->list[a->level].limit_s < b->least_s / slos->list[b->level].limit_s;
}

static gint highest_first(gconstpointer a, gconstpointer b)
{
    const RhServeBounded *x = a, *y = b;
    double p = x->bound_per_s, q = y->bound_per_s;
    return (p < q) - (p > q) ?: (x->place > y->place) - (x->place < y->place);
}

static int32_t gpus_of_replica(const RhDeployment *d)
{
    return rh_pool_gpus(&d->pools[0]);
}

/* --- One kind, in a child --- */

/* How far from a level this one stays whatever the rate, by the level that it misses most: the least of a kind. */
static void note_unkept(const Search *s, const RhService *service, const RhDeployment *d,
                        RhServeFound *found)
{
    const RhSlos *slos = &s->asked.options->slos;
    RhServeUnkept worst = {.deployment = *d};
    double most = 0, least_s;
    for (int32_t k = 0; k < slos->count; k++) {
        double missed_s = rh_serve_missed_s(service, d, s->asked.serving->server, &s->asked.means,
                                            &slos->list[k], k, &least_s);
        if (missed_s / slos->list[k].limit_s > most) {
            most = missed_s / slos->list[k].limit_s;
            worst.level = k;
            worst.least_s = least_s;
        }
    }
    const RhServeUnkept *known = &found->unkept;
    if (most > 0 && (known->least_s <= 0 || is_nearer(&worst, known, slos)))
        found->unkept = worst;
}

static void note_room(const Search *s, const RhService *service, const RhDeployment *d,
                      RhServeFound *found)
{
    RhServeRoomiest *most = &found->roomiest;
    int64_t tokens = rh_service_room(service, d->pools_count - 1).tokens;
    if (tokens > most->tokens)
        *most = (RhServeRoomiest){.tokens = tokens,
                                  .count = rh_service_too_long(service, s->asked.requests),
                                  .deployment = *d};
}

/* All of a kind that fit (RhServeBounded), highest bound first. */
static GArray *screen(Search *s, Kind kind, RhServeFound *found)
{
    GArray *screened = g_array_new(FALSE, FALSE, sizeof(RhServeBounded));
    for (guint i = kind.first; i < kind.first + kind.count; i++) {
        const RhDeployment *d = &g_array_index(s->space, RhDeployment, i);
        g_autoptr(RhService) service = rh_service_new(s->asked.serving, d, NULL);
        if (!service)
            continue;
        double bound_per_s = rh_serve_bound_per_s(service, d, s->asked.serving->server,
                                                  &s->asked.means, &s->asked.options->slos);
        RhServeBounded entry = {*d, bound_per_s, i};
        found->fit++;
        note_room(s, service, d, found);
        if (bound_per_s > 0)
            g_array_append_val(screened, entry);
        else
            note_unkept(s, service, d, found);
    }
    g_array_sort(screened, highest_first);
    return screened;
}

/* The highest rate of any of them; the first by itself is the best known of those that keep none. */
static void try_rates(Search *s, const GArray *screened, RhServeFound *found)
{
    for (guint i = 0; i < screened->len; i++) {
        const RhServeBounded *next = &g_array_index(screened, RhServeBounded, i);
        rh_serve_try_rate(&s->asked, &next->deployment, next->bound_per_s, found);
    }
    if (!found->there)
        return;
    g_autoptr(RhService) service = rh_service_new(s->asked.serving, &found->best.deployment, NULL);
    found->there = rh_serve_confirm(&s->asked, service, 0, &found->best, found);
}

static GByteArray *perform(int32_t item, void *user, GError **error)
{
    (void)error;
    Search *s = user;
    RhServeFound found = {0};
    const Turn *turn = &g_array_index(s->turns, Turn, item);
    s->asked.hardest = 0;
    g_autoptr(GArray) screened = screen(s, g_array_index(s->kinds, Kind, turn->kind), &found);
    if (screened->len > 0) {
        const RhServeBounded *first = &g_array_index(screened, RhServeBounded, 0);
        found.best = rh_serve_entry_of(&first->deployment, first->bound_per_s);
    }
    double rate = s->asked.options->rate_per_s;
    found.waits = rate > 0 && !turn->again && rh_serve_is_large(&s->asked, screened);
    if (found.waits)
        found.gpus_least = rh_serve_gpus_least(&s->asked, screened);
    if (!found.waits && rate > 0)
        rh_serve_try_size(&s->asked, screened, &found);
    else if (!found.waits)
        try_rates(s, screened, &found);
    GByteArray *bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)&found, sizeof found);
    return bytes;
}

static void answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Search *s = user;
    guint kind = g_array_index(s->turns, Turn, item).kind;
    if (bytes && bytes->len == sizeof(RhServeFound))
        memcpy(&g_array_index(s->found, RhServeFound, kind), bytes->data, sizeof(RhServeFound));
    else if (g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER) &&
             rh_deadline_passed(s->deadline))
        s->plan->timed_out = true;
    else if (!s->failed)
        s->failed = g_error_copy(error);
    s->done += !g_array_index(s->found, RhServeFound, kind).waits;
    if (s->asked.options->progress)
        s->asked.options->progress("simulating", s->done, s->kinds->len, 0, s->asked.options->user);
}

/* --- All --- */

/* Kinds of which one can be at all; what is wrong with the last that cannot. */
static void list_kinds(Search *s)
{
    for (guint i = 0, next; i < s->space->len; i = next) {
        const RhDeployment *d = &g_array_index(s->space, RhDeployment, i);
        if (rh_deadline_passed(s->deadline)) {
            s->plan->timed_out = true;
            return;
        }
        for (next = i + 1; next < s->space->len &&
                           rh_serve_same_kind(d, &g_array_index(s->space, RhDeployment, next));)
            next++;
        g_autoptr(GError) why = NULL;
        g_autoptr(RhService) service = rh_service_new(s->asked.serving, d, &why);
        Kind kind = {i, next - i};
        bool legal = service || g_error_matches(why, RH_ERROR, RH_ERROR_NO_ANSWER);
        s->plan->legal_count += legal ? kind.count : 0;
        if (service) {
            g_array_append_val(s->kinds, kind);
        } else if (legal || !s->plan->why_not) {
            g_free(s->plan->why_not);
            s->plan->why_not = g_strdup(why->message);
        }
    }
}

/* Highest rate first; at one rate (it was given) the fewest GPUs, then the quickest answers. */
static gint best_first(gconstpointer a, gconstpointer b, gpointer user)
{
    const RhServePlanOptions *o = user;
    const RhServeEntry *x = a, *y = b;
    double p = x->rate_per_s, q = y->rate_per_s;
    if (o->rate_per_s > 0) {
        p = -x->gpus;
        q = -y->gpus;
    }
    if (p == q) {
        p = -x->outcome.metrics[RH_METRIC_E2E].mean.value;
        q = -y->outcome.metrics[RH_METRIC_E2E].mean.value;
    }
    return (p < q) - (p > q) ?: gpus_of_replica(&x->deployment) - gpus_of_replica(&y->deployment);
}

/* What a higher rate is paid with: time for each token, or for the answer where it is none. */
static double wait_s(const RhServeEntry *e, bool once)
{
    return e->outcome.metrics[once ? RH_METRIC_E2E : RH_METRIC_TPOT].p50.value;
}

static void mark_pareto(GArray *entries, bool once)
{
    for (guint i = 0; i < entries->len; i++) {
        RhServeEntry *x = &g_array_index(entries, RhServeEntry, i);
        x->pareto = true;
        for (guint k = 0; k < entries->len; k++) {
            const RhServeEntry *y = &g_array_index(entries, RhServeEntry, k);
            double rate = y->rate_per_s / y->gpus - x->rate_per_s / x->gpus;
            double slower = wait_s(y, once) - wait_s(x, once);
            if (k != i && rate >= 0 && slower <= 0 && (rate > 0 || slower < 0))
                x->pareto = false;
        }
    }
}

static void gather(Search *s)
{
    RhServePlan *plan = s->plan;
    for (guint i = 0; i < s->found->len; i++) {
        const RhServeFound *f = &g_array_index(s->found, RhServeFound, i);
        plan->fit_count += f->fit;
        plan->simulated_count += f->simulated;
        plan->runs_count += f->runs;
        plan->larger_count += f->waits;
        if (f->roomiest.tokens > plan->roomiest.tokens)
            plan->roomiest = f->roomiest;
        if (f->there)
            g_array_append_val(plan->entries, f->best);
        else if (f->best.bound_per_s > plan->nearest.bound_per_s)
            plan->nearest = f->best;
        if (f->unkept.least_s > 0 &&
            (plan->unkept.least_s <= 0 ||
             is_nearer(&f->unkept, &plan->unkept, &s->asked.options->slos)))
            plan->unkept = f->unkept;
    }
    plan->roomiest.all = (int32_t)s->asked.requests->list->len;
    for (guint i = 0; i < s->asked.requests->list->len; i++) {
        const RhRequest *r = &g_array_index(s->asked.requests->list, RhRequest, i);
        int64_t tokens = (int64_t)r->input_tokens + r->output_tokens;
        plan->roomiest.longest = MAX(plan->roomiest.longest, tokens);
    }
    g_array_sort_with_data(plan->entries, best_first, (gpointer)s->asked.options);
    mark_pareto(plan->entries, s->asked.means.once);
}

static void run_turns(Search *s)
{
    int32_t jobs = s->asked.options->jobs;
    RhWorkers workers = {.count = (int32_t)s->turns->len,
                         .jobs = jobs > 0 ? jobs : (int32_t)g_get_num_processors(),
                         .timeout_s =
                             s->deadline.t_end_us ? fmax(rh_deadline_left_s(s->deadline), 1e-3) : 0,
                         .perform = perform,
                         .answer = answer,
                         .user = s};
    if (s->turns->len > 0 && !s->failed)
        rh_workers_run(&workers);
}

/* Of those that wait, the ones that need fewest GPUs; at most `gpus_most`. */
static void list_large(Search *s, guint count, double gpus_most)
{
    g_array_set_size(s->turns, 0);
    for (guint k = 0; k < count; k++) {
        const RhServeFound *least = NULL;
        guint which = 0;
        for (guint i = 0; i < s->found->len; i++) {
            RhServeFound *f = &g_array_index(s->found, RhServeFound, i);
            if (f->waits && f->gpus_least <= gpus_most &&
                (!least || f->gpus_least < least->gpus_least)) {
                least = f;
                which = i;
            }
        }
        if (!least)
            return;
        g_array_index(s->found, RhServeFound, which).waits = false;
        g_array_append_val(s->turns, ((Turn){which, true}));
    }
}

/* Large ones are tried a few at a time, until no other can need as few GPUs as the best. */
static void run_large(Search *s)
{
    double gpus_most = HUGE_VAL;
    do {
        list_large(s, LARGE_AT_ONCE, gpus_most);
        run_turns(s);
        for (guint i = 0; i < s->found->len; i++) {
            const RhServeFound *f = &g_array_index(s->found, RhServeFound, i);
            if (f->there)
                gpus_most = fmin(gpus_most, f->best.gpus);
        }
    } while (s->turns->len > 0 && !s->plan->timed_out);
}

static bool run(Search *s, GError **error)
{
    double least = rh_serve_requests_least(&s->asked.options->slos);
    int32_t there = rh_platform_gpus(s->asked.serving->platform);
    if (s->asked.options->gpus > there)
        return rh_fail(error, RH_ERROR_USAGE, "%d GPUs asked for, %s has %d",
                       s->asked.options->gpus, s->asked.serving->platform->name, there);
    if (s->asked.requests->list->len < least)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%u requests do not tell whether the service levels are kept: it takes %.0f",
                       s->asked.requests->list->len, least);
    list_kinds(s);
    if (s->kinds->len == 0 && s->plan->timed_out)
        return true;
    if (s->kinds->len == 0)
        return rh_fail(error, s->plan->legal_count ? RH_ERROR_NO_ANSWER : RH_ERROR_USAGE,
                       "no deployment of %s is possible on %d GPU%s\nnote: the last one: %s",
                       s->asked.serving->model->name, s->asked.options->gpus,
                       s->asked.options->gpus == 1 ? "" : "s",
                       s->plan->why_not ? s->plan->why_not : "none is of this kind");
    g_array_set_size(s->found, s->kinds->len);
    for (guint i = 0; i < s->kinds->len; i++)
        g_array_append_val(s->turns, ((Turn){i, false}));
    run_turns(s);
    run_large(s);
    if (s->failed) {
        g_propagate_error(error, s->failed);
        return false;
    }
    gather(s);
    return true;
}

static void free_requests(gpointer list)
{
    rh_requests_free(list);
}

static GPtrArray *draws_of(const RhRequests *requests, const RhServePlanOptions *options)
{
    GPtrArray *draws = g_ptr_array_new_with_free_func(free_requests);
    for (int32_t k = 1; options->drawn && k <= RH_SERVE_DRAWS; k++)
        g_ptr_array_add(draws, rh_serve_draw(requests, options, k));
    return draws;
}

RhServePlan *rh_serve_plan(const RhServing *serving, const char *server, const RhRequests *requests,
                           const RhServePlanOptions *options, GError **error)
{
    if (!rh_service_takes(serving->model, requests, error))
        return NULL;
    RhDeadline deadline = rh_deadline_in(options->timeout_s);
    g_autoptr(RhServePlan) plan = g_new0(RhServePlan, 1);
    g_autoptr(GArray) space = rh_serve_space(serving, server, options);
    g_autoptr(GPtrArray) draws = draws_of(requests, options);
    g_autoptr(GArray) kinds = g_array_new(FALSE, FALSE, sizeof(Kind));
    g_autoptr(GArray) found = g_array_new(FALSE, TRUE, sizeof(RhServeFound));
    plan->entries = g_array_new(FALSE, FALSE, sizeof(RhServeEntry));
    g_autoptr(GArray) turns = g_array_new(FALSE, FALSE, sizeof(Turn));
    Search s = {.asked = {.serving = serving,
                          .requests = requests,
                          .options = options,
                          .means = rh_serve_means(requests, serving->server, &options->slos),
                          .draws = draws},
                .turns = turns,
                .space = space,
                .kinds = kinds,
                .found = found,
                .plan = plan,
                .deadline = deadline};
    s.asked.means.once = !rh_model_makes_tokens(serving->model);
    return run(&s, error) ? g_steal_pointer(&plan) : NULL;
}

void rh_serve_plan_free(RhServePlan *plan)
{
    if (!plan)
        return;
    g_array_unref(plan->entries);
    g_free(plan->why_not);
    g_free(plan);
}

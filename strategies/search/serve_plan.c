#include "strategies/search/serve_plan.h"

#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "sim/engine/workers.h"
#include "strategies/serve/server.h"

#define RATE_STEP 0.01 /* a rate is found to 1 % */
#define LOWEST    1e-3 /* of the bound: what keeps less keeps nothing */
#define RUNS_MOST 24
#define CHANCE_LEAST                                                                               \
    0.5 /* of a rate that one draw kept surely: where others keep less, it tells nothing */

/* Deployments [first, first + count) of the space. */
typedef struct {
    guint first, count;
} Kind;

typedef struct {
    const RhServing *serving;
    const RhRequests *requests;
    const RhServePlanOptions *options;
    RhServeMeans means;
    GPtrArray
        *draws; /* RhRequests: the others like these, made once for all kinds; none: as recorded */
    GArray *space; /* RhDeployment */
    GArray *kinds; /* Kind */
    RhServePlan *plan;
    GArray *found; /* Found, by kind */
    RhDeadline deadline;
    guint hardest; /* of a kind: the draw that broke a rate last */
    int32_t done;
    GError *failed; /* what else than "it does not fit" went wrong; owned */
} Search;

/* What the child that searches a kind hands back. Plain data; names are interned before the fork. */
typedef struct {
    RhServeEntry best;
    RhServeUnkept unkept;
    RhServeRoomiest roomiest;
    int64_t fit, simulated, runs;
    bool there;
} Found;

typedef struct {
    guint place;
    double bound_per_s;
} Screened;

/* By less of its level. */
static bool is_nearer(const RhServeUnkept *a, const RhServeUnkept *b, const RhSlos *slos)
{
    return a->least_s / slos->list[a->level].limit_s < b->least_s / slos->list[b->level].limit_s;
}

static gint highest_first(gconstpointer a, gconstpointer b)
{
    const Screened *x = a, *y = b;
    return (x->bound_per_s < y->bound_per_s) - (x->bound_per_s > y->bound_per_s)
               ?: (x->place > y->place) - (x->place < y->place);
}

static int32_t gpus_of_replica(const RhDeployment *d)
{
    return rh_pool_gpus(&d->pools[0]);
}

/* --- One kind, in a child --- */

static RhServeEntry entry_of(const RhDeployment *d, double bound_per_s)
{
    return (RhServeEntry){
        .deployment = *d, .bound_per_s = bound_per_s, .binding = -1, .gpus = rh_deployment_gpus(d)};
}

/* The highest rate kept above `least`, to a hundredth; false: none is. */
static bool find_rate(Search *s, RhService *service, double least, RhServeEntry *entry,
                      Found *found)
{
    double low = fmax(least, LOWEST * entry->bound_per_s), high = entry->bound_per_s;
    found->runs++;
    if (!rh_serve_keeps(service, s->requests, s->options, low, entry))
        return false;
    for (int32_t i = 0; i < RUNS_MOST && high > low * (1 + RATE_STEP); i++) {
        /* Bounds are near: the first guesses are, too. */
        double rate = i == 0             ? fmax(low, 0.9 * high)
                      : low < 0.1 * high ? 0.5 * high
                                         : sqrt(low * high);
        rate = fmin(fmax(rate, low * (1 + RATE_STEP / 2)), high);
        found->runs++;
        if (rh_serve_keeps(service, s->requests, s->options, rate, entry))
            low = rate;
        else
            high = rate;
    }
    return true;
}

/* Do other draws keep the rate? Each as many times as it takes: they lower it, by steps, no further than `least`. */
static bool draws_keep(Search *s, RhService *service, double least, RhServeEntry *entry,
                       Found *found)
{
    double rate = entry->rate_per_s;
    for (guint k = 0; k < s->draws->len; k++) {
        const RhRequests *draw = g_ptr_array_index(s->draws, k);
        for (found->runs++; !rh_serve_keeps_too(service, draw, s->options, rate, entry);
             found->runs++) {
            rate /= 1 + RATE_STEP;
            if (rate < least)
                return false;
        }
    }
    if (rate < entry->rate_per_s) {
        rh_serve_settle(service, s->requests, s->options, rate, entry);
        found->runs++;
    }
    return true;
}

/* Do all draws keep a rate? That which broke the last one is asked first: they are of the same random numbers, and
 * what is hard for one deployment is for its neighbours. */
static bool all_keep(Search *s, RhService *service, double rate_per_s, RhServeEntry *entry,
                     Found *found)
{
    for (guint i = 0; i < s->draws->len; i++) {
        guint k = (s->hardest + i) % s->draws->len;
        found->runs++;
        if (!rh_serve_keeps_too(service, g_ptr_array_index(s->draws, k), s->options, rate_per_s,
                                entry)) {
            s->hardest = k;
            return false;
        }
    }
    return true;
}

/* The rate that this one keeps, of other draws too, if it is higher than the best so far. The best by one draw is the
 * luckiest as well: so who would go ahead is asked of all draws, and nobody stands ahead by luck. */
static void try_rate(Search *s, const RhDeployment *d, double bound_per_s, Found *found)
{
    double least = found->there ? found->best.rate_per_s * (1 + RATE_STEP) : 0;
    if (bound_per_s <= least)
        return;
    g_autoptr(RhService) service = rh_service_new(s->serving, d, NULL);
    RhServeEntry entry = entry_of(d, bound_per_s);
    found->simulated++;
    bool kept = service && (least <= 0 || all_keep(s, service, least, &entry, found)) &&
                find_rate(s, service, least, &entry, found);
    if (kept) {
        kept = draws_keep(s, service, fmax(least, CHANCE_LEAST * entry.rate_per_s), &entry, found);
        entry.rate_per_s = kept ? entry.rate_per_s : 0;
    }
    if (kept || (!found->there && found->best.broken_per_s <= 0))
        found->best = entry;
    found->there |= kept;
}

/* Does it keep the rate that was given? */
static void try_given(Search *s, const RhDeployment *d, double bound_per_s, Found *found)
{
    if (found->there || bound_per_s < s->options->rate_per_s)
        return;
    g_autoptr(RhService) service = rh_service_new(s->serving, d, NULL);
    RhServeEntry entry = entry_of(d, bound_per_s);
    found->runs++;
    found->simulated++;
    found->there =
        service &&
        rh_serve_keeps(service, s->requests, s->options, s->options->rate_per_s, &entry) &&
        draws_keep(s, service, s->options->rate_per_s, &entry, found);
    if (found->there || found->best.broken_per_s <= 0)
        found->best = entry;
}

/* The fewest replicas that keep the rate: fewer than the best so far, and no more than there are. */
static void try_replicas(Search *s, const RhDeployment *d, double bound_per_s, Found *found)
{
    double rate = s->options->rate_per_s, each = bound_per_s / d->pools[0].replicas;
    int32_t most =
        found->there ? found->best.deployment.pools[0].replicas - 1 : d->pools[0].replicas;
    RhServeEntry before = {0}; /* with one replica fewer */
    for (double n = fmax(1, ceil(rate / each)); n <= most; n++) {
        RhDeployment tried = *d;
        tried.pools[0].replicas = (int32_t)n;
        g_autoptr(RhService) service = rh_service_new(s->serving, &tried, NULL);
        RhServeEntry entry = entry_of(&tried, each * n);
        found->runs++;
        found->simulated += n <= fmax(1, ceil(rate / each));
        bool kept = service && rh_serve_keeps(service, s->requests, s->options, rate, &entry) &&
                    draws_keep(s, service, rate, &entry, found);
        if (kept && before.broken_per_s > 0) {
            entry.fewer_broke = true;
            entry.binding = before.binding;
            entry.cache_full = before.cache_full;
        }
        before = entry;
        if (kept || (!found->there && found->best.broken_per_s <= 0))
            found->best = entry;
        found->there |= kept;
        if (kept)
            return;
    }
}

/* How far from a level this one stays whatever the rate, by the level that it misses most: the least of a kind. */
static void note_unkept(const Search *s, const RhService *service, const RhDeployment *d,
                        Found *found)
{
    const RhSlos *slos = &s->options->slos;
    RhServeUnkept worst = {.deployment = *d};
    double most = 0, least_s;
    for (int32_t k = 0; k < slos->count; k++) {
        double missed_s = rh_serve_missed_s(service, d, s->serving->server, &s->means,
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
                      Found *found)
{
    RhServeRoomiest *most = &found->roomiest;
    int64_t tokens = rh_service_room(service, d->pools_count - 1).tokens;
    if (tokens > most->tokens)
        *most = (RhServeRoomiest){
            .tokens = tokens, .count = rh_service_too_long(service, s->requests), .deployment = *d};
}

/* All of a kind that fit, highest bound first. */
static GArray *screen(Search *s, Kind kind, Found *found)
{
    GArray *screened = g_array_new(FALSE, FALSE, sizeof(Screened));
    for (guint i = kind.first; i < kind.first + kind.count; i++) {
        const RhDeployment *d = &g_array_index(s->space, RhDeployment, i);
        g_autoptr(RhService) service = rh_service_new(s->serving, d, NULL);
        if (!service)
            continue;
        Screened entry = {
            i, rh_serve_bound_per_s(service, d, s->serving->server, &s->means, &s->options->slos)};
        found->fit++;
        note_room(s, service, d, found);
        if (entry.bound_per_s > 0)
            g_array_append_val(screened, entry);
        else
            note_unkept(s, service, d, found);
    }
    g_array_sort(screened, highest_first);
    return screened;
}

static GByteArray *perform(int32_t item, void *user, GError **error)
{
    (void)error;
    Search *s = user;
    Found found = {0};
    s->hardest = 0;
    g_autoptr(GArray) screened = screen(s, g_array_index(s->kinds, Kind, item), &found);
    if (screened->len > 0) {
        const Screened *first = &g_array_index(screened, Screened, 0);
        found.best =
            entry_of(&g_array_index(s->space, RhDeployment, first->place), first->bound_per_s);
    }
    bool fixed = s->options->rate_per_s > 0;
    for (guint i = 0; i < screened->len; i++) {
        const Screened *next = &g_array_index(screened, Screened, i);
        const RhDeployment *d = &g_array_index(s->space, RhDeployment, next->place);
        (!fixed                ? try_rate
         : d->pools_count == 1 ? try_replicas
                               : try_given)(s, d, next->bound_per_s, &found);
    }
    GByteArray *bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)&found, sizeof found);
    return bytes;
}

static void answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Search *s = user;
    if (bytes && bytes->len == sizeof(Found))
        memcpy(&g_array_index(s->found, Found, item), bytes->data, sizeof(Found));
    else if (g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER) &&
             rh_deadline_passed(s->deadline))
        s->plan->timed_out = true;
    else if (!s->failed)
        s->failed = g_error_copy(error);
    s->done++;
    if (s->options->progress)
        s->options->progress("simulating", s->done, s->kinds->len, 0, s->options->user);
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
        g_autoptr(RhService) service = rh_service_new(s->serving, d, &why);
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
        const Found *f = &g_array_index(s->found, Found, i);
        plan->fit_count += f->fit;
        plan->simulated_count += f->simulated;
        plan->runs_count += f->runs;
        if (f->roomiest.tokens > plan->roomiest.tokens)
            plan->roomiest = f->roomiest;
        if (f->there)
            g_array_append_val(plan->entries, f->best);
        else if (f->best.bound_per_s > plan->nearest.bound_per_s)
            plan->nearest = f->best;
        if (f->unkept.least_s > 0 &&
            (plan->unkept.least_s <= 0 || is_nearer(&f->unkept, &plan->unkept, &s->options->slos)))
            plan->unkept = f->unkept;
    }
    plan->roomiest.all = (int32_t)s->requests->list->len;
    for (guint i = 0; i < s->requests->list->len; i++) {
        const RhRequest *r = &g_array_index(s->requests->list, RhRequest, i);
        int64_t tokens = (int64_t)r->input_tokens + r->output_tokens;
        plan->roomiest.longest = MAX(plan->roomiest.longest, tokens);
    }
    g_array_sort_with_data(plan->entries, best_first, (gpointer)s->options);
    mark_pareto(plan->entries, s->means.once);
}

static bool run(Search *s, GError **error)
{
    double least = rh_serve_requests_least(&s->options->slos);
    int32_t there = rh_platform_gpus(s->serving->platform);
    if (s->options->gpus > there)
        return rh_fail(error, RH_ERROR_USAGE, "%d GPUs asked for, %s has %d", s->options->gpus,
                       s->serving->platform->name, there);
    if (s->requests->list->len < least)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%u requests do not tell whether the service levels are kept: it takes %.0f",
                       s->requests->list->len, least);
    list_kinds(s);
    if (s->kinds->len == 0 && s->plan->timed_out)
        return true;
    if (s->kinds->len == 0)
        return rh_fail(error, s->plan->legal_count ? RH_ERROR_NO_ANSWER : RH_ERROR_USAGE,
                       "no deployment of %s is possible on %d GPU%s\nnote: the last one: %s",
                       s->serving->model->name, s->options->gpus, s->options->gpus == 1 ? "" : "s",
                       s->plan->why_not ? s->plan->why_not : "none is of this kind");
    g_array_set_size(s->found, s->kinds->len);
    int32_t jobs = s->options->jobs > 0 ? s->options->jobs : (int32_t)g_get_num_processors();
    RhWorkers workers = {.count = (int32_t)s->kinds->len,
                         .jobs = jobs,
                         .timeout_s =
                             s->deadline.t_end_us ? fmax(rh_deadline_left_s(s->deadline), 1e-3) : 0,
                         .perform = perform,
                         .answer = answer,
                         .user = s};
    rh_workers_run(&workers);
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
    g_autoptr(GArray) found = g_array_new(FALSE, TRUE, sizeof(Found));
    plan->entries = g_array_new(FALSE, FALSE, sizeof(RhServeEntry));
    Search s = {.serving = serving,
                .requests = requests,
                .options = options,
                .means = rh_serve_means(requests, serving->server, &options->slos),
                .draws = draws,
                .space = space,
                .kinds = kinds,
                .found = found,
                .plan = plan,
                .deadline = deadline};
    s.means.once = !rh_model_makes_tokens(serving->model);
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

#include "strategies/search/services/serve_private.h"

#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/garray_access.h"
#include "base/interned_strings.h"
#include "base/serialize.h"
#include "sim/engine/workers/process_pool.h"
#include "strategies/serve/server_software.h"
#include "strategies/serve/service/router.h"

/* Kinds that are tried before the next are chosen; independent of the number of jobs, which must
 * not change the answer. */
#define SMALL_AT_ONCE 8
#define LARGE_AT_ONCE 2
#define MOST_REPLICAS 8 /* of a service whose highest rate is sought, too */

/* Deployments [first, first + count) of the space, with the results so far. */
typedef struct {
    guint first, count;
    RhServeKindResult found;
    GArray
        *screened; /* RhBoundedDeployment; NULL: not yet listed, or the kind does not wait; owned */
} Kind;

typedef struct {
    RhServeSearch asked;
    GArray *space; /* RhDeployment */
    GArray *kinds; /* Kind */
    GArray *turns; /* guint: kinds in the current run of processes */
    RhServePlan *plan;
    RhDeadline deadline;
    int32_t done;
    GError *failed;                 /* first failure other than "it does not fit"; owned */
    const RhDeployment *impossible; /* the last one in `space` that has no room; NULL: none */
} Search;

static int32_t gpus_of_replica(const RhDeployment *d)
{
    return rh_pool_gpus(&d->pools[0]);
}

/* --- one kind, in a child process --- */

/* Finds the highest rate of any of them. When none keeps the levels, the first is the best
 * known. */
static void try_rates(Search *s, const GArray *screened, RhServeKindResult *found)
{
    for (guint i = 0; i < screened->len; i++) {
        const RhBoundedDeployment *next = &g_array_index(screened, RhBoundedDeployment, i);
        rh_serve_try_rate(&s->asked, &next->deployment, next->bound_per_s, found);
    }
    if (!found->there)
        return;
    g_autoptr(RhService) service = rh_service_new(s->asked.serving, &found->best.deployment, NULL);
    found->there = rh_serve_confirm(&s->asked, service, 0, &found->best, found);
}

static RhServeKindResult try_kind(Search *s, const GArray *screened, RhServeKindResult found)
{
    s->asked.hardest = 0;
    if (s->asked.options->rate_per_s > 0)
        rh_serve_try_size(&s->asked, screened, &found);
    else
        try_rates(s, screened, &found);
    return found;
}

/* --- serialization --- */

/* Packs the names, which are at other addresses in a process of another machine. */
static void pack_names(GByteArray *out, const RhDeployment *d)
{
    rh_pack_text(out, d->server);
    rh_pack_text(out, d->router == rh_routers[0]->name ? NULL : d->router); /* said, or not */
}

static void unpack_names(RhUnpack *in, RhDeployment *d)
{
    g_autofree char *server = rh_unpack_text(in), *router = rh_unpack_text(in);
    d->server = server ? rh_intern(server) : NULL;
    d->router = router ? rh_intern(router) : server ? rh_routers[0]->name : NULL;
}

/* Packs a result and, if it waits, the deployments that fit. */
static GByteArray *pack_found(const RhServeKindResult *found, const GArray *screened)
{
    GByteArray *out = g_byte_array_new();
    rh_pack(out, found, sizeof *found);
    pack_names(out, &found->best.deployment);
    pack_names(out, &found->unkept.deployment);
    pack_names(out, &found->largest_cache.deployment);
    if (!screened)
        return out;
    rh_pack_array(out, screened, sizeof(RhBoundedDeployment));
    for (guint i = 0; i < screened->len; i++)
        pack_names(out, &g_array_index(screened, RhBoundedDeployment, i).deployment);
    return out;
}

static void unpack_found(Kind *kind, const GByteArray *bytes)
{
    RhUnpack in = {bytes->data, bytes->data + bytes->len, true};
    RhServeKindResult *found = &kind->found;
    rh_unpack(&in, found, sizeof *found);
    unpack_names(&in, &found->best.deployment);
    unpack_names(&in, &found->unkept.deployment);
    unpack_names(&in, &found->largest_cache.deployment);
    if (in.at == in.end)
        return;
    kind->screened = g_array_new(FALSE, FALSE, sizeof(RhBoundedDeployment));
    rh_unpack_array(&in, kind->screened, sizeof(RhBoundedDeployment));
    for (guint i = 0; i < kind->screened->len; i++)
        unpack_names(&in, &g_array_index(kind->screened, RhBoundedDeployment, i).deployment);
}

/* --- a kind --- */

/* Result of a kind, followed, if it waits, by its deployments that fit. */
static GByteArray *perform_kind(int32_t item, void *user, GError **error)
{
    (void)error;
    Search *s = user;
    Kind *kind = &g_array_index(s->kinds, Kind, g_array_index(s->turns, guint, item));
    RhServeKindResult found = kind->found;
    g_autoptr(GArray) screened =
        kind->screened
            ? g_array_ref(kind->screened)
            : rh_serve_list_legal(&s->asked, &g_array_index(s->space, RhDeployment, kind->first),
                                  kind->count, kind->first, &found);
    const RhBoundedDeployment *first = RH_ELEMENTS(screened, RhBoundedDeployment);
    if (screened->len > 0)
        found.best = rh_serve_entry_of(&first->deployment, first->bound_per_s);
    found.waits = s->asked.options->rate_per_s > 0 && !kind->screened && screened->len > 0;
    if (found.waits) {
        found.large = rh_serve_is_large(&s->asked, screened);
        found.gpus_least = rh_serve_gpus_least(&s->asked, screened);
    } else {
        found = try_kind(s, screened, found);
    }
    return pack_found(&found, found.waits ? screened : NULL);
}

static void take_answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Search *s = user;
    Kind *kind = &g_array_index(s->kinds, Kind, g_array_index(s->turns, guint, item));
    if (bytes)
        unpack_found(kind, bytes);
    else if (g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER) &&
             rh_deadline_passed(s->deadline))
        s->plan->timed_out = true;
    else if (!s->failed)
        s->failed = g_error_copy(error);
    s->done += !kind->found.waits;
    if (s->asked.options->progress)
        s->asked.options->progress("simulating", s->done, s->kinds->len, 0, s->asked.options->user);
}

/* --- all kinds --- */

/* Adds what would make room on the last impossible deployment; returns false, as the error stays. */
static bool explain_room(const Search *s, GError **error)
{
    rh_service_room(s->asked.serving, s->impossible, error);
    return false;
}

/* Lists kinds with a possible deployment; keeps what is wrong with the last impossible one. */
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
        Kind kind = {.first = i, .count = next - i};
        bool legal = service || g_error_matches(why, RH_ERROR, RH_ERROR_NO_ANSWER);
        s->plan->legal_count += legal ? kind.count : 0;
        if (service) {
            g_array_append_val(s->kinds, kind);
        } else if (legal || !s->plan->why_not) {
            g_free(s->plan->why_not);
            s->plan->why_not = g_strdup(why->message);
            s->impossible = d;
        }
    }
}

/* Orders by rate, highest first; at one (given) rate by GPUs, fewest first, then by speed of
 * answers. */
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

static gint fewest_first(gconstpointer a, gconstpointer b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Time for which a higher rate is traded: per token, or of the answer where it has none. */
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
    for (guint i = 0; i < s->kinds->len; i++) {
        const RhServeKindResult *f = &g_array_index(s->kinds, Kind, i).found;
        plan->fit_count += f->fit;
        plan->simulated_count += f->simulated;
        plan->runs_count += f->runs;
        plan->larger_count += f->waits;
        if (f->gpus_least > 0 && (plan->gpus_least <= 0 || f->gpus_least < plan->gpus_least))
            plan->gpus_least = f->gpus_least;
        if (f->largest_cache.tokens > plan->largest_cache.tokens)
            plan->largest_cache = f->largest_cache;
        if (f->there)
            g_array_append_val(plan->entries, f->best);
        else if (f->best.bound_per_s > plan->nearest.bound_per_s)
            plan->nearest = f->best;
        if (f->unkept.least_s > 0 &&
            (plan->unkept.least_s <= 0 ||
             rh_serve_is_nearer(&f->unkept, &plan->unkept, &s->asked.options->slos)))
            plan->unkept = f->unkept;
    }
    plan->largest_cache.all = (int32_t)s->asked.requests->list->len;
    for (guint i = 0; i < s->asked.requests->list->len; i++) {
        const RhRequest *r = &g_array_index(s->asked.requests->list, RhRequest, i);
        int64_t tokens = (int64_t)r->input_tokens + r->output_tokens;
        plan->largest_cache.longest = MAX(plan->largest_cache.longest, tokens);
    }
    g_array_sort_with_data(plan->entries, best_first, (gpointer)s->asked.options);
    mark_pareto(plan->entries, s->asked.means.once);
}

static void run_turns(Search *s)
{
    int32_t jobs = s->asked.options->jobs;
    RhProcessPool workers = {
        .count = (int32_t)s->turns->len,
        .jobs = jobs > 0 ? jobs : (int32_t)g_get_num_processors(),
        .timeout_s = s->deadline.t_end_us ? fmax(rh_deadline_left_s(s->deadline), 1e-3) : 0,
        .perform = perform_kind,
        .answer = take_answer,
        .of_ranks = true,
        .user = s};
    if (s->turns->len > 0 && !s->failed)
        rh_process_pool_run(&workers);
}

static const RhServeKindResult *found_of(const Search *s, guint kind)
{
    return &g_array_index(s->kinds, Kind, kind).found;
}

/* The waiting kind that needs fewest GPUs by the closed form; -1: none waits. */
static int32_t next_waiting(const Search *s)
{
    int32_t least = -1;
    for (guint i = 0; i < s->kinds->len; i++)
        if (found_of(s, i)->waits &&
            (least < 0 || found_of(s, i)->gpus_least < found_of(s, (guint)least)->gpus_least))
            least = (int32_t)i;
    return least;
}

/* GPUs of the `rows`-th best so far; all GPUs, where fewer kinds keep the rate. */
static double gpus_of_row(const Search *s, int32_t rows)
{
    g_autoptr(GArray) gpus = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (guint i = 0; i < s->kinds->len; i++)
        if (found_of(s, i)->there)
            g_array_append_val(gpus, found_of(s, i)->best.gpus);
    g_array_sort(gpus, fewest_first);
    bool there = rows > 0 && gpus->len >= (guint)rows;
    return there ? g_array_index(gpus, int32_t, rows - 1) : s->asked.options->gpus;
}

/* Tries kinds at a given rate a few at a time, until no remaining one can need as few GPUs as the
 * last row of the answer; or as the first row, where even that takes many replicas. */
static void run_waiting(Search *s)
{
    int32_t first = next_waiting(s);
    bool large = first >= 0 && found_of(s, (guint)first)->large;
    do {
        s->asked.gpus_most = gpus_of_row(s, large ? 1 : s->asked.options->top);
        g_array_set_size(s->turns, 0);
        while (s->turns->len < (large ? LARGE_AT_ONCE : SMALL_AT_ONCE)) {
            int32_t next = next_waiting(s);
            if (next < 0 || found_of(s, (guint)next)->gpus_least > s->asked.gpus_most)
                break;
            g_array_index(s->kinds, Kind, next).found.waits = false;
            g_array_append_val(s->turns, next);
        }
        run_turns(s);
    } while (s->turns->len > 0 && !s->plan->timed_out && !s->failed);
}

/* --- the highest rate of the best --- */

static GByteArray *perform_most(int32_t item, void *user, GError **error)
{
    (void)item, (void)error;
    Search *s = user;
    const RhServeEntry *best = &g_array_index(s->plan->entries, RhServeEntry, 0);
    RhServePlanOptions options = *s->asked.options;
    RhServeSearch asked = s->asked;
    RhServeKindResult found = {0};
    options.rate_per_s = 0;
    asked.options = &options;
    rh_serve_try_rate(&asked, &best->deployment, best->bound_per_s, &found);
    GByteArray *bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)&found, sizeof found);
    return bytes;
}

static void take_most(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    (void)item, (void)error;
    Search *s = user;
    RhServeEntry *best = &g_array_index(s->plan->entries, RhServeEntry, 0);
    RhServeKindResult found;
    if (!bytes || bytes->len < sizeof found)
        return;
    memcpy(&found, bytes->data, sizeof found);
    if (!found.there || found.best.rate_per_s < best->rate_per_s)
        return;
    best->rate_most_per_s = found.best.rate_per_s;
    best->most_binding = found.best.broken_per_s > 0 ? found.best.binding : -1;
}

/* The asked rate may be far below what the best keeps. Of many replicas that is not simulated. */
static void find_most(Search *s)
{
    const RhServePlanOptions *o = s->asked.options;
    const RhServeEntry *best = RH_ELEMENTS(s->plan->entries, RhServeEntry);
    if (!o->most || o->rate_per_s <= 0 || s->plan->entries->len == 0 || s->plan->timed_out ||
        best->part > 0 || best->deployment.pools_count > 1 ||
        best->deployment.pools[0].replicas > MOST_REPLICAS)
        return;
    RhProcessPool workers = {
        .count = 1,
        .jobs = 1,
        .timeout_s = s->deadline.t_end_us ? fmax(rh_deadline_left_s(s->deadline), 1e-3) : 0,
        .perform = perform_most,
        .answer = take_most,
        .user = s};
    if (o->progress)
        o->progress("highest rate of the best", 0, 1, 0, o->user);
    rh_process_pool_run(&workers);
}

static bool run_search(Search *s, GError **error)
{
    double least = rh_serve_requests_least(&s->asked.options->slos);
    int32_t there = rh_platform_gpus(s->asked.serving->platform);
    if (s->asked.options->gpus > there)
        return rh_fail(error, RH_ERROR_USAGE, "%d GPUs asked for, %s has %d",
                       s->asked.options->gpus, s->asked.serving->platform->name, there);
    if (s->asked.requests->list->len < least)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "%u requests are too few to tell whether the service levels hold: it takes %.0f",
            s->asked.requests->list->len, least);
    list_kinds(s);
    if (s->kinds->len == 0 && s->plan->timed_out)
        return true;
    if (s->kinds->len == 0)
        return rh_fail(error, s->plan->legal_count ? RH_ERROR_NO_ANSWER : RH_ERROR_USAGE,
                       "no deployment of %s is possible on %d GPU%s\nnote: the last one: %s",
                       s->asked.serving->model->name, s->asked.options->gpus,
                       s->asked.options->gpus == 1 ? "" : "s",
                       s->plan->why_not ? s->plan->why_not : "none is of this kind") ||
               (s->impossible && explain_room(s, error));
    for (guint i = 0; i < s->kinds->len; i++)
        g_array_append_val(s->turns, i);
    run_turns(s);
    run_waiting(s);
    if (s->failed) {
        g_propagate_error(error, s->failed);
        return false;
    }
    gather(s);
    find_most(s);
    return true;
}

static void clear_kind(gpointer kind)
{
    GArray *screened = ((Kind *)kind)->screened;
    if (screened)
        g_array_unref(screened);
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
    g_array_set_clear_func(kinds, clear_kind);
    plan->entries = g_array_new(FALSE, FALSE, sizeof(RhServeEntry));
    g_autoptr(GArray) turns = g_array_new(FALSE, FALSE, sizeof(guint));
    Search s = {.asked = {.serving = serving,
                          .requests = requests,
                          .options = options,
                          .means = rh_serve_means(requests, serving->server, &options->slos),
                          .gpus_most = options->gpus,
                          .draws = draws},
                .turns = turns,
                .space = space,
                .kinds = kinds,
                .plan = plan,
                .deadline = deadline};
    s.asked.means.once = !rh_model_makes_tokens(serving->model);
    return run_search(&s, error) ? g_steal_pointer(&plan) : NULL;
}

const RhSloAllowance *rh_serve_plan_allowance(const RhServePlan *plan,
                                              const RhServePlanOptions *options)
{
    bool apart = options->mode == RH_SERVE_DISAGGREGATED;
    if (plan && plan->entries->len > 0)
        apart = g_array_index(plan->entries, RhServeEntry, 0).deployment.pools_count > 1;
    return &options->allowances[apart];
}

void rh_serve_plan_free(RhServePlan *plan)
{
    if (!plan)
        return;
    g_array_unref(plan->entries);
    g_free(plan->why_not);
    g_free(plan);
}

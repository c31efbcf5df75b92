#include "strategies/search/rl/rl_plan.h"

#include <math.h>

#include "base/error.h"
#include "strategies/rl/placements/placements.h"

#define SPLITS_MOST 16
#define SPLITS_FEW  7 /* fewer splits by nodes: parts of nodes are tried, too */
#define NEVER_S     1e30

static const double aheads[] = {0.5, 1, 2, 4}; /* of streamed placements */

typedef struct {
    const RhRlPlanOptions *o;
    RhRlPlan *plan;
    RhDeadline deadline;
    GArray *trainers;   /* RhRlTrainer, by GPUs */
    GArray *servers;    /* RhRlServers */
    GArray *candidates; /* RhRlEntry */
} Search;

static void tell(const Search *s, const char *stage, int64_t done, int64_t total)
{
    if (s->o->progress)
        s->o->progress(stage, done, total, 0, NULL);
}

/* --- trainers and servers --- */

static void note_why(RhRlPlan *plan, char *why)
{
    if (why) {
        g_free(plan->why_not);
        plan->why_not = why;
    }
}

static void add_trainer(Search *s, int32_t gpus)
{
    g_autoptr(GError) error = NULL;
    RhRlTrainer trainer;
    if (rh_rl_trainer_find(s->o, &s->plan->tokens, gpus, &trainer, &error))
        g_array_append_val(s->trainers, trainer);
    else
        note_why(s->plan, g_strdup(error->message));
}

static void add_servers(Search *s, int32_t gpus)
{
    char *why = NULL;
    guint before = s->servers->len;
    rh_rl_servers_list(s->o, &s->plan->tokens, gpus, s->servers, &why);
    if (s->servers->len == before)
        note_why(s->plan, why);
    else
        g_free(why);
}

/* GPUs by which splits differ: whole nodes, halves and so on of few nodes, or GPUs of one. */
static int32_t split_unit(int32_t all, int32_t node)
{
    int32_t unit = all > node ? node : 1;
    while (unit % 2 == 0 && all / unit - 1 < SPLITS_FEW)
        unit /= 2;
    return unit;
}

/* Training GPUs of each split, ascending; *step is what they differ by. */
static GArray *splits_of(const RhRlPlanOptions *o, int32_t *step)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(int32_t));
    int32_t all = o->problem->job.gpus, unit = split_unit(all, o->hardware->gpus_per_node);
    int32_t most = (all - 1) / unit; /* servers have one at least */
    int32_t stride = MAX((most + SPLITS_MOST - 1) / SPLITS_MOST, 1);
    *step = o->train_gpus > 0 ? 0 : stride * unit;
    for (int32_t i = stride; o->train_gpus == 0 && i <= most; i += stride) {
        int32_t gpus = i * unit;
        g_array_append_val(out, gpus);
    }
    if (o->train_gpus > 0)
        g_array_append_val(out, o->train_gpus);
    return out;
}

static bool is_asked(const RhRlPlanOptions *o, bool shares_gpus)
{
    return !o->only || o->only->shares_gpus == shares_gpus;
}

static void find_parts(Search *s)
{
    int32_t all = s->o->problem->job.gpus;
    bool apart = is_asked(s->o, false);
    g_autoptr(GArray) splits = splits_of(s->o, &s->plan->split_gpus);
    int64_t total = (apart ? splits->len : 0) + is_asked(s->o, true), done = 0;
    for (guint i = 0; apart && i < splits->len && !rh_deadline_passed(s->deadline); i++) {
        int32_t gpus = g_array_index(splits, int32_t, i);
        tell(s, "training layouts, split", done++, total);
        add_servers(s, all - gpus);
        add_trainer(s, gpus);
    }
    tell(s, "training layouts, split", done, total);
    if (is_asked(s->o, true) && s->o->train_gpus == 0) {
        add_servers(s, all);
        add_trainer(s, all);
    }
    s->plan->trainers_count = s->trainers->len;
    s->plan->servers_count = s->servers->len;
}

/* --- candidates --- */

static void add_candidate(Search *s, const RhRlPlacement *p, double ahead, const RhRlTrainer *t,
                          const RhRlServers *servers)
{
    const RhPool *pool = &servers->deployment.pools[0];
    double under_way = (double)rh_rl_step_samples(s->o->job) * (ahead + 1);
    if (s->o->given.pools[0].batch == 0 && pool->batch > s->o->server->batch &&
        (double)s->o->server->batch * pool->replicas >= under_way)
        return; /* the server's default never binds */
    RhRlEntry entry = {.placement = p, .ahead = ahead, .trainer = *t, .servers = *servers};
    if (rh_rl_entry_settle(s->o, &entry))
        g_array_append_val(s->candidates, entry);
}

static void add_pairs(Search *s, const RhRlPlacement *p, double ahead)
{
    int32_t all = s->o->problem->job.gpus;
    for (guint t = 0; t < s->trainers->len; t++)
        for (guint g = 0; g < s->servers->len; g++) {
            const RhRlTrainer *trainer = &g_array_index(s->trainers, RhRlTrainer, t);
            const RhRlServers *servers = &g_array_index(s->servers, RhRlServers, g);
            int32_t used =
                p->shares_gpus ? MAX(trainer->gpus, servers->gpus) : trainer->gpus + servers->gpus;
            bool whole = !p->shares_gpus || trainer->gpus == servers->gpus;
            if (used == all && whole)
                add_candidate(s, p, ahead, trainer, servers);
        }
}

static void add_placement(Search *s, const RhRlPlacement *p)
{
    double given = s->o->ahead;
    if (!p->streams) {
        add_pairs(s, p, p->ahead_least);
        return;
    }
    for (guint i = 0; i < G_N_ELEMENTS(aheads) && (given == 0 || i == 0); i++)
        add_pairs(s, p, given > 0 ? given : aheads[i]);
}

static int by_bound(const void *a, const void *b)
{
    double x = ((const RhRlEntry *)a)->bound_s, y = ((const RhRlEntry *)b)->bound_s;
    return (x > y) - (x < y);
}

static int by_step(const void *a, const void *b)
{
    const RhRlEntry *x = a, *y = b;
    double s = x->step.step_s, t = y->step.step_s;
    return (s > t) - (s < t);
}

/* --- simulation --- */

static bool same_kind(const RhRlEntry *a, const RhRlEntry *b)
{
    return a->placement == b->placement && a->ahead == b->ahead;
}

/* Leaves out a candidate whose steps have no answer: a later group may be too long for its cache, or
 * time is up. Returns false for any other failure, which it hands on; takes `failure`. */
static bool leave_out(Search *s, GError *failure, GError **error)
{
    if (!g_error_matches(failure, RH_ERROR, RH_ERROR_NO_ANSWER)) {
        g_propagate_error(error, failure);
        return false;
    }
    s->plan->timed_out |= rh_deadline_passed(s->deadline);
    note_why(s->plan, g_strdup(failure->message));
    g_error_free(failure);
    return true;
}

/* Simulates those of one kind, best bound first, until the next bound is above the best step. */
static bool simulate_kind(Search *s, const RhRlEntry *kind, GError **error)
{
    double best_s = NEVER_S;
    for (guint i = 0; i < s->candidates->len; i++) {
        RhRlEntry *e = &g_array_index(s->candidates, RhRlEntry, i);
        if (!same_kind(e, kind))
            continue;
        if (e->bound_s >= best_s) {
            s->plan->bounded_count++;
            continue;
        }
        if (rh_deadline_passed(s->deadline)) {
            s->plan->timed_out = true;
            return true;
        }
        tell(s, "simulating steps", s->plan->simulated_count, s->candidates->len);
        GError *failure = NULL;
        if (!rh_rl_entry_simulate(s->o, e, rh_deadline_left_s(s->deadline), &failure)) {
            if (!leave_out(s, failure, error))
                return false;
            continue;
        }
        s->plan->simulated_count++;
        best_s = fmin(best_s, e->step.step_s);
    }
    return true;
}

static bool simulate(Search *s, GError **error)
{
    g_autoptr(GArray) kinds = g_array_new(FALSE, FALSE, sizeof(RhRlEntry));
    for (guint i = 0; i < s->candidates->len; i++) {
        const RhRlEntry *e = &g_array_index(s->candidates, RhRlEntry, i);
        bool there = false;
        for (guint k = 0; k < kinds->len; k++)
            there |= same_kind(&g_array_index(kinds, RhRlEntry, k), e);
        if (there)
            continue;
        RhRlEntry kind = *e; /* candidates do not move while they are simulated */
        g_array_append_val(kinds, kind);
        if (!simulate_kind(s, &kind, error))
            return false;
    }
    return true;
}

/* --- the answer --- */

/* A row is better if it takes less and its answers are no older. */
static void mark_pareto(GArray *entries)
{
    for (guint i = 0; i < entries->len; i++) {
        RhRlEntry *e = &g_array_index(entries, RhRlEntry, i);
        e->pareto = true;
        for (guint k = 0; k < entries->len; k++) {
            const RhRlEntry *other = &g_array_index(entries, RhRlEntry, k);
            bool as_good =
                other->step.step_s <= e->step.step_s && other->step.age_mean <= e->step.age_mean;
            bool better =
                other->step.step_s < e->step.step_s || other->step.age_mean < e->step.age_mean;
            e->pareto &= !(as_good && better);
        }
    }
}

static void gather(Search *s)
{
    GArray *entries = s->plan->entries;
    double usd = s->o->hardware->price_usd_per_gpu_hour.value;
    for (guint i = 0; i < s->candidates->len; i++) {
        RhRlEntry *e = &g_array_index(s->candidates, RhRlEntry, i);
        if (e->step.step_s <= 0)
            continue;
        e->gpu_hours = e->step.step_s / 3600 * s->o->problem->job.gpus;
        e->usd = e->gpu_hours * usd;
        g_array_append_val(entries, *e);
    }
    g_array_sort(entries, by_step);
    mark_pareto(entries);
}

static bool search(Search *s, GError **error)
{
    find_parts(s);
    for (const RhRlPlacement *const *p = rh_rl_placements(); *p; p++)
        if ((!s->o->only || s->o->only == *p) &&
            !((*p)->streams && s->o->job->begun_frac > 1)) /* groups there are no batch */
            add_placement(s, *p);
    s->plan->candidates_count = s->candidates->len;
    g_array_sort(s->candidates, by_bound);
    if (!simulate(s, error))
        return false;
    gather(s);
    if (s->o->failures && s->plan->entries->len > 0 &&
        !rh_rl_entry_fails(s->o, &g_array_index(s->plan->entries, RhRlEntry, 0),
                           rh_deadline_left_s(s->deadline), &s->plan->failing, error))
        return false;
    return s->plan->entries->len > 0 || s->plan->timed_out ||
           rh_fail(error, RH_ERROR_NO_ANSWER, "nothing fits: %s",
                   s->plan->why_not ? s->plan->why_not : "no split is possible");
}

RhRlPlan *rh_rl_plan(const RhRlPlanOptions *options, GError **error)
{
    g_autoptr(RhRequests) drawn = rh_rl_requests(options->job, rh_rl_batch_groups(options->job));
    rh_rl_keep_first(options->job, drawn);
    g_autoptr(RhRlPlan) plan = g_new0(RhRlPlan, 1);
    plan->tokens = rh_rl_tokens(drawn, rh_rl_update_samples(options->job));
    plan->entries = g_array_new(FALSE, FALSE, sizeof(RhRlEntry));
    Search s = {.o = options,
                .plan = plan,
                .deadline = rh_deadline_in(options->timeout_s),
                .trainers = g_array_new(FALSE, FALSE, sizeof(RhRlTrainer)),
                .servers = g_array_new(FALSE, FALSE, sizeof(RhRlServers)),
                .candidates = g_array_new(FALSE, FALSE, sizeof(RhRlEntry))};
    bool found = search(&s, error);
    bool gathered = plan->entries->len > 0; /* then these are what is cleared */
    for (guint i = 0; !found && !gathered && i < s.candidates->len; i++)
        rh_rl_step_clear(&g_array_index(s.candidates, RhRlEntry, i).step);
    g_array_unref(s.trainers);
    g_array_unref(s.servers);
    g_array_unref(s.candidates);
    return found ? g_steal_pointer(&plan) : NULL;
}

void rh_rl_plan_free(RhRlPlan *plan)
{
    if (!plan)
        return;
    for (guint i = 0; i < plan->entries->len; i++)
        rh_rl_step_clear(&g_array_index(plan->entries, RhRlEntry, i).step);
    g_array_unref(plan->entries);
    g_free(plan->why_not);
    g_free(plan);
}

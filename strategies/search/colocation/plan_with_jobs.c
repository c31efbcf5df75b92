#include "strategies/search/colocation/plan_with_jobs.h"

#include <math.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "strategies/serve/results/service_metrics.h"

/* Range of simulated steps of a job whose neighbour's step is longer: all phases of the longer step
 * are covered. */
#define STEPS_LEAST 2
#define STEPS_MOST  10
/* Maximum factor of K to which the plan is widened, until its last entry alone is slower than the
 * best beside the other jobs. */
#define WIDER_MOST 4

typedef struct {
    const RhProblem *c;
    const RhPlanOptions *o;
    const RhColocatedJobQuestion *ask;
    RhColocatedJob *jobs; /* our own first; owned */
    double longest_s;     /* longest of the others' steps, by their closed forms */
    RhJobPlacement place; /* the first one; owned */
    bool *taken;          /* by node; owned */
    RhDeadline deadline;
    RhColocatedJobPlan *out;
    int64_t done;
} Race;

/* --- results --- */

static void trial_clear(void *data)
{
    RhColocatedJobTrial *t = data;
    g_free(t->nodes);
    rh_colocated_jobs_free(t->met);
}

static GArray *trials_new(void)
{
    GArray *trials = g_array_new(FALSE, TRUE, sizeof(RhColocatedJobTrial));
    g_array_set_clear_func(trials, trial_clear);
    return trials;
}

double rh_colocated_job_alone_s(const RhColocatedJobTrial *t)
{
    return RH_AT(t->met->jobs, RhColocatedJobAnswer, 0)->alone->step_time_s;
}

double rh_colocated_job_step_s(const RhColocatedJobTrial *t)
{
    return RH_AT(t->met->jobs, RhColocatedJobAnswer, 0)->beside->step_time_s;
}

static double mean_request_s(const RhServiceResult *result)
{
    RhSlos none = {0};
    return rh_service_metrics(result, &none).metrics[RH_METRIC_E2E].mean.value;
}

double rh_colocated_job_cost_frac(const RhColocatedJobTrial *t, uint32_t job)
{
    double frac;
    if (job < t->met->jobs->len) {
        const RhColocatedJobAnswer *a = RH_AT(t->met->jobs, RhColocatedJobAnswer, job);
        frac = a->beside->step_time_s / a->alone->step_time_s - 1;
    } else {
        frac = mean_request_s(t->met->service_beside) / mean_request_s(t->met->service_alone) - 1;
    }
    return fabs(frac) < 1e-9 ? 0 : frac;
}

const RhColocatedJobTrial *rh_colocated_job_best_place(const RhColocatedJobPlan *b)
{
    const RhColocatedJobTrial *best = RH_AT(b->layouts, RhColocatedJobTrial, 0);
    for (guint i = 0; i < b->places->len; i++)
        if (rh_colocated_job_step_s(RH_AT(b->places, RhColocatedJobTrial, i)) <
            rh_colocated_job_step_s(best) * (1 - 1e-9))
            best = RH_AT(b->places, RhColocatedJobTrial, i);
    return best;
}

/* --- one layout in one placement --- */

static int32_t steps_within(double step_s, double span_s)
{
    double steps = step_s > 0 ? ceil(span_s / step_s) : STEPS_LEAST;
    return (int32_t)CLAMP(steps, STEPS_LEAST, STEPS_MOST);
}

/* Sets numbers of steps so that each job covers a step of every other one. */
static void set_steps(Race *race, const RhRehearsal *entry)
{
    race->jobs[0].steps = steps_within(entry->step_time_s, race->longest_s);
    for (int32_t i = 0; i < race->ask->others_count; i++) {
        const RhColocatedJob *other = &race->ask->others[i];
        g_autoptr(RhRehearsal) quick = rh_rehearse_quick(other->c, &other->layout);
        race->jobs[1 + i].steps =
            MAX(other->steps, steps_within(quick->step_time_s, entry->step_time_s));
    }
}

static bool try_one(Race *race, const RhPlan *plan, uint32_t entry, const RhJobPlacement *place,
                    GArray *into, GError **error)
{
    const RhRehearsal *r = g_ptr_array_index(plan->entries, entry);
    race->jobs[0].layout = r->layout;
    race->jobs[0].nodes = place->nodes;
    race->jobs[0].nodes_count = place->count;
    set_steps(race, r);
    if (race->o->progress)
        race->o->progress("beside", race->done, race->done + 1, 0, race->o->user);
    race->done++;
    double left_s = rh_deadline_left_s(race->deadline);
    RhEngineOptions options = {.timeout_s = isfinite(left_s) ? fmax(left_s, 1e-3) : 0};
    RhColocatedJobTrial t = {.about = place->about, .nodes_count = place->count, .entry = entry};
    t.met = rh_colocated_jobs_rehearse(race->jobs, race->ask->others_count + 1, race->ask->service,
                                       &options, race->ask->processes, error);
    if (!t.met)
        return false;
    t.nodes = g_memdup2(place->nodes, (gsize)place->count * sizeof *place->nodes);
    g_array_append_val(into, t);
    return true;
}

static int by_step_beside(const void *a, const void *b)
{
    double x = rh_colocated_job_step_s(a), y = rh_colocated_job_step_s(b);
    uint32_t i = ((const RhColocatedJobTrial *)a)->entry,
             j = ((const RhColocatedJobTrial *)b)->entry;
    return x != y ? (x > y) - (x < y) : (i > j) - (i < j);
}

/* --- the search --- */

/* Longest step alone with which a layout can be better beside the others than the best by more than
 * the gap. */
static double worth_s(const Race *race)
{
    const GArray *t = race->out->layouts;
    return t->len
               ? rh_colocated_job_step_s(RH_AT(t, RhColocatedJobTrial, 0)) * (1 - race->o->gap_frac)
               : (double)INFINITY;
}

/* Did the rehearsal fail for lack of time? It is given up within a few milliseconds of its
 * limit. */
static bool is_late(const Race *race, const GError *error)
{
    return rh_deadline_left_s(race->deadline) < 0.05 &&
           g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER);
}

/* Ends the search when time runs out after the first layout; the answer is what was found. */
static bool stop_if_late(const Race *race, RhPlan *plan, GError **local, GError **error)
{
    if (race->out->layouts->len > 0 && g_error_matches(*local, RH_ERROR, RH_ERROR_NO_ANSWER)) {
        g_clear_error(local);
        plan->timed_out = true;
        return true;
    }
    if (is_late(race, *local)) {
        g_clear_error(local);
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "the time limit came before a layout was simulated beside the other jobs");
    }
    g_propagate_error(error, g_steal_pointer(local));
    return false;
}

/* Tries the first K entries, and all later ones that could still win. The plan ends before its time
 * is up, so that some is left for the first of its entries. */
static bool try_layouts(Race *race, RhPlan *plan, GError **error)
{
    GArray *trials = race->out->layouts;
    for (uint32_t i = 0; i < plan->entries->len && (i == 0 || !plan->timed_out); i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        GError *local = NULL;
        if (i >= (uint32_t)race->o->top && r->step_time_s >= worth_s(race))
            break;
        if (!try_one(race, plan, i, &race->place, trials, &local) &&
            !stop_if_late(race, plan, &local, error))
            return false;
        g_array_sort(trials, by_step_beside);
    }
    return true;
}

/* Least step alone of layouts that were not rehearsed beside the others. */
static double least_left_s(const Race *race, const RhPlan *plan)
{
    double least = plan->proof_bound_s;
    uint32_t tried = race->out->layouts->len;
    if (tried < plan->entries->len)
        least = fmin(least,
                     ((const RhRehearsal *)g_ptr_array_index(plan->entries, tried))->step_time_s);
    return least;
}

/* Makes a plan of `top` entries and tries its layouts. NULL where time ran out before the first
 * one, with *late, or where it failed. */
static RhPlan *race_round(Race *race, const RhPlanOptions *options, bool *late, GError **error)
{
    RhPlanOptions o = *options;
    double left_s = rh_deadline_left_s(race->deadline);
    o.timeout_s = isfinite(left_s) ? fmax(left_s, 1e-3) : 0;
    GError *local = NULL;
    g_autoptr(RhPlan) plan = rh_plan(race->c, &o, &local);
    bool tried = plan && (plan->entries->len == 0 || try_layouts(race, plan, &local));
    *late = plan && tried ? plan->entries->len == 0 && plan->timed_out : is_late(race, local);
    if (local)
        g_propagate_error(error, local);
    return tried ? g_steal_pointer(&plan) : NULL;
}

/* Plans for more and more entries, until the remaining ones cannot win. The result of a round
 * stands where time runs out in the next. */
static RhPlan *race_layouts(Race *race, GError **error)
{
    RhPlanOptions o = *race->o;
    g_autoptr(RhPlan) before = NULL;
    for (;;) {
        g_autoptr(GArray) trials_before = g_steal_pointer(&race->out->layouts);
        race->out->layouts = trials_new();
        GError *local = NULL;
        bool late = false;
        g_autoptr(RhPlan) plan = race_round(race, &o, &late, &local);
        if (before && late) {
            g_clear_error(&local);
            g_array_unref(race->out->layouts);
            race->out->layouts = g_steal_pointer(&trials_before);
            before->timed_out = true;
            return g_steal_pointer(&before);
        }
        if (!plan)
            g_propagate_error(error, local);
        if (!plan || plan->entries->len == 0)
            return g_steal_pointer(&plan);
        race->out->proof_bound_s = least_left_s(race, plan);
        bool enough = race->out->proof_bound_s >= worth_s(race);
        race->out->proved = enough && plan->proved && !race->out->elsewhere;
        if (enough || !plan->proved || plan->timed_out || (int32_t)plan->entries->len < o.top ||
            o.top >= WIDER_MOST * race->o->top)
            return g_steal_pointer(&plan);
        rh_plan_free(before);
        before = g_steal_pointer(&plan);
        o.top *= 2;
    }
}

/* Moves the entry to just after the first K. */
static void move_behind(RhPlan *plan, uint32_t entry, uint32_t rows)
{
    g_ptr_array_insert(plan->entries, (int)rows, g_ptr_array_steal_index(plan->entries, entry));
    if (entry < plan->variants->len) {
        RhPlanVariants v = *RH_AT(plan->variants, RhPlanVariants, entry);
        g_array_remove_index(plan->variants, entry);
        g_array_insert_val(plan->variants, rows, v);
    }
}

/* Keeps as many rows as were asked for, and the winner where it is none of them. */
static void keep_rows(Race *race, RhPlan *plan)
{
    GArray *trials = race->out->layouts;
    uint32_t rows = (uint32_t)race->o->top;
    RhColocatedJobTrial *winner = RH_AT(trials, RhColocatedJobTrial, 0);
    race->out->tried = (int32_t)trials->len;
    race->out->alone_rank = (int32_t)winner->entry + 1;
    if (plan->entries->len <= rows)
        return;
    for (guint i = trials->len; i-- > 1;)
        if (RH_AT(trials, RhColocatedJobTrial, i)->entry >= rows)
            g_array_remove_index(trials, i);
    winner = RH_AT(trials, RhColocatedJobTrial, 0);
    if (winner->entry >= rows) {
        move_behind(plan, winner->entry, rows);
        winner->entry = rows++;
    }
    g_ptr_array_set_size(plan->entries, (int)rows);
    if (plan->variants->len > rows)
        g_array_set_size(plan->variants, rows);
}

/* Tries placements that avoid the other jobs, where the layout that is best alone may be the best
 * again. */
static bool try_places(Race *race, RhPlan *plan, GError **error)
{
    uint32_t winner = RH_AT(race->out->layouts, RhColocatedJobTrial, 0)->entry;
    g_autoptr(GArray) places =
        rh_placements(race->c->platform, race->place.count, race->taken, &race->place);
    for (guint i = 1; i < places->len && !plan->timed_out; i++) {
        const RhJobPlacement *place = RH_AT(places, RhJobPlacement, i);
        GError *local = NULL;
        if ((!try_one(race, plan, winner, place, race->out->places, &local) ||
             (winner > 0 && !try_one(race, plan, 0, place, race->out->places, &local))) &&
            !stop_if_late(race, plan, &local, error))
            return false;
    }
    return true;
}

/* --- placements of the jobs --- */

static void mark_taken(Race *race, const int32_t *nodes, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        race->taken[nodes[i]] = true;
}

static bool settle_place(Race *race, GError **error)
{
    const RhPlatform *p = race->c->platform;
    const RhColocatedJobQuestion *ask = race->ask;
    race->taken = g_new0(bool, p->nodes_count + 1);
    for (int32_t i = 0; i < ask->others_count; i++)
        mark_taken(race, ask->others[i].nodes, ask->others[i].nodes_count);
    if (ask->service)
        mark_taken(race, ask->service->nodes, ask->service->nodes_count);
    int32_t needed = (race->c->job.gpus + p->gpus_per_node - 1) / p->gpus_per_node, left = 0;
    for (int32_t n = 0; n < p->nodes_count; n++)
        left += !race->taken[n];
    if (ask->place) {
        race->place = *ask->place;
        race->place.nodes =
            g_memdup2(ask->place->nodes, (gsize)ask->place->count * sizeof(int32_t));
    } else if (!rh_placement_first(p, needed, race->taken, &race->place)) {
        return rh_fail(error, RH_ERROR_USAGE,
                       "the job's %d GPUs need %d nodes, and beside the neighbours %d of %d are "
                       "free\nhelp: %d GPUs at most",
                       race->c->job.gpus, needed, left, p->nodes_count, left * p->gpus_per_node);
    }
    race->out->all_taken = left == needed;
    race->out->elsewhere = !rh_placement_like_first(p, &race->place);
    return true;
}

static void settle_jobs(Race *race)
{
    const RhColocatedJobQuestion *ask = race->ask;
    race->jobs = g_new0(RhColocatedJob, ask->others_count + 1);
    race->jobs[0] = (RhColocatedJob){.name = "this job", .c = race->c};
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (int32_t i = 0; i < ask->others_count; i++) {
        const RhColocatedJob *other = &ask->others[i];
        g_autoptr(RhRehearsal) quick = rh_rehearse_quick(other->c, &other->layout);
        race->longest_s = fmax(race->longest_s, quick->step_time_s);
        race->jobs[1 + i] = *other;
        g_ptr_array_add(names, g_strdup(other->name));
    }
    if (ask->service)
        g_ptr_array_add(names, g_strdup(ask->service->name));
    g_ptr_array_add(names, NULL);
    race->out->names = (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

static RhPlan *answer(Race *race, GError **error)
{
    if (!settle_place(race, error))
        return NULL;
    settle_jobs(race);
    g_autoptr(RhPlan) plan = race_layouts(race, error);
    if (!plan || plan->entries->len == 0)
        return g_steal_pointer(&plan);
    keep_rows(race, plan);
    if (!try_places(race, plan, error))
        return NULL;
    plan->beside = g_steal_pointer(&race->out);
    return g_steal_pointer(&plan);
}

RhPlan *rh_plan_with_jobs(const RhProblem *c, const RhPlanOptions *options,
                          const RhColocatedJobQuestion *ask, GError **error)
{
    RhColocatedJobPlan *out = g_new0(RhColocatedJobPlan, 1);
    out->layouts = trials_new();
    out->places = trials_new();
    Race race = {.c = c,
                 .o = options,
                 .ask = ask,
                 .deadline = rh_deadline_in(options->timeout_s),
                 .out = out};
    RhPlan *plan = answer(&race, error);
    rh_colocated_job_plan_free(race.out);
    g_free(race.jobs);
    g_free(race.place.nodes);
    g_free(race.taken);
    return plan;
}

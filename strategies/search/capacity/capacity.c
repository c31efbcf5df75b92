#include "strategies/search/capacity/capacity.h"

#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "strategies/run/run_estimate.h"
#include "strategies/search/error_bar_key.h"
#include "strategies/search/plan_answer.h"

#define SAME_STEPS 1e-9 /* relative: rounding error up to which a number of steps is whole */
#define J_PER_KWH  3.6e6
#define DAY_S      86400.0

/* Largest multiple, at most `most`, of the GPUs, or of a half, a quarter and so on of them: of the
 * first of these with a multiple of at least `enough`. 0: there is none. */
static int64_t even_batch(int64_t enough, int64_t most, int32_t gpus)
{
    for (int64_t unit = gpus; unit >= 1; unit = unit % 2 == 0 ? unit / 2 : 0)
        if (most / unit * unit >= enough)
            return most / unit * unit;
    return 0;
}

int32_t rh_capacity_batches(int64_t least, int64_t most, int32_t gpus,
                            int64_t batches[RH_CAPACITY_BATCHES_MAX])
{
    int64_t tried[] = {even_batch(least, most, gpus),
                       even_batch(MAX(least, most - most / 8), most, gpus), most};
    int32_t count = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(tried); i++)
        if (tried[i] > (count > 0 ? batches[count - 1] : 0))
            batches[count++] = tried[i];
    return count;
}

/* --- one cell --- */

static double allowed_frac(const RhProblem *c, const RhRehearsal *r)
{
    RhEvidenceKey like = rh_evidence_key_of(c);
    return r->bar ? r->error_frac : rh_record_widest_frac(rh_record_shipped(), like.kind);
}

/* Steps that date and budget allow; 0: not one, or the price of a step is not known. */
static double affordable(const RhCapacityTarget *goal, double allowed, double step_s,
                         double step_usd)
{
    double steps = (double)INFINITY;
    if (goal->by_s > 0)
        steps = goal->by_s / rh_upper_end(step_s, allowed);
    if (goal->budget_usd > 0)
        steps = fmin(steps, step_usd > 0 ? goal->budget_usd / rh_upper_end(step_usd, allowed) : 0);
    return isfinite(steps) ? floor(steps * (1 + SAME_STEPS)) : 0;
}

/* Share of the run's time that its steps are, where `seconds` of steps are to be done; 1: failures are not
 * counted. A job so large that it makes no progress has a share of next to nothing. */
static double goodput_frac(const RhCapacityTarget *goal, const RhProblem *c, double seconds)
{
    if (!goal->failures || seconds <= DAY_S)
        return 1;
    return fmax(rh_run_estimate_frac(c, goal->failures), 1e-6);
}

static void account(const RhCapacityTarget *goal, RhCapacityCell *cell)
{
    const RhRehearsal *r = cell->r;
    double step_tokens = r->tokens_per_s_per_gpu * cell->c.job.gpus * r->step_time_s;
    double electricity_usd = r->energy.total_j / J_PER_KWH * goal->usd_per_kwh;
    bool drawn = goal->usd_per_kwh <= 0 || electricity_usd > 0;
    double usd = drawn ? r->cost_usd + electricity_usd : 0;
    cell->allowed_frac = goal->as_predicted ? 0 : allowed_frac(&cell->c, r);
    double steps = goal->tokens > 0 ? ceil(goal->tokens / step_tokens * (1 - SAME_STEPS))
                                    : affordable(goal, cell->allowed_frac, r->step_time_s, usd);
    double good = goodput_frac(goal, &cell->c, steps * r->step_time_s);
    if (goal->tokens <= 0)
        steps = floor(steps * good);
    cell->tokens = goal->tokens > 0 ? goal->tokens : steps * step_tokens;
    cell->goodput_frac = good;
    cell->seconds = steps * r->step_time_s / good;
    cell->usd = usd * steps / good;
    cell->electricity_usd = electricity_usd * steps / good;
    cell->energy_j = r->energy.total_j * steps / good;
}

/* Keeps the better of the cell's and the plan's best, by tokens per second; flags of the plan hold
 * for the cell. A plan without an answer, though layouts fit, has nothing faster. */
static void keep_best(RhCapacityCell *cell, const RhProblem *c, RhPlan *plan)
{
    cell->timed_out |= plan->timed_out;
    cell->lost_may_win |= plan->lost_may_win;
    cell->proved &= plan->proved;
    if (plan->entries->len == 0 && (plan->timed_out || plan->fit_count == 0)) {
        cell->too_large |= !plan->timed_out;
        if (!cell->r && !cell->why)
            cell->why = g_strdup(plan->timed_out ? "time was up" : "nothing fits in memory");
        return;
    }
    const RhRehearsal *r = plan->entries->len > 0 ? g_ptr_array_index(plan->entries, 0) : NULL;
    if (!r || (cell->r && cell->r->tokens_per_s_per_gpu >= r->tokens_per_s_per_gpu))
        return;
    rh_rehearsal_free(cell->r);
    g_clear_pointer(&cell->why, g_free);
    cell->r = g_ptr_array_steal_index(plan->entries, 0);
    cell->c = *c;
}

/* Marks that one batch of a cell was left out for lack of time. */
static void cut_short(RhCapacityCell *cell)
{
    cell->timed_out = true;
    cell->proved = false;
    if (!cell->r && !cell->why)
        cell->why = g_strdup("time was up");
}

/* Longest step of the batch that is an improvement on the cell's; 0: any. */
static double worth_s(const RhCapacityCell *cell, int64_t batch, double gap_frac)
{
    double samples = cell->r ? (double)batch / (double)cell->c.job.global_batch : 0;
    return samples > 0 ? cell->r->step_time_s * samples * (1 - gap_frac) : 0;
}

/* First line of a message: "48 does not ..." of "48 does not ...\nnote: ...". */
static char *first_line(const char *message)
{
    return g_strndup(message, strcspn(message, "\n"));
}

/* Rest of the target's time until `deadline`; 0: without limit. */
static double left_s(const RhCapacityTarget *goal, RhDeadline deadline)
{
    return goal->timeout_s > 0 ? fmax(rh_deadline_left_s(deadline), 1e-3) : 0;
}

/* Simulates the chosen batch's layout in full, as a plan does with its entries. */
static bool perform_best(RhCapacityCell *cell, const RhPlanOptions *options, GError **error)
{
    g_autoptr(RhPlan) shown = rh_plan_new();
    shown->proved = cell->proved;
    g_ptr_array_add(shown->entries, g_steal_pointer(&cell->r));
    if (!rh_plan_perform(&cell->c, options, shown, error))
        return false;
    cell->r = g_ptr_array_steal_index(shown->entries, 0);
    cell->proved = shown->proved;
    cell->timed_out |= shown->timed_out;
    return true;
}

bool rh_capacity_plan(const RhCapacityQuestion *asked, const RhCapacityTarget *goal,
                      RhCapacityCell *out, GError **error)
{
    const RhProblem *c = asked->c;
    int64_t batches[RH_CAPACITY_BATCHES_MAX];
    int32_t count =
        rh_capacity_batches(asked->batch_least, asked->batch_most, c->job.gpus, batches);
    RhCapacityCell cell = {.c = *c,
                           .batch_least = asked->batch_least,
                           .batch_most = asked->batch_most,
                           .proved = true};
    RhDeadline deadline = rh_deadline_in(goal->timeout_s);
    g_autoptr(RhBoundCache) kept = NULL;
    RhPlanOptions options = {.top = 1,
                             .kept = &kept,
                             .best_alone = true,
                             .unperformed = true,
                             .gap_frac = goal->gap_frac,
                             .risk_frac = goal->risk_frac,
                             .jobs = goal->jobs,
                             .progress = goal->progress};
    for (int32_t i = count - 1; i >= 0; i--) { /* the largest is most often the best */
        RhProblem tried = *c;
        tried.job.global_batch = batches[i];
        g_autoptr(GError) inner = NULL;
        if (rh_deadline_passed(deadline)) {
            cut_short(&cell);
            break;
        }
        options.timeout_s = left_s(goal, deadline);
        options.worth_s = worth_s(&cell, batches[i], goal->gap_frac);
        g_autoptr(RhPlan) plan = rh_plan(&tried, &options, &inner);
        if (plan) {
            keep_best(&cell, &tried, plan);
        } else if (!g_error_matches(inner, RH_ERROR, RH_ERROR_USAGE)) {
            g_propagate_error(error, g_steal_pointer(&inner));
            rh_capacity_cell_clear(&cell);
            return false;
        } else if (!cell.r && !cell.why) {
            cell.why = first_line(inner->message);
        }
    }
    options.timeout_s = left_s(goal, deadline);
    if (cell.r && !rh_deadline_passed(deadline) && !perform_best(&cell, &options, error)) {
        rh_capacity_cell_clear(&cell);
        return false;
    }
    if (cell.r)
        account(goal, &cell);
    *out = cell;
    return true;
}

void rh_capacity_cell_clear(RhCapacityCell *cell)
{
    rh_rehearsal_free(cell->r);
    g_free(cell->why);
    cell->r = NULL;
    cell->why = NULL;
}

/* --- all cells --- */

static RhCapacityCell *at(const GArray *cells, guint i)
{
    return &((RhCapacityCell *)(void *)cells->data)[i];
}

void rh_capacity_batches_asked(const GArray *cells, int64_t *least, int64_t *most)
{
    *least = G_MAXINT64;
    *most = 0;
    for (guint i = 0; i < cells->len; i++) {
        *least = MIN(*least, at(cells, i)->batch_least);
        *most = MAX(*most, at(cells, i)->batch_most);
    }
}

bool rh_capacity_priced(const GArray *cells)
{
    bool any = false;
    for (guint i = 0; i < cells->len; i++) {
        if (at(cells, i)->r && at(cells, i)->usd <= 0)
            return false;
        any |= at(cells, i)->r != NULL;
    }
    return any;
}

/* Price of a cell in money or, where that is not known of all, GPU-seconds. */
static double price_of(const RhCapacityCell *cell, bool priced)
{
    return priced ? cell->usd : cell->seconds * cell->c.job.gpus;
}

typedef enum { BY_MONEY, BY_TIME, BY_TOKENS } Key;

/* Index of the cell with the lowest key (for tokens the highest), among those with a layout; of
 * equals the sooner one. */
static int32_t least_cell(const GArray *cells, Key by, bool meets_target)
{
    bool priced = rh_capacity_priced(cells);
    int32_t best = -1;
    double best_key = 0;
    for (guint i = 0; i < cells->len; i++) {
        const RhCapacityCell *cell = at(cells, i);
        if (!cell->r || (meets_target && !cell->meets))
            continue;
        double key = by == BY_TIME     ? cell->seconds
                     : by == BY_TOKENS ? -cell->tokens
                                       : price_of(cell, priced);
        bool sooner = best >= 0 && key == best_key && cell->seconds < at(cells, best)->seconds;
        if (best < 0 || key < best_key || sooner) {
            best = (int32_t)i;
            best_key = key;
        }
    }
    return best;
}

int32_t rh_capacity_soonest(const GArray *cells)
{
    return least_cell(cells, BY_TIME, false);
}

int32_t rh_capacity_cheapest(const GArray *cells)
{
    return least_cell(cells, BY_MONEY, false);
}

/* Is `a` as good as `b` in tokens, time, money and energy, and better in one? A figure that one of
 * the two does not have is ignored. */
static bool dominates(const RhCapacityCell *a, const RhCapacityCell *b, bool priced)
{
    bool energies = a->energy_j > 0 && b->energy_j > 0;
    double less[] = {b->seconds - a->seconds, price_of(b, priced) - price_of(a, priced),
                     energies ? b->energy_j - a->energy_j : 0, a->tokens - b->tokens};
    bool better = false;
    for (size_t i = 0; i < G_N_ELEMENTS(less); i++) {
        if (less[i] < 0)
            return false;
        better |= less[i] > 0;
    }
    return better;
}

static void mark_front(GArray *cells, bool priced)
{
    for (guint i = 0; i < cells->len; i++) {
        RhCapacityCell *cell = at(cells, i);
        cell->pareto = cell->r != NULL;
        for (guint k = 0; k < cells->len && cell->pareto; k++)
            cell->pareto = !at(cells, k)->r || !dominates(at(cells, k), cell, priced);
    }
}

int32_t rh_capacity_judge(const RhCapacityTarget *goal, GArray *cells)
{
    const RhCapacityCell *smallest = NULL;
    for (guint i = 0; i < cells->len; i++) {
        RhCapacityCell *cell = at(cells, i);
        if (!cell->r)
            continue;
        if (!smallest || smallest->series != cell->series)
            smallest = cell;
        cell->efficiency_frac = cell->r->tokens_per_s_per_gpu / smallest->r->tokens_per_s_per_gpu;
        double seconds = rh_upper_end(cell->seconds, cell->allowed_frac);
        double usd = rh_upper_end(cell->usd, cell->allowed_frac);
        bool in_time = goal->by_s <= 0 || seconds <= goal->by_s;
        bool within = goal->budget_usd <= 0 || (usd > 0 && usd <= goal->budget_usd);
        cell->meets = goal->tokens > 0 ? in_time && within : cell->seconds > 0;
    }
    mark_front(cells, rh_capacity_priced(cells));
    bool soonest = goal->budget_usd > 0 && goal->by_s <= 0;
    return least_cell(cells, goal->tokens <= 0 ? BY_TOKENS : soonest ? BY_TIME : BY_MONEY, true);
}

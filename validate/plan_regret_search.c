#include "validate/plan_regret_search.h"

#include "strategies/framework_rules.h"
#include "strategies/search/bounds/bound_cache.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "strategies/train/recompute_fewest_layers.h"

/* Gain that chunks of unlike size must have to be a row (docs/theory/search.md). */
#define RH_REGRET_UNEVEN_FRAC 0.01

typedef struct {
    RhLayout layout;
    double bound_s; /* lower bound of its step */
} Candidate;

void rh_regret_clear(RhRegret *r)
{
    g_clear_pointer(&r->cache, rh_bound_free);
    g_clear_pointer(&r->seen, g_hash_table_unref);
    g_clear_pointer(&r->layouts, g_array_unref);
}

/* Returns the step time of a rehearsal as a search performs it; 0: it fails. */
static double step_of_s(const RhProblem *c, const RhLayout *l)
{
    RhEngineOptions options = {0};
    g_autoptr(RhRehearsal) r = rh_rehearse(c, l, &options, NULL, NULL, NULL);
    return r ? r->step_time_s : 0;
}

RhRegret rh_regret_new(const RhProblem *c, const RhPlan *plan, double gap_frac)
{
    const RhRehearsal *first = plan->entries->pdata[0];
    RhRegret r = {.c = c,
                  .cache = rh_bound_new(c),
                  .ranked_bytes = plan->ranked_bytes,
                  .gap_frac = gap_frac,
                  .left = RH_REGRET_LEFT,
                  .row = first->layout,
                  .row_s = step_of_s(c, &first->layout),
                  .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                  .layouts = g_array_new(FALSE, FALSE, sizeof(RhLayout))};
    r.best = r.row;
    r.best_s = r.row_s;
    return r;
}

/* --- values of knobs --- */

static bool divides(int64_t n, int64_t value)
{
    return n > 0 && value > 0 && n % value == 0;
}

/* Adds numbers: divisors of GPUs or layers, and powers of two; all numbers of a small range. */
static void add_numbers(GPtrArray *out, const RhProblem *c, const RhKnob *knob)
{
    int32_t most = MIN(knob->high, MAX(c->job.gpus, 128)), low = MAX(knob->low, 0);
    for (int32_t value = low; value <= most; value++)
        if (value == low || knob->high - low <= 4 || (value & (value - 1)) == 0 ||
            divides(c->job.gpus, value) || divides(c->model->layers_count, value))
            g_ptr_array_add(out, g_strdup_printf("%s=%d", knob->key, value));
}

/* Adds modules of the model: each, every two of them, and all. */
static void add_modules(GPtrArray *out, const RhProblem *c, const RhKnob *knob)
{
    uint32_t all = 0;
    for (int k = 0; k < c->model->kinds_count; k++)
        all |= (uint32_t)rh_kind_modules(c->model, &c->model->kinds[k]);
    for (int i = 0; i < 32; i++)
        for (int j = i; j <= 32; j++) {
            uint32_t sum = j == 32 ? all : (1u << i | 1u << j);
            if ((all >> i & 1) == 0 || (sum & ~all) != 0 || (int64_t)sum <= knob->high)
                continue;
            g_autofree char *text = rh_knob_value_text(knob, (int32_t)sum);
            g_ptr_array_add(out, g_strdup_printf("%s=%s", knob->key, text));
        }
}

static void forget_untaken(const RhRegret *r, GPtrArray *values)
{
    for (const char *const *beginning = r->untaken; beginning && *beginning; beginning++)
        for (guint i = values->len; i-- > 0;)
            if (g_str_has_prefix(values->pdata[i], *beginning))
                g_ptr_array_remove_index(values, i);
}

GPtrArray *rh_regret_values(const RhRegret *r, const RhKnob *knob)
{
    const RhProblem *c = r->c;
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
    if (knob == RH_KNOB_OF(dp) || (r->left >> (knob - rh_knobs) & 1))
        return out;
    for (int32_t value = knob->low; knob->names && value <= (knob->list ? 0 : knob->high);
         value++) {
        g_autofree char *text = rh_knob_value_text(knob, value);
        g_ptr_array_add(out, g_strdup_printf("%s=%s", knob->key, text));
    }
    if (!knob->names || knob->list)
        add_numbers(out, c, knob);
    if (knob->words)
        add_modules(out, c, knob);
    forget_untaken(r, out);
    return out;
}

/* --- layouts --- */

/* Keeps a layout where it is legal, run by the framework and new. */
static bool add_layout(RhRegret *r, const RhLayout *asked)
{
    RhLayout l = rh_train_canonical(r->c, asked);
    const RhFrameworkRules *rules = rh_framework_rules(r->c->stack->framework, NULL);
    if (!rh_train_legal(r->c, &l, NULL) || rh_train_tasks(r->c, &l) > RH_TRAIN_TASKS_MAX)
        return false;
    if (l.recomputed_layers_count == RH_RECOMPUTED_FEWEST)
        rh_recompute_fewest_layers(rh_bound_shard(r->cache, &l)->model_cost,
                                   rh_bound_pipeline_profile(r->cache, &l), r->ranked_bytes, &l);
    if (rh_framework_refusal(rules, r->c, &l)) /* including rules on recomputed layers */
        return false;
    if (!g_hash_table_add(r->seen, rh_layout_format(&l)))
        return false;
    g_array_append_val(r->layouts, l);
    return true;
}

static void add_neighbours(RhRegret *r, const RhLayout *of)
{
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_autoptr(GPtrArray) values = rh_regret_values(r, knob);
        for (guint i = 0; i < values->len; i++) {
            RhLayout l = *of;
            if (rh_train_change(r->c, &l, values->pdata[i], NULL))
                add_layout(r, &l);
        }
    }
}

void rh_regret_search_around(RhRegret *r)
{
    add_layout(r, &r->row);
    for (guint end = r->layouts->len; r->expanded < end; r->expanded++) {
        RhLayout of = g_array_index(r->layouts, RhLayout, r->expanded);
        add_neighbours(r, &of);
    }
}

static RhLayout draw_layout(const RhProblem *c, GPtrArray *const *values, GRand *dice)
{
    RhLayout l = rh_train_default(c);
    for (int k = 0; rh_knobs[k].key; k++) {
        RhLayout changed = l;
        if (values[k]->len == 0 || (!rh_knobs[k].degree && g_rand_int_range(dice, 0, 3) > 0))
            continue;
        gint32 at = g_rand_int_range(dice, 0, (gint32)values[k]->len);
        if (rh_train_change(c, &changed, values[k]->pdata[at], NULL))
            l = changed;
    }
    rh_train_complete(c, &l);
    return l;
}

void rh_regret_search_drawn(RhRegret *r, int32_t count, uint32_t seed)
{
    g_autoptr(GRand) dice = g_rand_new_with_seed(seed);
    GPtrArray *values[RH_KNOBS_MAX] = {NULL};
    int32_t knobs = 0, added = 0;
    for (; rh_knobs[knobs].key; knobs++)
        values[knobs] = rh_regret_values(r, &rh_knobs[knobs]);
    for (int64_t i = 0; i < 100 * (int64_t)count && added < count; i++) {
        RhLayout l = draw_layout(r->c, values, dice);
        added += add_layout(r, &l);
    }
    for (int32_t k = 0; k < knobs; k++)
        g_ptr_array_unref(values[k]);
}

/* --- evaluation --- */

/* Returns the step time below which a layout counts as faster than the first row. */
static double worth_of_s(const RhRegret *r, const RhLayout *l, double than_s)
{
    bool uneven = l->vpp > 1 && r->c->model->layers_count % (l->pp * l->vpp) != 0;
    return than_s * (1 - r->gap_frac) * (uneven ? 1 - RH_REGRET_UNEVEN_FRAC : 1);
}

static gint order(const void *a, const void *b)
{
    double x = ((const Candidate *)a)->bound_s, y = ((const Candidate *)b)->bound_s;
    return (x > y) - (x < y);
}

/* Returns the layouts not yet evaluated that fit equally safely and may be faster by their bounds.
 * Caller frees. */
static GArray *candidates_of(RhRegret *r)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(Candidate));
    double straggler = rh_straggler_factor(r->c);
    for (; r->evaluated < r->layouts->len; r->evaluated++) {
        Candidate it = {.layout = g_array_index(r->layouts, RhLayout, r->evaluated)};
        double worth_s = worth_of_s(r, &it.layout, r->row_s);
        RhTrainMemory memory;
        if (!rh_bound_memory_within(r->cache, &it.layout, r->ranked_bytes, &memory))
            continue;
        r->fit_count++;
        if (rh_closed_form_s(r->cache, &it.layout) * straggler >= worth_s)
            continue;
        it.bound_s = rh_segment_graph_s(r->cache, &it.layout) * straggler;
        if (it.bound_s < worth_s)
            g_array_append_val(out, it);
    }
    g_array_sort(out, order);
    return out;
}

void rh_regret_judge(RhRegret *r)
{
    g_autoptr(GArray) candidates = candidates_of(r);
    for (guint i = 0; i < candidates->len; i++) {
        const Candidate *it = &g_array_index(candidates, Candidate, i);
        if (it->bound_s >= worth_of_s(r, &it->layout, r->best_s))
            continue;
        double step_s = step_of_s(r->c, &it->layout);
        r->rehearsed_count++;
        if (step_s > 0 && step_s < worth_of_s(r, &it->layout, r->best_s)) {
            r->best = it->layout;
            r->best_s = step_s;
        }
    }
}

double rh_regret_behind_frac(const RhRegret *r)
{
    return r->row_s / r->best_s - 1;
}

/* Builds the record of training from evaluated runs. */
#include <math.h>
#include <string.h>

#include "accuracy/error_bar_record.h"

#define STEPS_LEAST  8 /* runs of an error bar */
#define GROUPS_LEAST 3

/* Upper limits of classes of jobs by size. */
static const int32_t gpus_to[] = {8, 64, 512, 1 << 20};

/* Levels of similarity of runs, the closest first. */
typedef enum { LIKE_SIZE, LIKE_STACK, LIKE_GENERATION, LIKE_LAST, LIKE_LONG = LIKE_LAST } Like;

static const RhEvaluatedRun *row_at(const RhEvaluation *evaluation, guint i)
{
    return &g_array_index(evaluation->rows, RhEvaluatedRun, i);
}

/* --- error bars --- */

static int32_t size_of(int32_t gpus)
{
    int32_t size = 0;
    while (size + 1 < (int32_t)G_N_ELEMENTS(gpus_to) && gpus > gpus_to[size])
        size++;
    return size;
}

static bool is_step(const RhEvaluatedRun *row)
{
    return !row->skipped && !row->metric && row->standing == RH_STANDING_MEASURED &&
           row->measured_s > 0 && row->predicted_s > 0;
}

static bool is_alike(const RhEvidenceKey *a, const RhEvidenceKey *b, Like like)
{
    if (like == LIKE_LONG)
        return a->tokens >= RH_LONG_TOKENS && b->tokens >= RH_LONG_TOKENS;
    return a->generation && a->generation == b->generation && a->kind == b->kind &&
           (like >= LIKE_GENERATION || a->stack == b->stack) &&
           (like >= LIKE_STACK || size_of(a->gpus) == size_of(b->gpus));
}

/* The runs, and their groups with common errors: those of one table, model and device. */
typedef struct {
    const RhEvaluation *evaluation;
    int32_t *groups; /* for each row the first row of its group */
    int32_t *counts; /* scratch: rows of each group */
} Runs;

static Runs runs_of(const RhEvaluation *evaluation)
{
    guint count = evaluation->rows->len;
    Runs runs = {evaluation, g_new0(int32_t, count + 1), g_new0(int32_t, count + 1)};
    for (guint i = 0; i < count; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        guint k = 0;
        while (row_at(evaluation, k)->table != row->table ||
               row_at(evaluation, k)->model != row->model ||
               row_at(evaluation, k)->device != row->device)
            k++;
        runs.groups[i] = (int32_t)k;
    }
    return runs;
}

static void runs_clear(Runs *runs)
{
    g_free(runs->groups);
    g_free(runs->counts);
}

typedef struct {
    double value, weight;
} Weighed;

static int smaller(const void *a, const void *b)
{
    const Weighed *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Smallest value that a share of the weight does not exceed. */
static double quantile(GArray *values, double share)
{
    double sum = 0, so_far = 0;
    g_array_sort(values, smaller);
    for (guint i = 0; i < values->len; i++)
        sum += g_array_index(values, Weighed, i).weight;
    for (guint i = 0; i < values->len; i++) {
        const Weighed *w = &g_array_index(values, Weighed, i);
        so_far += w->weight;
        if (so_far >= share * sum * (1 - 1e-12))
            return w->value;
    }
    return (double)NAN;
}

static double error_of(const RhEvaluatedRun *row)
{
    return fabs(row->measured_s / row->predicted_s - 1);
}

static double mfu_of(const RhEvaluatedRun *row)
{
    return row->measured_mfu_frac;
}

/* Collects `value` of each row, with equal weight for each group. Returns the number of groups. */
static int32_t weigh_rows(const Runs *runs, const GArray *rows,
                          double (*value)(const RhEvaluatedRun *), GArray *values)
{
    int32_t groups = 0;
    for (guint i = 0; i < rows->len; i++)
        groups += runs->counts[runs->groups[g_array_index(rows, guint, i)]]++ == 0;
    for (guint i = 0; i < rows->len; i++) {
        guint at = g_array_index(rows, guint, i);
        Weighed w = {value(row_at(runs->evaluation, at)), 1.0 / runs->counts[runs->groups[at]]};
        g_array_append_val(values, w);
    }
    for (guint i = 0; i < rows->len; i++)
        runs->counts[runs->groups[g_array_index(rows, guint, i)]] = 0;
    return groups;
}

/* Computes the range of sizes of the rows' models. */
static void range_of_sizes(const Runs *runs, const GArray *rows, double *params_least,
                           double *params_most)
{
    *params_least = (double)INFINITY;
    *params_most = 0;
    for (guint i = 0; i < rows->len; i++) {
        double params = row_at(runs->evaluation, g_array_index(rows, guint, i))->like.params;
        *params_least = fmin(*params_least, params);
        *params_most = fmax(*params_most, params);
    }
}

static int64_t longest(const Runs *runs, const GArray *rows)
{
    int64_t most = 0;
    for (guint i = 0; i < rows->len; i++)
        most = MAX(most, row_at(runs->evaluation, g_array_index(rows, guint, i))->like.tokens);
    return most;
}

/* Returns an empty bar whose fields match jobs like this one. */
static RhErrorBar named(const RhEvidenceKey *like, Like level)
{
    RhErrorBar bar = {.generation = like->generation,
                      .kind = like->kind,
                      .params_least = like->params,
                      .params_most = like->params};
    if (level <= LIKE_STACK)
        bar.stack = like->stack;
    if (level == LIKE_SIZE) {
        int32_t size = size_of(like->gpus);
        bar.gpus_least = size ? gpus_to[size - 1] + 1 : 1;
        bar.gpus_most = gpus_to[size];
    }
    return bar;
}

/* Adds how far each row of a group is from what another row of it tells, both ways. */
static void add_pairs(const Runs *runs, const GArray *rows, int32_t group, GArray *values)
{
    g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < rows->len; i++) {
        guint at = g_array_index(rows, guint, i);
        const RhEvaluatedRun *row = row_at(runs->evaluation, at);
        double ratio = row->measured_s / row->predicted_s;
        if (runs->groups[at] == group)
            g_array_append_val(ratios, ratio);
    }
    double pairs = (double)ratios->len * (ratios->len - 1.0);
    for (guint i = 0; i < ratios->len; i++)
        for (guint k = 0; k < ratios->len; k++) {
            double off = g_array_index(ratios, double, i) / g_array_index(ratios, double, k) - 1;
            Weighed w = {fabs(off), 1 / pairs};
            if (i != k)
                g_array_append_val(values, w);
        }
}

/* The error that remains in a group of which one run was measured; 0: too few groups tell it. */
static double within_of(const Runs *runs, const GArray *rows)
{
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(Weighed));
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    int32_t groups = 0;
    for (guint i = 0; i < rows->len; i++) {
        int32_t group = runs->groups[g_array_index(rows, guint, i)];
        guint before = values->len;
        if (!g_hash_table_add(seen, GINT_TO_POINTER(group + 1)))
            continue;
        add_pairs(runs, rows, group, values);
        groups += values->len > before;
    }
    return groups < GROUPS_LEAST ? 0 : quantile(values, RH_RECORD_SHARE);
}

/* Error bar of jobs like `like`, without rows of the table `without` (NULL: of all); false where
 * there are too few. */
static bool bar_of(const Runs *runs, const RhEvidenceKey *like, Like level, const char *without,
                   RhErrorBar *bar)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(Weighed));
    for (guint i = 0; i < runs->evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(runs->evaluation, i);
        if (is_step(row) && (!without || row->table != without) &&
            is_alike(&row->like, like, level))
            g_array_append_val(rows, i);
    }
    *bar = named(like, level);
    range_of_sizes(runs, rows, &bar->params_least, &bar->params_most);
    bar->tokens_most = longest(runs, rows);
    bar->steps = (int32_t)rows->len;
    bar->groups = weigh_rows(runs, rows, error_of, errors);
    if (bar->steps < STEPS_LEAST || bar->groups < GROUPS_LEAST)
        return false;
    bar->error_frac = quantile(errors, RH_RECORD_SHARE);
    bar->within_frac = within_of(runs, rows);
    return true;
}

static bool listed(const GArray *bars, const RhErrorBar *bar)
{
    for (guint i = 0; i < bars->len; i++) {
        const RhErrorBar *b = &g_array_index(bars, RhErrorBar, i);
        if (b->stack == bar->stack && b->generation == bar->generation && b->kind == bar->kind &&
            b->gpus_most == bar->gpus_most)
            return true;
    }
    return false;
}

static void make_bars(const RhEvaluation *evaluation, RhRecord *record)
{
    Runs runs = runs_of(evaluation);
    for (int level = LIKE_SIZE; level < LIKE_LAST; level++)
        for (guint i = 0; i < evaluation->rows->len; i++) {
            const RhEvaluatedRun *row = row_at(evaluation, i);
            RhErrorBar bar = named(&row->like, (Like)level);
            if (is_step(row) && !listed(record->bars, &bar) &&
                bar_of(&runs, &row->like, (Like)level, NULL, &bar))
                g_array_append_val(record->bars, bar);
        }
    bar_of(&runs, &(RhEvidenceKey){.tokens = RH_LONG_TOKENS}, LIKE_LONG, NULL, &record->longs);
    runs_clear(&runs);
}

void rh_record_hold_out(RhEvaluation *evaluation)
{
    Runs runs = runs_of(evaluation);
    for (guint i = 0; i < evaluation->rows->len; i++) {
        RhEvaluatedRun *row = &g_array_index(evaluation->rows, RhEvaluatedRun, i);
        RhErrorBar bar;
        row->bar_frac = 0;
        for (int level = LIKE_SIZE; is_step(row) && level < LIKE_LAST; level++) {
            if (!bar_of(&runs, &row->like, (Like)level, row->table, &bar))
                continue;
            bool spans = rh_error_bar_spans(&bar, row->like.params);
            if (spans || row->bar_frac == 0)
                row->bar_frac = bar.error_frac;
            if (spans)
                break;
        }
    }
    runs_clear(&runs);
}

/* --- usual MFUs --- */

static bool same_usual(const RhEvidenceKey *a, const RhEvidenceKey *b)
{
    return a->device == b->device && a->kind == b->kind && a->dtype == b->dtype;
}

/* Computes the usual MFU of steps on the device of `like`; returns false where there are too few.
 */
static bool usual_of(const Runs *runs, const RhEvidenceKey *like, RhTypicalMfu *usual)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(Weighed));
    for (guint i = 0; i < runs->evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(runs->evaluation, i);
        if (is_step(row) && row->measured_mfu_frac > 0 && same_usual(&row->like, like))
            g_array_append_val(rows, i);
    }
    *usual = (RhTypicalMfu){.device = like->device,
                            .kind = like->kind,
                            .dtype = like->dtype,
                            .steps = (int32_t)rows->len,
                            .groups = weigh_rows(runs, rows, mfu_of, values)};
    if (usual->steps < STEPS_LEAST || usual->groups < GROUPS_LEAST)
        return false;
    range_of_sizes(runs, rows, &usual->params_least, &usual->params_most);
    usual->low_frac = quantile(values, (1 - RH_RECORD_SHARE) / 2);
    usual->high_frac = quantile(values, (1 + RH_RECORD_SHARE) / 2);
    return true;
}

static void make_usual(const RhEvaluation *evaluation, RhRecord *record)
{
    Runs runs = runs_of(evaluation);
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvidenceKey *like = &row_at(evaluation, i)->like;
        RhTypicalMfu usual;
        if (is_step(row_at(evaluation, i)) && like->device && !rh_record_usual(record, like) &&
            usual_of(&runs, like, &usual))
            g_array_append_val(record->usual, usual);
    }
    runs_clear(&runs);
}

RhRecord *rh_record_make(const RhEvaluation *evaluation)
{
    RhRecord *record = rh_record_new();
    RhEvaluationFigures all = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_free(record->made_on);
    record->made_on = g_date_time_format(now, "%Y-%m-%d");
    record->steps = all.figures.count;
    record->failed = all.failed_and_refused + all.failed_but_fits;
    record->within = all.within_count;
    record->barred = all.barred_count;
    record->bare = record->steps - record->barred;
    make_bars(evaluation, record);
    rh_record_make_odds(evaluation, record->odds);
    for (int tables = 0; tables < 2; tables++)
        record->trials[tables] = rh_record_try_odds(evaluation, tables);
    make_usual(evaluation, record);
    return record;
}

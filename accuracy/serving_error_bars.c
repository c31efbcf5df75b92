/* Builds the record of services from cross-validated rows, and looks bars up in it. */
#include <math.h>

#include "accuracy/cross_validation_errors.h"
#include "accuracy/error_bar_record.h"
#include "base/garray_access.h"

static const RhEvaluatedRun *row_at(const RhEvaluation *evaluation, guint i)
{
    return &g_array_index(evaluation->rows, RhEvaluatedRun, i);
}

static bool counts(const RhEvaluatedRun *row)
{
    return row->metric && row->cross_group && row->like.kind && !row->skipped &&
           row->standing == RH_STANDING_MEASURED && row->measured_s > 0 && row->predicted_s > 0;
}

/* --- levels: from the most particular properties to the most general --- */

#define LEVELS 4

/* Returns the bar, still empty, that services like this one have at a level; kind NULL and
 * any_tables: whatever they are. */
static RhServedBar level_of(const RhEvidenceKey *like, int level)
{
    RhServedBar bar = {.apart = like->apart, .starved = like->starved};
    bar.known = level == 0;
    bar.kind = level <= 1 ? like->kind : NULL;
    bar.any_tables = level == 3;
    bar.experts_untabled = bar.any_tables ? false : like->experts_untabled;
    return bar;
}

static bool is_known(const RhEvidenceKey *like)
{
    return !like->flags_defaulted && !like->version_unknown && !like->speculation_unknown;
}

static bool is_same(const RhServedBar *a, const RhServedBar *b)
{
    return a->kind == b->kind && a->known == b->known && a->any_tables == b->any_tables &&
           a->experts_untabled == b->experts_untabled && a->apart == b->apart &&
           a->starved == b->starved;
}

static bool matches(const RhServedBar *bar, const RhEvidenceKey *like)
{
    return (!bar->kind || bar->kind == like->kind) && (!bar->known || is_known(like)) &&
           (bar->any_tables || bar->experts_untabled == like->experts_untabled) &&
           bar->apart == like->apart && bar->starved == like->starved;
}

/* --- making --- */

#define WIDEST_FRAC 1.0 /* of a bar: a wider one, by more than a factor of two, says nothing */

/* Returns the bar's error of a metric over rows outside of a group (NULL: over all); 0: there is
 * none. */
static double error_of(const RhEvaluation *evaluation, const RhServedBar *bar, const char *metric,
                       const char *without)
{
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GPtrArray) groups = g_ptr_array_new();
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        if (!counts(row) || row->cross_group == without || g_strcmp0(row->metric, metric) != 0 ||
            !matches(bar, &row->like))
            continue;
        double error = fabs(row->measured_s / row->predicted_s - 1);
        g_array_append_val(errors, error);
        g_ptr_array_add(groups, (void *)row->cross_group);
    }
    double quantile =
        rh_group_quantile(RH_ELEMENTS(errors, double), (const char *const *)groups->pdata,
                          errors->len, RH_RECORD_SHARE);
    return quantile <= WIDEST_FRAC ? quantile : 0; /* NAN: too few groups */
}

static bool listed(const GArray *bars, const RhServedBar *bar)
{
    for (guint i = 0; i < bars->len; i++)
        if (is_same(&g_array_index(bars, RhServedBar, i), bar))
            return true;
    return false;
}

/* Is it a row's figure of how fast tokens come? A row has one at most that counts it. */
static bool is_of_rate(const RhEvaluatedRun *row)
{
    return g_strcmp0(row->metric, "tpot") == 0 || g_strcmp0(row->metric, "throughput") == 0;
}

static void count_rows(const RhEvaluation *evaluation, RhServedBar *bar)
{
    g_autoptr(GHashTable) models = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) groups = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        if (!counts(row) || !is_of_rate(row) || !matches(bar, &row->like))
            continue;
        bar->rows++;
        g_hash_table_add(models, (void *)row->model);
        g_hash_table_add(groups, (void *)row->cross_group);
    }
    bar->models = (int32_t)g_hash_table_size(models);
    bar->groups = (int32_t)g_hash_table_size(groups);
}

static void add_bar(const RhEvaluation *evaluation, const RhEvidenceKey *like, int level,
                    GArray *bars)
{
    RhServedBar bar = level_of(like, level);
    if ((bar.known && !is_known(like)) || listed(bars, &bar))
        return;
    bar.ttft_frac = error_of(evaluation, &bar, "ttft", NULL);
    bar.tpot_frac = error_of(evaluation, &bar, "tpot", NULL);
    bar.throughput_frac = error_of(evaluation, &bar, "throughput", NULL);
    count_rows(evaluation, &bar);
    if (bar.ttft_frac > 0 && bar.tpot_frac > 0)
        g_array_append_val(bars, bar);
}

static int32_t rows_of(const RhEvaluation *evaluation)
{
    int32_t rows = 0;
    for (guint i = 0; i < evaluation->rows->len; i++)
        rows += counts(row_at(evaluation, i)) && is_of_rate(row_at(evaluation, i));
    return rows;
}

bool rh_record_serve(RhRecord *record, const RhEvaluation *evaluation)
{
    RhServingRecord *serving = &record->serving;
    int32_t rows = rows_of(evaluation);
    if (rows == 0)
        return false;
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_free(serving->made_on);
    serving->made_on = g_date_time_format(now, "%Y-%m-%d");
    g_free(serving->file);
    serving->file = g_path_get_basename(evaluation->file);
    serving->rows = rows;
    g_array_set_size(serving->bars, 0);
    g_ptr_array_set_size(serving->schedulers, 0);
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        if (counts(row) && !g_ptr_array_find(serving->schedulers, row->like.stack, NULL))
            g_ptr_array_add(serving->schedulers, (void *)row->like.stack);
    }
    for (int level = 0; level < LEVELS; level++)
        for (guint i = 0; i < evaluation->rows->len; i++)
            if (counts(row_at(evaluation, i)))
                add_bar(evaluation, &row_at(evaluation, i)->like, level, serving->bars);
    return true;
}

/* Returns the bar of a row by the rows of other groups. */
static double held_out_bar(const RhEvaluation *evaluation, const RhEvaluatedRun *row)
{
    for (int level = 0; level < LEVELS; level++) {
        RhServedBar bar = level_of(&row->like, level);
        double error = bar.known && !is_known(&row->like)
                           ? 0
                           : error_of(evaluation, &bar, row->metric, row->cross_group);
        if (error > 0)
            return error;
    }
    return 0;
}

void rh_record_hold_out_groups(RhEvaluation *evaluation)
{
    for (guint i = 0; i < evaluation->rows->len; i++) {
        RhEvaluatedRun *row = &g_array_index(evaluation->rows, RhEvaluatedRun, i);
        if (counts(row))
            row->bar_frac = held_out_bar(evaluation, row);
    }
}

void rh_record_take_serving(RhRecord *record, const RhRecord *other)
{
    RhServingRecord *serving = &record->serving;
    g_free(serving->made_on);
    serving->made_on = g_strdup(other->serving.made_on);
    g_free(serving->file);
    serving->file = g_strdup(other->serving.file);
    serving->rows = other->serving.rows;
    g_array_set_size(serving->bars, 0);
    g_ptr_array_set_size(serving->schedulers, 0);
    for (guint i = 0; i < other->serving.schedulers->len; i++)
        g_ptr_array_add(serving->schedulers, other->serving.schedulers->pdata[i]);
    g_array_append_vals(serving->bars, other->serving.bars->data, other->serving.bars->len);
}

/* --- looking up --- */

const RhServedBar *rh_record_served(const RhRecord *record, const RhEvidenceKey *like)
{
    bool measured =
        like->generation && g_ptr_array_find(record->serving.schedulers, like->stack, NULL);
    for (guint i = 0; measured && i < record->serving.bars->len; i++) {
        const RhServedBar *bar = &g_array_index(record->serving.bars, RhServedBar, i);
        if (matches(bar, like))
            return bar;
    }
    return NULL;
}

void rh_record_served_widest(const RhRecord *record, const char *kind, double *ttft_frac,
                             double *tpot_frac)
{
    *ttft_frac = *tpot_frac = 0;
    for (guint i = 0; i < record->serving.bars->len; i++) {
        const RhServedBar *bar = &g_array_index(record->serving.bars, RhServedBar, i);
        if ((bar->kind && (bar->kind != kind || !bar->known)) || bar->apart || bar->starved)
            continue;
        *ttft_frac = fmax(*ttft_frac, bar->ttft_frac);
        *tpot_frac = fmax(*tpot_frac, bar->tpot_frac);
    }
}

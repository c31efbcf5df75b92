/* Builds the record of services from evaluated rows. */
#include <math.h>

#include "accuracy/record.h"

#define ROWS_LEAST 15 /* rows of an error bar */

static const RhEvaluatedRun *row_at(const RhEvaluation *evaluation, guint i)
{
    return &g_array_index(evaluation->rows, RhEvaluatedRun, i);
}

static bool is_of(const RhEvaluatedRun *row, const char *metric)
{
    return !row->skipped && row->standing == RH_STANDING_MEASURED && row->measured_s > 0 &&
           row->predicted_s > 0 && g_strcmp0(row->metric, metric) == 0;
}

/* Returns an empty bar whose fields match services like this one. */
static RhServedBar named(const RhEvidenceKey *like, bool device)
{
    return (RhServedBar){.scheduler = like->stack,
                         .device = device ? like->device : NULL,
                         .generation = like->generation,
                         .kind = like->kind,
                         .apart = like->apart,
                         .starved = like->starved};
}

static bool is_same_service(const RhServedBar *a, const RhServedBar *b)
{
    return a->scheduler == b->scheduler && a->device == b->device &&
           a->generation == b->generation && a->kind == b->kind && a->apart == b->apart &&
           a->starved == b->starved;
}

static bool listed(const GArray *bars, const RhServedBar *bar)
{
    for (guint i = 0; i < bars->len; i++)
        if (is_same_service(&g_array_index(bars, RhServedBar, i), bar))
            return true;
    return false;
}

static int smaller(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Returns the quantile RH_RECORD_SHARE of the errors; NAN where they are too few. */
static double share_of(GArray *errors)
{
    if (errors->len < ROWS_LEAST)
        return (double)NAN;
    g_array_sort(errors, smaller);
    guint within = (guint)ceil(RH_RECORD_SHARE * errors->len * (1 - 1e-12));
    return g_array_index(errors, double, within - 1);
}

/* Returns the error of the rows that a bar matches. */
static double error_of(const RhEvaluation *evaluation, const RhServedBar *bar, const char *metric)
{
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        RhServedBar own = named(&row->like, bar->device != NULL);
        double error = fabs(row->measured_s / row->predicted_s - 1);
        if (is_of(row, metric) && is_same_service(&own, bar))
            g_array_append_val(errors, error);
    }
    return share_of(errors);
}

static void count_rows(const RhEvaluation *evaluation, RhServedBar *bar)
{
    g_autoptr(GHashTable) models = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        RhServedBar own = named(&row->like, bar->device != NULL);
        if (!is_of(row, "tpot") || !is_same_service(&own, bar))
            continue;
        bar->rows++;
        bar->fitted += row->fitted;
        g_hash_table_add(models, (void *)row->model);
    }
    bar->models = (int32_t)g_hash_table_size(models);
}

static void add_bar(const RhEvaluation *evaluation, const RhEvidenceKey *like, bool device,
                    GArray *bars)
{
    RhServedBar bar = named(like, device);
    if (!like->generation || listed(bars, &bar))
        return;
    bar.ttft_frac = error_of(evaluation, &bar, "ttft");
    bar.tpot_frac = error_of(evaluation, &bar, "tpot");
    if (isnan(bar.ttft_frac) || isnan(bar.tpot_frac))
        return;
    count_rows(evaluation, &bar);
    g_array_append_val(bars, bar);
}

static int32_t rows_of(const RhEvaluation *evaluation)
{
    int32_t rows = 0;
    for (guint i = 0; i < evaluation->rows->len; i++)
        rows += is_of(row_at(evaluation, i), "tpot");
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
    for (int device = 1; device >= 0; device--)
        for (guint i = 0; i < evaluation->rows->len; i++)
            if (is_of(row_at(evaluation, i), "tpot"))
                add_bar(evaluation, &row_at(evaluation, i)->like, device, serving->bars);
    return true;
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
    g_array_append_vals(serving->bars, other->serving.bars->data, other->serving.bars->len);
}

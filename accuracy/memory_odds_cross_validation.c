/* Evaluates odds without a run's own data: each group of runs (one table, model and device, which
 * have common errors), or each whole table, is evaluation by curves fitted to all others. Only tables
 * with failures count, as sources that only publish successes flatter any prediction. */
#include "accuracy/error_bar_record.h"

static const RhEvaluatedRun *row_at(const RhEvaluation *evaluation, guint i)
{
    return &g_array_index(evaluation->rows, RhEvaluatedRun, i);
}

static bool counts(const RhEvaluatedRun *row)
{
    return !row->skipped && !row->metric && row->standing == RH_STANDING_MEASURED &&
           row->capacity_bytes > 0 && row->peak_bytes > 0;
}

static bool tells_of_failures(const RhEvaluation *evaluation, const char *table)
{
    for (guint i = 0; i < evaluation->rows->len; i++)
        if (row_at(evaluation, i)->table == table && row_at(evaluation, i)->failed &&
            counts(row_at(evaluation, i)))
            return true;
    return false;
}

static bool together(const RhEvaluatedRun *a, const RhEvaluatedRun *b, bool tables)
{
    return a->table == b->table && (tables || (a->model == b->model && a->device == b->device));
}

static bool is_first(const RhEvaluation *evaluation, guint i, bool tables)
{
    for (guint k = 0; k < i; k++)
        if (counts(row_at(evaluation, k)) &&
            together(row_at(evaluation, k), row_at(evaluation, i), tables))
            return false;
    return true;
}

static void count_run(RhOddsTrial *trial, const RhEvaluatedRun *row, const RhOdds *odds)
{
    static const double ends[RH_ODDS_BANDS] = RH_ODDS_BANDS_ENDS;
    double risk = rh_odds_risk(odds, row->peak_bytes / row->capacity_bytes),
           off = risk - row->failed;
    int band = 0;
    while (risk > ends[band])
        band++;
    trial->runs[band]++;
    trial->failed[band] += row->failed;
    trial->brier += off * off;
    trial->count++;
}

static void judge_group(RhOddsTrial *trial, const RhEvaluation *evaluation, guint first,
                        bool tables)
{
    const RhEvaluatedRun *of = row_at(evaluation, first);
    RhEvaluation others = {.rows = g_array_new(FALSE, FALSE, sizeof(RhEvaluatedRun))};
    g_autoptr(RhRecord) record = rh_record_new();
    for (guint i = 0; i < evaluation->rows->len; i++)
        if (!together(row_at(evaluation, i), of, tables))
            g_array_append_vals(others.rows, row_at(evaluation, i), 1);
    rh_record_make_odds(&others, record->odds);
    for (guint i = first; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = row_at(evaluation, i);
        const RhOdds *odds = rh_record_odds(record, &row->like);
        if (odds && counts(row) && together(row, of, tables))
            count_run(trial, row, odds);
    }
    g_array_unref(others.rows);
}

RhOddsTrial rh_record_try_odds(const RhEvaluation *evaluation, bool tables)
{
    RhOddsTrial trial = {0};
    for (guint i = 0; i < evaluation->rows->len; i++)
        if (counts(row_at(evaluation, i)) && is_first(evaluation, i, tables) &&
            tells_of_failures(evaluation, row_at(evaluation, i)->table))
            judge_group(&trial, evaluation, i, tables);
    trial.brier /= MAX(trial.count, 1);
    return trial;
}

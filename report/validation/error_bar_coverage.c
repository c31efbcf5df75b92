/* Formats the validation of error bars and odds. */
#include <math.h>

#include "report/format.h"
#include "report/validation/evaluation_published_runs.h"

#define NARROW_FRAC 0.7 /* error bars that hold less are said to be too narrow */

static void append_bars(GString *out, const RhEvaluation *evaluation,
                        const RhEvaluationFigures *all)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree const char **tables = rh_evaluation_groups(evaluation, RH_EVALUATION_BY_TABLE);
    const char *before = ": ";
    if (all->barred_count == 0 || evaluation->crossed) /* then the table of groups has it */
        return;
    g_string_append_printf(
        text,
        "error bars: meant to hold %.0f %% of runs; leaving one source out, they "
        "hold %.1f %% of %d runs",
        100 * RH_RECORD_SHARE, 100.0 * all->within_count / all->barred_count, all->barred_count);
    for (int i = 0; tables[i]; i++) {
        RhEvaluationFigures f =
            rh_evaluation_figures(evaluation, RH_EVALUATION_BY_TABLE, tables[i]);
        if (f.barred_count == 0)
            continue;
        double held = (double)f.within_count / f.barred_count;
        g_string_append_printf(text, "%s%s %.0f %%%s", before, tables[i], 100 * held,
                               held < NARROW_FRAC ? " (too narrow)" : "");
        before = ", ";
    }
    if (all->figures.count > all->barred_count)
        g_string_append_printf(text, "; %d runs have no bar",
                               all->figures.count - all->barred_count);
    rh_text_wrap(out, text->str, 2, 79);
}

/* Appends odds: "memory of megatron: even odds at 99 % full, 95 % at 96 % (69 ran, 0 ran out)". */
static void append_odds(GString *out, const RhOdds *odds)
{
    const char *of = odds->stack ? odds->stack : odds->kernels ? odds->kernels : "all";
    g_autofree char *text = g_strdup_printf(
        "fitting in memory (%s): %.0f %% likely at %.1f %% full, 50 %% at %.1f %% (%d ran, %d ran out, "
        "%d peaks)",
        of, 100 * (1 - RH_ODDS_ASKED), 100 * rh_odds_room(odds, RH_ODDS_ASKED),
        100 * odds->middle_frac, odds->ran, odds->failed, odds->peaks);
    rh_text_wrap(out, text, 2, 79);
}

/* Appends how many successful runs plans would refuse at the default risk, and how many failed runs
 * they would accept. */
static void append_asked(GString *out, const RhEvaluation *evaluation, const RhRecord *record)
{
    int32_t count[2] = {0}, wrong[2] = {0};
    for (guint i = 0; i < evaluation->rows->len; i++) {
        const RhEvaluatedRun *row = &g_array_index(evaluation->rows, RhEvaluatedRun, i);
        const RhOdds *odds = rh_record_odds(record, &row->like);
        if (row->skipped || row->metric || row->standing != RH_STANDING_MEASURED || !odds ||
            row->capacity_bytes <= 0)
            continue;
        bool sure = row->peak_bytes / row->capacity_bytes <= rh_odds_room(odds, RH_ODDS_ASKED);
        count[row->failed]++;
        wrong[row->failed] += sure == row->failed;
    }
    if (count[0] + count[1] > 0)
        g_string_append_printf(
            out,
            "with the margin that plan keeps (--risk %.0f%%): %d of %d runs that ran would be\n"
            "  refused, %d of %d that ran out would be accepted\n",
            100 * RH_ODDS_ASKED, wrong[0], count[0], wrong[1], count[1]);
}

/* Appends the evaluation of odds: "odds where a model's runs are left out: Brier 0.03 of 686; said
 * 0 to 5 %: 1 of 270 ran out; ...". */
static void append_trial(GString *out, const RhOddsTrial *trial, const char *what)
{
    static const double ends[RH_ODDS_BANDS] = RH_ODDS_BANDS_ENDS;
    g_autoptr(GString) text = g_string_new(NULL);
    if (trial->count == 0)
        return;
    g_string_append_printf(
        text, "likelihood to run out, from other %s: Brier score %.3f over %d runs; ran out at",
        what, trial->brier, trial->count);
    for (int i = 0; i < RH_ODDS_BANDS; i++)
        g_string_append_printf(text, "%s %.0f to %.0f %%: %d of %d", i ? "," : "",
                               100 * (i ? ends[i - 1] : 0), 100 * ends[i], trial->failed[i],
                               trial->runs[i]);
    rh_text_wrap(out, text->str, 2, 79);
}

void rh_report_evaluation_coverage(GString *out, const RhEvaluation *evaluation,
                                   const RhRecord *record, bool verbose)
{
    RhEvaluationFigures all = rh_evaluation_figures(evaluation, RH_EVALUATION_BY_LAST, NULL);
    append_bars(out, evaluation, &all);
    append_asked(out, evaluation, record);
    if (verbose) {
        append_trial(out, &record->trials[0], "models");
        append_trial(out, &record->trials[1], "sources");
    }
    for (guint i = 0; verbose && i < record->odds->len; i++) {
        const RhOdds *odds = g_ptr_array_index(record->odds, i);
        append_odds(out, odds);
    }
}

/* What validation says of error bars and odds. */
#include <math.h>

#include "report/format.h"
#include "report/judged.h"

static void append_bars(GString *out, const RhJudged *judged, const RhJudgedFigures *all)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree const char **tables = rh_judged_groups(judged, RH_JUDGED_BY_TABLE);
    const char *before = ": ";
    if (all->barred_count == 0)
        return;
    g_string_append_printf(text,
                           "bars: %.1f %% of %d steps lie within the %.0f %% bar of other sources' "
                           "runs",
                           100.0 * all->within_count / all->barred_count, all->barred_count,
                           100 * RH_RECORD_SHARE);
    for (int i = 0; tables[i]; i++) {
        RhJudgedFigures f = rh_judged_figures(judged, RH_JUDGED_BY_TABLE, tables[i]);
        if (f.barred_count == 0)
            continue;
        g_string_append_printf(text, "%s%s %.0f", before, tables[i],
                               100.0 * f.within_count / f.barred_count);
        before = ", ";
    }
    if (all->figures.count > all->barred_count)
        g_string_append_printf(text, "; %d have none", all->figures.count - all->barred_count);
    rh_text_wrap(out, text->str, 6, 79);
}

/* "to 85 % 2 of 89, to 105 % 28 of 36, above 118 of 118" */
static void append_odds(GString *out, const RhOdds *odds)
{
    const char *of = odds->stack ? odds->stack : odds->kernels ? odds->kernels : "all";
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "ran out, of runs predicted so full (%s):", of);
    for (guint i = 0; i < odds->bands->len; i++) {
        const RhOddsBand *band = &g_array_index(odds->bands, RhOddsBand, i);
        g_autofree char *to = isfinite(band->to_frac)
                                  ? g_strdup_printf("to %.0f %%", 100 * band->to_frac)
                                  : g_strdup("above");
        g_string_append_printf(text, "%s %s %d of %d", i ? "," : "", to, band->failed,
                               band->ran + band->failed);
    }
    rh_text_wrap(out, text->str, 2, 79);
}

void rh_report_judged_trust(GString *out, const RhJudged *judged, const RhRecord *record,
                            bool verbose)
{
    RhJudgedFigures all = rh_judged_figures(judged, RH_JUDGED_BY_LAST, NULL);
    append_bars(out, judged, &all);
    for (guint i = 0, shown = 0; i < record->odds->len && (verbose || shown == 0); i++) {
        const RhOdds *odds = g_ptr_array_index(record->odds, i);
        if (!verbose && !odds->kernels)
            continue;
        append_odds(out, odds);
        shown++;
    }
}

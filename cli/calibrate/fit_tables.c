#include "cli/calibrate/fit_tables.h"

#include "report/format.h"

RhTable *rh_fit_constants_new(bool before)
{
    RhTable *table = rh_table_new(before ? "<>><<" : "<><<");
    rh_table_rowf(table, "constant%s|fitted|95 %% interval|", before ? "|before" : "");
    return table;
}

void rh_fit_constants_add(RhTable *table, const char *name, const char *was, const char *value,
                          const char *low, const char *high, const char *remark)
{
    g_autofree char *interval = low ? g_strdup_printf("%s to %s", low, high) : g_strdup("-");
    rh_table_rowf(table, "  %s%s%s|%s|%s|%s", name, was ? "|" : "", was ? was : "", value, interval,
                  remark ? remark : "");
}

RhTable *rh_fit_errors_new(bool before)
{
    RhTable *table = rh_table_new(before ? "<<>>>>>>>" : "<<>>>>>>");
    rh_table_rowf(table, "error in %%|rows|count%s|median|mean|90th|worst|bias",
                  before ? "|before" : "");
    return table;
}

void rh_fit_errors_add(RhTable *table, const char *name, const RhFitFigures *const was[2],
                       const RhFitFigures *const figures[2])
{
    static const char *const uses[] = {"fitted", "held out"};
    for (int i = 0; i < 2; i++) {
        const RhFitFigures *f = figures[i];
        g_autofree char *before = !was     ? g_strdup("")
                                  : was[i] ? g_strdup_printf("|%.1f", 100 * was[i]->median_frac)
                                           : g_strdup("|-");
        if (f->count > 0)
            rh_table_rowf(table, "  %s|%s|%d%s|%.1f|%.1f|%.1f|%+.1f|%+.1f", name, uses[i], f->count,
                          before, 100 * f->median_frac, 100 * f->mean_frac, 100 * f->p90_frac,
                          100 * f->worst_frac, 100 * f->bias_frac);
    }
}

void rh_fit_errors_append(RhTable *table, GString *out, bool before)
{
    rh_table_append(table, out, "");
    g_autofree char *line = g_strdup_printf(
        "held out: rows kept apart to judge the fit; %s90th: percentile; bias: mean (negative: "
        "predicted too fast)",
        before ? "before: median with the constants used until now; " : "");
    rh_text_wrap(out, line, 2, 79);
}

void rh_fit_append_notes(GString *out, const GPtrArray *notes)
{
    for (guint i = 0; i < notes->len; i++) {
        g_string_append(out, "note: ");
        rh_text_wrap(out, g_ptr_array_index(notes, i), 6, 79);
    }
}

void rh_fit_append_next(GString *out, const char *saved)
{
    g_autofree char *path = saved ? rh_text_path(saved) : NULL;
    if (path)
        g_string_append_printf(out, "next: plan or simulate with --profile %s\n", path);
}

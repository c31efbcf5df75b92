/* Formats a capacity as CSV and as Markdown. */
#include <string.h>

#include "report/capacity/capacity_words.h"
#include "report/format.h"

static const RhCapacityCell *cell_at(const RhCapacityAnswer *a, guint i)
{
    return &g_array_index(a->cells, RhCapacityCell, i);
}

static char *cell_text(double value, bool known)
{
    return known ? rh_text_number(value, 3) : g_strdup("-");
}

static void append_number(GString *out, double value, bool known)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(out, ",%s",
                           known ? g_ascii_formatd(text, sizeof text, "%.9g", value) : "");
}

char *rh_report_capacity_csv(const RhCapacityAnswer *a)
{
    GString *out = g_string_new(
        "platform,gpus,global_batch,layout,seconds,usd,energy_j,step_time_s,tokens_per_s_per_gpu,"
        "efficiency_frac,binds,binds_frac,meets,pareto,dtype,tokens,electricity_usd\n");
    for (guint i = 0; i < a->cells->len; i++) {
        const RhCapacityCell *cell = cell_at(a, i);
        const RhRehearsal *r = cell->r;
        double frac = 0;
        g_autofree char *layout = r ? rh_layout_format(&r->layout) : g_strdup("");
        g_autofree char *name = g_strescape(cell->platform, NULL);
        g_string_append_printf(out, "\"%s\",%d,", name, cell->c.job.gpus);
        if (r)
            g_string_append_printf(out, "%" G_GINT64_FORMAT, cell->c.job.global_batch);
        g_string_append_printf(out, ",\"%s\"", layout);
        append_number(out, cell->seconds, r != NULL);
        append_number(out, cell->usd, cell->usd > 0);
        append_number(out, cell->energy_j, cell->energy_j > 0);
        append_number(out, r ? r->step_time_s : 0, r != NULL);
        append_number(out, r ? r->tokens_per_s_per_gpu : 0, r != NULL);
        append_number(out, cell->efficiency_frac, r != NULL);
        g_string_append_printf(out, ",%s", r ? rh_report_binds(r, &frac) : rh_capacity_lacks(cell));
        append_number(out, frac, r != NULL);
        g_string_append_printf(out, ",%s,%s,%s", cell->meets ? "true" : "false",
                               cell->pareto ? "true" : "false", cell->c.job.recipe->name);
        append_number(out, cell->tokens, r != NULL);
        append_number(out, cell->electricity_usd, cell->electricity_usd > 0);
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}

char *rh_report_capacity_markdown(const RhCapacityAnswer *a)
{
    GString *out = g_string_new(NULL);
    RhCapacityUnits u = rh_capacity_units(a->cells);
    bool dtypes = rh_capacity_dtypes_vary(a->cells), open = a->goal->tokens <= 0;
    g_string_append_printf(out, "| platform | GPUs | batch |%s layout |", dtypes ? " dtype |" : "");
    if (open)
        g_string_append_printf(out, " %s tokens |", u.tokens);
    g_string_append_printf(out,
                           " %s | %s | %s | efficiency %% | binds |\n"
                           "|:---------|-----:|------:|%s:-------|%s-----:|---:|----:|"
                           "-------------:|:------|\n",
                           u.time, u.usd, u.energy, dtypes ? ":------|" : "",
                           open ? "-----:|" : "");
    for (guint i = 0; i < a->cells->len; i++) {
        const RhCapacityCell *cell = cell_at(a, i);
        g_autofree char *name = rh_text_markdown(cell->platform);
        g_autofree char *dtype =
            dtypes ? g_strdup_printf(" %s |", cell->c.job.recipe->name) : g_strdup("");
        if (!cell->r) {
            g_string_append_printf(out, "| %s | %d | - |%s - |%s - | - | - | - | %s |\n", name,
                                   cell->c.job.gpus, dtype, open ? " - |" : "",
                                   rh_capacity_lacks(cell));
            continue;
        }
        g_autofree char *layout = rh_layout_format(&cell->r->layout);
        g_autofree char *number = cell_text(cell->tokens / u.tokens_count, true);
        g_autofree char *tokens = open ? g_strdup_printf(" %s |", number) : g_strdup("");
        g_autofree char *days = cell_text(cell->seconds / u.time_s, true);
        g_autofree char *usd = cell_text(cell->usd / u.usd_usd, cell->usd > 0);
        g_autofree char *drawn = cell_text(cell->energy_j / u.energy_j, cell->energy_j > 0);
        double frac = 0;
        const char *binds = rh_report_binds(cell->r, &frac);
        g_string_append_printf(out,
                               "| %s%s | %d | %" G_GINT64_FORMAT
                               " |%s `%s` |%s %s | %s | %s | %.0f | %s %.0f %% |\n",
                               name, (int32_t)i == a->best ? " **best**" : "", cell->c.job.gpus,
                               cell->c.job.global_batch, dtype, layout, tokens, days, usd, drawn,
                               100 * cell->efficiency_frac, binds, 100 * frac);
    }
    return g_string_free(out, FALSE);
}

#include "report/sweep/study_report.h"

#include <string.h>

#include "base/json/json.h"
#include "base/text/text_table.h"
#include "report/format.h"
#include "sweep/effects.h"

static const char *name_of(const RhMerged *m, int32_t column)
{
    return g_ptr_array_index(m->names, column);
}

/* Columns of the answers begin behind those of the axes, "status" and "error". */
static int32_t first_figure(const RhMerged *m)
{
    return m->axes_count + 2;
}

static void put_effects(RhJsonWriter *w, const RhMerged *m)
{
    rh_json_begin_array(w, "effects");
    for (int32_t c = first_figure(m); c < (int32_t)m->names->len; c++) {
        g_autoptr(GArray) effects = rh_axis_effects(m, c);
        for (guint i = 0; effects && i < effects->len; i++) {
            const RhAxisEffect *e = &g_array_index(effects, RhAxisEffect, i);
            rh_json_begin_object(w, NULL);
            rh_json_put_string(w, "column", name_of(m, c));
            rh_json_put_string(w, "axis", name_of(m, e->axis));
            rh_json_put_number(w, "share_frac", e->share_frac);
            rh_json_put_number(w, "low", e->low);
            rh_json_put_string(w, "at_low", e->at_low);
            rh_json_put_number(w, "high", e->high);
            rh_json_put_string(w, "at_high", e->at_high);
            rh_json_end_object(w);
        }
    }
    rh_json_end_array(w);
}

static void put_cell(RhJsonWriter *w, const RhMergedCell *cell)
{
    if (cell->kind == RH_CELL_NUMBER)
        rh_json_put_number(w, NULL, g_ascii_strtod(cell->text, NULL));
    else if (cell->kind == RH_CELL_FLAG)
        rh_json_put_bool(w, NULL, strcmp(cell->text, "true") == 0);
    else
        rh_json_put_string(w, NULL, cell->text);
}

static void put_rows(RhJsonWriter *w, const RhStudy *study, const RhMerged *m)
{
    rh_json_begin_array(w, "rows");
    for (guint r = 0; r < m->rows->len; r++) {
        const RhMergedCell *row = g_ptr_array_index(m->rows, r);
        g_autofree char *line = rh_study_line(
            study, g_ptr_array_index(study->items, g_array_index(m->items, int32_t, r)));
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "line", line);
        rh_json_begin_array(w, "cells");
        for (guint i = 0; i < m->names->len; i++)
            put_cell(w, &row[i]);
        rh_json_end_array(w);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

char *rh_report_study_json(const RhStudy *study, const RhMerged *m, const char *version)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.study-table/1");
    rh_json_put_string(w, "version", version);
    rh_json_put_string(w, "study", study->path);
    rh_json_put_string(w, "about", study->about);
    rh_json_put_string(w, "command", study->command);
    rh_json_put_int(w, "study_count", study->items->len);
    rh_json_put_int(w, "failed_count", m->failed_count);
    rh_json_put_int(w, "left_count", m->absent_count);
    rh_json_put_int(w, "axes_count", m->axes_count);
    rh_json_begin_array(w, "columns");
    for (guint i = 0; i < m->names->len; i++)
        rh_json_put_string(w, NULL, name_of(m, (int32_t)i));
    rh_json_end_array(w);
    put_rows(w, study, m);
    put_effects(w, m);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

static void effect_row(RhTable *table, const RhMerged *m, const char *first, const RhAxisEffect *e)
{
    g_autofree char *low = rh_text_number(e->low, 4), *high = rh_text_number(e->high, 4);
    rh_table_rowf(table, "%s|%s|%.0f %%|%s|%s|%s|%s", first, name_of(m, e->axis),
                  100 * e->share_frac, low, e->at_low, high, e->at_high);
}

char *rh_report_effects_text(const RhMerged *m, int32_t column)
{
    g_autoptr(GArray) effects = rh_axis_effects(m, column);
    if (!effects)
        return NULL;
    GString *out = g_string_new(NULL);
    g_autoptr(RhTable) table = rh_table_new("<<>><><");
    rh_table_rowf(table, "|axis|of variance|least mean|at|most|at");
    for (guint i = 0; i < effects->len; i++)
        effect_row(table, m, i == 0 ? name_of(m, column) : "",
                   &g_array_index(effects, RhAxisEffect, i));
    rh_table_append(table, out, "  ");
    return g_string_free(out, FALSE);
}

char *rh_report_study_text(const RhStudy *study, const RhMerged *m)
{
    GString *out = g_string_new(NULL);
    g_autoptr(RhTable) table = rh_table_new("<<>><><");
    g_string_append_printf(out, "%u of %u questions of %s", m->rows->len, study->items->len,
                           study->command);
    if (m->failed_count > 0)
        g_string_append_printf(out, ", %" G_GINT64_FORMAT " of them failed", m->failed_count);
    g_string_append_c(out, '\n');
    rh_table_rowf(table, "what moves most|axis|of variance|least mean|at|most|at");
    int32_t moved = 0;
    for (int32_t c = first_figure(m); c < (int32_t)m->names->len; c++) {
        g_autoptr(GArray) effects = rh_axis_effects(m, c);
        if (effects && ++moved)
            effect_row(table, m, name_of(m, c), &g_array_index(effects, RhAxisEffect, 0));
    }
    if (moved > 0)
        rh_table_append(table, out, "  ");
    return g_string_free(out, FALSE);
}

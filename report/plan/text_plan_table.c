/* Formats the table of plans; columns with equal cells are left out. */
#include <string.h>

#include "base/text/text_table.h"
#include "base/units.h"
#include "report/format.h"
#include "report/plan/layout_families.h"
#include "report/plan/text_plan.h"
#include "strategies/knobs.h"

#define FULLER_ROW_FRAC 0.05 /* gain from which on it is a row */

/* Cell of the step: the bound where nothing was rehearsed. */
static char *cell_step(const RhRehearsal *r)
{
    g_autofree char *number = rh_text_number(r->step_time_s, 4);
    return g_strconcat(r->events_count ? "" : ">=", number, NULL);
}
static char *cell_mfu(const RhRehearsal *r)
{
    return g_strdup_printf("%.1f", 100 * r->mfu_frac);
}
static char *cell_memory(const RhRehearsal *r)
{
    return g_strdup_printf("%.1f", rh_text_gib(r->memory.peak_bytes));
}
static char *cell_bubble(const RhRehearsal *r)
{
    return r->events_count ? g_strdup_printf("%.1f", 100 * rh_report_bubble_frac(r))
                           : g_strdup("-");
}
static char *cell_exposed(const RhRehearsal *r)
{
    return r->events_count ? g_strdup_printf("%.1f", 100 * rh_report_exposed_frac(r))
                           : g_strdup("-");
}

/* A column of the table besides the layout. */
typedef struct {
    const char *head;
    char *(*cell)(const RhRehearsal *r); /* caller frees */
    bool is_wait;
} Figure;

static const Figure figures[] = {
    {"step s", cell_step, false},  {"MFU %", cell_mfu, false},     {"GiB", cell_memory, false},
    {"wait %", cell_bubble, true}, {"comm %", cell_exposed, true},
};

/* A column: a knob's, or one of these. */
typedef struct {
    const RhKnob *knob;
    const Figure *figure;
} Column;

static char *cell_of(const Column *column, const RhRehearsal *r)
{
    return column->knob ? rh_knob_cell(column->knob, &r->layout) : column->figure->cell(r);
}

static const char *head_of(const Column *column)
{
    if (column->figure)
        return column->figure->head;
    return column->knob->head ? column->knob->head : column->knob->key;
}

/* Does the knob differ between rows? "-" (without meaning there) differs from nothing. */
static bool knob_varies(const GPtrArray *rows, const RhKnob *knob)
{
    g_autofree char *first = NULL;
    for (guint i = 0; i < rows->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(rows, i);
        g_autofree char *cell = rh_knob_cell(knob, &r->layout);
        if (strcmp(cell, "-") == 0)
            continue;
        if (first && strcmp(first, cell) != 0)
            return true;
        if (!first)
            first = g_steal_pointer(&cell);
    }
    return false;
}

static GArray *shown_columns(const GPtrArray *rows, bool waits_known)
{
    GArray *shown = g_array_new(FALSE, FALSE, sizeof(Column));
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        Column column = {.knob = knob};
        if (knob->column == RH_COLUMN_ALWAYS ||
            (knob->column == RH_COLUMN_VARIES && knob_varies(rows, knob)))
            g_array_append_val(shown, column);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(figures); i++) {
        Column column = {.figure = &figures[i]};
        if (waits_known || !figures[i].is_wait)
            g_array_append_val(shown, column);
    }
    return shown;
}

/* Appends degrees without a column, as all rows are equal: without a cp or an ep the product of the
 * shown ones would not be the GPUs. */
static void append_shared_degrees(GString *out, const GPtrArray *rows)
{
    const RhRehearsal *first = rows->len > 1 ? g_ptr_array_index(rows, 0) : NULL;
    g_autoptr(GString) words = g_string_new(NULL);
    for (const RhKnob *knob = rh_knobs; first && knob->key; knob++) {
        bool shared = knob->degree && knob->column == RH_COLUMN_VARIES && !knob_varies(rows, knob);
        g_autofree char *title = shared && knob->title ? knob->title(knob, &first->layout) : NULL;
        if (title)
            g_string_append_printf(words, " %s", title);
    }
    if (words->len > 0)
        g_string_append_printf(out, "   all rows:%s\n", words->str);
}

static guint count_rehearsed(const RhPlan *plan)
{
    guint count = 0;
    for (guint i = 0; i < plan->entries->len; i++)
        count += ((const RhRehearsal *)g_ptr_array_index(plan->entries, i))->events_count > 0;
    return count;
}

double rh_report_fuller_gain(const RhPlan *plan)
{
    const RhRehearsal *best = plan->over_budget ? g_ptr_array_index(plan->entries, 0) : NULL;
    return best ? 1 - plan->over_budget->step_time_s / best->step_time_s : 0;
}

bool rh_report_fuller_is_row(const RhPlan *plan)
{
    return rh_report_fuller_gain(plan) >= FULLER_ROW_FRAC;
}

/* Writes the table as text of 79 columns; false: it is wider. */
static bool write_table(GString *out, const RhPlan *plan, const GPtrArray *rows,
                        const GArray *columns)
{
    g_autoptr(GString) alignment = g_string_new(">");
    g_autoptr(GString) head = g_string_new("#");
    for (guint i = 0; i < columns->len; i++) {
        const Column *column = &g_array_index(columns, Column, i);
        g_string_append_c(alignment, column->knob && column->knob->names ? '<' : '>');
        g_string_append_printf(head, "|%s", head_of(column));
    }
    g_autoptr(RhTable) table = rh_table_new(alignment->str);
    rh_table_rowf(table, "%s", head->str);
    for (guint k = 0; k < rows->len; k++) {
        g_autoptr(GString) row = g_string_new(rows->pdata[k] == plan->over_budget ? "!" : "-");
        if (k < plan->entries->len)
            g_string_printf(row, "%u", k + 1);
        for (guint i = 0; i < columns->len; i++) {
            g_autofree char *cell =
                cell_of(&g_array_index(columns, Column, i), g_ptr_array_index(rows, k));
            g_string_append_printf(row, "|%s", cell);
        }
        rh_table_rowf(table, "%s", row->str);
    }
    g_string_truncate(out, 0);
    return rh_table_append_within(table, out, " ", 79);
}

/* Column to drop: the last one that not every table has, after all others one that replaces
 * recomputation; -1: none. */
static int32_t column_to_drop(const GArray *columns)
{
    for (int instead = 0; instead < 2; instead++)
        for (int32_t i = (int32_t)columns->len; i-- > 0;) {
            const RhKnob *knob = g_array_index(columns, Column, i).knob;
            if (knob && knob->column == RH_COLUMN_VARIES && knob->instead == (instead > 0))
                return i;
        }
    return -1;
}

/* Adds "; TEXT" to the notes below a table. */
static void add_note(GString *notes, const char *text)
{
    g_string_append_printf(notes, "%s%s", notes->len ? "; " : "   ", text);
}

/* Adds what columns mean whose heads do not say it, where some row uses them. */
static void add_legends(GString *notes, const GArray *columns, const GPtrArray *rows)
{
    for (guint i = 0; i < columns->len; i++) {
        const RhKnob *knob = g_array_index(columns, Column, i).knob;
        bool used = false;
        for (guint k = 0; knob && knob->legend && k < rows->len; k++) {
            g_autofree char *cell = rh_knob_cell(knob, &((RhRehearsal *)rows->pdata[k])->layout);
            used |= strcmp(cell, "none") != 0 && strcmp(cell, "-") != 0;
        }
        if (used)
            add_note(notes, knob->legend);
    }
}

/* Drops a column, and notes its name. */
static bool drop_column(GArray *columns, GString *dropped)
{
    int32_t at = column_to_drop(columns);
    if (at < 0)
        return false;
    const Column *column = &g_array_index(columns, Column, at);
    g_string_append_printf(dropped, "%s%s", dropped->len ? ", " : "", head_of(column));
    g_array_remove_index(columns, (guint)at);
    return true;
}

static void append_table(GString *out, const RhPlan *plan, GString *notes)
{
    bool waits_known = count_rehearsed(plan) > 0;
    g_autoptr(GPtrArray) rows = rh_report_plan_rows(plan);
    if (rh_report_fuller_is_row(plan))
        g_ptr_array_add(rows, plan->over_budget);
    g_autoptr(GArray) columns = shown_columns(rows, waits_known);
    g_autoptr(GString) dropped = g_string_new(NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    while (!write_table(text, plan, rows, columns) && drop_column(columns, dropped))
        continue;
    g_string_append(out, text->str);
    append_shared_degrees(out, rows);
    add_legends(notes, columns, rows);
    g_autofree char *hidden = g_strdup_printf(
        "columns left out for lack of width: %s; -v prints layouts in full", dropped->str);
    if (dropped->len > 0)
        add_note(notes, hidden);
}

static void add_footnotes(GString *notes, const RhPlan *plan, const RhPlanOptions *options)
{
    guint rehearsed = count_rehearsed(plan);
    g_autofree char *varied = rh_report_variant_knobs();
    g_autofree char *variants =
        g_strdup_printf("each row is the best of layouts that differ only in %s", varied);
    if (rehearsed > 0)
        add_note(notes,
                 "wait %, comm %: shares of the step in waits for other pipeline stages (bubble "
                 "and imbalance) and in exposed communication");
    if (rehearsed < plan->entries->len)
        add_note(notes, ">=: a lower bound of the step; that layout was not simulated");
    if (!options->variants && plan->entries->len > 1 && !rh_report_has_variants(plan))
        add_note(notes, variants);
    if (plan->families->len > 0)
        add_note(
            notes,
            "rows marked -: the best layout of each kind that is missing from the numbered rows");
}

void rh_report_append_plan_table(GString *out, const RhPlan *plan, const RhPlanOptions *options)
{
    g_autoptr(GString) notes = g_string_new(NULL);
    append_table(out, plan, notes);
    add_footnotes(notes, plan, options);
    if (notes->len > 0)
        rh_text_wrap(out, notes->str, 3, 79);
}

/* The answer of `plan` as text: at most 40 lines of 80 columns. */
#include <math.h>
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "report/capacity.h"
#include "report/families.h"
#include "report/format.h"
#include "report/near_batches.h"
#include "report/neighbours_answer.h"
#include "report/report.h"
#include "report/text_proof.h"
#include "report/watches.h"
#include "strategies/knobs.h"
#include "strategies/search/room.h"

#define FULLER_ROW_FRAC 0.05 /* from so much on it is worth a row */

#define BOLD(style)  ((style)->colored ? "\033[1m" : "")
#define PLAIN(style) ((style)->colored ? "\033[0m" : "")

static double gib(double bytes)
{
    return bytes / RH_GIB_BYTES;
}

/* --- the table of plans: columns that say the same for all are left out --- */

/* A bound where nothing was rehearsed. */
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
    return g_strdup_printf("%.1f", gib(r->memory.peak_bytes));
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

/* What a plan is known by besides its layout. */
typedef struct {
    const char *head;
    char *(*cell)(const RhRehearsal *r); /* caller frees */
    bool is_wait;
} Figure;

static const Figure figures[] = {
    {"step s", cell_step, false},  {"MFU %", cell_mfu, false},   {"GiB", cell_memory, false},
    {"bubble", cell_bubble, true}, {"comm", cell_exposed, true},
};

/* A column is of either. */
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

/* "-" (it has no meaning there) differs from nothing. */
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

/* Degrees that no column shows, as every row has the same: without a cp or an ep those shown would
 * not come to the GPUs. */
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

static void append_footnotes(GString *out, const RhPlan *plan, const RhPlanOptions *options)
{
    guint rehearsed = count_rehearsed(plan);
    if (rehearsed > 0)
        g_string_append(
            out, "   bubble, comm: % of the step that waits for stages, for communication\n");
    if (rehearsed < plan->entries->len)
        g_string_append(out, "   >=: a lower bound of the step; that layout was not rehearsed\n");
    if (!options->variants && plan->entries->len > 1 && !rh_report_has_variants(plan)) {
        g_autofree char *varied = rh_report_variant_knobs();
        g_string_append_printf(out, "   a row is the best of its kind: %s are varied within\n",
                               varied);
    }
    if (plan->families->len > 0)
        g_string_append(out, "   -: slower, the best of another way to cut the model\n");
}

/* Of the step's time, by the quickest that is less sure to fit. */
static double fuller_gain(const RhPlan *plan)
{
    const RhRehearsal *best = plan->fuller ? g_ptr_array_index(plan->entries, 0) : NULL;
    return best ? 1 - plan->fuller->step_time_s / best->step_time_s : 0;
}

/* As text of 79 columns; false: it is wider. */
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
        g_autoptr(GString) row = g_string_new(rows->pdata[k] == plan->fuller ? "!" : "-");
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

/* Takes the last column away that not every table has, and notes its name. */
static bool drop_column(GArray *columns, GString *dropped)
{
    for (guint i = columns->len; i-- > 0;) {
        const Column *column = &g_array_index(columns, Column, i);
        if (!column->knob || column->knob->column != RH_COLUMN_VARIES)
            continue;
        g_string_append_printf(dropped, "%s%s", dropped->len ? ", " : "", head_of(column));
        g_array_remove_index(columns, i);
        return true;
    }
    return false;
}

static void append_table(GString *out, const RhPlan *plan)
{
    bool waits_known = count_rehearsed(plan) > 0;
    g_autoptr(GPtrArray) rows = rh_report_plan_rows(plan);
    if (fuller_gain(plan) >= FULLER_ROW_FRAC)
        g_ptr_array_add(rows, plan->fuller);
    g_autoptr(GArray) columns = shown_columns(rows, waits_known);
    g_autoptr(GString) dropped = g_string_new(NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    while (!write_table(text, plan, rows, columns) && drop_column(columns, dropped))
        continue;
    g_string_append(out, text->str);
    append_shared_degrees(out, rows);
    if (dropped->len > 0) {
        g_autofree char *line =
            g_strdup_printf("   left out for width: %s; -v says each layout whole", dropped->str);
        rh_text_wrap(out, line, 3, 79);
    }
}

/* --- the other lines --- */

/* What the objective is, when the first lines do not say it anyway. */
static void append_objective(GString *out, const RhRehearsal *best, RhObjective objective)
{
    if (objective == RH_OBJECTIVE_COST && best->cost_usd > 0)
        g_string_append_printf(out, "      %.4g USD a step\n", best->cost_usd);
    g_autofree char *energy = rh_text_amount(best->energy.total_j, "J");
    if (objective == RH_OBJECTIVE_ENERGY && best->energy.total_j > 0)
        g_string_append_printf(out, "      %s a step\n", energy);
}

/* The first line, wrapped where a layout needs many words. */
static void append_title(GString *out, const char *label, const char *title,
                         const RhReportStyle *style)
{
    g_autofree char *line = g_strdup_printf("%s: %s", label, title);
    g_autoptr(GString) wrapped = g_string_new(NULL);
    rh_text_wrap(wrapped, line, 6, 79);
    g_string_truncate(wrapped, wrapped->len - 1); /* its newline */
    g_string_append_printf(out, "%s%s%s\n", BOLD(style), wrapped->str, PLAIN(style));
}

/* The answer is what stands first: `label`, or what is best beside others. */
static void append_best(GString *out, const char *label, const RhRehearsal *best,
                        RhObjective objective, const RhReportStyle *style)
{
    g_autofree char *title = rh_layout_title(&best->layout);
    g_autofree char *step = rh_quantity_format(best->step_time_s, RH_QUANTITY_S, 3);
    g_autofree char *tokens = rh_text_rate(best->tokens_per_s_per_gpu);
    append_title(out, label, title, style);
    bool known = best->events_count > 0;
    g_autofree char *number = rh_text_number(100 * rh_report_error_frac(best), 2);
    g_autofree char *error =
        rh_report_error_frac(best) > 0 ? g_strdup_printf(" +-%s %%", number) : g_strdup("");
    g_string_append_printf(out,
                           "      %s%s/step%s   %s%.1f %% MFU   %s %s/s/GPU   %.1f of %.1f GiB\n",
                           known ? "" : "at least ", step, error, known ? "" : "at most ",
                           100 * best->mfu_frac, tokens, rh_report_unit(best->pictures),
                           gib(best->memory.peak_bytes), gib(best->memory_capacity_bytes));
    append_objective(out, best, objective);
    if (!rh_report_mfu_plain(best)) {
        g_autofree char *peak = rh_report_mfu_peak(best);
        g_string_append_printf(out, "      MFU %s\n", peak);
    }
    g_string_append_c(out, '\n');
}

/* -v: each layout in the form that -s takes. */
static void append_layouts(GString *out, const RhPlan *plan)
{
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        g_autofree char *layout = rh_layout_format(&r->layout);
        g_string_append_printf(out, "#%u %s\n", i + 1, layout);
    }
}

static void append_labelled(GString *out, const char *label, const char *text)
{
    g_string_append_printf(out, "%s: ", label);
    g_autofree char *line = g_strdup(text);
    rh_text_wrap(out, line, (int)strlen(label) + 2, 79);
}

/* Of --stack any: what each framework came to, the best first. */
static void append_others(GString *out, const RhPlan *plan)
{
    if (!plan->others)
        return;
    const RhPlanOther *best = &g_array_index(plan->others, RhPlanOther, 0);
    double bar = rh_report_error_frac(g_ptr_array_index(plan->entries, 0));
    for (guint i = 0; i < plan->others->len; i++) {
        const RhPlanOther *other = &g_array_index(plan->others, RhPlanOther, i);
        g_autofree char *title = rh_layout_title(&other->layout);
        g_autofree char *step = rh_quantity_format(other->step_time_s, RH_QUANTITY_S, 3);
        double more = other->step_time_s / best->step_time_s - 1;
        const char *tie = i > 0 && more < bar ? " (a tie within the error bar)" : "";
        g_autofree char *line =
            other->refused ? g_strdup_printf("%s: none of these: %s", other->stack, other->refused)
                           : g_strdup_printf("%s: %s/step, %+.1f %%%s, %.1f GiB: %s", other->stack,
                                             step, 100 * more, tie, gib(other->peak_bytes), title);
        append_labelled(out, "runs in", line);
    }
    g_string_append_c(out, '\n');
}

static void append_why(GString *out, const RhPlan *plan)
{
    if (plan->entries->len < 2)
        return;
    g_autofree char *reason = rh_report_reason(g_ptr_array_index(plan->entries, 0),
                                               g_ptr_array_index(plan->entries, 1), "#2");
    if (reason)
        append_labelled(out, "why 1", reason);
}

/* Which plans were performed by merged ranks, and why. */
static void append_approximate(GString *out, const RhPlan *plan)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const char *why = NULL;
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        if (!r->approximate)
            continue;
        g_string_append_printf(text, "%s#%u", text->len ? ", " : "", i + 1);
        why = why ? why : r->approximate_why;
    }
    if (!why)
        return;
    g_string_append_printf(text, ": %s", why);
    append_labelled(out, "approximate", text->str);
}

/* The quickest that is less sure to fit: what it would gain, and its odds; -v: what these are of. Where it gains much it is a
 * row of the table. */
static void append_fuller(GString *out, const RhPlan *plan, const RhReportStyle *style)
{
    const RhRehearsal *r = plan->fuller;
    if (!r)
        return;
    bool row = fuller_gain(plan) >= FULLER_ROW_FRAC;
    g_autofree char *title = rh_layout_title(&r->layout);
    g_autofree char *step = rh_quantity_format(r->step_time_s, RH_QUANTITY_S, 3);
    g_autofree char *odds = style->verbosity > 0 ? rh_report_odds(r) : rh_report_odds_brief(r);
    g_autofree char *line = g_strdup_printf(
        "%s: %s/step, %.1f %% less, in %.1f of %.1f GiB; %s; --risk %.0f%% ranks it", title, step,
        100 * fuller_gain(plan), gib(r->memory.peak_bytes), gib(r->memory_capacity_bytes), odds,
        ceil(100 * r->risk_frac));
    append_labelled(out, row ? "!" : "fuller", line);
}

static void append_near_misses(GString *out, const RhPlan *plan, guint most)
{
    for (guint i = 0; i < MIN(plan->near_misses->len, most); i++) {
        const RhNearMiss *miss = g_ptr_array_index(plan->near_misses, i);
        g_autofree char *title = rh_layout_title(&miss->layout);
        g_autofree char *line = g_strdup_printf("%s: %s", title, miss->reason);
        append_labelled(out, "near miss", line);
    }
}

static void append_too_large(GString *out, const RhPlan *plan)
{
    if (plan->too_large_count == 0)
        return;
    g_autofree char *count = rh_text_count(plan->too_large_count);
    g_string_append_printf(out, "%s left out, of more tasks than a search rehearses; ", count);
}

static void append_lost(GString *out, const RhPlan *plan)
{
    if (plan->lost_count > 0)
        g_string_append_printf(out,
                               "%" G_GINT64_FORMAT " left out, as memory ran out in each "
                               "rehearsal of theirs; ",
                               plan->lost_count);
    if (plan->unperformed_count > 0)
        g_string_append_printf(out,
                               "for want of memory %" G_GINT64_FORMAT " not performed again "
                               "with every byte as a flow; ",
                               plan->unperformed_count);
}

static void append_counts(GString *out, const RhPlan *plan, const RhPlanOptions *options,
                          const RhReportStyle *style)
{
    g_autofree char *legal = rh_text_count(plan->legal_count);
    g_autofree char *fit = rh_text_count(plan->fit_count);
    g_autofree char *roomy = rh_text_count(plan->roomy_count);
    g_autofree char *rehearsed = rh_text_count(plan->rehearsed_count);
    double capacity =
        ((const RhRehearsal *)g_ptr_array_index(plan->entries, 0))->memory_capacity_bytes;
    g_autofree char *within = plan->roomy_count == plan->fit_count || style->verbosity == 0
                                  ? g_strdup("")
                                  : g_strdup_printf(", %s within %.0f %% of the memory", roomy,
                                                    100 * plan->ranked_bytes / capacity);
    g_autoptr(GString) text = g_string_new(NULL);
    /* Wrapped with a time of this width, whatever it took: equal plans have equal lines. */
    static const char reserved[] = "9999.9";
    g_autofree char *spent = g_strdup_printf("%.1f", plan->wall_s);
    if (plan->cuts_count > 0) {
        g_autofree char *cuts = rh_text_count(plan->cuts_count);
        g_autofree char *opened = rh_text_count(plan->cuts_opened_count);
        g_string_printf(text, "%s cuts of the model, %s looked into; of their layouts ", cuts,
                        opened);
    }
    g_string_append_printf(text, "%s legal, %s fit%s, %s rehearsed%s%s%s; ", legal, fit, within,
                           rehearsed, style->timeless ? "" : " in\u00a0",
                           style->timeless ? "" : reserved, style->timeless ? "" : "\u00a0s");
    append_too_large(text, plan);
    append_lost(text, plan);
    rh_report_append_proof(text, plan, options);
    g_autoptr(GString) wrapped = g_string_new(NULL);
    append_labelled(wrapped, "layouts", text->str);
    g_string_replace(wrapped, reserved, spent, 1);
    g_string_replace(wrapped, "\u00a0", " ", 0);
    g_string_append(out, wrapped->str);
}

static void append_next(GString *out, const RhReportStyle *style)
{
    g_autofree char *path = style->saved_as ? rh_text_path(style->saved_as) : NULL;
    if (path)
        g_string_append_printf(out, "next: rehearse explain %s#1\n", path);
    else
        g_string_append(out,
                        "next: the same with -o plan.json; then rehearse explain plan.json#1\n");
}

/* --- nothing fits --- */

static void append_changes(GString *out, const RhPlan *plan)
{
    if (plan->changes->len == 0) {
        g_string_append(out, "note: no single change of GPUs, batch or sequence makes it fit\n");
        return;
    }
    g_string_append(out, "help: changes that make it fit, smallest first\n");
    g_autoptr(RhTable) table = rh_table_new("<<");
    for (guint i = 0; i < plan->changes->len; i++) {
        const RhSmallestChange *change = g_ptr_array_index(plan->changes, i);
        g_autofree char *text = rh_report_change(change);
        rh_table_rowf(table, "%s|%s", text, change->effect);
    }
    rh_table_append(table, out, "  ");
}

static void append_timed_out(GString *out, const RhPlan *plan)
{
    g_autofree char *legal = rh_text_count(plan->legal_count);
    g_autofree char *fit = rh_text_count(plan->fit_count);
    g_string_append_printf(out,
                           "no answer yet: --timeout came before any layout was rehearsed\n"
                           "layouts: %s legal, %s known to fit so far\n"
                           "help: a longer --timeout, or --quick\n",
                           legal, fit);
}

static void append_all_too_large(GString *out, const RhPlan *plan)
{
    g_autofree char *fit = rh_text_count(plan->fit_count);
    g_string_append_printf(out,
                           "no layout that fits can be rehearsed: each of the %s has more tasks\n"
                           "than a search rehearses, at least %.4g s a step\n"
                           "help: --quick ranks by lower bounds; or a smaller --global-batch\n",
                           fit, plan->proof_bound_s);
}

static void append_no_plan(GString *out, const RhQuestion *q, const RhPlan *plan,
                           const RhPlanOptions *options, const RhReportStyle *style)
{
    const RhCase *c = q->c;
    double capacity = rh_train_memory_capacity(c),
           most = rh_room(c, options->constraints, options->constraints_count, options->risk_frac)
                      .most_bytes,
           whole = gib(fmin(most, capacity) * c->job.gpus);
    g_autofree char *holds = rh_text_count(llround(whole));
    g_autofree char *states = rh_text_count(llround(gib(plan->states_bytes)));
    g_autofree char *legal = rh_text_count(plan->legal_count);
    g_autofree char *cuts = rh_text_count(plan->cuts_count);
    g_string_append_printf(out, "%sno layout fits%s: %d GPU%s hold%s %s GiB", BOLD(style),
                           PLAIN(style), c->job.gpus, c->job.gpus == 1 ? "" : "s",
                           c->job.gpus == 1 ? "s" : "", holds);
    if (most < capacity)
        g_string_append(out, " within the limit");
    if (plan->states_bytes > 0)
        g_string_append_printf(out, "; the training states\nof %s alone are %s GiB, %.1f GiB a GPU",
                               c->model->name, states, gib(plan->states_bytes) / c->job.gpus);
    if (plan->legal_count > 0)
        g_string_append_printf(out, "\nlayouts: %s legal, 0 fit\n", legal);
    else
        g_string_append_printf(out, "\nlayouts: %s cuts of the model, none of which fits\n", cuts);
    append_near_misses(out, plan, G_MAXUINT);
    append_changes(out, plan);
}

char *rh_report_plan_text(const RhQuestion *q, const RhPlan *plan, const RhPlanOptions *options,
                          const RhReportStyle *style)
{
    GString *out = g_string_new(NULL);
    if (plan->entries->len == 0) {
        if (plan->timed_out)
            append_timed_out(out, plan);
        else if (plan->fit_count > 0)
            append_all_too_large(out, plan);
        else
            append_no_plan(out, q, plan, options, style);
        return g_string_free(out, FALSE);
    }
    g_autoptr(GPtrArray) watches = rh_report_plan_watches(q, plan, options);
    if (plan->beside)
        rh_report_append_beside(out, plan, options->gap_frac);
    append_best(out,
                plan->lost_may_win ? "best of those that this machine had the memory to rehearse"
                : plan->unsafe     ? "best, but it may run out of memory"
                : plan->beside     ? "alone"
                                   : "best",
                g_ptr_array_index(plan->entries, 0), options->objective, style);
    append_table(out, plan);
    append_footnotes(out, plan, options);
    g_string_append_c(out, '\n');
    append_others(out, plan);
    rh_report_append_families(out, plan);
    append_why(out, plan);
    rh_report_near_batches(out, q->c, plan);
    rh_report_trust(out, g_ptr_array_index(plan->entries, 0));
    if (options->objective == RH_OBJECTIVE_COST)
        rh_report_price(out, q->platform_spec, q->hardware);
    append_fuller(out, plan, style);
    rh_report_watches_text(out, watches);
    append_approximate(out, plan);
    append_near_misses(out, plan, style->verbosity > 0 ? G_MAXUINT : 1);
    if (style->verbosity > 0)
        append_layouts(out, plan);
    append_counts(out, plan, options, style);
    rh_report_sources(out, q);
    append_next(out, style);
    return g_string_free(out, FALSE);
}

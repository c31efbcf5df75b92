#include <string.h>

#include "base/text/text_table.h"
#include "report/capacity/capacity_words.h"
#include "report/format.h"
#include "report/next_command.h"
#include "strategies/search/error_bar_key.h"

#define ROWS_MAX    20
#define SIZES_NAMED 8    /* chosen sizes, at most */
#define SPARE_FRAC  0.75 /* a run that takes less of its time could use fewer GPUs */

static const RhCapacityCell *cell_at(const RhCapacityAnswer *a, guint i)
{
    return &g_array_index(a->cells, RhCapacityCell, i);
}

static bool of_pictures(const RhCapacityAnswer *a)
{
    return rh_model_sees_pictures(a->questions[0]->c->model);
}

/* Number of cells without an answer for lack of time. */
static guint unknown_count(const RhCapacityAnswer *a)
{
    guint count = 0;
    for (guint i = 0; i < a->cells->len; i++)
        count += cell_at(a, i)->timed_out && !cell_at(a, i)->r;
    return count;
}

/* --- text --- */

static void append_line(GString *out, int indent, const char *text)
{
    rh_text_wrap(out, text, indent, 79);
}

/* Formats the global batches of all cells: "2,048", "512 to 2,048". Caller frees. */
static char *batches_text(const RhCapacityAnswer *a)
{
    int64_t low = G_MAXINT64, high = 0;
    rh_capacity_batches_asked(a->cells, &low, &high);
    g_autofree char *least = rh_text_count(low), *most = rh_text_count(high);
    return low < high ? g_strdup_printf("%s to %s", least, most) : g_strdup(most);
}

/* Appends the job: "job: llama-3.1-8b, 2.00 T tokens, global batch 512 to 2,048 samples of 8,192 tokens, framework megatron". */
static void append_job(GString *out, const RhCapacityAnswer *a)
{
    const RhQuestion *q = a->questions[0];
    bool pictures = of_pictures(a);
    g_autofree char *batches = batches_text(a);
    g_autofree char *tokens = rh_quantity_format(a->goal->tokens, RH_QUANTITY_TOKENS, 3);
    g_autofree char *sequence = rh_text_count(q->c->job.sequence);
    g_autofree char *amount =
        a->goal->tokens > 0 ? g_strdup_printf(", %s %s", tokens, pictures ? "pictures" : "tokens")
                            : g_strdup("");
    g_autofree char *line =
        g_strdup_printf("job: %s%s, global batch %s %s%s%s, framework %s", q->c->model->name,
                        amount, batches, pictures ? "pictures" : "samples of ",
                        pictures ? "" : sequence, pictures ? "" : " tokens", q->c->stack->name);
    append_line(out, 2, line);
}

/* Is the cell the smallest of its platform, with time to spare? */
static bool is_smallest(const RhCapacityAnswer *a, const RhCapacityCell *best)
{
    for (guint i = 0; i < a->cells->len; i++)
        if (strcmp(cell_at(a, i)->platform, best->platform) == 0 &&
            cell_at(a, i)->c.job.gpus < best->c.job.gpus)
            return false;
    return a->goal->by_s > 0 &&
           best->seconds * (1 + best->allowed_frac) < SPARE_FRAC * a->goal->by_s;
}

static void append_best(GString *out, const RhCapacityAnswer *a, const RhReportStyle *style)
{
    const RhCapacityCell *best = cell_at(a, (guint)a->best);
    const RhRehearsal *r = best->r;
    g_autofree char *what = rh_capacity_choice(a, best);
    g_autofree char *goal = rh_capacity_goal_text(a->goal);
    g_autofree char *first =
        g_strdup_printf("%s%s%s: %s", rh_capacity_superlative(a), *goal ? " " : "", goal, what);
    g_string_append(out, style->colored ? "\033[1m" : "");
    append_line(out, 6, first);
    g_string_truncate(out, out->len - 1);
    g_string_append_printf(out, "%s\n      ", style->colored ? "\033[0m" : "");
    g_autofree char *title = rh_layout_title(&r->layout);
    append_line(out, 6, title);
    g_autofree char *step = rh_quantity_format(r->step_time_s, RH_QUANTITY_S, 3);
    g_autofree char *bar = rh_text_number(100 * rh_report_error_frac(r), 2);
    g_autofree char *error =
        rh_report_error_frac(r) > 0 ? g_strdup_printf(" ±%s %%", bar) : g_strdup("");
    g_autofree char *rate = rh_text_rate(r->tokens_per_s_per_gpu);
    g_string_append_printf(
        out, "      %s/step%s   %.1f %% MFU   %s %s/s/GPU   %.1f of %.1f GiB/GPU\n", step, error,
        100 * r->mfu_frac, rate, rh_report_unit(r->pictures), r->memory.peak_bytes / RH_GIB_BYTES,
        r->memory_capacity_bytes / RH_GIB_BYTES);
    if (!rh_report_mfu_plain(r)) {
        g_autofree char *peak = rh_report_mfu_peak(r);
        g_string_append_printf(out, "      MFU %s\n", peak);
    }
    append_job(out, a);
    if (is_smallest(a, best))
        g_string_append_printf(out,
                               "%d GPUs are the smallest size searched; fewer may do (--gpus)\n",
                               best->c.job.gpus);
    g_string_append_c(out, '\n');
}

/* Appends the distance to the target, and what would meet it, where nothing does. */
static void append_none(GString *out, const RhCapacityAnswer *a)
{
    int32_t soonest = rh_capacity_soonest(a->cells), cheapest = rh_capacity_cheapest(a->cells);
    g_autofree char *goal = rh_capacity_goal_text(a->goal);
    guint unknown = unknown_count(a);
    if (soonest < 0) {
        g_string_append(out, unknown == 0 ? "no layout fits at any of these sizes\n\n"
                             : unknown < a->cells->len
                                 ? "--timeout ended before a layout was found; the sizes that were "
                                   "searched do not fit\nhelp: a longer --timeout\n\n"
                                 : "--timeout ended before a layout was found\n"
                                   "help: a longer --timeout, or fewer sizes\n\n");
        return;
    }
    g_string_append_printf(out, "no size %s %s%s\n",
                           a->goal->tokens > 0 ? "finishes" : "completes a step", goal,
                           unknown > 0 ? " among those searched before --timeout" : "");
    g_autofree char *soon = rh_capacity_choice(a, cell_at(a, (guint)soonest));
    g_autofree char *cheap = rh_capacity_choice(a, cell_at(a, (guint)cheapest));
    g_autofree char *first = g_strdup_printf("fastest: %s", soon);
    g_autofree char *second = g_strdup_printf(
        "%s: %s", rh_capacity_priced(a->cells) ? "cheapest" : "fewest GPU-hours", cheap);
    append_line(out, 9, first);
    append_line(out, 10, second);
    g_string_append_c(out, '\n');
}

static bool is_soonest_of_platform(const RhCapacityAnswer *a, guint i)
{
    if (!cell_at(a, i)->r)
        return false;
    for (guint k = 0; k < a->cells->len; k++)
        if (k != i && cell_at(a, k)->r &&
            strcmp(cell_at(a, k)->platform, cell_at(a, i)->platform) == 0 &&
            cell_at(a, k)->seconds < cell_at(a, i)->seconds)
            return false;
    return true;
}

/* Is a row shown? If there are many, only those on the Pareto front, and the fastest of each platform. */
static bool is_shown(const RhCapacityAnswer *a, guint i, const RhReportStyle *style)
{
    return a->cells->len <= ROWS_MAX || style->verbosity > 0 || cell_at(a, i)->pareto ||
           (int32_t)i == a->best || is_soonest_of_platform(a, i);
}

static char *cell_text(double value, bool known)
{
    return known ? rh_text_number(value, 3) : g_strdup("-");
}

/* Columns besides the fixed ones; those with equal cells are left out. */
typedef struct {
    bool dtype, tokens, money; /* money, or GPU-hours */
    RhCapacityUnits units;
} Columns;

/* Cell of an optional column: "|fp8", "|1.23", or nothing. Caller frees. */
static char *optional_cell(bool shown, const char *text)
{
    return shown ? g_strconcat("|", text, NULL) : g_strdup("");
}

/* Names what rh_report_binds() found for the table. */
static const char *part_text(const char *binds)
{
    return strcmp(binds, "network") == 0  ? "comm"
           : strcmp(binds, "batch") == 0  ? "wait"
           : strcmp(binds, "memory") == 0 ? "recompute"
                                          : binds;
}

static void add_row(RhTable *table, const RhCapacityAnswer *a, const Columns *columns, guint i)
{
    const RhCapacityCell *cell = cell_at(a, i);
    const RhCapacityUnits *u = &columns->units;
    const char *mark = (int32_t)i == a->best ? "*" : cell->pareto ? "+" : "";
    g_autofree char *dtype = optional_cell(columns->dtype, cell->c.job.recipe->name);
    if (!cell->r) {
        rh_table_rowf(table, "|%s|%d%s|-|-%s|-|-|-|-|%s", cell->platform, cell->c.job.gpus, dtype,
                      columns->tokens ? "|-" : "", rh_capacity_lacks(cell));
        return;
    }
    g_autofree char *number = cell_text(cell->tokens / u->tokens_count, true);
    g_autofree char *tokens = optional_cell(columns->tokens, number);
    g_autofree char *layout = rh_capacity_degrees(&cell->r->layout);
    g_autofree char *days = cell_text(cell->seconds / u->time_s, true);
    g_autofree char *usd = columns->money
                               ? cell_text(cell->usd / u->usd_usd, cell->usd > 0)
                               : cell_text(rh_capacity_gpu_hours(cell) / u->gpu_hours, true);
    g_autofree char *drawn = cell_text(cell->energy_j / u->energy_j, cell->energy_j > 0);
    double frac = 0;
    const char *part = part_text(rh_report_binds(cell->r, &frac));
    g_autofree char *loss = strcmp(part, "compute") == 0
                                ? g_strdup("-")
                                : g_strdup_printf("%s %.0f %%", part, 100 * frac);
    rh_table_rowf(table, "%s|%s|%d%s|%" G_GINT64_FORMAT "|%s%s|%s|%s|%s|%.0f|%s", mark,
                  cell->platform, cell->c.job.gpus, dtype, cell->c.job.global_batch, layout, tokens,
                  days, usd, drawn, 100 * cell->efficiency_frac, loss);
}

/* Appends sizes that are not whole nodes. */
static void append_rounded(GString *out, const RhCapacityAnswer *a)
{
    guint count = 0;
    const RhCapacityCell *first = NULL;
    for (guint i = 0; i < a->cells->len; i++) {
        const RhCapacityCell *cell = cell_at(a, i);
        if (cell->asked == cell->c.job.gpus)
            continue;
        first = first ? first : cell;
        count++;
    }
    if (!first)
        return;
    g_autofree char *line = g_strdup_printf(
        "%u size%s rounded up to whole nodes: %s%d GPUs of %s to %d", count, count > 1 ? "s" : "",
        count > 1 ? "for example " : "", first->asked, first->platform, first->c.job.gpus);
    g_string_append(out, "   ");
    append_line(out, 5, line);
}

static void append_left_out(GString *out, const RhCapacityAnswer *a)
{
    for (guint i = 0; a->left_out && i < a->left_out->len; i++) {
        const RhCapacityLeftOut *size = &g_array_index(a->left_out, RhCapacityLeftOut, i);
        g_autofree char *line =
            g_strdup_printf("left out: %s of %d GPUs: %s", size->platform, size->gpus, size->why);
        g_string_append(out, "   ");
        append_line(out, 5, line);
    }
}

/* Is there a size of which every loss is small? */
static bool some_lose_little(const RhCapacityAnswer *a)
{
    double frac;
    for (guint i = 0; i < a->cells->len; i++)
        if (cell_at(a, i)->r && strcmp(rh_report_binds(cell_at(a, i)->r, &frac), "compute") == 0)
            return true;
    return false;
}

static void append_table(GString *out, const RhCapacityAnswer *a, const RhReportStyle *style)
{
    const Columns columns = {rh_capacity_dtypes_vary(a->cells), a->goal->tokens <= 0,
                             rh_capacity_some_price(a->cells), rh_capacity_units(a->cells)};
    const RhCapacityUnits *u = &columns.units;
    g_autofree char *alignment = g_strconcat("<<>", columns.dtype ? "<" : "", "><",
                                             columns.tokens ? ">" : "", ">>>><", NULL);
    g_autofree char *tokens =
        g_strconcat(u->tokens, " ", of_pictures(a) ? "pictures" : "tokens", NULL);
    g_autofree char *shown_tokens = optional_cell(columns.tokens, tokens);
    g_autoptr(RhTable) table = rh_table_new(alignment);
    guint shown = 0;
    rh_table_rowf(table, "|platform|GPUs%s|batch|layout%s|%s|%s|%s|speed %%|largest loss",
                  columns.dtype ? "|dtype" : "", shown_tokens, u->time,
                  columns.money ? u->usd : u->hours, u->energy);
    for (guint i = 0; i < a->cells->len; i++)
        if (is_shown(a, i, style)) {
            add_row(table, a, &columns, i);
            shown++;
        }
    rh_table_append_within(table, out, "", columns.dtype || columns.tokens ? 80 : G_MAXINT);
    g_autofree char *legend = g_strdup_printf(
        "  * recommended; + Pareto-optimal in %sdays, %s and energy; speed %%: %s/s/GPU, the "
        "smallest size being 100; largest loss: the largest of exposed comm, waiting for pipeline stages and "
        "recompute, in %% of the step%s",
        columns.tokens ? "tokens, " : "", columns.money ? "cost" : "GPU-hours",
        rh_report_unit(of_pictures(a)), some_lose_little(a) ? "; -: each is below 5 %" : "");
    append_line(out, 2, legend);
    append_rounded(out, a);
    append_left_out(out, a);
    if (shown < a->cells->len)
        g_string_append_printf(
            out, "  %u of %u sizes: the Pareto front, and the fastest of each platform; -v: all\n",
            shown, a->cells->len);
}

/* Says how much of the shown cell's money is electricity. */
static void append_electricity(GString *out, const RhCapacityAnswer *a)
{
    int32_t which = a->best >= 0 ? a->best : rh_capacity_soonest(a->cells);
    if (a->goal->usd_per_kwh <= 0)
        return;
    g_autofree char *price = rh_quantity_format(a->goal->usd_per_kwh, RH_QUANTITY_USD, 3);
    const RhCapacityCell *cell = which >= 0 ? cell_at(a, (guint)which) : NULL;
    const RhPlatform *hardware = cell ? a->questions[which]->hardware : NULL;
    g_autofree char *usd = cell ? rh_report_money(cell->electricity_usd) : NULL;
    const char *pue = !cell || hardware->pue.value > 0 ? "" : "; PUE is not counted (--pue)";
    g_autofree char *line =
        cell && cell->electricity_usd <= 0
            ? g_strdup_printf("electricity: %s a kWh, but the power of %s is unknown", price,
                              cell->platform)
        : cell && hardware->price_usd_per_gpu_hour.value <= 0
            ? g_strdup_printf("electricity: %s a kWh is the only cost%s", price, pue)
        : cell ? g_strdup_printf("electricity: %s a kWh, %s of the cost%s", price, usd, pue)
               : g_strdup_printf("electricity: %s a kWh", price);
    append_line(out, 2, line);
}

/* Appends the price of each platform once. */
static void append_prices(GString *out, const RhCapacityAnswer *a)
{
    for (guint i = 0; i < a->cells->len; i++) {
        const char *name = cell_at(a, i)->platform;
        if (i > 0 && strcmp(cell_at(a, i - 1)->platform, name) == 0)
            continue;
        if (a->questions[i]->hardware->price_usd_per_gpu_hour.value > 0)
            rh_report_price(out, name, a->questions[i]->hardware);
        else
            g_string_append_printf(out, "price of %s: unknown; --price %s=2.50USD gives costs\n",
                                   name, name);
    }
    append_electricity(out, a);
}

/* Says which sizes were not searched completely. */
static void append_cut(GString *out, const RhCapacityAnswer *a)
{
    guint cut = 0, lost = 0;
    for (guint i = 0; i < a->cells->len; i++) {
        cut += cell_at(a, i)->timed_out;
        lost += cell_at(a, i)->lost_may_win;
    }
    if (cut > 0)
        g_string_append_printf(
            out, "stopped by --timeout: %u of %u sizes were not searched completely\n", cut,
            a->cells->len);
    if (lost > 0)
        g_string_append_printf(out,
                               "this machine ran out of memory: %u of %u sizes may have a better "
                               "layout than shown\n",
                               lost, a->cells->len);
}

/* Names the sizes and where they are from: "sizes: 40, 56, 80 GPUs, around what the deadline needs". */
static void append_sizes(GString *line, const RhCapacityAnswer *a)
{
    g_autoptr(GString) sizes = g_string_new(NULL);
    for (guint i = 0; i < a->cells->len; i++)
        g_string_append_printf(sizes, "%s%d", i > 0 ? ", " : "", cell_at(a, i)->c.job.gpus);
    g_string_append_printf(line,
                           "sizes tried: %s GPUs, around what the deadline needs (--gpus for "
                           "others)",
                           sizes->str);
}

/* Says how many sizes fit and meet the limits; with -v how many are proved. */
static void append_fine_print(GString *out, const RhCapacityAnswer *a, bool verbose)
{
    guint proved = 0, fit = 0, met = 0;
    bool counted = false;
    for (guint i = 0; i < a->cells->len; i++) {
        proved += cell_at(a, i)->proved && cell_at(a, i)->r;
        fit += cell_at(a, i)->r != NULL;
        met += cell_at(a, i)->meets;
        counted |= cell_at(a, i)->goodput_frac > 0 && cell_at(a, i)->goodput_frac < 1;
    }
    guint unknown = unknown_count(a), all = a->cells->len;
    g_autoptr(GString) line = g_string_new(NULL);
    if (a->sizes_chosen && all <= SIZES_NAMED &&
        cell_at(a, 0)->series == cell_at(a, all - 1)->series)
        append_sizes(line, a);
    if (fit < all || met < all) {
        g_string_append_printf(line, "%s%u of %u sizes fit", line->len > 0 ? "; " : "", fit, all);
        if (unknown > 0)
            g_string_append_printf(line, " (unknown for %u)", unknown);
        g_string_append_printf(line, ", %u meet the limits", met);
    }
    if (verbose)
        g_string_append_printf(line, "%slayouts of %u sizes proved to within %.2g %%",
                               line->len > 0 ? "; " : "", proved, 100 * a->goal->gap_frac);
    g_string_append_printf(line, "%snot counted: %spauses for evaluating the model",
                           line->len > 0 ? "; " : "", counted ? "" : "failures, restarts, ");
    append_line(out, 2, line->str);
}

/* Appends the error bar with which a date and a budget are kept, and where it is from, unless the
 * shown cell has one. */
static void append_kept(GString *out, const RhCapacityAnswer *a)
{
    int32_t which = a->best >= 0 ? a->best : rh_capacity_soonest(a->cells);
    const RhCapacityCell *cell = which >= 0 ? cell_at(a, (guint)which) : NULL;
    if ((a->goal->by_s <= 0 && a->goal->budget_usd <= 0) || !cell)
        return;
    const char *what = a->goal->by_s <= 0         ? "the budget holds"
                       : a->goal->budget_usd <= 0 ? "the deadline holds"
                                                  : "deadline and budget hold";
    RhEvidenceKey like = rh_evidence_key_of(&cell->c);
    g_autofree char *widest =
        cell->r->bar ? NULL : g_strdup_printf(", the widest of %s models", like.kind);
    g_autofree char *line =
        cell->allowed_frac > 0
            ? g_strdup_printf("%s with every step longer by the error bar%s (unless --error-bar "
                              "none)",
                              what, widest ? widest : "")
            : g_strdup_printf("%s as predicted: %s", what,
                              a->goal->as_predicted ? "the error bar is not allowed for"
                                                    : "the error bar is unknown");
    append_line(out, 2, line);
}

static void append_next(GString *out, const RhCapacityAnswer *a)
{
    int32_t which = a->best >= 0 ? a->best : rh_capacity_soonest(a->cells);
    if (which < 0)
        return;
    const RhCapacityCell *cell = cell_at(a, (guint)which);
    rh_report_next_plan(out, &(RhNextPlan){.q = a->questions[which],
                                           .command = "plan",
                                           .platform = cell->platform,
                                           .gpus = cell->c.job.gpus,
                                           .global_batch = cell->c.job.global_batch,
                                           .sequence = cell->c.job.sequence});
}

/* Appends what failures add to the runs, where they are counted. */
static void append_failures(GString *out, const RhCapacityAnswer *a, bool verbose)
{
    double least = 1, most = 0;
    for (guint i = 0; i < a->cells->len; i++) {
        const RhCapacityCell *cell = cell_at(a, i);
        if (!cell->r || cell->goodput_frac <= 0 || cell->goodput_frac >= 1)
            continue;
        least = MIN(least, cell->goodput_frac);
        most = MAX(most, cell->goodput_frac);
    }
    if (most <= 0)
        return;
    g_autofree char *range = most - least < 5e-4
                                 ? g_strdup_printf("%.1f %%", 100 * most)
                                 : g_strdup_printf("%.1f to %.1f %%", 100 * least, 100 * most);
    const char *what = rh_capacity_some_price(a->cells) ? "cost" : "GPU-hours";
    g_autofree char *source =
        verbose ? g_strdup_printf("; failure rate: %s", a->goal->failures->about) : g_strdup("");
    g_autofree char *line = g_strdup_printf(
        "days, %s and energy include failures, checkpoints and restarts: goodput %s (--failures "
        "none leaves them out)%s",
        what, range, source);
    rh_text_wrap(out, line, 2, 79);
}

char *rh_report_capacity_text(const RhCapacityAnswer *a, const RhReportStyle *style)
{
    GString *out = g_string_new(NULL);
    if (a->best >= 0)
        append_best(out, a, style);
    else
        append_none(out, a);
    append_cut(out, a);
    append_table(out, a, style);
    append_prices(out, a);
    append_failures(out, a, style->verbosity > 0);
    append_fine_print(out, a, style->verbosity > 0);
    append_kept(out, a);
    if (a->best >= 0) {
        g_string_append_printf(out, "for the recommended %d GPUs:\n",
                               cell_at(a, (guint)a->best)->c.job.gpus);
        rh_report_trust(out, cell_at(a, (guint)a->best)->r);
    }
    append_next(out, a);
    return g_string_free(out, FALSE);
}

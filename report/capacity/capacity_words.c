#include "report/capacity/capacity_words.h"

#include <math.h>
#include <string.h>

#include "base/garray_access.h"
#include "platforms/platform_constants.h"
#include "report/format.h"

#define BINDS_LEAST 0.05
#define DAY_S       86400.0

const char *rh_report_binds(const RhRehearsal *r, double *frac)
{
    const struct {
        const char *name;
        double frac;
    } terms[] = {{"network", rh_report_exposed_frac(r)},
                 {"batch", rh_report_bubble_frac(r)},
                 {"memory", rh_report_share(r, rh_phase_name(RH_PHASE_RECOMPUTE))}};
    size_t most = 0;
    for (size_t i = 1; i < G_N_ELEMENTS(terms); i++)
        if (terms[i].frac > terms[most].frac)
            most = i;
    *frac = terms[most].frac;
    if (*frac >= BINDS_LEAST)
        return terms[most].name;
    *frac = rh_report_share(r, rh_wait_name(RH_WAIT_COMPUTE));
    return "compute";
}

static int months_of(const char *date)
{
    return (int)g_ascii_strtoll(date, NULL, 10) * 12 + (int)g_ascii_strtoll(date + 5, NULL, 10);
}

int rh_report_price_months(const RhPlatform *hardware)
{
    const char *price = hardware->price_usd_per_gpu_hour.date, *newest = rh_facts_newest(hardware);
    if (!price || strlen(price) < 7 || strlen(newest) < 7)
        return 0;
    return MAX(months_of(newest) - months_of(price), 0);
}

void rh_report_price(GString *out, const char *name, const RhPlatform *hardware)
{
    const RhFact *price = &hardware->price_usd_per_gpu_hour;
    if (price->value <= 0) {
        g_string_append_printf(out, "price of %s: unknown\n", name);
        return;
    }
    int months = rh_report_price_months(hardware);
    g_autofree char *usd = rh_quantity_format(price->value, RH_QUANTITY_USD, 3);
    g_autofree char *line =
        g_strdup_printf("price of %s: %s a GPU-hour%s%s%s%s", name, usd, *price->date ? ", " : "",
                        price->date, *price->source ? ", " : "", price->source);
    rh_text_wrap(out, line, 2, 79);
    if (months > RH_PRICE_MONTHS)
        g_string_append_printf(out, "  old: %d months before the newest figure of %s (%s)\n",
                               months, name, rh_facts_newest(hardware));
}

/* --- amounts --- */

char *rh_report_money(double usd)
{
    double scale = usd >= 999.5e3 ? 1e6 : usd >= 999.5 ? 1e3 : 1;
    g_autofree char *number = rh_text_number(usd / scale, 3);
    return g_strdup_printf("%s %s$", number, scale == 1e6 ? "M" : scale == 1e3 ? "k" : "");
}

char *rh_report_duration(double seconds)
{
    double scale = seconds >= DAY_S ? DAY_S : seconds >= 3600 ? 3600 : seconds >= 60 ? 60 : 1;
    g_autofree char *number = rh_text_number(seconds / scale, 3);
    return g_strdup_printf("%s %s", number,
                           scale == DAY_S  ? "d"
                           : scale == 3600 ? "h"
                           : scale == 60   ? "min"
                                           : "s");
}

double rh_capacity_gpu_hours(const RhCapacityCell *cell)
{
    return cell->seconds / 3600 * cell->c.job.gpus;
}

bool rh_capacity_some_price(const GArray *cells)
{
    for (guint i = 0; i < cells->len; i++)
        if (g_array_index(cells, RhCapacityCell, i).usd > 0)
            return true;
    return false;
}

RhCapacityUnits rh_capacity_units(const GArray *cells)
{
    double seconds = 0, usd = 0, hours = 0, joules = 0, tokens = 0;
    for (guint i = 0; i < cells->len; i++) {
        const RhCapacityCell *cell = &g_array_index(cells, RhCapacityCell, i);
        seconds = fmax(seconds, cell->seconds);
        usd = fmax(usd, cell->usd);
        hours = fmax(hours, rh_capacity_gpu_hours(cell));
        joules = fmax(joules, cell->energy_j);
        tokens = fmax(tokens, cell->tokens);
    }
    RhCapacityUnits u = {"days", "M$", "GPU-h", "GWh", "T", DAY_S, 1e6, 1, 3.6e12, 1e12};
    if (hours >= 1e4)
        u.hours = hours < 1e7 ? "k GPU-h" : "M GPU-h", u.gpu_hours = hours < 1e7 ? 1e3 : 1e6;
    if (seconds < DAY_S)
        u.time = "hours", u.time_s = 3600;
    if (usd < 1e6)
        u.usd = usd < 1e3 ? "$" : "k$", u.usd_usd = usd < 1e3 ? 1 : 1e3;
    if (joules < 3.6e12)
        u.energy = joules < 3.6e9 ? "kWh" : "MWh", u.energy_j = joules < 3.6e9 ? 3.6e6 : 3.6e9;
    if (tokens < 1e12)
        u.tokens = tokens < 1e9 ? "M" : "B", u.tokens_count = tokens < 1e9 ? 1e6 : 1e9;
    return u;
}

/* Text of an energy: "1.92 GWh". Caller frees. */
static char *energy(double joules)
{
    return rh_text_amount(joules / 3600, "Wh");
}

char *rh_capacity_degrees(const RhLayout *layout)
{
    g_autofree char *title = rh_layout_title(layout);
    return g_strndup(title, strcspn(title, ","));
}

/* Appends the upper end with which a target is kept: " (to 28.7 d)". */
static void append_upper(GString *out, const RhCapacityCell *cell, double predicted,
                         char *(*format)(double))
{
    if (cell->allowed_frac <= 0)
        return;
    g_autofree char *upper = format(rh_upper_end(predicted, cell->allowed_frac));
    g_string_append_printf(out, " (%s with its error bar)", upper);
}

/* Totals of a cell, as far as they are known: "27.3 d (to 28.7 d), 12.4 M$, 1.92 GWh"; for targets
 * with the upper end; where no tokens are given, their number first. Caller frees. */
static char *totals(const RhCapacityTarget *goal, const RhCapacityCell *cell)
{
    g_autofree char *time = rh_report_duration(cell->seconds);
    g_autofree char *tokens = rh_quantity_format(cell->tokens, RH_QUANTITY_TOKENS, 3);
    GString *out = g_string_new(NULL);
    if (goal->tokens <= 0)
        g_string_append_printf(out, "%s %s, ", tokens,
                               rh_model_sees_pictures(cell->c.model) ? "pictures" : "tokens");
    g_string_append(out, time);
    if (goal->by_s > 0)
        append_upper(out, cell, cell->seconds, rh_report_duration);
    if (cell->usd <= 0) {
        g_autofree char *hours = rh_text_large(rh_capacity_gpu_hours(cell));
        g_string_append_printf(out, ", %s GPU-hours", hours);
    }
    if (cell->usd > 0) {
        g_autofree char *price = rh_report_money(cell->usd);
        g_string_append_printf(out, ", %s", price);
        if (goal->budget_usd > 0)
            append_upper(out, cell, cell->usd, rh_report_money);
    }
    if (cell->energy_j > 0) {
        g_autofree char *drawn = energy(cell->energy_j);
        g_string_append_printf(out, ", %s", drawn);
    }
    return g_string_free(out, FALSE);
}

bool rh_capacity_dtypes_vary(const GArray *cells)
{
    const RhCapacityCell *first = RH_ELEMENTS(cells, RhCapacityCell);
    for (guint i = 1; i < cells->len; i++)
        if (first[i].c.job.recipe != first->c.job.recipe)
            return true;
    return false;
}

char *rh_capacity_choice(const RhCapacityAnswer *a, const RhCapacityCell *cell)
{
    g_autofree char *gpus = rh_text_count(cell->c.job.gpus);
    g_autofree char *batch = rh_text_count(cell->c.job.global_batch);
    g_autofree char *sums = totals(a->goal, cell);
    bool vary = rh_capacity_dtypes_vary(a->cells);
    return g_strdup_printf("%s GPUs of %s, %s%sglobal batch %s: %s", gpus, cell->platform,
                           vary ? cell->c.job.recipe->name : "", vary ? ", " : "", batch, sums);
}

char *rh_capacity_goal_text(const RhCapacityTarget *goal)
{
    g_autofree char *date = rh_report_duration(goal->by_s);
    g_autofree char *budget = rh_report_money(goal->budget_usd);
    return g_strdup_printf("%s%s%s%s%s", goal->by_s > 0 ? "within " : "",
                           goal->by_s > 0 ? date : "",
                           goal->by_s > 0 && goal->budget_usd > 0 ? " and " : "",
                           goal->budget_usd <= 0 || goal->by_s > 0 ? "" : "within ",
                           goal->budget_usd > 0 ? budget : "");
}

const char *rh_capacity_superlative(const RhCapacityAnswer *a)
{
    if (a->goal->tokens <= 0)
        return "most tokens";
    bool sooner = a->goal->budget_usd > 0 && a->goal->by_s <= 0;
    return sooner ? "fastest" : rh_capacity_priced(a->cells) ? "cheapest" : "fewest GPU-hours";
}

/* Says in a word why a size has no layout. */
const char *rh_capacity_lacks(const RhCapacityCell *cell)
{
    return cell->timed_out ? "no time" : cell->too_large ? "memory" : "no layout";
}

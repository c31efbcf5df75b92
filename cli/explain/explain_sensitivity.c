#include "cli/explain/explain_sensitivity.h"

#include <math.h>

#include "base/text/text_table.h"
#include "report/format.h"

#define ROWS_MAX 16

/* Texts by objective. */
typedef struct {
    const char *moved, *wins, *change;
} Words;

static const Words words_of[RH_OBJECTIVE_LAST] = {
    [RH_OBJECTIVE_TIME] = {"the step", "is fastest", "the step"},
    [RH_OBJECTIVE_COST] = {"the cost", "is cheapest", "the cost of a step"},
    [RH_OBJECTIVE_MEMORY] = {"the memory", "needs least", "the memory of the fullest GPU"},
    [RH_OBJECTIVE_ENERGY] = {"the energy", "needs least", "the energy of a step"},
};

static char *effect_text(double frac)
{
    return isnan(frac) ? g_strdup("-") : g_strdup_printf("%+.2f %%", 100 * frac);
}

static void append_table(GString *out, const RhInputs *in, const Words *words,
                         const GArray *effects)
{
    g_autoptr(RhTable) table = rh_table_new("<>>>");
    guint shown = 0;
    rh_table_rowf(table, "constant|value|10 %% less|10 %% more");
    for (guint i = 0; i < effects->len && shown < ROWS_MAX; i++, shown++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        if (rh_sensitivity_size(e) < RH_SENSITIVITY_LEAST_FRAC)
            break;
        g_autofree char *value = rh_text_fact(&e->fact, e->kind);
        g_autofree char *less = effect_text(e->less_frac);
        g_autofree char *more = effect_text(e->more_frac);
        rh_table_rowf(table, "%s|%s|%s|%s", e->key, value, less, more);
    }
    rh_table_append(table, out, "  ");
    if (shown < effects->len)
        g_string_append_printf(out, "  and %u with smaller effects\n", effects->len - shown);
    g_autofree char *note = g_strdup_printf(
        "change of %s, from lower bounds%s; -: not a valid value; m measured, f fitted, d data "
        "sheet, a assumed",
        words->change,
        rh_platform_devices_count(in->hardware) > 1
            ? ", of kernels from simulations with the GPUs of each device 10 % faster and slower"
            : "");
    g_string_append(out, "  ");
    rh_text_wrap(out, note, 2, 79);
}

/* "#2 below 212 GB/s (-53 %)" */
static void append_turn(GString *line, const RhSensitivity *e, bool above)
{
    double value = above ? e->above_value : e->below_value;
    g_autofree char *text = rh_quantity_format(value, e->kind, 3);
    g_string_append_printf(line, "%s #%" G_GINT64_FORMAT " %s %s (%+.0f %%)",
                           above && e->wins_below ? "," : "", above ? e->above_rank : e->below_rank,
                           above ? "above" : "below", text, 100 * (value / e->fact.value - 1));
}

static void append_turns(GString *out, const GArray *effects)
{
    bool any = false;
    for (guint i = 0; i < effects->len; i++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        g_autoptr(GString) line = g_string_new(e->key);
        if (!e->wins_below && !e->wins_above)
            continue;
        if (!any)
            g_string_append(out, "values at which another layout is the best\n");
        any = true;
        g_string_append_c(line, ':');
        if (e->wins_below)
            append_turn(line, e, false);
        if (e->wins_above)
            append_turn(line, e, true);
        g_string_append(out, "  ");
        rh_text_wrap(out, line->str, 4, 77);
    }
    if (!any)
        g_string_append(out, "no other layout is the best for any value between a tenth and ten "
                             "times the constant\n");
}

static bool is_told(const GArray *effects, int64_t rank)
{
    for (guint i = 0; i < effects->len; i++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        if (e->less_rank == rank || e->more_rank == rank ||
            (e->wins_below && e->below_rank == rank) || (e->wins_above && e->above_rank == rank))
            return true;
    }
    return false;
}

/* Layouts that the file does not name. */
static void append_rivals(GString *out, RhObjective objective, const GArray *effects,
                          const GArray *rivals)
{
    for (guint i = 0; i < rivals->len; i++) {
        const RhAlternative *rival = &g_array_index(rivals, RhAlternative, i);
        if (!is_told(effects, rival->rank))
            continue;
        g_autofree char *title = rh_layout_title(&rival->layout);
        RhRehearsal r = {.step_time_s = rival->step_time_s,
                         .energy = rival->energy,
                         .memory.peak_bytes = rival->peak_bytes};
        g_autofree char *worth = rh_report_worth(objective, &r);
        g_autofree char *line =
            g_strdup_printf("#%" G_GINT64_FORMAT " (not in the file, from a quick search): %s: %s",
                            rival->rank, title, worth);
        g_string_append(out, "  ");
        rh_text_wrap(out, line, 4, 77);
    }
}

void rh_explain_append_sensitivity(GString *out, const RhInputs *in, RhObjective objective,
                                   const GArray *effects, const GArray *rivals)
{
    const Words *words = &words_of[objective];
    guint turning = 0;
    for (guint i = 0; i < effects->len; i++) {
        const RhSensitivity *e = &g_array_index(effects, RhSensitivity, i);
        turning += e->less_wins || e->more_wins;
    }
    g_string_append_printf(
        out,
        "%u of the %u constants that affect %s change which plan %s when they differ by 10 %%\n",
        turning, effects->len, words->moved, words->wins);
    append_table(out, in, words, effects);
    append_turns(out, effects);
    append_rivals(out, objective, effects, rivals);
}

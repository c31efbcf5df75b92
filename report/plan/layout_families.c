#include "report/plan/layout_families.h"

#include <string.h>

#include "report/format.h"
#include "report/report.h"
#include "strategies/knobs.h"

#define SHOWN_LEAST_FRAC 0.0005 /* smaller shares would be 0.0 % */

static bool is_listed(const GArray *families, const char *family)
{
    for (guint i = 0; i < families->len; i++)
        if (strcmp(g_array_index(families, RhFamilyBest, i).family, family) == 0)
            return true;
    return false;
}

static double more_frac(const RhPlan *plan, double step_s)
{
    const RhRehearsal *best = g_ptr_array_index(plan->entries, 0);
    return step_s / best->step_time_s - 1;
}

static bool is_tie(const RhPlan *plan, const RhRehearsal *r)
{
    return more_frac(plan, r->step_time_s) <
           rh_report_error_frac(g_ptr_array_index(plan->entries, 0));
}

GPtrArray *rh_report_plan_rows(const RhPlan *plan)
{
    GPtrArray *rows = g_ptr_array_new();
    for (guint i = 0; i < plan->entries->len; i++)
        g_ptr_array_add(rows, g_ptr_array_index(plan->entries, i));
    for (guint i = 0; i < plan->families->len; i++)
        g_ptr_array_add(rows, g_ptr_array_index(plan->families, i));
    return rows;
}

GArray *rh_report_families(const RhPlan *plan)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhFamilyBest));
    g_autoptr(GPtrArray) rows = rh_report_plan_rows(plan);
    for (guint i = 0; i < rows->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(rows, i);
        RhFamilyBest best = {.family = rh_layout_family(&r->layout),
                             .r = r,
                             .rank = i < plan->entries->len ? i + 1 : 0,
                             .tie = is_tie(plan, r)};
        if (!is_listed(out, best.family))
            g_array_append_val(out, best);
    }
    for (guint i = 0; i < plan->family_bounds->len; i++) {
        const RhPlanFamilyBound *b = &g_array_index(plan->family_bounds, RhPlanFamilyBound, i);
        RhFamilyBest bound = {.family = b->family, .step_least_s = b->step_least_s};
        g_array_append_val(out, bound);
    }
    return out;
}

/* Names a family by its parallelism. */
static const char *family_text(const char *family)
{
    static const char *const texts[][2] = {{"fsdp", "ZeRO-3 (FSDP)"},
                                           {"hybrid", "TP + ZeRO-3"},
                                           {"tensor/pipeline", "TP/PP"},
                                           {"context", "with CP"}};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        if (strcmp(family, texts[i][0]) == 0)
            return texts[i][1];
    return family;
}

static void append_line(GString *out, const char *label, GString *text)
{
    if (text->len == 0)
        return;
    g_autofree char *line = g_strdup_printf("%s: %s", label, text->str);
    rh_text_wrap(out, line, 2, 79);
}

static void append_best(GString *out, const RhPlan *plan)
{
    g_autoptr(GArray) families = rh_report_families(plan);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; families->len > 1 && i < families->len; i++) {
        const RhFamilyBest *best = &g_array_index(families, RhFamilyBest, i);
        double step_s = best->r ? best->r->step_time_s : best->step_least_s;
        g_string_append_printf(text, "%s%s (", i > 0 ? ", " : "", family_text(best->family));
        if (best->rank)
            g_string_append_printf(text, "#%u%s", best->rank, i > 0 ? ", " : "");
        if (i > 0)
            g_string_append_printf(text, "%s%+.1f %%%s", best->r ? "" : "at least ",
                                   100 * more_frac(plan, step_s), i == 1 ? " step time" : "");
        g_string_append_c(text, ')');
    }
    append_line(out, "best layout of each kind", text);
}

/* Returns how many settings a layout needs beside its batch: knobs that are not at their defaults. */
static int32_t settings_of(const RhLayout *l)
{
    int32_t count = 0;
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        count += knob != RH_KNOB_OF(dp) && knob != RH_KNOB_OF(microbatch) &&
                 rh_knob_value(knob, l) != knob->otherwise;
    return count;
}

static void append_ties(GString *out, const RhPlan *plan)
{
    g_autoptr(GString) text = g_string_new(NULL);
    double most = 0;
    guint count = 0, simplest = 0;
    for (guint i = 1; i < plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i),
                          *plain = g_ptr_array_index(plan->entries, simplest);
        if (!is_tie(plan, r))
            continue;
        if (settings_of(&r->layout) < settings_of(&plain->layout))
            simplest = i;
        count++;
        g_string_append_printf(text, "%s#%u", text->len ? ", " : "", i + 1);
        most = MAX(most, more_frac(plan, r->step_time_s));
    }
    if (text->len > 0)
        g_string_append_printf(
            text,
            " take%s at most %.1f %% longer than #1, within the error bar: measure "
            "them, or take #%u, the simplest",
            count == 1 ? "s" : "", 100 * most, simplest + 1);
    append_line(out, "too close to rank", text);
}

char *rh_report_variant_knobs(void)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        if (knob->variant)
            g_ptr_array_add(keys, (void *)knob->key);
    const char *last = g_ptr_array_steal_index(keys, keys->len - 1);
    g_ptr_array_add(keys, NULL);
    g_autofree char *others = g_strjoinv(", ", (char **)keys->pdata);
    return *others ? g_strdup_printf("%s and %s", others, last) : g_strdup(last);
}

/* Are there variants besides the row itself, and slower ones? */
static bool has_variants(const RhPlanVariants *v)
{
    return v->count > 1 && v->more_frac >= SHOWN_LEAST_FRAC;
}

bool rh_report_has_variants(const RhPlan *plan)
{
    for (guint i = 0; i < plan->variants->len; i++)
        if (has_variants(&g_array_index(plan->variants, RhPlanVariants, i)))
            return true;
    return false;
}

/* Appends how many variants each row is the best of, and how much slower the slowest is by its
 * bound. */
static void append_variants(GString *out, const RhPlan *plan)
{
    g_autofree char *varied = rh_report_variant_knobs();
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < plan->variants->len; i++) {
        const RhPlanVariants *v = &g_array_index(plan->variants, RhPlanVariants, i);
        if (!has_variants(v))
            continue;
        if (text->len == 0)
            g_string_printf(text,
                            "each row is the best of layouts that differ only in %s: ", varied);
        else
            g_string_append(text, ", ");
        double more = 100 * v->more_frac;
        g_string_append_printf(text, "#%u of %d (slowest +%.*f %%)", i + 1, v->count, more < 10,
                               more);
    }
    append_line(out, "variants", text);
}

void rh_report_append_families(GString *out, const RhPlan *plan, bool verbose)
{
    append_best(out, plan);
    append_ties(out, plan);
    if (verbose)
        append_variants(out, plan);
}

#include <math.h>

#include "report/json/json_common.h"
#include "report/plan/launch_vs_plan.h"
#include "report/plan/layout_families.h"
#include "report/plan/near_batches.h"
#include "report/plan/unsearched_report.h"
#include "report/plan_with_jobs_report.h"
#include "report/warnings.h"
#include "strategies/launch/launch.h"

static void put_counts(RhJsonWriter *w, const RhPlan *plan)
{
    rh_json_begin_object(w, "counts");
    rh_json_put_int(w, "legal", plan->legal_count);
    rh_json_put_int(w, "fit", plan->fit_count);
    rh_json_put_int(w, "ranked", plan->within_budget_count);
    rh_json_put_int(w, "screened", plan->screened_count);
    rh_json_put_int(w, "segments", plan->segments_count);
    rh_json_put_int(w, "rehearsed", plan->rehearsed_count);
    rh_json_put_int(w, "too_large", plan->too_large_count);
    rh_json_put_int(w, "lost", plan->lost_count);
    rh_json_put_bool(w, "proved", plan->proved);
    if (plan->cuts_count > 0) {
        rh_json_put_int(w, "cuts", plan->cuts_count);
        rh_json_put_int(w, "cuts_opened", plan->cuts_opened_count);
        rh_json_put_int(w, "told_by_fewer", plan->steady_count);
    }
    if (rh_plan_sensitive_frac(plan) > 0)
        rh_json_put_number(w, "sensitive_frac", rh_plan_sensitive_frac(plan));
    rh_json_end_object(w);
}

/* Writes an object with a text per framework, NULL where it has none. */
static void put_by_framework(RhJsonWriter *w, const char *key, char *const *texts)
{
    rh_json_begin_object(w, key);
    for (int i = 0; rh_launch_frameworks()[i]; i++)
        rh_json_put_string(w, rh_launch_frameworks()[i], texts[i]);
    rh_json_end_object(w);
}

/* Writes flags and environment of each framework that can run this layout, with its script and
 * further files; and why the others cannot. */
static void put_launch(RhJsonWriter *w, const RhProblem *c, const RhLayout *layout)
{
    const char *const *names = rh_launch_frameworks();
    guint count = g_strv_length((char **)names);
    g_autofree char **flags = g_new0(char *, count), **environments = g_new0(char *, count),
                    **refusals = g_new0(char *, count);
    g_autofree char **scripts = g_new0(char *, count);
    g_autoptr(GPtrArray) kept = g_ptr_array_new_with_free_func((GDestroyNotify)rh_launch_free);
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func((GDestroyNotify)g_error_free);
    for (guint i = 0; i < count; i++) {
        GError *error = NULL;
        RhLaunch *launch = rh_launch_new(names[i], c, layout, &error);
        if (launch) {
            g_ptr_array_add(kept, launch);
            flags[i] = launch->flags;
            environments[i] = launch->environment;
            scripts[i] = rh_launch_script(launch, RH_LAUNCHER_SHELL);
            g_ptr_array_add(texts, scripts[i]);
        } else {
            g_ptr_array_add(errors, error);
            refusals[i] = error->message;
        }
    }
    put_by_framework(w, "launch", flags);
    put_by_framework(w, "launch_environment", environments);
    put_by_framework(w, "launch_script", scripts);
    put_by_framework(w, "launch_refused", refusals);
}

/* Writes variants; null: they were not searched. */
static void put_variants(RhJsonWriter *w, const RhPlan *plan, guint i)
{
    if (i >= plan->variants->len) {
        rh_json_put_null(w, "variants");
        return;
    }
    const RhPlanVariants *v = &g_array_index(plan->variants, RhPlanVariants, i);
    rh_json_begin_object(w, "variants");
    rh_json_put_int(w, "count", v->count);
    rh_json_put_number(w, "more_frac", v->more_frac);
    rh_json_end_object(w);
}

/* Writes the best of a family; null: it was not rehearsed, and no layout of the family takes less
 * than step_time_least_s. */
static void put_family_best(RhJsonWriter *w, const RhFamilyBest *best)
{
    static const char *const unknown[] = {"layout", "step_time_s", "mfu_frac", "memory_peak_bytes",
                                          "told_by_fewer"};
    for (size_t i = 0; !best->r && i < G_N_ELEMENTS(unknown); i++)
        rh_json_put_null(w, unknown[i]);
    if (!best->r) {
        rh_json_put_number(w, "step_time_least_s", best->step_least_s);
        return;
    }
    rh_put_layout(w, "layout", &best->r->layout);
    rh_json_put_number(w, "step_time_s", best->r->step_time_s);
    rh_json_put_number(w, "mfu_frac", best->r->mfu_frac);
    rh_json_put_number(w, "memory_peak_bytes", best->r->memory.peak_bytes);
    rh_json_put_bool(w, "told_by_fewer", best->r->told_by_fewer);
}

/* Writes the best of every family of layouts. */
static void put_families(RhJsonWriter *w, const RhPlan *plan)
{
    g_autoptr(GArray) families = rh_report_families(plan);
    rh_json_begin_array(w, "families");
    for (guint i = 0; i < families->len; i++) {
        const RhFamilyBest *best = &g_array_index(families, RhFamilyBest, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "family", best->family);
        if (best->rank > 0)
            rh_json_put_int(w, "rank", best->rank);
        else
            rh_json_put_null(w, "rank");
        put_family_best(w, best);
        rh_json_put_bool(w, "tie", best->tie);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_entries(RhJsonWriter *w, const RhQuestion *q, const RhPlan *plan)
{
    rh_json_begin_array(w, "plans");
    for (guint i = 0; i < plan->entries->len; i++) {
        const RhRehearsal *r = g_ptr_array_index(plan->entries, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_int(w, "rank", i + 1);
        rh_json_put_string(w, "family", rh_layout_family(&r->layout));
        put_variants(w, plan, i);
        rh_json_put_bool(w, "told_by_fewer", r->told_by_fewer);
        rh_put_rehearsal(w, r);
        put_launch(w, q->c, &r->layout);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

/* Writes the fastest layout that exceeds the memory budget. */
static void put_fuller(RhJsonWriter *w, const RhQuestion *q, const RhPlan *plan)
{
    if (!plan->over_budget) {
        rh_json_put_null(w, "fuller");
        return;
    }
    rh_json_begin_object(w, "fuller");
    rh_json_put_bool(w, "told_by_fewer", plan->over_budget->told_by_fewer);
    rh_put_rehearsal(w, plan->over_budget);
    put_launch(w, q->c, &plan->over_budget->layout);
    rh_json_end_object(w);
}

static void put_near_misses(RhJsonWriter *w, const RhPlan *plan)
{
    rh_json_begin_array(w, "near_misses");
    for (guint i = 0; i < plan->near_misses->len; i++) {
        const RhNearMiss *miss = g_ptr_array_index(plan->near_misses, i);
        rh_json_begin_object(w, NULL);
        rh_put_layout(w, "layout", &miss->layout);
        rh_put_known(w, "bound_s", miss->bound_s);
        rh_json_put_number(w, "memory_peak_bytes", miss->memory.peak_bytes);
        rh_json_put_string(w, "reason", miss->reason);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

static void put_change(RhJsonWriter *w, const char *key, const RhSmallestChange *change)
{
    g_autofree char *text = rh_report_change(change);
    rh_json_begin_object(w, key);
    rh_json_put_string(w, "change", text);
    rh_json_put_string(w, "effect", change->effect);
    rh_put_known(w, "memory_peak_bytes", change->peak_bytes);
    rh_json_end_object(w);
}

static void put_changes(RhJsonWriter *w, const RhPlan *plan)
{
    if (plan->changes->len > 0)
        put_change(w, "smallest_change", g_ptr_array_index(plan->changes, 0));
    else
        rh_json_put_null(w, "smallest_change");
    rh_json_begin_array(w, "changes");
    for (guint i = 0; i < plan->changes->len; i++)
        put_change(w, NULL, g_ptr_array_index(plan->changes, i));
    rh_json_end_array(w);
}

/* Writes the results of each stack of --stack any. */
static void put_others(RhJsonWriter *w, const RhPlan *plan)
{
    if (!plan->others)
        return;
    rh_json_begin_array(w, "frameworks");
    for (guint i = 0; i < plan->others->len; i++) {
        const RhPlanOther *other = &g_array_index(plan->others, RhPlanOther, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "framework", other->framework);
        rh_json_put_string(w, "stack", other->stack);
        rh_json_put_string(w, "refused", other->refused);
        if (!other->refused) {
            rh_json_put_string(w, "family", rh_layout_family(&other->layout));
            rh_put_layout(w, "layout", &other->layout);
            rh_json_put_number(w, "step_time_s", other->step_time_s);
            rh_json_put_number(w, "mfu_frac", other->mfu_frac);
            rh_json_put_number(w, "memory_peak_bytes", other->peak_bytes);
        }
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
}

char *rh_report_plan_json(const RhQuestion *q, const RhPlan *plan, const RhPlanOptions *options)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_put_head(w, "rehearse.plan/1", q);
    rh_json_put_string(w, "objective", rh_objective_name(options->objective));
    rh_json_put_number(w, "gap_frac", options->gap_frac);
    rh_json_put_bool(w, "quick", options->quick);
    rh_json_put_bool(w, "timed_out", plan->timed_out);
    put_counts(w, plan);
    rh_put_known(w, "proof_bound_s", plan->proof_bound_s);
    rh_put_known(w, "states_bytes", rh_training_states_bytes(&plan->states));
    rh_json_put_number(w, "memory_ranked_bytes", plan->ranked_bytes);
    put_entries(w, q, plan);
    rh_put_launched(w, q->launched);
    put_families(w, plan);
    put_others(w, plan);
    rh_put_plan_beside(w, plan);
    put_fuller(w, q, plan);
    put_near_misses(w, plan);
    rh_put_near_batches(w, plan);
    put_changes(w, plan);
    g_autoptr(GPtrArray) watches = rh_report_plan_warnings(q, plan, options);
    rh_put_warnings(w, watches);
    rh_put_unsearched(w, plan);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

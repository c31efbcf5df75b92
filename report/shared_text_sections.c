/* Formats parts that the texts of plans, runs and explanations share. */
#include <math.h>
#include <string.h>

#include "base/text/text_table.h"
#include "report/format.h"
#include "report/report.h"
#include "strategies/search/rehearsals/run_metrics.h"

const char *rh_report_memory_name(RhMemoryUse use)
{
    return use == RH_MEMORY_RECOMPUTE ? "workspace"
           : use == RH_MEMORY_RESERVE ? "CUDA and NCCL"
                                      : rh_memory_name(use);
}

double rh_report_share(const RhRehearsal *r, const char *name)
{
    const RhCost *term = r->costs ? rh_cost_find(r->costs, name) : NULL;
    return term && r->step_time_s > 0 ? term->value_s / r->step_time_s : 0;
}

double rh_report_bubble_frac(const RhRehearsal *r)
{
    return rh_report_share(r, rh_wait_name(RH_WAIT_BUBBLE)) +
           rh_report_share(r, rh_wait_name(RH_WAIT_END));
}

double rh_report_exposed_frac(const RhRehearsal *r)
{
    double sum = 0;
    for (RhWait wait = 0; wait < RH_WAIT_LAST; wait++)
        if (rh_wait_communicates(wait))
            sum += rh_report_share(r, rh_wait_name(wait));
    return sum;
}

double rh_report_error_frac(const RhRehearsal *r)
{
    return r->bar && r->events_count > 0 ? r->error_frac : 0;
}

bool rh_report_mfu_plain(const RhRehearsal *r)
{
    return r->mfu_dtype == RH_DTYPE_BF16 || r->mfu_dtype == RH_DTYPE_NONE;
}

char *rh_report_mfu_peak(const RhRehearsal *r)
{
    g_autofree char *bf16 = r->mfu_bf16_frac > 0
                                ? g_strdup_printf("; %.1f %% of bf16's", 100 * r->mfu_bf16_frac)
                                : g_strdup("");
    return g_strdup_printf("of %s's peak%s", rh_dtype_name(r->mfu_dtype), bf16);
}

char *rh_report_worth(RhObjective objective, const RhRehearsal *r)
{
    g_autofree char *step = rh_quantity_format(r->step_time_s, RH_QUANTITY_S, 4);
    if (objective == RH_OBJECTIVE_MEMORY)
        return rh_quantity_format(r->memory.peak_bytes, RH_QUANTITY_BYTES, 3);
    if (objective == RH_OBJECTIVE_COST && r->cost_usd > 0)
        return g_strdup_printf("%s/step, %.4g USD", step, r->cost_usd);
    if (objective == RH_OBJECTIVE_ENERGY && r->energy.total_j > 0) {
        g_autofree char *energy = rh_text_amount(r->energy.total_j, "J");
        return g_strdup_printf("%s/step, %s", step, energy);
    }
    return g_strconcat(step, "/step", NULL);
}

/* Name of an error bar's runs: "megatron on hopper GPUs, dense models of 8.03B to 70.6B parameters, 65 to 512
 * GPUs". Caller frees. */
static char *bar_name(const RhErrorBar *bar)
{
    g_autofree char *least = rh_text_params(bar->params_least);
    g_autofree char *most = rh_text_params(bar->params_most);
    g_autofree char *size =
        bar->gpus_most == 0 ? g_strdup("")
        : bar->gpus_most >= RH_LAYOUT_DEGREE_MAX
            ? g_strdup_printf(", %d GPUs and more", bar->gpus_least)
            : g_strdup_printf(", %d to %d GPUs", bar->gpus_least, bar->gpus_most);
    g_autofree char *range =
        strcmp(least, most) == 0 ? g_strdup(most) : g_strdup_printf("%s to %s", least, most);
    return g_strdup_printf("%s%s%s GPUs, %s models of %s parameters%s",
                           bar->stack ? bar->stack : "", bar->stack ? " on " : "", bar->generation,
                           bar->kind, range, size);
}

/* Says why the error bar is wider than that of the measured runs: "; 63 % of the kernels' time is extrapolated and
 * counted as 20 % off". Caller frees. */
static char *widened(const RhRehearsal *r)
{
    GString *out = g_string_new(NULL);
    if (r->scaling == RH_SCALING_OWN)
        g_string_append_printf(out,
                               "; the profile's measured run removes what runs of one job share: "
                               "%.0f %% of pairs of such runs are within %.2g %% of each other",
                               100 * RH_RECORD_SHARE, 100 * r->bar->within_frac);
    if (r->scaling == RH_SCALING_UNKNOWN)
        g_string_append(out, "; too few groups of such runs tell how much the profile's measured "
                             "run narrows it");
    if (r->scaling == RH_SCALING_OTHER)
        g_string_append(out, "; the profile's measured run is of another model or stack, so it is "
                             "no narrower, and no less than that run was off");
    if (r->format_unmeasured)
        g_string_append_printf(out,
                               "; too few runs in this number format were measured, so it is the "
                               "widest error bar of %s models",
                               r->bar->kind);
    if (r->longs)
        g_string_append_printf(out,
                               "; none had sequences as long: %.0f %% of %d runs of any kind with "
                               "%d tokens or more were within %.2g %%",
                               100 * RH_RECORD_SHARE, r->longs->steps, RH_LONG_TOKENS,
                               100 * r->longs->error_frac);
    if (r->extrapolated_frac > 0)
        g_string_append_printf(
            out, "; %.0f %% of the kernels' time is extrapolated and counted as %.0f %% off",
            100 * r->extrapolated_frac, 100 * RH_EXTRAPOLATED_ERROR_FRAC);
    return g_string_free(out, FALSE);
}

char *rh_report_error(const RhRehearsal *r)
{
    if (r->events_count == 0)
        return g_strdup("unknown: this step time is a lower bound");
    if (!r->bar)
        return g_strdup(r->adapters ? "unknown: all measured runs train all weights, none trains "
                                      "adapters"
                                    : "unknown: no measured run is comparable");
    g_autofree char *name = bar_name(r->bar), *wider = widened(r);
    g_autofree char *frac = rh_text_number(100 * r->error_frac, 2);
    g_autofree char *own = rh_text_number(100 * r->bar->error_frac, 2);
    g_autofree char *within = *wider ? g_strdup_printf("±%s %%", own) : g_strdup("it");
    return g_strdup_printf(
        "±%s %%: about %.0f %% of %d comparable measured runs were within %s (%s)%s%s", frac,
        100 * RH_RECORD_SHARE, r->bar->steps, within, name,
        r->assumed  ? "; this device was not measured: its kernels are assumed from its generation"
        : r->beyond ? "; no model of this size was measured"
                    : "",
        wider);
}

char *rh_report_odds(const RhRehearsal *r)
{
    if (!r->odds)
        return NULL;
    g_autofree char *brief = rh_report_odds_brief(r);
    int32_t failed = r->odds->failed;
    g_autofree char *runs =
        failed > 0 ? g_strdup_printf("%d comparable runs, %d of which ran out of memory",
                                     r->odds->ran + failed, failed)
                   : g_strdup_printf("%d comparable runs, all of which fit", r->odds->ran);
    g_autofree char *peaks = r->odds->peaks > 0
                                 ? g_strdup_printf("%d measured peaks and ", r->odds->peaks)
                                 : g_strdup("");
    return g_strdup_printf("%.0f %% full, %s, by a curve fitted to %s%s",
                           100 * r->memory.peak_bytes / r->memory_capacity_bytes, brief, peaks,
                           runs);
}

/* Describes how likely the layout fits; nearly certain cases are worded as such. */
char *rh_report_odds_brief(const RhRehearsal *r)
{
    double odds = 100 * (1 - r->risk_frac);
    if (!r->odds)
        return NULL;
    if (odds > 99)
        return g_strdup("over 99 % likely to fit");
    if (odds < 1)
        return g_strdup("under 1 % likely to fit");
    return g_strdup_printf("%.0f %% likely to fit", floor(odds)); /* as --risk is rounded up */
}

void rh_report_trust(GString *out, const RhRehearsal *r)
{
    g_autofree char *error = rh_report_error(r);
    /* otherwise the first lines have it */
    g_autofree char *odds = r->fits ? rh_report_odds(r) : NULL;
    g_autofree char *first = g_strconcat("error bar: ", error, NULL);
    rh_text_wrap(out, first, 2, 79);
    if (!odds)
        return;
    g_autofree char *second = g_strconcat("memory: ", odds, NULL);
    rh_text_wrap(out, second, 2, 79);
}

void rh_report_links(GString *out, const GArray *links)
{
    if (!links || links->len == 0)
        return;
    g_autoptr(GString) line = g_string_new(NULL);
    for (guint i = 0; i < MIN(links->len, 4); i++) {
        const RhLinkUse *use = &g_array_index(links, RhLinkUse, i);
        g_string_append_printf(line, "%s%s %.0f %%", i ? ", " : "", use->name,
                               100 * use->busy_frac);
    }
    g_string_prepend(line, "busiest links, % of the step at full rate: ");
    rh_text_wrap(out, line->str, 2, 79);
}

/* Says how the stack was chosen, from the recorded command line. */
static const char *stack_chosen(const RhQuestion *q)
{
    if (!q->argv)
        return "";
    for (const char *const *word = q->argv; *word; word++)
        if (strcmp(*word, "--stack") == 0)
            return g_strcmp0(word[1], "any") == 0 ? " (best of any)" : "";
    return " (default)";
}

void rh_report_next(GString *out, const RhReportStyle *style, const char *example, const char *rank)
{
    g_autofree char *path = style->saved_as ? rh_text_path(style->saved_as) : NULL;
    if (!path)
        g_string_append_printf(out, "next: add -o %s, then ", example);
    else
        g_string_append(out, "next: ");
    g_string_append_printf(out, "rehearse explain %s%s\n", path ? path : example, rank);
}

void rh_report_job(GString *out, const RhQuestion *q)
{
    const RhJob *job = &q->c->job;
    bool changed = false;
    for (const char *const *set = q->sets; set && *set; set++)
        changed |= g_str_has_prefix(*set, "stack.");
    g_autofree char *gpus = rh_text_count(rh_job_gpus(job)),
                    *batch = rh_text_count(job->global_batch),
                    *tokens = rh_text_count(job->sequence);
    g_autofree char *samples = rh_model_sees_pictures(q->c->model)
                                   ? g_strdup_printf("%s pictures a step", batch)
                                   : g_strdup_printf("%s x %s tokens a step", batch, tokens);
    g_autofree char *shared = rh_report_sharing(job), *pairs = rh_report_preference(job);
    g_autofree char *line =
        g_strdup_printf("job: %s on %s GPU%s of %s%s, %s, %s, framework %s%s%s%s",
                        q->c->model->name, gpus, rh_job_gpus(job) == 1 ? "" : "s",
                        q->hardware->name, shared, samples, job->recipe->name, q->c->stack->name,
                        stack_chosen(q), changed ? ", its constants changed by --set" : "", pairs);
    rh_text_wrap(out, line, 2, 79);
    if (q->hardware->profile) {
        g_autofree char *profile = g_strconcat("profile: ", q->hardware->profile, NULL);
        rh_text_wrap(out, profile, 2, 79);
    }
}

/* Names the source of a fact: "fitted", "from a data sheet". */
static const char *tag_text(const RhFact *fact)
{
    return fact->tag == RH_TAG_DATASHEET ? "from a data sheet"
           : fact->tag == RH_TAG_NONE    ? "unknown"
                                         : rh_tag_name(fact->tag);
}

void rh_report_sources(GString *out, const RhQuestion *q)
{
    const RhProblem *c = q->c;
    const RhPlatform *hardware = q->hardware;
    const RhDeviceCurves *curves = &hardware->device->curves;
    const RhFact *gemm = &curves->gemm_peak_frac[c->job.recipe->linear];
    if (gemm->value == 0)
        gemm = &curves->gemm_peak_frac[RH_DTYPE_BF16];
    g_autofree char *spec = rh_text_path(c->stack->spec);
    g_string_append_printf(out, "constants of %s: rehearse show stacks %s\n", c->stack->name, spec);
    g_autofree char *line = g_strdup_printf(
        "sources of constants: GEMM %s, attention %s, memory bandwidth %s, NVLink %s with %s "
        "efficiency, NIC %s with %s efficiency, gaps between kernels %s",
        tag_text(gemm), tag_text(&curves->attention_peak_frac), tag_text(&curves->memory_peak_frac),
        tag_text(&hardware->nvlink_bytes_per_s), tag_text(&c->stack->nvlink_training_frac),
        tag_text(&hardware->nic_bytes_per_s), tag_text(&c->platform->nic_efficiency_frac),
        tag_text(&c->stack->kernel_gap_s));
    rh_text_wrap(out, line, 2, 79);
}

char *rh_report_change(const RhSmallestChange *change)
{
    static const char *const options[] = {[RH_CHANGE_GPUS] = "--gpus",
                                          [RH_CHANGE_BATCH] = "--global-batch",
                                          [RH_CHANGE_SEQUENCE] = "--seq"};
    if (change->kind == RH_CHANGE_CONSTRAINTS)
        return g_strdup("without --fix and --limit");
    if (change->kind == RH_CHANGE_GRADIENTS)
        return g_strdup("--set gradients=bf16");
    if (change->kind == RH_CHANGE_STATES)
        return g_strdup_printf("--fix states=host%s", change->value ? " --fix params=host" : "");
    if (change->kind != RH_CHANGE_CONSTRAINT)
        return g_strdup_printf("%s %" G_GINT64_FORMAT, options[change->kind], change->value);
    g_autofree char *text = rh_constraint_text(&change->constraint);
    return g_strdup_printf("without --%s %s", change->constraint.relation ? "limit" : "fix", text);
}

#include "strategies/search/rehearsals/run_metrics.h"

#include <math.h>
#include <string.h>

#include "base/interned_strings.h"
#include "platforms/devices/mig_slices.h"
#include "sim/run_cost_tree.h"
#include "strategies/search/error_bar_key.h"
#include "strategies/train/memory/memory.h"
#include "strategies/train/program/stage_program.h"

double rh_straggler_factor(const RhProblem *c)
{
    double nodes = ceil((double)c->job.gpus / c->platform->gpus_per_node);
    return 1 + c->stack->straggler_frac.value * log2(fmax(1, nodes));
}

/* Were steps in the format, or in one of the same units, measured often enough for a usual MFU of
 * any device? */
static bool is_measured(const RhRecord *record, const char *dtype)
{
    const char *units = rh_intern(strcmp(dtype, "fp16") == 0 ? "bf16" : dtype);
    for (guint i = 0; i < record->usual->len; i++)
        if (g_array_index(record->usual, RhTypicalMfu, i).dtype == units)
            return true;
    return record->usual->len == 0;
}

/* Returns the share of kernel time at shapes outside of the measured ones. Its error is independent
 * of the bar's steps: they add as squares. */
static double extrapolated_frac(const RhProblem *c, const RhLayout *layout)
{
    RhExtrapolated beyond[RH_CALIBRATED_RANGE_LAST];
    double sum = 0;
    rh_run_metrics_extrapolated(c, layout, beyond);
    for (int kind = 0; kind < RH_CALIBRATED_RANGE_LAST; kind++)
        if (beyond[kind].share_frac >= RH_EXTRAPOLATED_TOLD_FRAC)
            sum += beyond[kind].share_frac;
    return sum;
}

/* The error bar by the one run that constants were scaled to. Its residual removes what steps of
 * one job and cluster have in common: what remains is how they differ among themselves. Of another
 * model or stack it tells less, and shows how far off one can be. */
static double scaled_bar(const RhProblem *c, double base, RhRehearsal *r)
{
    const RhScaledRun *run = &c->platform->scaled;
    if (!run->stack)
        return base;
    bool own = strcmp(run->stack, c->stack->name) == 0 && strcmp(run->model, c->model->name) == 0 &&
               !r->format_unmeasured && !r->longs;
    if (!own) {
        r->scaling = RH_SCALING_OTHER;
        return fmax(base, fabs(run->residual_frac));
    }
    r->scaling = r->bar->within_frac > 0 ? RH_SCALING_OWN : RH_SCALING_UNKNOWN;
    return r->bar->within_frac > 0 ? r->bar->within_frac : base;
}

static void settle_bar(const RhProblem *c, const RhRecord *record, const RhEvidenceKey *like,
                       RhRehearsal *r)
{
    r->scaling = RH_SCALING_NONE;
    if (!r->bar)
        return;
    double base = r->bar->error_frac, widest = rh_record_widest_frac(record, like->kind);
    r->format_unmeasured = !is_measured(record, like->dtype) && widest > base;
    if (r->format_unmeasured)
        base = widest;
    bool longer = like->tokens >= RH_LONG_TOKENS && like->tokens > r->bar->tokens_most;
    r->longs = longer && record->longs.error_frac > base ? &record->longs : NULL;
    if (r->longs)
        base = r->longs->error_frac;
    base = scaled_bar(c, base, r);
    r->extrapolated_frac = extrapolated_frac(c, &r->layout);
    r->error_frac = hypot(base, r->extrapolated_frac * RH_EXTRAPOLATED_ERROR_FRAC);
}

void rh_run_metrics_record(const RhProblem *c, RhRehearsal *r)
{
    const RhRecord *record = rh_record_shipped();
    RhEvidenceKey like = rh_evidence_key_of(c);
    r->bar = rh_record_bar(record, &like);
    r->adapters = like.adapters;
    r->assumed = r->bar && like.assumed;
    r->beyond = r->bar && !rh_error_bar_spans(r->bar, like.params);
    r->odds = rh_record_odds(record, &like);
    double share = r->memory.peak_bytes / r->memory_capacity_bytes;
    r->risk_frac = r->odds ? fmax(rh_odds_risk(r->odds, share), rh_odds_least_risk(r->odds)) : 0;
    r->usual = rh_record_usual(record, &like);
    settle_bar(c, record, &like, r);
}

RhRehearsal *rh_run_metrics_new(const RhProblem *c, const RhLayout *layout)
{
    RhRehearsal *r = g_new0(RhRehearsal, 1);
    r->layout = *layout;
    r->memory = rh_train_memory(c, layout);
    r->memory_capacity_bytes = rh_train_stage_capacity(c, layout, r->memory.stage);
    r->fits =
        r->memory.peak_bytes <= r->memory_capacity_bytes && rh_train_host_holds(c, &r->memory);
    rh_run_metrics_record(c, r);
    return r;
}

/* Returns the format that runs on the device: bf16 where it has no units for `dtype`. */
static RhDtype runs_as(const RhDevice *device, RhDtype dtype)
{
    return device->peak_flops_per_s[dtype].value > 0 ? dtype : RH_DTYPE_BF16;
}

/* Returns the peak of a whole GPU, of which an instance has so many slices. */
static double peak_of(const RhDevice *device, RhDtype dtype)
{
    double parts = 1;
    if (rh_clients_share(&device->clients) && device->clients.kind == RH_CLIENTS_MIG) {
        RhMigSlices whole = rh_mig_slices_of(device->name);
        parts = (double)whole.compute / rh_mig_instance(&whole, device->clients.count).compute;
    }
    return parts * device->peak_flops_per_s[runs_as(device, dtype)].value;
}

static double mean_peak(const RhProblem *c, RhDtype dtype)
{
    const RhPlatform *p = c->platform;
    double sum = 0;
    if (rh_platform_devices_count(p) == 1)
        return peak_of(p->device, dtype);
    for (int32_t gpu = 0; gpu < c->job.gpus; gpu++)
        sum += peak_of(rh_platform_device(p, rh_platform_device_of(p, gpu)), dtype);
    return sum / c->job.gpus;
}

/* Returns the tokens per second and GPU at a step time of `step_s`. */
static double tokens_per_s(const RhProblem *c, double step_s)
{
    double fill = c->job.documents.runs_count > 0 ? c->job.documents.fill : 1;
    double tokens = (double)c->job.global_batch * (double)c->job.sequence * fill;
    return tokens / step_s / rh_job_gpus(&c->job);
}

double rh_model_flops_per_s(const RhProblem *c, double step_s)
{
    return tokens_per_s(c, step_s) * rh_model_documents_flops_per_token(c->model, c->job.sequence,
                                                                        &c->job.lora,
                                                                        &c->job.documents);
}

static double mfu_of(const RhProblem *c, double step_s, RhDtype dtype)
{
    double peak = mean_peak(c, dtype);
    return peak > 0 ? rh_model_flops_per_s(c, step_s) / peak : 0;
}

double rh_mfu_frac(const RhProblem *c, double step_s)
{
    return mfu_of(c, step_s, c->job.recipe->linear);
}

/* Fills in throughput, MFU, HFU and cost; `flops` are those of the mean rank's kernels. */
static void fill_rates(const RhProblem *c, RhRehearsal *r, double flops)
{
    double peak = mean_peak(c, c->job.recipe->linear);
    r->pictures = rh_model_sees_pictures(c->model);
    r->tokens_per_s_per_gpu = tokens_per_s(c, r->step_time_s);
    r->model_flops_per_s_per_gpu = rh_model_flops_per_s(c, r->step_time_s);
    r->mfu_frac = rh_mfu_frac(c, r->step_time_s);
    r->mfu_dtype = runs_as(c->platform->device, c->job.recipe->linear);
    r->mfu_bf16_frac = mfu_of(c, r->step_time_s, RH_DTYPE_BF16);
    r->hfu_frac = peak > 0 ? flops * c->job.gpus / rh_job_gpus(&c->job) / r->step_time_s / peak : 0;
    r->cost_usd = c->platform->price_usd_per_gpu_hour.value / 3600 * c->job.gpus * r->step_time_s;
}

static void fill_energy(const RhProblem *c, RhRehearsal *r, RhPowerTimes times)
{
    double whole_s = 0;
    for (int state = 0; state < RH_POWER_LAST; state++)
        whole_s += times.state_s[state];
    r->busy_frac = whole_s > 0 ? 1 - times.state_s[RH_POWER_IDLE] / whole_s : 0;
    r->tells_busy = rh_clients_share(&c->job.clients) || c->job.loader.sample_s > 0;
    r->energy = rh_energy_of(c->platform, c->job.gpus, &times);
    r->node_w = rh_energy_node_w(c->platform, c->job.gpus, &r->energy, r->step_time_s);
}

/* Adds the allowance for slow nodes to the idle time of the devices. */
static RhPowerTimes with_stragglers(const RhProblem *c, RhPowerTimes times, double step_s)
{
    times.state_s[RH_POWER_IDLE] += step_s * (rh_straggler_factor(c) - 1);
    return times;
}

/* Adds the allowance for slow nodes to a step of `step_s`. */
static void add_straggler(const RhProblem *c, RhCost *root, double step_s)
{
    const RhFact *frac = &c->stack->straggler_frac;
    g_autofree char *source = g_strdup_printf(
        "%.2g %% of the step per doubling of the nodes (%s%s)", 100 * frac->value,
        rh_tag_name(frac->tag), frac->tag == RH_TAG_FITTED ? " to measured runs" : "");
    rh_cost_add(root, "slow-node allowance", step_s * (rh_straggler_factor(c) - 1), source);
}

static RhCost *cost_tree(const RhProblem *c, const RhRehearsal *r, const RhRun *run)
{
    RhCost *root = rh_run_costs(run, r->step_time_s);
    add_straggler(c, root, run->step_time_s);
    return root;
}

static void copy_links(RhRehearsal *r, const RhRun *run)
{
    r->links = g_array_new(FALSE, FALSE, sizeof(RhLinkUse));
    for (guint i = 0; i < run->links->len; i++) {
        RhLinkUse use = g_array_index(run->links, RhLinkUse, i);
        use.name = g_strdup(use.name);
        g_array_append_val(r->links, use);
    }
}

void rh_run_metrics_run(const RhProblem *c, RhRehearsal *r, const RhRun *run)
{
    r->step_time_s = run->step_time_s * rh_straggler_factor(c);
    r->events_count = run->events_count;
    r->bytes_total = run->bytes_total;
    r->bytes_as_flows = run->bytes_as_flows;
    r->approximate = run->approximate;
    r->approximate_why = g_strdup(run->approximate_why);
    fill_rates(c, r, rh_run_mean_flops(run));
    fill_energy(c, r, with_stragglers(c, rh_run_power_times(run), run->step_time_s));
    r->costs = cost_tree(c, r, run);
    copy_links(r, run);
}

/* Sums the kernels of the mean rank from the stage programs that the program is built from. */
static RhKernelSums mean_kernels(const RhProblem *c, const RhLayout *l)
{
    g_autoptr(RhModelCost) model_cost = rh_model_cost_new(c, l);
    g_autoptr(RhLayerOps) items = rh_layer_ops_new(l, model_cost);
    RhKernelSums sums = {0};
    for (int32_t stage = 0; stage < l->pp; stage++) {
        g_autoptr(RhStageProgram) stage_program = rh_stage_program_new(model_cost, l, stage);
        rh_stage_program_add_kernels(stage_program, items, &sums);
    }
    for (int phase = 0; phase < RH_PHASE_LAST; phase++)
        sums.seconds[phase] /= l->pp;
    sums.flops /= l->pp;
    sums.bounds.compute_s /= l->pp;
    sums.bounds.memory_s /= l->pp;
    return sums;
}

void rh_run_metrics_extrapolated(const RhProblem *c, const RhLayout *l,
                                 RhExtrapolated out[RH_CALIBRATED_RANGE_LAST])
{
    RhKernelSums sums = mean_kernels(c, l);
    double whole_s = l->pp * (sums.bounds.compute_s + sums.bounds.memory_s);
    for (int kind = 0; kind < RH_CALIBRATED_RANGE_LAST; kind++)
        out[kind] =
            (RhExtrapolated){.share_frac = whole_s > 0 ? sums.beyond[kind].seconds / whole_s : 0,
                             .largest = sums.beyond[kind].largest,
                             .shapes = c->platform->device->curves.shapes[kind]};
}

static RhPowerTimes bound_times(const RhProblem *c, const RhKernelSums *kernels, double compute_s,
                                double step_s)
{
    double compute = kernels->bounds.compute_s, memory = kernels->bounds.memory_s;
    return with_stragglers(
        c,
        (RhPowerTimes){.state_s = {[RH_POWER_COMPUTE] = compute,
                                   [RH_POWER_MEMORY] = memory,
                                   [RH_POWER_COMMUNICATION] = step_s - compute_s,
                                   [RH_POWER_IDLE] = compute_s - compute - memory}},
        step_s);
}

static double kernels_s(const RhKernelSums *kernels)
{
    double compute_s = 0;
    for (int phase = 0; phase < RH_PHASE_LAST; phase++)
        compute_s += kernels->seconds[phase];
    return compute_s;
}

double rh_run_metrics_kernels_s(const RhProblem *c, const RhLayout *layout)
{
    RhKernelSums kernels = mean_kernels(c, layout);
    return kernels_s(&kernels);
}

RhPowerTimes rh_run_metrics_bound_times(const RhProblem *c, const RhLayout *layout, double step_s)
{
    RhKernelSums kernels = mean_kernels(c, layout);
    return bound_times(c, &kernels, kernels_s(&kernels), step_s);
}

void rh_run_metrics_bound(const RhProblem *c, RhRehearsal *r, double step_s)
{
    RhKernelSums kernels = mean_kernels(c, &r->layout);
    double compute_s = kernels_s(&kernels);
    r->step_time_s = step_s * rh_straggler_factor(c);
    fill_rates(c, r, kernels.flops);
    fill_energy(c, r, bound_times(c, &kernels, compute_s, step_s));
    r->costs = rh_cost_new("step", r->step_time_s, "lower bound: no contention on links or SMs");
    rh_run_costs_add_kernels(r->costs, compute_s, kernels.seconds);
    rh_cost_add(r->costs, "waiting of all kinds", step_s - compute_s,
                "the lower bound of the step, less its kernels");
    add_straggler(c, r->costs, step_s);
}

void rh_rehearsal_free(RhRehearsal *r)
{
    if (!r)
        return;
    for (guint i = 0; r->links && i < r->links->len; i++)
        g_free(g_array_index(r->links, RhLinkUse, i).name);
    if (r->links)
        g_array_unref(r->links);
    rh_cost_free(r->costs);
    g_free(r->approximate_why);
    g_free(r->memory_when);
    g_free(r);
}

/* rehearse memory: will it fit, and how much more would? */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/serve/serve_simulate_inputs.h"
#include "report/memory_answer.h"
#include "strategies/search/fitting_layouts.h"
#include "strategies/search/memory_budget.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "strategies/serve/server_software.h"
#include "strategies/serve/service/service.h"
#include "strategies/software_stack.h"

#define SEQUENCE    4096 /* tokens where --seq is not given, or the model's positions */
#define BATCH_A_GPU 16   /* samples where --global-batch is not given */

static bool print(const RhArguments *a, const char *text, const char *json, GError **error)
{
    fputs(a->json ? json : text, stdout);
    rh_output_answered();
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), json, error))
            return false;
    return true;
}

/* --- training --- */

static bool fill_sequence(RhArguments *a, GError **error)
{
    if (a->sequence > 0)
        return true;
    g_autoptr(RhModel) m = rh_model_load(a->workload, error);
    if (m && !rh_model_sees_pictures(m))
        a->sequence = m->positions > 0 ? MIN(m->positions, SEQUENCE) : SEQUENCE;
    return m != NULL;
}

static RhPlanOptions options_of(const RhArguments *a, bool alone)
{
    return (RhPlanOptions){.top = 1,
                           .gap_frac = 0.01,
                           .risk_frac = fmax(a->risk_frac, RH_RISK_LEAST),
                           .quick = true,
                           .best_alone = alone,
                           .jobs = (int32_t)a->jobs,
                           .timeout_s = rh_terminal_left_s(a->timeout_s),
                           .progress = rh_terminal_progress};
}

/* A search of all layouts. */
static RhPlan *search_whole(const RhArguments *a, const RhProblem *c, GError **error)
{
    RhPlanOptions options = options_of(a, false);
    RhPlan *plan = rh_plan(c, &options, error);
    rh_terminal_progress_end();
    return plan;
}

static RhMemoryBudget room_of(const RhArguments *a, const RhProblem *c)
{
    return rh_memory_budget(c, NULL, 0, fmax(a->risk_frac, RH_RISK_LEAST));
}

/* The quickest of the usual layouts that fits, without its step; NULL: none does. */
static RhRehearsal *quickest_of(const RhArguments *a, const RhProblem *c, double room_bytes)
{
    RhDeadline deadline = rh_deadline_in(rh_terminal_left_s(a->timeout_s));
    RhFittingLayouts found = rh_fitting_layouts(c, deadline, room_bytes);
    RhRehearsal *r = found.fit_count > 0 ? rh_run_metrics_new(c, &found.quickest) : NULL;
    if (r)
        r->bound_segment_s = found.segment_s;
    return r;
}

static void clear_adapters(void *adapters)
{
    rh_memory_saver_clear(&((RhAdapterMemory *)adapters)->fastest);
}

/* Adapters with which some layout fits: of 16 bits, and in 4 bits. */
static GArray *adapters_of(const RhArguments *a, const RhProblem *c)
{
    static const RhFrozenFormat *const formats[] = {NULL, &rh_frozen_format_nf4};
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhAdapterMemory));
    g_array_set_clear_func(out, clear_adapters);
    for (size_t i = 0; c->job.lora.rank == 0 && i < G_N_ELEMENTS(formats); i++) {
        RhProblem changed = *c;
        changed.job.lora.rank = RH_MEMORY_RANK_PROPOSED;
        changed.job.frozen = formats[i];
        double room_bytes = room_of(a, &changed).ranked_bytes;
        g_autoptr(RhRehearsal) best = quickest_of(a, &changed, room_bytes);
        if (!best)
            continue;
        RhPlanOptions options = options_of(a, true);
        RhAdapterMemory found = {
            .fastest = {.change = g_strdup_printf("lora.rank=%d%s", RH_MEMORY_RANK_PROPOSED,
                                                  formats[i] ? " lora.base=nf4" : ""),
                        .layout = best->layout,
                        .peak_bytes = best->memory.peak_bytes,
                        .segment_s = best->bound_segment_s},
            .least = rh_memory_smallest(&changed, &options, rh_deadline_in(options.timeout_s),
                                        room_bytes)};
        g_array_append_val(out, found);
    }
    return out;
}

static int tell(const RhArguments *a, const RhMemoryFit *fit, GError **error)
{
    g_autofree char *text = rh_report_memory_fit_text(fit);
    g_autofree char *json = rh_report_memory_fit_json(fit);
    if (!print(a, text, json, error))
        return 3;
    return rh_memory_fit_holds(fit) ? 0 : 1;
}

/* With -s: exactly this layout, and where it does not fit, what would. */
static int judge_given(const RhArguments *a, RhInputs *in, RhMemoryFit *fit, GError **error)
{
    RhLayout layout;
    if (!rh_inputs_layout(in, a->strategy, &layout, error))
        return 3;
    g_autoptr(RhRehearsal) r = rh_run_metrics_new(&in->c, &layout);
    fit->r = r;
    fit->reach = rh_memory_reach(&in->c, &layout, in->question.safe_bytes);
    if (rh_memory_fit_holds(fit))
        return tell(a, fit, error);
    g_autoptr(RhBoundCache) cache = rh_bound_new(&in->c);
    r->step_time_s = rh_segment_graph_s(cache, &layout) * rh_straggler_factor(&in->c);
    g_autoptr(GArray) makers = rh_memory_room_makers(&in->c, &layout, in->question.safe_bytes);
    g_autoptr(RhRehearsal) other = quickest_of(a, &in->c, in->question.safe_bytes);
    g_autoptr(RhPlan) changed = other ? NULL : search_whole(a, &in->c, NULL);
    fit->room_makers = makers;
    fit->other = other;
    fit->plan = changed;
    return tell(a, fit, error);
}

/* Without: the quickest of the usual layouts that fits; if none does, any that plan would find, and
 * what makes it fit. */
static int judge_best(const RhArguments *a, RhInputs *in, RhMemoryFit *fit, GError **error)
{
    double room_bytes = in->question.safe_bytes;
    g_autoptr(RhRehearsal) quickest = quickest_of(a, &in->c, room_bytes);
    g_autoptr(RhPlan) plan = quickest ? NULL : search_whole(a, &in->c, error);
    if (!quickest && !plan)
        return 3;
    fit->plan = plan;
    fit->r = quickest                 ? quickest
             : plan->entries->len > 0 ? g_ptr_array_index(plan->entries, 0)
                                      : NULL;
    g_autoptr(GArray) adapters = fit->r ? NULL : adapters_of(a, &in->c);
    fit->adapters = adapters;
    if (!fit->r)
        return tell(a, fit, error);
    RhDeadline deadline = rh_deadline_in(rh_terminal_left_s(a->timeout_s));
    RhLargestAnywhere anywhere =
        rh_memory_reach_anywhere(&in->c, &fit->r->layout, deadline, room_bytes);
    fit->reach = anywhere.sizes;
    fit->anywhere = &anywhere;
    return tell(a, fit, error);
}

static int run_training(RhArguments *a, GError **error)
{
    bool batch_assumed = a->global_batch == 0, sequence_assumed = a->sequence == 0;
    if (!fill_sequence(a, error))
        return 3;
    a->global_batch = MAX(a->global_batch, 1);
    g_autoptr(RhInputs) in = rh_inputs_of(a, error);
    if (!in)
        return 3;
    if (batch_assumed)
        in->c.job.global_batch = (int64_t)BATCH_A_GPU * in->c.job.gpus;
    RhMemoryBudget room = room_of(a, &in->c);
    in->question.safe_bytes = room.ranked_bytes;
    in->question.most_bytes = room.most_bytes;
    RhMemoryFit fit = {.q = &in->question,
                       .sequence_assumed = sequence_assumed && a->sequence > 0,
                       .batch_assumed = batch_assumed,
                       .strategy = a->strategy};
    return a->strategy ? judge_given(a, in, &fit, error) : judge_best(a, in, &fit, error);
}

/* --- serving --- */

/* Without a deployment: the fewest GPUs per replica that hold the model, and as many replicas as
 * there are GPUs for; where none do, all GPUs as one replica. */
static RhService *fewest_gpus(const RhServing *serving, int32_t gpus, RhDeployment *d,
                              GError **error)
{
    RhPool *pool = &d->pools[0];
    int32_t node = serving->platform->gpus_per_node;
    RhDeployment tried = *d;
    RhService *found = NULL;
    for (int32_t each = 1; each <= gpus && !found; each *= 2) {
        tried.pools[0].tp = MIN(each, node);
        tried.pools[0].pp = each / tried.pools[0].tp;
        tried.pools[0].replicas = gpus / each;
        g_autoptr(GError) why = NULL;
        found = rh_service_new(serving, &tried, &why);
        if (!found && !g_error_matches(why, RH_ERROR, RH_ERROR_NO_ANSWER))
            continue;
        *pool = tried.pools[0];
        g_clear_error(error);
        if (!found)
            g_propagate_error(error, g_steal_pointer(&why));
    }
    return found;
}

static int tell_served(const RhArguments *a, RhServedMemory *fit, GError **error)
{
    g_autofree char *text = rh_report_served_fit_text(fit);
    g_autofree char *json = rh_report_served_fit_json(fit);
    if (!print(a, text, json, error))
        return 3;
    return fit->why_not ? 1 : 0;
}

static int judge_served(const RhArguments *a, RhInputs *in, RhDeployment *d, GError **error)
{
    g_autofree RhServer *server = rh_server_load(d->server, error);
    if (!server)
        return 3;
    RhServing serving = rh_inputs_serving(in, server);
    g_autoptr(GError) why = NULL;
    g_autoptr(RhService) service = a->strategy ? rh_service_new(&serving, d, &why)
                                               : fewest_gpus(&serving, in->c.job.gpus, d, &why);
    if (!service && !g_error_matches(why, RH_ERROR, RH_ERROR_NO_ANSWER)) {
        if (why)
            g_propagate_error(error, g_steal_pointer(&why));
        else
            rh_fail(error, RH_ERROR_USAGE, "no deployment of %s is valid on %s", in->model->name,
                    in->platform_spec);
        return 3;
    }
    if (!service)
        rh_service_room(&serving, d, &why);
    g_autofree char *text = rh_deployment_format(d);
    const RhPool *pool = &d->pools[d->pools_count - 1];
    RhServedMemory fit = {.q = &in->question,
                          .deployment = text,
                          .server = d->server,
                          .gpus = rh_deployment_gpus(d),
                          .replicas = pool->replicas,
                          .groups = pool->dp,
                          .positions = in->model->positions,
                          .sequence = a->sequence,
                          .why_not = service ? NULL : why->message};
    if (service) {
        fit.budget = rh_service_kv_budget(service, d->pools_count - 1);
        fit.batch = rh_service_batch(service, d->pools_count - 1);
    }
    return tell_served(a, &fit, error);
}

static int run_serving(RhArguments *a, GError **error)
{
    RhDeployment d = rh_deployment_default();
    if (a->strategy && !rh_deployment_parse(a->strategy, &d, error))
        return 2;
    g_autoptr(RhInputs) in = rh_inputs_of_service(a, error);
    if (!in)
        return 3;
    return judge_served(a, in, &d, error);
}

static int run(const RhArguments *arguments, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_NONE};
    RhArguments a = *arguments;
    if (!rh_outputs_check(a.outputs, kinds, error))
        return 2;
    return a.serve ? run_serving(&a, error) : run_training(&a, error);
}

static const RhOption own[] = {
    RH_OPTION(serve, "serve", 0, RH_OPTION_FLAG, NULL,
              "the model is served, not trained: weights and KV cache"),
    RH_OPTION(strategy, "strategy", 's', RH_OPTION_TEXT, "STRATEGY",
              "layout, like tp8,pp4,zero1 (the fastest that fits); with --serve a deployment, like "
              "tp2 or server=sglang,tp4 (the fewest GPUs per replica)",
              .layout_keys = true),
    RH_OPTION(sequence, "seq", 0, RH_OPTION_INTEGER, "S",
              "tokens of one sample (4,096, or the model's positions); with --serve: of a request",
              .low = 1, .binary = true, .high = 1 << 28),
    RH_OPTION(global_batch, "global-batch", 0, RH_OPTION_INTEGER, "B",
              "samples per optimizer step (16 for each GPU)", .low = 1, .high = 1 << 28),
    RH_OPTION(gpus, "gpus", 0, RH_OPTION_INTEGER, "N",
              "number of GPUs to use (all of the platform)", .low = 1, .high = 1 << 22),
    RH_OPTION(dtype, "dtype", 0, RH_OPTION_CHOICE, "TYPE",
              "number formats; fp8 and narrower ones are of linear layers alone",
              .choices = RH_RECIPE_CHOICES, .otherwise = "bf16"),
    RH_OPTION(risk_frac, "risk", 0, RH_OPTION_QUANTITY, "RISK",
              "highest chance of running out of memory that still counts as fitting",
              .quantity = RH_QUANTITY_FRAC, .otherwise = "5%"),
    {0}};
static const RhOption *const tables[] = {rh_options_inputs, own, rh_options_shared, rh_options_help,
                                         NULL};

const RhCommand rh_command_memory = {
    .name = "memory",
    .operands = "",
    .summary = "will it fit, and how much more would?",
    .about = "Says whether a model fits in the memory of the GPUs, for training or, with\n"
             "--serve, for serving, and what uses it. The first line also says how far it\n"
             "goes: the largest micro-batch, the longest sequence and, with LoRA, the largest\n"
             "rank; of a service the tokens of its KV cache, the longest context, and the\n"
             "requests that it holds at once. Without -s these are over all usual layouts, and\n"
             "the layout shown is the fastest of them, by lower bounds, that fits; the\n"
             "deployment is that with the fewest GPUs per replica.\n\n"
             "If it does not fit (exit status 1), the answer lists changes after which it\n"
             "does: single changes of the layout by what they cost in time, another layout,\n"
             "more GPUs, adapters (LoRA), and adapters beside weights in 4 bits (QLoRA).\n\n"
             "Fitting means a chance to run out of memory of at most --risk, by measured runs.\n",
    .examples = "rehearse memory -w llama-3.1-70b -p dgx-a100:4\n"
                "rehearse memory -w llama-3.1-8b -p dgx-h100 -s tp2,zero1 --seq 16k\n"
                "rehearse memory -w llama-3.1-8b -p rtx-4090:1x1,pcie:32GB/s \\\n"
                "    --set lora.rank=16 --set lora.base=nf4\n"
                "rehearse memory -w Qwen/Qwen2.5-32B --serve -p dgx-h100 --gpus 2 --dtype fp8",
    .tables = tables,
    .run = run,
};

#include "cli/run/run_inputs.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cli/output/terminal.h"
#include "cli/run/phases.h"
#include "strategies/run/elastic_sizes.h"
#include "strategies/run/failure_rates.h"
#include "strategies/run/policies/policies.h"
#include "strategies/run/step_jitter_by_size.h"
#include "strategies/search/capacity/elastic_plan.h"
#include "strategies/search/colocation/checkpoint_interference.h"
#include "strategies/search/plan.h"

#define NICS_LEFT_FRAC 0.05 /* of a checkpoint that would take them whole: it shares */
#define CLOSE_FRAC     1e-3 /* of the mean time: its 95 % interval */
#define SEARCH_FRAC    0.7  /* of --timeout, for the best layout; the rest is for the runs */

static RhPlanOptions search_options(const RhArguments *a)
{
    return (RhPlanOptions){.top = 1,
                           .best_alone = true,
                           .gap_frac = 0.01,
                           .risk_frac = RH_RISK_FRAC,
                           .jobs = (int32_t)a->jobs,
                           .timeout_s = SEARCH_FRAC * rh_terminal_left_s(a->timeout_s),
                           .progress = rh_terminal_progress};
}

/* The layout's step, or that of the best one. */
static bool find_step(RhRunQuery *q, GError **error)
{
    const RhArguments *a = q->a;
    if (a->strategy) {
        RhEngineOptions options = {
            .seed = (uint64_t)a->seed, .steps = 1, .timeout_s = a->timeout_s};
        if (!rh_inputs_layout(q->in, a->strategy, &q->layout, error))
            return false;
        rh_terminal_progress("rehearsing", 1, 1, 0, NULL);
        q->r = rh_rehearse(&q->in->c, &q->layout, &options, NULL, NULL, error);
        rh_terminal_progress_end();
        return q->r != NULL;
    }
    RhPlanOptions options = search_options(a);
    g_autoptr(RhPlan) plan = rh_plan(&q->in->c, &options, error);
    rh_terminal_progress_end();
    if (!plan)
        return false;
    if (plan->entries->len == 0)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "no layout fits in memory\nhelp: `rehearse plan` says what would");
    q->r = g_ptr_array_steal_index(plan->entries, 0);
    q->layout = q->r->layout;
    return true;
}

/* The layout of a step whose time is given, which says the nodes of a replica. */
static bool find_layout(RhRunQuery *q, GError **error)
{
    return !q->a->strategy || rh_inputs_layout(q->in, q->a->strategy, &q->layout, error);
}

/* Nodes of one data-parallel replica. */
static int32_t group_nodes_of(const RhRunQuery *q)
{
    const RhLayout *l = &q->layout;
    int32_t node = q->in->c.platform->gpus_per_node;
    int32_t gpus = l->dp > 0 ? q->in->c.job.gpus / l->dp : node;
    return MAX((gpus + node - 1) / node, 1);
}

/* A step too long for that has NICs with the share that the checkpoint leaves, which is no less than is fair. */
static bool find_slow_by_share(RhRunQuery *q, GError **error)
{
    RhProblem c = q->in->c;
    int32_t nodes = q->run.nodes_count;
    g_autoptr(RhPlatform) busy = rh_platform_copy(c.platform);
    busy->storage = q->checkpoint.storage;
    double nics = busy->nic_bytes_per_s.value * busy->nics_per_node * nodes;
    double share = rh_platform_storage_bytes_per_s(busy, nodes, true) / nics;
    if (busy->storage.network_bytes_per_s.value > 0 || !(nics > 0))
        return true;
    busy->nic_bytes_per_s.value *= fmax(1 - share, NICS_LEFT_FRAC);
    c.platform = busy;
    RhEngineOptions options = {.seed = (uint64_t)q->a->seed, .steps = 1};
    g_autoptr(RhRehearsal) r = rh_rehearse(&c, &q->layout, &options, NULL, NULL, error);
    if (r)
        q->checkpoint.slow_frac = fmax(1 - q->r->step_time_s / r->step_time_s, 0);
    return r != NULL;
}

/* A step beside a checkpoint that is written in the background is rehearsed, with its flows on the fabric. */
static bool find_slow_frac(RhRunQuery *q, GError **error)
{
    if (!q->r || !rh_checkpoint_drains(&q->checkpoint))
        return true;
    int64_t microbatches = rh_checkpoint_beside_microbatches(&q->in->c, &q->layout);
    if (microbatches == 0)
        return find_slow_by_share(q, error);
    RhCheckpointInterference ask = {.c = &q->in->c,
                                    .layout = &q->layout,
                                    .setup = &q->checkpoint,
                                    .step_s = q->r->step_time_s,
                                    .microbatches = microbatches,
                                    .processes = (int32_t)q->a->jobs};
    RhEngineOptions options = {.seed = (uint64_t)q->a->seed,
                               .timeout_s = rh_terminal_left_s(q->a->timeout_s)};
    RhCheckpointInterferenceTimes t;
    rh_terminal_progress("rehearsing", 1, 1, 0, NULL);
    bool done = rh_checkpoint_beside(&ask, &options, &t, error);
    rh_terminal_progress_end();
    if (done) {
        q->checkpoint.slow_frac = fmax(1 - t.step_alone_s / t.step_beside_s, 0);
        q->checkpoint.drain_times = fmax(t.beside_s / t.alone_s, 1);
    }
    return done;
}

static bool settle_checkpoint(RhRunQuery *q, GError **error)
{
    const RhCheckpointWords *w = &q->words;
    const RhPlatform *p = q->in->c.platform;
    RhCheckpointSetup *setup = &q->checkpoint;
    setup->bytes = rh_checkpoint_bytes(&q->in->c);
    setup->storage = rh_checkpoint_storage(p, q->in->c.job.gpus);
    if (w->storage_bytes_per_s > 0)
        setup->storage =
            (RhStorage){.bytes_per_s = {.value = w->storage_bytes_per_s, .source = "given"},
                        .network_bytes_per_s = setup->storage.network_bytes_per_s};
    if (w->client_bytes_per_s > 0)
        setup->storage.client_bytes_per_s.value = w->client_bytes_per_s;
    setup->async = w->async;
    setup->nvme_bytes_per_s = w->nvme_bytes_per_s;
    if (w->drives)
        setup->nvme_bytes_per_s = p->nvme_bytes_per_s.value;
    if (w->drives && setup->nvme_bytes_per_s <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--checkpoint nvme: the platform does not say how fast its drives are\n"
                       "help: nvme=7GB/s of a node, or --set nvme.bandwidth=7GB/s");
    if (!find_slow_frac(q, error))
        return false;
    q->run.checkpoint = rh_checkpoint_times(setup, p, q->run.nodes_count);
    RhEngineOptions options = {.timeout_s = rh_terminal_left_s(q->a->timeout_s)};
    if (!rh_checkpoint_alone(&q->in->c, setup, &options, &q->run.checkpoint, error))
        return false;
    q->run.checkpoint.every_s = w->every_s;
    if (w->write_s > 0)
        q->run.checkpoint.write_s = w->write_s;
    if (w->read_s > 0)
        q->run.checkpoint.read_s = w->read_s;
    if (w->write_s > 0 && w->read_s > 0)
        setup->bytes = 0;
    double nics = p->nic_bytes_per_s.value * p->nics_per_node * q->run.nodes_count;
    q->run.memory_every_s = w->memory_every_s;
    q->run.memory_read_s = nics > 0 ? rh_checkpoint_bytes(&q->in->c) / nics : 0;
    return true;
}

/* Everything but the time of the work, before anything is simulated. */
static bool read_words(RhRunQuery *q, GError **error)
{
    const RhArguments *a = q->a;
    RhTrainingRun *run = &q->run;
    *run = (RhTrainingRun){.startup_s = a->startup_s,
                           .tuning_s = a->tuning_s,
                           .swap_s = 600,
                           .policy = rh_run_policy_by_name(a->policy),
                           .spares_endless = !a->spares,
                           .seed = (uint64_t)a->seed,
                           .least = a->replications > 0 ? (int32_t)a->replications : 200,
                           .most = a->replications > 0 ? (int32_t)a->replications : 2000,
                           .close_frac = CLOSE_FRAC};
    if (a->tuning_s > 0 && a->spot)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--tuning and --spot: a trace of nodes begins with the first step\n"
                       "help: leave one of them out");
    if (!run->policy)
        return rh_fail_unknown(error, "policy", a->policy, rh_run_policy_names());
    if (a->spares && !run->policy->takes_spares)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--spares: the policy %s takes none\nhelp: --policy spares",
                       run->policy->name);
    RhFailureRates *rates = &q->failures.rates;
    return rh_run_words_failures(a->failures, &q->failures, run, error) &&
           rh_run_words_times("--detection", a->detection, &run->detection_s,
                              rh_run_words_detection, rates, error) &&
           rh_run_words_times("--repair", a->repair, &run->repair_s, rh_run_words_repair, rates,
                              error) &&
           (!a->diagnosis || rh_run_words_diagnosis(a->diagnosis, run, rates, error)) &&
           (!a->spot || rh_run_words_spot(a->spot, &q->spot, error)) &&
           (!a->stragglers || rh_run_words_stragglers(a->stragglers, run, error)) &&
           (!a->stalls || rh_run_words_stalls(a->stalls, run, error)) &&
           (!a->maintenance || rh_run_words_stops(a->maintenance, run, error)) &&
           rh_run_words_checkpoint(a->checkpoint, &q->words, error) &&
           (!a->spares || rh_run_words_spares(a->spares, run, error));
}

/* Speeds of an elastic job by its layout; without one they are the replicas' share. */
static void settle_speeds(RhRunQuery *q)
{
    const RhLayout *l = &q->layout;
    RhTrainingRun *run = &q->run;
    int32_t groups = run->nodes_count / run->group_nodes;
    if (l->dp < 2 || l->dp % groups != 0)
        return;
    RhElasticJob job = {.batch = q->in->c.job.global_batch,
                        .micro_batch = MAX(l->microbatch, 1),
                        .replicas = l->dp,
                        .fill = (l->pp - 1.0) / MAX(l->vpp, 1),
                        .even = strcmp(q->a->elastic, "even") == 0};
    g_autofree double *speeds = g_new(double, l->dp + 1);
    rh_elastic_speeds(&job, speeds);
    for (int32_t i = 0; i <= groups; i++) /* a group has as many replicas as any other */
        g_array_append_val(q->speeds, speeds[i * (l->dp / groups)]);
    run->speeds = (const double *)(const void *)q->speeds->data;
}

/* Layouts of a job that shrinks, for the sizes that failures leave it with. */
static void settle_sizes(RhRunQuery *q)
{
    RhTrainingRun *run = &q->run;
    if (!q->r || run->policy != &rh_run_policy_shrink)
        return;
    RhPlanOptions options = search_options(q->a);
    q->layouts = rh_elastic_plan(&q->in->c, rh_run_missing_most(run), &options);
    rh_terminal_progress_end();
    for (guint i = 0; i < q->layouts->len; i++) {
        const RhElasticSize *size = &g_array_index(q->layouts, RhElasticSize, i);
        double speed =
            q->r->step_time_s / size->step_s; /* over 1: the job's layout is a poor one */
        RhRunSize one = {size->nodes, fmin(speed, 1)};
        g_array_append_val(q->sizes, one);
    }
    run->sizes = (const RhRunSize *)(const void *)q->sizes->data;
    run->sizes_count = (int32_t)q->sizes->len;
}

static bool settle_work(RhRunQuery *q, double step_s, GError **error)
{
    RhPhaseQuestion question = {.in = q->in,
                                .texts = q->a->phases,
                                .tokens = q->a->tokens,
                                .step_s = step_s,
                                .layout = q->r ? &q->layout : NULL,
                                .rehearsal = q->r,
                                .seed = (uint64_t)q->a->seed};
    return rh_run_phases_read(&question, q->phases, &q->run.work_s, error);
}

static bool settle_run(RhRunQuery *q, GError **error)
{
    const RhArguments *a = q->a;
    RhTrainingRun *run = &q->run;
    const RhProblem *c = &q->in->c;
    double step_s = q->r ? q->r->step_time_s : a->step_time_s;
    run->node_gpus = c->platform->gpus_per_node;
    run->nodes_count = MAX(c->job.gpus / run->node_gpus, 1);
    if (!settle_work(q, step_s, error))
        return false;
    run->mtbf_s = a->mtbf_s > 0 ? a->mtbf_s : rh_failure_rates_mtbf_s(run->rates, c->job.gpus);
    run->group_nodes = MIN(group_nodes_of(q), run->nodes_count);
    run->reshape_s = a->reshape_s;
    run->step_s = step_s;
    if (a->step_jitter_frac > 0)
        run->jitter_frac = a->step_jitter_frac;
    else if (a->step_time_s <= 0) /* a simulated step is a median one */
        run->jitter_frac = rh_step_jitter(c->job.gpus)->mean_frac;
    if (a->spot) {
        run->spot = (const RhSpotEvent *)(const void *)q->spot.events->data;
        run->spot_count = (int32_t)q->spot.events->len;
        run->prices = (const RhSpotPrice *)(const void *)q->spot.prices->data;
        run->prices_count = (int32_t)q->spot.prices->len;
    }
    run->deadline = rh_deadline_in(rh_terminal_left_s(a->timeout_s));
    run->progress = rh_terminal_progress;
    settle_speeds(q);
    settle_sizes(q);
    return settle_checkpoint(q, error);
}

double rh_run_query_usd_per_gpu_hour(const RhRunQuery *q, const RhRunResult *result)
{
    return result->usd_per_gpu_hour > 0   ? result->usd_per_gpu_hour
           : q->spot.usd_per_gpu_hour > 0 ? q->spot.usd_per_gpu_hour
                                          : q->in->hardware->price_usd_per_gpu_hour.value;
}

int rh_run_query_open(const RhArguments *a, RhRunQuery *q, GError **error)
{
    *q = (RhRunQuery){.a = a,
                      .failures.trace = g_array_new(FALSE, FALSE, sizeof(RhTimedFailure)),
                      .phases = g_array_new(FALSE, FALSE, sizeof(RhRunPhase)),
                      .speeds = g_array_new(FALSE, FALSE, sizeof(double)),
                      .sizes = g_array_new(FALSE, FALSE, sizeof(RhRunSize)),
                      .spot.events = g_array_new(FALSE, FALSE, sizeof(RhSpotEvent)),
                      .spot.prices = g_array_new(FALSE, FALSE, sizeof(RhSpotPrice))};
    if (!read_words(q, error))
        return g_error_matches(*error, RH_ERROR, RH_ERROR_INPUT) ? 3 : 2;
    q->in = rh_inputs_of(a, error);
    if (q->in && !rh_inputs_alone_on_gpus(q->in, "run", error))
        return 2;
    bool found = q->in && (a->step_time_s <= 0 ? find_step(q, error) : find_layout(q, error));
    if (!found)
        return 3;
    if (!settle_run(q, error))
        return g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2 : 3;
    return rh_training_run_check(&q->run, error) ? 0 : 2;
}

void rh_run_query_clear(RhRunQuery *q)
{
    rh_inputs_free(q->in);
    rh_rehearsal_free(q->r);
    g_clear_pointer(&q->failures.trace, g_array_unref);
    g_clear_pointer(&q->spot.events, g_array_unref);
    g_clear_pointer(&q->spot.prices, g_array_unref);
    g_clear_pointer(&q->speeds, g_array_unref);
    g_clear_pointer(&q->sizes, g_array_unref);
    g_clear_pointer(&q->layouts, g_array_unref);
    g_clear_pointer(&q->phases, g_array_unref);
}

/* rehearse run: how long does the whole run take, with its failures and checkpoints? */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/inputs/inputs.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/run/phases.h"
#include "cli/run/run_words.h"
#include "report/format.h"
#include "report/run/run_over_time.h"
#include "report/run/run_picture.h"
#include "strategies/run/elastic_sizes.h"
#include "strategies/run/failure_rates.h"
#include "strategies/run/policies/policies.h"
#include "strategies/run/run_estimate.h"
#include "strategies/run/step_jitter.h"
#include "strategies/search/colocation/checkpoint_beside.h"
#include "strategies/search/plan.h"

#define CLOSE_FRAC  1e-3 /* of the mean time: its 95 % interval */
#define SEARCH_FRAC 0.7  /* of --timeout, for the best layout; the rest is for the runs */

typedef struct {
    const RhArguments *a;
    RhInputs *in;
    RhCheckpointWords words;
    RhCheckpointSetup checkpoint;
    RhTrainingRun run;
    RhFailureWords failures;
    GArray *spot;   /* RhSpotEvent */
    GArray *speeds; /* double, by replicas */
    GArray *phases; /* RhRunPhase */
    double spot_usd_per_gpu_hour;
    RhRehearsal *r; /* NULL: the step's time is given */
    RhLayout layout;
} Query;

/* The layout's step, or that of the best one. */
static bool find_step(Query *q, GError **error)
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
    RhPlanOptions options = {.top = 1,
                             .best_alone = true,
                             .gap_frac = 0.01,
                             .risk_frac = RH_RISK_FRAC,
                             .jobs = (int32_t)a->jobs,
                             .timeout_s = SEARCH_FRAC * a->timeout_s,
                             .progress = rh_terminal_progress};
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
static bool find_layout(Query *q, GError **error)
{
    return !q->a->strategy || rh_inputs_layout(q->in, q->a->strategy, &q->layout, error);
}

/* Nodes of one data-parallel replica. */
static int32_t group_nodes_of(const Query *q)
{
    const RhLayout *l = &q->layout;
    int32_t node = q->in->c.platform->gpus_per_node;
    int32_t gpus = l->dp > 0 ? q->in->c.job.gpus / l->dp : node;
    return MAX((gpus + node - 1) / node, 1);
}

/* A step beside a checkpoint that is written in the background is rehearsed, with its flows on the fabric. */
static bool find_slow_frac(Query *q, GError **error)
{
    if (!q->r || !rh_checkpoint_drains(&q->checkpoint))
        return true;
    RhCheckpointBeside ask = {.c = &q->in->c,
                              .layout = &q->layout,
                              .setup = &q->checkpoint,
                              .step_s = q->r->step_time_s,
                              .processes = (int32_t)q->a->jobs};
    RhEngineOptions options = {.seed = (uint64_t)q->a->seed,
                               .timeout_s = rh_terminal_left_s(q->a->timeout_s)};
    RhCheckpointTogether t;
    rh_terminal_progress("rehearsing", 1, 1, 0, NULL);
    bool done = rh_checkpoint_beside(&ask, &options, &t, error);
    rh_terminal_progress_end();
    if (done) {
        q->checkpoint.slow_frac = fmax(1 - t.step_alone_s / t.step_beside_s, 0);
        q->checkpoint.drain_times = fmax(t.beside_s / t.alone_s, 1);
    }
    return done;
}

static bool settle_checkpoint(Query *q, GError **error)
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
static bool read_words(Query *q, GError **error)
{
    const RhArguments *a = q->a;
    RhTrainingRun *run = &q->run;
    *run = (RhTrainingRun){.startup_s = a->startup_s,
                           .swap_s = 600,
                           .policy = rh_run_policy_by_name(a->policy),
                           .spares_endless = !a->spares,
                           .seed = (uint64_t)a->seed,
                           .least = a->replications > 0 ? (int32_t)a->replications : 200,
                           .most = a->replications > 0 ? (int32_t)a->replications : 2000,
                           .close_frac = CLOSE_FRAC};
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
           (!a->spot || rh_run_words_spot(a->spot, q->spot, &q->spot_usd_per_gpu_hour, error)) &&
           (!a->stragglers || rh_run_words_stragglers(a->stragglers, run, error)) &&
           (!a->stalls || rh_run_words_stalls(a->stalls, run, error)) &&
           (!a->maintenance || rh_run_words_stops(a->maintenance, run, error)) &&
           rh_run_words_checkpoint(a->checkpoint, &q->words, error) &&
           (!a->spares || rh_run_words_spares(a->spares, run, error));
}

/* Speeds of an elastic job by its layout; without one they are the replicas' share. */
static void settle_speeds(Query *q)
{
    const RhLayout *l = &q->layout;
    RhTrainingRun *run = &q->run;
    if (l->dp < 2 || run->nodes_count / run->group_nodes != l->dp)
        return;
    RhElasticJob job = {.batch = q->in->c.job.global_batch,
                        .micro_batch = MAX(l->microbatch, 1),
                        .replicas = l->dp,
                        .fill = (l->pp - 1.0) / MAX(l->vpp, 1),
                        .even = strcmp(q->a->elastic, "even") == 0};
    g_array_set_size(q->speeds, (guint)l->dp + 1);
    rh_elastic_speeds(&job, (double *)(void *)q->speeds->data);
    run->speeds = (const double *)(const void *)q->speeds->data;
}

static bool settle_work(Query *q, double step_s, GError **error)
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

static bool settle_run(Query *q, GError **error)
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
        run->spot = (const RhSpotEvent *)(const void *)q->spot->data;
        run->spot_count = (int32_t)q->spot->len;
    }
    run->deadline = rh_deadline_in(rh_terminal_left_s(a->timeout_s));
    run->progress = rh_terminal_progress;
    settle_speeds(q);
    return settle_checkpoint(q, error);
}

static char *about_rates(const Query *q)
{
    if (q->run.law == RH_LAW_TRACE)
        return NULL;
    const char *law = q->run.law == RH_LAW_WEIBULL     ? ", Weibull lives of nodes"
                      : q->run.law == RH_LAW_BAD_NODES ? ", some nodes worse"
                                                       : "";
    return g_strdup_printf("%s%s%s", q->run.rates->about,
                           q->a->mtbf_s > 0 ? ", at the time between failures that is given" : "",
                           law);
}

/* Writes the page: where the time goes, one run, and all of them. */
static bool write_page(const Query *q, const RhRunAnswer *answer, RhPage *page, GError **error)
{
    g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(RhRunInterval));
    RhRunOutcome one =
        rh_run_simulate_spans(&q->run, answer->result->every_s, answer->result->middle, spans);
    g_autofree char *parts = rh_report_run_time_svg(answer),
                    *spread = rh_report_run_spread_svg(answer),
                    *strip = rh_report_run_spans_svg(answer, spans, one.time_s);
    RhPagePicture pictures[] = {
        {.id = "run-time",
         .title = "Where the time goes",
         .caption = "Parts of the mean time over all drawn runs; together they are the whole run.",
         .svg = parts},
        {.id = "run-spread",
         .title = "How long drawn runs take",
         .caption = "Share of the drawn runs that are done by a time; below, the goodput of a run "
                    "of that length.",
         .svg = spread},
        {.id = "run-spans",
         .title = "One run",
         .caption = "The drawn run nearest to the median, a twelfth in each row; checkpoints that "
                    "become whole are not drawn.",
         .svg = strip}};
    page->pictures = pictures;
    page->pictures_count = q->run.policy->simulate ? 2 : 3;
    return rh_outputs_write_page(q->a->outputs, page, error);
}

static bool write_files(const Query *q, const RhRunAnswer *answer, const char *text,
                        const char *json, GError **error)
{
    RhPage page = {.command = "run", .answer = text, .json = json};
    if (rh_outputs_find(q->a->outputs, RH_OUTPUT_HTML))
        return write_page(q, answer, &page, error);
    return rh_outputs_write_page(q->a->outputs, &page, error);
}

static int show(Query *q, GError **error)
{
    RhRunResult result;
    if (!rh_training_run_check(&q->run, error))
        return 2;
    bool found = rh_run_replicate(&q->run, &result, error);
    g_autoptr(GArray) changes = found ? rh_run_changes(&q->run, &result) : NULL;
    rh_terminal_progress_end();
    if (!found)
        return 1;
    bool changes_cut = rh_deadline_passed(q->run.deadline);
    g_autofree char *about = about_rates(q);
    double steps = 0;
    for (guint i = 0; i < q->phases->len; i++)
        steps += g_array_index(q->phases, RhRunPhase, i).steps;
    RhRunAnswer answer = {.q = &q->in->question,
                          .run = &q->run,
                          .result = &result,
                          .checkpoint = &q->checkpoint,
                          .changes = changes,
                          .changes_cut = changes_cut,
                          .layout = q->r ? &q->layout : NULL,
                          .rates_about = about,
                          .tokens = q->a->tokens,
                          .step_s = q->run.step_s,
                          .phases = q->phases,
                          .steps = steps,
                          .error_frac = q->r ? rh_report_error_frac(q->r) : 0,
                          .usd_per_gpu_hour = q->spot_usd_per_gpu_hour > 0
                                                  ? q->spot_usd_per_gpu_hour
                                                  : q->in->hardware->price_usd_per_gpu_hour.value,
                          .goal_frac = q->a->goodput_frac};
    g_autofree char *json = rh_report_run_over_time_json(&answer),
                    *text = rh_report_run_over_time_text(&answer);
    fputs(q->a->json ? json : text, stdout);
    rh_output_answered();
    if (!write_files(q, &answer, text, json, error))
        return 3;
    return result.goodput_frac >= q->a->goodput_frac ? 0 : 1;
}

static int answer(Query *q, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    if (!rh_outputs_check(q->a->outputs, kinds, error))
        return 2;
    if (!read_words(q, error))
        return g_error_matches(*error, RH_ERROR, RH_ERROR_INPUT) ? 3 : 2;
    q->in = rh_inputs_of(q->a, error);
    bool found = q->in && (q->a->step_time_s <= 0 ? find_step(q, error) : find_layout(q, error));
    if (!found)
        return 3;
    if (!settle_run(q, error))
        return g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2 : 3;
    return show(q, error);
}

static int run(const RhArguments *a, GError **error)
{
    Query q = {.a = a,
               .failures.trace = g_array_new(FALSE, FALSE, sizeof(RhTimedFailure)),
               .phases = g_array_new(FALSE, FALSE, sizeof(RhRunPhase)),
               .speeds = g_array_new(FALSE, FALSE, sizeof(double)),
               .spot = g_array_new(FALSE, FALSE, sizeof(RhSpotEvent))};
    int status = answer(&q, error);
    rh_inputs_free(q.in);
    rh_rehearsal_free(q.r);
    g_array_unref(q.failures.trace);
    g_array_unref(q.spot);
    g_array_unref(q.speeds);
    g_array_unref(q.phases);
    return status;
}

/* A line for each policy. */
static char *policy_lines(void)
{
    GString *out = g_string_new(NULL);
    for (const RhRunPolicy *const *p = rh_run_policies(); *p; p++) {
        g_autofree char *line = g_strdup_printf("  %-8s %s", (*p)->name, (*p)->about);
        rh_text_wrap(out, line, 11, 79);
    }
    return g_string_free(out, FALSE);
}

static const RhOption own[] = {
    RH_OPTION(tokens, "tokens", 0, RH_OPTION_QUANTITY, "15T", "tokens to train on",
              .quantity = RH_QUANTITY_TOKENS, .positive = true, .required = true),
    RH_OPTION(strategy, "strategy", 's', RH_OPTION_TEXT, "STRATEGY",
              "layout: like tp8,pp4,mb1, a file that holds one, or plan.json#RANK (the best one)",
              .layout_keys = true),
    RH_OPTION(step_time_s, "step-time", 0, RH_OPTION_QUANTITY, "5.2s",
              "time of a step, measured or from elsewhere (simulated)", .quantity = RH_QUANTITY_S,
              .positive = true),
    RH_OPTION(failures, "failures", 0, RH_OPTION_TEXT, "NAME|FILE",
              "what fails how often: llama-3, meta-rsc-1, meta-rsc-2, with ,weibull=SHAPE or "
              ",bad=3%x10; or a file with their times (a column `seconds`)",
              .otherwise = "llama-3"),
    RH_OPTION(mtbf_s, "mtbf", 0, RH_OPTION_QUANTITY, "3h",
              "mean time between failures of the whole job (by the rates and its GPUs)",
              .quantity = RH_QUANTITY_S, .positive = true),
    RH_OPTION(
        checkpoint, "checkpoint", 0, RH_OPTION_TEXT, "LIST",
        "every=30min (the best interval), storage=2TB/s (122 MB/s a GPU, as for Llama 3), "
        "client=5GB/s of a node, async, nvme (the nodes' drives first) or nvme=7GB/s, write=30s, "
        "read=60s, memory=1min"),
    RH_OPTION(detection, "detection", 0, RH_OPTION_TEXT, "TIMES",
              "until a failure is noticed and the job ended, for all or a component: "
              "10min,host=30s (the default is NCCL's time-out in PyTorch)",
              .otherwise = G_STRINGIFY(RH_RUN_DETECTION_MIN) "min"),
    RH_OPTION(diagnosis, "diagnosis", 0, RH_OPTION_TEXT, "TIMES",
              "until it is known what to replace: 5min,GPU=20min; missed=10% of failures come "
              "again at once (0)"),
    RH_OPTION(startup_s, "startup", 0, RH_OPTION_QUANTITY, "2min",
              "start of the job without reading the checkpoint (the default is MLPerf v5.0's, "
              "405B on 8,192 H100)",
              .quantity = RH_QUANTITY_S, .otherwise = G_STRINGIFY(RH_RUN_STARTUP_S) "s"),
    RH_OPTION(policy, "policy", 0, RH_OPTION_TEXT, "NAME", "what follows a failure",
              .names = rh_run_policy_names, .names_told = true, .otherwise = "restart"),
    RH_OPTION(spares, "spares", 0, RH_OPTION_TEXT, "LIST",
              "spare nodes: hot=8 (up, and paid), cold=8, swap=10min until a cold one is up "
              "(as many as are needed)"),
    RH_OPTION(repair, "repair", 0, RH_OPTION_TEXT, "TIMES",
              "until a node that failed is back: 1d,GPU=3d (assumed)", .otherwise = "1d"),
    RH_OPTION(elastic, "elastic", 0, RH_OPTION_CHOICE, "SIZES",
              "sizes at which shrink and groups go on; even: only where all replicas have as many "
              "micro-batches (DeepSpeed's rule)",
              .choices = "any|even", .otherwise = "any"),
    RH_OPTION(reshape_s, "reshape", 0, RH_OPTION_QUANTITY, "20s",
              "to go on at another size, beside the restart (0; redundant: 20 s, Bamboo's)",
              .quantity = RH_QUANTITY_S),
    RH_OPTION(phases, "phase", 0, RH_OPTION_LIST, "LIST",
              "first tokens with another step: tokens=250B,batch=1024,seq=4096 (rehearsed), "
              "step=3.1s, drop=50% (progressive layer drop down to it)"),
    RH_OPTION(step_jitter_frac, "step-jitter", 0, RH_OPTION_QUANTITY, "0.5%",
              "by which the mean step is longer than the simulated one (as MLPerf's logs of such a "
              "size; of a given step none)",
              .quantity = RH_QUANTITY_FRAC, .positive = true),
    RH_OPTION(stragglers, "stragglers", 0, RH_OPTION_TEXT, "LIST",
              "slow GPUs of the job: every=5d,slows=20%,lasts=3h, and with found=10min removed at "
              "the next checkpoint"),
    RH_OPTION(stalls, "stalls", 0, RH_OPTION_TEXT, "LIST",
              "pauses, as of data loading: every=1h,lasts=30s"),
    RH_OPTION(maintenance, "maintenance", 0, RH_OPTION_TEXT, "LIST",
              "planned stops of all: every=30d,lasts=4h"),
    RH_OPTION(spot, "spot", 0, RH_OPTION_TEXT, "FILE",
              "nodes that come and go: a table seconds,instances or seconds,event,node; with "
              "FILE,price=0.91USD of a GPU and hour"),
    RH_OPTION(goodput_frac, "goodput", 0, RH_OPTION_QUANTITY, "90%",
              "exit with status 1 below it, and say what each failure may cost for it",
              .quantity = RH_QUANTITY_FRAC),
    RH_OPTION(replications, "replications", 0, RH_OPTION_INTEGER, "N",
              "runs that are drawn (until the mean is known to 0.1 %, at most 2,000)", .low = 2,
              .high = 1000000),
    {0}};
static const RhOption *const tables[] = {rh_options_inputs, rh_options_job,  own,
                                         rh_options_shared, rh_options_help, NULL};

const RhCommand rh_command_run = {
    .name = "run",
    .operands = "[PLAN.json#RANK]",
    .operands_high = 1,
    .operand_is_layout = true,
    .summary = "how long does the whole run take, with failures and checkpoints?",
    .about = "Takes a step's time (simulated, of the best layout or of -s; or --step-time) and\n"
             "draws whole runs: components fail at published rates, failures are noticed,\n"
             "the job restarts from its last checkpoint, and what was done since is lost.\n\n"
             "goodput is the share of the GPU time paid for that trains; p10, p50 and p90 are\n"
             "over drawn runs of the same step. The interval between checkpoints is searched\n"
             "unless it is given; Young's and Daly's formulas stand beside it. `what would\n"
             "pay` is the goodput with one thing changed, on the same failures.\n\n"
             "Policies (spares are a pool of --spares; copies in memory are taken after each\n"
             "--checkpoint memory=1min of work):\n",
    .about_rows = policy_lines,
    .examples = "rehearse run -w llama-3.1-405b -p llama3-roce --gpus 16384 \\\n"
                "    --global-batch 2048 --seq 8192 -s tp8,pp16,mb1,vpp8 \\\n"
                "    --tokens 15.6T --goodput 90%\n"
                "rehearse run -w llama-3.1-70b -p dgx-h100:128 --global-batch 1024 --seq 8192 \\\n"
                "    --step-time 6.3s --tokens 2T --policy spares --spares hot=4 \\\n"
                "    --checkpoint every=20min,storage=100GB/s,async\n"
                "rehearse run plan.json#1 --tokens 2T",
    .tables = tables,
    .run = run,
};

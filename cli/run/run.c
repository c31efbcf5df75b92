/* rehearse run: how long does the whole run take, with its failures and checkpoints? */
#include <stdio.h>

#include "base/error.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/run/run_inputs.h"
#include "report/format.h"
#include "report/run/run_answer.h"
#include "report/run/run_picture.h"
#include "strategies/run/failure_rates.h"
#include "strategies/run/policies/policies.h"
#include "strategies/run/run_estimate.h"

static char *about_rates(const RhRunQuery *q)
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
static bool write_page(const RhRunQuery *q, const RhRunAnswer *answer, RhPage *page, GError **error)
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

static bool write_files(const RhRunQuery *q, const RhRunAnswer *answer, const char *text,
                        const char *json, GError **error)
{
    RhPage page = {.command = "run", .answer = text, .json = json};
    if (rh_outputs_find(q->a->outputs, RH_OUTPUT_HTML))
        return write_page(q, answer, &page, error);
    return rh_outputs_write_page(q->a->outputs, &page, error);
}

static int show(RhRunQuery *q, GError **error)
{
    RhRunResult result;
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
                          .saved_as = rh_outputs_find(q->a->outputs, RH_OUTPUT_JSON),
                          .tokens = q->a->tokens,
                          .step_s = q->run.step_s,
                          .phases = q->phases,
                          .sizes = q->layouts,
                          .steps = steps,
                          .error_frac = q->r ? rh_report_error_frac(q->r) : 0,
                          .usd_per_gpu_hour = rh_run_query_usd_per_gpu_hour(q, &result),
                          .goal_frac = q->a->goodput_frac};
    g_autofree char *json = rh_report_run_over_time_json(&answer),
                    *text = rh_report_run_over_time_text(&answer);
    fputs(q->a->json ? json : text, stdout);
    rh_output_answered();
    if (!write_files(q, &answer, text, json, error))
        return 3;
    return result.goodput_frac >= q->a->goodput_frac ? 0 : 1;
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    if (!rh_outputs_check(a->outputs, kinds, error))
        return 2;
    g_auto(RhRunQuery) q = {0};
    int status = rh_run_query_open(a, &q, error);
    return status ? status : show(&q, error);
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
    RH_OPTION(tuning_s, "tuning", 0, RH_OPTION_QUANTITY, "20h",
              "kernels are tuned for so long on all nodes before the first step, once; not with "
              "--spot (0)",
              .quantity = RH_QUANTITY_S),
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
    RH_OPTION(
        phases, "phase", 0, RH_OPTION_LIST, "LIST",
        "first tokens with another step: tokens=250B,batch=1024,seq=4096 (rehearsed), "
        "step=3.1s, drop=50% (progressive layer drop down to it), whole=15% (of its steps, without "
        "the codec), silent=50% (that exchange nothing)"),
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
              "planned stops of all: every=30d,lasts=4h; or machines that are moved while they "
              "run: every=30d,moves=512GB,link=25GB/s,dirty=2GB/s, with packed=56%,pack=3GB/s "
              "compressed, downtime=300ms"),
    RH_OPTION(
        spot, "spot", 0, RH_OPTION_TEXT, "FILE",
        "nodes that come and go: a table seconds,instances or seconds,event,node, with a column "
        "usd_per_gpu_hour where prices change; or FILE,price=0.91USD of a GPU and hour"),
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

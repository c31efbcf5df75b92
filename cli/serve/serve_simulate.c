/* rehearse serve-simulate: what do the requests of this trace live through? */
#include <stdio.h>

#include "base/error.h"
#include "cli/inputs/inputs.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/serve/serve_simulate_inputs.h"
#include "cli/unused_settings.h"
#include "report/json/json_facts.h"
#include "report/serve/serve.h"
#include "report/serve/service_page.h"
#include "strategies/serve/results/overload_patient_clients.h"
#include "strategies/serve/results/service_program.h"
#include "strategies/serve/server_software.h"

/* A service that was played. */
typedef struct {
    const RhServing *serving;
    const RhDeployment *deployment;
    RhService *service;
    const RhServiceResult *result;
    const RhFailures *failures;
} Played;

static char *page_of(const RhServeQuestion *q, const Played *p, const RhServiceMetrics *o,
                     GError **error)
{
    g_autofree char *facts =
        rh_report_service_facts_json(&p->serving->platform, NULL, 1, p->serving->server, error);
    return facts ? rh_report_serve_page(q, p->result, o, facts) : NULL;
}

static char *program_json(const Played *p, GError **error)
{
    g_autoptr(RhProgram) program =
        rh_service_program(p->service, p->serving, p->deployment, p->result, error);
    return program ? rh_program_to_json(program) : NULL;
}

static bool write_files(const RhArguments *a, const RhServeQuestion *q, const Played *p,
                        const RhServiceMetrics *o, GError **error)
{
    const RhServiceResult *r = p->result;
    for (guint i = 0; i < a->outputs->len; i++) {
        const char *path = g_ptr_array_index(a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *text = kind == RH_OUTPUT_CSV       ? rh_report_serve_csv(q, r)
                                : kind == RH_OUTPUT_TRACE   ? rh_report_serve_trace(r, error)
                                : kind == RH_OUTPUT_PROGRAM ? program_json(p, error)
                                : kind == RH_OUTPUT_HTML    ? page_of(q, p, o, error)
                                                            : rh_report_serve_json(q, r, o);
        if (!text || !rh_output_write(path, text, error))
            return false;
    }
    return true;
}

/* Reads --fail, --mtbf and the other options of failures. */
static bool read_failures(const RhArguments *a, const RhDeployment *deployment, RhFailures *f,
                          GArray **list, GError **error)
{
    static const char *const options[] = {"--restart", "--retries"};
    bool fails = a->fail || a->mtbf_s > 0;
    *f = (RhFailures){.mtbf_s = a->mtbf_s,
                      .restart_s = a->restart_s,
                      .retries = (int32_t)a->retries,
                      .seed = (uint64_t)a->seed};
    for (size_t i = 0; !fails && i < G_N_ELEMENTS(options); i++)
        if (rh_arguments_given(a, options[i]))
            return rh_fail(error, RH_ERROR_USAGE,
                           "%s: no server fails\nhelp: --fail 0@30s, or --mtbf 30d", options[i]);
    if (a->fail && !(*list = rh_failures_parse(a->fail, error))) {
        g_prefix_error(error, "--fail: ");
        return false;
    }
    f->list = *list;
    if (rh_failures_check(f, deployment, error))
        return true;
    g_prefix_error(error, "--fail: ");
    return false;
}

/* With failures, and without: what they cost. */
static RhServiceResult *play(RhService *service, RhServeRequests *asked, const RhFailures *failures,
                             RhServiceResult **unharmed, GError **error)
{
    bool fails = failures->list || failures->mtbf_s > 0;
    asked->client.failures = fails ? failures : NULL;
    g_autoptr(RhServiceResult) result = rh_service_run(service, asked->list, &asked->client, error);
    asked->client.failures = NULL;
    if (!result || !fails)
        return g_steal_pointer(&result);
    *unharmed = rh_service_run(service, asked->list, &asked->client, error);
    return *unharmed ? g_steal_pointer(&result) : NULL;
}

/* --- words that change nothing --- */

#define FIRST_REQUESTS 64 /* cheap: what only these tell apart needs no more */

/* Inputs and options of the simulation. */
typedef struct {
    const RhInputs *in;
    const Played *played;
    RhServeRequests *asked;
    const RhFailures *failures;
} Idle;

static RhServiceResult *play_again(const RhInputs *in, bool cheap, const Idle *idle)
{
    RhServing serving = rh_inputs_serving(in, idle->played->serving->server);
    g_autoptr(RhService) service = rh_service_new(&serving, idle->played->deployment, NULL);
    g_autoptr(RhServiceResult) unharmed = NULL;
    RhRequests list = *idle->asked->list;
    g_autoptr(GArray) first = g_array_copy(list.list);
    if (cheap && first->len > FIRST_REQUESTS)
        g_array_set_size(first, FIRST_REQUESTS);
    list.list = first;
    RhServeRequests asked = *idle->asked;
    asked.list = &list;
    asked.client.timeline = asked.client.history = asked.client.each_iteration = false;
    return service ? play(service, &asked, idle->failures, &unharmed, NULL) : NULL;
}

static GArray *figures_of(const RhInputs *in, bool cheap, const void *user)
{
    const Idle *idle = user;
    bool known = in == idle->in && !cheap;
    g_autoptr(RhServiceResult) again = known ? NULL : play_again(in, cheap, idle);
    const RhServiceResult *r = known ? idle->played->result : again;
    if (!r)
        return NULL;
    GArray *out = g_array_new(FALSE, FALSE, sizeof(double));
    RhServiceMetrics o = rh_service_metrics(r, &idle->asked->slos);
    rh_unused_settings_add_outcome(out, &o);
    const double more[] = {r->kv_peak_frac, r->window.busy_frac, r->load_s, r->gpu_s, r->down_s};
    g_array_append_vals(out, more, G_N_ELEMENTS(more));
    return out;
}

/* The exit status: a level that is broken is a "no", and so is a run of which nothing is answered, or a queue that grows
 * without end. */
static int answer(const RhArguments *a, RhServeQuestion *q, const Played *p, GError **error)
{
    const RhServiceResult *r = p->result;
    RhServiceMetrics o = rh_service_metrics(r, q->slos);
    RhClient client = *q->client;
    client.timeout_s = rh_terminal_left_s(a->timeout_s);
    client.failures = q->unharmed ? p->failures : NULL;
    rh_service_judge_patient(&o, p->service, q->list, &client);
    RhServeExtrapolation beyond = rh_serve_extrapolation(p->serving, p->deployment, &o);
    q->beyond = &beyond;
    RhReportStyle style = {.colored = rh_terminal_colored(),
                           .verbosity = (int)a->verbosity,
                           .saved_as = rh_outputs_find(a->outputs, RH_OUTPUT_CSV)};
    g_autofree char *text =
        a->json ? rh_report_serve_json(q, r, &o) : rh_report_serve_text(q, r, &o, &style);
    fputs(text, stdout);
    rh_output_answered();
    if (!write_files(a, q, p, &o, error))
        return 3;
    return o.slos_kept && o.completed_count > 0 && !o.overloaded ? 0 : 1;
}

/* With --json there is a document, whatever the answer. */
static void print_unanswered(const RhArguments *a, const RhServeQuestion *q, const GError *why)
{
    if (!a->json || !g_error_matches(why, RH_ERROR, RH_ERROR_NO_ANSWER))
        return;
    bool late = a->timeout_s > 0 && rh_terminal_left_s(a->timeout_s) <= 1e-3;
    g_autofree char *text = rh_report_serve_unanswered_json(q, late, why->message);
    fputs(text, stdout);
}

/* Nobody gives up in a program, or is followed into a search, and no server fails there. */
static bool check_troubles(const RhArguments *a, GError **error)
{
    bool troubles = a->fail || a->mtbf_s > 0 || a->ttft_timeout_s > 0 || a->e2e_timeout_s > 0;
    if (troubles && a->index)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--index: a search knows no failures and no clients that give up\n"
                       "help: leave out --fail, --mtbf, --ttft-timeout and --e2e-timeout");
    return !troubles || !rh_outputs_find(a->outputs, RH_OUTPUT_PROGRAM)
               ? true
               : rh_fail(error, RH_ERROR_USAGE,
                         "a program knows no failures and no clients that give up\n"
                         "help: leave out --fail, --mtbf, --ttft-timeout and --e2e-timeout");
}

static int run(const RhArguments *arguments, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON,    RH_OUTPUT_CSV,  RH_OUTPUT_TRACE,
                                     RH_OUTPUT_PROGRAM, RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    RhArguments words;
    const RhArguments *a = &words;
    g_autoptr(RhLaunchedDeployment) launch = NULL;
    if (!rh_launched_service_read(arguments, &words, &launch, error))
        return g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2 : 3;
    RhDeployment deployment = launch ? launch->deployment : rh_deployment_default();
    RhFailures failures;
    g_autoptr(GArray) list = NULL;
    if (!rh_outputs_check(a->outputs, kinds, error) ||
        (a->strategy && !rh_deployment_parse(a->strategy, &deployment, error)) ||
        !read_failures(a, &deployment, &failures, &list, error) || !check_troubles(a, error))
        return 2;
    g_auto(RhServedInputs) inputs = {0};
    bool loaded = rh_served_inputs_load(a, launch, &deployment, &inputs, error);
    if (!inputs.in && launch && !arguments->workload)
        rh_error_help(error, "-w FILE is taken in place of the model that %s names", a->from);
    if (!loaded)
        return 3;
    RhInputs *in = inputs.in;
    RhServeRequests *asked = inputs.asked;
    const RhServing *serving = &inputs.serving;
    g_autofree RhVectorIndex *index = a->index ? rh_vector_index_load(a->index, error) : NULL;
    if (a->index && !index)
        return 3;
    g_autoptr(RhService) service = rh_service_new(serving, &deployment, error);
    asked->client.timeout_s = rh_terminal_left_s(a->timeout_s);
    asked->client.each_iteration = rh_outputs_find(a->outputs, RH_OUTPUT_PROGRAM) != NULL;
    asked->client.timeline =
        asked->client.each_iteration || rh_outputs_find(a->outputs, RH_OUTPUT_TRACE) != NULL;
    asked->client.history = rh_outputs_find(a->outputs, RH_OUTPUT_HTML) != NULL;
    asked->client.ttft_patience_s = a->ttft_timeout_s;
    asked->client.e2e_patience_s = a->e2e_timeout_s;
    asked->client.index = index;
    g_autoptr(RhServiceResult) unharmed = NULL;
    g_autoptr(RhServiceResult) result =
        service ? play(service, asked, &failures, &unharmed, error) : NULL;
    if (!service)
        rh_service_room(serving, &deployment, error);
    g_autofree char *text = rh_deployment_format(&deployment);
    RhServeQuestion question = {.q = &in->question,
                                .deployment = text,
                                .requests = asked->spec,
                                .arrivals = asked->arrivals,
                                .list = asked->list,
                                .slos = &asked->slos,
                                .unharmed = unharmed,
                                .client = &asked->client,
                                .server = serving->server};
    if (!result) {
        print_unanswered(a, &question, *error);
        return 3;
    }
    g_auto(RhServeErrorBars) trust =
        rh_serve_error_bars(serving, &deployment, rh_preempted_count(result));
    question.trust = &trust;
    RhServedCacheList caches = rh_served_caches(serving, &deployment, service);
    question.caches = &caches;
    asked->slos.allowance = rh_served_allowance(serving, &deployment);
    Played played = {serving, &deployment, service, result, &failures};
    int status = answer(a, &question, &played, error);
    Idle idle = {in, &played, asked, &failures};
    rh_unused_settings_tell(a, &(RhUnusedAnswer){in, &idle}, 1, figures_of);
    return status;
}

static const RhOption own[] = {
    RH_OPTION(strategy, "strategy", 's', RH_OPTION_TEXT, "DEPLOYMENT",
              "deployment: like tp4,replicas=2,batch=256 or server=sglang,tp8", .required = true,
              .or_else = "from"),
    RH_OPTION(
        from, "from", 0, RH_OPTION_TEXT, "FILE",
        "deployment, model and format of a file that starts a server: a script or line of "
        "vllm serve, sglang.launch_server or trtllm-serve, a manifest of Kubernetes or Docker "
        "Compose; FILE#2: its second server; -s changes keys of it"),
    RH_OPTION(index, "index", 0, RH_OPTION_TEXT, "FILE",
              "look each request up in an index of vectors first (none)"),
    {0}};
static const RhOption own_troubles[] = {
    RH_OPTION(ttft_timeout_s, "ttft-timeout", 0, RH_OPTION_QUANTITY, "10s",
              "clients give up if they have no first token after this time (never)",
              .quantity = RH_QUANTITY_S, .positive = true),
    RH_OPTION(e2e_timeout_s, "e2e-timeout", 0, RH_OPTION_QUANTITY, "60s",
              "clients give up if they have no last token after this time (never)",
              .quantity = RH_QUANTITY_S, .positive = true),
    RH_OPTION(fail, "fail", 0, RH_OPTION_TEXT, "0@30s",
              "servers that fail, numbered from 0, and when; several with commas: "
              "0@30s,1@2min (none)"),
    RH_OPTION(mtbf_s, "mtbf", 0, RH_OPTION_QUANTITY, "30d",
              "mean time between failures of each server, at random times (no failures)",
              .quantity = RH_QUANTITY_S, .positive = true),
    RH_OPTION(restart_s, "restart", 0, RH_OPTION_QUANTITY, "2min",
              "time until a failed server serves again (the time that it takes to start)",
              .quantity = RH_QUANTITY_S, .positive = true),
    RH_OPTION(retries, "retries", 0, RH_OPTION_INTEGER, "N",
              "how often the router sends a request again if its server fails; after that it "
              "is lost",
              .otherwise = "5", .low = 0, .high = 1000),
    {0}};
static const RhOption *const tables[] = {
    rh_options_served, own, rh_options_requests, own_troubles, rh_options_shared,
    rh_options_help,   NULL};

const RhCommand rh_command_serve_simulate = {
    .name = "serve-simulate",
    .operands = "",
    .summary = "what do the requests of a service live through?",
    .about = "Simulates requests on model servers. A server works in iterations: chunks of\n"
             "waiting prompts (prefill), and one token for each running sequence (decode).\n"
             "Its scheduler chooses what runs in an iteration; the time of an iteration\n"
             "follows from the kernels of the model.\n\n"
             "Requests come from a trace, or are generated with --lengths. They arrive as in\n"
             "the trace or at a --rate (open loop: the queue grows if the service is too\n"
             "slow), or from --concurrency clients that wait for their answers (closed loop,\n"
             "as in most benchmarks: the rate is then a result).\n\n"
             "The table: TTFT, the time to the first token, and its parts: frontend and\n"
             "queue, prefill, interference of other prompts; TPOT, the mean time per further\n"
             "token of a request; ITL, the gaps between tokens; E2E, the time to the last\n"
             "token. With service levels (--ttft 'p99<5s') the exit status is 1 if one is\n"
             "not met.\n\n"
             "Clients may abandon requests (--ttft-timeout, --e2e-timeout), and servers may\n"
             "fail (--fail, --mtbf): their requests are sent again or lost, and the answer\n"
             "compares with the same requests without failures.\n\n"
             "-o day.trace.json.gz: a timeline of servers and requests, for Perfetto.\n"
             "-o day.program.json: the iterations as a program of waits, collectives and\n"
             "messages, for `rehearse simulate --program` and for MPI (rehearse-perform).\n\n"
             "Keys of a deployment: tp, pp, ep, dp (degrees), replicas, batch (most\n"
             "sequences at once), chunk (most prefill tokens of an iteration), memory (% of\n"
             "a GPU's), kv (format of the KV cache), prefix (whether prompts are cached),\n"
             "blocks (of the cache), host and nvme (GiB of cache behind it), order (fcfs,\n"
             "lpm), draft and accept (speculative decoding: guessed tokens, % accepted),\n"
             "drafter, weights (gpu, host, nvme: streamed), resident (% that stay) and\n"
             "prefetch (on, off), scale\n"
             "(ongoing: autoscaling), least, target, window (ms, of static batches), server,\n"
             "router, max_model_len (tokens of a request at most). Launch options of\n"
             "engines: stream (tokens of a message), receive\n"
             "(iterations between looks for requests), graphs (auto, decode, none) and\n"
             "captured (sequences of the largest), experts (library of their products),\n"
             "balance (iterations that prompts wait for all groups of dp), wait and fill\n"
             "(iterations that prompts wait until they fill % of chunk).\n\n"
             "--index FILE: requests are first looked up in an index of vectors, by\n"
             "threads that walk through parts in tiers of memory; the file says hops,\n"
             "reads and tiers (docs/theory/serving.md). Its time is part of TTFT and of\n"
             "answers.\n\n"
             "Models without output tokens (BERT, ViT, image models) answer in one pass:\n"
             "with -s server=triton,batch=32,window=5 requests wait up to 5 ms for others,\n"
             "and a pass over the batch answers them; --lengths in=128, for images in=1.\n"
             "Diffusion models draw a picture in passes=50,guidance=on.\n",
    .examples = "rehearse serve-simulate --from serve.sh -p dgx-h100 --rate 5/s \\\n"
                "    --lengths in=1024,out=256\n"
                "rehearse serve-simulate -w llama-3.1-70b -p dgx-h100 -s tp4,replicas=2 \\\n"
                "    --lengths in=1024,out=256,spread=0.8 --rate 5/s --ttft 'p99<2s'\n"
                "rehearse serve-simulate -w llama-3.1-8b -p h100-sxm:1x1 -s tp1 \\\n"
                "    --requests AzureLLMInferenceTrace_conv.csv.gz --rate 3/s -o each.csv\n"
                "rehearse serve-simulate -w llama-3.1-70b -p dgx-h200 -s tp8 --dtype fp8 \\\n"
                "    --lengths in=8192,out=1024,spread=0.8 --concurrency 64 --count 640\n"
                "rehearse serve-simulate -w bert-large -p dgx-a100:1 --lengths in=128 \\\n"
                "    -s server=triton,batch=32,window=5 --rate 500/s --e2e 'p99<20ms'",
    .tables = tables,
    .run = run,
};

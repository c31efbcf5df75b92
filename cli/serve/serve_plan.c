/* rehearse serve-plan: how should I serve this here? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "cli/capacity/prices.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/serve/serve_plan_from_launch.h"
#include "cli/serve/serve_query.h"
#include "report/json/json_facts.h"
#include "report/serve/service_page.h"

static bool check_question(const RhArguments *a, GError **error)
{
    bool levels = a->ttft || a->tpot || a->tbt || a->e2e,
         rates = a->rate || a->find_rate || a->rate_by_hour;
    if (levels && rates)
        return true;
    return rh_fail(error, RH_ERROR_USAGE, "serve-plan needs %s%s%s%s",
                   levels ? "" : "a service level", levels || rates ? "" : " and ",
                   rates ? ""
                         : "--rate R/s, for the fewest GPUs, or --find-rate, for the highest rate",
                   levels ? "" : "\nhelp: --ttft 'p99<5s' --tpot 'p99<25ms'");
}

static bool print_launch(const RhServeQuery *p, const RhServePlan *plan, GError **error)
{
    const RhDeployment *best = &g_array_index(plan->entries, RhServeEntry, 0).deployment;
    g_autofree char *text =
        rh_report_serve_launch(best, &(RhLaunchedModel){p->a->workload, p->in->c.job.recipe->name});
    if (!text)
        return rh_fail(error, RH_ERROR_USAGE, "--emit: no words of %s are known", best->server);
    fputs("\n", stdout);
    fputs(text, stdout);
    return true;
}

static bool write_files(const RhServeQuery *p, const RhServeQuestion *q, const RhServePlan *plan,
                        GError **error)
{
    RhReportStyle plain = {0};
    int32_t top = (int32_t)p->a->top;
    g_autofree char *json = rh_report_serve_plan_json(q, plan, &p->options, top);
    g_autofree char *text = rh_report_serve_plan_text(q, plan, &p->options, top, &plain);
    g_autofree char *facts = rh_report_service_facts_json(
        (const RhPlatform *const[]){p->in->hardware}, NULL, 1, p->server, error);
    if (!facts)
        return false;
    for (guint i = 0; i < p->a->outputs->len; i++) {
        const char *path = g_ptr_array_index(p->a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *other = kind == RH_OUTPUT_CSV ? rh_report_serve_plan_csv(plan)
                                 : kind == RH_OUTPUT_HTML
                                     ? rh_report_serve_plan_page(plan, text, json, facts)
                                     : NULL;
        if (!rh_output_write(path, other ? other : json, error))
            return false;
    }
    return true;
}

/* Returns the error bars of the best deployment. */
static RhServeErrorBars trust_of(const RhServeQuery *p, const RhServePlan *plan)
{
    RhServing serving = rh_serve_query_serving(p);
    if (plan->entries->len == 0)
        return (RhServeErrorBars){0};
    const RhServeEntry *best = &g_array_index(plan->entries, RhServeEntry, 0);
    return rh_serve_error_bars(&serving, &best->deployment, best->outcome.preempted_count);
}

static RhServeExtrapolation beyond_of(const RhServeQuery *p, const RhServePlan *plan)
{
    RhServing serving = rh_serve_query_serving(p);
    if (plan->entries->len == 0)
        return (RhServeExtrapolation){0};
    const RhServeEntry *best = &g_array_index(plan->entries, RhServeEntry, 0);
    return rh_serve_extrapolation(&serving, &best->deployment, &best->outcome);
}

static RhServedCacheList caches_of(const RhServeQuery *p, const RhServePlan *plan)
{
    RhServing serving = rh_serve_query_serving(p);
    const RhServeEntry *best =
        plan->entries->len > 0 ? &g_array_index(plan->entries, RhServeEntry, 0) : NULL;
    g_autoptr(RhService) service = best ? rh_service_new(&serving, &best->deployment, NULL) : NULL;
    return service ? rh_served_caches(&serving, &best->deployment, service)
                   : (RhServedCacheList){0};
}

static bool show(const RhServeQuery *p, const RhServePlan *plan, const RhServeDay *day,
                 GError **error)
{
    const RhArguments *a = p->a;
    g_autofree char *arrivals =
        a->rate ? NULL
                : g_strdup_printf("%s, at the highest rate",
                                  p->asked->drawn ? "Poisson arrivals" : "arrivals of the trace");
    g_auto(GStrv) words = rh_serve_query_words(p, true);
    RhServeQuestion q = rh_serve_query_question(p, arrivals ? arrivals : p->asked->arrivals);
    q.words = (const char *const *)words;
    g_auto(RhServeErrorBars) trust = trust_of(p, plan);
    q.trust = plan->entries->len > 0 ? &trust : NULL;
    RhServeExtrapolation beyond = beyond_of(p, plan);
    q.beyond = &beyond;
    RhServedCacheList caches = caches_of(p, plan);
    q.caches = &caches;
    q.day = day;
    RhReportStyle style = {.colored = rh_terminal_colored(), .verbosity = (int)a->verbosity};
    g_autofree char *json = rh_report_serve_plan_json(&q, plan, &p->options, (int32_t)a->top);
    g_autofree char *text =
        a->json ? NULL : rh_report_serve_plan_text(&q, plan, &p->options, (int32_t)a->top, &style);
    fputs(text ? text : json, stdout);
    bool told = a->json || !a->emit || plan->entries->len == 0 || print_launch(p, plan, error);
    rh_output_answered();
    return write_files(p, &q, plan, told ? error : NULL) && told;
}

/* The server is the launch's, unless -s or --emit names one. */
static bool take_server(const RhLaunchedDeployment *launch, const RhArguments *a, RhServeQuery *p,
                        GError **error)
{
    if (launch && launch->deployment.pools_count > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--from %s: it starts two pools\nhelp: serve-simulate --from %s", a->from,
                       a->from);
    if (launch && !a->emit && !(a->strategy && strstr(a->strategy, "server=")))
        p->given.server = launch->deployment.server;
    return true;
}

/* Reads the rates of a day; the plan is asked for the highest one. */
static bool read_day(const RhArguments *a, GArray *day, RhArguments *words, GError **error)
{
    double most = 0;
    if (a->rate || a->find_rate)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--rate-by-hour is the rate\nhelp: leave out --rate and --find-rate");
    if (!rh_day_rates_load(a->rate_by_hour, day, error))
        return false;
    for (guint i = 0; i < day->len; i++)
        most = fmax(most, g_array_index(day, RhDayRate, i).per_s);
    g_autofree char *rate = g_strdup_printf("%.9g/s", most);
    words->rate = rh_intern(rate);
    return true;
}

/* The day of the plan's deployments, where rates of a day are given and any keeps the highest. */
static bool find_day(const RhServeQuery *p, const RhServePlan *plan, GArray *day, RhServeDay *out,
                     GError **error)
{
    RhServing serving = rh_serve_query_serving(p);
    RhServePlanOptions options = p->options;
    if (day->len == 0 || plan->entries->len == 0)
        return true;
    if (options.timeout_s > 0)
        options.timeout_s = rh_terminal_left_s(p->a->timeout_s);
    bool found = rh_serve_plan_day(&serving, p->asked->list, &options, plan, day, out, error);
    rh_terminal_progress_end();
    return found;
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_CSV, RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    RhArguments words;
    g_autoptr(RhLaunchedDeployment) launch = NULL;
    if (!rh_launched_service_read(a, &words, &launch, error))
        return g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2 : 3;
    g_auto(RhServeQuery) p = {.a = &words};
    g_autoptr(GArray) day = g_array_new(FALSE, FALSE, sizeof(RhDayRate));
    if (a->rate_by_hour && !read_day(a, day, &words, error))
        return g_error_matches(*error, RH_ERROR, RH_ERROR_USAGE) ? 2 : 3;
    if (!rh_outputs_check(a->outputs, kinds, error) || !check_question(&words, error) ||
        !rh_serve_query_given(&p, error) || !take_server(launch, a, &p, error))
        return 2;
    if (!rh_serve_query_load(&p, error))
        return 3;
    p.options.most = true;
    if (launch)
        rh_launched_service_settle(launch, p.in);
    g_autoptr(RhServePlan) plan = rh_serve_query_plan(&p, error);
    g_auto(RhServeDay) planned = {0};
    if (!plan || !find_day(&p, plan, day, &planned, error) ||
        !show(&p, plan, planned.needed ? &planned : NULL, error))
        return 3;
    if (launch && !a->json)
        rh_launched_beside_print(&p, launch, plan);
    rh_serve_query_tell_idle(a, (const RhServeQuery *const[]){&p},
                             (const RhServePlan *const[]){plan}, 1);
    return plan->entries->len > 0 ? 0 : 1;
}

static const RhOption own[] = {
    RH_OPTION(from, "from", 0, RH_OPTION_TEXT, "FILE",
              "a file that starts a server, as for serve-simulate: its model, format and server "
              "are planned for, and its deployment is set beside the best"),
    RH_OPTION(gpus, "gpus", 0, RH_OPTION_INTEGER, "N",
              "number of GPUs to use (all of the platform)", .low = 1, .high = 1 << 22),
    RH_OPTION(find_rate, "find-rate", 0, RH_OPTION_FLAG, NULL,
              "find the highest request rate at which the service levels hold", .unless = "rate"),
    RH_OPTION(
        rate_by_hour, "rate-by-hour", 0, RH_OPTION_TEXT, "FILE",
        "rates of a day, a table hours,per_s or a trace of 24 hours or more: the deployment for "
        "the highest, and how many servers each hour wants so that the day takes the fewest "
        "GPU-hours",
        .unless = "rate|find-rate"),
    RH_OPTION(emit, "emit", 0, RH_OPTION_CHOICE, "SERVER",
              "print the commands that start the best deployment", .choices = "vllm|sglang|trtllm"),
    RH_OPTION(top, "top", 0, RH_OPTION_INTEGER, "K", "number of deployments to list",
              .otherwise = "5", .low = 1, .high = 100),
    {0}};
static const RhOption *const tables[] = {
    rh_options_served, rh_options_deployment, own, rh_options_requests,
    rh_options_shared, rh_options_help,       NULL};

const RhCommand rh_command_serve_plan = {
    .name = "serve-plan",
    .operands = "",
    .summary = "how should I serve this here?",
    .about = "Lists the deployments of the model on the GPUs (degrees of a replica, as many\n"
             "replicas as fit, limits on sequences and tokens), drops those without memory\n"
             "for weights and KV cache, bounds the rate of the rest, and simulates the\n"
             "requests on the most promising ones until no other can be better. A row is the\n"
             "best of those that differ only in the limits batch and chunk.\n\n"
             "--find-rate finds the highest rate at which every service level is met, to\n"
             "1 %: all rates have the same requests in the same order, closer together. A\n"
             "rate is simulated for forty times the longest limit, at least two minutes, or\n"
             "as long as there are requests (--count; 40,000 generated ones, or two minutes\n"
             "of --rate). With --rate the answer is the fewest GPUs; `capacity` compares\n"
             "platforms by cost.\n\n"
             "A service level counts as met if it is met at the pessimistic end of its 95 %\n"
             "sampling interval, and in 19 more random samples of the requests (not for a\n"
             "trace with its own arrivals), with every time longer by the model error, which\n"
             "80 % of comparable published results were within. --error-bar none drops the\n"
             "model error; so do deployments for which it is unknown, and they say so.\n",
    .examples = "rehearse serve-plan -w llama-3.1-70b -p dgx-h100 --find-rate \\\n"
                "    --lengths in=1024,out=256,spread=0.8 --ttft 'p99<2s' --tpot 'p99<40ms'\n"
                "rehearse serve-plan -w llama-3.1-8b -p dgx-h100 --rate 30/s \\\n"
                "    --requests AzureLLMInferenceTrace_conv.csv.gz --ttft 'p99<1s' -o plan.json",
    .tables = tables,
    .ranks = RH_RANKS_POOLS,
    .run = run,
};

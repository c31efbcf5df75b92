/* rehearse serve-plan: how should I serve this here? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/prices.h"
#include "cli/serve_requests.h"
#include "cli/terminal.h"
#include "report/json_facts.h"
#include "report/page.h"
#include "report/serve.h"
#include "strategies/search/serve_plan.h"
#include "strategies/serve/server.h"

#define COUNT_PLAN 40000

/* What was asked, with all that it borrows. */
typedef struct {
    const RhArguments *a;
    RhInputs *in;
    RhAsked *asked;
    RhDeployment given; /* of -s: its server, and what is fixed */
    RhServePlanOptions options;
} Planning;

static void planning_clear(Planning *p)
{
    rh_inputs_free(p->in);
    rh_asked_free(p->asked);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Planning, planning_clear)

static RhServeMode mode_of(const char *word)
{
    return strcmp(word, "disagg") == 0 ? RH_SERVE_DISAGGREGATED
           : strcmp(word, "both") == 0 ? RH_SERVE_BOTH
                                       : RH_SERVE_COLOCATED;
}

/* Keys given with -s; those of a default deployment are free. */
static bool read_given(Planning *p, GError **error)
{
    p->given = rh_deployment_default();
    RhPool *pool = &p->given.pools[0];
    pool->tp = pool->pp = pool->ep = pool->dp = pool->replicas = 0;
    if (p->a->strategy && !rh_deployment_parse(p->a->strategy, &p->given, error))
        return false;
    if (p->given.pools_count > 1 || pool->replicas > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "-s %s: pools and replicas are what is looked for\nhelp: give what is to be "
                       "kept, as server=sglang,tp4; --gpus and --mode limit the rest",
                       p->a->strategy);
    p->options.fixed = *pool;
    if (p->a->emit && strcmp(p->a->emit, p->given.server) != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--emit %s: the plan is for %s\nhelp: -s server=%s plans for it", p->a->emit,
                       p->given.server, p->a->emit);
    return true;
}

static bool check_question(const RhArguments *a, GError **error)
{
    bool levels = a->ttft || a->tpot || a->tbt || a->e2e;
    if (!levels)
        return rh_fail(error, RH_ERROR_USAGE,
                       "serve-plan needs a service level\nhelp: --ttft 'p99<5s' --tpot 'p99<25ms'");
    if (a->rate || a->find_rate)
        return true;
    return rh_fail(error, RH_ERROR_USAGE,
                   "serve-plan needs --rate R/s, for the fewest GPUs, or --find-rate, for the "
                   "highest rate");
}

/* Models that are asked once have a server of their own, and levels of answers as a whole. */
static bool check_once(Planning *p, GError **error)
{
    if (!rh_asked_fits(p->asked, p->in->model, p->a->lengths, error))
        return false;
    if (rh_model_makes_tokens(p->in->model))
        return true;
    if (!p->a->strategy || !strstr(p->a->strategy, "server="))
        p->given.server = "triton";
    if (p->a->emit)
        return rh_fail(error, RH_ERROR_USAGE, "--emit %s: %s makes no tokens, and is not for it",
                       p->a->emit, p->in->model->name);
    if (strcmp(p->a->mode, "colocated") != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--mode %s: %s makes no tokens for a second pool\nhelp: leave it out",
                       p->a->mode, p->in->model->name);
    return true;
}

static bool ask(Planning *p, GError **error)
{
    RhArguments words = *p->a;
    if (words.count == 0 && words.lengths)
        words.count = COUNT_PLAN;
    p->in = rh_inputs_of_service(p->a, error);
    p->asked = p->in ? rh_asked_of(&words, true, error) : NULL;
    if (!p->asked)
        return false;
    if (p->asked->client.at_once > 0 || rh_requests_rate_per_s(p->asked->list) <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "a rate can only be looked for where requests come one after another");
    if (!check_once(p, error))
        return false;
    p->options.slos = p->asked->slos;
    p->options.rate_per_s = p->a->rate ? p->asked->plan.rate_per_s : 0;
    p->options.gpus = p->in->c.job.gpus;
    p->options.mode = mode_of(p->a->mode);
    p->options.jobs = (int32_t)p->a->jobs;
    p->options.timeout_s = rh_terminal_left_s(p->a->timeout_s);
    p->options.progress = rh_terminal_progress;
    return true;
}

static bool print_launch(const Planning *p, const RhServePlan *plan, GError **error)
{
    const RhDeployment *best = &g_array_index(plan->entries, RhServeEntry, 0).deployment;
    g_autofree char *text = rh_report_serve_launch(best, p->a->workload);
    if (!text)
        return rh_fail(error, RH_ERROR_USAGE, "--emit: no words of %s are known", best->server);
    fputs("\n", stdout);
    fputs(text, stdout);
    return true;
}

static bool write_files(const Planning *p, const RhServeQuestion *q, const RhServePlan *plan,
                        GError **error)
{
    RhReportStyle plain = {0};
    int32_t top = (int32_t)p->a->top;
    g_autofree char *json = rh_report_serve_plan_json(q, plan, &p->options, top);
    g_autofree char *text = rh_report_serve_plan_text(q, plan, &p->options, top, &plain);
    g_autofree char *facts = rh_report_platform_facts_json(p->in->hardware);
    RhPage page = {.command = "serve-plan", .answer = text, .json = json, .facts = facts};
    for (guint i = 0; i < p->a->outputs->len; i++) {
        const char *path = g_ptr_array_index(p->a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *other = kind == RH_OUTPUT_CSV    ? rh_report_serve_plan_csv(plan)
                                 : kind == RH_OUTPUT_HTML ? rh_report_page(&page)
                                                          : NULL;
        if (!rh_output_write(path, other ? other : json, error))
            return false;
    }
    return true;
}

static bool show(const Planning *p, const RhServePlan *plan, GError **error)
{
    const RhArguments *a = p->a;
    g_autofree char *arrivals = a->rate
                                    ? NULL
                                    : g_strdup_printf("%s, the rate is looked for",
                                                      p->asked->drawn ? "drawn" : "as recorded");
    RhServeQuestion q = {.q = &p->in->question,
                         .requests = p->asked->spec,
                         .arrivals = arrivals ? arrivals : p->asked->arrivals,
                         .list = p->asked->list,
                         .slos = &p->asked->slos};
    RhReportStyle style = {.colored = rh_terminal_colored()};
    if (!write_files(p, &q, plan, error))
        return false;
    g_autofree char *json = rh_report_serve_plan_json(&q, plan, &p->options, (int32_t)a->top);
    g_autofree char *text =
        a->json ? NULL : rh_report_serve_plan_text(&q, plan, &p->options, (int32_t)a->top, &style);
    fputs(text ? text : json, stdout);
    return a->json || !a->emit || plan->entries->len == 0 || print_launch(p, plan, error);
}

static bool plan_of(Planning *p, RhServePlan **plan, GError **error)
{
    g_autofree RhServer *server = rh_server_load(p->given.server, error);
    if (!server)
        return false;
    RhServing serving = {.model = p->in->model,
                         .recipe = p->in->c.job.recipe,
                         .platform = p->in->hardware,
                         .server = server,
                         .load = &p->in->c.job.load};
    *plan = rh_serve_plan(&serving, p->given.server, p->asked->list, &p->options, error);
    rh_terminal_progress_end();
    if (!*plan && p->asked->list->list->len < rh_serve_requests_least(&p->options.slos))
        rh_error_help(error, p->a->lengths ? "--count %.0f" : "a trace of %.0f requests",
                      rh_serve_requests_least(&p->options.slos));
    return *plan != NULL;
}

/* --- The least money, of several platforms --- */

/* A platform's question and answer. */
typedef struct {
    RhArguments
        words; /* those of the command with this platform; `sets` owned, the rest borrowed */
    Planning planning;
    RhServePlan *plan;
} Offered;

static void offered_free(void *data)
{
    Offered *o = data;
    planning_clear(&o->planning);
    rh_serve_plan_free(o->plan);
    g_ptr_array_unref(o->words.sets);
    g_free(o);
}

static Offered *offered_new(const RhArguments *a, const char *platform)
{
    Offered *o = g_new0(Offered, 1);
    o->words = *a;
    o->words.platform = platform;
    o->words.sets = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < a->sets->len; i++)
        g_ptr_array_add(o->words.sets, g_strdup(g_ptr_array_index(a->sets, i)));
    rh_prices_set(a->prices, platform, o->words.sets);
    o->planning.a = &o->words;
    return o;
}

static bool plan_offer(Offered *o, GError **error)
{
    Planning *p = &o->planning;
    const char *name = o->words.platform;
    if (!read_given(p, error) || !ask(p, error))
        return false;
    rh_prices_date(o->words.prices, name, p->in);
    if (p->in->hardware->price_usd_per_gpu_hour.value <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "the price of %s is not known\nhelp: --price %s=2USD, or what you pay", name,
                       name);
    return plan_of(p, &o->plan, error);
}

static gint cheapest_first(gconstpointer a, gconstpointer b)
{
    const RhServeOffer *x = a, *y = b;
    double p = isfinite(x->usd_per_h) ? x->usd_per_h : HUGE_VAL,
           q = isfinite(y->usd_per_h) ? y->usd_per_h : HUGE_VAL;
    return (p > q) - (p < q) ?: strcmp(x->platform, y->platform);
}

static GArray *offers_of(const GPtrArray *all)
{
    GArray *offers = g_array_new(FALSE, FALSE, sizeof(RhServeOffer));
    for (guint i = 0; i < all->len; i++) {
        const Offered *o = g_ptr_array_index(all, i);
        const RhFact *price = &o->planning.in->hardware->price_usd_per_gpu_hour;
        bool there = o->plan->entries->len > 0;
        int32_t gpus = there ? g_array_index(o->plan->entries, RhServeEntry, 0).gpus : 0;
        RhServeOffer offer = {o->words.platform, price, o->plan,
                              there ? gpus * price->value : (double)NAN};
        g_array_append_val(offers, offer);
    }
    g_array_sort(offers, cheapest_first);
    return offers;
}

static bool show_offers(const RhArguments *a, const Planning *p, const GArray *offers,
                        GError **error)
{
    const RhServeOffer *list = (const RhServeOffer *)(const void *)offers->data;
    int32_t count = (int32_t)offers->len;
    RhServeQuestion q = {.q = &p->in->question,
                         .requests = p->asked->spec,
                         .arrivals = p->asked->arrivals,
                         .list = p->asked->list,
                         .slos = &p->asked->slos};
    RhReportStyle style = {.colored = rh_terminal_colored()};
    g_autofree char *json = rh_report_serve_offers_json(&q, list, count, &p->options);
    g_autofree char *text = rh_report_serve_offers_text(&q, list, count, &p->options, &style);
    for (guint i = 0; i < a->outputs->len; i++)
        if (!rh_output_write(g_ptr_array_index(a->outputs, i), json, error))
            return false;
    fputs(a->json ? json : text, stdout);
    return true;
}

static bool name_platforms(const RhArguments *a, GPtrArray *names, GError **error)
{
    g_autoptr(GPtrArray) lists = g_ptr_array_new();
    if (!a->rate)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--or-on: the least money is of a rate\nhelp: --rate R/s");
    if (a->emit)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--emit: commands are of one platform\nhelp: plan on the cheapest alone");
    g_ptr_array_add(lists, (gpointer)a->platform);
    for (guint i = 0; i < a->platforms->len; i++)
        g_ptr_array_add(lists, a->platforms->pdata[i]);
    return rh_prices_platforms(lists, names, error) && rh_prices_check(a->prices, names, error);
}

static int run_cheapest(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_NONE};
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(offered_free);
    if (!rh_outputs_check(a->outputs, kinds, error) || !check_question(a, error) ||
        !name_platforms(a, names, error))
        return 2;
    for (guint i = 0; i < names->len; i++) {
        Offered *o = offered_new(a, names->pdata[i]);
        g_ptr_array_add(all, o);
        if (!plan_offer(o, error))
            return 3;
    }
    g_autoptr(GArray) offers = offers_of(all);
    if (!show_offers(a, &((const Offered *)all->pdata[0])->planning, offers, error))
        return 3;
    return isfinite(g_array_index(offers, RhServeOffer, 0).usd_per_h) ? 0 : 1;
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_CSV, RH_OUTPUT_HTML, RH_OUTPUT_NONE};
    g_auto(Planning) p = {.a = a};
    if (a->platforms->len > 0)
        return run_cheapest(a, error);
    if (a->prices->len > 0) {
        rh_fail(error, RH_ERROR_USAGE,
                "--price: what is looked for on one platform is no money\n"
                "help: --or-on NAME, or --set price_per_gpu_hour=2USD");
        return 2;
    }
    if (!rh_outputs_check(a->outputs, kinds, error) || !check_question(a, error) ||
        !read_given(&p, error))
        return 2;
    if (!ask(&p, error))
        return 3;
    g_autoptr(RhServePlan) plan = NULL;
    if (!plan_of(&p, &plan, error) || !show(&p, plan, error))
        return 3;
    return plan->entries->len > 0 ? 0 : 1;
}

static const RhOption own[] = {
    RH_OPTION(strategy, "strategy", 's', RH_OPTION_TEXT, "DEPLOYMENT",
              "what of a deployment is given, like server=sglang,tp4 (server=vllm)"),
    RH_OPTION(gpus, "gpus", 0, RH_OPTION_INTEGER, "N", "how many GPUs to use (all of the platform)",
              .low = 1, .high = 1 << 22),
    RH_OPTION(find_rate, "find-rate", 0, RH_OPTION_FLAG, NULL,
              "the highest rate that keeps the levels", .unless = "rate"),
    RH_OPTION(platforms, "or-on", 0, RH_OPTION_LIST, "NAME",
              "other platforms, too: which of all keeps the levels at --rate for the least money"),
    RH_OPTION(prices, "price", 0, RH_OPTION_LIST, "[NAME=]USD[@MONTH]",
              "a GPU-hour of the platform NAME, or of all, as dgx-h100=2.50USD@2026-11 (--or-on)"),
    RH_OPTION(mode, "mode", 0, RH_OPTION_CHOICE, "MODE",
              "prompts and tokens on the same servers, or on two pools",
              .choices = "colocated|disagg|both", .otherwise = "colocated"),
    RH_OPTION(emit, "emit", 0, RH_OPTION_CHOICE, "SERVER", "print the commands that start the best",
              .choices = "vllm|sglang|trtllm"),
    RH_OPTION(top, "top", 0, RH_OPTION_INTEGER, "K", "how many to list", .otherwise = "5", .low = 1,
              .high = 100),
    {0}};
static const RhOption *const tables[] = {
    rh_options_served, own, rh_options_requests, rh_options_shared, rh_options_help, NULL};

const RhCommand rh_command_serve_plan = {
    .name = "serve-plan",
    .operands = "",
    .summary = "how should I serve this here?",
    .about = "Lists the deployments of the model on the GPUs (degrees of one server, as many\n"
             "replicas as there is room for, limits on sequences and tokens), drops those\n"
             "without room for weights and cache, bounds the rate of the rest in closed form,\n"
             "and plays the requests against the most promising until none left can be\n"
             "better. A row is the best of its kind: of the limits batch and chunk.\n\n"
             "--find-rate looks for the highest rate that keeps every service level, to 1 %:\n"
             "all rates bring the same requests in the same order, nearer to each other. A\n"
             "rate is held for forty times the longest limit, two minutes at least, or as long\n"
             "as there are requests (--count, 40,000 drawn). With --rate it is the fewest GPUs\n"
             "that are looked for; with --or-on those of other platforms, too, and what costs\n"
             "least an hour comes first, by each platform's price of a GPU-hour.\n\n"
             "A level counts as kept when the bad end of its 95 % interval keeps it: what\n"
             "chance in arrivals and lengths may do is allowed for, what the model of the\n"
             "server has wrong is not.\n",
    .examples = "rehearse serve-plan -w llama-3.1-70b -p dgx-h100 --find-rate \\\n"
                "    --lengths in=1024,out=256,spread=0.8 --ttft 'p99<2s' --tpot 'p99<40ms'\n"
                "rehearse serve-plan -w llama-3.1-8b -p dgx-h100 --rate 30/s \\\n"
                "    --requests AzureLLMInferenceTrace_conv.csv.gz --ttft 'p99<1s' -o plan.json",
    .tables = tables,
    .run = run,
};

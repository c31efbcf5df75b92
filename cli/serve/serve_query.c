#include "cli/serve/serve_query.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "cli/output/terminal.h"
#include "cli/parse/commands.h"
#include "cli/serve/serve_simulate_inputs.h"
#include "cli/unused_settings.h"
#include "report/format.h"

const RhOption rh_options_deployment[] = {
    RH_OPTION(strategy, "strategy", 's', RH_OPTION_TEXT, "DEPLOYMENT",
              "fixed keys of the deployment, like server=sglang,tp4; the others are searched "
              "(server=vllm)"),
    RH_OPTION(mode, "mode", 0, RH_OPTION_CHOICE, "MODE",
              "prefill and decode on the same servers (colocated), on two pools of servers "
              "(disagg), or the better of both",
              .choices = "colocated|disagg|both", .otherwise = "colocated"),
    RH_OPTION(error_bar, "error-bar", 0, RH_OPTION_CHOICE, "WHAT",
              "keep: service levels (for training: deadline and budget) must hold even if "
              "times are longer by the model error; none: as predicted",
              .choices = "keep|none", .otherwise = "keep"),
    {0}};

static RhServeMode mode_of(const char *word)
{
    return strcmp(word, "disagg") == 0 ? RH_SERVE_DISAGGREGATED
           : strcmp(word, "both") == 0 ? RH_SERVE_BOTH
                                       : RH_SERVE_COLOCATED;
}

static bool names_server(const RhServeQuery *p)
{
    return p->a->strategy && strstr(p->a->strategy, "server=");
}

/* Keys of a default deployment that are not given are free; the server that --emit asks for is the plan's, unless another
 * is given. */
bool rh_serve_query_given(RhServeQuery *p, GError **error)
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
    for (int32_t i = 0; i < RH_POOLS_MAX; i++)
        p->options.fixed[i] = *pool;
    if (p->a->emit && !names_server(p))
        p->given.server = rh_intern(p->a->emit);
    if (p->a->emit && strcmp(p->a->emit, p->given.server) != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--emit %s: -s asks for a plan of %s\nhelp: -s server=%s, or leave it out",
                       p->a->emit, p->given.server, p->a->emit);
    return true;
}

/* Models that are asked once have a server of their own, and levels of answers as a whole. */
static bool check_once(RhServeQuery *p, GError **error)
{
    if (!rh_serve_requests_fits(p->asked, p->in->model, p->a->lengths, error))
        return false;
    if (rh_model_makes_tokens(p->in->model))
        return true;
    if (!names_server(p))
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

RhServing rh_serve_query_serving(const RhServeQuery *p)
{
    return rh_inputs_serving(p->in, p->server);
}

/* Sets the error bars by which serve-simulate evaluates deployments of one pool, and of two. */
static void set_allowances(RhServeQuery *p)
{
    RhServing serving = rh_serve_query_serving(p);
    RhDeployment deployment = p->given;
    RhPool *pool = &deployment.pools[0]; /* degrees that are searched: of one GPU */
    pool->tp = MAX(pool->tp, 1);
    pool->pp = MAX(pool->pp, 1);
    pool->dp = MAX(pool->dp, 1);
    pool->ep = MAX(pool->ep, 1);
    pool->replicas = MAX(pool->replicas, 1);
    deployment.pools[1] = *pool;
    for (int two = 0; two < 2 && strcmp(p->a->error_bar, "none") != 0; two++) {
        deployment.pools_count = 1 + two;
        p->options.allowances[two] = rh_served_allowance(&serving, &deployment);
    }
}

bool rh_serve_query_load(RhServeQuery *p, GError **error)
{
    p->in = rh_inputs_of_service(p->a, error);
    if (p->in && !rh_inputs_alone_on_gpus(p->in, "serve-plan", error))
        return false;
    p->asked = p->in ? rh_serve_requests_of(p->a, true, error) : NULL;
    if (!p->asked)
        return false;
    if (p->asked->client.at_once > 0 || rh_requests_rate_per_s(p->asked->list) <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "a rate can only be looked for where requests come one after another");
    if (!check_once(p, error))
        return false;
    p->server = rh_server_load(p->given.server, error);
    p->options.slos = p->asked->slos;
    p->options.rate_per_s = p->a->rate ? p->asked->plan.rate_per_s : 0;
    p->options.gpus = p->in->c.job.gpus;
    p->options.top = (int32_t)p->a->top;
    p->options.mode = mode_of(p->a->mode);
    p->options.drawn = p->asked->drawn ? &p->asked->plan : NULL;
    p->options.lengths_given = !p->a->lengths;
    p->options.jobs = (int32_t)p->a->jobs;
    p->options.timeout_s = rh_terminal_left_s(p->a->timeout_s);
    p->options.progress = rh_terminal_progress;
    if (p->server)
        set_allowances(p);
    return p->server != NULL;
}

RhServePlan *rh_serve_query_plan(const RhServeQuery *p, GError **error)
{
    RhServing serving = rh_serve_query_serving(p);
    RhServePlan *plan =
        rh_serve_plan(&serving, p->given.server, p->asked->list, &p->options, error);
    rh_terminal_progress_end();
    if (!plan && p->asked->list->list->len < rh_serve_requests_least(&p->options.slos))
        rh_error_help(error, p->a->lengths ? "--count %.0f" : "a trace of %.0f requests",
                      rh_serve_requests_least(&p->options.slos));
    return plan;
}

RhServeQuestion rh_serve_query_question(const RhServeQuery *p, const char *arrivals)
{
    return (RhServeQuestion){.q = &p->in->question,
                             .requests = p->asked->spec,
                             .arrivals = arrivals,
                             .list = p->asked->list,
                             .slos = &p->asked->slos};
}

/* Options of the table that were given; other words of the command stay out. */
static void add_said(GPtrArray *out, const RhArguments *a, const RhOption *table)
{
    for (guint i = 0; i < a->recorded->len; i++) {
        const char *word = g_ptr_array_index(a->recorded, i);
        for (const RhOption *o = table; o->name; o++) {
            if (!g_str_has_prefix(word, "--") || strcmp(word + 2, o->name) != 0)
                continue;
            g_autofree char *name = o->letter ? g_strdup_printf("-%c", o->letter) : g_strdup(word);
            g_autofree char *value =
                o->value ? rh_text_path(g_ptr_array_index(a->recorded, i + 1)) : g_strdup("");
            g_ptr_array_add(out, g_strconcat(name, *value ? " " : "", value, NULL));
        }
    }
}

char **rh_serve_query_words(const RhServeQuery *p, bool inputs)
{
    const RhArguments *a = p->a;
    GPtrArray *out = g_ptr_array_new();
    if (inputs && a->from && !rh_arguments_given(a, "--workload"))
        g_ptr_array_add(out, g_strdup_printf("-w %s", a->workload));
    if (inputs && a->from && !rh_arguments_given(a, "--dtype"))
        g_ptr_array_add(out, g_strdup_printf("--dtype %s", a->dtype));
    if (inputs)
        add_said(out, a, rh_options_served);
    add_said(out, a, rh_options_requests);
    if (a->rate_by_hour) /* the plan is of the highest */
        g_ptr_array_add(out, g_strdup_printf("--rate %s", a->rate));
    if (a->lengths && a->count == 0) /* serve-simulate may draw fewer by itself */
        g_ptr_array_add(out, g_strdup_printf("--count %u", p->asked->list->list->len));
    if (rh_arguments_given(a, "--seed"))
        g_ptr_array_add(out, g_strdup_printf("--seed %" G_GINT64_FORMAT, a->seed));
    g_ptr_array_add(out, NULL);
    return (char **)g_ptr_array_free(out, FALSE);
}

/* --- words that change nothing --- */

typedef struct {
    const RhServeQuery *asking;
    const RhServePlan *plan;
} Planned;

/* The row, with these inputs in place of the asking's. */
static bool add_row(GArray *out, const RhServeQuery *p, const RhServeEntry *row, bool cheap)
{
    RhServing serving = rh_serve_query_serving(p);
    g_autoptr(RhService) service = rh_service_new(&serving, &row->deployment, NULL);
    RhServeEntry again = *row;
    if (!service)
        return false;
    if (cheap) {
        RhServeMeans means = rh_serve_means(p->asked->list, p->server, &p->options.slos);
        again.bound_per_s =
            rh_serve_bound_per_s(service, &row->deployment, p->server, &means, &p->options.slos);
    } else {
        rh_serve_settle(service, p->asked->list, &p->options, row->rate_per_s, &again);
        rh_unused_settings_add_outcome(out, &again.outcome);
    }
    const double figures[] = {again.bound_per_s, again.kv_peak_frac, again.busy_frac};
    g_array_append_vals(out, figures, G_N_ELEMENTS(figures));
    return true;
}

/* Returns the bounds of all rows, and the metrics of the first. */
static GArray *figures_of(const RhInputs *in, bool cheap, const void *user)
{
    const Planned *planned = user;
    RhServeQuery with = *planned->asking;
    with.in = (RhInputs *)in;
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(double));
    guint rows = planned->plan ? planned->plan->entries->len : 0;
    for (guint i = 0; i < (cheap ? rows : MIN(rows, 1)); i++)
        if (!add_row(out, &with, &g_array_index(planned->plan->entries, RhServeEntry, i), cheap))
            return NULL;
    return rows > 0 ? g_steal_pointer(&out) : NULL;
}

void rh_serve_query_tell_idle(const RhArguments *a, const RhServeQuery *const *askings,
                              const RhServePlan *const *plans, guint count)
{
    g_autofree Planned *planned = g_new0(Planned, count);
    g_autofree RhUnusedAnswer *answers = g_new0(RhUnusedAnswer, count);
    for (guint i = 0; i < count; i++) {
        planned[i] = (Planned){askings[i], plans[i]};
        answers[i] = (RhUnusedAnswer){askings[i]->in, &planned[i]};
    }
    rh_unused_settings_tell(a, answers, count, figures_of);
}

void rh_serve_query_clear(RhServeQuery *p)
{
    rh_inputs_free(p->in);
    rh_serve_requests_free(p->asked);
    g_free(p->server);
}

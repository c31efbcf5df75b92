#include "cli/capacity/capacity_service.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/capacity/capacity_ranges.h"
#include "cli/capacity/prices.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/serve/serve_query.h"
#include "report/capacity/capacity_page.h"
#include "report/capacity/capacity_picture.h"
#include "report/capacity/capacity_service.h"
#include "report/format.h"
#include "report/json/json_facts.h"

#define OPEN_GPUS_MAX 16384
#define OPEN_MORE     1.5 /* times what the closed form says are planned first (assumed) */

/* One platform: its question and its answer. */
typedef struct {
    RhArguments words; /* those of the command, of this platform; `sets` owned, the rest borrowed */
    RhServeQuery asking;
    RhServePlan *plan; /* NULL: no deployment is possible, `why` */
    char *why;
} Offered;

typedef struct {
    const RhArguments *a;
    RhServiceTarget goal;
    GPtrArray *names; /* char*: platforms, owned */
    GArray *sizes;    /* int64_t: GPUs, ascending; none: as few as serve */
    GPtrArray *all;   /* Offered*, of each platform */
} Asking;

static void offered_free(void *data)
{
    Offered *o = data;
    rh_serve_query_clear(&o->asking);
    rh_serve_plan_free(o->plan);
    g_ptr_array_unref(o->words.sets);
    g_free(o->why);
    g_free(o);
}

/* --- the question --- */

static bool check_question(const RhArguments *a, GError **error)
{
    if (!a->ttft && !a->tpot && !a->tbt && !a->e2e)
        return rh_fail(error, RH_ERROR_USAGE,
                       "capacity of a service needs a level to keep\nhelp: --ttft 'p99<5s' --tpot "
                       "'p99<25ms'");
    if (a->lengths && !a->rate)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "how many requests come is not given\nhelp: --rate 5/s, or --requests with a "
            "trace that has its own times");
    if (a->budget_usd > 0 && a->by_s <= 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--budget: a service has no end: for how long must the money last?\n"
                       "help: --by 30d");
    return true;
}

static bool read_question(Asking *q, GError **error)
{
    const RhArguments *a = q->a;
    q->goal = (RhServiceTarget){.for_s = a->by_s, .budget_usd = a->budget_usd};
    return check_question(a, error) && rh_prices_platforms(a->platforms, q->names, error) &&
           (!a->sizes || rh_capacity_sizes(a->sizes, q->sizes, error)) &&
           rh_prices_check(a->prices, q->names, error);
}

/* --- platforms --- */

static Offered *offered_new(const RhArguments *a, const char *platform)
{
    Offered *o = g_new0(Offered, 1);
    o->words = *a;
    o->words.platform = platform;
    o->words.gpus = 0;
    o->words.sets = rh_prices_sets(a, platform);
    o->words.profile = rh_prices_profile(a, platform);
    o->asking.a = &o->words;
    return o;
}

/* A platform of as many nodes as the largest size takes. */
static bool set_nodes(const Asking *q, Offered *o, GError **error)
{
    if (q->sizes->len == 0)
        return true;
    g_autoptr(RhPlatform) bare = rh_platform_load(o->words.platform, error);
    if (!bare)
        return false;
    int64_t most = g_array_index(q->sizes, int64_t, q->sizes->len - 1);
    int32_t each = bare->gpus_per_node, rented = rh_service_rented(most, each);
    o->words.gpus = rented;
    g_ptr_array_add(o->words.sets, g_strdup_printf("nodes=%d", (rented + each - 1) / each));
    return true;
}

static bool load(const Asking *q, Offered *o, GError **error)
{
    RhServeQuery *asking = &o->asking;
    if (!rh_serve_query_given(asking, error) || !set_nodes(q, o, error) ||
        !rh_serve_query_load(asking, error))
        return false;
    if (!q->a->rate)
        asking->options.rate_per_s = rh_requests_rate_per_s(asking->asked->list);
    return true;
}

/* A budget needs every price. */
static bool check_prices(const Asking *q, GError **error)
{
    g_autoptr(GPtrArray) unknown = g_ptr_array_new();
    for (guint i = 0; i < q->all->len; i++) {
        const Offered *o = g_ptr_array_index(q->all, i);
        if (o->asking.in->hardware->price_usd_per_gpu_hour.value <= 0)
            g_ptr_array_add(unknown, (void *)(uintptr_t)o->words.platform);
    }
    return q->goal.budget_usd <= 0 || unknown->len == 0 ||
           rh_prices_missing("--budget", unknown, error);
}

/* That a model has no room on a platform is part of the answer. `left` platforms share what time is left. */
static bool plan(const Asking *q, Offered *o, guint left, GError **error)
{
    g_autoptr(GError) why = NULL;
    o->asking.options.timeout_s = rh_terminal_left_s(q->a->timeout_s) / left;
    o->plan = rh_serve_query_plan(&o->asking, &why);
    if (o->plan)
        return true;
    if (!g_error_matches(why, RH_ERROR, RH_ERROR_NO_ANSWER)) {
        g_propagate_error(error, g_steal_pointer(&why));
        return false;
    }
    o->why = g_strdup(why->message);
    return true;
}

/* A name without a number of nodes: as many are looked for as it takes. */
static bool is_open(const Asking *q, const Offered *o)
{
    const char *name = o->words.platform;
    const RhPlatform *hardware = o->asking.in->hardware;
    for (guint i = 0; i < o->words.sets->len; i++)
        if (g_str_has_prefix(g_ptr_array_index(o->words.sets, i), "nodes="))
            return false;
    return q->sizes->len == 0 && !strpbrk(name, ":/") && !g_str_has_suffix(name, ".json") &&
           rh_platform_gpus(hardware) == hardware->gpus_per_node;
}

/* Nothing serves there, and more of them might. */
static bool wants_more(const Offered *o)
{
    return !o->plan ||
           (o->plan->entries->len == 0 && !o->plan->timed_out && o->plan->nearest.bound_per_s > 0);
}

/* Half as many again as the closed form says; where that says nothing, twice as many. */
static int32_t nodes_next(const Offered *o)
{
    int32_t each = o->asking.in->hardware->gpus_per_node;
    int32_t there = rh_platform_gpus(o->asking.in->hardware) / each;
    double least = o->plan ? OPEN_MORE * o->plan->gpus_least / each : 0;
    return (int32_t)fmin(fmax(2 * there, ceil(least)), OPEN_GPUS_MAX / each);
}

/* In its place one of so many nodes. False: there is none, as it may have no network. */
static bool set_larger(const Asking *q, Offered *o, int32_t nodes)
{
    Offered *more = offered_new(q->a, o->words.platform);
    g_ptr_array_add(more->words.sets, g_strdup_printf("nodes=%d", nodes));
    bool there = load(q, more, NULL);
    if (there) {
        Offered before = *o;
        *o = *more;
        o->asking.a = &o->words;
        *more = before;
    }
    offered_free(more);
    return there;
}

static bool plan_open(const Asking *q, Offered *o, guint left, GError **error)
{
    bool open = is_open(q, o), planned = plan(q, o, left, error);
    while (planned && open && wants_more(o)) {
        int32_t nodes = nodes_next(o);
        if (nodes * o->asking.in->hardware->gpus_per_node <=
                rh_platform_gpus(o->asking.in->hardware) ||
            !set_larger(q, o, nodes))
            break;
        planned = plan(q, o, left, error);
    }
    return planned;
}

static bool load_all(Asking *q, GError **error)
{
    for (guint i = 0; i < q->names->len; i++) {
        Offered *o = offered_new(q->a, g_ptr_array_index(q->names, i));
        g_ptr_array_add(q->all, o);
        if (!load(q, o, error))
            return false;
    }
    return true;
}

static bool plan_all(const Asking *q, GError **error)
{
    for (guint i = 0; i < q->all->len; i++)
        if (!plan_open(q, g_ptr_array_index(q->all, i), q->all->len - i, error))
            return false;
    return true;
}

/* --- the answer --- */

static char *facts_of(const Asking *q, GError **error)
{
    g_autofree const RhPlatform **platforms = g_new0(const RhPlatform *, q->all->len);
    const Offered *first = g_ptr_array_index(q->all, 0);
    for (guint i = 0; i < q->all->len; i++)
        platforms[i] = ((const Offered *)g_ptr_array_index(q->all, i))->asking.in->hardware;
    return rh_report_service_facts_json(platforms, (const char *const *)q->names->pdata,
                                        q->all->len, first->asking.server, error);
}

static char *page_of(const Asking *q, const RhServiceCapacity *answer, GError **error)
{
    g_autofree char *facts = facts_of(q, error);
    RhReportStyle plain = {0};
    g_autofree char *text = rh_report_service_capacity_text(answer, &plain);
    g_autofree char *json = rh_report_service_capacity_json(answer);
    g_autofree char *svg = rh_report_service_capacity_svg(answer);
    RhCapacityPage page = {.text = text,
                           .json = json,
                           .facts = facts,
                           .id = "money",
                           .title = "Money against time to the answer",
                           .by = "both",
                           .svg = svg};
    return facts ? rh_report_capacity_page(&page) : NULL;
}

static bool write_files(const Asking *q, const RhServiceCapacity *answer, GError **error)
{
    for (guint i = 0; i < q->a->outputs->len; i++) {
        const char *path = g_ptr_array_index(q->a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *text =
            kind == RH_OUTPUT_CSV        ? rh_report_service_capacity_csv(answer)
            : kind == RH_OUTPUT_MARKDOWN ? rh_report_service_capacity_markdown(answer)
            : kind == RH_OUTPUT_HTML     ? page_of(q, answer, error)
            : kind == RH_OUTPUT_PARETO   ? rh_report_service_capacity_svg(answer)
                                         : rh_report_service_capacity_json(answer);
        if (!text && kind == RH_OUTPUT_PARETO) /* nothing keeps the levels */
            continue;
        if (!text || !rh_output_write(path, text, error))
            return false;
    }
    return true;
}

static void tell_idle_words(const Asking *q)
{
    guint count = q->all->len;
    g_autofree const RhServeQuery **askings = g_new0(const RhServeQuery *, count);
    g_autofree const RhServePlan **plans = g_new0(const RhServePlan *, count);
    for (guint i = 0; i < count; i++) {
        const Offered *o = g_ptr_array_index(q->all, i);
        askings[i] = &o->asking;
        plans[i] = o->plan;
    }
    rh_serve_query_tell_idle(q->a, askings, plans, count);
}

static int show(const Asking *q, GError **error)
{
    guint count = q->all->len;
    g_autofree RhServicePlatform *offers = g_new0(RhServicePlatform, count);
    g_autofree const RhQuestion **questions = g_new0(const RhQuestion *, count);
    g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(RhServiceCell));
    for (guint i = 0; i < count; i++) {
        const Offered *o = g_ptr_array_index(q->all, i);
        const RhPlatform *hardware = o->asking.in->hardware;
        offers[i] = (RhServicePlatform){o->words.platform,
                                        o->plan,
                                        o->why,
                                        hardware->price_usd_per_gpu_hour.value,
                                        hardware->gpus_per_node,
                                        *rh_serve_plan_allowance(o->plan, &o->asking.options)};
        questions[i] = &o->asking.in->question;
        rh_service_cells(&offers[i], q->sizes, cells);
    }
    const Offered *first = g_ptr_array_index(q->all, 0);
    RhServeQuestion question =
        rh_serve_query_question(&first->asking, first->asking.asked->arrivals);
    g_auto(GStrv) words = rh_serve_query_words(&first->asking, false);
    RhServiceCapacity answer = {.question = &question,
                                .words = (const char *const *)words,
                                .options = &first->asking.options,
                                .goal = &q->goal,
                                .offers = offers,
                                .questions = questions,
                                .offers_count = count,
                                .cells = cells,
                                .best = rh_service_judge(&q->goal, cells)};
    RhReportStyle style = {.colored = rh_terminal_colored(), .verbosity = (int)q->a->verbosity};
    g_autofree char *text = q->a->json ? rh_report_service_capacity_json(&answer)
                                       : rh_report_service_capacity_text(&answer, &style);
    fputs(text, stdout);
    rh_output_answered();
    tell_idle_words(q);
    if (!write_files(q, &answer, error))
        return 3;
    return answer.best >= 0 ? 0 : 1;
}

int rh_capacity_service(const RhArguments *a, GError **error)
{
    Asking q = {.a = a,
                .names = g_ptr_array_new_with_free_func(g_free),
                .sizes = g_array_new(FALSE, FALSE, sizeof(int64_t)),
                .all = g_ptr_array_new_with_free_func(offered_free)};
    int status = !read_question(&q, error)  ? 2
                 : !load_all(&q, error)     ? 3
                 : !check_prices(&q, error) ? 2
                 : !plan_all(&q, error)     ? 3
                                            : show(&q, error);
    g_ptr_array_unref(q.all);
    g_array_unref(q.sizes);
    g_ptr_array_unref(q.names);
    return status;
}

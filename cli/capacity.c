/* rehearse capacity: which cluster, how much of it, by when and for how much? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/capacity_service.h"
#include "cli/capacity_words.h"
#include "cli/commands.h"
#include "cli/idle_words.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/prices.h"
#include "cli/room_words.h"
#include "cli/terminal.h"
#include "report/capacity.h"
#include "report/capacity_page.h"
#include "report/capacity_picture.h"
#include "report/json_facts.h"

#define TOKENS_MAX                                                                                 \
    INT64_C(10000000000000000) /* a thousand times what the largest runs read: a typing error */
/* Tokens of a step where none are asked for: what published runs of tens to hundreds of billions of
 * parameters take (Llama 3: 4 to 16 M, arXiv 2407.21783, section 3.4.1). */
#define STEP_TOKENS_LEAST 4194304
#define STEP_TOKENS_MOST  16777216
/* Pictures of a step: from what ResNets were first trained with to the most that trained as well, with
 * rates by layer (arXiv 1709.05011; to 8,192 without them, arXiv 1706.02677). */
#define STEP_PICTURES_LEAST 256
#define STEP_PICTURES_MOST  32768

typedef struct {
    const RhArguments *a;
    RhCapacityGoal goal;
    GPtrArray *names;  /* char*: platforms, owned */
    GArray *sizes;     /* int64_t: GPUs, ascending */
    GPtrArray *inputs; /* RhInputs*, of each cell */
    GArray *cells;     /* RhCapacityCell */
    GArray *left_out;  /* RhCapacityLeftOut */
} Asking;

/* --- the words of the question --- */

static bool read_batches(Asking *q, GError **error)
{
    g_autoptr(RhModel) m = rh_model_load(q->a->workload, NULL); /* what is wrong is told later */
    bool pictures = m && rh_model_sees_pictures(m);
    int64_t sequence = MAX(q->a->sequence, 1);
    q->goal.batch_least = pictures ? STEP_PICTURES_LEAST : MAX(STEP_TOKENS_LEAST / sequence, 1);
    q->goal.batch_most = pictures ? STEP_PICTURES_MOST : MAX(STEP_TOKENS_MOST / sequence, 1);
    return !q->a->batches || rh_capacity_range("global-batch", q->a->batches, 1 << 28,
                                               &q->goal.batch_least, &q->goal.batch_most, error);
}

static bool read_question(Asking *q, GError **error)
{
    const RhArguments *a = q->a;
    q->goal = (RhCapacityGoal){.tokens = a->tokens,
                               .by_s = a->by_s,
                               .budget_usd = a->budget_usd,
                               .as_predicted = strcmp(a->error_bar, "none") == 0,
                               .gap_frac = a->gap_frac,
                               .risk_frac = fmax(a->risk_frac, RH_RISK_LEAST),
                               .jobs = (int32_t)a->jobs};
    return rh_prices_platforms(q->a->platforms, q->names, error) &&
           rh_capacity_sizes(q->a->sizes, q->sizes, error) && read_batches(q, error);
}

/* --- cells --- */

/* One platform at one size; whole nodes. */
static RhInputs *load(const Asking *q, const char *platform, int64_t gpus, int32_t gpus_per_node,
                      GError **error)
{
    g_autoptr(GPtrArray) sets = rh_prices_sets(q->a, platform);
    g_ptr_array_add(sets, g_strdup_printf("nodes=%" G_GINT64_FORMAT, gpus / gpus_per_node));
    g_ptr_array_add(sets, NULL);
    g_auto(GStrv) argv = rh_arguments_words(q->a->recorded);
    RhInputsSpec spec = {.workload = q->a->workload,
                         .platform = platform,
                         .dtype = q->a->dtype,
                         .stack = q->a->stack,
                         .global_batch = q->goal.batch_most,
                         .sequence = q->a->sequence,
                         .gpus = gpus,
                         .seed = q->a->seed,
                         .sets = (const char *const *)sets->pdata,
                         .argv = (const char *const *)argv};
    return rh_inputs_load(&spec, error);
}

/* That a platform cannot be built of so many nodes is part of the answer; other errors are the user's. */
static bool leave_out(Asking *q, const char *platform, int64_t gpus, int64_t nodes,
                      const GError *why)
{
    g_autofree char *set = g_strdup_printf("--set nodes=%" G_GINT64_FORMAT ": ", nodes);
    if (!g_str_has_prefix(why->message, set))
        return false;
    const char *reason = why->message + strlen(set);
    RhCapacityLeftOut size = {platform, (int32_t)gpus, g_strndup(reason, strcspn(reason, "\n"))};
    g_array_append_val(q->left_out, size);
    return true;
}

static bool load_platform(Asking *q, const char *name, GError **error)
{
    int64_t last = 0;
    g_autoptr(RhPlatform) bare = rh_platform_load(name, error);
    if (!bare)
        return false;
    for (guint i = 0; i < q->sizes->len; i++) {
        int64_t each = bare->gpus_per_node, asked = g_array_index(q->sizes, int64_t, i);
        int64_t size = (asked + each - 1) / each * each;
        if (size == last)
            continue;
        last = size;
        g_autoptr(GError) why = NULL;
        RhInputs *in = load(q, name, size, bare->gpus_per_node, &why);
        if (!in && leave_out(q, name, size, size / each, why))
            continue;
        if (!in) {
            g_propagate_error(error, g_steal_pointer(&why));
            return false;
        }
        RhCapacityCell cell = {.platform = name, .asked = (int32_t)asked};
        g_ptr_array_add(q->inputs, in);
        g_array_append_val(q->cells, cell);
    }
    return true;
}

static bool plan_cells(Asking *q, GError **error)
{
    guint count = q->inputs->len;
    RhCapacityGoal goal = q->goal;
    goal.timeout_s = q->a->timeout_s > 0 ? rh_terminal_left_s(q->a->timeout_s) : 0;
    goal.progress = rh_terminal_progress;
    g_autofree const RhCase **cases = g_new(const RhCase *, count);
    g_autofree RhCapacityCell *found = g_new(RhCapacityCell, count);
    for (guint i = 0; i < count; i++)
        cases[i] = &((const RhInputs *)q->inputs->pdata[i])->c;
    bool fine = rh_capacity_plan_all(cases, (int32_t)count, &goal, found, error);
    rh_terminal_progress_end();
    for (guint i = 0; i < count && fine; i++) {
        RhCapacityCell *cell = &g_array_index(q->cells, RhCapacityCell, i);
        found[i].platform = cell->platform;
        found[i].asked = cell->asked;
        *cell = found[i];
    }
    return fine;
}

static bool check_budget(const Asking *q, GError **error)
{
    for (guint i = 0; q->goal.budget_usd > 0 && i < q->inputs->len; i++) {
        const RhInputs *in = g_ptr_array_index(q->inputs, i);
        if (in->hardware->price_usd_per_gpu_hour.value <= 0)
            return rh_fail(error, RH_ERROR_USAGE,
                           "--budget: the price of %s is not known\nhelp: --price %s=2USD, or "
                           "what you pay",
                           g_array_index(q->cells, RhCapacityCell, i).platform,
                           g_array_index(q->cells, RhCapacityCell, i).platform);
    }
    return true;
}

/* --- the answer --- */

/* Of each platform once: its sizes differ in nodes alone. */
static char *facts_of(const RhCapacityAnswer *answer)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autoptr(GPtrArray) questions = g_ptr_array_new();
    for (guint i = 0; i < answer->cells->len; i++) {
        const char *name = g_array_index(answer->cells, RhCapacityCell, i).platform;
        if (g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
            continue;
        g_ptr_array_add(names, (void *)name);
        g_ptr_array_add(questions, (void *)answer->questions[i]);
    }
    return rh_report_facts_of_json((const RhQuestion *const *)questions->pdata,
                                   (const char *const *)names->pdata, names->len);
}

static char *page_of(const RhCapacityAnswer *answer)
{
    g_autofree char *facts = facts_of(answer);
    RhReportStyle plain = {.timeless = true};
    g_autofree char *text = rh_report_capacity_text(answer, &plain);
    g_autofree char *json = rh_report_capacity_json(answer);
    g_autofree char *svg = rh_report_capacity_svg(answer);
    return rh_report_capacity_page(&(RhCapacityPage){.text = text,
                                                     .json = json,
                                                     .facts = facts,
                                                     .id = "days",
                                                     .title = "Days against money",
                                                     .by = "days, money and energy",
                                                     .svg = svg});
}

static bool write_files(const Asking *q, const RhCapacityAnswer *answer, GError **error)
{
    for (guint i = 0; i < q->a->outputs->len; i++) {
        const char *path = g_ptr_array_index(q->a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *text = kind == RH_OUTPUT_CSV        ? rh_report_capacity_csv(answer)
                                : kind == RH_OUTPUT_MARKDOWN ? rh_report_capacity_markdown(answer)
                                : kind == RH_OUTPUT_HTML     ? page_of(answer)
                                : kind == RH_OUTPUT_PARETO   ? rh_report_capacity_svg(answer)
                                                             : rh_report_capacity_json(answer);
        if (text && !rh_output_write(path, text, error)) /* no picture where nothing fits */
            return false;
    }
    return true;
}

/* Of every cell with its batch and layout by bounds, of each platform's first as it is rehearsed. A cell without a
 * layout is no answer, and might be one without a word. */
static void tell_idle_words(const Asking *q)
{
    guint count = q->cells->len;
    g_autofree RhIdleSteps *steps = g_new0(RhIdleSteps, count);
    g_autofree RhIdleAnswer *answers = g_new0(RhIdleAnswer, count);
    RhEngineOptions options = {.seed = (uint64_t)q->a->seed};
    for (guint i = 0; i < count; i++) {
        const RhCapacityCell *cell = &g_array_index(q->cells, RhCapacityCell, i);
        bool first = i == 0 || strcmp(cell[-1].platform, cell->platform) != 0;
        if (!cell->r || cell->timed_out)
            return;
        steps[i] = (RhIdleSteps){.layouts = &cell->r->layout,
                                 .count = 1,
                                 .global_batch = cell->c.job.global_batch,
                                 .options = first ? &options : NULL};
        answers[i] = (RhIdleAnswer){g_ptr_array_index(q->inputs, i), &steps[i]};
    }
    rh_idle_words_tell(q->a, answers, count, rh_idle_words_steps);
}

/* Odds are of the stack: those of one cell are those of all. */
static void tell_words(const Asking *q)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(RhConstraint));
    const RhInputs *first = g_ptr_array_index(q->inputs, 0);
    rh_room_words_tell(q->a, &first->c, none);
    tell_idle_words(q);
}

static int show(Asking *q, GError **error)
{
    g_autofree const RhQuestion **questions = g_new0(const RhQuestion *, q->inputs->len + 1);
    for (guint i = 0; i < q->inputs->len; i++)
        questions[i] = &((const RhInputs *)q->inputs->pdata[i])->question;
    RhCapacityAnswer answer = {.goal = &q->goal,
                               .cells = q->cells,
                               .left_out = q->left_out,
                               .questions = questions,
                               .best = rh_capacity_judge(&q->goal, q->cells)};
    RhReportStyle style = {.colored = rh_terminal_colored(), .verbosity = (int)q->a->verbosity};
    g_autofree char *text =
        q->a->json ? rh_report_capacity_json(&answer) : rh_report_capacity_text(&answer, &style);
    fputs(text, stdout);
    rh_output_answered();
    tell_words(q);
    if (!write_files(q, &answer, error))
        return 3;
    return answer.best >= 0 ? 0 : 1;
}

static int answer(Asking *q, GError **error)
{
    if (!read_question(q, error) || !rh_prices_check(q->a->prices, q->names, error))
        return 2;
    for (guint i = 0; i < q->names->len; i++)
        if (!load_platform(q, g_ptr_array_index(q->names, i), error))
            return 3;
    if (q->cells->len == 0) {
        const RhCapacityLeftOut *first = &g_array_index(q->left_out, RhCapacityLeftOut, 0);
        rh_fail(error, RH_ERROR_INPUT,
                "no platform can be built at these sizes, the first: %d GPUs: %s\n"
                "help: other sizes (--gpus), or a file of its own that says how it is wired",
                first->gpus, first->why);
        return 3;
    }
    if (!check_budget(q, error))
        return 2;
    return plan_cells(q, error) ? show(q, error) : 3;
}

/* Options of the one kind of question are none of the other. */
static const char *const of_runs[] = {"--global-batch", "--seq",  "--stack",
                                      "--gap",          "--risk", NULL};
static const char *const of_services[] = {
    "--strategy", "--mode", "--rate", "--concurrency", "--turnaround", "--arrivals", "--count",
    "--skip-bad", "--ttft", "--tpot", "--tbt",         "--e2e",        NULL};

static bool check_kind(const RhArguments *a, bool service, GError **error)
{
    const char *const *foreign = service ? of_runs : of_services;
    for (guint i = 0; i < a->recorded->len; i++)
        if (g_strv_contains(foreign, g_ptr_array_index(a->recorded, i)))
            return rh_fail(error, RH_ERROR_USAGE, "%s is of %s\nhelp: %s",
                           (const char *)g_ptr_array_index(a->recorded, i),
                           service ? "training, and --requests and --lengths are of a service"
                                   : "a service, and --tokens is of training",
                           service ? "leave it out, or ask for --tokens"
                                   : "leave it out, or ask for --requests or --lengths");
    if (service || a->sizes)
        return true;
    return rh_fail(
        error, RH_ERROR_USAGE,
        "capacity needs --gpus 256..4096\nnote: --gpus  sizes, in steps of halves: a range, numbers, "
        "or both by commas\nhelp: `rehearse capacity --help` has examples");
}

static int run_training(const RhArguments *a, GError **error)
{
    Asking q = {.a = a,
                .names = g_ptr_array_new_with_free_func(g_free),
                .sizes = g_array_new(FALSE, FALSE, sizeof(int64_t)),
                .inputs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_inputs_free),
                .cells = g_array_new(FALSE, FALSE, sizeof(RhCapacityCell)),
                .left_out = g_array_new(FALSE, FALSE, sizeof(RhCapacityLeftOut))};
    int status = answer(&q, error);
    for (guint i = 0; i < q.cells->len; i++)
        rh_capacity_cell_clear(&g_array_index(q.cells, RhCapacityCell, i));
    for (guint i = 0; i < q.left_out->len; i++)
        g_free(g_array_index(q.left_out, RhCapacityLeftOut, i).why);
    g_array_unref(q.left_out);
    g_array_unref(q.cells);
    g_array_unref(q.sizes);
    g_ptr_array_unref(q.inputs);
    g_ptr_array_unref(q.names);
    return status;
}

/* What may be bought, and what is asked of it. */
static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_CSV,    RH_OUTPUT_MARKDOWN,
                                     RH_OUTPUT_HTML, RH_OUTPUT_PARETO, RH_OUTPUT_NONE};
    bool service = a->requests || a->lengths;
    if (!rh_outputs_check(a->outputs, kinds, error) || !check_kind(a, service, error))
        return 2;
    return service ? rh_capacity_service(a, error) : run_training(a, error);
}

static const RhOption own[] = {
    RH_OPTION(tokens, "tokens", 0, RH_OPTION_QUANTITY, "15T", "how many tokens to train on",
              .quantity = RH_QUANTITY_TOKENS, .positive = true, .high = TOKENS_MAX,
              .required = true, .unless = "requests|lengths"),
    RH_OPTION(by_s, "by", 0, RH_OPTION_QUANTITY, "30d",
              "the run may take so long; a service is paid for so long", .also = "deadline",
              .quantity = RH_QUANTITY_S, .positive = true),
    RH_OPTION(budget_usd, "budget", 0, RH_OPTION_QUANTITY, "1M$", "it may cost so much",
              .quantity = RH_QUANTITY_USD, .positive = true),
    RH_OPTION(
        sizes, "gpus", 0, RH_OPTION_TEXT, "256..4096",
        "sizes, in steps of halves: a range, numbers, or both by commas (needed with --tokens; "
        "of a service else as few as serve)",
        .usual = true),
    RH_OPTION(batches, "global-batch", 0, RH_OPTION_TEXT, "1024..4096",
              "samples of a step: a range to choose from, or a number (4 to 16 M tokens, "
              "or 256 to 32,768 pictures)"),
    RH_OPTION(sequence, "seq", 0, RH_OPTION_INTEGER, "S", "tokens of one sample; a picture is one",
              .usual = true, .low = 1, .high = 1 << 28),
    RH_OPTION(prices, "price", 0, RH_OPTION_LIST, "[NAME=]USD[@MONTH]",
              "a GPU-hour of the platform NAME, or of all, as dgx-h100=2.50USD@2026-11"),
    RH_OPTION(gap_frac, "gap", 0, RH_OPTION_QUANTITY, "GAP",
              "how much better an unrehearsed layout might be", .quantity = RH_QUANTITY_FRAC,
              .otherwise = "1%"),
    RH_OPTION(risk_frac, "risk", 0, RH_OPTION_QUANTITY, "RISK",
              "how many of measured runs as full as a layout may have run out of memory",
              .quantity = RH_QUANTITY_FRAC, .otherwise = "5%"),
    {0}};
static const RhOption *const tables[] = {
    rh_options_clusters, own, rh_options_requests, rh_options_deployment, rh_options_shared,
    rh_options_help,     NULL};

const RhCommand rh_command_capacity = {
    .name = "capacity",
    .operands = "",
    .summary = "which cluster, how much of it, by when, for how much?",
    .about = "Plans the model on every platform at every size, with at most three batches\n"
             "of the range (its largest, the largest that the GPUs or a half, a quarter ... of\n"
             "them divide, and that for most of them), and turns steps into days, dollars and\n"
             "energy of the whole run.\n\n"
             "The answer is the cheapest that ends --by the date; with a --budget alone the\n"
             "soonest within it; without both the cheapest. Both are kept at the upper end of\n"
             "the step's error bar (--error-bar none: as predicted). Exit status 1 when\n"
             "nothing meets them: then the soonest and the cheapest are named. Without prices\n"
             "GPU-hours stand for money.\n\n"
             "binds says what takes most of a step besides arithmetic: the network, the batch\n"
             "(too few micro-batches for the pipeline), or memory (recomputation). A price is\n"
             "called old when it is a year older than the newest figure of its platform.\n\n"
             "--requests or --lengths ask of a service instead: the cheapest platform, number\n"
             "of GPUs and deployment that keeps the levels (--ttft, --tpot ...) at --rate, or\n"
             "at the rate of the trace. Each platform is planned as `serve-plan --rate` does;\n"
             "of every size (--gpus; part of a node is priced GPU by GPU) the quickest that\n"
             "keeps them stands in the table, so that money can be weighed against the time\n"
             "to an answer. What it costs for so long is said --by 30d, a --budget is for it.\n",
    .examples = "rehearse capacity -w llama-3.1-70b --tokens 15T --by 60d --seq 8192 \\\n"
                "    -p dgx-h100,dgx-b200 --gpus 256..4096 --price dgx-h100=2.4USD \\\n"
                "    --price dgx-b200=3.9USD\n"
                "rehearse capacity -w llama-3.1-8b --tokens 1T --budget 300k$ --seq 8192 \\\n"
                "    -p dgx-h100 --gpus 64,128,576 --global-batch 512..1024 --price 2.4USD\n"
                "rehearse capacity -w llama-3.1-70b -p dgx-h100,dgx-h200 --gpus 8..64 \\\n"
                "    --lengths in=1024,out=256,spread=0.8 --rate 20/s --ttft 'p99<2s' \\\n"
                "    --tpot 'p99<40ms' --price dgx-h100=2.4USD --price dgx-h200=3USD",
    .tables = tables,
    .run = run,
};

#include "cli/capacity/capacity_training.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/capacity/capacity_query.h"
#include "cli/capacity/prices.h"
#include "cli/output/output_file.h"
#include "cli/output/terminal.h"
#include "cli/plan/inert_limits.h"
#include "cli/unused_settings.h"
#include "report/capacity/capacity_page.h"
#include "report/capacity/capacity_picture.h"
#include "report/format.h"
#include "report/json/json_facts.h"

#define ROUNDS_MAX 6 /* of sizes, where as many nodes as it takes are looked for */

/* Plans the cells that have no plan yet. */
static bool plan_cells(RhCapacityQuery *q, GError **error)
{
    guint count = 0;
    RhCapacityTarget goal = q->goal;
    goal.timeout_s = q->a->timeout_s > 0 ? rh_terminal_left_s(q->a->timeout_s) : 0;
    goal.progress = rh_terminal_progress;
    g_autofree RhCapacityQuestion *asked = g_new(RhCapacityQuestion, q->cells->len);
    g_autofree RhCapacityCell **cells = g_new(RhCapacityCell *, q->cells->len);
    g_autofree RhCapacityCell *found = g_new(RhCapacityCell, q->cells->len);
    for (guint i = 0; i < q->cells->len; i++) {
        RhCapacityCell *cell = &g_array_index(q->cells, RhCapacityCell, i);
        const RhInputs *in = g_ptr_array_index(q->inputs, i);
        if (cell->r || cell->why)
            continue;
        asked[count] = (RhCapacityQuestion){&in->c, cell->batch_least, cell->batch_most};
        cells[count++] = cell;
    }
    bool fine = rh_capacity_plan_all(asked, (int32_t)count, &goal, found, error);
    rh_terminal_progress_end();
    for (guint i = 0; i < count && fine; i++) {
        found[i].platform = cells[i]->platform;
        found[i].series = cells[i]->series;
        found[i].asked = cells[i]->asked;
        *cells[i] = found[i];
    }
    return fine;
}

/* Then sizes that follow from what these came to. */
static bool plan_on(RhCapacityQuery *q, GError **error)
{
    guint count = q->cells->len;
    for (int round = 0; round < ROUNDS_MAX && count > 0; round++)
        if (!plan_cells(q, error) || !rh_capacity_query_next(q, &count, error))
            return false;
    return count == 0 || plan_cells(q, error);
}

/* A budget needs every price; so does electricity that is paid apart, unless it is all that is paid. */
static bool check_prices(const RhCapacityQuery *q, GError **error)
{
    g_autoptr(GPtrArray) unknown = g_ptr_array_new();
    bool apart = q->goal.usd_per_kwh > 0, priced = false;
    for (guint i = 0; i < q->inputs->len; i++) {
        const RhInputs *in = g_ptr_array_index(q->inputs, i);
        const RhCapacityCell *cell = &g_array_index(q->cells, RhCapacityCell, i);
        if (i > 0 && strcmp(cell[-1].platform, cell->platform) == 0)
            continue;
        if (in->hardware->price_usd_per_gpu_hour.value > 0)
            priced = true;
        else
            g_ptr_array_add(unknown, (void *)(uintptr_t)cell->platform);
    }
    return unknown->len == 0 || (apart ? !priced : q->goal.budget_usd <= 0) ||
           rh_prices_missing(apart ? "--price-kwh" : "--budget", unknown, error);
}

/* --- the answer --- */

/* The facts of each platform, once: its sizes differ in nodes alone. */
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

static bool write_files(const RhCapacityQuery *q, const RhCapacityAnswer *answer, GError **error)
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

/* Tells words that change nothing: of every cell by the bounds of its layout, of each platform's first as it is
 * rehearsed. A cell without a layout is no answer, and might be one without a word. */
static void tell_idle_words(const RhCapacityQuery *q)
{
    guint count = q->cells->len;
    g_autofree RhUnusedSteps *steps = g_new0(RhUnusedSteps, count);
    g_autofree RhUnusedAnswer *answers = g_new0(RhUnusedAnswer, count);
    RhEngineOptions options = {.seed = (uint64_t)q->a->seed};
    for (guint i = 0; i < count; i++) {
        const RhCapacityCell *cell = &g_array_index(q->cells, RhCapacityCell, i);
        bool first = i == 0 || strcmp(cell[-1].platform, cell->platform) != 0;
        if (!cell->r || cell->timed_out)
            return;
        steps[i] = (RhUnusedSteps){.layouts = &cell->r->layout,
                                   .count = 1,
                                   .global_batch = cell->c.job.global_batch,
                                   .options = first ? &options : NULL};
        answers[i] = (RhUnusedAnswer){g_ptr_array_index(q->inputs, i), &steps[i]};
    }
    rh_unused_settings_tell(q->a, answers, count, rh_unused_settings_steps);
}

/* Odds are of the stack: those of one cell are those of all. */
static void tell_words(const RhCapacityQuery *q)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(RhConstraint));
    const RhInputs *first = g_ptr_array_index(q->inputs, 0);
    rh_inert_limits_tell(q->a, &first->c, none);
    tell_idle_words(q);
}

static int show(RhCapacityQuery *q, GError **error)
{
    g_autofree const RhQuestion **questions = g_new0(const RhQuestion *, q->inputs->len + 1);
    for (guint i = 0; i < q->inputs->len; i++)
        questions[i] = &((const RhInputs *)q->inputs->pdata[i])->question;
    RhCapacityAnswer answer = {.goal = &q->goal,
                               .cells = q->cells,
                               .left_out = q->left_out,
                               .questions = questions,
                               .best = rh_capacity_judge(&q->goal, q->cells),
                               .sizes_chosen = !q->a->sizes && q->cells->len > 1};
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

static int answer(RhCapacityQuery *q, GError **error)
{
    if (!rh_capacity_query_read(q, error) || !rh_prices_check(q->a->prices, q->names, error))
        return 2;
    if (!rh_capacity_query_load(q, error))
        return 3;
    if (q->cells->len == 0) {
        const RhCapacityLeftOut *first = &g_array_index(q->left_out, RhCapacityLeftOut, 0);
        rh_fail(error, RH_ERROR_INPUT,
                "no platform can be built at these sizes, the first: %d GPUs: %s\n"
                "help: other sizes (--gpus), or a file of its own that says how it is wired",
                first->gpus, first->why);
        return 3;
    }
    if (!check_prices(q, error))
        return 2;
    return plan_on(q, error) ? show(q, error) : 3;
}

int rh_capacity_training(const RhArguments *a, GError **error)
{
    RhCapacityQuery q = rh_capacity_query_new(a);
    int status = answer(&q, error);
    rh_capacity_query_clear(&q);
    return status;
}

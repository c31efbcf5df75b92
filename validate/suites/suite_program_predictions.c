/* Predicts a suite: by the rehearsal, by its controls, by SMPI. */
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "platforms/profile.h"
#include "sim/engine/workers/isolated_run.h"
#include "sim/uncontended_critical_path.h"
#include "strategies/serve/results/service_program.h"
#include "strategies/train/train.h"
#include "validate/suites/pattern_programs.h"
#include "validate/suites/performed_vs_rehearsed.h"
#include "validate/suites/smpi.h"
#include "validate/suites/suite_private.h"

#define JOB_BATCH    16
#define JOB_SEQUENCE 256
#define SEEDS        5 /* of the noise in a prediction */

/* --- programs --- */

static bool read_bytes(const char *text, double *bytes, GError **error)
{
    return rh_quantity_parse(text, RH_QUANTITY_BYTES, bytes, error);
}

static RhProgram *collective_program(const RhPlatform *platform, char **words, GError **error)
{
    RhOp op = RH_OP_NONE;
    RhAlgo algo = RH_ALGO_NONE;
    double bytes = 0;
    while (op < RH_OP_LAST && strcmp(rh_op_name(op), words[0]) != 0)
        op++;
    while (algo < RH_ALGO_LAST && strcmp(rh_algo_name(algo), words[1]) != 0)
        algo++;
    g_assert(op < RH_OP_LAST && algo < RH_ALGO_LAST); /* the table is our own */
    if (!read_bytes(words[2], &bytes, error))
        return NULL;
    return rh_pattern_collective(rh_platform_gpus(platform), op, algo, bytes, 3);
}

static RhProgram *pattern_program(const RhPlatform *platform, char **words, GError **error)
{
    double bytes = 0;
    const RhMessagePattern *pattern = rh_message_pattern_by_name(words[0]);
    g_assert(pattern);
    return read_bytes(words[1], &bytes, error) ? pattern->build(rh_platform_gpus(platform), bytes)
                                               : NULL;
}

static RhProgram *layout_program(const RhSuiteRun *s, const RhPlatform *platform, const char *text,
                                 GError **error)
{
    RhLayout layout = rh_layout_default();
    if (!rh_layout_parse(text, &layout, error))
        return NULL;
    bool pictures = layout.slice != RH_SLICE_NONE || layout.schedule == RH_PIPELINE_GEMS;
    RhProblem c = {.model = pictures        ? s->pictures
                            : layout.ep > 1 ? s->mixture
                                            : s->model,
                   .platform = platform,
                   .stack = s->stack,
                   .job = {.global_batch = JOB_BATCH,
                           .sequence = pictures ? 1 : JOB_SEQUENCE,
                           .gpus = rh_platform_gpus(platform),
                           .recipe = &rh_recipe_bf16}};
    if (layout.tp == 1)
        layout.sequence_parallel = false;
    rh_train_complete(&c, &layout);
    if (!rh_train_legal(&c, &layout, error))
        return NULL;
    layout = rh_train_canonical(&c, &layout);
    return rh_train_build(&c, &layout, error);
}

/* Makes a program of a service's iterations for requests that arrive at once, simulated without
 * sharing of links; the performer of the program supplies the times. */
static RhProgram *service_program(const RhSuiteRun *s, const RhPlatform *platform, char **words,
                                  GError **error)
{
    RhDeployment d = rh_deployment_default();
    if (!rh_deployment_parse(words[0], &d, error))
        return NULL;
    const RhServer *server = rh_server_by_name(d.server, error);
    if (!server)
        return NULL;
    RhServing serving = {d.pools[0].dp > 1 ? s->mixture : s->model, &rh_recipe_bf16, platform,
                         server, NULL};
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                           .count = (int32_t)g_ascii_strtoll(words[3], NULL, 10),
                           .seed = 1};
    plan.input.high = (int32_t)g_ascii_strtoll(words[1], NULL, 10);
    plan.output.high = (int32_t)g_ascii_strtoll(words[2], NULL, 10);
    plan.input.low = (plan.input.high + 1) / 2;
    plan.output.low = (plan.output.high + 1) / 2;
    RhClient client = {.timeline = true, .each_iteration = true};
    g_autoptr(RhService) service = rh_service_new(&serving, &d, error);
    g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
    g_autoptr(RhServiceResult) result =
        service ? rh_service_run(service, requests, &client, error) : NULL;
    return result ? rh_service_program(service, &serving, &d, result, error) : NULL;
}

static RhProgram *build_program(const RhSuiteRun *s, const RhSuiteCase *row,
                                const RhPlatform *platform, GError **error)
{
    g_auto(GStrv) words = g_strsplit(row->what, " ", -1);
    if (g_str_has_suffix(row->group, "collective"))
        return collective_program(platform, words, error);
    if (rh_message_pattern_by_name(words[0]))
        return pattern_program(platform, words, error);
    if (strcmp(row->group, "service") == 0)
        return service_program(s, platform, words, error);
    return layout_program(s, platform, row->what, error);
}

/* --- predictions --- */

RhPlatform *rh_suite_platform(const RhSuiteRun *s, const char *spec, const char *change,
                              GError **error)
{
    g_autoptr(RhPlatform) hardware = rh_platform_load(spec, error);
    if (!hardware || (s->profile && !rh_platform_apply_profile(hardware, s->profile, error)))
        return NULL;
    g_autofree char *all =
        g_strjoin(" ", s->suite->change ? s->suite->change : "", change ? change : "", NULL);
    g_auto(GStrv) changes = g_strsplit(g_strstrip(all), " ", -1);
    for (char **c = changes; *c; c++) {
        g_auto(GStrv) words = g_strsplit(*c, "=", 2);
        if (!rh_platform_set(hardware, words[0], words[1], error))
            return NULL;
    }
    return rh_stack_platform(s->stack, hardware);
}

static int by_time(const void *a, const void *b)
{
    const RhRun *x = *(RhRun *const *)a, *y = *(RhRun *const *)b;
    return x->step_time_s < y->step_time_s ? -1 : x->step_time_s > y->step_time_s;
}

/* Median of some seeds of the noise; NULL on failure. */
static RhRun *median_rehearsal(const RhProgram *p, const RhPlatform *platform, GError **error)
{
    g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_run_free);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        RhEngineOptions options = {.timeline = true, .seed = seed};
        RhRun *run = rh_rehearse_isolated(p, platform, &options, error);
        if (!run)
            return NULL;
        g_ptr_array_add(runs, run);
    }
    g_ptr_array_sort(runs, by_time);
    return g_ptr_array_steal_index(runs, SEEDS / 2);
}

bool rh_suite_dies(const RhSuiteItem *item)
{
    return item->row->change && strstr(item->row->change, "dies@");
}

static bool predict(const RhSuiteRun *s, RhSuiteItem *item, const RhPlatform *platform,
                    GError **error)
{
    RhValidationCase *c = rh_suite_case(s, item);
    if (rh_suite_dies(item)) {
        g_autoptr(GError) end = NULL;
        item->run = median_rehearsal(item->program, platform, &end);
        item->stuck = end ? g_strdup(end->message) : NULL;
        return true;
    }
    RhEngineOptions plain = {0};
    g_autoptr(RhPlatform) fluid = rh_platform_copy(platform);
    fluid->messages.sender = RH_SHARING_NONE;
    item->run = median_rehearsal(item->program, platform, error);
    g_autoptr(RhRun) control =
        item->run ? rh_rehearse_isolated(item->program, fluid, &plain, error) : NULL;
    if (!control ||
        !rh_critical_path_s(item->program, fluid, &c->control[RH_CONTROL_ALPHA_BETA], error))
        return false;
    c->predicted = item->run->step_time_s;
    c->control[RH_CONTROL_FLUID] = control->step_time_s;
    return true;
}

char *rh_suite_path(const RhSuiteRun *s, const RhSuiteItem *item, const char *ending)
{
    g_autofree char *file = g_strconcat(item->name, ending, NULL);
    return g_build_filename(s->folder, file, NULL);
}

static bool write_program(const RhSuiteRun *s, const RhSuiteItem *item, GError **error)
{
    g_autofree char *path = rh_suite_path(s, item, ".program.json");
    g_autofree char *text = rh_program_to_json(item->program);
    return rh_file_write(path, text, strlen(text), error);
}

bool rh_suite_add(RhSuiteRun *s, const RhSuiteCase *row, guint network, GError **error)
{
    const RhPlatform *platform = rh_suite_network(s, network)->platform;
    RhSuiteItem item = {.row = row, .index = s->v->cases->len, .network = network};
    RhValidationCase c = {.group = row->group,
                          .source = row->platform,
                          .metric = "step_time",
                          .start_error_frac = -1};
    c.id = g_strdup_printf("%s on %s%s%s", row->what, row->platform, row->change ? ", " : "",
                           row->change ? row->change : "");
    g_array_append_val(s->v->cases, c);
    item.name = g_strdup_printf("%03u", item.index);
    item.program = build_program(s, row, platform, error);
    g_array_append_val(s->items, item);
    RhSuiteItem *kept = rh_suite_item(s, s->items->len - 1);
    if (kept->program && rh_program_check(kept->program, error) &&
        predict(s, kept, platform, error) && write_program(s, kept, error))
        return true;
    g_prefix_error(error, "%s on %s: ", row->what, row->platform);
    return false;
}

/* Predicts a network's programs with SMPI. */
bool rh_suite_ask_smpi(RhSuiteRun *s, guint network, GError **error)
{
    const RhSuiteNetwork *n = rh_suite_network(s, network);
    const RhPlatform *platform = n->platform;
    if (n->change && strstr(n->change, "dies@"))
        return true;
    g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(argv, g_strdup(s->options->smpi));
    g_ptr_array_add(argv, g_strdup_printf("--platform=%s", platform->name));
    g_ptr_array_add(argv, g_strdup_printf("--output=%s", s->folder));
    g_ptr_array_add(argv, g_strdup("--runs=1"));
    for (guint i = 0; i < s->items->len; i++)
        if (rh_suite_item(s, i)->network == network)
            g_ptr_array_add(argv, rh_suite_path(s, rh_suite_item(s, i), ".program.json"));
    g_ptr_array_add(argv, NULL);
    if (!rh_smpi_run(platform, s->folder, (const char *const *)argv->pdata, error))
        return false;
    for (guint i = 0; i < s->items->len; i++) {
        const RhSuiteItem *item = rh_suite_item(s, i);
        g_autofree char *json = rh_suite_path(s, item, ".json");
        RhPerformedResult result;
        if (item->network != network)
            continue;
        if (!rh_performed_load(json, &result, error))
            return false;
        rh_suite_case(s, item)->control[RH_CONTROL_SMPI] = result.step_time_s;
        rh_performed_result_clear(&result);
        g_unlink(json); /* the real run writes there */
    }
    return true;
}

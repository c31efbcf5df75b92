#include "cli/inputs/result_file.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/text/nearest_names.h"
#include "report/report.h"
#include "strategies/knobs.h"

/* "15-16-15", caller frees. */
static char *stage_layers_text(RhJson *doc, const RhJsonNode *list)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (const RhJsonNode *n = rh_json_first(list); n; n = rh_json_next(n))
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, text->len ? "-" : "",
                               rh_json_node_int(doc, n, 0, G_MAXINT16));
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* A knob of the layout as text, caller frees; NULL: none is there. */
static char *knob_text(RhJson *doc, const RhJsonNode *node, const RhKnob *knob)
{
    const char *key = rh_knob_json_key(knob);
    if (!rh_json_has(node, key))
        return NULL;
    if (knob->list) {
        const RhJsonNode *list = rh_json_array(doc, node, key);
        return list ? stage_layers_text(doc, list) : NULL;
    }
    if (rh_knob_is_switch(knob))
        return g_strdup(knob->names[rh_json_bool_or(doc, node, key, false)]);
    if (knob->names)
        return g_strdup(rh_json_string(doc, node, key));
    return g_strdup_printf("%" G_GINT64_FORMAT, rh_json_int(doc, node, key, knob->low, knob->high));
}

/* A key that is no knob's is a mistake: its knob would take the default unnoticed. */
static void check_keys(RhJson *doc, const RhJsonNode *layout)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        g_ptr_array_add(keys, (void *)rh_knob_json_key(knob));
    g_ptr_array_add(keys, NULL);
    for (const RhJsonNode *n = rh_json_first(layout); n; n = rh_json_next(n)) {
        const char *key = rh_json_key(n);
        if (g_strv_contains((const char *const *)keys->pdata, key))
            continue;
        const char *near = rh_near_name(key, (const char *const *)keys->pdata);
        g_autofree char *help =
            near ? g_strdup_printf("a key with a similar name exists: \"%s\"", near) : NULL;
        rh_json_problem_at_key(doc, n, help, "unknown key \"%s\" in layout", key);
    }
}

/* Appends "key=value" where the layout has the knob and its value is one. */
static void append_knob(RhJson *doc, const RhJsonNode *node, const RhKnob *knob, GString *text)
{
    g_autofree char *value = knob_text(doc, node, knob);
    g_autoptr(GError) local = NULL;
    RhLayout scratch = rh_layout_default();
    size_t at;
    if (!value)
        return;
    if (rh_knob_read(knob, value, &scratch, &at, &local))
        g_string_append_printf(text, "%s%s=%s", text->len ? "," : "", knob->key, value);
    else
        rh_json_problem(doc, rh_json_member(node, rh_knob_json_key(knob)), NULL, "%s",
                        local->message);
}

/* Keys left out take their defaults, as on the command line. */
static void read_layout(RhJson *doc, const RhJsonNode *node, RhLayout *layout)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GError) local = NULL;
    check_keys(doc, node);
    for (const RhKnob *knob = rh_knobs; knob->key; knob++)
        append_knob(doc, node, knob, text);
    *layout = rh_layout_default();
    if (text->len > 0 && !rh_layout_parse(text->str, layout, &local))
        rh_json_problem(doc, node, NULL, "%s", local->message);
}

/* Into `parent`, or a new tree when it is NULL, which is returned. */
static RhCost *read_cost(RhJson *doc, const RhJsonNode *node, RhCost *parent)
{
    const char *name = rh_json_string(doc, node, "name");
    const char *source = rh_json_string(doc, node, "source");
    double value_s = rh_json_number(doc, node, "value_s", -1e12, 1e12);
    RhCost *term =
        parent ? rh_cost_add(parent, name, value_s, source) : rh_cost_new(name, value_s, source);
    const RhJsonNode *children = rh_json_array(doc, node, "children");
    for (const RhJsonNode *n = children ? rh_json_first(children) : NULL; n; n = rh_json_next(n))
        read_cost(doc, n, term);
    return term;
}

/* Reads the energy of the GPUs by state; null where power is unknown. */
static void read_energy(RhJson *doc, const RhJsonNode *node, RhEnergy *e)
{
    const RhJsonNode *parts = rh_json_object_or_null(doc, node, "energy");
    for (int state = 0; parts && state < RH_POWER_LAST; state++) {
        g_autofree char *key =
            g_strdup_printf("gpu_%s_j", rh_power_state_name((RhPowerState)state));
        /* A hair below 0 stands in files of before. */
        e->device_j[state] = fmax(rh_json_number_or(doc, parts, key, -1, 1e18, 0), 0);
    }
}

static void read_objective(RhJson *doc, const RhJsonNode *root, RhResult *r)
{
    const char *name = rh_json_string_or(doc, root, "objective", "time");
    if (!rh_objective_by_name(name, &r->objective))
        rh_json_problem(doc, rh_json_member(root, "objective"), "time, cost, memory or energy",
                        "no objective is called \"%s\"", name);
}

static void read_plan(RhJson *doc, const RhJsonNode *node, RhResult *r)
{
    RhResultPlan plan = {.rank = rh_json_int_or(doc, node, "rank", 1, 1 << 20, 1)};
    const RhJsonNode *layout = rh_json_object(doc, node, "layout");
    const RhJsonNode *costs = rh_json_object_or_null(doc, node, "costs");
    if (layout)
        read_layout(doc, layout, &plan.r.layout);
    if (costs)
        plan.r.costs = read_cost(doc, costs, NULL);
    plan.r.step_time_s = rh_json_number(doc, node, "step_time_s", 0, 1e12);
    plan.r.pictures = rh_json_has(node, rh_report_rate_key(true));
    plan.r.tokens_per_s_per_gpu =
        rh_json_number(doc, node, rh_report_rate_key(plan.r.pictures), 0, 1e12);
    plan.r.energy.total_j = rh_json_number_or(doc, node, "energy_j", 0, 1e18, 0);
    read_energy(doc, node, &plan.r.energy);
    plan.r.cost_usd = rh_json_number_or(doc, node, "cost_usd", 0, 1e18, 0);
    plan.r.mfu_frac = rh_json_number(doc, node, "mfu_frac", 0, 100);
    plan.r.mfu_dtype = rh_dtype_by_name(rh_json_string_or(doc, node, "mfu_peak", "bf16"));
    plan.r.mfu_bf16_frac = rh_json_number_or(doc, node, "mfu_bf16_frac", 0, 100, 0);
    plan.r.memory.peak_bytes = rh_json_number(doc, node, "memory_peak_bytes", 0, 1e18);
    plan.r.memory_capacity_bytes = rh_json_number(doc, node, "memory_capacity_bytes", 0, 1e18);
    g_array_append_val(r->plans, plan);
}

static void clear_plan(gpointer data)
{
    RhResultPlan *plan = data;
    g_clear_pointer(&plan->r.costs, rh_cost_free);
}

static GStrv read_words(RhJson *doc, const RhJsonNode *object, const char *key)
{
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    const RhJsonNode *list = rh_json_array(doc, object, key);
    for (const RhJsonNode *n = list ? rh_json_first(list) : NULL; n; n = rh_json_next(n))
        g_strv_builder_add(words, rh_json_node_string(doc, n));
    return g_strv_builder_end(words);
}

static void read_inputs(RhJson *doc, const RhJsonNode *in, RhResult *r)
{
    const RhJsonNode *workload = rh_json_object(doc, in, "workload");
    const RhJsonNode *platform = rh_json_object(doc, in, "platform");
    if (!workload || !platform)
        return;
    r->workload = g_strdup(rh_json_string(doc, workload, "spec"));
    r->workload_hash = g_strdup(rh_json_string(doc, workload, "sha256"));
    r->platform = g_strdup(rh_json_string(doc, platform, "spec"));
    r->platform_hash = g_strdup(rh_json_string(doc, platform, "sha256"));
    r->stack = g_strdup(rh_json_string(doc, in, "stack"));
    r->dtype = g_strdup(rh_json_string(doc, in, "dtype"));
    r->global_batch = rh_json_int(doc, in, "global_batch", 1, 1 << 28);
    r->sequence = rh_json_int(doc, in, "sequence_tokens", 1, 1 << 28);
    r->gpus = rh_json_int(doc, in, "gpus_count", 1, 1 << 22);
    r->seed = rh_json_int(doc, in, "seed", 0, G_MAXINT32);
    r->sets = read_words(doc, in, "sets");
}

static void read_result(RhJson *doc, const RhJsonNode *root, RhResult *r)
{
    const RhJsonNode *inputs = rh_json_object(doc, root, "inputs");
    if (inputs)
        read_inputs(doc, inputs, r);
    r->argv = read_words(doc, root, "argv");
    if (!r->is_plan) {
        read_plan(doc, root, r);
        return;
    }
    read_objective(doc, root, r);
    const RhJsonNode *plans = rh_json_array(doc, root, "plans");
    for (const RhJsonNode *n = plans ? rh_json_first(plans) : NULL; n; n = rh_json_next(n))
        read_plan(doc, n, r);
}

bool rh_result_check_version(const char *path, const char *schema, GError **error)
{
    const char *version = strrchr(schema, '/');
    if (!g_str_has_prefix(schema, "rehearse.") || !version || g_str_equal(version, "/1"))
        return true;
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s: \"schema\" \"%s\" is that of another version of rehearse\n"
                   "note: this one reads \"%.*s/1\"\n"
                   "help: ask the question again",
                   path, schema, (int)(version - schema), schema);
}

RhResult *rh_result_load(const char *path, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    if (!doc)
        return NULL;
    g_autoptr(RhResult) r = g_new0(RhResult, 1);
    const RhJsonNode *root = rh_json_root(doc);
    r->path = g_strdup(path);
    r->plans = g_array_new(FALSE, FALSE, sizeof(RhResultPlan));
    g_array_set_clear_func(r->plans, clear_plan);
    const char *schema = rh_json_string_or(doc, root, "schema", "");
    if (!rh_result_check_version(path, schema, error))
        return NULL;
    r->is_plan = strcmp(schema, "rehearse.plan/1") == 0;
    if (!r->is_plan && strcmp(schema, "rehearse.simulate/1") != 0) {
        rh_fail(
            error, RH_ERROR_INPUT,
            "%s is not a result of `rehearse plan` or `rehearse simulate`\nnote: its \"schema\" is "
            "\"%s\"",
            path, schema);
        return NULL;
    }
    read_result(doc, root, r);
    rh_json_consume_all(doc, root);
    return rh_json_finish(doc, error) ? g_steal_pointer(&r) : NULL;
}

void rh_result_free(RhResult *r)
{
    if (!r)
        return;
    g_free(r->path);
    g_free(r->workload);
    g_free(r->platform);
    g_free(r->stack);
    g_free(r->dtype);
    g_free(r->workload_hash);
    g_free(r->platform_hash);
    g_strfreev(r->sets);
    g_strfreev(r->argv);
    g_array_unref(r->plans);
    g_free(r);
}

bool rh_result_is_named(const char *strategy)
{
    return strchr(strategy, '#') || g_str_has_suffix(strategy, ".json");
}

bool rh_result_split(const char *spec, char **path, int64_t *rank, GError **error)
{
    const char *hash = g_file_test(spec, G_FILE_TEST_IS_REGULAR) ? NULL : strrchr(spec, '#');
    int64_t number = 1;
    g_autoptr(GError) local = NULL;
    if (hash && !rh_integer_parse(hash + 1, 1, 1 << 20, &number, &local))
        return rh_fail(error, RH_ERROR_USAGE, "\"%s\": the rank after '#': %s", spec,
                       local->message);
    *path = hash ? g_strndup(spec, (gsize)(hash - spec)) : g_strdup(spec);
    *rank = number;
    return true;
}

const RhResultPlan *rh_result_plan(const RhResult *r, int64_t rank, GError **error)
{
    for (guint i = 0; i < r->plans->len; i++)
        if (g_array_index(r->plans, RhResultPlan, i).rank == rank)
            return &g_array_index(r->plans, RhResultPlan, i);
    rh_fail(error, RH_ERROR_USAGE, "%s holds no plan #%" G_GINT64_FORMAT "\nnote: it holds %u",
            r->path, rank, r->plans->len);
    return NULL;
}

bool rh_result_layout(const char *spec, RhLayout *out, GError **error)
{
    g_autofree char *path = NULL;
    int64_t rank = 1;
    if (!rh_result_split(spec, &path, &rank, error))
        return false;
    g_autoptr(RhResult) r = rh_result_load(path, error);
    const RhResultPlan *plan = r ? rh_result_plan(r, rank, error) : NULL;
    if (!plan)
        return false;
    *out = plan->r.layout;
    return true;
}

/* The layout of that rank in the document; NULL: none. */
static const RhJsonNode *layout_node(const RhJsonNode *root, int64_t rank)
{
    const RhJsonNode *plans = rh_json_member(root, "plans"), *plan = root;
    if (plans) {
        plan = rh_json_first(plans);
        for (int64_t i = 1; plan && i < rank; i++)
            plan = rh_json_next(plan);
    }
    return plan ? rh_json_member(plan, "layout") : NULL;
}

bool rh_result_refuse(const char *spec, GError *why, GError **error)
{
    g_autofree char *path = NULL;
    int64_t rank = 1;
    g_autoptr(RhJson) doc =
        rh_result_split(spec, &path, &rank, NULL) ? rh_json_load(path, NULL) : NULL;
    const RhJsonNode *layout = doc ? layout_node(rh_json_root(doc), rank) : NULL;
    if (!layout) {
        g_propagate_error(error, why);
        return false;
    }
    const RhKnob *knob = rh_layout_refused_knob(why);
    const RhJsonNode *member = knob ? rh_json_member(layout, rh_knob_json_key(knob)) : NULL;
    rh_json_problem(doc, member ? member : layout, NULL, "%s", why->message);
    g_error_free(why);
    rh_json_consume_all(doc, rh_json_root(doc));
    return rh_json_finish(doc, error);
}

char *rh_result_input_file(const RhResult *r, const char *spec)
{
    bool is_path = strchr(spec, '/') || g_str_has_suffix(spec, ".json");
    if (!is_path || g_file_test(spec, G_FILE_TEST_EXISTS))
        return g_strdup(spec);
    g_autofree char *folder = g_path_get_dirname(r->path);
    g_autofree char *beside = g_build_filename(folder, spec, NULL);
    return g_strdup(g_file_test(beside, G_FILE_TEST_EXISTS) ? beside : spec);
}

static void add_option(GStrvBuilder *words, const char *name, const char *value)
{
    g_strv_builder_add(words, name);
    g_strv_builder_add(words, value);
}

static void add_number(GStrvBuilder *words, const char *name, int64_t value)
{
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
    add_option(words, name, text);
}

char **rh_result_options(const char *spec, GError **error)
{
    g_autofree char *path = NULL;
    int64_t rank = 1;
    if (!rh_result_split(spec, &path, &rank, error))
        return NULL;
    g_autoptr(RhResult) r = rh_result_load(path, error);
    if (!r || !rh_result_plan(r, rank, error))
        return NULL;
    g_autofree char *workload = rh_result_input_file(r, r->workload);
    g_autofree char *platform = rh_result_input_file(r, r->platform);
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    add_option(words, "--workload", workload);
    add_option(words, "--platform", platform);
    add_option(words, "--stack", r->stack);
    add_option(words, "--dtype", r->dtype);
    add_number(words, "--gpus", r->gpus);
    add_number(words, "--global-batch", r->global_batch);
    add_number(words, "--seq", r->sequence);
    for (char **set = r->sets; *set; set++)
        add_option(words, "--set", *set);
    add_option(words, "--strategy", spec);
    return g_strv_builder_end(words);
}

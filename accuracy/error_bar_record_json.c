/* A record as JSON. */

#include "accuracy/error_bar_record.h"
#include "base/catalogue_folders.h"
#include "base/json/json.h"

#define RUNS_MOST (1 << 30)

/* --- reading --- */

static RhErrorBar read_bar(RhJson *doc, const RhJsonNode *node)
{
    return (RhErrorBar){
        .stack = rh_json_string_or(doc, node, "stack", NULL),
        .generation = rh_json_string_or(doc, node, "generation", NULL),
        .kind = rh_json_string_or(doc, node, "kind", NULL),
        .gpus_least = (int32_t)rh_json_int_or(doc, node, "gpus_least", 1, RUNS_MOST, 0),
        .gpus_most = (int32_t)rh_json_int_or(doc, node, "gpus_most", 1, RUNS_MOST, 0),
        .params_least = rh_json_number(doc, node, "params_least", 0, 1e18),
        .params_most = rh_json_number(doc, node, "params_most", 0, 1e18),
        .tokens_most = rh_json_int_or(doc, node, "tokens_most", 0, RUNS_MOST, 0),
        .error_frac = rh_json_number(doc, node, "error_frac", 0, 1e3),
        .steps = (int32_t)rh_json_int(doc, node, "steps", 1, RUNS_MOST),
        .groups = (int32_t)rh_json_int(doc, node, "groups", 1, RUNS_MOST),
        .within_frac = rh_json_number_or(doc, node, "within_frac", 0, 1e3, 0)};
}

static void read_odds(RhJson *doc, const RhJsonNode *node, GPtrArray *list)
{
    RhOdds odds = {.stack = rh_json_string_or(doc, node, "stack", NULL),
                   .kernels = rh_json_string_or(doc, node, "kernels", NULL),
                   .middle_frac = rh_json_number(doc, node, "middle_frac", 0, 10),
                   .spread_frac = rh_json_number(doc, node, "spread_frac", 1e-6, 10),
                   .above_frac = rh_json_number(doc, node, "above_frac", 1e-6, 10),
                   .ran = (int32_t)rh_json_int(doc, node, "ran", 0, RUNS_MOST),
                   .failed = (int32_t)rh_json_int(doc, node, "failed", 0, RUNS_MOST),
                   .peaks = (int32_t)rh_json_int(doc, node, "peaks", 0, RUNS_MOST)};
    g_ptr_array_add(list, g_memdup2(&odds, sizeof odds));
}

static void read_usual(RhJson *doc, const RhJsonNode *node, GArray *list)
{
    RhTypicalMfu usual = {.device = rh_json_string(doc, node, "device"),
                          .kind = rh_json_string(doc, node, "kind"),
                          .dtype = rh_json_string(doc, node, "dtype"),
                          .params_least = rh_json_number(doc, node, "params_least", 0, 1e18),
                          .params_most = rh_json_number(doc, node, "params_most", 0, 1e18),
                          .low_frac = rh_json_number(doc, node, "low_frac", 0, 1),
                          .high_frac = rh_json_number(doc, node, "high_frac", 0, 1),
                          .steps = (int32_t)rh_json_int(doc, node, "steps", 1, RUNS_MOST),
                          .groups = (int32_t)rh_json_int(doc, node, "groups", 1, RUNS_MOST)};
    g_array_append_val(list, usual);
}

static void read_served_bar(RhJson *doc, const RhJsonNode *node, GArray *bars)
{
    RhServedBar bar = {.kind = rh_json_string_or(doc, node, "kind", NULL),
                       .known = rh_json_bool_or(doc, node, "known", false),
                       .any_tables = rh_json_bool_or(doc, node, "any_tables", false),
                       .experts_untabled = rh_json_bool_or(doc, node, "experts_untabled", false),
                       .apart = rh_json_bool_or(doc, node, "apart", false),
                       .starved = rh_json_bool_or(doc, node, "starved", false),
                       .ttft_frac = rh_json_number_or(doc, node, "ttft_error_frac", 0, 1e6, 0),
                       .tpot_frac = rh_json_number_or(doc, node, "tpot_error_frac", 0, 1e6, 0),
                       .throughput_frac =
                           rh_json_number_or(doc, node, "throughput_error_frac", 0, 1e6, 0),
                       .rows = (int32_t)rh_json_int(doc, node, "rows", 1, RUNS_MOST),
                       .groups = (int32_t)rh_json_int(doc, node, "groups", 1, RUNS_MOST),
                       .models = (int32_t)rh_json_int(doc, node, "models", 1, RUNS_MOST)};
    g_array_append_val(bars, bar);
}

/* Reads the part of services, which records of training alone do not have. */
static void read_serving(RhJson *doc, const RhJsonNode *node, RhServingRecord *serving)
{
    if (!node)
        return;
    const RhJsonNode *bars = rh_json_array(doc, node, "bars"),
                     *schedulers = rh_json_array(doc, node, "schedulers");
    g_free(serving->made_on);
    serving->made_on = g_strdup(rh_json_string(doc, node, "made_on"));
    g_free(serving->file);
    serving->file = g_strdup(rh_json_string(doc, node, "file"));
    serving->rows = (int32_t)rh_json_int(doc, node, "rows", 0, RUNS_MOST);
    for (const RhJsonNode *n = schedulers ? rh_json_first(schedulers) : NULL; n;
         n = rh_json_next(n))
        g_ptr_array_add(serving->schedulers, (void *)rh_json_node_string(doc, n));
    for (const RhJsonNode *n = bars ? rh_json_first(bars) : NULL; n; n = rh_json_next(n))
        read_served_bar(doc, n, serving->bars);
}

static RhRecord *read_record(RhJson *doc, GError **error)
{
    g_autoptr(RhRecord) record = rh_record_new();
    const RhJsonNode *root = rh_json_root(doc), *bars = rh_json_array(doc, root, "bars"),
                     *odds = rh_json_array(doc, root, "odds"),
                     *usual = rh_json_array(doc, root, "usual_mfu");
    const char *schema = rh_json_string(doc, root, "schema");
    if (g_strcmp0(schema, RH_RECORD_SCHEMA) != 0)
        rh_json_problem(doc, root, NULL, "\"schema\" is not \"" RH_RECORD_SCHEMA "\"");
    rh_json_consume(doc, root, "made_by");
    g_free(record->made_on);
    record->made_on = g_strdup(rh_json_string(doc, root, "made_on"));
    record->steps = (int32_t)rh_json_int(doc, root, "steps", 0, RUNS_MOST);
    record->failed = (int32_t)rh_json_int(doc, root, "failed", 0, RUNS_MOST);
    record->within = (int32_t)rh_json_int(doc, root, "within", 0, RUNS_MOST);
    record->barred = (int32_t)rh_json_int(doc, root, "barred", 0, RUNS_MOST);
    record->bare = (int32_t)rh_json_int(doc, root, "bare", 0, RUNS_MOST);
    for (const RhJsonNode *n = bars ? rh_json_first(bars) : NULL; n; n = rh_json_next(n)) {
        RhErrorBar bar = read_bar(doc, n);
        g_array_append_val(record->bars, bar);
    }
    const RhJsonNode *longs = rh_json_object_or_null(doc, root, "long_samples");
    if (longs)
        record->longs = read_bar(doc, longs);
    for (const RhJsonNode *n = odds ? rh_json_first(odds) : NULL; n; n = rh_json_next(n))
        read_odds(doc, n, record->odds);
    for (const RhJsonNode *n = usual ? rh_json_first(usual) : NULL; n; n = rh_json_next(n))
        read_usual(doc, n, record->usual);
    read_serving(doc, rh_json_object_or_null(doc, root, "serving"), &record->serving);
    return rh_json_finish(doc, error) ? g_steal_pointer(&record) : NULL;
}

RhRecord *rh_record_load(const char *path, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    return doc ? read_record(doc, error) : NULL;
}

/* --- writing --- */

static void put_name(RhJsonWriter *w, const char *key, const char *name)
{
    if (name)
        rh_json_put_string(w, key, name);
}

static void put_bar(RhJsonWriter *w, const char *key, const RhErrorBar *bar)
{
    rh_json_begin_object(w, key);
    put_name(w, "stack", bar->stack);
    put_name(w, "generation", bar->generation);
    put_name(w, "kind", bar->kind);
    if (bar->gpus_most > 0) {
        rh_json_put_int(w, "gpus_least", bar->gpus_least);
        rh_json_put_int(w, "gpus_most", bar->gpus_most);
    }
    rh_json_put_number(w, "params_least", bar->params_least);
    rh_json_put_number(w, "params_most", bar->params_most);
    rh_json_put_int(w, "tokens_most", bar->tokens_most);
    rh_json_put_number(w, "error_frac", bar->error_frac);
    rh_json_put_int(w, "steps", bar->steps);
    rh_json_put_int(w, "groups", bar->groups);
    if (bar->within_frac > 0)
        rh_json_put_number(w, "within_frac", bar->within_frac);
    rh_json_end_object(w);
}

static void put_odds(RhJsonWriter *w, const RhOdds *odds)
{
    rh_json_begin_object(w, NULL);
    put_name(w, "stack", odds->stack);
    put_name(w, "kernels", odds->kernels);
    rh_json_put_number(w, "middle_frac", odds->middle_frac);
    rh_json_put_number(w, "spread_frac", odds->spread_frac);
    rh_json_put_number(w, "above_frac", odds->above_frac);
    rh_json_put_int(w, "ran", odds->ran);
    rh_json_put_int(w, "failed", odds->failed);
    rh_json_put_int(w, "peaks", odds->peaks);
    rh_json_end_object(w);
}

static void put_usual(RhJsonWriter *w, const RhTypicalMfu *usual)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "device", usual->device);
    rh_json_put_string(w, "kind", usual->kind);
    rh_json_put_string(w, "dtype", usual->dtype);
    rh_json_put_number(w, "params_least", usual->params_least);
    rh_json_put_number(w, "params_most", usual->params_most);
    rh_json_put_number(w, "low_frac", usual->low_frac);
    rh_json_put_number(w, "high_frac", usual->high_frac);
    rh_json_put_int(w, "steps", usual->steps);
    rh_json_put_int(w, "groups", usual->groups);
    rh_json_end_object(w);
}

static void put_true(RhJsonWriter *w, const char *key, bool value)
{
    if (value)
        rh_json_put_bool(w, key, true);
}

static void put_error(RhJsonWriter *w, const char *key, double frac)
{
    if (frac > 0)
        rh_json_put_number(w, key, frac);
}

static void put_served_bar(RhJsonWriter *w, const RhServedBar *bar)
{
    rh_json_begin_object(w, NULL);
    put_name(w, "kind", bar->kind);
    put_true(w, "known", bar->known);
    put_true(w, "any_tables", bar->any_tables);
    put_true(w, "experts_untabled", bar->experts_untabled);
    put_true(w, "apart", bar->apart);
    put_true(w, "starved", bar->starved);
    put_error(w, "ttft_error_frac", bar->ttft_frac);
    put_error(w, "tpot_error_frac", bar->tpot_frac);
    put_error(w, "throughput_error_frac", bar->throughput_frac);
    rh_json_put_int(w, "rows", bar->rows);
    rh_json_put_int(w, "groups", bar->groups);
    rh_json_put_int(w, "models", bar->models);
    rh_json_end_object(w);
}

static void put_serving(RhJsonWriter *w, const RhServingRecord *serving)
{
    if (serving->rows == 0)
        return;
    rh_json_begin_object(w, "serving");
    rh_json_put_string(w, "made_on", serving->made_on);
    rh_json_put_string(w, "file", serving->file);
    rh_json_put_int(w, "rows", serving->rows);
    rh_json_begin_array(w, "schedulers");
    for (guint i = 0; i < serving->schedulers->len; i++)
        rh_json_put_string(w, NULL, serving->schedulers->pdata[i]);
    rh_json_end_array(w);
    rh_json_begin_array(w, "bars");
    for (guint i = 0; i < serving->bars->len; i++)
        put_served_bar(w, &g_array_index(serving->bars, RhServedBar, i));
    rh_json_end_array(w);
    rh_json_end_object(w);
}

char *rh_record_json(const RhRecord *record, const char *made_by)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", RH_RECORD_SCHEMA);
    rh_json_put_string(w, "made_by", made_by);
    rh_json_put_string(w, "made_on", record->made_on);
    rh_json_put_int(w, "steps", record->steps);
    rh_json_put_int(w, "failed", record->failed);
    rh_json_put_int(w, "within", record->within);
    rh_json_put_int(w, "barred", record->barred);
    rh_json_put_int(w, "bare", record->bare);
    rh_json_begin_array(w, "bars");
    for (guint i = 0; i < record->bars->len; i++)
        put_bar(w, NULL, &g_array_index(record->bars, RhErrorBar, i));
    rh_json_end_array(w);
    if (record->longs.error_frac > 0)
        put_bar(w, "long_samples", &record->longs);
    rh_json_begin_array(w, "odds");
    for (guint i = 0; i < record->odds->len; i++)
        put_odds(w, g_ptr_array_index(record->odds, i));
    rh_json_end_array(w);
    rh_json_begin_array(w, "usual_mfu");
    for (guint i = 0; i < record->usual->len; i++)
        put_usual(w, &g_array_index(record->usual, RhTypicalMfu, i));
    rh_json_end_array(w);
    put_serving(w, &record->serving);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

const RhRecord *rh_record_shipped(void)
{
    static RhRecord *shipped;
    if (!shipped) {
        g_autofree char *path =
            g_build_filename(rh_data_dir(), "validate", "data", "record.json", NULL);
        shipped = rh_record_load(path, NULL);
        shipped = shipped ? shipped : rh_record_new();
    }
    return shipped;
}

#include "validate/serving/kv_cache_sizes.h"

#include <string.h>

#include "base/interned_strings.h"
#include "base/units.h"
#include "strategies/serve/launch/serving_engine.h"
#include "validate/serving/served_translate.h"

/* Table of a row: the server's own words ("vllm 0.19.0"), up to the first semicolon of the note. */
static const char *table_of(const RhCaseRow *row)
{
    g_auto(GStrv) words = g_strsplit(row->text[RH_CASE_NOTE], ";", 2);
    return rh_intern(words[0] ? words[0] : "");
}

static RhEvaluatedRun judged_row(const RhCaseRow *row, const RhServedCase *c)
{
    bool tokens = row->cache_tokens > 0;
    return (RhEvaluatedRun){.id = g_strdup_printf("%s:%d", row->file, row->line),
                            .line = row->line,
                            .metric = tokens ? "cache_tokens" : "cache_bytes",
                            .source = rh_intern(row->text[RH_CASE_SOURCE]),
                            .table = table_of(row),
                            .model = rh_intern(row->text[RH_CASE_MODEL]),
                            .device = rh_intern(row->text[RH_CASE_GPU]),
                            .standing = c->standing,
                            .fitted = c->fitted != NULL,
                            .measured_s = tokens ? row->cache_tokens : row->cache_bytes};
}

/* Takes a limit that the note says by the engine's own word, as "max_num_seqs=256". */
static void take_word(const RhEngine *engine, const char *word, RhPool *pool)
{
    g_auto(GStrv) parts = g_strsplit(word, "=", 2);
    if (!parts[0] || !parts[1])
        return;
    g_autofree char *path = rh_engine_path(g_strstrip(parts[0]));
    const RhEngineOption *flag = rh_engine_flag(engine, path);
    int64_t value = 0;
    int32_t *into = !flag                             ? NULL
                    : g_str_equal(flag->key, "batch") ? &pool->batch
                    : g_str_equal(flag->key, "chunk") ? &pool->chunk
                                                      : NULL;
    if (into && *into == 0 && rh_integer_parse(parts[1], 1, G_MAXINT32, &value, NULL))
        *into = (int32_t)value;
}

/* Fills in the limits that no rule says: those of the note, else what the engine of the note
 * ("vllm 0.9.2; max_num_seqs=256") takes by itself on such a device. */
static void fill_limits(const RhCaseRow *row, RhServedCase *c)
{
    g_auto(GStrv) words = g_strsplit(row->text[RH_CASE_NOTE], ";", -1);
    g_auto(GStrv) server = g_strsplit(words[0] ? words[0] : "", " ", 3);
    const RhEngine *engine = server[0] ? rh_serving_engine(server[0], NULL) : NULL;
    RhPool *pool = &c->deployment.pools[0];
    if (!engine)
        return;
    for (int i = 1; words[i]; i++)
        take_word(engine, words[i], pool);
    const RhEngineLimits *limits = rh_engine_limits(engine, server[1], c->serving.platform->device);
    if (!limits)
        return;
    pool->chunk = pool->chunk > 0 ? pool->chunk : limits->chunk;
    int32_t batch = pool->chunk > 0 ? MIN(limits->batch, pool->chunk) : limits->batch;
    pool->batch = pool->batch > 0 ? pool->batch : batch;
    pool->memory = pool->memory > 0 ? pool->memory : limits->memory;
    g_autofree char *text = rh_deployment_format(&c->deployment);
    c->strategy = rh_intern(text);
}

static char *predict(const RhServedCase *c, RhEvaluatedRun *r)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhService) service = rh_service_new(&c->serving, &c->deployment, &error);
    if (!service) {
        g_auto(GStrv) lines = g_strsplit(error->message, "\n", 2);
        return g_strdup(lines[0]);
    }
    RhKvBudget room = rh_service_kv_budget(service, 0);
    bool tokens = strcmp(r->metric, "cache_tokens") == 0;
    r->family = c->serving.model->family;
    r->strategy = c->strategy;
    r->stack = c->serving.server->name;
    r->stands_in = g_strdup(c->stands_in);
    r->predicted_s = tokens ? (double)room.tokens : room.cache_bytes;
    r->capacity_bytes = room.capacity_bytes;
    r->peak_bytes = room.weight_bytes + room.activation_bytes + room.reserve_bytes +
                    room.state_bytes + room.cache_bytes;
    return NULL;
}

RhEvaluation *rh_kv_cache_sizes_judge(const RhCaseTable *table, const RhCasesOptions *options,
                                      GError **error)
{
    g_autoptr(RhServedTranslator) translator = rh_served_translator_new(error);
    if (!translator)
        return NULL;
    RhEvaluation *evaluation = rh_evaluation_new(table->name);
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        RhServedCase c;
        if (!rh_case_wanted(row, options->only))
            continue;
        char *why = rh_served_translate_idle(translator, row, &c);
        if (!why)
            fill_limits(row, &c);
        RhEvaluatedRun r = judged_row(row, &c);
        if (!why && r.measured_s <= 0)
            why = g_strdup("no size of a cache is given");
        r.skipped = why ? why : predict(&c, &r);
        g_array_append_val(evaluation->rows, r);
        rh_served_case_clear(&c);
    }
    return evaluation;
}

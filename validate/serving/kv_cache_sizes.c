#include "validate/serving/kv_cache_sizes.h"

#include <string.h>

#include "base/interned_strings.h"
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
        RhEvaluatedRun r = judged_row(row, &c);
        if (!why && r.measured_s <= 0)
            why = g_strdup("no size of a cache is given");
        r.skipped = why ? why : predict(&c, &r);
        g_array_append_val(evaluation->rows, r);
        rh_served_case_clear(&c);
    }
    return evaluation;
}

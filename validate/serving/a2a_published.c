#include "validate/serving/a2a_published.h"

#include <string.h>

#include "base/interned_strings.h"
#include "validate/serving/a2a_case.h"

/* Bytes counted in a rate: those of all copies of a token together, including those that stay:
 * copies to nodes where the NIC is counted, to ranks where NVLink is. */
static double counted_bytes(const RhExchangeCase *c)
{
    bool nodes = strncmp(c->way.row->text[RH_CASE_BANDWIDTH_KIND], "RDMA", 4) == 0;
    int32_t parts = nodes ? MAX(c->load.ranks / c->platform->gpus_per_node, 1) : c->load.ranks;
    return c->load.tokens * c->load.token_bytes * rh_a2a_copies(&c->load, parts);
}

static void predict(const RhExchangeCase *c, RhEvaluatedRun *r)
{
    double s =
        rh_a2a_backend_s(c->backend, c->combine ? &c->backend->combine : &c->backend->dispatch,
                         c->platform, &c->load);
    r->predicted_s = c->way.row->exchange_s > 0 ? s : counted_bytes(c) / s;
    r->stack = c->backend->name;
    r->family = "exchange";
    r->strategy = rh_intern(c->way.row->text[RH_CASE_MODE]);
}

static RhEvaluatedRun judged_row(const RhCaseRow *row, const RhExchangeCase *c)
{
    bool timed = row->exchange_s > 0;
    return (RhEvaluatedRun){.id = g_strdup_printf("%s:%d", row->file, row->line),
                            .line = row->line,
                            .metric = timed ? "exchange" : "exchange_rate",
                            .source = rh_intern(row->text[RH_CASE_SOURCE]),
                            .table = rh_intern(row->text[RH_CASE_LIBRARY]),
                            .model = rh_intern(row->text[RH_CASE_OP]),
                            .device = rh_intern(row->text[RH_CASE_GPU]),
                            .standing = rh_case_standing(&c->way),
                            .fitted = rh_case_says(&c->way, RH_CASE_SAYS_FITTED) != NULL,
                            .measured_s = timed ? row->exchange_s : row->exchange_bytes_per_s};
}

RhEvaluation *rh_exchanges_judge(const RhCaseTable *table, const RhCasesOptions *options,
                                 GError **error)
{
    g_autoptr(RhCaseFacts) facts = rh_case_facts_load(true, error);
    if (!facts)
        return NULL;
    g_autoptr(GHashTable) platforms = rh_exchange_platforms_new();
    RhEvaluation *evaluation = rh_evaluation_new(table->name);
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        if (!rh_case_wanted(row, options->only))
            continue;
        RhCaseValues said = rh_case_facts_say(facts, row);
        RhExchangeCase c = {.way = {row, &said, NULL}, .platforms = platforms};
        bool fine = rh_exchange_case_translate(&c);
        RhEvaluatedRun r = judged_row(row, &c);
        r.skipped = c.way.why;
        if (fine)
            predict(&c, &r);
        g_array_append_val(evaluation->rows, r);
        rh_case_said_clear(&said);
    }
    return evaluation;
}

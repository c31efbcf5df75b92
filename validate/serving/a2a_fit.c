#include "validate/serving/a2a_fit.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "validate/serving/a2a_case.h"

#define CLUSTERS_PER_PARAM 3

/* --- rows --- */

typedef struct {
    const RhA2aBackend *backend;
    const RhPlatform *platform;
    RhA2aLoad load;
    double seconds;
    uint32_t cluster;
    int32_t nodes;
    bool combine, held_out;
} Row;

static Row row_of(const RhExchangeCase *c, double holdout_frac)
{
    const RhA2aLoad *l = &c->load;
    int64_t shape[] = {l->ranks, (int64_t)l->tokens, (int64_t)l->token_bytes, l->routing.experts,
                       l->routing.chosen};
    int32_t each = c->platform->gpus_per_node;
    Row row = {.backend = c->backend,
               .platform = c->platform,
               .load = *l,
               .seconds = c->way.row->exchange_s,
               .cluster = rh_fit_cluster(shape, G_N_ELEMENTS(shape)),
               .nodes = (l->ranks + each - 1) / each,
               .combine = c->combine};
    row.held_out = rh_fit_is_held_out(row.cluster, holdout_frac);
    return row;
}

/* Adds rows; a rate alone gives no time. */
static void add_rows(GArray *rows, const RhCaseTable *table, const RhCaseFacts *facts,
                     GHashTable *platforms, const RhExchangesFitOptions *options, int32_t *skipped)
{
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        if (!rh_case_wanted(row, options->only))
            continue;
        RhCaseValues said = rh_case_facts_say(facts, row);
        RhExchangeCase c = {.way = {row, &said, NULL}, .platforms = platforms};
        if (rh_exchange_case_translate(&c) && row->exchange_s > 0) {
            Row found = row_of(&c, options->holdout_frac);
            g_array_append_val(rows, found);
        } else {
            ++*skipped;
        }
        g_free(c.way.why);
        rh_case_said_clear(&said);
    }
}

/* --- information in rows --- */

/* Summary of the rows in the fit of one direction. */
typedef struct {
    int32_t nodes_least, nodes_most, nodes_kinds; /* kinds: different numbers of several nodes */
    int32_t sms_kinds[2];                         /* in a node, and beyond */
    int32_t chosen_kinds;                         /* experts per token */
    guint clusters;
} Seen;

static int32_t kinds_count(const GHashTable *kinds)
{
    return (int32_t)g_hash_table_size((GHashTable *)kinds);
}

static Seen seen_of(const GArray *rows)
{
    g_autoptr(GHashTable) nodes = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) clusters = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) inside = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) beyond = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) chosen = g_hash_table_new(NULL, NULL);
    Seen seen = {.nodes_least = INT32_MAX};
    for (guint i = 0; i < rows->len; i++) {
        const Row *r = &g_array_index(rows, Row, i);
        seen.nodes_least = MIN(seen.nodes_least, r->nodes);
        seen.nodes_most = MAX(seen.nodes_most, r->nodes);
        if (r->nodes > 1)
            g_hash_table_add(nodes, GINT_TO_POINTER(r->nodes));
        if (r->load.sms_count > 0)
            g_hash_table_add(r->nodes > 1 ? beyond : inside, GINT_TO_POINTER(r->load.sms_count));
        g_hash_table_add(chosen, GINT_TO_POINTER(r->load.routing.chosen));
        g_hash_table_add(clusters, GUINT_TO_POINTER(r->cluster));
    }
    seen.nodes_kinds = kinds_count(nodes);
    seen.sms_kinds[0] = kinds_count(inside);
    seen.sms_kinds[1] = kinds_count(beyond);
    seen.chosen_kinds = kinds_count(chosen);
    seen.clusters = g_hash_table_size(clusters);
    return seen;
}

static bool told_always(const Seen *seen)
{
    return seen->clusters > 0;
}
static bool told_inter(const Seen *seen)
{
    return seen->nodes_least == 1 && seen->nodes_most > 1;
}
static bool told_node(const Seen *seen)
{
    return seen->nodes_kinds > 1;
}
static bool told_nic(const Seen *seen)
{
    return seen->nodes_most > 1;
}
static bool told_peer(const Seen *seen)
{
    return seen->nodes_least == 1;
}
static bool told_sm(const Seen *seen)
{
    return seen->sms_kinds[0] > 1;
}
static bool told_own(const Seen *seen)
{
    return told_sm(seen) && seen->chosen_kinds > 1;
}
static bool told_sm_inter(const Seen *seen)
{
    return seen->sms_kinds[1] > 1;
}

static const struct {
    const char *key; /* of the backend's file */
    RhQuantity kind;
    size_t offset; /* in RhA2aBackendPart */
    double low, high, begin;
    bool (*told)(const Seen *seen);
} kinds[] = {
    {"base", RH_QUANTITY_S, offsetof(RhA2aBackendPart, base_s), 1e-6, 1e-3, 3e-5, told_always},
    {"inter", RH_QUANTITY_S, offsetof(RhA2aBackendPart, inter_s), 1e-7, 1e-3, 1e-5, told_inter},
    {"node", RH_QUANTITY_S, offsetof(RhA2aBackendPart, node_s), 1e-7, 1e-3, 1e-5, told_node},
    {"nic", RH_QUANTITY_FRAC, offsetof(RhA2aBackendPart, nic_frac), 0.05, 1, 0.9, told_nic},
    {"peer", RH_QUANTITY_FRAC, offsetof(RhA2aBackendPart, peer_frac), 0.05, 1, 0.7, told_peer},
    {"sm", RH_QUANTITY_BYTES_PER_S, offsetof(RhA2aBackendPart, sm_bytes_per_s), 1e9, 1e11, 15e9,
     told_sm},
    {"sm_inter", RH_QUANTITY_BYTES_PER_S, offsetof(RhA2aBackendPart, sm_inter_bytes_per_s), 1e9,
     1e11, 15e9, told_sm_inter},
    {"own", RH_QUANTITY_COUNT, offsetof(RhA2aBackendPart, own_count), 0.05, 20, 1, told_own},
};

/* --- fit of one direction --- */

typedef struct {
    const GArray *rows; /* Row, all */
    GArray *fitted;     /* those of them that are fitted */
    RhA2aBackend backend;
    RhA2aBackendPart *part;
    RhFitParam params[G_N_ELEMENTS(kinds)];
    size_t params_count;
} Fit;

static double predicted_s(const Fit *f, const Row *r)
{
    return rh_a2a_backend_s(&f->backend, f->part, r->platform, &r->load);
}

static double residual(void *user, size_t sample)
{
    const Fit *f = user;
    const Row *r = &g_array_index(f->fitted, Row, sample);
    return log(predicted_s(f, r) / r->seconds);
}

static void refresh(void *user)
{
    (void)user; /* the model reads the facts themselves */
}

static char *describe(const Row *r)
{
    g_autofree char *sms =
        r->load.sms_count > 0 ? g_strdup_printf(", %d SMs", r->load.sms_count) : g_strdup("");
    return g_strdup_printf("%d ranks, %.0f tokens of %.0f bytes, %d of %d experts%s", r->load.ranks,
                           r->load.tokens, r->load.token_bytes, r->load.routing.chosen,
                           r->load.routing.experts, sms);
}

static RhFitFigures figures_of(const Fit *f, bool held_out)
{
    RhFitFigures out;
    g_autofree double *errors = g_new(double, f->rows->len + 1);
    const Row *worst = NULL;
    double worst_frac = -1;
    size_t count = 0;
    for (guint i = 0; i < f->rows->len; i++) {
        const Row *r = &g_array_index(f->rows, Row, i);
        if (r->held_out != held_out)
            continue;
        double off = predicted_s(f, r) / r->seconds - 1;
        errors[count++] = off;
        if (fabs(off) > worst_frac) {
            worst_frac = fabs(off);
            worst = r;
        }
    }
    rh_fit_figures_of(errors, count, &out);
    out.worst = worst ? describe(worst) : NULL;
    return out;
}

static void choose_params(Fit *f, RhExchangeFit *out)
{
    Seen seen = seen_of(f->fitted);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        RhFact *fact = (RhFact *)(void *)((char *)f->part + kinds[i].offset);
        if (!kinds[i].told(&seen))
            continue;
        g_array_append_val(out->before, fact->value);
        if (fact->value <= 0)
            fact->value = kinds[i].begin;
        f->params[f->params_count++] = (RhFitParam){.key = (char *)kinds[i].key,
                                                    .kind = kinds[i].kind,
                                                    .fact = fact,
                                                    .low = kinds[i].low,
                                                    .high = kinds[i].high};
    }
    if (seen.clusters < CLUSTERS_PER_PARAM * MAX(f->params_count, 1))
        out->lack = g_strdup_printf("%u sizes are too few to tell %zu constants", seen.clusters,
                                    f->params_count);
}

static bool solve(Fit *f, int64_t t_end_us)
{
    guint count = f->fitted->len;
    g_autofree double *weights = g_new(double, count);
    g_autofree uint32_t *clusters = g_new(uint32_t, count);
    for (guint i = 0; i < count; i++) {
        weights[i] = 1;
        clusters[i] = g_array_index(f->fitted, Row, i).cluster;
    }
    RhFitModel model = {.samples_count = count,
                        .weights = weights,
                        .clusters = clusters,
                        .residual = residual,
                        .refresh = refresh,
                        .user = f,
                        .t_end_us = t_end_us};
    return rh_fit_solve_model(&model, f->params, f->params_count);
}

static void take_facts(const Fit *f, const char *source, GArray *facts)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *date = g_date_time_format(now, "%Y-%m");
    for (size_t i = 0; i < f->params_count; i++) {
        const RhFitParam *p = &f->params[i];
        RhFittedFact fact = {
            .key = g_strdup(p->key), .kind = p->kind, .fact = *p->fact, .on_bound = p->on_bound};
        fact.fact.tag = RH_TAG_FITTED;
        fact.fact.source = rh_intern(source);
        fact.fact.date = rh_intern(date);
        g_array_append_val(facts, fact);
    }
}

/* Fits one direction; false: not in time. */
static bool fit_way(const GArray *rows, const RhExchangesFitOptions *options, RhExchangeFit *out)
{
    const Row *first = &g_array_index(rows, Row, 0);
    g_autoptr(GArray) fitted = g_array_new(FALSE, TRUE, sizeof(Row));
    Fit f = {.rows = rows, .fitted = fitted, .backend = *first->backend};
    f.part = first->combine ? &f.backend.combine : &f.backend.dispatch;
    for (guint i = 0; i < rows->len; i++)
        if (!g_array_index(rows, Row, i).held_out)
            g_array_append_val(fitted, g_array_index(rows, Row, i));
    *out = (RhExchangeFit){.backend = first->backend->name,
                           .combine = first->combine,
                           .facts = rh_fitted_facts_new(),
                           .before = g_array_new(FALSE, FALSE, sizeof(double))};
    for (int held = 0; held < 2; held++)
        out->now[held] = figures_of(&f, held);
    choose_params(&f, out);
    if (out->lack)
        return true;
    if (!solve(&f, options->t_end_us)) {
        out->lack = g_strdup("no constants were found that describe these rows");
        return !options->t_end_us || g_get_monotonic_time() <= options->t_end_us;
    }
    take_facts(&f, options->source, out->facts);
    for (int held = 0; held < 2; held++)
        out->then[held] = figures_of(&f, held);
    return true;
}

/* --- all directions --- */

static void fit_clear(void *data)
{
    RhExchangeFit *fit = data;
    g_clear_pointer(&fit->facts, g_array_unref);
    g_clear_pointer(&fit->before, g_array_unref);
    g_clear_pointer(&fit->lack, g_free);
    for (int i = 0; i < 2; i++) {
        rh_fit_figures_clear(&fit->now[i]);
        rh_fit_figures_clear(&fit->then[i]);
    }
}

static bool is_of(const Row *a, const Row *b)
{
    return a->backend == b->backend && a->combine == b->combine;
}

static bool is_first(const GArray *rows, guint at)
{
    for (guint i = 0; i < at; i++)
        if (is_of(&g_array_index(rows, Row, i), &g_array_index(rows, Row, at)))
            return false;
    return true;
}

static GArray *fit_all(const GArray *rows, const RhExchangesFitOptions *options, GError **error)
{
    g_autoptr(GArray) fits = g_array_new(FALSE, TRUE, sizeof(RhExchangeFit));
    g_array_set_clear_func(fits, fit_clear);
    for (guint i = 0; i < rows->len; i++) {
        if (!is_first(rows, i))
            continue;
        g_autoptr(GArray) own = g_array_new(FALSE, TRUE, sizeof(Row));
        for (guint k = i; k < rows->len; k++)
            if (is_of(&g_array_index(rows, Row, k), &g_array_index(rows, Row, i)))
                g_array_append_val(own, g_array_index(rows, Row, k));
        RhExchangeFit fit;
        bool in_time = fit_way(own, options, &fit);
        g_array_append_val(fits, fit);
        if (!in_time) {
            rh_fail(error, RH_ERROR_NO_ANSWER, "no answer within --timeout");
            return NULL;
        }
    }
    return g_steal_pointer(&fits);
}

GArray *rh_exchanges_fit(const GPtrArray *tables, const RhExchangesFitOptions *options,
                         int32_t *skipped, GError **error)
{
    g_autoptr(RhCaseFacts) facts = rh_case_facts_load(true, error);
    *skipped = 0;
    if (!facts)
        return NULL;
    g_autoptr(GHashTable) platforms = rh_exchange_platforms_new();
    g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, sizeof(Row));
    for (guint i = 0; i < tables->len; i++)
        add_rows(rows, g_ptr_array_index(tables, i), facts, platforms, options, skipped);
    if (rows->len == 0) {
        rh_fail(error, RH_ERROR_INPUT,
                "%s: no row gives the time of an exchange by kernels that are known\n"
                "help: rehearse validate --cases says of each row why",
                options->source);
        return NULL;
    }
    return fit_all(rows, options, error);
}

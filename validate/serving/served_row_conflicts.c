#include "validate/serving/served_row_conflicts.h"

#include <math.h>

#define FIGURES_S 1e-5 /* some copies are rounded to hundredths of a millisecond */
/* Between two numbers of clients: more than any repeat. Of 50 set-ups of inference-measured.csv that
 * ran more than once (one image, ranks, lengths and clients, no speculation, by
 * inference-context.csv) the slowest run took 1.01 times the quickest's time per token in the
 * median, 1.10 at the 95th percentile, 1.144 at most. */
#define TIMES_FALLS 1.15

struct RhServedSetups {
    GHashTable *first;     /* by figures: the row on the fewest GPUs with them, else the first */
    GHashTable *falls_for; /* by set-up: Fall of those that contradict themselves */
};

/* Two rows of a set-up, of which the one with more clients has the shorter time of a token. */
typedef struct {
    const RhCaseRow *few, *many;
} Fall;

/* Figures of a row, to as many digits as copies have; NULL: one is missing. */
static char *figures_of(const RhCaseRow *row)
{
    return row->ttft_s > 0 && row->tpot_s > 0
               ? g_strdup_printf("%s|%lld|%lld", row->text[RH_CASE_SOURCE],
                                 llround(row->ttft_s / FIGURES_S), llround(row->tpot_s / FIGURES_S))
               : NULL;
}

static int64_t size_of(const RhCaseRow *row)
{
    return MAX(row->whole[RH_CASE_TP], 1) * MAX(row->whole[RH_CASE_DP], 1);
}

static void add_figures(RhServedSetups *setups, const RhCaseRow *row)
{
    g_autofree char *key = figures_of(row);
    const RhCaseRow *known = key ? g_hash_table_lookup(setups->first, key) : NULL;
    if (key && (!known || size_of(row) < size_of(known)))
        g_hash_table_insert(setups->first, g_steal_pointer(&key), (void *)row);
}

/* Words of a row that say how it was run, but for the number of clients. */
static char *setup_of(const RhCaseRow *row)
{
    static const RhCaseColumn columns[] = {
        RH_CASE_SOURCE, RH_CASE_MODEL, RH_CASE_GPU,  RH_CASE_GPUS,       RH_CASE_TP,
        RH_CASE_PP,     RH_CASE_EP,    RH_CASE_DP,   RH_CASE_PRECISION,  RH_CASE_ISL,
        RH_CASE_OSL,    RH_CASE_RPS,   RH_CASE_NOTE, RH_CASE_DEPLOYMENT, RH_CASE_PLATFORM};
    GString *key = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
        g_string_append_printf(key, "%s|", row->text[columns[i]]);
    return g_string_free(key, FALSE);
}

static int64_t clients_of(const RhCaseRow *row)
{
    return g_ascii_strtoll(row->text[RH_CASE_AT_ONCE], NULL, 10);
}

/* Does a token take much less time with more clients? */
static bool falls(const RhCaseRow *few, const RhCaseRow *many)
{
    return clients_of(few) > 0 && clients_of(few) < clients_of(many) && many->tpot_s > 0 &&
           few->tpot_s > TIMES_FALLS * many->tpot_s;
}

/* Keeps the first two rows of each set-up that contradict each other. */
static void add_falls(RhServedSetups *setups, const GPtrArray *setup, const char *key)
{
    for (guint i = 0; i < setup->len; i++)
        for (guint j = 0; j < setup->len; j++)
            if (falls(setup->pdata[i], setup->pdata[j])) {
                Fall fall = {setup->pdata[i], setup->pdata[j]};
                g_hash_table_insert(setups->falls_for, g_strdup(key),
                                    g_memdup2(&fall, sizeof fall));
                return;
            }
}

RhServedSetups *rh_served_setups_new(const RhCaseTable *table)
{
    RhServedSetups *setups = g_new0(RhServedSetups, 1);
    setups->first = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    setups->falls_for = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GHashTable) by_key =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    for (guint i = 0; i < table->rows->len; i++) {
        RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        add_figures(setups, row);
        g_autofree char *key = setup_of(row);
        GPtrArray *setup = g_hash_table_lookup(by_key, key);
        if (!setup)
            g_hash_table_insert(by_key, g_steal_pointer(&key), setup = g_ptr_array_new());
        g_ptr_array_add(setup, row);
    }
    GHashTableIter iter;
    gpointer key, setup;
    g_hash_table_iter_init(&iter, by_key);
    while (g_hash_table_iter_next(&iter, &key, &setup))
        add_falls(setups, setup, key);
    return setups;
}

void rh_served_setups_free(RhServedSetups *setups)
{
    if (!setups)
        return;
    g_hash_table_unref(setups->first);
    g_hash_table_unref(setups->falls_for);
    g_free(setups);
}

char *rh_served_contradicts(const RhServedSetups *setups, const RhServedCase *c,
                            const RhCaseRow *row)
{
    g_autofree char *key = setup_of(row);
    const Fall *fall =
        c->deployment.pools_count == 1 ? g_hash_table_lookup(setups->falls_for, key) : NULL;
    return fall ? g_strdup_printf("rows of its set-up contradict each other: a token takes %.3g ms "
                                  "with %lld clients and %.3g with %lld",
                                  1e3 * fall->few->tpot_s, (long long)clients_of(fall->few),
                                  1e3 * fall->many->tpot_s, (long long)clients_of(fall->many))
                : NULL;
}

char *rh_served_repeats(const RhServedSetups *setups, const RhCaseRow *row)
{
    g_autofree char *key = figures_of(row);
    const RhCaseRow *original = key ? g_hash_table_lookup(setups->first, key) : row;
    return original == row ? NULL
                           : g_strdup_printf("its figures are those of line %d", original->line);
}

static double mean_of(RhLengthRange range)
{
    return 0.5 * ((double)range.low + (double)range.high);
}

/* Is a published row faster than the peak allows? Requests end at the rate of the number under way
 * over the time of one (Little 1961), and each parameter that a token uses is multiplied once for
 * it, the head's for output tokens; without prefix caches, which drawn prompts do not hit. */
char *rh_served_outruns(const RhServedCase *c, const RhCaseRow *row)
{
    const RhServing *s = &c->serving;
    double peak = s->platform->device->peak_flops_per_s[s->recipe->linear].value *
                  rh_deployment_gpus(&c->deployment);
    if (row->ttft_s <= 0 || row->tpot_s <= 0 || c->client.at_once <= 0 || peak <= 0)
        return NULL;
    double input = mean_of(c->plan.input), output = mean_of(c->plan.output);
    double request_s = row->ttft_s + (output - 1) * row->tpot_s;
    double head = 2 * (double)s->model->hidden * (double)s->model->vocab;
    double forward = rh_model_forward_flops_per_token(s->model, 1);
    double flops = (input + output) * forward - input * head;
    double rate = MIN(c->client.at_once, c->plan.count) / request_s * flops;
    if (rate <= peak)
        return NULL;
    return g_strdup_printf(
        "its times at so many at once are %.2g times what %d GPUs multiply at most", rate / peak,
        rh_deployment_gpus(&c->deployment));
}

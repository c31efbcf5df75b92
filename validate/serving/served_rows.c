#include "validate/serving/served_rows.h"

#include <math.h>

#define FIGURES_S 1e-5 /* some copies are rounded to hundredths of a millisecond */

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

/* Keeps the row on the fewest GPUs among rows with equal figures, else the first. */
GHashTable *rh_served_originals(const RhCaseTable *table)
{
    GHashTable *first = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < table->rows->len; i++) {
        const RhCaseRow *row = &g_array_index(table->rows, RhCaseRow, i);
        g_autofree char *key = figures_of(row);
        const RhCaseRow *known = key ? g_hash_table_lookup(first, key) : NULL;
        if (key && (!known || size_of(row) < size_of(known)))
            g_hash_table_insert(first, g_steal_pointer(&key), (void *)row);
    }
    return first;
}

char *rh_served_repeats(GHashTable *first, const RhCaseRow *row)
{
    g_autofree char *key = figures_of(row);
    const RhCaseRow *original = key ? g_hash_table_lookup(first, key) : row;
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

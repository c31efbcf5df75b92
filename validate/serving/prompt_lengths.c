#include "validate/serving/prompt_lengths.h"

#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/json/json.h"

#define STREAM       17 /* of random numbers, apart from those of arrivals */
#define HALVINGS     60
#define STRETCH_MOST 1e4

static int32_t read_quantiles(RhJson *doc, const RhJsonNode *object, const char *key, double high,
                              double *into)
{
    const RhJsonNode *list = rh_json_array(doc, object, key);
    int32_t count = 0;
    for (const RhJsonNode *n = list ? rh_json_first(list) : NULL; n; n = rh_json_next(n)) {
        if (count == RH_LENGTH_LEVELS_MAX) {
            rh_json_problem(doc, n, NULL, "more than %d quantiles", RH_LENGTH_LEVELS_MAX);
            break;
        }
        into[count] = rh_json_node_number(doc, n, 0, high);
        if (count > 0 && into[count] < into[count - 1])
            rh_json_problem(doc, n, NULL, "quantiles ascend");
        count++;
    }
    return count;
}

static void read_set(RhJson *doc, const RhJsonNode *set, RhPromptLengths *l)
{
    rh_json_string(doc, set, "source");
    l->count = read_quantiles(doc, set, "levels", 1, l->levels);
    if (read_quantiles(doc, set, "input", RH_REQUEST_TOKENS_MAX, l->input) != l->count ||
        read_quantiles(doc, set, "output", RH_REQUEST_TOKENS_MAX, l->output) != l->count ||
        l->count < 2 || l->levels[0] > 0 || l->levels[l->count - 1] < 1)
        rh_json_problem(doc, set, NULL, "levels from 0 to 1, and a quantile at each");
}

bool rh_prompt_lengths_load(const char *name, RhPromptLengths *lengths, GError **error)
{
    g_autofree char *path =
        g_build_filename(rh_data_dir(), "validate", "data", "lengths.json", NULL);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    RhPromptLengths found = {0};
    if (!doc)
        return false;
    const RhJsonNode *root = rh_json_root(doc);
    for (const RhJsonNode *n = rh_json_first(root); n; n = rh_json_next(n)) {
        if (strcmp(rh_json_key(n), name) == 0)
            read_set(doc, rh_json_object(doc, root, name), &found);
        else
            rh_json_consume_all(doc, n);
    }
    if (!rh_json_finish(doc, error))
        return false;
    if (found.count == 0)
        return rh_fail(error, RH_ERROR_USAGE, "lengths of \"%.60s\" are not known", name);
    *lengths = found;
    return true;
}

double rh_prompt_lengths_mean(const RhPromptLengths *l, const double *quantiles)
{
    double sum = 0;
    for (int32_t i = 0; i + 1 < l->count; i++)
        sum += (l->levels[i + 1] - l->levels[i]) * (quantiles[i] + quantiles[i + 1]) / 2;
    return sum;
}

static void stretched(const RhPromptLengths *l, double times, double *output)
{
    for (int32_t i = 0; i < l->count; i++)
        output[i] = fmin(fmax(times * l->output[i], 1), l->output[l->count - 1]);
}

void rh_prompt_lengths_stretch(RhPromptLengths *l, double mean)
{
    double output[RH_LENGTH_LEVELS_MAX], low = 1 / STRETCH_MOST, high = STRETCH_MOST;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = sqrt(low * high);
        stretched(l, middle, output);
        *(rh_prompt_lengths_mean(l, output) < mean ? &low : &high) = middle;
    }
    stretched(l, low, output);
    memcpy(l->output, output, sizeof output);
}

static int32_t draw(const RhPromptLengths *l, const double *quantiles, gsl_rng *rng)
{
    double at = gsl_rng_uniform(rng);
    int32_t i = 0;
    while (i + 2 < l->count && l->levels[i + 1] <= at)
        i++;
    double part = (at - l->levels[i]) / fmax(l->levels[i + 1] - l->levels[i], 1e-12);
    double tokens = quantiles[i] + part * (quantiles[i + 1] - quantiles[i]);
    return MAX((int32_t)(tokens + 0.5), 1);
}

void rh_prompt_lengths_draw(const RhPromptLengths *l, uint64_t seed, RhRequests *requests)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, (unsigned long)(seed & 0xffffffffu) + STREAM);
    for (guint i = 0; i < requests->list->len; i++) {
        RhRequest *r = &g_array_index(requests->list, RhRequest, i);
        r->input_tokens = draw(l, l->input, rng);
        r->output_tokens = draw(l, l->output, rng);
    }
    gsl_rng_free(rng);
}

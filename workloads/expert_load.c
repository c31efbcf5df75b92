#include "workloads/expert_load.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/decimal_parse.h"
#include "base/units.h"

#define EXPONENT_MAX 10.0
#define WEIGHT_MAX   1e9
#define EXPERTS_MAX  65536

static bool fail(const char *text, GError **error)
{
    return rh_fail(error, RH_ERROR_USAGE,
                   "\"%s\" is not an expert load\nnote: balanced, power-law:EXPONENT (0 to %g), or "
                   "histogram:WEIGHTxEXPERTS-WEIGHTxEXPERTS... (%d at most)\n"
                   "help: for example power-law:0.5, histogram:4x8-1x56",
                   text, EXPONENT_MAX, RH_LOAD_RUNS_MAX);
}

static bool read_number(const char *text, double most, double *out)
{
    return rh_number_parse(text, out) && *out >= 0 && *out <= most;
}

/* "4x8", or "4" for one expert. */
static bool read_run(const char *text, RhLoadRun *run)
{
    g_auto(GStrv) parts = g_strsplit(text, "x", 2);
    int64_t experts = 1;
    bool counted =
        !parts[0] || !parts[1] || rh_integer_parse(parts[1], 1, EXPERTS_MAX, &experts, NULL);
    run->experts = (int32_t)experts;
    return counted && parts[0] && read_number(parts[0], WEIGHT_MAX, &run->weight);
}

static bool read_histogram(const char *text, RhExpertLoad *load)
{
    g_auto(GStrv) runs = g_strsplit(text, "-", -1);
    double sum = 0, experts = 0;
    load->runs_count = 0;
    for (char **run = runs; *run; run++) {
        if (load->runs_count == RH_LOAD_RUNS_MAX || !read_run(*run, &load->runs[load->runs_count]))
            return false;
        const RhLoadRun *read = &load->runs[load->runs_count++];
        sum += read->weight * read->experts;
        experts += read->experts;
    }
    return sum > 0 && experts <= EXPERTS_MAX;
}

bool rh_expert_load_parse(const char *text, RhExpertLoad *load, GError **error)
{
    RhExpertLoad read = {.capacity = load->capacity};
    const char *colon = strchr(text, ':');
    if (colon && g_str_has_prefix(text, "power-law:")) {
        read.kind = RH_LOAD_POWER_LAW;
        if (!read_number(colon + 1, EXPONENT_MAX, &read.exponent))
            return fail(text, error);
    } else if (colon && g_str_has_prefix(text, "histogram:")) {
        read.kind = RH_LOAD_HISTOGRAM;
        if (!read_histogram(colon + 1, &read))
            return fail(text, error);
    } else if (strcmp(text, "balanced") != 0) {
        return fail(text, error);
    }
    *load = read;
    return true;
}

bool rh_expert_load_fits(const RhExpertLoad *load, const RhModel *model, GError **error)
{
    int32_t listed = 0;
    for (int32_t i = 0; i < load->runs_count; i++)
        listed += load->runs[i].experts;
    for (int k = 0; listed > 0 && k < model->kinds_count; k++)
        if (model->kinds[k].experts > 0 && model->kinds[k].experts != listed)
            return rh_fail(error, RH_ERROR_USAGE,
                           "experts_load lists %d experts, %s has %d in a layer", listed,
                           model->name, model->kinds[k].experts);
    return true;
}

/* Relative load of an expert: by its rank in a power law, or by its place in the histogram. */
static double weight_of(const RhExpertLoad *load, int32_t expert)
{
    if (load->kind == RH_LOAD_POWER_LAW)
        return pow(expert + 1, -load->exponent);
    for (int32_t i = 0; i < load->runs_count; i++) {
        if (expert < load->runs[i].experts)
            return load->runs[i].weight;
        expert -= load->runs[i].experts;
    }
    return 0;
}

double rh_expert_load_busiest(const RhExpertLoad *load, int32_t experts, int32_t ranks)
{
    if (!load || load->kind == RH_LOAD_BALANCED)
        return load && load->capacity > 0 ? fmin(1, load->capacity) : 1;
    g_autofree double *of_rank = g_new0(double, ranks);
    double sum = 0, busiest = 0;
    for (int32_t e = 0; e < experts; e++)
        sum += weight_of(load, e);
    for (int32_t e = 0; e < experts; e++) {
        int32_t rank = load->kind == RH_LOAD_POWER_LAW ? e % ranks : e / (experts / ranks);
        double share = weight_of(load, e) / sum;
        of_rank[rank] += load->capacity > 0 ? fmin(share, load->capacity / experts) : share;
        busiest = fmax(busiest, of_rank[rank]);
    }
    return busiest * ranks;
}

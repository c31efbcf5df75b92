#include "validate/serving/served_constants.h"
#include "validate/serving/ttft_tpot_throughput.h"

#include <math.h>
#include <stddef.h>

const RhServedConstantKind rh_served_constant_kinds[] = {
    {"step", offsetof(RhServer, step_s), 1e-6, 0.05, 1e-4, false, RH_FITTED_ALWAYS},
    {"rank_step", offsetof(RhServer, rank_step_s), 1e-6, 0.02, 1e-4, false, RH_FITTED_WITH_RANKS},
    {"sequence", offsetof(RhServer, sequence_s), 1e-7, 1e-3, 1e-5, false, RH_FITTED_ALWAYS},
    {"prompt_rate", offsetof(RhServer, prompt_frac), 0.2, 1.5, 1, true, RH_FITTED_ALWAYS},
    {"first", offsetof(RhServer, first_s), 1e-4, 0.5, 1e-2, false, RH_FITTED_WITH_TTFT},
    {"admit", offsetof(RhServer, admit_s), 1e-4, 0.2, 1e-3, false, RH_FITTED_WITH_TTFT},
    {"launch", offsetof(RhServer, launch_s), 1e-6, 5e-3, 1e-4, false, RH_FITTED_WHERE_SET}};
G_STATIC_ASSERT(G_N_ELEMENTS(rh_served_constant_kinds) <= RH_SERVED_CONSTANTS_MAX);

size_t rh_served_constant_kinds_count(void)
{
    return G_N_ELEMENTS(rh_served_constant_kinds);
}

RhFact *rh_served_constant(RhServer *server, size_t kind)
{
    return (RhFact *)(void *)((char *)server + rh_served_constant_kinds[kind].offset);
}

/* --- a row --- */

RhServedRow *rh_served_row_new(RhServedCase *c, const RhCaseRow *row)
{
    RhServedRow *r = g_new0(RhServedRow, 1);
    r->server = *c->serving.server;
    r->c = *c;
    r->c.serving.server = &r->server;
    r->weight = 1;
    r->measured[RH_SERVED_TPOT] = row->tpot_s;
    r->measured[RH_SERVED_TTFT] = row->ttft_s;
    r->measured[RH_SERVED_RATE] = row->tokens_per_s;
    r->service = rh_service_new(&r->c.serving, &r->c.deployment, NULL);
    if (!r->service) {
        rh_served_row_free(r);
        return NULL;
    }
    r->requests = rh_served_requests(&r->c);
    return r;
}

void rh_served_row_free(RhServedRow *row)
{
    if (!row)
        return;
    rh_service_free(row->service);
    rh_requests_free(row->requests);
    rh_served_case_clear(&row->c);
    g_free(row);
}

bool rh_served_row_simulate(RhServedRow *row)
{
    g_autoptr(RhServiceResult) result =
        rh_service_run(row->service, row->requests, &row->c.client, NULL);
    if (!result)
        return false;
    rh_served_means(result, &row->predicted[RH_SERVED_TTFT], &row->predicted[RH_SERVED_TPOT]);
    row->predicted[RH_SERVED_RATE] = rh_served_tokens_per_s(result);
    return true;
}

static double off(const double *measured, const double *predicted, RhServedMetric metric)
{
    double m = measured[metric], p = predicted[metric];
    return m > 0 && p > 0 ? fabs(log(p / m)) : 0;
}

/* Time per token and tokens per second are equivalent: where both are given the former counts. */
double rh_served_row_loss(const double *measured, const double *predicted)
{
    RhServedMetric rate = measured[RH_SERVED_TPOT] > 0 ? RH_SERVED_TPOT : RH_SERVED_RATE;
    return off(measured, predicted, rate) + off(measured, predicted, RH_SERVED_TTFT) / 2;
}

/* --- rows --- */

static bool is_fitted(const GPtrArray *rows, RhFitCondition condition, double value)
{
    bool ranks = false, ttft = false;
    for (guint i = 0; i < rows->len; i++) {
        const RhServedRow *row = g_ptr_array_index(rows, i);
        ranks |= row->c.deployment.pools[0].tp > 1;
        ttft |= row->measured[RH_SERVED_TTFT] > 0;
    }
    switch (condition) {
    case RH_FITTED_WITH_RANKS:
        return ranks;
    case RH_FITTED_WITH_TTFT:
        return ttft;
    case RH_FITTED_WHERE_SET:
        return value > 0;
    case RH_FITTED_ALWAYS:
        break;
    }
    return true;
}

int32_t rh_served_knobs(const GPtrArray *rows, RhServer *server, RhDescentKnob *knobs,
                        size_t *kind_of)
{
    int32_t count = 0;
    for (size_t k = 0; k < G_N_ELEMENTS(rh_served_constant_kinds); k++) {
        const RhServedConstantKind *kind = &rh_served_constant_kinds[k];
        double value = rh_served_constant(server, k)->value;
        if (!is_fitted(rows, kind->condition, value))
            continue;
        kind_of[count] = k;
        knobs[count++] = (RhDescentKnob){
            kind->key, CLAMP(value > 0 ? value : kind->begin, kind->low, kind->high), kind->low,
            kind->high};
    }
    return count;
}

void rh_served_set_constants(const GPtrArray *rows, const RhDescentKnob *knobs,
                             const size_t *kind_of, int32_t count)
{
    for (guint i = 0; i < rows->len; i++) {
        RhServedRow *row = g_ptr_array_index(rows, i);
        for (int32_t k = 0; k < count; k++)
            rh_served_constant(&row->server, kind_of[k])->value = knobs[k].value;
    }
}

double rh_served_loss(const GPtrArray *rows)
{
    double sum = 0, weight = 0;
    for (guint i = 0; i < rows->len; i++) {
        RhServedRow *row = g_ptr_array_index(rows, i);
        if (row->held_out)
            continue;
        if (!rh_served_row_simulate(row))
            return (double)INFINITY;
        sum += row->weight * rh_served_row_loss(row->measured, row->predicted);
        weight += row->weight;
    }
    return weight > 0 ? sum / weight : 0;
}

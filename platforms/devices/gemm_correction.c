#include "platforms/devices/gemm_correction.h"

#include <string.h>

#define FACTOR_LEAST 0.1
#define FACTOR_MOST  10

/* Position along one axis: two nodes, and the fraction of the way from the first to the second. */
typedef struct {
    int32_t first;
    double beyond;
} Along;

/* Position of x among `count` nodes that are two octaves apart, from 2^base on. */
static inline Along position_along(int64_t x, int base, int count)
{
    if (x <= (int64_t)1 << base)
        return (Along){0, 0};
    if (x >= (int64_t)1 << (base + 2 * (count - 1)))
        return (Along){count - 2, 1};
    int exponent = 63 - __builtin_clzll((unsigned long long)x);
    double fraction = (double)(x - ((int64_t)1 << exponent)) / (double)((int64_t)1 << exponent);
    int octaves = exponent - base;
    return (Along){octaves / 2, 0.5 * ((octaves & 1) + fraction)};
}

void rh_gemm_correction_place(int64_t m, int64_t n, int64_t k, RhCorrectionPlace *place)
{
    const Along a = position_along(m, 0, RH_CORRECTION_M),
                b = position_along(n, 6, RH_CORRECTION_N),
                c = position_along(k, 6, RH_CORRECTION_K);
    for (int corner = 0; corner < 8; corner++) {
        int i = corner >> 2, j = corner >> 1 & 1, l = corner & 1;
        place->node[corner] =
            ((a.first + i) * RH_CORRECTION_N + b.first + j) * RH_CORRECTION_K + c.first + l;
        place->weight[corner] = (i ? a.beyond : 1 - a.beyond) * (j ? b.beyond : 1 - b.beyond) *
                                (l ? c.beyond : 1 - c.beyond);
    }
}

double rh_gemm_correction_factor(const RhGemmCorrection *c, int64_t m, int64_t n, int64_t k)
{
    RhCorrectionPlace place;
    double factor = 0;
    rh_gemm_correction_place(m, n, k, &place);
    for (int i = 0; i < 8; i++)
        factor += place.weight[i] * c->factors[place.node[i]];
    return factor;
}

bool rh_gemm_correction_fits(const RhGemmCorrection *c, RhDtype dtype)
{
    bool half = dtype == RH_DTYPE_BF16 || dtype == RH_DTYPE_FP16;
    bool half_samples = c->dtype == RH_DTYPE_BF16 || c->dtype == RH_DTYPE_FP16;
    return c->dtype != RH_DTYPE_NONE && (c->dtype == dtype || (half && half_samples));
}

void rh_gemm_correction_read(RhJson *doc, const RhJsonNode *node, RhGemmCorrection *c)
{
    RhGemmCorrection read = {.dtype = rh_dtype_by_name(rh_json_string(doc, node, "dtype"))};
    read.spread_frac = rh_json_quantity(doc, node, "spread", RH_QUANTITY_FRAC);
    read.source = rh_json_string(doc, node, "source");
    read.date = rh_json_string_or(doc, node, "date", "");
    if (strcmp(rh_json_string(doc, node, "tag"), "fitted") != 0)
        rh_json_problem(doc, node, NULL, "a correction's tag is fitted");
    if (read.dtype == RH_DTYPE_NONE)
        rh_json_problem(doc, node, NULL, "\"dtype\" must be bf16, fp16, fp8, tf32 or fp32");
    const RhJsonNode *factors = rh_json_array(doc, node, "factors");
    if (factors && rh_json_count(factors) != RH_CORRECTION_NODES) {
        rh_json_problem(doc, factors, NULL, "%d factors, expected %d", rh_json_count(factors),
                        RH_CORRECTION_NODES);
        rh_json_consume_all(doc, factors);
        return;
    }
    const RhJsonNode *factor = factors ? rh_json_first(factors) : NULL;
    for (int i = 0; factor; factor = rh_json_next(factor), i++)
        read.factors[i] = rh_json_node_number(doc, factor, FACTOR_LEAST, FACTOR_MOST);
    if (factors)
        *c = read;
}

void rh_gemm_correction_write(RhJsonWriter *w, const char *key, const RhGemmCorrection *c)
{
    rh_json_begin_object(w, key);
    rh_json_put_string(w, "dtype", rh_dtype_name(c->dtype));
    rh_json_put_string(w, "tag", rh_tag_name(RH_TAG_FITTED));
    rh_json_put_string(w, "source", c->source);
    rh_json_put_string(w, "date", c->date);
    rh_json_put_number(w, "spread", c->spread_frac);
    rh_json_begin_array(w, "factors");
    for (int i = 0; i < RH_CORRECTION_NODES; i++)
        rh_json_put_number(w, NULL, c->factors[i]);
    rh_json_end_array(w);
    rh_json_end_object(w);
}

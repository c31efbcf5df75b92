#pragma once
/* Quantities at the edges of the program. Inside, everything is SI: s, bytes, flops, W, USD.
 *
 *     double v; rh_quantity_parse("400Gb/s", RH_QUANTITY_BYTES_PER_S, &v, &error);   v = 5e10
 *
 * Units: time s ms us ns min h d; size B kB MB GB TB PB KiB MiB GiB TiB PiB; rate SIZE/s and bits
 * b/s kb/s Mb/s Gb/s Tb/s; compute FLOP/s with k M G T P E; W kW MW; USD; percent `%` for
 * fractions. Parsing does not depend on the locale. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define RH_GIB_BYTES 1073741824.0

typedef enum {
    RH_QUANTITY_NONE,
    RH_QUANTITY_S,
    RH_QUANTITY_BYTES,
    RH_QUANTITY_BYTES_PER_S,
    RH_QUANTITY_FLOPS_PER_S,
    RH_QUANTITY_W,
    RH_QUANTITY_USD,
    RH_QUANTITY_FRAC,   /* "90%" or "0.9" */
    RH_QUANTITY_COUNT,  /* bare number */
    RH_QUANTITY_TOKENS, /* "15T", "500B", "1e12" */
} RhQuantity;

/* What a quantity may be: from low to high, and 0 where `zero`. */
typedef struct {
    double low, high;
    bool zero;
} RhRange;
bool rh_range_holds(const RhRange *range, double value);
/* "must be from 1 kB/s to 10 PB/s, or 0". Caller frees. */
char *rh_range_text(const RhRange *range, RhQuantity kind);

/* Reads all of `text` as a quantity of this kind, finite and >= 0. A missing or foreign unit is
 * RH_ERROR_INPUT with a help line naming the units that fit. *value is untouched on failure. */
bool rh_quantity_parse(const char *text, RhQuantity kind, double *value, GError **error);
/* The same; `example` is what the help line says to write, NULL: one of the kind. */
bool rh_quantity_parse_like(const char *text, RhQuantity kind, const char *example, double *value,
                            GError **error);

/* A share of a whole: RH_QUANTITY_FRAC from 0 to 100 %. So that a forgotten % is no factor of 100,
 * more is RH_ERROR_INPUT. */
bool rh_share_parse(const char *text, double *value, GError **error);
bool rh_share_parse_like(const char *text, const char *example, double *value, GError **error);

/* Whole decimal number in [low, high]; trailing text is an error. Errors: RH_ERROR_INPUT. */
bool rh_integer_parse(const char *text, int64_t low, int64_t high, int64_t *value, GError **error);

/* Human text with a fitting unit and `digits` significant digits: "62.4 s", "12.3 us", "72.4 GiB",
 * "450 GB/s", "430 TFLOP/s"; zero is "0 s", and what rounds up to the next unit is given in that.
 * Sizes use binary prefixes, rates decimal ones. Caller frees. */
char *rh_quantity_format(double value, RhQuantity kind, int digits);

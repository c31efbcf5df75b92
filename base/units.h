#pragma once
/* Quantities in input and output. Inside the program everything is SI: s, bytes, FLOPs, W, USD.
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

/* Range of a quantity: from low to high, and also 0 if `zero`. */
typedef struct {
    double low, high;
    bool zero;
} RhRange;
bool rh_range_holds(const RhRange *range, double value);
/* Returns a range as text: "must be from 1 kB/s to 10 PB/s, or 0". Caller frees. */
char *rh_range_text(const RhRange *range, RhQuantity kind);

/* Parses all of `text` as a quantity of this kind, finite and >= 0. A missing or unsuitable unit is
 * RH_ERROR_INPUT with a help line of suitable units. *value is unchanged on failure. */
bool rh_quantity_parse(const char *text, RhQuantity kind, double *value,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Parses a quantity; the help line suggests `example`, or if NULL an example of the kind. */
bool rh_quantity_parse_like(const char *text, RhQuantity kind, const char *example, double *value,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Parse a fraction: RH_QUANTITY_FRAC from 0 to 100 %. More is RH_ERROR_INPUT, so that a forgotten %
 * is not read as a factor of 100. */
bool rh_share_parse(const char *text, double *value, GError **error) G_GNUC_WARN_UNUSED_RESULT;
bool rh_share_parse_like(const char *text, const char *example, double *value,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Parses a whole decimal number in [low, high] without trailing text. RH_ERROR_INPUT. */
bool rh_integer_parse(const char *text, int64_t low, int64_t high, int64_t *value,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Formats a quantity with a suitable unit and `digits` significant digits: "62.4 s", "12.3 us",
 * "72.4 GiB", "450 GB/s", "430 TFLOP/s"; zero is "0 s", and a value that rounds up to the next unit
 * uses that. Sizes have binary prefixes, rates decimal ones. Caller frees. */
char *rh_quantity_format(double value, RhQuantity kind, int digits);
/* Returns the divisors of n up to `limit` as text, "1, 2, 4, 8", for error messages; the caller
 * frees it. */
char *rh_divisors_text(int64_t n, int64_t limit);

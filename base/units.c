#include "base/units.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

/* One unit is times / over of SI. Dividing keeps decimal fractions exact: "7us" is the double
 * 7e-6. */
typedef struct {
    const char *name;
    double times, over;
} Unit;

#define KIB 1024.0
#define MIB 1048576.0
#define TIB 1099511627776.0
#define PIB 1125899906842624.0

static const Unit time_units[] = {{"s", 1, 1},    {"ms", 1, 1e3}, {"us", 1, 1e6},  {"ns", 1, 1e9},
                                  {"min", 60, 1}, {"h", 3600, 1}, {"d", 86400, 1}, {NULL, 0, 1}};
/* Times as people say them; read, and named by no message. */
static const Unit time_words[] = {{"second", 1, 1},    {"seconds", 1, 1},    {"sec", 1, 1},
                                  {"minute", 60, 1},   {"minutes", 60, 1},   {"hour", 3600, 1},
                                  {"hours", 3600, 1},  {"day", 86400, 1},    {"days", 86400, 1},
                                  {"week", 604800, 1}, {"weeks", 604800, 1}, {NULL, 0, 1}};
static const Unit byte_units[] = {{"B", 1, 1},     {"kB", 1e3, 1},  {"MB", 1e6, 1},
                                  {"GB", 1e9, 1},  {"TB", 1e12, 1}, {"PB", 1e15, 1},
                                  {"KiB", KIB, 1}, {"MiB", MIB, 1}, {"GiB", RH_GIB_BYTES, 1},
                                  {"TiB", TIB, 1}, {"PiB", PIB, 1}, {NULL, 0, 1}};
static const Unit rate_units[] = {{"B/s", 1, 1},     {"kB/s", 1e3, 1},  {"MB/s", 1e6, 1},
                                  {"GB/s", 1e9, 1},  {"TB/s", 1e12, 1}, {"PB/s", 1e15, 1},
                                  {"KiB/s", KIB, 1}, {"MiB/s", MIB, 1}, {"GiB/s", RH_GIB_BYTES, 1},
                                  {"TiB/s", TIB, 1}, {"PiB/s", PIB, 1}, {"b/s", 1, 8},
                                  {"kb/s", 1e3, 8},  {"Mb/s", 1e6, 8},  {"Gb/s", 1e9, 8},
                                  {"Tb/s", 1e12, 8}, {NULL, 0, 1}};
static const Unit flop_units[] = {{"FLOP/s", 1, 1},     {"kFLOP/s", 1e3, 1},  {"MFLOP/s", 1e6, 1},
                                  {"GFLOP/s", 1e9, 1},  {"TFLOP/s", 1e12, 1}, {"PFLOP/s", 1e15, 1},
                                  {"EFLOP/s", 1e18, 1}, {NULL, 0, 1}};
static const Unit power_units[] = {{"W", 1, 1}, {"kW", 1e3, 1}, {"MW", 1e6, 1}, {NULL, 0, 1}};
static const Unit money_units[] = {{"USD", 1, 1}, {"kUSD", 1e3, 1}, {"MUSD", 1e6, 1},
                                   {"$", 1, 1},   {"k$", 1e3, 1},   {"M$", 1e6, 1},
                                   {"k", 1e3, 1}, {"M", 1e6, 1},    {NULL, 0, 1}};
static const Unit token_units[] = {{"", 1, 1},    {"k", 1e3, 1},  {"M", 1e6, 1},
                                   {"B", 1e9, 1}, {"T", 1e12, 1}, {NULL, 0, 1}};
static const Unit frac_units[] = {{"%", 1, 100}, {"", 1, 1}, {NULL, 0, 1}};
static const Unit count_units[] = {{"", 1, 1}, {NULL, 0, 1}};

/* Name of a kind, its units, and an example for the help line. */
typedef struct {
    const char *what;
    const Unit *units;
    const char *example;
} Kind;

static const Kind kinds[] = {
    [RH_QUANTITY_NONE] = {"nothing", count_units, "0"},
    [RH_QUANTITY_S] = {"a time", time_units, "6us"},
    [RH_QUANTITY_BYTES] = {"a size", byte_units, "80GiB"},
    [RH_QUANTITY_BYTES_PER_S] = {"a rate", rate_units, "50GB/s or 400Gb/s"},
    [RH_QUANTITY_FLOPS_PER_S] = {"a compute rate", flop_units, "989TFLOP/s"},
    [RH_QUANTITY_W] = {"a power", power_units, "700W"},
    [RH_QUANTITY_USD] = {"an amount of money", money_units, "2USD"},
    [RH_QUANTITY_FRAC] = {"a fraction", frac_units, "90% or 0.9"},
    [RH_QUANTITY_COUNT] = {"a number", count_units, "8"},
    [RH_QUANTITY_TOKENS] = {"a number of tokens", token_units, "15T"},
};

/* Quotes user input, bounded and without control characters. Caller frees. */
static char *quoted(const char *text)
{
    char beyond_ascii[129] = "";
    for (int i = 0; i < 128; i++)
        beyond_ascii[i] = (char)(128 + i);
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    g_autofree char *head = g_utf8_substring(valid, 0, MIN(g_utf8_strlen(valid, -1), 80));
    g_autofree char *shown = g_strescape(head, beyond_ascii);
    return g_strdup_printf("\"%s%s\"", shown, strlen(head) < strlen(valid) ? "..." : "");
}

static bool refuse(const char *text, RhQuantity kind, const char *example, const char *why,
                   GError **error)
{
    g_autofree char *shown = quoted(text);
    g_autoptr(GString) list = g_string_new(NULL);
    for (const Unit *u = kinds[kind].units; u->name; u++)
        g_string_append_printf(list, "%s%s", list->len ? " " : "", u->name);
    return rh_fail(error, RH_ERROR_INPUT, "%s is not %s: %s\nhelp: write it as %s%s%s", shown,
                   kinds[kind].what, why, example ? example : kinds[kind].example,
                   list->len ? "; units: " : "", list->str);
}

/* Length of a plain decimal number at the start of text: no hex, no inf, no nan. */
static size_t number_length(const char *text)
{
    size_t n = strspn(text, "0123456789.");
    if (n > 0 && (text[n] == 'e' || text[n] == 'E')) {
        size_t sign = text[n + 1] == '+' || text[n + 1] == '-';
        size_t digits = strspn(text + n + 1 + sign, "0123456789");
        if (digits > 0)
            n += 1 + sign + digits;
    }
    return n;
}

/* Returns the unit of that name; the nameless end of the list if there is none. */
static const Unit *find_unit(const Unit *units, const char *name)
{
    while (units->name && strcmp(units->name, name) != 0)
        units++;
    return units;
}

bool rh_quantity_parse_like(const char *text, RhQuantity kind, const char *example, double *value,
                            GError **error)
{
    const char *start = text + strspn(text, " \t");
    size_t length = number_length(start);
    if (length == 0)
        return refuse(text, kind, example, "it does not start with a number >= 0", error);
    g_autofree char *digits = g_strndup(start, length);
    char *end = NULL;
    double number = g_ascii_strtod(digits, &end);
    if (*end != 0)
        return refuse(text, kind, example, "the number cannot be read", error);
    g_autofree char *unit = g_strstrip(g_strdup(start + length));
    const Unit *u = find_unit(kinds[kind].units, unit);
    if (!u->name && kind == RH_QUANTITY_S)
        u = find_unit(time_words, unit);
    if (!u->name)
        return refuse(text, kind, example, *unit ? "the unit does not fit" : "the unit is missing",
                      error);
    double si = number * u->times / u->over;
    if (!isfinite(si))
        return refuse(text, kind, example, "it is too large", error);
    *value = si;
    return true;
}

bool rh_quantity_parse(const char *text, RhQuantity kind, double *value, GError **error)
{
    return rh_quantity_parse_like(text, kind, NULL, value, error);
}

bool rh_share_parse_like(const char *text, const char *example, double *value, GError **error)
{
    double parsed;
    if (!rh_quantity_parse_like(text, RH_QUANTITY_FRAC, example, &parsed, error))
        return false;
    if (parsed > 1) {
        g_autofree char *shown = quoted(text);
        bool forgotten = !strchr(text, '%') && parsed <= 100;
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s = %.12g%% is more than the whole\nhelp: write %s%.12g%%", shown,
                       100 * parsed, forgotten ? "" : "at most ", forgotten ? parsed : 100);
    }
    *value = parsed;
    return true;
}

bool rh_share_parse(const char *text, double *value, GError **error)
{
    return rh_share_parse_like(text, NULL, value, error);
}

bool rh_integer_parse(const char *text, int64_t low, int64_t high, int64_t *value, GError **error)
{
    g_autoptr(GError) local = NULL;
    gint64 parsed;
    if (g_ascii_string_to_signed(text, 10, low, high, &parsed, &local)) {
        *value = parsed;
        return true;
    }
    g_autofree char *shown = quoted(text);
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s is not a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, shown,
                   low, high);
}

/* Formats with `digits` significant digits; the whole part is always complete up to 10^15. */
static void format_number(double value, int digits, char *out, int size)
{
    char format[16];
    g_snprintf(format, sizeof(format), "%%.%de", digits - 1);
    g_ascii_formatd(out, size, format, value);
    if (!isfinite(value)) /* overflowed in a small unit */
        return;
    int exponent = (int)g_ascii_strtoll(strchr(out, 'e') + 1, NULL, 10); /* of the rounded value */
    if (exponent < -4 || exponent > 15)
        g_snprintf(format, sizeof(format), "%%.%dg", digits);
    else
        g_snprintf(format, sizeof(format), "%%.%df", MAX(digits - 1 - exponent, 0));
    g_ascii_formatd(out, size, format, value);
}

/* Formats in the first unit that the rounded number does not overflow: 999.96 ms is "1.00 s".
 * `names` ascend. */
static char *with_unit(double value, const Unit *units, const char *const *names, int digits)
{
    char number[64];
    const Unit *unit = find_unit(units, names[0]);
    for (int i = 0;; i++) {
        format_number(value * unit->over / unit->times, digits, number, sizeof(number));
        if (!names[i + 1])
            break;
        const Unit *next = find_unit(units, names[i + 1]);
        double rounded = fabs(g_ascii_strtod(number, NULL)) * unit->times / unit->over;
        if (rounded < next->times / next->over)
            break;
        unit = next;
    }
    return g_strdup_printf("%s%s%s", number, *unit->name && *unit->name != '%' ? " " : "",
                           unit->name);
}

char *rh_quantity_format(double value, RhQuantity kind, int digits)
{
    static const char *const shown[][8] = {
        [RH_QUANTITY_NONE] = {"", NULL},
        [RH_QUANTITY_S] = {"ns", "us", "ms", "s", NULL},
        [RH_QUANTITY_BYTES] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL},
        [RH_QUANTITY_BYTES_PER_S] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", NULL},
        [RH_QUANTITY_FLOPS_PER_S] = {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s",
                                     "PFLOP/s", "EFLOP/s", NULL},
        [RH_QUANTITY_W] = {"W", "kW", "MW", NULL},
        [RH_QUANTITY_USD] = {"USD", NULL},
        [RH_QUANTITY_FRAC] = {"%", NULL},
        [RH_QUANTITY_COUNT] = {"", NULL},
        [RH_QUANTITY_TOKENS] = {"", "k", "M", "B", "T", NULL},
    };
    if (!isfinite(value))
        return g_strdup(isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    if (value == 0) {
        const char *unit = kind == RH_QUANTITY_S ? "s" : shown[kind][0];
        return g_strdup_printf("0%s%s", *unit && *unit != '%' ? " " : "", unit);
    }
    return with_unit(value, kinds[kind].units, shown[kind], CLAMP(digits, 1, 17));
}

bool rh_range_holds(const RhRange *range, double value)
{
    return (range->zero && value == 0) || (value >= range->low && value <= range->high);
}

char *rh_range_text(const RhRange *range, RhQuantity kind)
{
    g_autofree char *low = rh_quantity_format(range->low, kind, 3);
    g_autofree char *high = rh_quantity_format(range->high, kind, 3);
    return g_strdup_printf("must be from %s to %s%s", low, high,
                           range->zero && range->low > 0 ? ", or 0" : "");
}

/* Lists divisors. Such texts are made only where an error is wanted: a search asks millions of
 * times without one. */
char *rh_divisors_text(int64_t n, int64_t limit)
{
    g_autoptr(GString) s = g_string_new(NULL);
    for (int64_t d = 1; d <= MIN(n, limit); d++)
        if (n % d == 0)
            g_string_append_printf(s, "%s%" G_GINT64_FORMAT, s->len ? ", " : "", d);
    return g_string_free(g_steal_pointer(&s), FALSE);
}

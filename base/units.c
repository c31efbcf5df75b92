#include "base/units.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

typedef struct {
    const char *name;
    double scale;
} Unit;

static const Unit time_units[] = {{"s", 1},    {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
                                  {"min", 60}, {"h", 3600},  {"d", 86400}, {NULL, 0}};
static const Unit byte_units[] = {{"B", 1},
                                  {"kB", 1e3},
                                  {"MB", 1e6},
                                  {"GB", 1e9},
                                  {"TB", 1e12},
                                  {"PB", 1e15},
                                  {"KiB", 1024.0},
                                  {"MiB", 1048576.0},
                                  {"GiB", 1073741824.0},
                                  {"TiB", 1099511627776.0},
                                  {"PiB", 1125899906842624.0},
                                  {NULL, 0}};
static const Unit rate_units[] = {{"B/s", 1},
                                  {"kB/s", 1e3},
                                  {"MB/s", 1e6},
                                  {"GB/s", 1e9},
                                  {"TB/s", 1e12},
                                  {"PB/s", 1e15},
                                  {"KiB/s", 1024.0},
                                  {"MiB/s", 1048576.0},
                                  {"GiB/s", 1073741824.0},
                                  {"TiB/s", 1099511627776.0},
                                  {"b/s", 1.0 / 8},
                                  {"kb/s", 1e3 / 8},
                                  {"Mb/s", 1e6 / 8},
                                  {"Gb/s", 1e9 / 8},
                                  {"Tb/s", 1e12 / 8},
                                  {NULL, 0}};
static const Unit flop_units[] = {{"FLOP/s", 1},     {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6},
                                  {"GFLOP/s", 1e9},  {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15},
                                  {"EFLOP/s", 1e18}, {NULL, 0}};
static const Unit power_units[] = {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {NULL, 0}};
static const Unit money_units[] = {{"USD", 1}, {NULL, 0}};
static const Unit frac_units[] = {{"%", 0.01}, {"", 1}, {NULL, 0}};
static const Unit count_units[] = {{"", 1}, {NULL, 0}};

/* What a kind is called, its units, and an example for the help line. */
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
};

static bool refuse(const char *text, RhQuantity kind, const char *why, GError **error)
{
    g_autofree char *shown = g_strescape(text, NULL);
    g_autoptr(GString) list = g_string_new(NULL);
    for (const Unit *u = kinds[kind].units; u->name; u++)
        g_string_append_printf(list, "%s%s", list->len ? " " : "", u->name);
    return rh_fail(error, RH_ERROR_INPUT, "\"%.80s\" is not %s: %s\nhelp: write it as %s%s%s",
                   shown, kinds[kind].what, why, kinds[kind].example, list->len ? "; units: " : "",
                   list->str);
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

bool rh_quantity_parse(const char *text, RhQuantity kind, double *value, GError **error)
{
    const char *start = text + strspn(text, " \t");
    size_t length = number_length(start);
    if (length == 0 || length > 60)
        return refuse(text, kind, "it does not start with a number >= 0", error);
    g_autofree char *digits = g_strndup(start, length);
    char *end = NULL;
    double number = g_ascii_strtod(digits, &end);
    if (*end != 0 || !isfinite(number))
        return refuse(text, kind, "the number cannot be read", error);
    g_autofree char *unit = g_strstrip(g_strdup(start + length));
    for (const Unit *u = kinds[kind].units; u->name; u++) {
        if (strcmp(u->name, unit) != 0)
            continue;
        if (!isfinite(number * u->scale))
            return refuse(text, kind, "it is too large", error);
        *value = number * u->scale;
        return true;
    }
    return refuse(text, kind, *unit ? "the unit does not fit" : "the unit is missing", error);
}

bool rh_integer_parse(const char *text, int64_t low, int64_t high, int64_t *value, GError **error)
{
    g_autoptr(GError) local = NULL;
    gint64 parsed;
    if (g_ascii_string_to_signed(text, 10, low, high, &parsed, &local)) {
        *value = parsed;
        return true;
    }
    g_autofree char *shown = g_strescape(text, NULL);
    return rh_fail(error, RH_ERROR_INPUT,
                   "\"%.80s\" is not a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                   shown, low, high);
}

static char *with_unit(double value, const Unit *units, const char *const *names, int digits)
{
    const Unit *best = NULL;
    for (int i = 0; names[i]; i++)
        for (const Unit *u = units; u->name; u++)
            if (strcmp(u->name, names[i]) == 0 && (!best || fabs(value) >= u->scale))
                best = u;
    double scaled = value / best->scale;
    double magnitude = scaled == 0 ? 0 : floor(log10(fabs(scaled)));
    int decimals = CLAMP(digits - 1 - (int)magnitude, 0, digits + 2);
    char number[64], format[16];
    g_snprintf(format, sizeof(format), "%%.%df", decimals);
    g_ascii_formatd(number, sizeof(number), format, scaled);
    return g_strdup_printf("%s%s%s", number, *best->name && *best->name != '%' ? " " : "",
                           best->name);
}

char *rh_quantity_format(double value, RhQuantity kind, int digits)
{
    static const char *const shown[][8] = {
        [RH_QUANTITY_NONE] = {"", NULL},
        [RH_QUANTITY_S] = {"ns", "us", "ms", "s", NULL},
        [RH_QUANTITY_BYTES] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL},
        [RH_QUANTITY_BYTES_PER_S] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", NULL},
        [RH_QUANTITY_FLOPS_PER_S] = {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s",
                                     "PFLOP/s", "EFLOP/s", NULL},
        [RH_QUANTITY_W] = {"W", "kW", "MW", NULL},
        [RH_QUANTITY_USD] = {"USD", NULL},
        [RH_QUANTITY_FRAC] = {"%", NULL},
        [RH_QUANTITY_COUNT] = {"", NULL},
    };
    if (value == 0 && kind != RH_QUANTITY_FRAC)
        return with_unit(0, kinds[kind].units,
                         (const char *const[]){kind == RH_QUANTITY_S ? "s" : shown[kind][0], NULL},
                         1);
    return with_unit(value, kinds[kind].units, shown[kind], digits);
}

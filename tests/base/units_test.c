#include "base/units.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

typedef struct {
    const char *text;
    RhQuantity kind;
    double value;
} Case;

static const Case cases[] = {
    {"2s", RH_QUANTITY_S, 2},
    {"7ms", RH_QUANTITY_S, 7e-3},
    {"7us", RH_QUANTITY_S, 7e-6},
    {"9ns", RH_QUANTITY_S, 9e-9},
    {"1.5min", RH_QUANTITY_S, 90},
    {"2h", RH_QUANTITY_S, 7200},
    {"30d", RH_QUANTITY_S, 2592000},
    {"90 days", RH_QUANTITY_S, 7776000},
    {"2weeks", RH_QUANTITY_S, 1209600},
    {"3B", RH_QUANTITY_BYTES, 3},
    {"3kB", RH_QUANTITY_BYTES, 3e3},
    {"3MB", RH_QUANTITY_BYTES, 3e6},
    {"80GB", RH_QUANTITY_BYTES, 80e9},
    {"3TB", RH_QUANTITY_BYTES, 3e12},
    {"3PB", RH_QUANTITY_BYTES, 3e15},
    {"3KiB", RH_QUANTITY_BYTES, 3072},
    {"3MiB", RH_QUANTITY_BYTES, 3145728},
    {"0.5GiB", RH_QUANTITY_BYTES, 536870912},
    {"1TiB", RH_QUANTITY_BYTES, 1099511627776},
    {"1PiB", RH_QUANTITY_BYTES, 1125899906842624},
    {"1B/s", RH_QUANTITY_BYTES_PER_S, 1},
    {"1kB/s", RH_QUANTITY_BYTES_PER_S, 1e3},
    {"1MB/s", RH_QUANTITY_BYTES_PER_S, 1e6},
    {"450GB/s", RH_QUANTITY_BYTES_PER_S, 450e9},
    {"3.35TB/s", RH_QUANTITY_BYTES_PER_S, 3.35e12},
    {"1PB/s", RH_QUANTITY_BYTES_PER_S, 1e15},
    {"1KiB/s", RH_QUANTITY_BYTES_PER_S, 1024},
    {"1MiB/s", RH_QUANTITY_BYTES_PER_S, 1048576},
    {"1GiB/s", RH_QUANTITY_BYTES_PER_S, 1073741824},
    {"1TiB/s", RH_QUANTITY_BYTES_PER_S, 1099511627776},
    {"1PiB/s", RH_QUANTITY_BYTES_PER_S, 1125899906842624},
    {"8b/s", RH_QUANTITY_BYTES_PER_S, 1},
    {"8kb/s", RH_QUANTITY_BYTES_PER_S, 1e3},
    {"8Mb/s", RH_QUANTITY_BYTES_PER_S, 1e6},
    {"400Gb/s", RH_QUANTITY_BYTES_PER_S, 5e10},
    {"1.6Tb/s", RH_QUANTITY_BYTES_PER_S, 2e11},
    {"1FLOP/s", RH_QUANTITY_FLOPS_PER_S, 1},
    {"1kFLOP/s", RH_QUANTITY_FLOPS_PER_S, 1e3},
    {"1MFLOP/s", RH_QUANTITY_FLOPS_PER_S, 1e6},
    {"1GFLOP/s", RH_QUANTITY_FLOPS_PER_S, 1e9},
    {"989TFLOP/s", RH_QUANTITY_FLOPS_PER_S, 989e12},
    {"2.25PFLOP/s", RH_QUANTITY_FLOPS_PER_S, 2.25e15},
    {"1EFLOP/s", RH_QUANTITY_FLOPS_PER_S, 1e18},
    {"700W", RH_QUANTITY_W, 700},
    {"1.2kW", RH_QUANTITY_W, 1200},
    {"24MW", RH_QUANTITY_W, 24e6},
    {"2.5USD", RH_QUANTITY_USD, 2.5},
    {"3M", RH_QUANTITY_USD, 3e6},
    {"90%", RH_QUANTITY_FRAC, 0.9},
    {"7%", RH_QUANTITY_FRAC, 0.07},
    {"0.9", RH_QUANTITY_FRAC, 0.9},
    {"8", RH_QUANTITY_COUNT, 8},
    {"1e9", RH_QUANTITY_COUNT, 1e9},
    {"1E-3s", RH_QUANTITY_S, 1e-3},
    {"1.5e+3B", RH_QUANTITY_BYTES, 1500},
    {" 400 Gb/s ", RH_QUANTITY_BYTES_PER_S, 5e10},
    {"0s", RH_QUANTITY_S, 0},
    {".5s", RH_QUANTITY_S, 0.5},
};

static void check_all(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        double value = -1;
        g_autoptr(GError) error = NULL;
        if (!rh_quantity_parse(cases[i].text, cases[i].kind, &value, &error))
            fprintf(stderr, "  %s\n", error->message);
        CU_ASSERT_EQUAL(value, cases[i].value); /* the nearest double, not one beside it */
    }
}

static void every_unit_is_read_exactly(void)
{
    check_all();
}

/* Message when refused, "" when not; *value must stay. Caller frees. */
static char *refusal(const char *text, RhQuantity kind)
{
    double value = 42;
    g_autoptr(GError) error = NULL;
    if (rh_quantity_parse(text, kind, &value, &error)) {
        fprintf(stderr, "  \"%s\" was read as %g\n", text, value);
        return g_strdup("");
    }
    CU_ASSERT_EQUAL(value, 42);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    return g_strdup(error->message);
}

static void missing_and_foreign_units_are_refused_with_help(void)
{
    const struct {
        const char *text;
        RhQuantity kind;
        const char *part;
    } bad[] = {
        {"400", RH_QUANTITY_BYTES_PER_S, "the unit is missing"},
        {"400", RH_QUANTITY_BYTES_PER_S, "help: write it as 50GB/s or 400Gb/s"},
        {"400", RH_QUANTITY_BYTES_PER_S, "Gb/s"},
        {"0", RH_QUANTITY_S, "the unit is missing"},
        {"400GB", RH_QUANTITY_BYTES_PER_S, "the unit does not fit"},
        {"400Gb", RH_QUANTITY_BYTES, "the unit does not fit"},
        {"400gb/s", RH_QUANTITY_BYTES_PER_S, "the unit does not fit"},
        {"1 s s", RH_QUANTITY_S, "the unit does not fit"},
        {"1s2", RH_QUANTITY_S, "the unit does not fit"},
        {"5µs", RH_QUANTITY_S, "\"5µs\" is not a time"},
        {"90%%", RH_QUANTITY_FRAC, "the unit does not fit"},
        {"90%", RH_QUANTITY_COUNT, "the unit does not fit"},
        {"2EUR", RH_QUANTITY_USD, "units: USD"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *message = refusal(bad[i].text, bad[i].kind);
        CU_ASSERT_TRUE(rh_test_says(message, bad[i].part));
    }
}

static void only_plain_finite_numbers_from_zero_up_are_read(void)
{
    const char *bad[] = {"",     " ",     "s",    "-1s",    "+1s",    "-0s",  "0x10s",    "inf",
                         "infs", "nan s", "NaNs", "1e400s", "1.2.3s", "..s",  "1,5s",     "1e308d",
                         "１s",  "\xff",  ".s",   "1_000s", "\n1s",   "1e-s", "Infinity", "$5"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *message = refusal(bad[i], RH_QUANTITY_S);
        CU_ASSERT_TRUE(*message != 0);
        CU_ASSERT_TRUE(g_utf8_validate(message, -1, NULL));
    }
    g_autofree char *long_text = g_strnfill(5000, 'x');
    g_autofree char *message = refusal(long_text, RH_QUANTITY_S);
    CU_ASSERT_TRUE(strlen(message) < 300);
    double value = 0;
    g_autofree char *many_digits = g_strdup_printf("0.%0100ds", 0);
    CU_ASSERT_TRUE(rh_quantity_parse(many_digits, RH_QUANTITY_S, &value, NULL));
    CU_ASSERT_EQUAL(value, 0);
}

static void a_share_is_at_most_the_whole(void)
{
    static const char *const wrong[] = {"90", "1.01", "200%", "5", "1e300", "x", "", "5s"};
    double value = 0;
    CU_ASSERT_TRUE(rh_share_parse("90%", &value, NULL) && value == 0.9);
    CU_ASSERT_TRUE(rh_share_parse("0.9", &value, NULL) && value == 0.9);
    CU_ASSERT_TRUE(rh_share_parse("100%", &value, NULL) && value == 1);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_share_parse(wrong[i], &value, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
    CU_ASSERT_EQUAL(value, 1);
}

static void the_locale_does_not_matter(void)
{
    const char *german[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE"};
    bool set = false;
    for (size_t i = 0; i < G_N_ELEMENTS(german) && !set; i++)
        set = setlocale(LC_ALL, german[i]) != NULL;
    if (!set)
        fprintf(stderr, "  (no German locale here: checked in the C locale only)\n");
    check_all();
    g_autofree char *refused = refusal("1,5s", RH_QUANTITY_S);
    CU_ASSERT_TRUE(*refused != 0);
    g_autofree char *text = rh_quantity_format(1.5, RH_QUANTITY_S, 3);
    setlocale(LC_ALL, "C");
    CU_ASSERT_STRING_EQUAL(text, "1.50 s");
}

static void whole_numbers_are_bounded(void)
{
    int64_t value = 42;
    CU_ASSERT_TRUE(rh_integer_parse("-9223372036854775808", INT64_MIN, INT64_MAX, &value, NULL));
    CU_ASSERT_EQUAL(value, INT64_MIN);
    CU_ASSERT_TRUE(rh_integer_parse("70553706496", 0, INT64_MAX, &value, NULL));
    CU_ASSERT_EQUAL(value, 70553706496);
    const char *bad[] = {"",
                         "x",
                         "8x",
                         "8 ",
                         " 8",
                         "0x8",
                         "1e3",
                         "8.",
                         "1.5",
                         "101",
                         "0",
                         "-1",
                         "99999999999999999999"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        value = 42;
        CU_ASSERT_FALSE(rh_integer_parse(bad[i], 1, 100, &value, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_EQUAL(value, 42);
    }
}

static void check_format(double value, RhQuantity kind, int digits, const char *wanted)
{
    g_autofree char *text = rh_quantity_format(value, kind, digits);
    if (strcmp(text, wanted) != 0)
        fprintf(stderr, "  %.17g is \"%s\", not \"%s\"\n", value, text, wanted);
    CU_ASSERT_STRING_EQUAL(text, wanted);
}

static void text_has_a_fitting_unit(void)
{
    check_format(62.4, RH_QUANTITY_S, 3, "62.4 s");
    check_format(12.3e-6, RH_QUANTITY_S, 3, "12.3 us");
    check_format(0.5, RH_QUANTITY_S, 3, "500 ms");
    check_format(1, RH_QUANTITY_S, 3, "1.00 s");
    check_format(1e-3, RH_QUANTITY_S, 3, "1.00 ms");
    check_format(1e-6, RH_QUANTITY_S, 1, "1 us");
    check_format(72.4 * 1073741824.0, RH_QUANTITY_BYTES, 3, "72.4 GiB");
    check_format(1023, RH_QUANTITY_BYTES, 3, "1023 B");
    check_format(1024, RH_QUANTITY_BYTES, 3, "1.00 KiB");
    check_format(450e9, RH_QUANTITY_BYTES_PER_S, 3, "450 GB/s");
    check_format(430e12, RH_QUANTITY_FLOPS_PER_S, 3, "430 TFLOP/s");
    check_format(6.5e18, RH_QUANTITY_FLOPS_PER_S, 3, "6.50 EFLOP/s");
    check_format(700, RH_QUANTITY_W, 3, "700 W");
    check_format(1200, RH_QUANTITY_W, 2, "1.2 kW");
    check_format(2.5, RH_QUANTITY_USD, 3, "2.50 USD");
    check_format(0.9, RH_QUANTITY_FRAC, 3, "90.0%");
    check_format(1, RH_QUANTITY_FRAC, 3, "100%");
    check_format(8, RH_QUANTITY_COUNT, 1, "8");
    check_format(70553706496.0, RH_QUANTITY_COUNT, 3, "70553706496");
}

static void rounding_moves_to_the_next_unit(void)
{
    check_format(0.99996, RH_QUANTITY_S, 3, "1.00 s");
    check_format(0.9994, RH_QUANTITY_S, 3, "999 ms");
    check_format(0.99996, RH_QUANTITY_S, 5, "999.96 ms");
    check_format(9.996, RH_QUANTITY_S, 3, "10.0 s");
    check_format(99.96, RH_QUANTITY_S, 3, "100 s");
    check_format(9.9999e-7, RH_QUANTITY_S, 3, "1.00 us");
    check_format(1023.7 * 1024, RH_QUANTITY_BYTES, 3, "1.00 MiB");
    check_format(1023.4 * 1024, RH_QUANTITY_BYTES, 3, "1023 KiB");
    check_format(999.7e9, RH_QUANTITY_BYTES_PER_S, 3, "1.00 TB/s");
    check_format(0.09996, RH_QUANTITY_FRAC, 3, "10.0%");
}

static void zero_negative_and_extreme_values_have_text(void)
{
    check_format(0, RH_QUANTITY_S, 3, "0 s");
    check_format(-0.0, RH_QUANTITY_S, 3, "0 s");
    check_format(0, RH_QUANTITY_BYTES, 3, "0 B");
    check_format(0, RH_QUANTITY_FRAC, 3, "0%");
    check_format(0, RH_QUANTITY_COUNT, 3, "0");
    check_format(-0.0123, RH_QUANTITY_S, 3, "-12.3 ms");
    check_format(-0.99996, RH_QUANTITY_S, 3, "-1.00 s");
    check_format(1e-12, RH_QUANTITY_S, 3, "0.00100 ns");
    check_format(1e-20, RH_QUANTITY_S, 3, "1e-11 ns");
    check_format(86400.0 * 365, RH_QUANTITY_S, 3, "31536000 s");
    check_format(1e30, RH_QUANTITY_S, 3, "1e+30 s");
    check_format(DBL_MAX, RH_QUANTITY_S, 3, "1.8e+308 s");
    check_format((double)INFINITY, RH_QUANTITY_S, 3, "inf");
    check_format(-(double)INFINITY, RH_QUANTITY_S, 3, "-inf");
    check_format((double)NAN, RH_QUANTITY_S, 3, "nan");
    check_format(1.5, RH_QUANTITY_S, 0, "2 s");
}

/* Printed quantities are within half of a last digit of the value. */
static void formatted_text_parses_back(void)
{
    static const RhQuantity kinds[] = {RH_QUANTITY_S,           RH_QUANTITY_BYTES,
                                       RH_QUANTITY_BYTES_PER_S, RH_QUANTITY_FLOPS_PER_S,
                                       RH_QUANTITY_W,           RH_QUANTITY_FRAC};
    for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
        for (double value = 1.2345e-8; value < 1e17; value *= 3.7) {
            double back = 0;
            g_autofree char *text = rh_quantity_format(value, kinds[k], 4);
            CU_ASSERT_TRUE(rh_quantity_parse(text, kinds[k], &back, NULL));
            RH_CHECK_CLOSE(back, value, 5.1e-4);
        }
}

int main(void)
{
    return rh_test_main(
        "units", (RhTest[]){{"every_unit_is_read_exactly", every_unit_is_read_exactly},
                            {"missing_and_foreign_units_are_refused_with_help",
                             missing_and_foreign_units_are_refused_with_help},
                            {"only_plain_finite_numbers_from_zero_up_are_read",
                             only_plain_finite_numbers_from_zero_up_are_read},
                            {"a_share_is_at_most_the_whole", a_share_is_at_most_the_whole},
                            {"the_locale_does_not_matter", the_locale_does_not_matter},
                            {"whole_numbers_are_bounded", whole_numbers_are_bounded},
                            {"text_has_a_fitting_unit", text_has_a_fitting_unit},
                            {"rounding_moves_to_the_next_unit", rounding_moves_to_the_next_unit},
                            {"zero_negative_and_extreme_values_have_text",
                             zero_negative_and_extreme_values_have_text},
                            {"formatted_text_parses_back", formatted_text_parses_back},
                            {0}});
}

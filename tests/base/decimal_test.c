/* Decimal numbers as texts have them. */
#include "base/decimal.h"

#include <glib.h>

#include "tests/kit/testkit.h"

static void decimal_numbers_are_read_whole(void)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"16", 16}, {" 0.5", 0.5}, {"-1e-3", -1e-3}, {"+2E3", 2000}, {".5", 0.5}};
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        double value = 0;
        CU_ASSERT_TRUE(rh_number_parse(good[i].text, &value));
        CU_ASSERT_EQUAL(value, good[i].value);
    }
}

static void what_is_no_decimal_number_is_not_read(void)
{
    static const char *const bad[] = {"",     " ",   "0x10", "inf", "-Infinity", "nan", "1e999",
                                      "1.5 ", "1,5", "5s",   "1e",  "--1",       "."};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        double value = 7;
        if (rh_number_parse(bad[i], &value))
            fprintf(stderr, "    read: \"%s\"\n", bad[i]);
        CU_ASSERT_EQUAL(value, 7);
    }
}

int main(void)
{
    return rh_test_main(
        "decimal",
        (RhTest[]){{"decimal_numbers_are_read_whole", decimal_numbers_are_read_whole},
                   {"what_is_no_decimal_number_is_not_read", what_is_no_decimal_number_is_not_read},
                   {0}});
}

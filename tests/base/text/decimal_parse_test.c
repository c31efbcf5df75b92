/* Decimal numbers as texts have them. */
#include "base/text/decimal_parse.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>

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

/* Texts become the doubles nearest to them, to the last bit.
 * Source: RFC 8785, appendix B, number serialization samples. */
static void decimal_numbers_are_the_doubles_of_the_rfc(void)
{
    static const struct {
        const char *text;
        uint64_t bits;
    } rows[] = {{"5e-324", 0x0000000000000001},
                {"1.7976931348623157e+308", 0x7fefffffffffffff},
                {"9007199254740992", 0x4340000000000000},
                {"295147905179352830000", 0x4430000000000000},
                {"9.999999999999997e22", 0x44b52d02c7e14af5},
                {"1e+23", 0x44b52d02c7e14af6},
                {"1.0000000000000001e+23", 0x44b52d02c7e14af7},
                {"999999999999999700000", 0x444b1ae4d6e2ef4e},
                {"999999999999999900000", 0x444b1ae4d6e2ef4f},
                {"1e+21", 0x444b1ae4d6e2ef50},
                {"9.999999999999997e-7", 0x3eb0c6f7a0b5ed8c},
                {"0.000001", 0x3eb0c6f7a0b5ed8d},
                {"333333333.3333332", 0x41b3de4355555553},
                {"333333333.33333325", 0x41b3de4355555554},
                {"333333333.3333333", 0x41b3de4355555555},
                {"333333333.3333334", 0x41b3de4355555556},
                {"333333333.33333343", 0x41b3de4355555557},
                {"-0.0000033333333333333333", 0xbecbf647612f3696},
                {"1424953923781206.2", 0x43143ff3c1cb0959}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        double value = 0;
        uint64_t bits = 0;
        CU_ASSERT_TRUE(rh_number_parse(rows[i].text, &value));
        memcpy(&bits, &value, sizeof bits);
        CU_ASSERT_EQUAL(bits, rows[i].bits);
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
                   {"decimal_numbers_are_the_doubles_of_the_rfc",
                    decimal_numbers_are_the_doubles_of_the_rfc},
                   {"what_is_no_decimal_number_is_not_read", what_is_no_decimal_number_is_not_read},
                   {0}});
}

/* All unit tests in one program (RH_ONE_TEST_PROGRAM): unit_tests NAME runs tests/NAME.c. RH_UNIT_TESTS and
 * their main functions come from a header that CMake writes and every test's compilation begins with. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
#define ROW(name) {#name, name##_main},
    static const struct {
        const char *name;
        int (*run)(void);
    } tests[] = {RH_UNIT_TESTS(ROW)};
    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof tests[0]; i++)
        if (strcmp(tests[i].name, argv[1]) == 0)
            return tests[i].run();
    fprintf(stderr, "usage: unit_tests NAME, as in unit_tests json_test\n");
    return 2;
}

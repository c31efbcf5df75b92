#include "tests/kit/testkit.h"

#include <CUnit/Basic.h>
#include <glib.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool rh_test_close(double a, double b, double relative)
{
    double scale = fmax(fabs(a), fabs(b));
    bool close = fabs(a - b) <= relative * scale;
    if (!close)
        fprintf(stderr, "  %.12g and %.12g differ by %.3g (allowed %.3g)\n", a, b,
                scale > 0 ? fabs(a - b) / scale : 0.0, relative);
    return close;
}

bool rh_test_says(const char *text, const char *part)
{
    bool says = text && strstr(text, part);
    if (!says)
        fprintf(stderr, "  no \"%s\" in:\n%s\n", part, text ? text : "(nothing)");
    return says;
}

int rh_test_main(const char *suite, const RhTest *tests)
{
    gsl_set_error_handler_off();
    g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR);
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 70;
    CU_pSuite registered = CU_add_suite(suite, NULL, NULL);
    for (const RhTest *t = tests; t->name; t++)
        CU_add_test(registered, t->name, t->run);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures() + CU_get_number_of_tests_failed();
    unsigned run = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    return failed || run == 0 ? 1 : 0;
}

#pragma once
/* The few lines every CUnit program of ours shares: a suite is a NULL-ended table of named tests.
 */
#include <CUnit/CUnit.h>
#include <stdbool.h>

/* How often a property is tried: less often where sanitizers make every try many times dearer. */
#ifdef RH_SANITIZED
#define RH_TRIES(plain, sanitized) (sanitized)
#else
#define RH_TRIES(plain, sanitized) (plain)
#endif

typedef struct {
    const char *name; /* a sentence: what is true */
    void (*run)(void);
} RhTest;

/* Runs `tests` as suite `suite`; prints counted passes and failures; returns the exit status. */
int rh_test_main(const char *suite, const RhTest *tests);

/* Returns whether a and b agree within `relative` (of the larger), or both are 0. */
bool rh_test_close(double a, double b, double relative);
/* Returns whether `text` (NULL: nothing) contains `part`; prints both if not. */
bool rh_test_says(const char *text, const char *part);
#define RH_CHECK_CLOSE(a, b, rel) CU_ASSERT_TRUE(rh_test_close((a), (b), (rel)))

#pragma once
/* What every fuzz target shares. A broken promise aborts, which libFuzzer reports with its input.
 */
#include <glib.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Our own promises; g_assert() alone would do, but says less to a reader. */
#define FUZZ_CHECK(promise)                                                                        \
    do {                                                                                           \
        if (!(promise))                                                                            \
            abort();                                                                               \
    } while (0)

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR);
    return 0;
}

/* A refusal must say why. Clears the error. */
static inline void fuzz_check_error(GError **error)
{
    FUZZ_CHECK(*error != NULL && *(*error)->message != 0);
    g_clear_error(error);
}

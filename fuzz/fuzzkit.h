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

/* In place of GLib's, which drops its old table whenever it grows (quark_new() in gquark.c, by
 * design): with as many texts as a fuzzer makes, that reads as a leak of ours. */
const gchar *g_intern_string(const gchar *text)
{
    static GHashTable *texts;
    if (!text)
        return NULL;
    if (!texts)
        texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const gchar *found = g_hash_table_lookup(texts, text);
    if (!found) {
        gchar *copy = g_strdup(text);
        g_hash_table_add(texts, copy);
        found = copy;
    }
    return found;
}

/* A refusal must say why. Clears the error. */
static inline void fuzz_check_error(GError **error)
{
    FUZZ_CHECK(*error != NULL && *(*error)->message != 0);
    g_clear_error(error);
}

#pragma once
/* Models typed as configurations, in single quotes, beside the counts that are published of them. */
#include <string.h>

#include "base/error.h"
#include "tests/testkit.h"
#include "workloads/model.h"
#include "workloads/ops.h"

#define SHAPE(type, layers, hidden, heads, kv, ffn, vocab)                                         \
    "'model_type': '" type "', 'num_hidden_layers': " #layers ", 'hidden_size': " #hidden          \
    ", 'num_attention_heads': " #heads ", 'num_key_value_heads': " #kv                             \
    ", 'intermediate_size': " #ffn ", 'vocab_size': " #vocab

typedef struct {
    const char *config;
    int64_t params;
} ExactCount;

/* NULL and an error where it is refused. */
static inline RhModel *model_parse(const char *text, GError **error)
{
    g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
    g_autoptr(RhJson) doc = rh_json_parse("config.json", json, strlen(json), error);
    return doc ? rh_model_parse(doc, "test", error) : NULL;
}

static inline RhModel *model_load(const char *text)
{
    g_autoptr(GError) error = NULL;
    RhModel *m = model_parse(text, &error);
    if (!m)
        g_printerr("  %s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

/* As bad input, with words that hold `expected`. */
static inline void check_refused(const char *text, const char *expected)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m = model_parse(text, &error);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, expected));
}

static inline void check_exact(const ExactCount *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        g_autoptr(RhModel) m = model_load(rows[i].config);
        CU_ASSERT_EQUAL(rh_model_params(m), rows[i].params);
        if (rh_model_params(m) != rows[i].params)
            g_printerr("  %s: %" G_GINT64_FORMAT "\n", rows[i].config, rh_model_params(m));
    }
}

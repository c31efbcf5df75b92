#include "tests/kit/model_counts.h"

RhModel *model_parse(const char *text, GError **error)
{
    g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
    g_autoptr(RhJson) doc = rh_json_parse("config.json", json, strlen(json), error);
    return doc ? rh_model_parse(doc, "test", error) : NULL;
}

RhModel *model_load(const char *text)
{
    g_autoptr(GError) error = NULL;
    RhModel *m = model_parse(text, &error);
    if (!m)
        g_printerr("  %s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

void check_refused(const char *text, const char *expected)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) m = model_parse(text, &error);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_TRUE(rh_test_says(error ? error->message : NULL, expected));
}

void check_exact(const ExactCount *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        g_autoptr(RhModel) m = model_load(rows[i].config);
        CU_ASSERT_EQUAL(rh_model_params(m), rows[i].params);
        if (rh_model_params(m) != rows[i].params)
            g_printerr("  %s: %" G_GINT64_FORMAT "\n", rows[i].config, rh_model_params(m));
    }
}

/* rh_family_file_read: what it accepts has operators and named fields, and its rules can be performed on any figures. */
#include "fuzz/fuzzkit.h"
#include "workloads/config/family_derived_fields.h"
#include "workloads/config/family_field_names.h"
#include "workloads/config/family_file_read.h"

/* Files derive from a family of the catalogue. */
static const RhFamily *find(const char *name, GError **error)
{
    const RhFamily *family = rh_family_find("llama", error);
    return g_str_equal(name, "none") ? NULL : family;
}

/* Figures at random, within what a key may set. */
static RhConfig drawn_config(const uint8_t *data, size_t size)
{
    RhConfig config = {0};
    for (size_t i = 0; i < sizeof config / sizeof(int64_t) && size > 0; i++)
        ((int64_t *)(void *)&config)[i] = (int64_t)(data[i % size] * 123457u);
    return config;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("fuzz.json", (const char *)data, size, &error);
    g_autoptr(RhFamilyFile) file = doc ? rh_family_file_read(doc, "fuzz", find, &error) : NULL;
    if (!file) {
        fuzz_check_error(&error);
        return 0;
    }
    for (int32_t i = 0; i < file->count; i++) {
        const RhFamily *family = &file->families[i];
        FUZZ_CHECK(family->mixer != NULL && family->ffn != NULL && family->name != NULL);
        for (const RhField *f = family->fields; f->type != RH_FIELD_NONE; f++)
            FUZZ_CHECK(f->offset < sizeof(RhConfig) && f->low <= f->high);
        RhConfig config = drawn_config(data, size);
        rh_rules_apply(family->rules, &config);
    }
    return 0;
}

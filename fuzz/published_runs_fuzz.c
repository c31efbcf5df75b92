/* Tables of published runs: whatever is read is said or refused with a reason; nothing is performed. */
#include "base/text/csv.h"
#include "fuzz/fuzzkit.h"
#include "validate/cases/cases_translate.h"

/* A new one now and then: it keeps every model and platform it met. */
static RhTranslator *translator(void)
{
    static RhTranslator *t;
    static int asked;
    if (asked++ % 1024 == 0) {
        rh_translator_free(t);
        t = rh_translator_new(NULL);
    }
    FUZZ_CHECK(t != NULL);
    return t;
}

static void try_row(const RhCaseRow *row)
{
    RhTranslated out;
    g_autofree char *why = rh_translate(translator(), row, &out);
    if (why)
        FUZZ_CHECK(*why != 0);
    else
        FUZZ_CHECK(out.key && out.c.model && out.c.platform && out.measured_s >= 0 &&
                   out.layout.tp > 0);
    rh_translated_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhCaseTable) table = rh_case_table_parse("fuzz.csv", text, &error);
    if (!table)
        fuzz_check_error(&error);
    for (guint i = 0; table && i < table->rows->len && i < 8; i++)
        try_row(&g_array_index(table->rows, RhCaseRow, i));
    return 0;
}

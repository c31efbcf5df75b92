/* rh_layout_parse and rh_constraint_parse: what is formatted reads back as the same layout. */
#include <string.h>

#include "fuzz/fuzzkit.h"
#include "strategies/layout.h"
#include "strategies/search/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strndup((const char *)data, size);
    RhLayout layout = rh_layout_default(), again = rh_layout_default();
    if (rh_layout_parse(text, &layout, &error)) {
        g_autofree char *first = rh_layout_format(&layout), *title = rh_layout_title(&layout);
        FUZZ_CHECK(*title != 0);
        FUZZ_CHECK(rh_layout_parse(first, &again, &error));
        g_autofree char *second = rh_layout_format(&again);
        FUZZ_CHECK(strcmp(first, second) == 0);
    } else {
        fuzz_check_error(&error);
    }
    for (int is_limit = 0; is_limit < 2; is_limit++) {
        RhConstraint constraint = {0};
        if (rh_constraint_parse(text, is_limit, &constraint, &error))
            FUZZ_CHECK(constraint.value >= 0);
        else
            fuzz_check_error(&error);
    }
    return 0;
}

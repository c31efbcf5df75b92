/* Quantities and whole numbers: what is read is finite and >= 0, and what is formatted reads back.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/nearest_names.h"
#include "base/units.h"
#include "fuzz/fuzzkit.h"

static void check_value(double value, RhQuantity kind)
{
    double back = -1;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = rh_quantity_format(value, kind, 4);
    FUZZ_CHECK(g_utf8_validate(text, -1, NULL));
    if (!(value > 1e-290 && value < 1e300))
        return;
    FUZZ_CHECK(rh_quantity_parse(text, kind, &back, &error));
    FUZZ_CHECK(fabs(back - value) <= 5.1e-4 * value);
}

/* The text is untrusted, the message is for a terminal. */
static void check_refusal(GError **error)
{
    FUZZ_CHECK(*error != NULL && g_utf8_validate((*error)->message, -1, NULL));
    fuzz_check_error(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"bandwidth", "latency", "tp", "nodes", NULL};
    g_autofree char *text = g_strndup((const char *)data, size);
    double bits = 0;
    memcpy(&bits, data, MIN(size, sizeof(bits)));
    for (RhQuantity kind = RH_QUANTITY_NONE; kind <= RH_QUANTITY_COUNT; kind++) {
        double value = -1;
        g_autoptr(GError) error = NULL;
        if (rh_quantity_parse(text, kind, &value, &error)) {
            FUZZ_CHECK(isfinite(value) && value >= 0);
            check_value(value, kind);
        } else {
            FUZZ_CHECK(value == -1);
            check_refusal(&error);
        }
        check_value(bits, kind);
        g_free(rh_quantity_format(bits, kind, (int)(size % 20)));
    }
    int64_t whole = 0;
    g_autoptr(GError) error = NULL;
    if (rh_integer_parse(text, -5, 1 << 20, &whole, &error))
        FUZZ_CHECK(whole >= -5 && whole <= 1 << 20);
    else
        check_refusal(&error);
    rh_near_name(text, names);
    return 0;
}

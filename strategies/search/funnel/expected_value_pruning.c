#include "strategies/search/funnel/expected_value_pruning.h"

#include <math.h>

#include "strategies/search/funnel/near_miss_layouts.h"

static RhExpectedValue *of_kind(const GArray *foreseen, const RhLayout *l)
{
    for (guint i = 0; i < foreseen->len; i++) {
        RhExpectedValue *f = &g_array_index(foreseen, RhExpectedValue, i);
        if (rh_layout_same_kind(&f->layout, l))
            return f;
    }
    return NULL;
}

void rh_expect_value(GArray *foreseen, const RhLayout *layout, double worth, bool variants)
{
    RhExpectedValue fresh = {*layout, worth};
    RhExpectedValue *same = variants ? NULL : of_kind(foreseen, layout);
    if (same)
        same->worth = fmin(same->worth, worth);
    else
        g_array_append_val(foreseen, fresh);
}

static gint ascending(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double rh_expected_worth(const GArray *foreseen, int32_t k)
{
    if ((int32_t)foreseen->len < k)
        return (double)INFINITY;
    g_autoptr(GArray) worths = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < foreseen->len; i++)
        g_array_append_val(worths, g_array_index(foreseen, RhExpectedValue, i).worth);
    g_array_sort(worths, ascending);
    return g_array_index(worths, double, k - 1);
}

double rh_expected_kind_worth(const GArray *foreseen, const RhLayout *layout)
{
    const RhExpectedValue *same = of_kind(foreseen, layout);
    return same ? same->worth : (double)INFINITY;
}

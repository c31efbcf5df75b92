#include "sweep/study_axes.h"

#include <math.h>
#include <string.h>

#include "base/interned_strings.h"

#define VALUES_MAX 100000 /* of one axis */

static void bundle_free(void *data)
{
    RhStudyBundle *bundle = data;
    g_ptr_array_unref(bundle->names);
    g_ptr_array_unref(bundle->nodes);
    g_ptr_array_unref(bundle->values);
    g_free(bundle);
}

static char *number_text(double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (value == floor(value) && fabs(value) < 9007199254740992.0)
        return g_strdup_printf("%" G_GINT64_FORMAT, (int64_t)value);
    return g_strdup(g_ascii_formatd(text, sizeof text, "%.15g", value));
}

char *rh_study_scalar(RhJson *doc, const RhJsonNode *node)
{
    switch (rh_json_kind(node)) {
    case RH_JSON_NUMBER:
        return number_text(rh_json_node_number(doc, node, -1e300, 1e300));
    case RH_JSON_TEXT:
        return g_strdup(rh_json_node_string(doc, node));
    case RH_JSON_TRUE:
        return g_strdup("true");
    case RH_JSON_NULL:
    case RH_JSON_FALSE:
        return NULL;
    case RH_JSON_ARRAY:
    case RH_JSON_OBJECT:
        break;
    }
    rh_json_problem(doc, node, NULL, "a text, a number, true, false or null belongs here");
    return NULL;
}

/* {"from": 1, "to": 64, "times": 2}, or "plus". */
static void read_range(RhJson *doc, const RhJsonNode *node, GPtrArray *values)
{
    double from = rh_json_number(doc, node, "from", -1e15, 1e15);
    double to = rh_json_number(doc, node, "to", -1e15, 1e15);
    double times = rh_json_number_or(doc, node, "times", 1, 1e15, 1);
    double plus = rh_json_number_or(doc, node, "plus", 0, 1e15, 0);
    if ((times > 1) == (plus > 0) || (times > 1 && from <= 0)) {
        rh_json_problem(doc, node, "like {\"from\": 1, \"to\": 64, \"times\": 2}",
                        "a range needs either \"times\" above 1, from a number above 0, or "
                        "\"plus\" above 0");
        return;
    }
    for (int32_t i = 0;; i++) { /* not step by step: errors would add up */
        double value = times > 1 ? from * pow(times, i) : from + plus * i;
        if (value > to * (1 + 1e-12) + 1e-300)
            break;
        if (i >= VALUES_MAX) {
            rh_json_problem(doc, node, NULL, "more than %d values", VALUES_MAX);
            break;
        }
        g_ptr_array_add(values, number_text(value));
    }
}

static GPtrArray *read_values(RhJson *doc, const RhJsonNode *node)
{
    GPtrArray *values = g_ptr_array_new_with_free_func(g_free);
    if (rh_json_kind(node) == RH_JSON_OBJECT) {
        read_range(doc, node, values);
    } else if (rh_json_kind(node) == RH_JSON_ARRAY) {
        for (const RhJsonNode *n = rh_json_first(node); n; n = rh_json_next(n))
            g_ptr_array_add(values, rh_study_scalar(doc, n));
    } else {
        rh_json_problem(doc, node, "write [value, ...] or {\"from\": 1, \"to\": 64, \"times\": 2}",
                        "an axis is a list of values or a range");
        return values;
    }
    if (values->len == 0)
        rh_json_problem(doc, node, NULL, "an axis without values");
    return values;
}

static RhStudyBundle *read_bundle(RhJson *doc, const RhJsonNode *object)
{
    RhStudyBundle *bundle = g_new0(RhStudyBundle, 1);
    bundle->names = g_ptr_array_new();
    bundle->nodes = g_ptr_array_new();
    bundle->values = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    for (const RhJsonNode *node = rh_json_first(object); node; node = rh_json_next(node)) {
        const char *name = rh_intern(rh_json_key(node));
        rh_json_consume(doc, object, name);
        GPtrArray *values = read_values(doc, node);
        if (bundle->names->len > 0 && (int32_t)values->len != bundle->count)
            rh_json_problem(doc, node,
                            "axes of one object advance together; to cross them, give "
                            "each an object of its own",
                            "%u values, but \"%s\" beside it has %d", values->len,
                            (const char *)g_ptr_array_index(bundle->names, 0), bundle->count);
        else
            bundle->count = (int32_t)values->len;
        g_ptr_array_add(bundle->names, (void *)name);
        g_ptr_array_add(bundle->nodes, (void *)node);
        g_ptr_array_add(bundle->values, values);
    }
    if (bundle->names->len == 0)
        rh_json_problem(doc, object, NULL, "an object of \"axes\" names at least one axis");
    return bundle;
}

/* An axis may be named once. */
static void check_twice(RhJson *doc, const GPtrArray *bundles)
{
    g_autoptr(GPtrArray) seen = g_ptr_array_new();
    for (guint b = 0; b < bundles->len; b++) {
        const RhStudyBundle *bundle = g_ptr_array_index(bundles, b);
        for (guint i = 0; i < bundle->names->len; i++) {
            if (g_ptr_array_find(seen, g_ptr_array_index(bundle->names, i), NULL))
                rh_json_problem_at_key(doc, g_ptr_array_index(bundle->nodes, i), NULL,
                                       "the axis \"%s\" stands twice",
                                       (const char *)g_ptr_array_index(bundle->names, i));
            g_ptr_array_add(seen, g_ptr_array_index(bundle->names, i));
        }
    }
}

GPtrArray *rh_study_axes_read(RhJson *doc, const RhJsonNode *root)
{
    GPtrArray *bundles = g_ptr_array_new_with_free_func(bundle_free);
    const RhJsonNode *list = rh_json_array(doc, root, "axes");
    for (const RhJsonNode *node = rh_json_first(list); node; node = rh_json_next(node)) {
        if (rh_json_kind(node) != RH_JSON_OBJECT)
            rh_json_problem(doc, node, "like {\"platform\": [\"dgx-h100:4\", \"dgx-b200:4\"]}",
                            "an object of axes belongs here");
        else
            g_ptr_array_add(bundles, read_bundle(doc, node));
    }
    check_twice(doc, bundles);
    return bundles;
}

int64_t rh_study_axes_count(RhJson *doc, const RhJsonNode *root, const GPtrArray *bundles,
                            int64_t most)
{
    int64_t count = 1;
    for (guint b = 0; b < bundles->len; b++) {
        const RhStudyBundle *bundle = g_ptr_array_index(bundles, b);
        count *= bundle->count;
        if (count > most) {
            rh_json_problem(doc, rh_json_member(root, "axes"),
                            "several studies, or fewer values of an axis",
                            "more than %" G_GINT64_FORMAT " combinations", most);
            return 0;
        }
    }
    return count;
}

const char **rh_study_axes_at(const GPtrArray *bundles, int64_t index)
{
    guint axes = 0;
    for (guint b = 0; b < bundles->len; b++)
        axes += ((const RhStudyBundle *)g_ptr_array_index(bundles, b))->names->len;
    const char **values = g_new0(const char *, axes + 1);
    for (guint b = bundles->len; b-- > 0;) { /* the last one quickest */
        const RhStudyBundle *bundle = g_ptr_array_index(bundles, b);
        guint at = (guint)(index % bundle->count);
        index /= bundle->count;
        axes -= bundle->names->len;
        for (guint i = 0; i < bundle->names->len; i++)
            values[axes + i] =
                g_ptr_array_index((GPtrArray *)g_ptr_array_index(bundle->values, i), at);
    }
    return values;
}

/* Surfaces in profiles:
 *
 *   {"kernel": "gemm", "dtype": "fp8", "format": "fp8_block", "casts_inside": true,
 *    "operand_bytes": 1, "launch": "3us", "compute": 0.7, "memory": 0.8,
 *    "axes": [[1, 2, 4, ...], [64, 128, ...], [64, 128, ...]], "rank": 2,
 *    "left": ["1 .2", "1 .4", ...], "right": ["-.1 .02 ...", ...],
 *    "rules": {"cuts": {"m": [24, 96], ...}, "trees": ["a1 -12 40", ...]},
 *    "measured": {"m": [1, 32768], "n": [64, 65536], "k": [64, 65536]},
 *    "tag": "fitted", "source": ..., "date": ..., "error_mean": ..., "error_p90": ...}
 *
 * "left" has a text for each node of x, of as many numbers as the rank; "right" one for each node of
 * y, of as many for each node of z. "rules", which need not be there: platforms/devices/decision_forest.h. */
#include <math.h>
#include <string.h>

#include "base/interned_strings.h"
#include "platforms/devices/time_surface.h"

#define VALUE_MOST 1e3
#define NODE_MOST  1e9

static bool read_axis(RhJson *doc, const RhJsonNode *node, double *nodes, int *count)
{
    *count = rh_json_count(node);
    if (*count < 1 || *count > RH_SURFACE_NODES_MAX) {
        rh_json_problem(doc, node, NULL, "%d nodes of an axis, expected 1 to %d", *count,
                        RH_SURFACE_NODES_MAX);
        rh_json_consume_all(doc, node);
        return false;
    }
    int i = 0;
    for (const RhJsonNode *n = rh_json_first(node); n; n = rh_json_next(n), i++) {
        nodes[i] = rh_json_node_number(doc, n, 1, NODE_MOST);
        if (i > 0 && nodes[i] <= nodes[i - 1]) {
            rh_json_problem(doc, n, NULL, "nodes of an axis ascend");
            rh_json_consume_all(doc, node);
            return false;
        }
    }
    return true;
}

static bool read_axes(RhJson *doc, const RhJsonNode *node, double nodes[3][RH_SURFACE_NODES_MAX],
                      int counts[3])
{
    const RhJsonNode *axes = rh_json_array(doc, node, "axes");
    if (axes && rh_json_count(axes) != 3)
        rh_json_problem(doc, axes, NULL, "%d axes, expected 3", rh_json_count(axes));
    if (!axes || rh_json_count(axes) != 3) {
        if (axes)
            rh_json_consume_all(doc, axes);
        return false;
    }
    bool good = true;
    const RhJsonNode *axis = rh_json_first(axes);
    for (int a = 0; axis && a < 3; a++, axis = rh_json_next(axis))
        good = read_axis(doc, axis, nodes[a], &counts[a]) && good;
    return good;
}

static bool read_numbers(const char *text, double *out, int count)
{
    char *end = NULL;
    for (int r = 0; r < count; r++, text = end) {
        out[r] = g_ascii_strtod(text, &end);
        if (end == text || !(fabs(out[r]) <= VALUE_MOST))
            return false;
    }
    return *text == 0;
}

static bool read_values(RhJson *doc, const RhJsonNode *node, const char *key, int texts, int count,
                        double *out)
{
    const RhJsonNode *list = rh_json_array(doc, node, key);
    if (!list)
        return false;
    if (rh_json_count(list) != texts) {
        rh_json_problem(doc, list, NULL, "%d nodes, expected %d, as the axes have",
                        rh_json_count(list), texts);
        rh_json_consume_all(doc, list);
        return false;
    }
    for (const RhJsonNode *n = rh_json_first(list); n; n = rh_json_next(n), out += count)
        if (!read_numbers(rh_json_node_text(doc, n), out, count))
            rh_json_problem(doc, n, NULL, "expected %d numbers of at most 1000", count);
    return true;
}

static void read_facts(RhJson *doc, const RhJsonNode *node, RhSurface *s)
{
    s->dtype = rh_dtype_by_name(rh_json_string(doc, node, "dtype"));
    s->format = rh_intern(rh_json_string(doc, node, "format"));
    s->head = (int32_t)rh_json_int_or(doc, node, "head", 1, 65536, 0);
    s->library = rh_intern(rh_json_string_or(doc, node, "library", ""));
    s->casts_inside = rh_json_bool_or(doc, node, "casts_inside", false);
    s->operand_bytes = rh_json_number(doc, node, "operand_bytes", 0.25, 8);
    s->launch_s = rh_json_quantity(doc, node, "launch", RH_QUANTITY_S);
    s->compute_frac = rh_json_number(doc, node, "compute", 1e-3, 1);
    s->memory_frac = rh_json_number(doc, node, "memory", 1e-3, 1);
    s->error_mean_frac = rh_json_number(doc, node, "error_mean", 0, 1e3);
    s->error_p90_frac = rh_json_number(doc, node, "error_p90", 0, 1e3);
    s->source = rh_intern(rh_json_string(doc, node, "source"));
    s->date = rh_intern(rh_json_string_or(doc, node, "date", ""));
    const RhJsonNode *measured = rh_json_object_or_null(doc, node, "measured");
    if (measured) {
        rh_calibrated_range_read_ranges(doc, measured, rh_surface_shapes_kind(s->kind),
                                        &s->measured);
        s->measured.source = s->source;
        s->measured.date = s->date;
    }
    if (s->dtype == RH_DTYPE_NONE)
        rh_json_problem(doc, node, NULL, "\"dtype\" must be bf16, fp16, fp8, fp4, tf32 or fp32");
    if (!(s->launch_s >= 0 && s->launch_s < 1))
        rh_json_problem(doc, node, NULL, "\"launch\" must be from 0 to 1 s");
    if (strcmp(rh_json_string(doc, node, "tag"), "fitted") != 0)
        rh_json_problem(doc, node, NULL, "the tag of a kernel's times is fitted");
}

RhSurface *rh_surface_read(RhJson *doc, const RhJsonNode *node)
{
    double nodes[3][RH_SURFACE_NODES_MAX];
    int counts[3];
    RhSurfaceKind kind = rh_surface_kind_by_name(rh_json_string(doc, node, "kernel"));
    int rank = (int)rh_json_int(doc, node, "rank", 1, RH_SURFACE_RANK_MAX);
    g_autoptr(RhSurface) s = NULL;
    if (kind == RH_SURFACE_NONE)
        rh_json_problem(doc, node, NULL, "\"kernel\" is none whose times a profile may have");
    if (read_axes(doc, node, nodes, counts)) {
        const double *const all[3] = {nodes[0], nodes[1], nodes[2]};
        s = rh_surface_new(kind, all, counts, rank);
        if (!s)
            rh_json_problem(doc, node, NULL, "more than %d places of the last two axes",
                            RH_SURFACE_PLACES_MAX);
    }
    if (!s || kind == RH_SURFACE_NONE) {
        rh_json_consume_all(doc, node);
        return NULL;
    }
    read_facts(doc, node, s);
    if (!read_values(doc, node, "left", counts[0], rank, s->left) ||
        !read_values(doc, node, "right", counts[1], counts[2] * rank, s->right))
        return NULL;
    const RhJsonNode *rules = rh_json_object_or_null(doc, node, "rules");
    if (rules && !(s->trees = rh_forest_read(doc, rules, rh_surface_features_names(kind))))
        return NULL;
    return g_steal_pointer(&s);
}

/* --- writing --- */

/* Rounds to thousandths, which suffice as a log factor is a sum of a few. */
double rh_surface_rounded(double value)
{
    return round(1e3 * value) / 1e3;
}

/* Appends a number as "-.12", without the zero that a reader does not need. */
static void append_number(GString *text, double value)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(number, sizeof number, "%.3f", fabs(value));
    size_t end = strlen(number);
    while (end > 0 && number[end - 1] == '0')
        number[--end] = 0;
    if (end > 0 && number[end - 1] == '.')
        number[--end] = 0;
    const char *digits = number[0] == '0' && number[1] == '.' ? number + 1 : number;
    bool zero = *digits == 0 || strcmp(digits, "0") == 0;
    g_string_append_printf(text, "%s%s%s", text->len ? " " : "", value < 0 && !zero ? "-" : "",
                           zero ? "0" : digits);
}

static void put_values(RhJsonWriter *w, const char *key, const double *values, int texts, int count)
{
    g_autoptr(GString) text = g_string_new(NULL);
    rh_json_begin_array(w, key);
    for (int i = 0; i < texts; i++) {
        g_string_truncate(text, 0);
        for (int r = 0; r < count; r++)
            append_number(text, values[i * count + r]);
        rh_json_put_string(w, NULL, text->str);
    }
    rh_json_end_array(w);
}

void rh_surface_write(RhJsonWriter *w, const RhSurface *s)
{
    g_autofree char *launch = g_strdup_printf("%.9gus", 1e6 * s->launch_s);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "kernel", rh_surface_kind_name(s->kind));
    rh_json_put_string(w, "dtype", rh_dtype_name(s->dtype));
    rh_json_put_string(w, "format", s->format);
    if (s->head > 0)
        rh_json_put_int(w, "head", s->head);
    if (*s->library)
        rh_json_put_string(w, "library", s->library);
    if (s->casts_inside)
        rh_json_put_bool(w, "casts_inside", true);
    rh_json_put_number(w, "operand_bytes", s->operand_bytes);
    rh_json_put_string(w, "launch", launch);
    rh_json_put_number(w, "compute", s->compute_frac);
    rh_json_put_number(w, "memory", s->memory_frac);
    rh_json_put_string(w, "tag", "fitted");
    rh_json_put_string(w, "source", s->source);
    rh_json_put_string(w, "date", s->date);
    rh_json_put_number(w, "error_mean", s->error_mean_frac);
    rh_json_put_number(w, "error_p90", s->error_p90_frac);
    if (s->measured.source) {
        rh_json_begin_object(w, "measured");
        rh_calibrated_range_write_ranges(w, rh_surface_shapes_kind(s->kind), &s->measured);
        rh_json_end_object(w);
    }
    rh_json_begin_array(w, "axes");
    for (int a = 0; a < 3; a++) {
        rh_json_begin_array(w, NULL);
        for (int i = 0; i < s->axes[a].count; i++)
            rh_json_put_number(w, NULL, s->axes[a].at[i]);
        rh_json_end_array(w);
    }
    rh_json_end_array(w);
    rh_json_put_int(w, "rank", s->rank);
    put_values(w, "left", s->left, s->axes[0].count, s->rank);
    put_values(w, "right", s->right, s->axes[1].count, s->axes[2].count * s->rank);
    if (s->trees)
        rh_forest_write(w, "rules", s->trees, rh_surface_features_names(s->kind));
    rh_json_end_object(w);
}

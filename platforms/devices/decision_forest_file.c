/* Reads and writes the forests of profiles in the form that platforms/devices/decision_forest.h
 * describes. */
#include <math.h>
#include <string.h>

#include "platforms/devices/decision_forest.h"

/* --- reading --- */

typedef struct {
    int features, feature[RH_FOREST_FEATURES_MAX]; /* by letter: its place among the names */
    int counts[RH_FOREST_FEATURES_MAX];
    float cuts[RH_FOREST_FEATURES_MAX][RH_FOREST_CUTS_MAX];
} Cuts;

static int place_of(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static bool read_list(RhJson *doc, const RhJsonNode *list, float *cuts, int *count)
{
    *count = rh_json_kind(list) == RH_JSON_ARRAY ? rh_json_count(list) : 0;
    if (*count < 1 || *count > RH_FOREST_CUTS_MAX) {
        rh_json_problem(doc, list, NULL, "expected a list of 1 to %d cuts", RH_FOREST_CUTS_MAX);
        rh_json_consume_all(doc, list);
        return false;
    }
    for (const RhJsonNode *n = rh_json_first(list); n; n = rh_json_next(n))
        *cuts++ = (float)rh_json_node_number(doc, n, -1e30, 1e30);
    return true;
}

static bool read_cuts(RhJson *doc, const RhJsonNode *node, const char *const *names, Cuts *cuts)
{
    const RhJsonNode *object = rh_json_object(doc, node, "cuts");
    bool good = object != NULL;
    for (const RhJsonNode *n = rh_json_first(object); n; n = rh_json_next(n)) {
        int place = place_of(names, rh_json_key(n));
        rh_json_consume(doc, object, rh_json_key(n));
        if (place < 0 || cuts->features == RH_FOREST_FEATURES_MAX) {
            rh_json_problem_at_key(doc, n, NULL, "no trees ask for \"%s\" of this kernel",
                                   rh_json_key(n));
            rh_json_consume_all(doc, n);
            good = false;
            continue;
        }
        cuts->feature[cuts->features] = place;
        good = read_list(doc, n, cuts->cuts[cuts->features], &cuts->counts[cuts->features]) && good;
        cuts->features++;
    }
    return good;
}

static bool read_split(const Cuts *cuts, const char **text, RhForestNode *node)
{
    int letter = **text - 'a';
    char *end = NULL;
    if (letter < 0 || letter >= cuts->features || !g_ascii_isdigit((*text)[1]))
        return false;
    guint64 cut = g_ascii_strtoull(*text + 1, &end, 10);
    if (cut >= (guint64)cuts->counts[letter])
        return false;
    node->below = 1;
    node->feature = (uint8_t)cuts->feature[letter];
    node->at = cuts->cuts[letter][cut];
    *text = end;
    return true;
}

static bool read_leaf(const char **text, RhForestNode *node)
{
    char *end = NULL;
    double value = RH_FOREST_LEAF_UNIT * (double)g_ascii_strtoll(*text, &end, 10);
    if (end == *text || fabs(value) > RH_FOREST_LEAF_MOST + 0.5 * RH_FOREST_LEAF_UNIT)
        return false;
    node->at = (float)value;
    *text = end;
    return true;
}

/* Reads a tree. The stack holds the splits whose second side is still to come, outermost first; a
 * node ends the first side of the innermost one, or its second side and with it the split. */
static bool read_tree(const Cuts *cuts, const char *text, RhForest *forest)
{
    GArray *nodes = forest->nodes;
    guint open[RH_FOREST_LEAVES_MAX];
    int depths[RH_FOREST_LEAVES_MAX], opened = 0, leaves = 0, depth = 0;
    for (;; text++) {
        RhForestNode node = {0};
        bool split = g_ascii_isalpha(*text);
        if (split ? opened == RH_FOREST_LEAVES_MAX || !read_split(cuts, &text, &node)
                  : ++leaves > RH_FOREST_LEAVES_MAX || !read_leaf(&text, &node))
            return false;
        if (split) {
            depths[opened] = ++depth;
            open[opened++] = nodes->len;
        }
        forest->depth = MAX(forest->depth, depth);
        g_array_append_val(nodes, node);
        if (!split && opened == 0)
            return *text == 0;
        if (!split) {
            guint at = open[--opened];
            depth = depths[opened];
            g_array_index(nodes, RhForestNode, at).above = (uint16_t)(nodes->len - at);
        }
        if (*text != ' ')
            return false;
    }
}

RhForest *rh_forest_read(RhJson *doc, const RhJsonNode *node, const char *const *names)
{
    g_autofree Cuts *cuts = g_new0(Cuts, 1);
    g_autoptr(RhForest) forest = rh_forest_new();
    bool good = read_cuts(doc, node, names, cuts);
    const RhJsonNode *trees = rh_json_array(doc, node, "trees");
    if (!trees)
        return NULL;
    if (!good || rh_json_count(trees) > RH_FOREST_TREES_MAX) {
        if (good)
            rh_json_problem(doc, trees, NULL, "%d trees, expected at most %d", rh_json_count(trees),
                            RH_FOREST_TREES_MAX);
        rh_json_consume_all(doc, trees);
        return NULL;
    }
    for (const RhJsonNode *n = rh_json_first(trees); n; n = rh_json_next(n)) {
        guint root = forest->nodes->len;
        g_array_append_val(forest->roots, root);
        if (!read_tree(cuts, rh_json_node_text(doc, n), forest)) {
            rh_json_problem(
                doc, n, NULL,
                "expected a tree in preorder, such as \"a0 -12 40\", of the cuts there are");
            good = false;
        }
    }
    return good ? g_steal_pointer(&forest) : NULL;
}

/* --- writing --- */

/* The distinct cuts at which splits divide a feature, in ascending order. */
static GArray *cuts_of(const RhForest *forest, int feature)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(float));
    for (guint i = 0; i < forest->nodes->len; i++) {
        const RhForestNode *node = &g_array_index(forest->nodes, RhForestNode, i);
        guint at = 0;
        if (node->above == 0 || node->feature != feature)
            continue;
        while (at < out->len && g_array_index(out, float, at) < node->at)
            at++;
        if (at == out->len || g_array_index(out, float, at) > node->at)
            g_array_insert_val(out, at, node->at);
    }
    return out;
}

double rh_forest_rounded(double cut, int digits)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE], format[] = "%.0g";
    format[2] = (char)('0' + CLAMP(digits, 1, 9));
    return g_ascii_strtod(g_ascii_formatd(text, sizeof text, format, cut), NULL);
}

/* Fewest digits that are read back as the same value. */
static double shortest(float cut)
{
    int digits = 3;
    while (digits < 9 && (float)rh_forest_rounded((double)cut, digits) != cut)
        digits++;
    return rh_forest_rounded((double)cut, digits);
}

static guint index_of(const GArray *cuts, float cut)
{
    guint at = 0;
    while (at < cuts->len && g_array_index(cuts, float, at) < cut)
        at++;
    return at;
}

static void append_tree(GString *text, const RhForestNode *nodes, guint count, GArray *const *cuts,
                        const int *letters)
{
    for (guint i = 0; i < count; i++) {
        const RhForestNode *node = &nodes[i];
        if (node->above > 0)
            g_string_append_printf(text, "%s%c%u", i ? " " : "", 'a' + letters[node->feature],
                                   index_of(cuts[node->feature], node->at));
        else
            g_string_append_printf(text, "%s%ld", i ? " " : "",
                                   lround((double)node->at / RH_FOREST_LEAF_UNIT));
    }
}

void rh_forest_write(RhJsonWriter *w, const char *key, const RhForest *forest,
                     const char *const *names)
{
    GArray *cuts[RH_FOREST_FEATURES_MAX] = {NULL};
    int letters[RH_FOREST_FEATURES_MAX] = {0}, used = 0, count = 0;
    rh_json_begin_object(w, key);
    rh_json_begin_object(w, "cuts");
    for (; names[count] && count < RH_FOREST_FEATURES_MAX; count++) {
        cuts[count] = cuts_of(forest, count);
        if (cuts[count]->len == 0)
            continue;
        letters[count] = used++;
        rh_json_begin_array(w, names[count]);
        for (guint i = 0; i < cuts[count]->len; i++)
            rh_json_put_number(w, NULL, shortest(g_array_index(cuts[count], float, i)));
        rh_json_end_array(w);
    }
    rh_json_end_object(w);
    rh_json_begin_array(w, "trees");
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint t = 0; t < forest->roots->len; t++) {
        guint from = g_array_index(forest->roots, guint, t);
        guint to = t + 1 < forest->roots->len ? g_array_index(forest->roots, guint, t + 1)
                                              : forest->nodes->len;
        g_string_truncate(text, 0);
        append_tree(text, &g_array_index(forest->nodes, RhForestNode, from), to - from, cuts,
                    letters);
        rh_json_put_string(w, NULL, text->str);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
    for (int i = 0; i < count; i++)
        g_array_unref(cuts[i]);
}

/* Sums of decision trees: their closed form, their files, and how they come about. */
#include "calibrate/fit/fit_forest.h"

#include <math.h>
#include <string.h>

#include "tests/kit/testkit.h"

static const char *const NAMES[] = {"m", "n", NULL};

/* x below 4: -12; above it by y: 40, 7. And 100 everywhere. */
#define TWO_TREES "{\"cuts\":{\"m\":[4],\"n\":[2.5,9]},\"trees\":[\"a0 -12 b1 40 7\",\"100\"]}"

static RhForest *read(const char *text, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_parse("f.json", text, strlen(text), error);
    if (!doc)
        return NULL;
    g_autoptr(RhForest) forest = rh_forest_read(doc, rh_json_root(doc), NAMES);
    return rh_json_finish(doc, error) ? g_steal_pointer(&forest) : NULL;
}

static void a_forest_is_the_sum_of_its_leaves(void)
{
    g_autoptr(RhForest) f = read(TWO_TREES, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_TRUE(f->roots->len == 2 && f->nodes->len == 6 && f->depth == 2);
    RH_CHECK_CLOSE(rh_forest_at(f, (float[]){3.9F, 100}), 0.0088, 1e-6);
    RH_CHECK_CLOSE(rh_forest_at(f, (float[]){4, 8.9F}), 0.0140, 1e-6); /* a cut belongs above */
    RH_CHECK_CLOSE(rh_forest_at(f, (float[]){1e30F, 9}), 0.0107, 1e-6);
    g_autoptr(RhForest) none = rh_forest_new();
    CU_ASSERT_EQUAL(rh_forest_at(none, (float[]){1, 1}), 0);
}

/* Trees of unlike depth, fewer than a whole group, are evaluated together. */
static void trees_of_unlike_depth_are_gone_down_together(void)
{
    g_autoptr(GString) text = g_string_new("{\"cuts\":{\"m\":[1,2,3,4,5,6,7,8]},\"trees\":[");
    for (int t = 0; t < 11; t++) {
        g_string_append(text, t ? ",\"" : "\"");
        for (int d = 0; d < t % 9; d++)
            g_string_append_printf(text, "a%d %d ", d, d + 1);
        g_string_append_printf(text, "%d\"", t % 9 + 1);
    }
    g_string_append(text, "]}");
    g_autoptr(RhForest) f = read(text->str, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int x = 0; x <= 10; x++) { /* each tree: 1 + how many of its cuts are at or below x */
        double sum = 0;
        for (int t = 0; t < 11; t++)
            sum += 1e-4 * (1 + MIN(t % 9, x));
        RH_CHECK_CLOSE(rh_forest_at(f, (float[]){(float)x}), sum, 1e-6);
    }
}

static char *written(const RhForest *f)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(false);
    rh_forest_write(w, NULL, f, NAMES);
    return rh_json_writer_steal(w);
}

/* The cut that no split has is not written. */
static void what_is_written_is_read_again(void)
{
    g_autoptr(RhForest) f = read(TWO_TREES, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    g_autofree char *text = written(f);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"n\":[9]"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"a0 -12 b0 40 7\""));
    g_autoptr(RhForest) again = read(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    g_autofree char *twice = written(again);
    CU_ASSERT_STRING_EQUAL(text, twice);
    CU_ASSERT_EQUAL(f->nodes->len, again->nodes->len);
}

static void what_is_wrong_is_said_with_its_place(void)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"{\"trees\":[\"1\"]}", "cuts"},
        {"{\"cuts\":{}}", "trees"},
        {"{\"cuts\":{\"q\":[1]},\"trees\":[\"1\"]}", "\"q\""},
        {"{\"cuts\":{\"m\":[]},\"trees\":[\"1\"]}", "1 to 255 cuts"},
        {"{\"cuts\":{\"m\":7},\"trees\":[\"1\"]}", "1 to 255 cuts"},
        {"{\"cuts\":{\"m\":[\"x\"]},\"trees\":[\"1\"]}", "number"},
        {"{\"cuts\":{\"m\":[1]},\"trees\":[\"a0 1\"]}", "preorder"},
        {"{\"cuts\":{\"m\":[1]},\"trees\":[\"a0 1 2 3\"]}", "preorder"},
        {"{\"cuts\":{\"m\":[1]},\"trees\":[\"a1 1 2\"]}", "preorder"},
        {"{\"cuts\":{\"m\":[1]},\"trees\":[\"b0 1 2\"]}", "preorder"},
        {"{\"cuts\":{\"m\":[1]},\"trees\":[\"a 1 2\"]}", "preorder"},
        {"{\"cuts\":{\"m\":[1]},\"trees\":[\"a0 1 50001\"]}", "preorder"},
        {"{\"cuts\":{\"m\":[1]},\"trees\":[\"a0 1 .5\"]}", "preorder"},
        {"{\"cuts\":{\"m\":[1]},\"trees\":[\"\"]}", "preorder"},
        {"{\"cuts\":{\"m\":[1]},\"trees\":[\"a99999999999999999999 1 2\"]}", "preorder"},
        {"{\"cuts\":{\"m\":[1]},\"trees\":[3]}", "f.json:1:"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhForest) f = read(wrong[i].text, &error);
        CU_ASSERT_PTR_NULL(f);
        CU_ASSERT_TRUE(error && strstr(error->message, wrong[i].says) != NULL);
        CU_ASSERT_TRUE(error && strstr(error->message, "f.json:1:") != NULL);
    }
}

/* More splits than a tree has leaves, and more trees than there are. */
static void more_than_arrays_hold_is_refused(void)
{
    g_autoptr(GString) deep = g_string_new("{\"cuts\":{\"m\":[1]},\"trees\":[\"");
    for (int i = 0; i < RH_FOREST_LEAVES_MAX; i++)
        g_string_append(deep, "a0 ");
    for (int i = 0; i <= RH_FOREST_LEAVES_MAX; i++)
        g_string_append_printf(deep, "%s1", i ? " " : "");
    g_string_append(deep, "\"]}");
    g_autoptr(GString) many = g_string_new("{\"cuts\":{},\"trees\":[\"1\"");
    for (int i = 0; i < RH_FOREST_TREES_MAX; i++)
        g_string_append(many, ",\"1\"");
    g_string_append(many, "]}");
    const char *const texts[] = {deep->str, many->str};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhForest) f = read(texts[i], &error);
        CU_ASSERT_PTR_NULL(f);
        CU_ASSERT_PTR_NOT_NULL(error);
    }
}

/* --- the fit --- */

#define SIDE 40

typedef struct {
    float x[SIDE * SIDE * 2];
    double value[SIDE * SIDE];
} Grid;

/* A rule: beyond 20 rows another kernel, which from 30 columns on is a third one. */
static double rule(double m, double n)
{
    return m < 20 ? 0.1 : n < 30 ? -0.3 : 0.5;
}

static RhForestPoints grid_of(Grid *g, int trees, int leaves)
{
    for (int i = 0; i < SIDE * SIDE; i++) {
        g->x[2 * i] = (float)(1 + i % SIDE);
        g->x[2 * i + 1] = (float)(1 + i / SIDE);
        g->value[i] = rule((double)g->x[2 * i], (double)g->x[2 * i + 1]);
    }
    return (RhForestPoints){g->x, g->value, SIDE * SIDE, 2, trees, leaves};
}

/* 0.7^24 of a step is left: 0.0002 of it. */
static void rules_come_back(void)
{
    g_autofree Grid *g = g_new(Grid, 1);
    RhForestPoints points = grid_of(g, 24, 3);
    g_autoptr(RhForest) f = rh_fit_forest(&points);
    for (int i = 0; i < SIDE * SIDE; i++)
        CU_ASSERT_TRUE(fabs(rh_forest_at(f, g->x + 2 * i) - g->value[i]) < 0.002);
}

/* One point in seven, of no row or column, is far too high: the others are told as if it were not there. */
static void outliers_do_not_pull(void)
{
    g_autofree Grid *g = g_new(Grid, 1);
    RhForestPoints points = grid_of(g, 24, 3);
    for (int i = 0; i < SIDE * SIDE; i += 7)
        g->value[i] += 3;
    g_autoptr(RhForest) f = rh_fit_forest(&points);
    for (int i = 1; i < SIDE * SIDE; i += 7)
        CU_ASSERT_TRUE(fabs(rh_forest_at(f, g->x + 2 * i) - g->value[i]) < 0.02);
}

static void trees_keep_to_their_size(void)
{
    g_autofree Grid *g = g_new(Grid, 1);
    RhForestPoints points = grid_of(g, 5, 17);
    for (int i = 0; i < SIDE * SIDE; i++)
        g->value[i] = sin(0.1 * i) + cos(1.7 * i);
    g_autoptr(RhForest) f = rh_fit_forest(&points);
    CU_ASSERT_EQUAL(f->roots->len, 5);
    CU_ASSERT_TRUE(f->depth >= 5 && f->depth <= 12);
    for (guint t = 0; t < f->roots->len; t++) {
        guint end = t + 1 < f->roots->len ? g_array_index(f->roots, guint, t + 1) : f->nodes->len;
        CU_ASSERT_EQUAL(end - g_array_index(f->roots, guint, t), 2 * 17 - 1);
    }
    g_autofree char *text = written(f);
    g_autoptr(RhForest) again = read(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    for (int i = 0; i < SIDE * SIDE; i++)
        RH_CHECK_CLOSE(rh_forest_at(again, g->x + 2 * i), rh_forest_at(f, g->x + 2 * i), 1e-5);
}

/* Points that are all alike, and none. */
static void where_nothing_can_be_split_there_is_one_leaf(void)
{
    float x[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    double value[4] = {0.2, 0.2, 0.2, 0.2};
    g_autoptr(RhForest) alike = rh_fit_forest(&(RhForestPoints){x, value, 4, 2, 16, 8});
    CU_ASSERT_TRUE(alike->roots->len == 1 && alike->nodes->len == 1);
    g_autoptr(RhForest) none = rh_fit_forest(&(RhForestPoints){x, value, 0, 2, 16, 8});
    CU_ASSERT_EQUAL(rh_forest_at(none, x), 0);
}

int main(void)
{
    static const RhTest tests[] = {
        {"a forest is the sum of its leaves", a_forest_is_the_sum_of_its_leaves},
        {"trees of unlike depth are gone down together",
         trees_of_unlike_depth_are_gone_down_together},
        {"what is written is read again", what_is_written_is_read_again},
        {"what is wrong is said with its place", what_is_wrong_is_said_with_its_place},
        {"more than arrays hold is refused", more_than_arrays_hold_is_refused},
        {"rules come back", rules_come_back},
        {"outliers do not pull", outliers_do_not_pull},
        {"trees keep to their size", trees_keep_to_their_size},
        {"where nothing can be split there is one leaf",
         where_nothing_can_be_split_there_is_one_leaf},
        {NULL, NULL}};
    return rh_test_main("fit_forest", tests);
}

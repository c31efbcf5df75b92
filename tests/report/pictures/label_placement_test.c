/* report/pictures/label_placement.h: no label lies on another, on a mark or on a line, and one without room is left out. */
#include "report/pictures/label_placement.h"

#include <math.h>
#include <string.h>

#include "tests/kit/testkit.h"

typedef struct {
    double left, top, right, bottom;
} Box;

/* Boxes around the texts drawn, by their anchors: letters 6.7 wide at most, 9 above their foot and 2 below. */
static GArray *boxes_of(const char *svg)
{
    GArray *boxes = g_array_new(FALSE, FALSE, sizeof(Box));
    for (const char *at = svg; (at = strstr(at, "text-anchor=\"")); at++) {
        char anchor = at[strlen("text-anchor=\"")];
        double x = g_ascii_strtod(strstr(at, " x=\"") + 4, NULL),
               y = g_ascii_strtod(strstr(at, " y=\"") + 4, NULL);
        const char *text = strchr(at, '>') + 1;
        double wide = 6.7 * (double)(strchr(text, '<') - text), left = anchor == 's' ? x
                                                                       : anchor == 'm'
                                                                           ? x - wide / 2
                                                                           : x - wide;
        Box box = {left, y - 9, left + wide, y + 2};
        g_array_append_val(boxes, box);
    }
    return boxes;
}

static bool meet(const Box *a, const Box *b)
{
    return a->left < b->right && a->right > b->left && a->top < b->bottom && a->bottom > b->top;
}

static void a_crowd_of_points_has_labels_apart(void)
{
    g_autoptr(RhLabels) labels = rh_labels_new(0, 0, 300, 200);
    g_autoptr(GString) out = g_string_new(NULL);
    Box points[40];
    int drawn = 0;
    for (int i = 0; i < 40; i++) {
        double x = 20 + (double)(i * 37 % 120), y = 20 + (double)(i * 53 % 90);
        points[i] = (Box){x - 5, y - 5, x + 5, y + 5};
        rh_labels_block(labels, x, y, 5);
    }
    for (int i = 0; i < 40; i++) {
        g_autofree char *text = g_strdup_printf("#%d", i + 1);
        drawn += rh_labels_draw(labels, out, points[i].left + 5, points[i].top + 5, 5, text);
    }
    g_autoptr(GArray) boxes = boxes_of(out->str);
    CU_ASSERT_EQUAL((int)boxes->len, drawn);
    CU_ASSERT_TRUE(drawn > 10 && drawn < 40);
    for (guint i = 0; i < boxes->len; i++) {
        const Box *box = &g_array_index(boxes, Box, i);
        CU_ASSERT_TRUE(box->left >= 0 && box->top >= 0 && box->right <= 300 && box->bottom <= 200);
        for (guint k = 0; k < i; k++)
            CU_ASSERT_FALSE(meet(box, &g_array_index(boxes, Box, k)));
        for (int k = 0; k < 40; k++)
            CU_ASSERT_FALSE(meet(box, &points[k]));
    }
}

/* A line from the point up, and one that passes right of it: the label goes below, and then left. */
static void lines_and_standing_texts_are_kept_clear(void)
{
    g_autoptr(RhLabels) labels = rh_labels_new(0, 0, 200, 200);
    g_autoptr(GString) out = g_string_new(NULL);
    rh_labels_block(labels, 100, 100, 5);
    rh_labels_block_line(labels, 100, 0, 100, 100);
    rh_labels_block_line(labels, 112, 0, 130, 200);
    CU_ASSERT_TRUE(rh_labels_draw(labels, out, 100, 100, 5, "#1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out->str, "text-anchor=\"middle\" x=\"100.0\" y=\"118.0\""));
    CU_ASSERT_TRUE(rh_labels_draw(labels, out, 100, 100, 5, "#2"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out->str, "text-anchor=\"end\" x=\"92.0\" y=\"104.0\""));
    rh_labels_text(labels, out, RH_SVG_SOFT, "start", 20, 100, "words that stand there");
    gsize before = out->len;
    rh_labels_block(labels, 50, 100, 5);
    rh_labels_block_line(labels, 0, 90, 95, 90);
    rh_labels_block_line(labels, 0, 110, 90, 110);
    CU_ASSERT_FALSE(rh_labels_draw(labels, out, 50, 100, 5, "#3"));
    CU_ASSERT_EQUAL(out->len, before);
}

int main(void)
{
    return rh_test_main("labels", (RhTest[]){{"a_crowd_of_points_has_labels_apart",
                                              a_crowd_of_points_has_labels_apart},
                                             {"lines_and_standing_texts_are_kept_clear",
                                              lines_and_standing_texts_are_kept_clear},
                                             {0}});
}

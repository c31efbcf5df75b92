#include "report/pictures/label_placement.h"

#include <math.h>

/* Metrics of a sans-serif font of 12 pixels: a digit's width, rounded up, and the height of a line.
 */
#define CHARACTER 7.0
#define LINE      12.0
#define APART     3.0 /* from the point's edge to the text */

typedef struct {
    double left, top, right, bottom;
} Box;

struct RhLabels {
    Box room;
    GArray *taken; /* Box */
};

RhLabels *rh_labels_new(double left, double top, double right, double bottom)
{
    RhLabels *labels = g_new0(RhLabels, 1);
    labels->room = (Box){left, top, right, bottom};
    labels->taken = g_array_new(FALSE, FALSE, sizeof(Box));
    return labels;
}

void rh_labels_free(RhLabels *labels)
{
    if (!labels)
        return;
    g_array_unref(labels->taken);
    g_free(labels);
}

void rh_labels_block(RhLabels *labels, double x, double y, double half)
{
    Box box = {x - half, y - half, x + half, y + half};
    g_array_append_val(labels->taken, box);
}

void rh_labels_block_line(RhLabels *labels, double x1, double y1, double x2, double y2)
{
    int steps = MAX((int)ceil(hypot(x2 - x1, y2 - y1) / 3), 1);
    for (int i = 0; i <= steps; i++)
        rh_labels_block(labels, x1 + (x2 - x1) * i / steps, y1 + (y2 - y1) * i / steps, 1.5);
}

static bool is_free(const RhLabels *l, const Box *box)
{
    if (box->left < l->room.left || box->right > l->room.right || box->top < l->room.top ||
        box->bottom > l->room.bottom)
        return false;
    for (guint i = 0; i < l->taken->len; i++) {
        const Box *other = &g_array_index(l->taken, Box, i);
        if (box->left < other->right && box->right > other->left && box->top < other->bottom &&
            box->bottom > other->top)
            return false;
    }
    return true;
}

/* Box of a text whose foot is at x, y. */
static Box box_of(const char *anchor, double x, double y, const char *text)
{
    double wide = CHARACTER * (double)g_utf8_strlen(text, -1), left = *anchor == 's' ? x
                                                                      : *anchor == 'm'
                                                                          ? x - wide / 2
                                                                          : x - wide;
    return (Box){left, y - LINE + 2, left + wide, y + 2};
}

void rh_labels_text(RhLabels *labels, GString *out, RhSvgInk ink, const char *anchor, double x,
                    double y, const char *text)
{
    Box box = box_of(anchor, x, y, text);
    g_array_append_val(labels->taken, box);
    rh_svg_text(out, ink, anchor, x, y, text);
}

bool rh_labels_draw(RhLabels *labels, GString *out, double x, double y, double half,
                    const char *text)
{
    double apart = half + APART, aside = 0.7 * half + APART, below = LINE - 2;
    const struct {
        const char *anchor;
        double x, y; /* of the text's foot */
    } places[] = {{"middle", x, y - apart},         {"start", x + apart, y + 4},
                  {"middle", x, y + apart + below}, {"end", x - apart, y + 4},
                  {"start", x + aside, y - aside},  {"start", x + aside, y + aside + below},
                  {"end", x - aside, y - aside},    {"end", x - aside, y + aside + below}};
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
        Box box = box_of(places[i].anchor, places[i].x, places[i].y, text);
        if (!is_free(labels, &box))
            continue;
        rh_labels_text(labels, out, RH_SVG_TEXT, places[i].anchor, places[i].x, places[i].y, text);
        return true;
    }
    return false;
}

#include "report/labels.h"
#include "report/svg.h"

/* Of a sans-serif font of 12 pixels: a digit's width, rounded up; and the height of a line. */
#define CHARACTER 7.0
#define LINE      12.0
#define APART     8.0 /* from the point's middle to the text */

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

bool rh_labels_draw(RhLabels *labels, GString *out, double x, double y, const char *text)
{
    double wide = CHARACTER * (double)g_utf8_strlen(text, -1), half = wide / 2;
    const struct {
        const char *anchor;
        double x, y; /* of the text's foot */
        double left;
    } places[] = {{"middle", x, y - APART, x - half},
                  {"start", x + APART, y + 4, x + APART},
                  {"middle", x, y + APART + LINE - 2, x - half},
                  {"end", x - APART, y + 4, x - APART - wide}};
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
        Box box = {places[i].left, places[i].y - LINE + 2, places[i].left + wide, places[i].y + 2};
        if (!is_free(labels, &box))
            continue;
        g_array_append_val(labels->taken, box);
        rh_svg_text(out, RH_SVG_TEXT, places[i].anchor, places[i].x, places[i].y, text);
        return true;
    }
    return false;
}

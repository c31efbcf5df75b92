#pragma once
/* Pieces of pictures as SVG. Colours stand as attributes, so that a picture is whole where no style is read, as in
 * slides; classes let its own style recolour it where the reader's system is dark, and fit it into narrow windows. */
#include <glib.h>

#include "report/pictures/colors.h"

typedef enum {
    RH_SVG_GRID, /* of a line */
    RH_SVG_RULE, /* a line that matters: a capacity, a chain */
    RH_SVG_TEXT,
    RH_SVG_SOFT, /* text of less weight */
    RH_SVG_LAST,
} RhSvgInk;

/* Begins a picture: title and description are for who does not see it. `id` is its class, and data is
 * further attributes ("" for none). */
GString *rh_svg_new(const char *id, double width, double height, const char *data,
                    const char *title, const char *description);
char *rh_svg_finish(GString *out); /* frees `out`; caller frees the text */

/* Pixels, one decimal, whatever the locale. */
void rh_svg_line(GString *out, RhSvgInk ink, double x1, double y1, double x2, double y2);
/* `anchor`: start, middle, end. */
void rh_svg_text(GString *out, RhSvgInk ink, const char *anchor, double x, double y,
                 const char *text);
/* What a browser makes of the classes: one text, whose hash a page's policy allows. Caller frees. */
char *rh_svg_style(void);
/* Class and fill, or class and stroke, for an element's tag. */
void rh_svg_fill(GString *out, RhColor color);
void rh_svg_stroke(GString *out, RhColor color);
/* A box; `about` may be NULL. */
void rh_svg_box(GString *out, RhColor color, double x, double y, double width, double height,
                const char *about);
void rh_svg_number(GString *out, double value);
/* A step of 1, 2 or 5 times a power of ten, so that at most `most` of them make `span`. */
double rh_svg_tick(double span, int most);
/* "12.5", as many decimals as the tick has. Caller frees. */
char *rh_svg_tick_text(double value, double tick);
/* The same of large numbers, as people say them: "15M", "2.5k". Caller frees. */
char *rh_svg_tick_short(double value, double tick);

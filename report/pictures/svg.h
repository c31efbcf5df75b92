#pragma once
/* Builds SVG pictures. Colours are attributes, so that a picture is complete where styles are
 * ignored, as in slides; classes let its own style recolour it for dark systems and fit it into
 * narrow windows. */
#include <glib.h>

#include "report/pictures/colors.h"

typedef enum {
    RH_SVG_GRID, /* grid lines */
    RH_SVG_RULE, /* emphasised line: a capacity, a chain */
    RH_SVG_TEXT,
    RH_SVG_SOFT, /* secondary text */
    RH_SVG_LAST,
} RhSvgInk;

/* Begins a picture; title and description are for screen readers. `id` is its class, `data` further
 * attributes ("" for none). */
GString *rh_svg_new(const char *id, double width, double height, const char *data,
                    const char *title, const char *description);
char *rh_svg_finish(GString *out); /* frees `out`; caller frees the text */

/* Draws a line in pixels, with one decimal in any locale. */
void rh_svg_line(GString *out, RhSvgInk ink, double x1, double y1, double x2, double y2);
/* Draws a text; `anchor` is start, middle or end. */
void rh_svg_text(GString *out, RhSvgInk ink, const char *anchor, double x, double y,
                 const char *text);
/* Returns the style sheet of the classes, always the same text, whose hash a page's policy allows.
 * Caller frees. */
char *rh_svg_style(void);
/* Append class and fill, or class and stroke, to an element's tag. */
void rh_svg_fill(GString *out, RhColor color);
void rh_svg_stroke(GString *out, RhColor color);
/* Draws a box with the tooltip `about`, which may be NULL. */
void rh_svg_box(GString *out, RhColor color, double x, double y, double width, double height,
                const char *about);
void rh_svg_number(GString *out, double value);
/* Returns a tick distance of 1, 2 or 5 times a power of ten, with at most `most` ticks in `span`.
 */
double rh_svg_tick(double span, int most);
/* Formats a tick's value with as many decimals as the distance has: "12.5". Caller frees. */
char *rh_svg_tick_text(double value, double tick);
/* Formats a tick's value in short form: "15M", "2.5k". Caller frees. */
char *rh_svg_tick_short(double value, double tick);

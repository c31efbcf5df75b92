#pragma once
/* Draws on a grid of character cells, as text or as SVG.
 *
 * x counts columns and y rows; a line or an edge runs through the middle of its cells, so that both
 * forms show the same joints. Lines are horizontal or vertical.
 *
 *     RhCanvas *c = rh_canvas_svg_new(40, 5, "two boxes");
 *     rh_canvas_rect(c, 0, 0, 10, 3, RH_INK_GPU);
 *     rh_canvas_text(c, 2, 1, RH_INK_LABEL, "gpu 0");
 *     char *svg = rh_canvas_finish(c);     frees the canvas */
#include <glib.h>

typedef enum {
    RH_INK_FRAME,
    RH_INK_SWITCH,
    RH_INK_NIC,
    RH_INK_GPU,
    RH_INK_MORE, /* represents further objects */
    RH_INK_LINK,
    RH_INK_TITLE,
    RH_INK_LABEL,
    RH_INK_LAST,
} RhInk;

typedef struct RhCanvas RhCanvas;

/* Functions of an output format. `finish` returns the text and frees the canvas. */
typedef struct {
    void (*line)(RhCanvas *canvas, int x1, int y1, int x2, int y2, RhInk ink);
    void (*rect)(RhCanvas *canvas, int x, int y, int width, int height, RhInk ink);
    void (*text)(RhCanvas *canvas, int x, int y, RhInk ink, const char *text);
    char *(*finish)(RhCanvas *canvas);
} RhCanvasKind;
struct RhCanvas {
    const RhCanvasKind *kind;
};

RhCanvas *rh_canvas_text_new(int columns, int rows);
RhCanvas *rh_canvas_svg_new(int columns, int rows, const char *title);

void rh_canvas_line(RhCanvas *canvas, int x1, int y1, int x2, int y2, RhInk ink);
/* Draws a filled box, which covers earlier drawings. */
void rh_canvas_rect(RhCanvas *canvas, int x, int y, int width, int height, RhInk ink);
/* Draws a text whose first letter is in column `x`. */
void rh_canvas_text(RhCanvas *canvas, int x, int y, RhInk ink, const char *text);
char *rh_canvas_finish(RhCanvas *canvas);

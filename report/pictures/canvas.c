/* Draws a text: cells of box-drawing characters. */
#include "report/pictures/canvas.h"

#include <stdbool.h>

void rh_canvas_line(RhCanvas *canvas, int x1, int y1, int x2, int y2, RhInk ink)
{
    g_return_if_fail(x1 == x2 || y1 == y2);
    canvas->kind->line(canvas, MIN(x1, x2), MIN(y1, y2), MAX(x1, x2), MAX(y1, y2), ink);
}

void rh_canvas_rect(RhCanvas *canvas, int x, int y, int width, int height, RhInk ink)
{
    g_return_if_fail(width >= 2 && height >= 2);
    canvas->kind->rect(canvas, x, y, width, height, ink);
}

void rh_canvas_text(RhCanvas *canvas, int x, int y, RhInk ink, const char *text)
{
    canvas->kind->text(canvas, x, y, ink, text);
}

char *rh_canvas_finish(RhCanvas *canvas)
{
    return canvas->kind->finish(canvas);
}

/* --- text: each cell holds a letter, or the set of sides its lines leave by --- */

enum { UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8 };

typedef struct {
    RhCanvas base;
    int columns, rows;
    gunichar *cells; /* a letter, or below 16 a set of sides; 0 = empty */
} TextCanvas;

static gunichar *cell(TextCanvas *t, int x, int y)
{
    bool inside = x >= 0 && y >= 0 && x < t->columns && y < t->rows;
    return inside ? &t->cells[y * t->columns + x] : NULL;
}

static void join(TextCanvas *t, int x, int y, gunichar sides)
{
    gunichar *c = cell(t, x, y);
    if (c && *c < 16)
        *c |= sides;
}

static void text_line(RhCanvas *canvas, int x1, int y1, int x2, int y2, RhInk ink)
{
    TextCanvas *t = (TextCanvas *)canvas;
    (void)ink;
    for (int x = x1; x < x2; x++) {
        join(t, x, y1, RIGHT);
        join(t, x + 1, y1, LEFT);
    }
    for (int y = y1; y < y2; y++) {
        join(t, x1, y, DOWN);
        join(t, x1, y + 1, UP);
    }
}

static void text_rect(RhCanvas *canvas, int x, int y, int width, int height, RhInk ink)
{
    TextCanvas *t = (TextCanvas *)canvas;
    int right = x + width - 1, bottom = y + height - 1;
    for (int row = y + 1; row < bottom; row++)
        for (int column = x + 1; column < right; column++) {
            gunichar *c = cell(t, column, row);
            if (c)
                *c = 0;
        }
    text_line(canvas, x, y, right, y, ink);
    text_line(canvas, x, bottom, right, bottom, ink);
    text_line(canvas, x, y, x, bottom, ink);
    text_line(canvas, right, y, right, bottom, ink);
}

static void text_text(RhCanvas *canvas, int x, int y, RhInk ink, const char *text)
{
    TextCanvas *t = (TextCanvas *)canvas;
    (void)ink;
    for (const char *at = text; *at; at = g_utf8_next_char(at), x++) {
        gunichar *c = cell(t, x, y);
        if (c)
            *c = g_utf8_get_char(at);
    }
}

static char *text_finish(RhCanvas *canvas)
{
    static const char *const joints[16] = {" ", "│", "│", "│", "─", "┘", "┐", "┤",
                                           "─", "└", "┌", "├", "─", "┴", "┬", "┼"};
    TextCanvas *t = (TextCanvas *)canvas;
    GString *out = g_string_new(NULL);
    for (int y = 0; y < t->rows; y++) {
        gsize used = out->len;
        for (int x = 0; x < t->columns; x++) {
            gunichar c = t->cells[y * t->columns + x];
            if (c < 16)
                g_string_append(out, joints[c]);
            else
                g_string_append_unichar(out, c);
            if (c && c != ' ')
                used = out->len;
        }
        g_string_truncate(out, used);
        g_string_append_c(out, '\n');
    }
    g_free(t->cells);
    g_free(t);
    return g_string_free(out, FALSE);
}

static const RhCanvasKind text_kind = {text_line, text_rect, text_text, text_finish};

RhCanvas *rh_canvas_text_new(int columns, int rows)
{
    TextCanvas *t = g_new0(TextCanvas, 1);
    t->base.kind = &text_kind;
    t->columns = columns;
    t->rows = rows;
    t->cells = g_new0(gunichar, (gsize)columns * (gsize)rows);
    return &t->base;
}

/* Draws SVG. Colours: Okabe-Ito, readable in light and dark. */
#include "report/pictures/canvas.h"

/* Pixels of a cell; the font is a little narrower. */
#define CELL_WIDTH  8.4
#define CELL_HEIGHT 19.0
#define MARGIN      14.0

typedef struct {
    RhCanvas base;
    GString *out;
} SvgCanvas;

static const char *const classes[RH_INK_LAST] = {"frame", "switch", "nic",   "gpu",
                                                 "more",  "link",   "title", "label"};

static double px(int x)
{
    return MARGIN + (x + 0.5) * CELL_WIDTH;
}

static double py(int y)
{
    return MARGIN + (y + 0.5) * CELL_HEIGHT;
}

/* Formats one decimal, whatever the locale. */
static const char *decimal(char buffer[32], double value)
{
    return g_ascii_formatd(buffer, 32, "%.1f", value);
}

static void svg_line(RhCanvas *canvas, int x1, int y1, int x2, int y2, RhInk ink)
{
    char a[32], b[32], c[32], d[32];
    g_string_append_printf(((SvgCanvas *)canvas)->out,
                           "<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n",
                           classes[ink], decimal(a, px(x1)), decimal(b, py(y1)), decimal(c, px(x2)),
                           decimal(d, py(y2)));
}

static void svg_rect(RhCanvas *canvas, int x, int y, int width, int height, RhInk ink)
{
    char a[32], b[32], c[32], d[32];
    g_string_append_printf(
        ((SvgCanvas *)canvas)->out,
        "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"4\"/>\n",
        classes[ink], decimal(a, px(x)), decimal(b, py(y)), decimal(c, (width - 1) * CELL_WIDTH),
        decimal(d, (height - 1) * CELL_HEIGHT));
}

static void svg_text(RhCanvas *canvas, int x, int y, RhInk ink, const char *text)
{
    char a[32], b[32], c[32];
    g_autofree char *escaped = g_markup_escape_text(text, -1);
    g_string_append_printf(((SvgCanvas *)canvas)->out,
                           "<text class=\"%s\" x=\"%s\" y=\"%s\" textLength=\"%s\" "
                           "lengthAdjust=\"spacingAndGlyphs\">%s</text>\n",
                           classes[ink], decimal(a, px(x) - CELL_WIDTH / 2),
                           decimal(b, py(y) + CELL_HEIGHT * 0.24),
                           decimal(c, (double)g_utf8_strlen(text, -1) * CELL_WIDTH), escaped);
}

static char *svg_finish(RhCanvas *canvas)
{
    SvgCanvas *s = (SvgCanvas *)canvas;
    g_string_append(s->out, "</svg>\n");
    char *text = g_string_free(s->out, FALSE);
    g_free(s);
    return text;
}

static const RhCanvasKind svg_kind = {svg_line, svg_rect, svg_text, svg_finish};

RhCanvas *rh_canvas_svg_new(int columns, int rows, const char *title)
{
    SvgCanvas *s = g_new0(SvgCanvas, 1);
    char a[32], b[32];
    g_autofree char *escaped = g_markup_escape_text(title, -1);
    s->base.kind = &svg_kind;
    s->out = g_string_new(NULL);
    decimal(a, 2 * MARGIN + columns * CELL_WIDTH);
    decimal(b, 2 * MARGIN + rows * CELL_HEIGHT);
    g_string_append_printf(
        s->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" "
        "viewBox=\"0 0 %s %s\" role=\"img\" xml:space=\"preserve\">\n<title>%s</title>\n"
        "<style>\n"
        "svg { background: #ffffff; max-width: 100%%; height: auto; }\n"
        "text { font: 13px 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #222222; }\n"
        ".title { font-weight: bold; }\n"
        "rect { stroke-width: 1.2; }\n"
        "rect.frame { fill: #fafafa; stroke: #777777; }\n"
        "rect.switch { fill: #d6e9f5; stroke: #0072b2; }\n"
        "rect.nic { fill: #fbe3cf; stroke: #d55e00; }\n"
        "rect.gpu { fill: #d2efe4; stroke: #009e73; }\n"
        "rect.more { fill: #f4f4f4; stroke: #999999; stroke-dasharray: 5 3; }\n"
        "line { stroke: #555555; stroke-width: 1.4; }\n"
        "rect.paper { fill: #ffffff; stroke: none; }\n"
        "@media (prefers-color-scheme: dark) {\n"
        "svg { background: #15181c; } rect.paper { fill: #15181c; } text { fill: #e4e7ea; }\n"
        "rect.frame { fill: #1e2329; } rect.switch { fill: #16374a; } rect.nic { fill: #4a2b12; }\n"
        "rect.gpu { fill: #123d30; } rect.more { fill: #262b31; } line { stroke: #a0a8b1; }\n"
        "}\n"
        "</style>\n"
        "<rect class=\"paper\" x=\"0\" y=\"0\" width=\"%s\" height=\"%s\"/>\n",
        a, b, a, b, escaped, a, b);
    return &s->base;
}

#include "report/pictures/svg.h"

#include <math.h>

/* Inks: class, then attributes. */
static const char *const inks[RH_SVG_LAST] = {
    [RH_SVG_GRID] = "class=\"grid\" stroke=\"#dddddd\"",
    [RH_SVG_RULE] = "class=\"rule\" stroke=\"#222222\" stroke-dasharray=\"5 3\"",
    [RH_SVG_TEXT] = "class=\"ink\" fill=\"#222222\"",
    [RH_SVG_SOFT] = "class=\"soft\" fill=\"#5b636c\""};

/* Widths of pictures at full size, in a narrow window with a scroll bar: letters of 12 are at least
 * 10 pixels high. Otherwise a picture is as wide as the window allows. */
static const struct {
    double width; /* for pictures at least this wide; widest first */
    const char *name;
    int least;
} sizes[] = {{1100, "widest", 1020}, {800, "wide", 820}, {0, "narrow", 550}};

static const char *size_of(double width)
{
    size_t i = 0;
    while (i + 1 < G_N_ELEMENTS(sizes) && width < sizes[i].width)
        i++;
    return sizes[i].name;
}

char *rh_svg_style(void)
{
    GString *out = g_string_new("svg.rh{max-width:100%;height:auto}");
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        g_string_append_printf(out, ".full:checked~.rh.%s{min-width:%dpx}", sizes[i].name,
                               sizes[i].least);
    g_string_append(
        out,
        "@media print{.rh.rh.rh{min-width:0!important}}@media (prefers-color-scheme:dark){svg.rh{background:#15181c}"
        ".rh .paper{fill:#15181c}.rh .ink{fill:#e4e7ea}.rh .soft{fill:#a0a8b1}.rh .grid{stroke:#363c44}"
        ".rh .rule,.rh .chain{stroke:#e4e7ea}");
    for (RhColor i = 0; i < RH_COLOR_LAST; i++)
        g_string_append_printf(out, ".rh .c%d{fill:%s}.rh .s%d{stroke:%s}", i, rh_color_dark(i), i,
                               rh_color_dark(i));
    g_string_append_c(out, '}');
    return g_string_free(out, FALSE);
}

void rh_svg_fill(GString *out, RhColor color)
{
    g_string_append_printf(out, "class=\"c%d\" fill=\"%s\"", color, rh_color_light(color));
}

void rh_svg_stroke(GString *out, RhColor color)
{
    g_string_append_printf(out, "class=\"s%d\" fill=\"none\" stroke=\"%s\"", color,
                           rh_color_light(color));
}

void rh_svg_number(GString *out, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(out, g_ascii_formatd(text, sizeof text, "%.1f", value));
}

static void attribute(GString *out, const char *name, double value)
{
    g_string_append_printf(out, " %s=\"", name);
    rh_svg_number(out, value);
    g_string_append_c(out, '"');
}

static void escaped(GString *out, const char *text)
{
    g_autofree char *safe = g_markup_escape_text(text, -1);
    g_string_append(out, safe);
}

GString *rh_svg_new(const char *id, double width, double height, const char *data,
                    const char *title, const char *description)
{
    GString *out = g_string_new("<svg xmlns=\"http://www.w3.org/2000/svg\"");
    attribute(out, "width", width);
    attribute(out, "height", height);
    g_string_append_printf(
        out, " viewBox=\"0 0 %.0f %.0f\" class=\"rh %s %s\" role=\"img\"%s%s>\n<title>", width,
        height, id, size_of(width), *data ? " " : "", data);
    escaped(out, title);
    g_string_append(out, "</title>\n<desc>");
    escaped(out, description);
    g_autofree char *style = rh_svg_style();
    g_string_append_printf(
        out,
        "</desc>\n<style>%s</style>\n<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\" "
        "fill=\"#ffffff\"/>\n<g font-family=\"sans-serif\" font-size=\"12\">\n",
        style, width, height);
    return out;
}

char *rh_svg_finish(GString *out)
{
    g_string_append(out, "</g>\n</svg>\n");
    return g_string_free(out, FALSE);
}

void rh_svg_line(GString *out, RhSvgInk ink, double x1, double y1, double x2, double y2)
{
    g_string_append_printf(out, "<line %s", inks[ink]);
    attribute(out, "x1", x1);
    attribute(out, "y1", y1);
    attribute(out, "x2", x2);
    attribute(out, "y2", y2);
    g_string_append(out, "/>\n");
}

void rh_svg_text(GString *out, RhSvgInk ink, const char *anchor, double x, double y,
                 const char *text)
{
    g_string_append_printf(out, "<text %s text-anchor=\"%s\"", inks[ink], anchor);
    attribute(out, "x", x);
    attribute(out, "y", y);
    g_string_append_c(out, '>');
    escaped(out, text);
    g_string_append(out, "</text>\n");
}

void rh_svg_box(GString *out, RhColor color, double x, double y, double width, double height,
                const char *about)
{
    g_string_append(out, "<rect ");
    rh_svg_fill(out, color);
    attribute(out, "x", x);
    attribute(out, "y", y);
    attribute(out, "width", width);
    attribute(out, "height", height);
    g_string_append(out, about ? "><title>" : "/>\n");
    if (!about)
        return;
    escaped(out, about);
    g_string_append(out, "</title></rect>\n");
}

double rh_svg_tick(double span, int most)
{
    double least = span / most;
    if (!(least > 0))
        return 1;
    double power = pow(10, floor(log10(least)));
    double times = least / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

char *rh_svg_tick_text(double value, double tick)
{
    char format[16], text[G_ASCII_DTOSTR_BUF_SIZE];
    int decimals = tick > 0 ? CLAMP((int)ceil(-log10(tick) - 1e-9), 0, 9) : 0;
    g_snprintf(format, sizeof format, "%%.%df", decimals);
    return g_strdup(g_ascii_formatd(text, sizeof text, format, value));
}

char *rh_svg_tick_short(double value, double tick)
{
    static const struct {
        double size;
        const char *letter;
    } rows[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
    size_t i = 0;
    while (i + 1 < G_N_ELEMENTS(rows) && fabs(value) < rows[i].size)
        i++;
    g_autofree char *number = rh_svg_tick_text(value / rows[i].size, tick / rows[i].size);
    return g_strconcat(number, rows[i].letter, NULL);
}

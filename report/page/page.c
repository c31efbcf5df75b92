#include "report/page/page.h"

#include <string.h>

#include "report/page/html_assets.h"
#include "report/pictures/svg.h"

/* --- parts of the text --- */

static void append_escaped(GString *out, const char *text, gssize length)
{
    g_autofree char *escaped = g_markup_escape_text(text, length);
    g_string_append(out, escaped);
}

/* Appends a <script> with data; "</script>", "<!--" and JavaScript's own line ends are escaped. */
static void append_data(GString *out, const char *id, const char *json)
{
    g_autoptr(GString) text = g_string_new(json);
    g_string_replace(text, "<", "\\u003c", 0);
    g_string_replace(text, "\u2028", "\\u2028", 0);
    g_string_replace(text, "\u2029", "\\u2029", 0);
    g_string_append_printf(out, "<script type=\"application/json\" id=\"%s\">", id);
    g_string_append_len(out, text->str, (gssize)text->len);
    g_string_append(out, "</script>\n");
}

/* Source of a content security policy for a text in the page: "sha256-...". Caller frees. */
static char *source_of(const char *text)
{
    guint8 digest[32];
    gsize length = sizeof digest;
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(sum, (const guchar *)text, (gssize)strlen(text));
    g_checksum_get_digest(sum, digest, &length);
    g_checksum_free(sum);
    g_autofree char *base64 = g_base64_encode(digest, length);
    return g_strconcat("sha256-", base64, NULL);
}

/* --- the page --- */

/* The script that shows the document. */
static const char *script_of(const RhPage *page)
{
    return page->of_playground ? rh_html_playground_script : rh_html_script;
}

static void append_head(GString *out, const RhPage *page, gsize heading_length)
{
    g_autofree char *of_pictures = rh_svg_style();
    g_autofree char *style = source_of(rh_html_style), *drawn = source_of(of_pictures),
                    *script = source_of(script_of(page)),
                    *of_study = source_of(rh_html_study_script);
    g_string_append_printf(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src '%s' '%s'; script-src '%s'%s%s%s; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>rehearse %s: ",
        style, drawn, script, page->of_study ? " '" : "", page->of_study ? of_study : "",
        page->of_study ? "'" : "", page->command);
    append_escaped(out, page->answer, (gssize)heading_length);
    g_string_append_printf(out, "</title>\n<style>%s</style>\n</head>\n", rh_html_style);
}

static void append_answer(GString *out, const RhPage *page, gsize heading_length)
{
    g_string_append(out, "<section id=\"answer\" aria-labelledby=\"answer-title\">\n"
                         "<h1 id=\"answer-title\">");
    g_autofree char *heading = g_strndup(page->answer, heading_length);
    g_auto(GStrv) lines = g_strsplit(heading, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        g_string_append(out, i > 0 ? " " : "");
        append_escaped(out, g_strchug(lines[i]), -1);
    }
    g_string_append(out, "</h1>\n<div id=\"cards\" class=\"cards\"></div>\n</section>\n");
}

/* Appends the answer's text without the `next:` lines. */
static void append_text(GString *out, const RhPage *page, gsize heading_length)
{
    const char *rest = page->answer + heading_length, *next = strstr(page->answer, "\nnext: ");
    if (rest[strspn(rest, "\n")] == '\0')
        return;
    g_string_append(out, "<section id=\"text\" class=\"folded\" aria-labelledby=\"text-title\">\n"
                         "<details><summary><h2 id=\"text-title\">As the terminal shows it</h2>"
                         "</summary>\n<pre tabindex=\"0\">");
    append_escaped(out, page->answer, next ? next - page->answer : -1);
    g_string_append(out, "</pre></details>\n</section>\n");
}

static void append_picture(GString *out, const RhPagePicture *picture)
{
    g_string_append_printf(out,
                           "<section id=\"%s\"%s aria-labelledby=\"%s-title\">\n"
                           "<h2 id=\"%s-title\">%s</h2>\n<p>%s</p>\n"
                           "<figure class=\"picture\" tabindex=\"0\" aria-labelledby=\"%s-title\">"
                           "\n<input type=\"checkbox\" class=\"full\" id=\"%s-full\">"
                           "<label for=\"%s-full\">full size</label>\n%s</figure>\n</section>\n",
                           picture->id, picture->wide ? " class=\"wide\"" : "", picture->id,
                           picture->id, picture->title, picture->caption, picture->id, picture->id,
                           picture->id, picture->svg);
}

#define TEXT_COLUMNS                                                                               \
    77 /* answers are wrapped in 79, less what words that stay together leave free */

/* Does the sentence that ends a line at `end` go on in the next one: indented, with a first word for
 * which the line had no room? */
static bool goes_on(const char *line, const char *end)
{
    const char *next = end + 1 + strspn(end + 1, " ");
    return next > end + 1 && g_utf8_strlen(line, end - line) + 1 +
                                     g_utf8_strlen(next, (gssize)strcspn(next, " \n")) >=
                                 TEXT_COLUMNS;
}

/* Length of the text's first sentence: a line, and those it continues in. */
static gsize heading_of(const char *text)
{
    const char *line = text, *end = text + strcspn(text, "\n");
    while (end > text && *end == '\n' && (end[-1] == ',' || goes_on(line, end))) {
        line = end + 1;
        end = line + strcspn(line, "\n");
    }
    return (gsize)(end - text);
}

char *rh_report_page(const RhPage *page)
{
    GString *out = g_string_new(NULL);
    gsize heading_length = heading_of(page->answer);
    append_head(out, page, heading_length);
    g_string_append_printf(out,
                           "<body>\n<a class=\"skip\" href=\"#answer\">To the answer</a>\n"
                           "<header><div><b>rehearse %s</b> <span id=\"asked\"></span></div>"
                           "<nav aria-label=\"Parts of this report\"></nav></header>\n"
                           "<main data-rank=\"%" G_GINT64_FORMAT "\">\n",
                           page->command, MAX(page->rank, 1));
    append_answer(out, page, heading_length);
    g_string_append(out, "<div class=\"pictures\">\n");
    for (int i = 0; i < page->pictures_count; i++)
        append_picture(out, &page->pictures[i]);
    g_string_append(out, "</div>\n<div id=\"tables\"></div>\n<div id=\"parts\"></div>\n"
                         "<noscript><p>Cards, tables, search and zoom need scripts; the pictures "
                         "and the text below do not.</p></noscript>\n");
    append_text(out, page, heading_length);
    g_string_append(out, "</main>\n");
    append_data(out, "data", page->json);
    if (page->facts)
        append_data(out, "facts", page->facts);
    if (page->timeline)
        append_data(out, "course", page->timeline);
    if (page->of_study)
        g_string_append_printf(out, "<script>%s</script>\n", rh_html_study_script);
    g_string_append_printf(out, "<script>%s</script>\n</body>\n</html>\n", script_of(page));
    return g_string_free(out, FALSE);
}

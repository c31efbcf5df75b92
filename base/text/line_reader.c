#include "base/text/line_reader.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"

#define CHUNK_BYTES 65536
#define MARK        "\xef\xbb\xbf" /* the byte order mark some editors write */

/* Unread bytes from `at` to `end`. */
typedef struct {
    char *bytes;
    size_t at, end;
} Buffer;

struct RhLines {
    char *name;
    FILE *file;       /* NULL: from memory */
    const char *text; /* unread rest of the memory */
    size_t text_length;
    bool source_ended, begun, ended;
    GConverter *gunzip; /* NULL: plain */
    bool in_member;     /* inside a gzip member */
    Buffer raw;         /* from the source; only with gunzip */
    Buffer plain;       /* lines are cut from it */
    GString *line;
    int64_t number;
};

static RhLines *lines_new(const char *name)
{
    RhLines *lines = g_new0(RhLines, 1);
    lines->name = g_strdup(name);
    lines->plain.bytes = g_malloc(CHUNK_BYTES);
    lines->line = g_string_new(NULL);
    return lines;
}

RhLines *rh_lines_open(const char *path, GError **error)
{
    if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
        rh_fail(error, RH_ERROR_IO, "%s is a folder, not a file", path);
        return NULL;
    }
    FILE *file = g_fopen(path, "rb");
    if (!file) {
        rh_fail(error, RH_ERROR_IO, "cannot read %s: %s", path, g_strerror(errno));
        return NULL;
    }
    RhLines *lines = lines_new(path);
    lines->file = file;
    return lines;
}

RhLines *rh_lines_of(const char *name, const void *text, size_t length)
{
    RhLines *lines = lines_new(name);
    lines->text = text;
    lines->text_length = length;
    return lines;
}

void rh_lines_free(RhLines *lines)
{
    if (!lines)
        return;
    if (lines->file)
        fclose(lines->file);
    g_clear_object(&lines->gunzip);
    g_free(lines->raw.bytes);
    g_free(lines->plain.bytes);
    g_string_free(lines->line, TRUE);
    g_free(lines->name);
    g_free(lines);
}

int64_t rh_lines_number(const RhLines *lines)
{
    return lines->number;
}

const char *rh_lines_name(const RhLines *lines)
{
    return lines->name;
}

/* Appends more of the source to `into`, whose unread bytes are moved to its front. */
static bool read_source(RhLines *lines, Buffer *into, GError **error)
{
    memmove(into->bytes, into->bytes + into->at, into->end - into->at);
    into->end -= into->at;
    into->at = 0;
    size_t room = CHUNK_BYTES - into->end, got = MIN(room, lines->text_length);
    if (lines->file) {
        got = fread(into->bytes + into->end, 1, room, lines->file);
        if (ferror(lines->file))
            return rh_fail(error, RH_ERROR_IO, "cannot read %s: %s", lines->name,
                           g_strerror(errno));
    } else if (got) {
        memcpy(into->bytes + into->end, lines->text, got);
        lines->text += got;
        lines->text_length -= got;
    }
    into->end += got;
    lines->source_ended = got < room;
    return true;
}

static bool fail_gzip(const RhLines *lines, const char *what, GError **error)
{
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s: behind line %" G_GINT64_FORMAT ": %s\nhelp: pack it again, or unpack it "
                   "with gzip -d to see what is left",
                   lines->name, lines->number, what);
}

/* Unpacks into the empty plain buffer, as long as there is something to unpack. */
static bool unpack_more(RhLines *lines, GError **error)
{
    Buffer *raw = &lines->raw, *plain = &lines->plain;
    while (plain->end == 0) {
        if (raw->at == raw->end && !lines->source_ended && !read_source(lines, raw, error))
            return false;
        if (raw->at == raw->end)
            return !lines->in_member || fail_gzip(lines, "the gzip file ends too early", error);
        g_autoptr(GError) local = NULL;
        gsize used = 0, made = 0;
        GConverterResult result = g_converter_convert(
            lines->gunzip, raw->bytes + raw->at, raw->end - raw->at, plain->bytes, CHUNK_BYTES,
            lines->source_ended ? G_CONVERTER_INPUT_AT_END : G_CONVERTER_NO_FLAGS, &used, &made,
            &local);
        raw->at += used;
        plain->end = made;
        lines->in_member = result != G_CONVERTER_FINISHED;
        if (result == G_CONVERTER_FINISHED)
            g_converter_reset(lines->gunzip);
        if (result != G_CONVERTER_ERROR)
            continue;
        if (!g_error_matches(local, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT))
            return fail_gzip(lines, "this is broken gzip", error);
        if (lines->source_ended)
            return fail_gzip(lines, "the gzip file ends too early", error);
        if (!read_source(lines, raw, error))
            return false;
    }
    return true;
}

/* Detects gzip by the first bytes (RFC 1952, 2.3.1). */
static bool detect_gzip(RhLines *lines, GError **error)
{
    lines->begun = true;
    if (!read_source(lines, &lines->plain, error))
        return false;
    Buffer *plain = &lines->plain;
    if (plain->end >= 2 && memcmp(plain->bytes, "\x1f\x8b", 2) == 0) {
        lines->gunzip = G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
        lines->raw = *plain;
        *plain = (Buffer){g_malloc(CHUNK_BYTES), 0, 0};
        return unpack_more(lines, error);
    }
    if (plain->end >= strlen(MARK) && memcmp(plain->bytes, MARK, strlen(MARK)) == 0)
        plain->at = strlen(MARK);
    return true;
}

/* Reads more into the plain buffer; *ended when there is no more. */
static bool refill(RhLines *lines, GError **error)
{
    Buffer *plain = &lines->plain;
    if (!lines->begun)
        return detect_gzip(lines, error);
    plain->at = plain->end = 0;
    bool fine = lines->gunzip         ? unpack_more(lines, error)
                : lines->source_ended ? true
                                      : read_source(lines, plain, error);
    lines->ended = plain->at == plain->end;
    return fine;
}

static char *finish_line(RhLines *lines, size_t *length)
{
    GString *line = lines->line;
    if (line->len && line->str[line->len - 1] == '\r')
        g_string_truncate(line, line->len - 1);
    if (lines->number == 0 && lines->gunzip && g_str_has_prefix(line->str, MARK))
        g_string_erase(line, 0, strlen(MARK));
    lines->number++;
    *length = line->len;
    return line->str;
}

char *rh_lines_next(RhLines *lines, size_t *length, GError **error)
{
    Buffer *plain = &lines->plain;
    g_string_truncate(lines->line, 0);
    for (;;) {
        const char *from = plain->bytes + plain->at, *end = NULL;
        size_t left = plain->end - plain->at;
        if (left)
            end = memchr(from, '\n', left);
        size_t taken = end ? (size_t)(end - from) : left;
        g_string_append_len(lines->line, from, (gssize)taken);
        plain->at += taken + (end != NULL);
        if (lines->line->len > RH_LINE_BYTES_MAX) {
            rh_fail(error, RH_ERROR_INPUT, "%s:%" G_GINT64_FORMAT ":1: a line of more than %u MiB",
                    lines->name, lines->number + 1, RH_LINE_BYTES_MAX >> 20);
            return NULL;
        }
        if (end || (lines->ended && lines->line->len))
            return finish_line(lines, length);
        if (lines->ended || !refill(lines, error))
            return NULL;
    }
}

/* Lines of files that need not fit into memory. */
#include <gio/gio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/line_reader.h"
#include "tests/kit/testkit.h"

static GBytes *packed(const char *text, gsize length)
{
    g_autoptr(GZlibCompressor) gzip = g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, 6);
    g_autoptr(GInputStream) raw = g_memory_input_stream_new_from_data(text, (gssize)length, NULL);
    g_autoptr(GInputStream) stream = g_converter_input_stream_new(raw, G_CONVERTER(gzip));
    g_autoptr(GOutputStream) out = g_memory_output_stream_new_resizable();
    CU_ASSERT_TRUE(
        g_output_stream_splice(out, stream, G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET, NULL, NULL) > 0);
    return g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(out));
}

/* All lines, each with its number and '|' behind it; or the message of the error. */
static char *joined(RhLines *lines)
{
    g_autoptr(GError) error = NULL;
    GString *out = g_string_new(NULL);
    size_t length = 0;
    for (char *line; (line = rh_lines_next(lines, &length, &error));) {
        CU_ASSERT_EQUAL(strlen(line), length);
        g_string_append_printf(out, "%d:%s|", (int)rh_lines_number(lines), line);
    }
    if (error) {
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        g_string_assign(out, error->message);
    }
    rh_lines_free(lines);
    return g_string_free(out, FALSE);
}

static const struct {
    const char *text, *lines;
} texts[] = {{"", ""},
             {"\n", "1:|"},
             {"a", "1:a|"},
             {"a\nb\n", "1:a|2:b|"},
             {"a\r\n\r\nb", "1:a|2:|3:b|"},
             {"\xef\xbb\xbfx\ny", "1:x|2:y|"}};

static void lines_end_as_people_end_them(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        size_t length = strlen(texts[i].text);
        g_autofree char *plain = joined(rh_lines_of("t", texts[i].text, length));
        CU_ASSERT_STRING_EQUAL(plain, texts[i].lines);
        if (length == 0)
            continue;
        g_autoptr(GBytes) gz = packed(texts[i].text, length);
        g_autofree char *unpacked =
            joined(rh_lines_of("t", g_bytes_get_data(gz, NULL), g_bytes_get_size(gz)));
        CU_ASSERT_STRING_EQUAL(unpacked, texts[i].lines);
    }
}

/* Lines of every length up to several chunks, packed and not, in one member or two. */
static void long_files_are_read_whole(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 600; i++) {
        g_autofree char *line = g_strnfill((gsize)(i * i), (gchar)('a' + i % 26));
        g_string_append_printf(text, "%s\n", line);
    }
    g_autoptr(GBytes) gz = packed(text->str, text->len);
    g_autoptr(GByteArray) twice = g_byte_array_new();
    for (int i = 0; i < 2; i++)
        g_byte_array_append(twice, g_bytes_get_data(gz, NULL), (guint)g_bytes_get_size(gz));
    RhLines *readers[] = {rh_lines_of("t", text->str, text->len),
                          rh_lines_of("t", twice->data, twice->len)};
    for (int k = 0; k < 2; k++) {
        size_t length = 0, sum = 0;
        while (rh_lines_next(readers[k], &length, NULL))
            sum += length + 1;
        CU_ASSERT_EQUAL(sum, text->len * (gsize)(k + 1));
        CU_ASSERT_EQUAL(rh_lines_number(readers[k]), 600 * (k + 1));
        rh_lines_free(readers[k]);
    }
}

static void broken_gzip_is_an_error(void)
{
    g_autofree char *text = g_strnfill(100000, 'x');
    g_autoptr(GBytes) gz = packed(text, 100000);
    g_autofree char *half =
        joined(rh_lines_of("half.gz", g_bytes_get_data(gz, NULL), g_bytes_get_size(gz) / 2));
    CU_ASSERT_PTR_NOT_NULL(strstr(half, "half.gz: behind line 0: the gzip file ends too early"));
    g_autofree char *bad = joined(rh_lines_of("bad.gz", "\x1f\x8b\x08zzzzzzzzzzzzzzzzz", 20));
    CU_ASSERT_PTR_NOT_NULL(strstr(bad, "this is broken gzip"));
}

static void a_line_without_end_is_refused(void)
{
    g_autofree char *text = g_strnfill(RH_LINE_BYTES_MAX + 1, 'x');
    g_autofree char *message = joined(rh_lines_of("t", text, RH_LINE_BYTES_MAX + 1));
    CU_ASSERT_STRING_EQUAL(message, "t:1:1: a line of more than 8 MiB");
}

static void a_folder_and_a_missing_file_are_said(void)
{
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_lines_open("/", &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_IO));
    g_clear_error(&error);
    CU_ASSERT_PTR_NULL(rh_lines_open("/nowhere/to/be/found", &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_IO));
}

static const RhTest tests[] = {
    {"lines end as people end them", lines_end_as_people_end_them},
    {"long files are read whole", long_files_are_read_whole},
    {"broken gzip is an error", broken_gzip_is_an_error},
    {"a line without end is refused", a_line_without_end_is_refused},
    {"a folder and a missing file are said", a_folder_and_a_missing_file_are_said},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("line_reader", tests);
}

#include "base/text/gzip_file.h"

#include <gio/gio.h>

#include "base/error.h"
#include "base/json/json_internal.h"
#include "base/text/gzip_stream.h"

#define BUFFER_BYTES ((gsize)1 << 18)

static GByteArray *unpack_gzip(const char *path, GByteArray *packed, gsize most, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autoptr(GInputStream) raw =
        g_memory_input_stream_new_from_data(packed->data, packed->len, NULL);
    g_autoptr(GZlibDecompressor) gunzip = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
    g_autoptr(GInputStream) stream = g_converter_input_stream_new(raw, G_CONVERTER(gunzip));
    guint8 chunk[1 << 14];
    gssize count;
    while ((count = g_input_stream_read(stream, chunk, sizeof chunk, NULL, &local)) > 0 &&
           bytes->len <= most)
        g_byte_array_append(bytes, chunk, (guint)count);
    if (count == 0 && bytes->len <= most)
        return g_steal_pointer(&bytes);
    if (local)
        rh_fail(error, RH_ERROR_INPUT, "%s: %s", path, local->message);
    else
        rh_fail(error, RH_ERROR_INPUT, "%s is larger than %zu MiB", path, most >> 20);
    return NULL;
}

GByteArray *rh_bytes_load(const char *path, gsize most, GError **error)
{
    char *text = NULL;
    size_t length = 0;
    if (!rh_file_read(path, most, &text, &length, error))
        return NULL;
    g_autoptr(GByteArray) bytes = g_byte_array_new_take((guint8 *)text, length);
    if (length < 2 || bytes->data[0] != 0x1f || bytes->data[1] != 0x8b)
        return g_steal_pointer(&bytes);
    return unpack_gzip(path, bytes, most, error);
}

char *rh_bytes_head(const char *path, gsize most)
{
    g_autoptr(GFile) file = g_file_new_for_path(path);
    /* a pipe would lose what is read of it here */
    bool regular = g_file_test(path, G_FILE_TEST_IS_REGULAR);
    g_autoptr(GFileInputStream) raw = regular ? g_file_read(file, NULL, NULL) : NULL;
    g_autoptr(GInputStream) stream = raw ? rh_bytes_unpacked(G_INPUT_STREAM(raw)) : NULL;
    g_autofree char *head = g_malloc0(most + 1);
    gsize count = 0;
    /* what was read before a failure is the beginning all the same */
    if (!stream || (!g_input_stream_read_all(stream, head, most, &count, NULL, NULL) && count == 0))
        return NULL;
    return g_steal_pointer(&head);
}

GInputStream *rh_bytes_unpacked(GInputStream *raw)
{
    g_autoptr(GInputStream) buffered = g_buffered_input_stream_new_sized(raw, BUFFER_BYTES);
    GBufferedInputStream *begin = G_BUFFERED_INPUT_STREAM(buffered);
    gsize count = 0;
    gssize filled = g_buffered_input_stream_fill(begin, 2, NULL, NULL);
    const guint8 *head = g_buffered_input_stream_peek_buffer(begin, &count);
    g_autoptr(GZlibDecompressor) gunzip = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
    return filled >= 2 && count >= 2 && head[0] == 0x1f && head[1] == 0x8b
               ? g_converter_input_stream_new(buffered, G_CONVERTER(gunzip))
               : g_object_ref(buffered);
}

GBytes *rh_bytes_pack(const char *text, gsize length)
{
    g_autoptr(GOutputStream) bytes = g_memory_output_stream_new_resizable();
    g_autoptr(GZlibCompressor) gzip = g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, 6);
    g_autoptr(GOutputStream) stream = g_converter_output_stream_new(bytes, G_CONVERTER(gzip));
    /* writing to memory only fails for lack of it, which ends the program */
    g_output_stream_write_all(stream, text, length, NULL, NULL, NULL);
    g_output_stream_close(stream, NULL, NULL);
    return g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(bytes));
}

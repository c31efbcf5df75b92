#include "base/serialize.h"

#include <string.h>

void rh_pack(GByteArray *out, const void *data, size_t length)
{
    g_byte_array_append(out, data, (guint)length);
}

void rh_pack_array(GByteArray *out, const GArray *array, size_t element)
{
    rh_pack(out, &array->len, sizeof array->len);
    rh_pack(out, array->data, element * array->len);
}

void rh_pack_text(GByteArray *out, const char *text)
{
    uint32_t length = text ? (uint32_t)strlen(text) : G_MAXUINT32;
    rh_pack(out, &length, sizeof length);
    if (text)
        rh_pack(out, text, length);
}

void rh_unpack(RhUnpack *in, void *data, size_t length)
{
    if ((size_t)(in->end - in->at) < length) {
        in->whole = false;
        memset(data, 0, length);
        return;
    }
    memcpy(data, in->at, length);
    in->at += length;
}

void rh_unpack_array(RhUnpack *in, GArray *array, size_t element)
{
    uint32_t count;
    rh_unpack(in, &count, sizeof count);
    if ((size_t)(in->end - in->at) / element < count) {
        in->whole = false;
        return;
    }
    g_array_append_vals(array, in->at, count);
    in->at += element * count;
}

char *rh_unpack_text(RhUnpack *in)
{
    uint32_t length;
    rh_unpack(in, &length, sizeof length);
    if (length == G_MAXUINT32 || (size_t)(in->end - in->at) < length) {
        in->whole = in->whole && length == G_MAXUINT32;
        return NULL;
    }
    char *text = g_strndup((const char *)in->at, length);
    in->at += length;
    return text;
}

void rh_pack_bytes(GByteArray *out, const GByteArray *bytes)
{
    rh_pack(out, &bytes->len, sizeof bytes->len);
    rh_pack(out, bytes->data, bytes->len);
}

GByteArray *rh_unpack_bytes(RhUnpack *in)
{
    uint32_t length;
    GByteArray *bytes = g_byte_array_new();
    rh_unpack(in, &length, sizeof length);
    if ((size_t)(in->end - in->at) < length) {
        in->whole = false;
        return bytes;
    }
    g_byte_array_append(bytes, in->at, length);
    in->at += length;
    return bytes;
}

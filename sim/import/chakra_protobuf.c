/* Reads Chakra traces in protobuf: messages with their length in front, first the metadata, then
 * one per node. The wire format is varints, eight bytes, four bytes and bytes with their length
 * (protobuf.dev/programming-guides/encoding). Field numbers are those of
 * schema/protobuf/et_def.proto; fields that do not matter for time are skipped. */
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/text_input.h"
#include "sim/import/chakra_node.h"

#define TEXT_MAX 4096

typedef enum { VARINT = 0, EIGHT_BYTES = 1, BYTES = 2, FOUR_BYTES = 5 } WireType;

typedef struct {
    const char *name;
    const uint8_t *start, *at, *end;
} Wire;

typedef struct {
    uint32_t number;
    WireType type;
    uint64_t value; /* VARINT and the fixed ones, as bits */
    Wire inside;    /* BYTES */
} Field;

static bool fail(const Wire *w, const char *what, GError **error)
{
    return rh_fail(error, RH_ERROR_INPUT, "%s: byte %td: %s", w->name, w->at - w->start, what);
}

static bool read_varint(Wire *w, uint64_t *value, GError **error)
{
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (w->at == w->end)
            return fail(w, "the file ends inside a number", error);
        uint8_t byte = *w->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return fail(w, "a number of more than 64 bits: this is not a Chakra trace", error);
}

static bool read_fixed(Wire *w, int bytes, uint64_t *value, GError **error)
{
    if (w->end - w->at < bytes)
        return fail(w, "the file ends inside a number", error);
    *value = 0;
    for (int i = 0; i < bytes; i++)
        *value |= (uint64_t)*w->at++ << (8 * i);
    return true;
}

static bool read_bytes(Wire *w, Wire *inside, GError **error)
{
    uint64_t length;
    if (!read_varint(w, &length, error))
        return false;
    if (length > (uint64_t)(w->end - w->at))
        return fail(w, "the file ends inside a message: it is cut off, or no Chakra trace", error);
    *inside = (Wire){w->name, w->start, w->at, w->at + length};
    w->at += length;
    return true;
}

static bool read_field(Wire *w, Field *field, GError **error)
{
    uint64_t key;
    if (!read_varint(w, &key, error))
        return false;
    *field = (Field){.number = (uint32_t)(key >> 3), .type = (WireType)(key & 7)};
    switch (field->type) {
    case VARINT:
        return read_varint(w, &field->value, error);
    case EIGHT_BYTES:
        return read_fixed(w, 8, &field->value, error);
    case FOUR_BYTES:
        return read_fixed(w, 4, &field->value, error);
    case BYTES:
        return read_bytes(w, &field->inside, error);
    default:
        return fail(w, "a field of no known kind: this is not a Chakra trace", error);
    }
}

/* Reads a text for display: one line, not too long. Interned. */
static const char *text_of(const Wire *w)
{
    g_autofree char *bytes = g_strndup((const char *)w->at, MIN((gsize)(w->end - w->at), TEXT_MAX));
    g_autofree char *plain = rh_text_plain(bytes);
    return rh_intern(plain);
}

/* --- attributes --- */

/* Fields of AttributeProto: name, then one of many values by its type. */
enum { NAME = 1, DOUBLE = 3, FLOAT = 5, SINT32 = 15, SINT64 = 17, STRING = 29, BOOL_LIST = 28 };

static double number_of(const Field *field)
{
    double number;
    float small;
    uint32_t bits = (uint32_t)field->value;
    switch (field->number) {
    case DOUBLE:
        memcpy(&number, &field->value, sizeof number);
        return number;
    case FLOAT:
        memcpy(&small, &bits, sizeof small);
        return (double)small;
    case SINT32:
    case SINT64: /* zigzag */
        return (double)(int64_t)((field->value >> 1) ^ (~(field->value & 1) + 1));
    default: /* signed or not: negative values mean "none" in all attributes read here */
        return (double)(int64_t)field->value;
    }
}

/* Reads booleans, packed or one by one: is one of them false? */
static bool has_false(Wire list, bool *found, GError **error)
{
    while (list.at < list.end) {
        Field field;
        if (!read_field(&list, &field, error))
            return false;
        if (field.type == VARINT && field.value == 0)
            *found = true;
        for (const uint8_t *b = field.inside.at; field.type == BYTES && b < field.inside.end; b++)
            *found = *found || *b == 0;
    }
    return true;
}

static bool read_attribute(Wire w, RhChakraNode *n, GError **error)
{
    const char *name = "", *text = NULL;
    double number = 0;
    bool missing = false;
    while (w.at < w.end) {
        Field field;
        if (!read_field(&w, &field, error))
            return false;
        if (field.number == NAME && field.type == BYTES)
            name = text_of(&field.inside);
        else if (field.number == STRING && field.type == BYTES)
            text = text_of(&field.inside);
        else if (field.number == BOOL_LIST && field.type == BYTES) {
            if (!has_false(field.inside, &missing, error))
                return false;
        } else if (field.type != BYTES)
            number = number_of(&field);
    }
    if (strcmp(name, "involved_dim") == 0)
        n->dimension_left_out = missing;
    rh_chakra_attribute(n, name, number, text);
    return true;
}

/* --- nodes --- */

/* Fields of Node. */
enum { ID = 1, NODE_NAME = 2, TYPE = 3, CTRL_DEPS = 4, DATA_DEPS = 5, DURATION = 7, ATTR = 10 };

static void add_wait(RhChakraRank *r, uint64_t id, bool control)
{
    RhChakraWait wait = {(int32_t)r->f->ops->len, id, control};
    g_array_append_val(r->waits, wait);
}

/* Reads ids, packed or one by one. */
static bool read_waits(const Field *field, RhChakraRank *r, GError **error)
{
    bool control = field->number == CTRL_DEPS;
    Wire list = field->inside;
    if (field->type == VARINT)
        add_wait(r, field->value, control);
    while (field->type == BYTES && list.at < list.end) {
        uint64_t id;
        if (!read_varint(&list, &id, error))
            return false;
        add_wait(r, id, control);
    }
    return true;
}

static bool read_node(Wire w, RhChakraRank *r, GError **error)
{
    RhChakraNode n = rh_chakra_node();
    n.type = 0;
    n.place.offset = w.at - w.start;
    while (w.at < w.end) {
        Field field;
        if (!read_field(&w, &field, error))
            return false;
        if (field.number == ID && field.type == VARINT)
            n.id = field.value;
        else if (field.number == NODE_NAME && field.type == BYTES)
            n.name = text_of(&field.inside);
        else if (field.number == TYPE && field.type == VARINT)
            n.type = field.value <= INT32_MAX ? (int64_t)field.value : -1;
        else if (field.number == DURATION && field.type == VARINT)
            n.duration_us = (double)field.value;
        else if ((field.number == CTRL_DEPS || field.number == DATA_DEPS) &&
                 !read_waits(&field, r, error))
            return false;
        else if (field.number == ATTR && field.type == BYTES &&
                 !read_attribute(field.inside, &n, error))
            return false;
    }
    return rh_chakra_add(r, &n, error);
}

bool rh_chakra_add_bytes(RhImportedTrace *f, const char *name, const uint8_t *bytes, size_t length,
                         GError **error)
{
    Wire w = {name, bytes, bytes, bytes + length}, message;
    RhChakraRank r;
    if (length == 0)
        return rh_fail(error, RH_ERROR_INPUT, "%s: the file is empty", name);
    if (!read_bytes(&w, &message, error)) /* the metadata: version and origin */
        return false;
    rh_chakra_begin(&r, f);
    bool fine = true;
    while (fine && w.at < w.end)
        fine = read_bytes(&w, &message, error) && read_node(message, &r, error);
    return rh_chakra_end(&r, fine, error);
}

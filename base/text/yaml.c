#include "base/text/yaml.h"

#include <string.h>
#include <yaml.h>

#include "base/error.h"
#include "base/json/json_internal.h"

#define BYTES_MAX  (8u * 1024 * 1024)
#define VALUES_MAX (1 << 20)
#define MARK       "\xef\xbb\xbf" /* the byte order mark some editors write */

/* A value that an alias may name. */
typedef struct {
    cJSON *node;
    bool open; /* it is still being read */
} Anchor;

typedef struct {
    RhJson *doc;
    yaml_parser_t parser;
    GHashTable *anchors; /* name -> owned Anchor */
    GPtrArray *merged;   /* owned cJSON: holders of the values of merge keys */
    size_t index, byte;  /* a character's number in the text, and its offset */
    int depth;
    int64_t values;
    GError **error;
} Reader;

/* --- positions --- */

/* Returns the offset of a mark, which counts characters; marks come in rising order. */
static size_t offset_of(Reader *r, const yaml_mark_t *mark)
{
    if (mark->index < r->index) {
        r->index = 0;
        r->byte = g_str_has_prefix(r->doc->text, MARK) ? strlen(MARK) : 0;
    }
    for (; r->index < mark->index && r->byte < r->doc->length; r->index++)
        r->byte += (size_t)(g_utf8_next_char(r->doc->text + r->byte) - (r->doc->text + r->byte));
    return r->byte;
}

static bool refuse(Reader *r, const yaml_mark_t *mark, const char *message, const char *help)
{
    return rh_json_reject(r->doc, offset_of(r, mark), r->error, message, help);
}

/* Sets where an event stands: a container is shown by its first character. */
static RhJsonPlace place_of(Reader *r, const yaml_event_t *e, RhJsonPlace place)
{
    place.offset = offset_of(r, &e->start_mark);
    bool scalar = e->type == YAML_SCALAR_EVENT || e->type == YAML_ALIAS_EVENT;
    size_t end = scalar ? offset_of(r, &e->end_mark) : place.offset + 1;
    place.span = MAX(end, place.offset + 1) - place.offset;
    return place;
}

static bool next_event(Reader *r, yaml_event_t *e)
{
    if (yaml_parser_parse(&r->parser, e))
        return true;
    const char *problem = r->parser.problem ? r->parser.problem : "no memory";
    g_autofree char *message = g_strdup_printf("this is not valid YAML: %s", problem);
    if (r->parser.error == YAML_READER_ERROR)
        return rh_json_reject(r->doc, r->parser.problem_offset, r->error, message, NULL);
    return refuse(r, &r->parser.problem_mark, message, NULL);
}

/* --- values --- */

typedef struct {
    cJSON *parent;
    const char *key; /* NULL in a list */
    RhJsonPlace place;
} Slot;

static bool read_value(Reader *r, const yaml_event_t *e, const Slot *slot);

/* Counts one value more, whether it is written or copied. */
static bool count_value(Reader *r, const yaml_event_t *e)
{
    return ++r->values <= VALUES_MAX ||
           refuse(r, &e->start_mark, "more than a million values, aliases counted",
                  "write out what is needed of them");
}

static void name_node(Reader *r, const yaml_char_t *name, cJSON *node, bool open)
{
    if (!name)
        return;
    Anchor *anchor = g_new0(Anchor, 1);
    *anchor = (Anchor){node, open};
    g_hash_table_replace(r->anchors, g_strdup((const char *)name), anchor);
}

/* Closes the anchor of a container that was read. */
static void close_node(Reader *r, const yaml_char_t *name, const cJSON *node)
{
    Anchor *anchor = name ? g_hash_table_lookup(r->anchors, name) : NULL;
    if (anchor && anchor->node == node)
        anchor->open = false;
}

/* Copies a value, with the positions of the copied one. */
static bool copy_value(Reader *r, const yaml_event_t *e, const cJSON *from, const Slot *slot)
{
    if (!count_value(r, e))
        return false;
    if (r->depth > RH_JSON_DEPTH_MAX)
        return refuse(r, &e->start_mark, "nested deeper than 64 levels", NULL);
    const RhJsonPlace *known = rh_json_place(r->doc, from);
    RhJsonPlace place = known ? *known : slot->place;
    if (slot->place.key_span > 0) {
        place.key_offset = slot->place.key_offset;
        place.key_span = slot->place.key_span;
    }
    cJSON *to = slot->parent;
    if (cJSON_IsString(from)) {
        rh_json_add_text(r->doc, to, slot->key, from->valuestring, &place);
        return true;
    }
    if (cJSON_IsNumber(from)) {
        rh_json_add_number(r->doc, to, slot->key, from->valuedouble, &place);
        return true;
    }
    cJSON *made = rh_json_add(r->doc, to, slot->key, rh_json_kind(from), &place);
    r->depth++;
    for (const cJSON *child = from->child; child; child = child->next) {
        Slot inner = {made, cJSON_IsObject(from) ? child->string : NULL, {0}};
        if (!copy_value(r, e, child, &inner))
            return false;
    }
    r->depth--;
    return true;
}

static bool read_alias(Reader *r, const yaml_event_t *e, const Slot *slot)
{
    const Anchor *anchor = g_hash_table_lookup(r->anchors, e->data.alias.anchor);
    if (!anchor)
        return refuse(r, &e->start_mark, "this alias names nothing that stands before it", NULL);
    if (anchor->open)
        return refuse(r, &e->start_mark, "this alias stands inside what it names", NULL);
    return copy_value(r, e, anchor->node, slot);
}

static bool read_scalar(Reader *r, const yaml_event_t *e, const Slot *slot)
{
    const char *text = (const char *)e->data.scalar.value;
    if (strlen(text) != e->data.scalar.length)
        return refuse(r, &e->start_mark, "a NUL character cannot stand in a text", NULL);
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !e->data.scalar.tag;
    cJSON *node = plain ? rh_json_add_plain(r->doc, slot->parent, slot->key, text, &slot->place)
                        : rh_json_add_text(r->doc, slot->parent, slot->key, text, &slot->place);
    name_node(r, e->data.scalar.anchor, node, false);
    return true;
}

static bool read_list(Reader *r, const yaml_event_t *begin, const Slot *slot)
{
    cJSON *list = rh_json_add(r->doc, slot->parent, slot->key, RH_JSON_ARRAY, &slot->place);
    name_node(r, begin->data.sequence_start.anchor, list, true);
    for (bool more = true, fine; more;) {
        yaml_event_t e;
        if (!next_event(r, &e))
            return false;
        Slot inner = {list, NULL, place_of(r, &e, (RhJsonPlace){0})};
        more = e.type != YAML_SEQUENCE_END_EVENT;
        fine = !more || read_value(r, &e, &inner);
        yaml_event_delete(&e);
        if (!fine)
            return false;
    }
    close_node(r, begin->data.sequence_start.anchor, list);
    return true;
}

/* Adds what a mapping of a merge key has and the object has not. */
static bool merge_one(Reader *r, const yaml_event_t *e, const cJSON *from, cJSON *object)
{
    if (!cJSON_IsObject(from))
        return refuse(r, &e->start_mark, "what \"<<\" merges must be a mapping",
                      "an alias of one, or a list of such aliases");
    for (const cJSON *child = from->child; child; child = child->next) {
        Slot slot = {object, child->string, {0}};
        if (!cJSON_GetObjectItemCaseSensitive(object, child->string) &&
            !copy_value(r, e, child, &slot))
            return false;
    }
    return true;
}

/* Merges values of "<<" into an object whose own keys are all read. */
static bool merge_all(Reader *r, const yaml_event_t *e, const cJSON *holder, cJSON *object)
{
    for (const cJSON *value = holder ? holder->child : NULL; value; value = value->next) {
        if (!cJSON_IsArray(value) && !merge_one(r, e, value, object))
            return false;
        if (cJSON_IsArray(value))
            for (const cJSON *one = value->child; one; one = one->next)
                if (!merge_one(r, e, one, object))
                    return false;
    }
    return true;
}

/* Reads a member's value; that of "<<" goes to a holder. */
static bool read_member(Reader *r, const yaml_event_t *key, cJSON *object, cJSON **holder)
{
    if (key->type != YAML_SCALAR_EVENT)
        return refuse(r, &key->start_mark, "a key must be a word or a text", NULL);
    const char *name = (const char *)key->data.scalar.value;
    if (strlen(name) != key->data.scalar.length)
        return refuse(r, &key->start_mark, "a NUL character cannot stand in a key", NULL);
    RhJsonPlace at = place_of(r, key, (RhJsonPlace){0});
    Slot slot = {object, name, {.key_offset = at.offset, .key_span = at.span}};
    if (strcmp(name, "<<") == 0 && key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        if (!*holder) {
            *holder = cJSON_CreateArray();
            g_ptr_array_add(r->merged, *holder);
        }
        slot = (Slot){*holder, NULL, slot.place};
    }
    yaml_event_t e;
    if (!next_event(r, &e))
        return false;
    slot.place = place_of(r, &e, slot.place);
    bool fine = read_value(r, &e, &slot);
    yaml_event_delete(&e);
    return fine;
}

static bool read_mapping(Reader *r, const yaml_event_t *begin, const Slot *slot)
{
    cJSON *object = rh_json_add(r->doc, slot->parent, slot->key, RH_JSON_OBJECT, &slot->place);
    cJSON *holder = NULL;
    name_node(r, begin->data.mapping_start.anchor, object, true);
    for (bool more = true, fine; more;) {
        yaml_event_t key;
        if (!next_event(r, &key))
            return false;
        more = key.type != YAML_MAPPING_END_EVENT;
        fine = !more || read_member(r, &key, object, &holder);
        yaml_event_delete(&key);
        if (!fine)
            return false;
    }
    close_node(r, begin->data.mapping_start.anchor, object);
    return merge_all(r, begin, holder, object);
}

static bool read_value(Reader *r, const yaml_event_t *e, const Slot *slot)
{
    if (!count_value(r, e))
        return false;
    if (e->type == YAML_SCALAR_EVENT)
        return read_scalar(r, e, slot);
    if (e->type == YAML_ALIAS_EVENT)
        return read_alias(r, e, slot);
    if (++r->depth > RH_JSON_DEPTH_MAX)
        return refuse(r, &e->start_mark, "nested deeper than 64 levels", NULL);
    bool fine =
        e->type == YAML_SEQUENCE_START_EVENT ? read_list(r, e, slot) : read_mapping(r, e, slot);
    r->depth--;
    return fine;
}

/* --- documents --- */

/* Reads every document of the stream into a list. */
static bool read_documents(Reader *r, cJSON *list)
{
    for (bool more = true, fine = true; more;) {
        yaml_event_t e;
        if (!next_event(r, &e))
            return false;
        more = e.type != YAML_STREAM_END_EVENT;
        bool framing = e.type == YAML_STREAM_START_EVENT || e.type == YAML_DOCUMENT_START_EVENT ||
                       e.type == YAML_DOCUMENT_END_EVENT;
        if (e.type == YAML_DOCUMENT_START_EVENT)
            g_hash_table_remove_all(r->anchors);
        if (more && !framing) {
            Slot slot = {list, NULL, place_of(r, &e, (RhJsonPlace){0})};
            fine = read_value(r, &e, &slot);
        }
        yaml_event_delete(&e);
        if (!fine)
            return false;
    }
    return true;
}

/* Makes the only document the root, or the list of several. */
static bool set_root(Reader *r, cJSON *list)
{
    cJSON_Delete(r->doc->root);
    r->doc->root = list;
    if (!list->child)
        return rh_json_reject(r->doc, r->doc->length, r->error, "the file is empty", NULL);
    if (!list->child->next) {
        r->doc->root = cJSON_DetachItemFromArray(list, 0);
        cJSON_Delete(list);
    }
    return rh_json_check_tree(r->doc, r->error);
}

static bool read_text(Reader *r)
{
    const RhJson *doc = r->doc;
    size_t skipped = g_str_has_prefix(doc->text, MARK) ? strlen(MARK) : 0;
    r->byte = skipped;
    if (!yaml_parser_initialize(&r->parser))
        return rh_fail(r->error, RH_ERROR_INPUT, "%s: no memory", doc->name);
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)doc->text + skipped,
                                 doc->length - skipped);
    cJSON *list = cJSON_CreateArray();
    bool fine = read_documents(r, list);
    yaml_parser_delete(&r->parser);
    if (fine)
        return set_root(r, list);
    cJSON_Delete(list);
    return false;
}

static void free_holder(gpointer holder)
{
    cJSON_Delete(holder);
}

RhJson *rh_yaml_parse(const char *name, const char *text, size_t length, GError **error)
{
    if (length > BYTES_MAX) {
        rh_fail(error, RH_ERROR_INPUT, "%s is larger than 8 MiB", name);
        return NULL;
    }
    g_autoptr(RhJson) doc = rh_json_new(name, text, length);
    if (!rh_json_check_utf8(doc, error))
        return NULL;
    g_autoptr(GHashTable) anchors = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GPtrArray) merged = g_ptr_array_new_with_free_func(free_holder);
    Reader r = {.doc = doc, .anchors = anchors, .merged = merged, .error = error};
    return read_text(&r) ? g_steal_pointer(&doc) : NULL;
}

RhJson *rh_yaml_load(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    size_t length = 0;
    if (!rh_file_read(path, BYTES_MAX, &text, &length, error))
        return NULL;
    return rh_yaml_parse(path, text, length, error);
}

/* Chakra traces as JSON: a list of nodes, or an object that holds one as "workload_graph" (the feeder's form) or
 * "nodes". Keys are spelled as the schema does, as protobuf's JSON does, or as the feeder does; attributes
 * stand in "attr" or beside the rest. */
#include <string.h>

#include "base/text/decimal_parse.h"
#include "sim/import/chakra_node.h"

static const char *find(const RhJsonNode *object, const char *const *keys)
{
    for (; *keys; keys++)
        if (rh_json_has(object, *keys))
            return *keys;
    return NULL;
}

/* Reads a number, which protobuf writes as a text if it has 64 bits; true and false are 1 and 0. */
static double number_of(RhJson *doc, const RhJsonNode *node)
{
    double value;
    switch (rh_json_kind(node)) {
    case RH_JSON_TRUE:
        return 1;
    case RH_JSON_FALSE:
    case RH_JSON_NULL:
        return 0;
    case RH_JSON_TEXT: {
        const char *text = rh_json_node_string(doc, node);
        if (rh_number_parse(text, &value) && value >= -1e21 && value <= 1e21)
            return value;
        rh_json_problem(doc, node, NULL, "a number must stand here");
        return 0;
    }
    case RH_JSON_NUMBER:
    case RH_JSON_ARRAY:
    case RH_JSON_OBJECT:
        break;
    }
    return rh_json_node_number(doc, node, -1e21, 1e21);
}

static const RhJsonNode *member(const RhJsonNode *object, const char *const *keys)
{
    const char *key = find(object, keys);
    for (const RhJsonNode *m = key ? rh_json_first(object) : NULL; m; m = rh_json_next(m))
        if (strcmp(rh_json_key(m), key) == 0)
            return m;
    return NULL;
}

static uint64_t id_of(RhJson *doc, const RhJsonNode *node)
{
    double value = number_of(doc, node);
    if (value >= 0 && value < 9007199254740992.0)
        return (uint64_t)value;
    rh_json_problem(doc, node, NULL, "an id is a whole number from 0 to 2^53");
    return 0;
}

static bool is_scalar(const RhJsonNode *node)
{
    RhJsonKind kind = rh_json_kind(node);
    return kind != RH_JSON_ARRAY && kind != RH_JSON_OBJECT && kind != RH_JSON_NULL;
}

static bool is_word(RhJson *doc, const RhJsonNode *value)
{
    return rh_json_kind(value) == RH_JSON_TEXT && g_ascii_isalpha(*rh_json_node_string(doc, value));
}

/* Sets an attribute of a node. Attributes that do not matter for time may hold any value. */
static void set_attribute(RhJson *doc, RhChakraNode *n, const char *name, const RhJsonNode *value)
{
    static const char *const numbers[] = {"is_cpu_op",   "comm_size", "comm_src",
                                          "comm_dst",    "comm_tag",  "num_ops",
                                          "tensor_size", "runtime",   NULL};
    if (!is_scalar(value))
        return;
    if (g_strv_contains(numbers, name))
        rh_chakra_attribute(n, name, number_of(doc, value), NULL);
    else if (strcmp(name, "comm_type") == 0 && !is_word(doc, value))
        rh_chakra_attribute(n, name, number_of(doc, value), NULL);
    else if (strcmp(name, "comm_type") == 0 || strcmp(name, "pg_name") == 0)
        rh_chakra_attribute(n, name, 0, rh_json_node_string(doc, value));
}

/* Reads attributes, as {"name": "comm_size", "int64Val": "1048576"}, whatever the value's key
 * is. */
static void read_attributes(RhJson *doc, const RhJsonNode *list, RhChakraNode *n)
{
    for (const RhJsonNode *a = rh_json_first(list); a; a = rh_json_next(a)) {
        if (rh_json_kind(a) != RH_JSON_OBJECT)
            continue;
        const char *name = rh_json_string_or(doc, a, "name", "");
        for (const RhJsonNode *m = rh_json_first(a); m; m = rh_json_next(m))
            if (strcmp(rh_json_key(m), "name") != 0)
                set_attribute(doc, n, name, m);
    }
}

static void read_involved(const RhJsonNode *list, RhChakraNode *n)
{
    for (const RhJsonNode *d = list ? rh_json_first(list) : NULL; d; d = rh_json_next(d))
        n->dimension_left_out = n->dimension_left_out || rh_json_kind(d) == RH_JSON_FALSE;
}

static void read_waits(RhJson *doc, const RhJsonNode *list, bool control, RhChakraRank *r)
{
    if (list && rh_json_kind(list) != RH_JSON_ARRAY)
        rh_json_problem(doc, list, NULL, "a list of ids must stand here");
    else
        for (const RhJsonNode *d = list ? rh_json_first(list) : NULL; d; d = rh_json_next(d)) {
            RhChakraWait wait = {(int32_t)r->f->ops->len - 1, id_of(doc, d), control};
            g_array_append_val(r->waits, wait);
        }
}

static bool read_node(RhJson *doc, const RhJsonNode *node, RhChakraRank *r, GError **error)
{
    static const char *const ids[] = {"id", "Id", NULL}, *const names[] = {"name", "Name", NULL},
                             *const types[] = {"type", "NodeType", "node_type", NULL},
                             *const durations[] = {"duration_micros", "durationMicros", NULL},
                             *const data[] = {"data_deps", "dataDeps", NULL},
                             *const control[] = {"ctrl_deps", "ctrlDeps", NULL},
                             *const attributes[] = {"attr", "attrs", NULL},
                             *const involved[] = {"involved_dim", NULL};
    RhChakraNode n = rh_chakra_node();
    const RhJsonNode *m;
    if (rh_json_kind(node) != RH_JSON_OBJECT) {
        rh_json_problem(doc, node, NULL, "a node is an object");
        return rh_json_finish(doc, error);
    }
    n.place.node = node;
    for (m = rh_json_first(node); m; m = rh_json_next(m))
        set_attribute(doc, &n, rh_json_key(m), m);
    if ((m = member(node, ids)))
        n.id = id_of(doc, m);
    else
        rh_json_problem(doc, node, NULL, "a node without id");
    if ((m = member(node, names)))
        n.name = rh_json_node_string(doc, m);
    if ((m = member(node, types)))
        n.type = rh_json_kind(m) == RH_JSON_TEXT
                     ? rh_chakra_type_by_name(rh_json_node_string(doc, m))
                     : (int64_t)rh_json_node_int(doc, m, 0, INT32_MAX);
    if ((m = member(node, durations)))
        n.duration_us = number_of(doc, m);
    if ((m = member(node, attributes)))
        read_attributes(doc, m, &n);
    read_involved(member(node, involved), &n);
    if (!rh_chakra_add(r, &n, error))
        return false;
    read_waits(doc, member(node, data), false, r);
    read_waits(doc, member(node, control), true, r);
    return true;
}

bool rh_chakra_add_json(RhImportedTrace *f, RhJson *doc, GError **error)
{
    const RhJsonNode *root = rh_json_root(doc);
    static const char *const lists[] = {"workload_graph", "nodes", NULL};
    const RhJsonNode *list = rh_json_kind(root) == RH_JSON_OBJECT ? member(root, lists) : root;
    RhChakraRank r;
    bool fine = true;
    rh_json_consume_all(doc, root);
    if (!list || rh_json_kind(list) != RH_JSON_ARRAY) {
        rh_json_problem(doc, root,
                        "a Chakra trace is a list of nodes, or has one as \"workload_graph\"",
                        "no list of nodes stands here");
        return rh_json_finish(doc, error);
    }
    rh_chakra_begin(&r, f);
    for (const RhJsonNode *node = rh_json_first(list); fine && node; node = rh_json_next(node))
        fine = read_node(doc, node, &r, error);
    fine = fine && rh_json_finish(doc, error);
    return rh_chakra_end(&r, fine, error);
}

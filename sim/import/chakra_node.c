#include "sim/import/chakra_node.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"

#define OPS_MAX (1 << 26)

/* NodeType of the schema, in its order. */
enum { INVALID, METADATA, MEM_LOAD, MEM_STORE, COMP, SEND, RECV, COLL };
static const char *const types[] = {"INVALID_NODE",   "METADATA_NODE",  "MEM_LOAD_NODE",
                                    "MEM_STORE_NODE", "COMP_NODE",      "COMM_SEND_NODE",
                                    "COMM_RECV_NODE", "COMM_COLL_NODE", NULL};

/* CollectiveCommType, in its order, with our operation. A reduction to one moves the bytes of a
 * broadcast from one, in reverse. */
static const struct {
    const char *name;
    RhOp op; /* RH_OP_NONE: not supported */
} collectives[] = {{"ALL_REDUCE", RH_OP_ALL_REDUCE},
                   {"REDUCE", RH_OP_BROADCAST},
                   {"ALL_GATHER", RH_OP_ALL_GATHER},
                   {"GATHER", RH_OP_NONE},
                   {"SCATTER", RH_OP_NONE},
                   {"BROADCAST", RH_OP_BROADCAST},
                   {"ALL_TO_ALL", RH_OP_ALL_TO_ALL},
                   {"REDUCE_SCATTER", RH_OP_REDUCE_SCATTER},
                   {"REDUCE_SCATTER_BLOCK", RH_OP_REDUCE_SCATTER},
                   {"BARRIER", RH_OP_BARRIER}};

int64_t rh_chakra_type_by_name(const char *name)
{
    for (int64_t i = 0; types[i]; i++)
        if (strcmp(types[i], name) == 0)
            return i;
    return -1;
}

static int64_t collective_by_name(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(collectives); i++)
        if (strcmp(collectives[i].name, name) == 0)
            return (int64_t)i;
    return -1;
}

RhChakraNode rh_chakra_node(void)
{
    return (RhChakraNode){
        .name = "", .type = -1, .comm_type = -1, .src = -1, .dst = -1, .team = ""};
}

/* Converts a number of a file to an int64; -1 where it is not whole or does not fit. */
static int64_t whole_number(double number)
{
    return number >= 0 && number <= 1e15 ? (int64_t)number : -1;
}

void rh_chakra_attribute(RhChakraNode *n, const char *name, double number, const char *text)
{
    if (strcmp(name, "is_cpu_op") == 0)
        n->host = number != 0;
    else if (strcmp(name, "comm_type") == 0)
        n->comm_type = text ? collective_by_name(text) : whole_number(number);
    else if (strcmp(name, "comm_size") == 0)
        n->comm_bytes = number;
    else if (strcmp(name, "comm_src") == 0)
        n->src = whole_number(number);
    else if (strcmp(name, "comm_dst") == 0)
        n->dst = whole_number(number);
    else if (strcmp(name, "comm_tag") == 0)
        n->tag = whole_number(number);
    else if (strcmp(name, "num_ops") == 0)
        n->flops = number;
    else if (strcmp(name, "tensor_size") == 0)
        n->tensor_bytes = number;
    else if (strcmp(name, "runtime") == 0)
        n->duration_us = number;
    else if (strcmp(name, "pg_name") == 0 && text)
        n->team = rh_intern(text);
}

void rh_chakra_begin(RhChakraRank *r, RhImportedTrace *f)
{
    *r = (RhChakraRank){.f = f, .rank = f->ranks_count, .first = (int32_t)f->ops->len};
    r->op_of_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    r->waits = g_array_new(FALSE, FALSE, sizeof(RhChakraWait));
    f->ranks_count++;
}

/* --- kinds of nodes --- */

static bool fail(const RhChakraRank *r, const char *help, GError **error, const char *what)
{
    int32_t op = (int32_t)r->f->ops->len - 1;
    return rh_imported_trace_fail(r->f, op, help, error, "node %" G_GUINT64_FORMAT ": %s",
                                  rh_imported_trace_op(r->f, op)->id, what);
}

static void as_timed(const RhChakraNode *n, RhImportedOp *o)
{
    o->kind = n->host ? RH_IMPORTED_HOST : RH_IMPORTED_COMPUTE;
    o->processor = 1;
    o->seconds = n->duration_us * 1e-6;
    o->flops = n->flops;
    o->bytes = n->tensor_bytes;
    if (n->duration_us <= 0 && !n->host && (n->flops > 0 || n->tensor_bytes > 0))
        o->seconds = -1;
    else if (n->duration_us <= 0)
        o->kind = RH_IMPORTED_NOTHING;
}

static void as_copy(const RhChakraNode *n, RhImportedOp *o)
{
    if (n->tensor_bytes <= 0) {
        as_timed(n, o);
        return;
    }
    bool load = n->type == MEM_LOAD;
    o->kind = RH_IMPORTED_COPY;
    o->bytes = n->tensor_bytes;
    o->from = load ? RH_MEMORY_TIER_HOST : RH_MEMORY_TIER_HBM;
    o->to = load ? RH_MEMORY_TIER_HBM : RH_MEMORY_TIER_HOST;
}

static bool as_message(const RhChakraRank *r, const RhChakraNode *n, RhImportedOp *o,
                       GError **error)
{
    bool sends = n->type == SEND;
    int64_t peer = sends ? n->dst : n->src, own = sends ? n->src : n->dst;
    if (peer < 0 || peer > INT32_MAX)
        return fail(r, NULL, error,
                    sends ? "a send without comm_dst, the rank it goes to"
                          : "a receive without comm_src, the rank it comes from");
    if (own >= 0 && own != r->rank)
        return fail(r, "rank N is in PREFIX.N", error,
                    "it names another rank as its own than its file does");
    o->kind = sends ? RH_IMPORTED_SEND : RH_IMPORTED_RECV;
    o->peer = (int32_t)peer;
    o->tag = n->tag;
    o->bytes = n->comm_bytes;
    return true;
}

static bool as_collective(const RhChakraRank *r, const RhChakraNode *n, RhImportedOp *o,
                          GError **error)
{
    if (n->comm_type < 0)
        return fail(r, NULL, error, "a collective without comm_type, or with one of no known name");
    if (n->comm_type >= (int64_t)G_N_ELEMENTS(collectives) ||
        collectives[n->comm_type].op == RH_OP_NONE)
        return fail(
            r,
            "ALL_REDUCE, REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER and BARRIER are",
            error, "its comm_type is not a supported collective");
    if (n->dimension_left_out)
        return fail(r, "pg_name says who takes part, and needs no topology", error,
                    "involved_dim leaves a dimension of a topology out that is not supported");
    o->kind = RH_IMPORTED_COLLECTIVE;
    o->op = (uint8_t)collectives[n->comm_type].op;
    o->bytes = n->comm_bytes; /* of an all-gather a member's part, until members are counted */
    o->team = rh_imported_trace_team(r->f, n->team);
    return true;
}

bool rh_chakra_add(RhChakraRank *r, const RhChakraNode *n, GError **error)
{
    RhImportedOp fresh = {.kind = RH_IMPORTED_NOTHING,
                          .rank = r->rank,
                          .mate = -1,
                          .id = n->id,
                          .name = n->name,
                          .place = n->place};
    g_array_append_val(r->f->ops, fresh);
    RhImportedOp *o = rh_imported_trace_op(r->f, (int32_t)r->f->ops->len - 1);
    gint64 *key = g_new(gint64, 1);
    *key = (gint64)n->id;
    if (!g_hash_table_insert(r->op_of_id, key, GINT_TO_POINTER((gint)r->f->ops->len)))
        return fail(r, NULL, error, "this id stands twice in the trace");
    if (r->f->ops->len > OPS_MAX)
        return fail(r, NULL, error, "there are too many nodes");
    double numbers[] = {n->duration_us, n->comm_bytes, n->flops, n->tensor_bytes};
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        if (!(numbers[i] >= 0 && numbers[i] <= 1e21))
            return fail(r, NULL, error, "a duration or size is out of range");
    switch (n->type) {
    case INVALID:
    case METADATA:
        return true;
    case MEM_LOAD:
    case MEM_STORE:
        as_copy(n, o);
        return true;
    case COMP:
        as_timed(n, o);
        r->f->untimed += o->kind == RH_IMPORTED_NOTHING && !n->host;
        return true;
    case SEND:
    case RECV:
        return as_message(r, n, o, error);
    case COLL: /* the host's side of a collective carries no size: its launch */
        if (!n->host)
            return as_collective(r, n, o, error);
        as_timed(n, o);
        return true;
    default:
        break;
    }
    g_autofree char *list = g_strjoinv(", ", (char **)types);
    g_autofree char *help = g_strdup_printf("types are %s", list);
    return fail(r, help, error, "its type is not supported");
}

/* --- dependencies --- */

/* Can all nodes of the rank be ordered? Kahn's algorithm over `edges`. */
static bool can_end(const RhChakraRank *r, const GArray *edges)
{
    int32_t count = (int32_t)r->f->ops->len - r->first, done = 0;
    g_autofree int32_t *waits = g_new0(int32_t, count + 1), *stack = g_new(int32_t, count + 1);
    g_autofree int32_t *head = g_new(int32_t, count + 1), *next = g_new(int32_t, edges->len + 1);
    memset(head, 0xff, sizeof(int32_t) * (size_t)(count + 1));
    for (guint i = 0; i < edges->len; i++) {
        const RhImportedWait *w = &g_array_index(edges, RhImportedWait, i);
        waits[w->op - r->first]++;
        next[i] = head[w->on - r->first];
        head[w->on - r->first] = (int32_t)i;
    }
    int32_t depth = 0;
    for (int32_t i = 0; i < count; i++)
        if (waits[i] == 0)
            stack[depth++] = i;
    for (; depth > 0; done++)
        for (int32_t e = head[stack[--depth]]; e >= 0; e = next[e]) {
            int32_t op = g_array_index(edges, RhImportedWait, e).op - r->first;
            if (--waits[op] == 0)
                stack[depth++] = op;
        }
    return done == count;
}

/* Looks up ids: data dependencies into `data`, control dependencies into `control`. */
static bool find_nodes(RhChakraRank *r, GArray *data, GArray *control, GError **error)
{
    for (guint i = 0; i < r->waits->len; i++) {
        const RhChakraWait *w = &g_array_index(r->waits, RhChakraWait, i);
        gint64 key = (gint64)w->id;
        int32_t on = GPOINTER_TO_INT(g_hash_table_lookup(r->op_of_id, &key)) - 1;
        RhImportedWait wait = {.op = w->op, .on = on};
        if (on >= 0 && on != w->op)
            g_array_append_val(w->control ? control : data, wait);
        else if (on >= 0 || w->control) /* itself, or a caller that the trace leaves out */
            r->f->left_out++;
        else
            return rh_imported_trace_fail(r->f, w->op, NULL, error,
                                          "node %" G_GUINT64_FORMAT " depends on %" G_GUINT64_FORMAT
                                          ", which the trace does not have",
                                          rh_imported_trace_op(r->f, w->op)->id, w->id);
    }
    return true;
}

/* Resolves dependencies. Control dependencies are used if all nodes can be ordered with them: in
 * traces of PyTorch they name callers, which end after what they call. */
static bool resolve_dependencies(RhChakraRank *r, GError **error)
{
    g_autoptr(GArray) data = g_array_new(FALSE, FALSE, sizeof(RhImportedWait));
    g_autoptr(GArray) control = g_array_new(FALSE, FALSE, sizeof(RhImportedWait));
    if (!find_nodes(r, data, control, error))
        return false;
    guint data_count = data->len;
    g_array_append_vals(data, control->data, control->len);
    if (control->len > 0 && !can_end(r, data)) {
        g_array_set_size(data, data_count);
        r->f->left_out += control->len;
    }
    g_array_append_vals(r->f->waits, data->data, data->len);
    return true;
}

bool rh_chakra_end(RhChakraRank *r, bool fine, GError **error)
{
    fine = fine && resolve_dependencies(r, error);
    g_hash_table_unref(r->op_of_id);
    g_array_unref(r->waits);
    return fine;
}

#pragma once
/* Node of an MLCommons Chakra execution trace (schema/protobuf/et_def.proto), independent of the
 * file's format. Private to this folder. */
#include "sim/import/imported_trace.h"

typedef struct {
    uint64_t id;
    const char *name;
    int64_t type; /* NodeType of the schema; -1: not given */
    bool host;    /* is_cpu_op */
    double duration_us;
    double comm_bytes, flops, tensor_bytes;
    int64_t comm_type; /* CollectiveCommType; -1: not given */
    int64_t src, dst;  /* -1: not given */
    int64_t tag;
    const char *team;        /* pg_name; "": all ranks */
    bool dimension_left_out; /* involved_dim contains false */
    RhImportedPlace place;
} RhChakraNode;

/* State of reading one rank's trace. */
typedef struct {
    RhImportedTrace *f;
    int32_t rank, first;  /* its number, and its first operation */
    GHashTable *op_of_id; /* owned int64 -> op + 1 */
    GArray *waits;        /* RhChakraWait: ids that may follow later */
} RhChakraRank;

typedef struct {
    int32_t op;
    uint64_t id;
    bool control; /* ctrl_deps */
} RhChakraWait;

void rh_chakra_begin(RhChakraRank *r, RhImportedTrace *f);
RhChakraNode rh_chakra_node(void);
/* Stores an attribute of a name with a number or a text (else NULL). Attributes that do not affect
 * time are ignored. */
void rh_chakra_attribute(RhChakraNode *node, const char *name, double number, const char *text);
/* Returns the number of a node type ("COMP_NODE": 4); -1 for an unknown name. */
int64_t rh_chakra_type_by_name(const char *name);
/* Adds the node as an operation; the caller adds its waits to r->waits, with op r->f->ops->len - 1.
 * RH_ERROR_INPUT. */
bool rh_chakra_add(RhChakraRank *r, const RhChakraNode *node,
                   GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Resolves waits and ends the rank. Always frees what rh_chakra_begin() made, also when `fine` is
 * false. */
bool rh_chakra_end(RhChakraRank *r, bool fine, GError **error) G_GNUC_WARN_UNUSED_RESULT;

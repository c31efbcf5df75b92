#pragma once
/* A node of an MLCommons Chakra execution trace (schema/protobuf/et_def.proto), whichever file it
 * comes from. Private to this folder. */
#include "sim/import/imported_trace.h"

typedef struct {
    uint64_t id;
    const char *name;
    int64_t type; /* NodeType of the schema; -1: not said */
    bool host;    /* is_cpu_op */
    double duration_us;
    double comm_bytes, flops, tensor_bytes;
    int64_t comm_type; /* CollectiveCommType; -1: not said */
    int64_t src, dst;  /* -1: not said */
    int64_t tag;
    const char *team;        /* pg_name; "": all ranks */
    bool dimension_left_out; /* involved_dim with a false in it */
    RhImportedPlace place;
} RhChakraNode;

/* One rank's trace while it is read. */
typedef struct {
    RhImportedTrace *f;
    int32_t rank, first;  /* its number, its first operation */
    GHashTable *op_of_id; /* owned int64 -> op + 1 */
    GArray *waits;        /* RhChakraWait: ids that may stand behind */
} RhChakraRank;

typedef struct {
    int32_t op;
    uint64_t id;
    bool control; /* ctrl_deps */
} RhChakraWait;

void rh_chakra_begin(RhChakraRank *r, RhImportedTrace *f);
RhChakraNode rh_chakra_node(void);
/* An attribute by its name, as a number or a text (else NULL). Those that say nothing of time are passed
 * over. */
void rh_chakra_attribute(RhChakraNode *node, const char *name, double number, const char *text);
/* "COMP_NODE" -> 4; -1 when it is none. */
int64_t rh_chakra_type_by_name(const char *name);
/* The node as an operation; its waits are added to r->waits by the caller, with op r->f->ops->len - 1.
 * RH_ERROR_INPUT. */
bool rh_chakra_add(RhChakraRank *r, const RhChakraNode *node, GError **error);
/* Looks waits up and ends the rank; frees what rh_chakra_begin() made in any case, also when `fine`
 * is false. */
bool rh_chakra_end(RhChakraRank *r, bool fine, GError **error);

#pragma once
/* Stacks as files: strategies/stacks/NAME.json, or one of the user's. A file says which stack it
 * derives from and what differs, each with its source; one that derives from none says all.
 *
 *     {"name": "aleph-flash1", "derives": "aleph-eager", "about": "...",
 *      "attention": {"value": 0.55, "tag": "datasheet", "source": "...", "date": "2023-07"},
 *      "fused_norms": {"value": false, "source": "..."}} */
#include "base/json/json.h"
#include "base/units.h"
#include "strategies/software_stack.h"

/* Reads a stack; `spec` is its name in the catalogue, or the path of the user's file. Fails with
 * RH_ERROR_INPUT and all that is wrong in the document. Caller g_frees. */
RhStack *rh_stack_parse(RhJson *doc, const char *spec, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A fact of a stack: its path in a file, and behind "stack." in --set; what it may be. */
typedef struct {
    const char *key;
    RhQuantity kind;
    size_t offset; /* of the RhFact in RhStack */
    RhRange range;
    bool required; /* of a stack that derives from none */
} RhStackFact;
const RhStackFact *rh_stack_facts(size_t *count);
const RhFact *rh_stack_fact(const RhStack *stack, const RhStackFact *row);
/* Changes a fact of the caller's own copy of a stack: KEY of a file, VALUE with its unit.
 * RH_ERROR_USAGE. */
bool rh_stack_set(RhStack *stack, const char *key, const char *value,
                  GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Changes a fact as rh_stack_set does, and drops the facts that it replaces: a size of buckets binds
 * whatever rule the stack had. */
bool rh_stack_choose(RhStack *stack, const char *key, const char *value,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;

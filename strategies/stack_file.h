#pragma once
/* Stacks as data: strategies/stacks/NAME.json says from which stack one derives and what differs,
 * each with its source.
 *
 *     {"name": "aleph-flash1", "derives": "aleph-eager", "about": "...",
 *      "attention": {"value": 0.55, "tag": "datasheet", "source": "...", "date": "2023-07"},
 *      "fused_norms": {"value": false, "source": "..."}} */
#include "base/units.h"
#include "strategies/stack.h"

/* Returns a stack of the folder, which is never freed. RH_ERROR_USAGE: there is none of that name;
 * else as rh_stack_file_load(). */
const RhStack *rh_stack_file(const char *name, GError **error);
/* Its file with all that is wrong with it. RH_ERROR_INPUT, RH_ERROR_IO; caller g_frees. */
RhStack *rh_stack_file_load(const char *name, GError **error);
/* Sorted, NULL-ended, kept for ever. */
const char *const *rh_stack_file_names(void);

/* A fact of a stack: its path in a file, and behind "stack." in --set; what it may be. */
typedef struct {
    const char *key;
    RhQuantity kind;
    size_t offset; /* of the RhFact in RhStack */
    RhRange range;
} RhStackFact;
const RhStackFact *rh_stack_facts(size_t *count);
const RhFact *rh_stack_fact(const RhStack *stack, const RhStackFact *row);
/* KEY of a file, VALUE with its unit, on the caller's own copy of a stack. RH_ERROR_USAGE. */
bool rh_stack_set(RhStack *stack, const char *key, const char *value, GError **error);

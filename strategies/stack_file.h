#pragma once
/* Stacks as data: strategies/stacks/NAME.json says from which stack one derives and what differs, each
 * with its source.
 *
 *     {"name": "aleph-flash1", "derives": "aleph-eager", "about": "...",
 *      "attention": {"value": 0.55, "tag": "datasheet", "source": "...", "date": "2023-07"},
 *      "fused_norms": {"value": false, "source": "..."}} */
#include "strategies/stack.h"

/* Of the folder; NULL when there is none of that name or its file is wrong. Kept for ever. */
const RhStack *rh_stack_file(const char *name);
/* Its file with all that is wrong with it. RH_ERROR_INPUT, RH_ERROR_IO; caller g_frees. */
RhStack *rh_stack_file_load(const char *name, GError **error);
/* Sorted, NULL-ended, kept for ever. */
const char *const *rh_stack_file_names(void);

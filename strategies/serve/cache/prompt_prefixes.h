#pragma once
/* Common prefixes of prompts: a name (hash) for each unit of a prompt, equal for prompts that agree
 * in all tokens up to its end.
 *
 * Traces with hashes of their prompts' blocks contain the names. A turn of a session that is at
 * least as long as the turn before it and its answer together is assumed to begin with both, as
 * chat clients do; a shorter one shares nothing. Other prompts have no names. */
#include "workloads/requests/requests.h"

typedef struct RhPromptPrefixes RhPromptPrefixes;

/* Returns the names of all prompts for caches with blocks of `block_tokens` tokens; NULL: no prompt
 * has names. Borrows the requests; the caller frees the names. */
RhPromptPrefixes *rh_prompt_prefixes_new(const RhRequests *requests, int32_t block_tokens);
void rh_prompt_prefixes_free(RhPromptPrefixes *prompts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhPromptPrefixes, rh_prompt_prefixes_free)

/* Returns the number of tokens of a unit: a multiple of the blocks of the cache and of the
 * trace. */
int32_t rh_prompt_prefixes_unit_tokens(const RhPromptPrefixes *prompts);
/* Returns the number of named units within the first `tokens` tokens of a request's prompt and
 * answer. */
int32_t rh_prompt_prefixes_units(const RhPromptPrefixes *prompts, int32_t request, int32_t tokens);
/* Returns the number of prompt tokens that an unlimited cache would find, for requests in their
 * order. */
int64_t rh_prompt_prefixes_found_most(const RhPromptPrefixes *prompts);
/* Returns the name of a unit of a request's prompt. */
uint64_t rh_prompt_prefixes_name(const RhPromptPrefixes *prompts, int32_t request, int32_t unit);

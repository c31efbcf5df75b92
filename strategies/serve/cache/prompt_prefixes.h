#pragma once
/* Which prompts begin alike: a name for each unit of a prompt, equal where all tokens up to its end are.
 *
 * A trace with hashes of its prompts' blocks says so itself. A turn of a session that is at least as long
 * as the turn before it and its answer together is taken to begin with both (assumed: that is what chat
 * clients send); a shorter one begins anew. Other prompts have no names: nothing is known of them. */
#include "workloads/requests.h"

typedef struct RhPromptPrefixes RhPromptPrefixes;

/* For servers whose cache has blocks of so many tokens. Borrows the requests. NULL: no prompt has names. */
RhPromptPrefixes *rh_prompt_prefixes_new(const RhRequests *requests, int32_t block_tokens);
void rh_prompt_prefixes_free(RhPromptPrefixes *prompts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhPromptPrefixes, rh_prompt_prefixes_free)

/* Tokens of a unit: whole blocks of the cache, and of the trace. */
int32_t rh_prompt_prefixes_unit_tokens(const RhPromptPrefixes *prompts);
/* Units that lie wholly within the first `tokens` of a request's prompt and answer and have names. */
int32_t rh_prompt_prefixes_units(const RhPromptPrefixes *prompts, int32_t request, int32_t tokens);
/* Tokens of all prompts that a cache which forgets nothing has when they come, in the order of requests. */
int64_t rh_prompt_prefixes_found_most(const RhPromptPrefixes *prompts);
uint64_t rh_prompt_prefixes_name(const RhPromptPrefixes *prompts, int32_t request, int32_t unit);

#pragma once
/* Which prompts of a published file of requests begin alike (validate/data/alike.json): lines of a timeline say how
 * long prompts were, and servers find in their caches what they have read before. */
#include "workloads/requests/requests.h"

/* Gives requests the hashes of their prompts' blocks, where the file of this SHA-256 is known; else they stay as they
 * are. `places`: of each request, its line in that file, from 0. RH_ERROR_INPUT: it has other prompts. */
bool rh_alike_name(RhRequests *requests, const int32_t *places, const char *sha256,
                   GError **error) G_GNUC_WARN_UNUSED_RESULT;

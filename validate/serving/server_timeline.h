#pragma once
/* What a server really did with each request, beside what it would have done here: a file of JSON lines (input_toks,
 * output_toks, queued_ts, first_token_ts, last_token_ts in seconds of one clock; LLMServingSim's bench) and
 * meta.json beside it (the model, vLLM's version and arguments, what its cache holds).
 *
 * Five constants of the machine are fitted to the first requests: what an iteration and a sequence cost on the host,
 * how fast prompts are read, which share of its memory's bandwidth the device gets, what a request waits for its
 * first token. All others are judged, each by its TTFT and its TPOT. */
#include "validate/cases/cases.h"

#define RH_TIMELINE_FITTED 120 /* requests that the constants are fitted to */

/* `platform`: as --platform. RH_ERROR_INPUT with positions, RH_ERROR_IO, RH_ERROR_USAGE, RH_ERROR_NO_ANSWER. */
RhEvaluation *rh_timeline_judge(const char *path, const char *platform,
                                const RhCasesOptions *options, GError **error);

#pragma once
/* Compares a server's real timeline of requests with its simulation: a file of JSON lines
 * (input_toks, output_toks, queued_ts, first_token_ts, last_token_ts in seconds of one clock, as
 * LLMServingSim's bench writes) and meta.json beside it (model, vLLM's version and arguments,
 * capacity of the cache).
 *
 * Five constants of the machine are fitted to the first requests: host time per iteration and per
 * sequence, prefill speed, fraction of the memory bandwidth, and wait before the first token. All
 * other requests are evaluated by TTFT and TPOT. */
#include "validate/cases/case_predictions.h"

#define RH_TIMELINE_FITTED 120 /* number of requests in the fit */

/* Fits and evaluates; `platform` as --platform. RH_ERROR_INPUT with positions, RH_ERROR_IO,
 * RH_ERROR_USAGE, RH_ERROR_NO_ANSWER. */
RhEvaluation *rh_timeline_judge(const char *path, const char *platform,
                                const RhCasesOptions *options,
                                GError **error) G_GNUC_WARN_UNUSED_RESULT;

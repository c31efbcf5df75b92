#pragma once
/* Requests in files of JSON that are no lines of a trace: conversations (ShareGPT), batches of OpenAI's
 * interface, and what benchmarks wrote of each request (AIPerf, vllm bench serve, SGLang's
 * bench_serving, GuideLLM). Where only text is there, tokens are estimated by its characters. */
#include "workloads/requests/requests.h"

/* Does a text begin like such a file? `head` is its beginning, NUL-ended. */
bool rh_requests_json_is(const char *head);
/* Reads the text of such a file. `chars_per_token` > 0. With `skip_bad` elements that are no request
 * are counted. RH_ERROR_INPUT with the place of an element. */
RhRequests *rh_requests_json_parse(const char *name, const char *text, size_t length,
                                   double chars_per_token, bool skip_bad,
                                   GError **error) G_GNUC_WARN_UNUSED_RESULT;

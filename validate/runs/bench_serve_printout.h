#pragma once
/* The result that vllm bench serve and SGLang's bench_serving print, as people paste it, as the
 * document that the same benchmarks write with --save-result. */
#include <glib.h>
#include <stdbool.h>

/* Does a text have such a table? */
bool rh_service_table_is(const char *head);
/* Returns the first table of a text that has one, as a JSON object. Caller frees. */
char *rh_service_table_json(const char *text);

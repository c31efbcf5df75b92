#pragma once
/* JSON parts shared by plans and runs. Private to report/. */
#include "base/json/json.h"
#include "report/report.h"
#include "report/serve/serve.h"

void rh_put_head(RhJsonWriter *w, const char *schema, const RhQuestion *q);
/* Writes workload, platform, device and profile into the open "inputs". */
void rh_put_hardware(RhJsonWriter *w, const RhQuestion *q);
/* Writes schema, version, argv and inputs of an answer about a service. */
void rh_put_serve_head(RhJsonWriter *w, const RhServeQuestion *question);
/* Writes member "requests" of the open "inputs". */
void rh_put_requests(RhJsonWriter *w, const RhServeQuestion *question);
/* Writes the keys of an outcome from "requests_count" to "service_levels" into the open object. */
void rh_put_outcome(RhJsonWriter *w, const RhServiceMetrics *outcome, const RhSlos *slos);
void rh_put_layout(RhJsonWriter *w, const char *key, const RhLayout *layout);
/* Writes the fields of `simulate --json` from "layout" on into the open object. */
void rh_put_rehearsal(RhJsonWriter *w, const RhRehearsal *r);
/* Writes name, seconds, source and children of a term. */
void rh_put_cost(RhJsonWriter *w, const char *key, const RhCost *cost);
/* Writes bytes by use. */
void rh_put_memory(RhJsonWriter *w, const char *key, const double bytes[RH_MEMORY_LAST]);
/* Writes RhWarnings under "watch". */
void rh_put_warnings(RhJsonWriter *w, const GPtrArray *watches);
void rh_put_links(RhJsonWriter *w, const GArray *links); /* RhLinkUse; NULL: none */
void rh_put_words(RhJsonWriter *w, const char *key, const char *const *words); /* NULL: none */
/* Writes a number, or null for 0 (unknown) and non-finite values. */
void rh_put_known(RhJsonWriter *w, const char *key, double value);
/* Writes a number, or null where it is unknown. */
void rh_put_or_null(RhJsonWriter *w, const char *key, double value, bool known);
/* Writes member "price" of a platform with its date and age; null without a price. */
void rh_put_price(RhJsonWriter *w, const RhPlatform *hardware);

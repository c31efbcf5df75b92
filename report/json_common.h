#pragma once
/* Pieces of JSON that plans and runs share. Private to report/. */
#include "base/json.h"
#include "report/report.h"
#include "report/serve/serve.h"

void rh_put_head(RhJsonWriter *w, const char *schema, const RhQuestion *q);
/* Workload, platform, device and profile, into the open "inputs". */
void rh_put_hardware(RhJsonWriter *w, const RhQuestion *q);
/* Schema, version, argv and inputs of an answer about a service. */
void rh_put_serve_head(RhJsonWriter *w, const RhServeQuestion *question);
/* The member "requests" of the open "inputs". */
void rh_put_requests(RhJsonWriter *w, const RhServeQuestion *question);
/* The keys of an outcome from "requests_count" to "service_levels", into the open object. */
void rh_put_outcome(RhJsonWriter *w, const RhServiceMetrics *outcome, const RhSlos *slos);
void rh_put_layout(RhJsonWriter *w, const char *key, const RhLayout *layout);
/* The fields of `simulate --json` from "layout" on, into the open object. */
void rh_put_rehearsal(RhJsonWriter *w, const RhRehearsal *r);
/* Name, seconds, source and children of a term. */
void rh_put_cost(RhJsonWriter *w, const char *key, const RhCost *cost);
/* By use. */
void rh_put_memory(RhJsonWriter *w, const char *key, const double bytes[RH_MEMORY_LAST]);
/* RhWarning, under "watch". */
void rh_put_warnings(RhJsonWriter *w, const GPtrArray *watches);
void rh_put_links(RhJsonWriter *w, const GArray *links); /* RhLinkUse; NULL: none */
void rh_put_words(RhJsonWriter *w, const char *key, const char *const *words); /* NULL: none */
/* null when 0 means unknown, or the value is not finite. */
void rh_put_known(RhJsonWriter *w, const char *key, double value);
/* The number, or null where it is not known. */
void rh_put_or_null(RhJsonWriter *w, const char *key, double value, bool known);
/* The member "price" of a platform with its date and age; null where it has none. */
void rh_put_price(RhJsonWriter *w, const RhPlatform *hardware);

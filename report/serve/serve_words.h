#pragma once
/* Texts and JSON parts shared by answers about services. Private to report/. */
#include "base/json/json.h"
#include "report/serve/serve.h"

/* Appends a line "$0.18 per million tokens made, ... at $2.4 a GPU-hour" after `indent`; nothing
 * without a price. */
void rh_report_service_cost(GString *out, const RhServiceMetrics *outcome, const RhFact *price,
                            const char *indent);
/* Formats replicas: "tp4 x5", with two pools "tp4 x5 + tp4 x3". Caller frees. */
char *rh_report_servers(const RhDeployment *deployment);
/* Formats limits: "batch 64, chunk 8192"; for models that answer in one pass "batch 32, window 5
 * ms". Caller frees. */
char *rh_report_limits(const RhServeEntry *entry);
/* Describes the confidence that levels are met; `parted`: based on a part of the servers. Caller
 * frees. */
char *rh_report_chance(const RhServePlanOptions *options, bool parted);
/* Returns the RhWarnings of a service, for a plan those of its best deployment (NULL: none);
 * `found`: at a rate from a search. Caller frees. */
GPtrArray *rh_report_serve_warnings(const RhServeQuestion *question,
                                    const RhServiceMetrics *outcome, bool found);
/* Appends levels: "ttft p99<1 s, tpot p99<30 ms". */
void rh_report_levels(GString *out, const RhSlos *slos);
/* Append "error bar: ...", and member "error_bar" to the open object; NULL: nothing, and null. */
void rh_report_served_trust(GString *out, const RhServeErrorBars *trust);
/* Describes a substitute bar: "the widest bar of dense models on any device, ±23 % and ±8.4 %";
 * caller frees. */
char *rh_report_widest(const RhSloAllowance *allowance);
void rh_put_served_trust(RhJsonWriter *w, const RhServeErrorBars *trust);
/* Writes members "ttft_allowance_frac" and "tpot_allowance_frac", the relative increase of times
 * that levels must tolerate, and "allowance_widest_of", the kind of models whose widest bars they
 * are; null for its own bars. */
void rh_put_allowance(RhJsonWriter *w, const RhSloAllowance *allowance);
/* Appends lines about the nearest deployment where none meets the levels. */
void rh_report_serve_nearest(GString *out, const RhServePlan *plan,
                             const RhServePlanOptions *options);
/* Writes an object into the open array, or with `rank` 0 the member "plan" of the open object. */
void rh_put_serve_entry(RhJsonWriter *w, const RhServeEntry *entry, guint rank, const RhSlos *slos);
/* Writes the nearest deployment where none meets the levels, and the level it misses: at the rate
 * found to fail, or at any rate (least_s is above its limit). */
void rh_put_serve_nearest(RhJsonWriter *w, const RhServePlan *plan, const RhSlos *slos);

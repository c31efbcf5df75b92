#pragma once
/* Words and pieces of JSON that answers about services share. Private to report/. */
#include "base/json.h"
#include "report/serve/serve.h"

/* "$0.18 per million tokens made, ... at $2.4 a GPU-hour", a line behind `indent`; nothing without a price. */
void rh_report_service_cost(GString *out, const RhServiceMetrics *outcome, const RhFact *price,
                            const char *indent);
/* "tp4 x5", of two pools "tp4 x5 + tp4 x3". Caller frees. */
char *rh_report_servers(const RhDeployment *deployment);
/* "batch 64, chunk 8192"; of models that are asked once "batch 32, window 5 ms". Caller frees. */
char *rh_report_limits(const RhServeEntry *entry);
/* How surely levels are kept, as far as chance goes; `parted`: of a part of the servers. Caller frees. */
char *rh_report_chance(const RhServePlanOptions *options, bool parted);
/* RhWarning of a service, of a plan its best (NULL: there is none), at a rate that was `found`. Caller frees. */
GPtrArray *rh_report_serve_warnings(const RhServeQuestion *question,
                                    const RhServiceMetrics *outcome, bool found);
/* "ttft p99<1 s, tpot p99<30 ms" */
void rh_report_levels(GString *out, const RhSlos *slos);
/* "error bar: ...", and member "error_bar" of the open object; NULL: nothing, and null. */
void rh_report_served_trust(GString *out, const RhServeErrorBars *trust);
/* "the widest bar of dense models on any device, ±23 % and ±8.4 %"; caller frees. */
char *rh_report_widest(const RhSloAllowance *allowance);
void rh_put_served_trust(RhJsonWriter *w, const RhServeErrorBars *trust);
/* Members "ttft_allowance_frac", "tpot_allowance_frac": how much longer times might be, and levels kept; and
 * "allowance_widest_of": of which kind of models they are the widest, null where they are its own. */
void rh_put_allowance(RhJsonWriter *w, const RhSloAllowance *allowance);
/* Where nothing keeps the levels: lines on the deployment that comes nearest. */
void rh_report_serve_nearest(GString *out, const RhServePlan *plan,
                             const RhServePlanOptions *options);
/* An object of the open array, or member "plan" of the open object where `rank` is 0. */
void rh_put_serve_entry(RhJsonWriter *w, const RhServeEntry *entry, guint rank, const RhSlos *slos);
/* Where nothing keeps the levels: the deployment that comes nearest, and which level it misses: at the rate found
 * broken, or however few requests come (least_s is above its limit). */
void rh_put_serve_nearest(RhJsonWriter *w, const RhServePlan *plan, const RhSlos *slos);

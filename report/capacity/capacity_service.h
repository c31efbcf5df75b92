#pragma once
/* Formats the answer of a serving capacity question as text, JSON, CSV and Markdown. */
#include "report/serve/serve.h"
#include "strategies/search/capacity/cheapest_serving_cluster.h"

/* Everything is borrowed. */
typedef struct {
    const RhServeQuestion *question;   /* for the first platform: model, requests, levels */
    const RhServePlanOptions *options; /* for the first platform: the rate */
    const RhServiceTarget *goal;
    const RhServicePlatform *offers;
    const RhQuestion *const *questions; /* per offer */
    guint offers_count;
    const char *const *words; /* command-line words of the requests and their levels */
    const GArray *cells;      /* RhServiceCell, evaluated, grouped by offer */
    int32_t best;             /* index into cells; -1: none meets the target */
} RhServiceCapacity;

/* Format the answer; caller frees. */
char *rh_report_service_capacity_text(const RhServiceCapacity *answer, const RhReportStyle *style);
char *rh_report_service_capacity_json(const RhServiceCapacity *answer);
char *rh_report_service_capacity_csv(const RhServiceCapacity *answer);
char *rh_report_service_capacity_markdown(const RhServiceCapacity *answer);
/* Returns a word for the reason why a cell has no deployment. */
const char *rh_report_service_lacks(const RhServiceCell *cell);
/* Returns the limit that one replica fewer violates: "tpot", "tpot, cache", "speed" (more requests
 * than can be served); "-" where there is none fewer or none was tried. Caller frees. */
char *rh_report_service_binds(const RhServeEntry *entry, const RhSlos *slos);

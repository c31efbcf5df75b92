#pragma once
/* The answer to a question of a service's capacity as text, JSON, CSV and Markdown. */
#include "report/serve/serve.h"
#include "strategies/search/capacity/service_capacity.h"

/* Everything is borrowed. */
typedef struct {
    const RhServeQuestion *question;   /* of the first platform: model, requests, levels */
    const RhServePlanOptions *options; /* of it: the rate */
    const RhServiceTarget *goal;
    const RhServiceOffer *offers;
    const RhQuestion *const *questions; /* of each offer */
    guint offers_count;
    const char *const *words; /* of the command line: the requests and their levels */
    const GArray *cells;      /* RhServiceCell, judged, an offer's together */
    int32_t best;             /* of the cells; -1: none meets the goal */
} RhServiceCapacity;

/* Each is the caller's to free. */
char *rh_report_service_capacity_text(const RhServiceCapacity *answer, const RhReportStyle *style);
char *rh_report_service_capacity_json(const RhServiceCapacity *answer);
char *rh_report_service_capacity_csv(const RhServiceCapacity *answer);
char *rh_report_service_capacity_markdown(const RhServiceCapacity *answer);
/* In a word why a cell has no deployment. */
const char *rh_report_service_lacks(const RhServiceCell *cell);
/* "tpot", "tpot, cache", "speed" (more requests than can be served): what one replica fewer breaks; "-" where there is
 * none fewer, or none was tried. Caller frees. */
char *rh_report_service_binds(const RhServeEntry *entry, const RhSlos *slos);

#pragma once
/* Formats the catalogue as JSON, "rehearse.show/1". Texts are the caller's to free. */
#include "report/report.h"

typedef enum {
    RH_SHOW_PLATFORMS,  /* RhPlatform */
    RH_SHOW_DEVICES,    /* RhDevice */
    RH_SHOW_WORKLOADS,  /* RhModel */
    RH_SHOW_STRATEGIES, /* RhLayout */
    RH_SHOW_STACKS,     /* RhStack */
    RH_SHOW_RECIPES,    /* RhRecipe */
} RhShowTopic;

typedef struct {
    const char *version;
    const char *const *argv; /* NULL-ended */
    RhShowTopic topic;
    const GPtrArray *items; /* const, borrowed; of the topic's type */
    int64_t sequence;       /* tokens, for the FLOPs of workloads; 0: the positions, at most 8192 */
} RhShown;

char *rh_report_show_json(const RhShown *shown);

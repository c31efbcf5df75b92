#pragma once
/* Formats answers of `memory`: whether a model fits, how much more would, and what makes room. */
#include "report/report.h"
#include "strategies/search/fitting_layouts.h"
#include "strategies/search/memory_smallest.h"
#include "strategies/serve/cache/kv_budget.h"

/* Adapters in place of weights with which some layout fits. */
typedef struct {
    RhMemorySaver fastest; /* by lower bounds, of what fits as surely as was asked */
    RhSmallestMemory least;
} RhAdapterMemory;

/* Training. Everything is borrowed. */
typedef struct {
    const RhQuestion *q;
    const RhRehearsal *r;                 /* of the layout, without a step; NULL: no layout fits */
    RhLargestMemory reach;                /* of the layout, or `anywhere` */
    const RhLargestAnywhere *anywhere;    /* over all layouts; NULL: of the given one alone */
    const char *strategy;                 /* the layout as it was given; NULL: the best that fits */
    bool sequence_assumed, batch_assumed; /* not the user's */
    const GArray *room_makers; /* RhMemorySaver, where it does not fit; NULL: none were sought */
    const RhRehearsal *other;  /* where it does not fit: the best that does on as many GPUs */
    const RhPlan *plan;        /* without a layout: what was searched; else NULL */
    const GArray *adapters;    /* RhAdapterMemory, where no layout fits */
} RhMemoryFit;

bool rh_memory_fit_holds(const RhMemoryFit *fit);
char *rh_report_memory_fit_text(const RhMemoryFit *fit);
char *rh_report_memory_fit_json(const RhMemoryFit *fit);

/* Serving. Everything is borrowed. */
typedef struct {
    const RhQuestion *q;
    const char *deployment, *server; /* as text */
    RhKvBudget budget;               /* of a replica; unset where it does not fit */
    int32_t gpus, replicas;
    int32_t groups;      /* of attention, each with a part of the cache */
    int32_t batch;       /* sequences of a replica at once, at most */
    int64_t positions;   /* of the model; 0: not limited */
    int64_t sequence;    /* tokens of a request that was asked about; 0: none */
    const char *why_not; /* does not fit, and what makes room; NULL: it fits */
} RhServedMemory;

char *rh_report_served_fit_text(const RhServedMemory *fit);
char *rh_report_served_fit_json(const RhServedMemory *fit);

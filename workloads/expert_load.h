#pragma once
/* How evenly a mixture's experts are asked: a fact of the job. The rank whose experts get most sets the
 * pace of all that exchange with it. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "workloads/model.h"

typedef enum { RH_LOAD_BALANCED, RH_LOAD_POWER_LAW, RH_LOAD_HISTOGRAM } RhLoadKind;

/* So many experts in a row that get this much each, in whatever unit. */
typedef struct {
    double weight;
    int32_t experts;
} RhLoadRun;

#define RH_LOAD_RUNS_MAX 64
typedef struct {
    RhLoadKind kind;
    /* POWER_LAW: the j-th busiest expert gets a share that goes as j^-exponent; such experts are
     * dealt out over the ranks like cards */
    double exponent;
    /* HISTOGRAM: of all experts in their order; ranks have equal runs of them */
    int32_t runs_count;
    RhLoadRun runs[RH_LOAD_RUNS_MAX];
    /* no expert takes more than this times the mean, the rest is dropped; 0: all */
    double capacity;
} RhExpertLoad;

/* "balanced", "power-law:0.5", "histogram:4x8-1x56" (eight experts that get four times as much as the
 * other 56); capacity is left as it is. RH_ERROR_USAGE. */
bool rh_expert_load_parse(const char *text, RhExpertLoad *load,
                          GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Does a histogram list as many experts as each mixture of the model has? RH_ERROR_USAGE. */
bool rh_expert_load_fits(const RhExpertLoad *load, const RhModel *model,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Tokens of the busiest of `ranks` over the mean, 1 where all get as many. `ranks` divides experts. */
double rh_expert_load_busiest(const RhExpertLoad *load, int32_t experts, int32_t ranks);

#pragma once
/* The steps of one program: which of them count, and what is written of them. */
#include <glib.h>

#include "validate/perform/payload.h"

#define RH_STEPS_MAX 101

/* A step that a hypervisor took more of the processors from is no measurement of it. */
#define RH_CALM_FRAC 0.02

typedef struct {
    double step_s, stolen_frac; /* stolen: of the processors of the worst host, meanwhile */
    GArray *spans;              /* owned */
} RhPerformedStep;

typedef struct {
    RhPerformedStep steps[RH_STEPS_MAX];
    int count, repeated_count; /* that count; that were performed for nothing */
    RhPayloadCheck check;
} RhResults;

void rh_results_clear(RhResults *results);

/* Keeps `wanted` steps: calm ones in their order, then those least disturbed. */
void rh_results_keep(RhResults *results, int wanted);

/* Index of the step in the middle. */
int rh_results_median(const RhResults *results);

/* NAME.json; caller frees. */
char *rh_results_text(const RhResults *results, const char *program, const char *platform,
                      int ranks);

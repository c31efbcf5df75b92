#pragma once
/* A run whose steps change: phases, each with its own step, one after the other. */
#include <stdint.h>

typedef struct {
    double tokens;      /* that it trains on */
    double step_tokens; /* of a step */
    double step_s;
    double keep_frac;     /* share of a step's layers that run in the mean; 1: all */
    double steps, work_s; /* of the whole phase: set by rh_run_phases_sum */
} RhRunPhase;

/* Sets steps and work of each phase (the last step of one may be short) and returns the work of all. */
double rh_run_phases_sum(RhRunPhase *phases, int32_t count);

/* Progressive layer drop (DeepSpeed): a step keeps theta(t) = (1 - last) e^(-rate t) + last of the deepest layer, all
 * of the first one, and those in between in proportion: (1 + theta) / 2 of all. The mean over so many steps. */
double rh_layer_drop_keep_frac(double last, double rate, double steps);
/* A step of which only that share of the layers runs: `layers_frac` of its time are theirs. */
double rh_layer_drop_step_s(double step_s, double layers_frac, double keep_frac);

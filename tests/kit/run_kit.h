#pragma once
/* A long training run to vary, and what becomes of it. */
#include "base/error.h"
#include "strategies/run/run_statistics.h"
#include "strategies/run/training_run_spec.h"
#include "tests/kit/testkit.h"

#define HOUR_S 3600.0
#define DAY_S  86400.0

/* 60 days of 16,384 GPUs with Meta's counts for Llama 3. */
RhTrainingRun llama_3(void);
/* Checks and replicates a run; a refused one fails the test. */
RhRunResult replicated(const RhTrainingRun *run);
/* The run must be refused, by its check or by its replications, with this error. */
void expect_error(const RhTrainingRun *run, RhErrorCode code);

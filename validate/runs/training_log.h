#pragma once
/* Logs of training frameworks. Private to validate/runs. */
#include "validate/runs/run_log.h"

/* Ends with a row whose name is NULL; the first that recognises a text reads it. */
extern const RhRunLogReader rh_training_logs[];
/* "Megatron-LM, torchtitan and ...". Caller frees. */
char *rh_training_logs_names(void);

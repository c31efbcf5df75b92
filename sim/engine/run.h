#pragma once
/* A run's result as bytes, to cross from the process that rehearsed to the one that asked. */
#include "sim/engine/engine.h"

RhRun *rh_run_new(void);
GByteArray *rh_run_pack(const RhRun *run);
/* NULL when the bytes are not a whole run. */
RhRun *rh_run_unpack(const uint8_t *bytes, size_t length);

#pragma once
/* One small program with a bit of everything. */
#include "base/interned_strings.h"
#include "tests/kit/engine_kit.h"

/* Tasks by role: 0 gemm, 1 all-reduce, 2 send, 3 recv, 4 copy, 5 mark | 6 recv, 7 wait, 8 send */
RhProgram *two_stages(void);

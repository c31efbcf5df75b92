#pragma once
/* A model typed as a configuration, under a layout of one node: its closed memory is the ledger's peak, a rank for each kind is
 * performed as all are, and no bound is above. */
#include "sim/ledger.h"
#include "tests/model_counts.h"
#include "tests/train_kit.h"

static inline void check_agrees(const char *config, int64_t sequence, const char *layout)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, sequence);
    rh_model_free(k.model);
    k.c.model = k.model = model_load(config);
    RhLayout l = train_layout(&k, layout);
    g_autoptr(RhProgram) p = train_build(&k, layout);
    RhTrainMemory closed = rh_train_memory(&k.c, &l);
    RH_CHECK_CLOSE(rh_ledger_walk(p, closed.stage, RH_MEMORY_TIER_HBM).peak_bytes,
                   closed.peak_bytes, 1e-9);
    double step = train_step_s(&k.c, &l, false);
    RH_CHECK_CLOSE(train_step_s(&k.c, &l, true), step, 1e-9);
    CU_ASSERT_TRUE(train_segment_s(&k.c, &l) <= step * (1 + 1e-9));
}

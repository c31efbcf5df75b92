#pragma once
/* Computes what fills the memory of each stage of a layout, and what would lower it. */
#include "strategies/search/memory_savers.h"
#include "strategies/train/memory/memory.h"

/* Memory of a rank of a stage at its peak. */
typedef struct {
    char *when; /* owned: what runs at the peak; NULL: nothing */
    double peak_bytes, capacity_bytes;
    double bytes[RH_MEMORY_LAST]; /* by use */
} RhStageMemoryPeak;

/* Answer to --term memory. */
typedef struct {
    RhStageMemoryPeak *stages; /* owned */
    int32_t stages_count;
    GArray *reliefs; /* RhMemorySaver, owned */
} RhMemoryAnswer;
/* Walks the program of a rehearsed layout; caller frees. */
RhMemoryAnswer *rh_memory_answer_new(const RhProblem *c, const RhRehearsal *r,
                                     const RhProgram *program);
void rh_memory_answer_free(RhMemoryAnswer *answer);

/* Memory contents of a stage, without its buffers. */
typedef struct {
    RhStates states;
    double kept_bytes; /* activations of one micro-batch, in all the stage's chunks */
    int32_t layers;
} RhStageContents;
RhStageContents rh_stage_contents(const RhProblem *c, const RhLayout *layout, int32_t stage);

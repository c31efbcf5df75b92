#pragma once
/* Programs written by hand: one collective, or a pattern of messages that a cut to come needs. */
#include "sim/program.h"

/* `repeats` times the same collective over all ranks, one after another. */
RhProgram *rh_pattern_collective(int32_t ranks, RhOp op, RhAlgo algo, double bytes,
                                 int32_t repeats);

/* Named patterns, NULL-ended by name. */
typedef struct {
    const char *name;
    const char *about;
    /* The pattern on so many ranks, its largest message of `bytes`; caller frees. */
    RhProgram *(*build)(int32_t ranks, double bytes);
} RhMessagePattern;
extern const RhMessagePattern rh_message_patterns[];
/* NULL when there is none. */
const RhMessagePattern *rh_message_pattern_by_name(const char *name);

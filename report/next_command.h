#pragma once
/* Commands that go on from an answer, as they are typed. */
#include "report/question.h"

/* Formats the words that give a platform so many nodes, by how it was said: "-p dgx-h100:3", "--set
 * nodes=3". Caller frees. */
char *rh_report_nodes_words(const char *platform_spec, int32_t nodes);

/* A command that goes on from an answer. Everything is borrowed. */
typedef struct {
    const RhQuestion *q;
    const char *command, *platform;
    const char
        *nodes; /* words that give the platform more nodes (rh_report_nodes_words); NULL: none */
    const char *layout; /* of -s; NULL: none */
    int32_t gpus;
    int64_t global_batch, sequence;
} RhNextPlan;
/* Appends "next: rehearse plan -w ... -p ... --gpus ..." with the question's formats, stack and
 * settings. */
void rh_report_next_plan(GString *out, const RhNextPlan *next);

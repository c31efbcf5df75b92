#pragma once
/* The inputs of a question: loaded once, with every `--set` applied, joined to a RhProblem. */
#include "cli/parse/arguments.h"
#include "report/question.h"
#include "strategies/search/rehearsals/rehearse.h"

/* What to load, as the user wrote it (or as a result recorded it). */
typedef struct {
    const char *workload, *platform, *dtype; /* workload NULL: no model, a program has its place */
    const char *stack;                       /* NULL: megatron, or bare where ranks talk by TCP */
    int64_t global_batch, sequence, gpus;    /* gpus 0: all of the platform */
    int64_t seed;
    const char *const *sets;    /* "KEY=VALUE", NULL-ended; may be NULL */
    const char *const *origins; /* of each: "FILE:LINE:COL", or ""; may be NULL */
    const char *const *argv;    /* recorded words, NULL-ended */
    bool silent;                /* no warnings: loaded for comparison */
} RhInputsSpec;

typedef struct {
    RhModel *model;
    RhPlatform *hardware; /* as described */
    RhPlatform *platform; /* as the stack sees it; the case's */
    RhStack *stack;       /* the case's, where a --set changes it; else NULL */
    RhProblem c;
    RhQuestion question; /* borrows from here */
    GStrv sets, argv;
    char *workload, *platform_spec;
    RhInputsSpec asked; /* what they were loaded from; its words stand in `words` or above */
    GPtrArray *words;   /* owned: char* */
} RhInputs;

RhInputs *rh_inputs_load(const RhInputsSpec *spec, GError **error);
/* The same inputs with the setting of that number left out, and no warnings. */
RhInputs *rh_inputs_without(const RhInputs *inputs, int set, GError **error);
/* From the command line. */
RhInputs *rh_inputs_of(const RhArguments *arguments, GError **error);
/* The same without a model: of a program of so many ranks, on a platform that has room for them. The
 * stack is bare unless one is given. */
RhInputs *rh_inputs_of_program(const RhArguments *arguments, int32_t ranks, GError **error);
/* A model and a platform to serve it on; no stack of training has a part in it. */
RhInputs *rh_inputs_of_service(const RhArguments *arguments, GError **error);
void rh_inputs_free(RhInputs *inputs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhInputs, rh_inputs_free)

/* `-s`: a layout in text, a file holding one, or RESULT.json#RANK. Completed, canonical, legal. */
bool rh_inputs_layout(const RhInputs *inputs, const char *strategy, RhLayout *out, GError **error);
/* The same from a layout at hand. */
bool rh_inputs_settle_layout(const RhInputs *inputs, RhLayout *layout, GError **error);
/* Legal on a machine with just the ranks of the layout, a dp left open being what its experts need, of
 * the replicas there are; false names the fact that no number of replicas mends. */
bool rh_inputs_fits_some_machine(const RhInputs *inputs, const RhLayout *layout, GError **error);

#pragma once
/* Inputs of a question: loaded once, with every `--set` applied, and combined to a RhProblem. */
#include "cli/parse/parsed_arguments.h"
#include "report/question.h"
#include "strategies/search/rehearsals/rehearse.h"

/* Specification of inputs, as the user typed it or a result recorded it. */
typedef struct {
    const char *workload, *platform, *dtype; /* workload NULL: no model, but a program */
    const char *stack;                       /* NULL: megatron, or bare where ranks talk by TCP */
    int64_t global_batch, sequence, gpus;    /* gpus 0: all of the platform */
    int64_t seed;
    const char *const *sets;    /* "KEY=VALUE", NULL-ended; may be NULL */
    const char *const *origins; /* position of each: "FILE:LINE:COL", or ""; may be NULL */
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
    RhInputsSpec asked; /* their specification, whose strings are in `words` or above */
    GPtrArray *words;   /* owned: char* */
} RhInputs;

RhInputs *rh_inputs_load(const RhInputsSpec *spec, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Loads the inputs without the setting of index `set`, and without warnings. */
RhInputs *rh_inputs_without(const RhInputs *inputs, int set,
                            GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* RH_ERROR_USAGE where several processes are to share a GPU, which `command` does not know. */
bool rh_inputs_alone_on_gpus(const RhInputs *inputs, const char *command,
                             GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Loads the inputs of the command line. */
RhInputs *rh_inputs_of(const RhArguments *arguments, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Loads inputs without a model, for a program of `ranks` ranks on a platform with enough GPUs. The
 * stack is bare unless one is given; `fitted`: without one, and without a profile of links, the
 * catalogue's profile of such links is taken. */
RhInputs *rh_inputs_of_program(const RhArguments *arguments, int32_t ranks, bool fitted,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Loads a model and a platform to serve it on, without a training stack. */
RhInputs *rh_inputs_of_service(const RhArguments *arguments,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_inputs_free(RhInputs *inputs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhInputs, rh_inputs_free)

/* Reads `-s`: a layout as text, a file with one, or RESULT.json#RANK. The layout is completed,
 * canonical and legal. */
bool rh_inputs_layout(const RhInputs *inputs, const char *strategy, RhLayout *out,
                      GError **error) G_GNUC_WARN_UNUSED_RESULT;

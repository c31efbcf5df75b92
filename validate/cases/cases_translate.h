#pragma once
/* A row of a table of runs as something that can be rehearsed: model, platform, stack, job, layout.
 * Everything a word means comes from the facts; what cannot be said is told, never guessed. */
#include "accuracy/evaluation.h"
#include "calibrate/stacks/steps_predict.h"
#include "strategies/train/train.h"
#include "validate/cases/cases_word_rules.h"

typedef struct {
    RhProblem c;          /* what is asked; model and platform are the translator's */
    RhLayout layout;      /* canonical and legal; micro-batch 0: the quickest of 1, 2, 4, 8 */
    const char *key;      /* the translator's: rows with one key have equal predictions */
    const char *strategy; /* interned: the layout's text */
    double tasks;         /* of the program of its step */
    const char *table;    /* interned: see the aspect */
    const char *steps;    /* interned: see the aspect; NULL */
    const char *fitted;   /* interned: the constant that was fitted to such rows; NULL */
    RhProvenance standing;
    double measured_s; /* 0: the run failed for memory */
    double peak_bytes; /* measured; 0: none */
    /* Memory covered by the measured peak over the memory of tensors, without the stack's reserve;
     * 0: the whole prediction; above 1: reserved memory, including that kept for separate streams.
     */
    double peak_over_tensors;
    int32_t rounds;  /* predicted steps per measured time */
    char *stands_in; /* owned; NULL */
} RhTranslated;

typedef struct RhTranslator RhTranslator;

/* RH_ERROR_INPUT, RH_ERROR_IO of the facts. */
RhTranslator *rh_translator_new(GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_translator_free(RhTranslator *t);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhTranslator, rh_translator_free)

/* Returns the translator's rules, of which some may be withheld. Borrowed. */
RhCaseFacts *rh_translator_facts(RhTranslator *t);
/* Lays these constants over those of stacks and devices that were fitted with them, until told
 * otherwise; NULL: none. `name` tells them apart; both borrowed, for the translator's life. */
void rh_translator_use(RhTranslator *t, const RhStepModel *constants, const char *name);

/* NULL when it can be said, else why not; caller frees. Clear the answer in either case: table and standing are there in both. */
char *rh_translate(RhTranslator *t, const RhCaseRow *row, RhTranslated *out);
void rh_translated_clear(RhTranslated *translated);

#pragma once
/* A row of a table of serving runs as something that can be served: model, platform, deployment, client.
 * Everything a word means comes from the facts (validate/data/served.json); what cannot be said is told,
 * never guessed.
 *
 * How the client behaves is a fact of the source, "waves=10,spread=0.8,stagger=20ms": batch_or_concurrency
 * many at once, so many waves of them in all (`waves`, or `count` requests), lengths drawn evenly from
 * `spread` of those that the row says up to these, each client beginning `stagger` after the one before.
 * "count=2000,queued": all are there from the beginning. "poisson,seconds=600": they come at random at the
 * row's rate for so long; "queued,seconds=660": so many as come in that time, all at once.
 * "lengths=openorca": prompts and answers of a data set (validate/serving/prompt_lengths.h), whose
 * answers are stretched to the row's mean where it gives one. */
#include "accuracy/evaluation.h"
#include "strategies/serve/service/service.h"
#include "validate/cases/cases_word_rules.h"
#include "validate/serving/prompt_lengths.h"

typedef struct {
    RhServing serving;
    RhDeployment deployment;
    RhDeployment guessing; /* the same where tokens are guessed, if that is unknown; else unused */
    bool both;             /* it is: the answer is between those of both */
    RhRequestsPlan plan;
    RhPromptLengths lengths; /* of a data set, over the plan's; count 0: none */
    RhClient client;
    double stagger_s; /* of the first wave */
    /* where the highest rate is asked at which 99th percentiles keep these; 0: it is not */
    double ttft_limit_s, tpot_limit_s;
    const char *table;    /* interned; NULL: no rule names it */
    const char *fitted;   /* interned; NULL */
    const char *strategy; /* interned: the deployment's text */
    RhProvenance standing;
    char *stands_in; /* owned; NULL */
    /* Do a script or the row give launch flags, and the version of the engine? Is it known whether
     * several tokens are guessed at a time? */
    bool flags_known, version_known, speculation_known;
} RhServedCase;

typedef struct RhServedTranslator RhServedTranslator;

/* RH_ERROR_INPUT, RH_ERROR_IO of the facts. */
RhServedTranslator *rh_served_translator_new(GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_served_translator_free(RhServedTranslator *t);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhServedTranslator, rh_served_translator_free)

/* Returns the translator's rules, of which some may be withheld. Borrowed. */
RhCaseFacts *rh_served_translator_facts(RhServedTranslator *t);

/* NULL when it can be said, else why not; caller frees. Clear the answer in either case. */
char *rh_served_translate(RhServedTranslator *t, const RhCaseRow *row, RhServedCase *out);
/* Translates a row without a client, which asks only for the capacity of the cache. */
char *rh_served_translate_idle(RhServedTranslator *t, const RhCaseRow *row, RhServedCase *out);
void rh_served_case_clear(RhServedCase *c);
/* Draws what its clients ask. Caller frees. */
RhRequests *rh_served_requests(const RhServedCase *c);

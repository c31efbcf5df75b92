#pragma once
/* A row of a table of serving runs as something that can be served: model, platform, deployment, client.
 * Everything a word means comes from the facts (validate/data/served.json); what cannot be said is told,
 * never guessed.
 *
 * How the client behaves is a fact of the source, "waves=10,spread=0.8,stagger=20ms": batch_or_concurrency
 * many at once, so many waves of them in all (`waves`, or `count` requests), lengths drawn evenly from
 * `spread` of those that the row says up to these, each client beginning `stagger` after the one before.
 * "count=2000,queued": all are there from the beginning. */
#include "accuracy/evaluation.h"
#include "strategies/serve/service/service.h"
#include "validate/cases/cases_facts.h"

typedef struct {
    RhServing serving;
    RhDeployment deployment;
    RhRequestsPlan plan;
    RhClient client;
    double stagger_s;     /* of the first wave */
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

#pragma once
/* Answers a question whose inputs or layout were changed: the step of the layout after the change,
 * and the layout that is then the best. */
#include "strategies/search/explain/replan.h"

typedef struct {
    const RhProblem *before, *after;
    RhLayout layout; /* its keys changed; not settled for `after` */
    const RhRecordedPlan *recorded;
    bool inputs_changed; /* else the layout alone */
    bool full;           /* plans anew in full, in place of the changed layout */
} RhWhatIf;

/* Owns its members; rh_what_if_clear. */
typedef struct {
    RhLayout layout;    /* of `other` */
    RhRehearsal *other; /* the changed layout, or the best where it was planned anew; NULL: none
                           fits after the change */
    bool safe;          /* the changed layout keeps within the memory budget */
    bool replanned;
    char *illegal;        /* why the changed layout has no place in the problem; NULL: it has */
    RhRehearsal *winner;  /* the best after a change of inputs; NULL: not searched, or none */
    GArray *near_batches; /* RhNearBatch; NULL: not searched */
} RhWhatIfAnswer;

/* Fails with an error of the rehearsals, where no layout of the changed job is legal, or with why
 * the layout is not where only its keys were changed. */
bool rh_what_if(const RhWhatIf *question, RhWhatIfAnswer *out,
                GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_what_if_clear(RhWhatIfAnswer *answer);

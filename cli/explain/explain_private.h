#pragma once
/* An answer of `explain` while it is found and told. Private to explain.c, which knows the questions, and
 * explain_what_if.c, which knows the changed ones. */
#include "cli/explain/explain_memory.h"
#include "cli/inputs/result.h"
#include "report/answers.h"

/* The result's plan, performed again from its recorded inputs. */
typedef struct {
    const RhArguments *a;
    RhResult *result;
    const RhResultPlan *plan;
    int64_t rank;
    RhInputs *in;
    RhProgram *program;
    RhRun *run; /* with its timeline, where it is to be drawn; else NULL */
    RhRehearsal *r;
    /* the answer; what the question does not ask for stays NULL */
    const RhCost *term;
    RhMemoryAnswer *memory;
    RhLayout layout; /* the other's */
    RhRehearsal *other;
    int64_t other_gpus;
    RhJob other_job;
    GArray *near_batches; /* RhNearBatch, after the change; NULL: not looked for */
    bool other_safe;      /* as --risk and --limit ask, after the change */
    RhRehearsal *winner;  /* what would win, after a change of an input */
    bool replanned;
    GArray *effects; /* RhSensitivity */
    GArray *rivals;  /* RhRival, with these */
    char *illegal;   /* why there is no other, or a winner stands in its place */
    char *refused; /* why the stack's framework does not run the other, which is then not offered */
    GString *out;
} RhExplanation;

/* --- explain.c --- */

/* "#1 against X: 3.4 s (5.1 %) faster", then the table of terms. */
void rh_explain_versus(RhExplanation *e, const char *name_a, const RhRehearsal *a,
                       const char *name_b, const RhRehearsal *b);
/* "  #1: tp2 pp1 ...", wrapped. */
void rh_explain_layout(RhExplanation *e, const char *name, const RhLayout *layout,
                       const char *more);

/* --- explain_what_if.c --- */

/* Which of two values of a key holds would be anybody's guess: RH_ERROR_USAGE. */
bool rh_explain_check_changes(const GPtrArray *changes, GError **error);
/* Each change is a name or a key of an input, or a key of a layout. */
bool rh_explain_find_what_if(RhExplanation *e, GError **error);
void rh_explain_append_what_if(RhExplanation *e);

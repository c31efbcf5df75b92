#pragma once
/* State of `explain` while it finds and prints an answer. Private to explain.c, which handles the
 * questions, and explain_what_if.c, which handles the changed ones. */
#include "cli/explain/explain_memory.h"
#include "cli/inputs/result_file.h"
#include "report/json/explain_and_compare_json.h"
#include "strategies/search/explain/what_if.h"

/* The result's plan, simulated again from its recorded inputs. */
typedef struct {
    const RhArguments *a;
    RhResult *result;
    const RhResultPlan *plan;
    int64_t rank;
    RhInputs *in;
    RhProgram *program;
    RhRun *run; /* with its timeline if it is drawn; else NULL */
    RhRehearsal *r;
    RhRecordedPlan recorded; /* of the result */
    GArray *constraints;     /* RhConstraint, of `recorded` */
    /* the answer; members of other questions stay NULL */
    const RhCost *term;
    RhMemoryAnswer *memory;
    RhLayout layout; /* the other's, of --vs and --why-not */
    RhRehearsal *other;
    RhWhatIfAnswer what_if;
    RhJob other_job; /* after the change */
    GArray *effects; /* RhSensitivity */
    GArray *rivals;  /* RhAlternative, with these */
    char *illegal;   /* why there is no other */
    char *refused; /* why the stack's framework cannot run the other, which is then not suggested */
    GString *out;
} RhExplanation;

/* --- explain.c --- */

/* Appends "#1 is 3.4 s faster than X, which takes 5.1 % more", the verdict (NULL: none) and the table of terms. */
void rh_explain_versus(RhExplanation *e, const char *name_a, const RhRehearsal *a,
                       const char *name_b, const RhRehearsal *b, const char *verdict);
/* Appends "  #1: tp2 pp1 ...", wrapped. */
void rh_explain_layout(RhExplanation *e, const char *name, const RhLayout *layout,
                       const char *more);

/* --- explain_what_if.c --- */

/* Checks that no key is changed twice. RH_ERROR_USAGE. */
bool rh_explain_check_changes(const GPtrArray *changes, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Finds the answer of --what-if; each change is a name or key of an input, or a key of a layout. */
bool rh_explain_find_what_if(RhExplanation *e, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_explain_append_what_if(RhExplanation *e);

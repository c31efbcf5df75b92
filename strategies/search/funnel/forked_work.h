#pragma once
/* Work shared by processes: many small questions of a search, answered by a few forked processes.
 * Private to this folder. */
#include "strategies/search/funnel/funnel.h"

/* Questions that processes answer. Results do not depend on the number of processes: answers of
 * each part are taken in the order of the questions. */
typedef struct {
    int32_t count;         /* of questions */
    int32_t process_least; /* fewer are not worth a process */
    int32_t
        parts; /* for each of them: more where the work of some is more, though each is a fork */
    const char *stage; /* as progress names it */
    /* Appends the answer to a question, in some process. */
    void (*find)(int32_t question, GByteArray *out, void *user);
    /* Takes the answers to questions begin .. end-1, one behind another, in this one; not called where they are
     * empty. */
    void (*take)(int32_t begin, int32_t end, const GByteArray *answers, void *user);
    void *user;
} RhSharedWork;
/* Answers all questions; those that a process failed to answer are answered by the caller. Stops at
 * the search's deadline and leaves the other questions unanswered. */
void rh_funnel_share_work(RhFunnel *f, const RhSharedWork *work);

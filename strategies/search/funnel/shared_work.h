#pragma once
/* Many small questions of a search, answered by a few processes that are forked for them. Private to this folder. */
#include "strategies/search/funnel/funnel.h"

/* Answers do not depend on how many processes there are: of each part they are taken in the order of the questions. */
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
/* What a process could not say is found out here. Ends early where the search's time does: the questions left are not
 * answered. */
void rh_funnel_share_work(RhFunnel *f, const RhSharedWork *work);

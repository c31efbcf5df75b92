#pragma once
/* The tables of the suites' cases. */
#include <glib.h>

/* `what`, by group: fault: like pattern or layout; collective and small collective (below 256 KiB):
 * OPERATION ALGORITHM BYTES; pattern: NAME BYTES; service: DEPLOYMENT PROMPT ANSWER REQUESTS, which come at once;
 * iteration and layout: a layout. Iterations are
 * evaluation one by one; layouts are one job, ranked. The job is the lab's model; where experts are
 * spread, its mixture. */
typedef struct {
    const char *group, *platform, *what;
    /* of the platform, as --set, several apart by spaces: a slowed link; NULL: none */
    const char *change;
} RhSuiteCase;

typedef struct {
    const char *name, *about;
    const char *star;         /* where it is calibrated: with as many ranks, so as busy a machine */
    const char *change;       /* of every platform, as a case's; NULL: none */
    const RhSuiteCase *cases; /* ended by a NULL group */
} RhSuite;

extern const RhSuite rh_suites[]; /* ended by a NULL name */

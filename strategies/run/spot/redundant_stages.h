#pragma once
/* Pipelines whose stages are held twice: each node also keeps the weights of the stage behind its own, and
 * takes that stage over when its node is lost (Bamboo, NSDI 2023). A second loss at the same place is fatal:
 * all nodes meet anew. Between steps the nodes left are laid out again where that helps.
 *
 * Times are whole milliseconds, so that a run can be compared event for event with Bamboo's own
 * simulator (uclasystem/bamboo, project_pactum/simulation). */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "strategies/run/spot/spot_trace.h"

typedef struct {
    int32_t stages;         /* of a pipeline: a node each */
    const int64_t *step_ms; /* by pipelines, from 1 to `pipelines_most`; more nodes wait */
    int32_t pipelines_most;
    int64_t creation_ms;         /* from the moment a node joins until it is ready */
    int64_t global_ms, local_ms; /* until nodes have met: after a fatal loss, and between steps */
    double slower;               /* of a step with a stage taken over */
    double risk_frac; /* of nodes whose loss would be fatal, above which nodes meet anew */
    /* A loss while nodes meet begins their meeting anew, and the step under way is lost. False: both
     * meetings end, the later one with nobody, and the step counts, as Bamboo's simulator has it. */
    bool meets_once;
    /* Steps between two checkpoints, to which a fatal loss goes back; 0: it loses nothing but the step. */
    int64_t checkpoint_steps;
    const RhSpotEvent *events; /* ascending */
    int32_t events_count;
    int64_t until_ms; /* 0: until all steps are done, or nothing happens any more */
    int64_t steps_most;
    /* NULL, or told of each change. */
    void (*told)(int64_t t_ms, const char *what, int64_t a, int64_t b, void *user);
    void *user;
} RhRedundantStages;

typedef struct {
    int64_t steps_count, fatal_count, lost_count, meetings_count;
    int64_t first_ms;   /* at which the first step began; -1: none did */
    int64_t last_ms;    /* at which the last step ended; from the first: all four times below */
    int64_t meeting_ms; /* between those, in which nodes met or were too few */
    int64_t alone_ms;   /* of the steps that count, with no stage taken over */
    int64_t slower_ms;  /* by which these were longer, stages being taken over */
    int64_t lost_ms;    /* of steps that a fatal loss undid */
    double node_ms;     /* that nodes were held, until `last_ms` */
} RhRedundantResult;

RhRedundantResult rh_redundant_stages(const RhRedundantStages *problem);

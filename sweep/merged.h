#pragma once
/* The answers of a study as one table: a row for each question, in the study's order, whoever asked
 * it and when; the same bytes for any number of processes.
 *
 * A column is a path in the answers: "step_time_s", "energy.nic_j"; members of a list of named things
 * are paths by their names, "costs.compute.value_s", and other lists are left out. One that is called
 * as an axis is "answer.platform". */
#include "sweep/journal.h"
#include "sweep/study.h"

typedef enum {
    RH_CELL_EMPTY,
    RH_CELL_NUMBER,
    RH_CELL_TEXT,
    RH_CELL_FLAG, /* "true" or "false" */
} RhMergedCellKind;

typedef struct {
    RhMergedCellKind kind;
    char *text; /* owned; NULL: empty */
} RhMergedCell;

/* How answers become rows. */
typedef struct {
    const char *list;           /* member of which an element is the answer: "plans"; NULL: none */
    const char *best;           /* member that says which, from 1; NULL: the first */
    const char *const *columns; /* patterns of the usual ones, NULL-ended: "energy.*" */
} RhMergeRules;

typedef struct {
    GPtrArray *names; /* char*, owned: axes, "status", "error", then those of the answers */
    int32_t axes_count;
    GPtrArray *rows;                    /* RhMergedCell*, owned: one per name */
    GArray *items;                      /* int32_t: the study's item of each row */
    int64_t absent_count, failed_count; /* questions without a row; rows without an answer */
} RhMerged;

/* Merges what journals hold of a study. RH_ERROR_INPUT for a line that is no entry. */
RhMerged *rh_merged_new(const RhStudy *study, const RhJournals *journals, const RhMergeRules *rules,
                        GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_merged_free(RhMerged *merged);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhMerged, rh_merged_free)
/* Returns the number of a column; -1: there is none. */
int32_t rh_merged_column(const RhMerged *merged, const char *name);
/* Texts, caller frees: RFC 4180 with a header; one JSON object a line. */
char *rh_merged_csv(const RhMerged *merged);
char *rh_merged_json_lines(const RhMerged *merged);

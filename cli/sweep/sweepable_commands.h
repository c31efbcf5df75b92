#pragma once
/* The commands that a study may ask: one row each. */
#include "cli/parse/option_parser.h"
#include "sweep/merged.h"
#include "sweep/study.h"

typedef struct {
    const RhCommand *command;
    RhMergeRules merge;
    double (*work)(const RhArguments *arguments); /* an estimate (item_work_estimate.h) */
} RhSweepCommand;

/* Returns the row of a command; NULL: a study cannot ask it. */
const RhSweepCommand *rh_sweep_command_by_name(const char *name);
/* Names of all, NULL-ended. */
const char *const *rh_sweep_command_names(void);
/* Returns the work of a question of `command` (const char*), in silence: as RhItemWork. */
double rh_sweep_item_work(const RhStudyItem *item, void *command);
/* Returns the commands and options that a study may name, for rh_study_load(). */
RhStudyRules rh_sweep_rules(void);

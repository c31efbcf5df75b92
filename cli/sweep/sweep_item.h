#pragma once
/* Asks one question of a study in this process, and enters what became of it in the journal. */
#include "sweep/journal.h"
#include "sweep/study.h"

/* Inputs of a worker. Everything is borrowed. */
typedef struct {
    const RhStudy *study;
    RhJournal *journal; /* of the process that asks */
} RhSweepWork;

/* Runs the command of an item. Standard output and error are files in memory, which are emptied, and
 * hold the answer and the error's message then. Returns the status (sweep/journal.h);
 * RH_SWEEP_UNWRITTEN where the journal could not be written, which standard error says. */
int32_t rh_sweep_perform(const RhSweepWork *work, const RhStudyItem *item);
#define RH_SWEEP_UNWRITTEN (-1)

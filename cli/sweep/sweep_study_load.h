#pragma once
/* A study of the command line and where its answers are. */
#include "cli/parse/parsed_arguments.h"
#include "sweep/shard.h"
#include "sweep/study.h"

typedef struct {
    const RhArguments *a;
    const char *path;
    char *folder; /* of the journals */
    RhStudy *study;
    RhStudyShard shard;
} RhSweepStudy;

/* Loads the study of a path into one whose `a` is set. RH_ERROR_IO, RH_ERROR_INPUT. */
bool rh_sweep_study_load(RhSweepStudy *s, const char *path,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_sweep_study_clear(RhSweepStudy *s);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhSweepStudy, rh_sweep_study_clear)

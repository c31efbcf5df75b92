#pragma once
/* This process as a rank of an MPI job, where rehearse-mpi started it. */
#include "cli/parse/option_parser.h"
#include "sweep/coordinator_message.h"

/* Takes the role that a relay gives; rank->socket is -1 where there is none. What this process starts
 * then has no role. RH_ERROR_USAGE. */
bool rh_job_rank_take(RhJobRank *rank, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Where this process is a rank and the command's rehearsals may be performed by ranks: has them handed
 * out, one for each rank but the first, which alone prints. Ranks read no clock in common, so there is
 * no --timeout, and not every command has such rehearsals: RH_ERROR_USAGE. */
bool rh_job_rank_begin(const RhCommand *command, RhArguments *arguments,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;

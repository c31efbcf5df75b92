#pragma once
/* Choice of a library for one group of ranks, by its table: which algorithms an operation of a size
 * may take. */
#include "platforms/fabric/collective_library.h"
#include "sim/program.h"

typedef struct RhLibraryChoice RhLibraryChoice;
/* Looks up the rows of so many ranks; NULL where the library (may be NULL) has none. */
RhLibraryChoice *rh_library_choice_new(const RhLibrary *library, int32_t ranks,
                                       int32_t ranks_per_node);
void rh_library_choice_free(RhLibraryChoice *choice);
/* Returns the algorithms for a buffer of this size as bits 1 << RhAlgo; 0 where the table, or
 * `choice` (may be NULL), says nothing of the operation. An all-gather counts the whole buffer. */
uint32_t rh_library_choice_of(const RhLibraryChoice *choice, RhOp op, double bytes);
/* Checks that every operation and algorithm that the library names is there. RH_ERROR_INPUT. */
bool rh_library_check_names(const RhLibrary *library, GError **error) G_GNUC_WARN_UNUSED_RESULT;

#pragma once
/* Communication libraries: which algorithms a library takes for an operation, by ranks and bytes,
 * and what its protocols cost.
 *
 * A file of platforms/data/libraries says both; its thresholds are those of the library's own
 * tables. Algorithms are named as in sim/collective, which this folder does not know:
 * rh_library_check_names (sim/collective/library_choice.h) refuses names that are not there. */
#include "platforms/platform.h"

/* Where rows of a library leave an operation out, it takes the cheapest of its family's
 * algorithms. */
typedef enum {
    RH_LIBRARY_GPU, /* NCCL and its like: rings and trees, protocols, steps in lockstep */
    RH_LIBRARY_MPI,
} RhLibraryFamily;

/* Algorithms for buffers of at most this many bytes, of which the cheapest is taken. */
typedef struct {
    double bytes;                  /* infinite in the last entry of a row */
    const char *const *algorithms; /* interned names, NULL-terminated */
} RhLibrarySizes;

/* Row of a library's table. */
typedef struct {
    const char *operation;  /* interned: "all-reduce" */
    int32_t ranks_per_node; /* from so many on; 0: any */
    int32_t ranks;          /* up to so many; 0: any */
    GArray *sizes;          /* RhLibrarySizes, ascending; owned */
} RhLibraryRow;

/* Constants of a protocol: its efficiency as a share of the link's line. */
typedef struct {
    RhFact of_line, latency_s, launch_s; /* without a tag: the library lacks the protocol */
} RhLibraryProtocol;

struct RhLibrary {
    const char *name, *description, *source; /* interned; the source of its rows */
    RhLibraryFamily family;
    GArray *rows; /* RhLibraryRow, as the file lists them; owned */
    RhLibraryProtocol nvlink[RH_PROTOCOL_LAST], nic[RH_PROTOCOL_LAST];
    char *hash;
};

/* Returns the library of that name, or of a file's path. Borrowed, never freed. RH_ERROR_USAGE for
 * an unknown name, RH_ERROR_INPUT for a bad file. */
const RhLibrary *rh_library_by_name(const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Returns the names of the catalogue's libraries: NULL-terminated, sorted, owned by the module. */
const char *const *rh_library_names(void);
/* Returns the row for so many ranks: of those with the most ranks on a node that there are at most
 * (else the fewest), the first that reaches as many ranks, else the last. NULL: the library has
 * none for the operation. Borrowed. */
const RhLibraryRow *rh_library_row(const RhLibrary *library, const char *operation, int32_t ranks,
                                   int32_t ranks_per_node);
/* Returns the family of the platform's library; without one, that of its kind: hosts that talk
 * through a network stack and processors use MPI. */
RhLibraryFamily rh_platform_library_family(const RhPlatform *p);
/* Makes the library that of the platform. Its protocols' constants become the platform's where
 * that has no constants of its own; those of a library before it go. */
void rh_platform_set_library(RhPlatform *p, const RhLibrary *library);

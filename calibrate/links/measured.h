#pragma once
/* Output of link benchmarks in one form: collectives with their placement, size and time.
 *
 *     g_autoptr(RhMeasured) log = rh_measured_load("all_reduce.log", &error);
 *
 * A log may contain other text, and several tables. Every format is one file (measured_NAME.c) and
 * a row of the table in measured.c. It knows nothing of platforms. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/program.h"

typedef struct {
    RhOp op;
    bool message;         /* of two ranks, one way, by MPI: nothing is launched; op is a shift */
    int32_t ranks, nodes; /* ranks / nodes on each, side by side */
    double bytes;         /* as RhTask.bytes */
    double seconds;
    int32_t line;
} RhTimed;

/* Rates of large copies. */
typedef enum {
    RH_RATE_NONE,
    RH_RATE_HOST_IN,  /* from a host's memory to a GPU's */
    RH_RATE_HOST_OUT, /* and back */
    RH_RATE_PEER,     /* from one GPU of a node to another */
    RH_RATE_NODES,    /* to one of another node */
    RH_RATE_LAST,
} RhRateKind;

typedef struct {
    RhRateKind kind;
    double bytes_per_s, bytes; /* bytes: of one copy */
} RhRate;

typedef struct {
    char *name;          /* of the file, for messages; owned */
    const char *format;  /* "nccl-tests", of the table */
    const char *device;  /* what marketing calls the GPUs, interned; "": not said */
    const char *library; /* "NCCL 2.19.3", interned; "": not said */
    GArray *rows;        /* RhTimed */
    GArray *rates;       /* RhRate */
    GPtrArray *notes;    /* char*, owned: what was left out, and why */
} RhMeasured;

/* Does the text hold a table of a format there is? */
bool rh_measured_begins(const char *text);
/* RH_ERROR_INPUT with file:line:col; RH_ERROR_IO. Gzipped files are unwrapped. */
RhMeasured *rh_measured_load(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Parses a text; `name` is used in messages, and may name the collective where the text does not.
 */
RhMeasured *rh_measured_parse(const char *name, const char *text,
                              GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_measured_free(RhMeasured *measured);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhMeasured, rh_measured_free)

/* "all_reduce of 16 ranks on 2 nodes": what a row is of, but for its size. Caller frees. */
char *rh_timed_class(const RhTimed *row);

#pragma once
/* Program from a file of another tool: the operations of every rank, with their dependencies.
 * Readers (goal_read.c, chakra*.c) make it, and rh_imported_trace_program() (program.c) converts it to a
 * RhProgram.
 *
 * Operations of a rank are in the order of its file. There are no lanes yet: two operations without
 * a dependency may run in parallel, except that calculations of one processor run one after
 * another. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json/json.h"
#include "sim/program.h"

typedef enum {
    RH_IMPORTED_NOTHING, /* takes no time, joins its dependencies */
    RH_IMPORTED_COMPUTE, /* on the GPU: processor 0 */
    RH_IMPORTED_HOST,    /* on another processor */
    RH_IMPORTED_SEND,
    RH_IMPORTED_RECV,
    RH_IMPORTED_COLLECTIVE,
    RH_IMPORTED_COPY,
} RhImportedKind;

/* Position of an operation in its file. */
typedef struct {
    const RhJsonNode *node; /* JSON only; else NULL */
    int64_t offset;         /* bytes; binary files only */
    int32_t line, column;   /* text only; 0: none */
} RhImportedPlace;

typedef struct {
    uint8_t kind;     /* RhImportedKind */
    uint8_t op;       /* COLLECTIVE: RhOp */
    uint8_t from, to; /* COPY: RhMemoryTier */
    int32_t rank;
    int32_t processor; /* HOST: 1 and up */
    int32_t peer;      /* SEND, RECV: a rank */
    int32_t mate;      /* SEND, RECV: the other end, once matched; else -1 */
    int32_t team;      /* COLLECTIVE: into teams */
    int32_t call;      /* COLLECTIVE: ordinal in its team, once counted */
    int64_t tag;
    uint64_t id;      /* in the file */
    const char *name; /* interned; "": none */
    double seconds;   /* COMPUTE, HOST; -1: from flops and bytes */
    double flops, bytes;
    int32_t waits_first, waits_count; /* into waits */
    RhImportedPlace place;
} RhImportedOp;

/* Dependency of an operation: on the end of another one of its rank, or on its beginning. */
typedef struct {
    int32_t op, on;
    bool begins;
} RhImportedWait;

typedef struct {
    char *format;        /* "GOAL", "Chakra" */
    double eager_bytes;  /* sends up to this size end without their receive */
    int32_t ranks_count; /* in the file */
    int32_t alike_count; /* ranks that all repeat the file's only one; else 0 */
    GArray *ops;         /* RhImportedOp, rank after rank */
    GArray *waits;       /* RhImportedWait, by op once closed */
    int32_t *first;      /* per rank and one more: into ops */
    GPtrArray *teams;    /* interned names of groups; "" is all ranks */
    GPtrArray *files;    /* owned names: one for all ranks, or one each */
    GPtrArray *docs;     /* RhJson, kept for their places; as files, or empty */
    int64_t left_out;    /* control dependencies ignored by chakra_node.c */
    int64_t untimed;     /* computations of a GPU without a duration: they take no time */
    int64_t queued; /* operations that also wait for a lane, for lack of streams (RH_STREAMS_MAX) */
    char *hash;     /* SHA-256 of the files, hex */
} RhImportedTrace;

void rh_imported_trace_free(RhImportedTrace *f);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhImportedTrace, rh_imported_trace_free)

/* --- for readers --- */
RhImportedTrace *rh_imported_trace_new(const char *format, double eager_bytes);
static inline RhImportedOp *rh_imported_trace_op(const RhImportedTrace *f, int32_t i)
{
    return &g_array_index(f->ops, RhImportedOp, i);
}
static inline bool rh_imported_trace_is_eager(const RhImportedTrace *f, const RhImportedOp *o)
{
    return o->bytes <= f->eager_bytes;
}
int32_t rh_imported_trace_team(RhImportedTrace *f, const char *name);
/* Completes a trace: sorts waits by operation; counts ranks and operations; matches sends with
 * receives by source, target and tag in the order of the files, and calls of a team by their
 * number. RH_ERROR_INPUT with the position: a send or receive without its other end, a rank that
 * the files lack, members whose calls of their team differ. */
bool rh_imported_trace_close(RhImportedTrace *f, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Sets an error at an operation, with file, line and column, or byte offset. `help` may be NULL.
 * Returns false. */
bool rh_imported_trace_fail(const RhImportedTrace *f, int32_t op, const char *help, GError **error,
                            const char *format, ...) G_GNUC_PRINTF(5, 6);
/* Describes an operation, such as "rank 3, node 12 "ncclKernel""; caller frees. */
char *rh_imported_trace_name(const RhImportedTrace *f, int32_t op);

/* Parses a GOAL text; `name` is used in messages. The trace is not yet closed. */
RhImportedTrace *rh_goal_parse(const char *name, const char *text,
                               GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Adds the rank of a Chakra trace, in protobuf or JSON. `f` takes over `doc`. */
bool rh_chakra_add_bytes(RhImportedTrace *f, const char *name, const uint8_t *bytes, size_t length,
                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
bool rh_chakra_add_json(RhImportedTrace *f, RhJson *doc, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* --- from files --- */
/* Loads and closes a trace: FILE.goal; PREFIX.0.et or PREFIX.0.json with the files of the other
 * ranks, or PREFIX; each may be gzipped. `ranks` > 0: this many ranks repeat the trace of one rank.
 * RH_ERROR_IO, RH_ERROR_INPUT. */
RhImportedTrace *rh_imported_trace_load(const char *path, int32_t ranks,
                                        GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* --- to a program --- */
/* Steps of operations in an order in which no lane can block: by the time at which each would be
 * ready if messages had idle links and calculations of one processor took turns. Made by operation_order.c.
 */
typedef enum {
    RH_IMPORTED_END,     /* the operation itself */
    RH_IMPORTED_BEGIN,   /* a mark: it is ready to begin; others wait for this */
    RH_IMPORTED_ARRIVAL, /* RECV: arrival of an eager send */
} RhImportedWhat;
typedef struct {
    int32_t op;
    uint8_t what; /* RhImportedWhat */
} RhImportedStep;
typedef struct {
    GArray **steps;  /* per rank: RhImportedStep */
    double *t_end_s; /* per op */
    int32_t ranks_count;
    bool *marked; /* per operation: others wait for its beginning */
} RhImportedOrder;
/* Orders the operations. RH_ERROR_INPUT when operations wait for each other, with the cycle that
 * they form. */
RhImportedOrder *rh_imported_trace_order(const RhImportedTrace *f, const RhPlatform *platform,
                                         GError **error) G_GNUC_WARN_UNUSED_RESULT;
void rh_imported_trace_order_free(RhImportedOrder *order);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhImportedOrder, rh_imported_trace_order_free)
/* Returns the seconds of a calculation on the platform's device: as stated, else the longer of its
 * FLOPs at the rate of large GEMMs and its bytes at the rate of large streams. */
double rh_imported_trace_compute_s(const RhImportedOp *op, const RhDevice *device);

/* Describes the members of a team (ascending) as a strided pattern: strides with their periods;
 * returns their number, -1 where there is no such pattern. Made by strided_groups.c. */
int32_t rh_imported_trace_spans(const int32_t *members, int32_t count, int32_t ranks,
                                RhStride spans[RH_STRIDES_MAX], int32_t periods[RH_STRIDES_MAX]);

/* Makes the program on a platform with enough GPUs: kernels on the compute lane, all else on
 * streams, algorithms of collectives by rh_collective_choose. Checked. RH_ERROR_INPUT. */
RhProgram *rh_imported_trace_program(RhImportedTrace *f, const RhPlatform *platform,
                                     GError **error) G_GNUC_WARN_UNUSED_RESULT;

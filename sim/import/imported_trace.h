#pragma once
/* A program as others write it: the operations of every rank, with what each waits for. Readers
 * (goal.c, chakra*.c) make it, rh_imported_trace_program() (program.c) makes a RhProgram of it.
 *
 * Operations of a rank stand in a row, in the order of its file. Nothing is on lanes yet: two
 * operations that do not wait for each other may run side by side, except that calculations of one
 * processor run one after another. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "sim/program.h"

typedef enum {
    RH_FOREIGN_NOTHING, /* takes no time, joins what it waits for */
    RH_FOREIGN_COMPUTE, /* of the GPU: processor 0 */
    RH_FOREIGN_HOST,    /* of another processor */
    RH_FOREIGN_SEND,
    RH_FOREIGN_RECV,
    RH_FOREIGN_COLLECTIVE,
    RH_FOREIGN_COPY,
} RhImportedKind;

/* Where an operation stands in its file. */
typedef struct {
    const RhJsonNode *node; /* of JSON; else NULL */
    int64_t offset;         /* bytes, of a binary file */
    int32_t line, column;   /* of text; 0: none */
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
    int32_t call;      /* COLLECTIVE: which of its team's, once counted */
    int64_t tag;
    uint64_t id;      /* of the file */
    const char *name; /* interned; "": none */
    double seconds;   /* COMPUTE, HOST; -1: from flops and bytes */
    double flops, bytes;
    int32_t waits_first, waits_count; /* into waits */
    RhImportedPlace place;
} RhImportedOp;

/* What an operation waits for: the end of another of its rank, or its beginning. */
typedef struct {
    int32_t op, on;
    bool begins;
} RhImportedWait;

typedef struct {
    char *format;        /* "GOAL", "Chakra" */
    double eager_bytes;  /* sends up to so many end without their receive: it finds them there */
    int32_t ranks_count; /* of the file */
    int32_t alike_count; /* ranks that all do what the only one of the file does; else 0 */
    GArray *ops;         /* RhImportedOp, rank after rank */
    GArray *waits;       /* RhImportedWait, by op once closed */
    int32_t *first;      /* per rank and one more: into ops */
    GPtrArray *teams;    /* interned names of groups; "" is all ranks */
    GPtrArray *files;    /* owned names: one for all ranks, or one each */
    GPtrArray *docs;     /* RhJson, kept for their places; as files, or empty */
    int64_t left_out;    /* control dependencies passed over: chakra.c */
    int64_t queued; /* operations that wait for a lane as well: more than RH_STREAMS_MAX at once */
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
/* Sorts waits by operation; counts ranks and operations; matches sends with receives by source,
 * target and tag in the order of the files, and calls of a team by their number.
 * RH_ERROR_INPUT, with the place: an end without its other end, a rank that the files lack, members that call
 * their team unlike each other. */
bool rh_imported_trace_close(RhImportedTrace *f, GError **error);
/* An error at an operation: file, line and column, or byte. `help` may be NULL. */
bool rh_imported_trace_fail(const RhImportedTrace *f, int32_t op, const char *help, GError **error,
                            const char *format, ...) G_GNUC_PRINTF(5, 6);
/* "rank 3, node 12 "ncclKernel"": an operation in words; caller frees. */
char *rh_imported_trace_name(const RhImportedTrace *f, int32_t op);

/* A text of GOAL. `name` stands in messages. Not closed. */
RhImportedTrace *rh_goal_parse(const char *name, const char *text, GError **error);
/* Adds the rank of a Chakra trace: protobuf's, or JSON. `doc` is kept by `f`. */
bool rh_chakra_add_bytes(RhImportedTrace *f, const char *name, const uint8_t *bytes, size_t length,
                         GError **error);
bool rh_chakra_add_json(RhImportedTrace *f, RhJson *doc, GError **error);

/* --- from files --- */
/* FILE.goal; PREFIX.0.et or PREFIX.0.json with what stands beside them, or PREFIX; each may be
 * gzip's. `ranks` > 0: so many ranks do what the trace of one rank says. Closed. RH_ERROR_IO,
 * RH_ERROR_INPUT. */
RhImportedTrace *rh_imported_trace_load(const char *path, int32_t ranks, GError **error);

/* --- to a program --- */
/* Operations in an order that no lane can block: by the time at which each would be ready if
 * messages met idle links and calculations of one processor took turns. Made by order.c. */
typedef enum {
    RH_FOREIGN_ENDS,    /* the operation itself */
    RH_FOREIGN_BEGINS,  /* a mark: it could begin, which others wait for */
    RH_FOREIGN_ARRIVES, /* RECV: what is sent without waiting for it */
} RhImportedWhat;
typedef struct {
    int32_t op;
    uint8_t what; /* RhImportedWhat */
} RhImportedStep;
typedef struct {
    GArray **steps;  /* per rank: RhImportedStep */
    double *t_end_s; /* per op */
    int32_t ranks_count;
    bool *marked; /* per op: others wait for its beginning */
} RhImportedOrder;
/* RH_ERROR_INPUT when operations wait for each other, with the ring they form. */
RhImportedOrder *rh_imported_trace_order(const RhImportedTrace *f, const RhPlatform *platform,
                                         GError **error);
void rh_imported_trace_order_free(RhImportedOrder *order);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhImportedOrder, rh_imported_trace_order_free)
/* Seconds of a calculation on the platform's device: as stated, else the longer of its FLOPs at the
 * rate of large GEMMs and its bytes at the rate of large streams. */
double rh_imported_trace_compute_s(const RhImportedOp *op, const RhDevice *device);

/* The members of a team as a strided pattern (groups.c): spans with what they begin again after,
 * how many; -1 where there is no such pattern. `members` rise. */
int32_t rh_imported_trace_spans(const int32_t *members, int32_t count, int32_t ranks,
                                RhStride spans[RH_STRIDES_MAX], int32_t periods[RH_STRIDES_MAX]);

/* The program on a platform that has as many GPUs: kernels on the compute lane, all else on
 * streams, algorithms of collectives by rh_collective_choose. Checked. RH_ERROR_INPUT. */
RhProgram *rh_imported_trace_program(RhImportedTrace *f, const RhPlatform *platform,
                                     GError **error);

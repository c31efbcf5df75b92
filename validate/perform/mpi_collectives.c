#include "validate/perform/mpi_collectives.h"

#include <glib.h>
#include <math.h>

/* Returns member m's contribution to word i. */
static uint32_t input_word(int m, int64_t i)
{
    return ((uint32_t)(m + 1) * 2654435761U) ^ ((uint32_t)i * 668265263U);
}

/* Blocks of a member before and after the call. */
static void blocks_of(const RhLibraryCall *c, int *in, int *out)
{
    bool shifts = c->op == RH_OP_SHIFT;
    bool spreads = shifts || c->op == RH_OP_REDUCE_SCATTER;
    bool gathers = shifts || c->op == RH_OP_ALL_GATHER;
    *in = gathers ? 1 : c->members;
    *out = spreads ? 1 : c->members;
}

static bool in_place(RhOp op)
{
    return op == RH_OP_ALL_REDUCE || op == RH_OP_BROADCAST;
}

static void fill(RhLibraryCall *c)
{
    int in, out;
    blocks_of(c, &in, &out);
    c->out = g_new0(uint32_t, (gsize)out * (gsize)c->block_words + 1);
    c->in = in_place(c->op) ? NULL : g_new(uint32_t, (gsize)in * (gsize)c->block_words + 1);
    uint32_t *words = c->in ? c->in : c->out;
    for (int64_t i = 0; i < (int64_t)in * c->block_words; i++)
        words[i] = input_word(c->own, i);
}

static void start_shift(RhLibraryCall *c, MPI_Comm comm)
{
    int next = (c->own + 1) % c->members, before = (c->own + c->members - 1) % c->members;
    MPI_Irecv(c->out, c->block_words, MPI_UINT32_T, before, 0, comm, &c->requests[0]);
    MPI_Isend(c->in, c->block_words, MPI_UINT32_T, next, 0, comm, &c->requests[1]);
}

static void start(RhLibraryCall *c, MPI_Comm comm)
{
    int block = c->block_words, all = block * c->members;
    switch (c->op) {
    case RH_OP_ALL_REDUCE:
        MPI_Iallreduce(MPI_IN_PLACE, c->out, all, MPI_UINT32_T, MPI_SUM, comm, &c->requests[0]);
        break;
    case RH_OP_REDUCE_SCATTER:
        MPI_Ireduce_scatter_block(c->in, c->out, block, MPI_UINT32_T, MPI_SUM, comm,
                                  &c->requests[0]);
        break;
    case RH_OP_ALL_GATHER:
        MPI_Iallgather(c->in, block, MPI_UINT32_T, c->out, block, MPI_UINT32_T, comm,
                       &c->requests[0]);
        break;
    case RH_OP_BROADCAST:
        MPI_Ibcast(c->out, all, MPI_UINT32_T, 0, comm, &c->requests[0]);
        break;
    case RH_OP_ALL_TO_ALL:
        MPI_Ialltoall(c->in, block, MPI_UINT32_T, c->out, block, MPI_UINT32_T, comm,
                      &c->requests[0]);
        break;
    case RH_OP_SHIFT:
        start_shift(c, comm);
        break;
    case RH_OP_NONE:
    case RH_OP_BARRIER:
    case RH_OP_LAST:
    default:
        MPI_Ibarrier(comm, &c->requests[0]);
        break;
    }
}

void rh_library_start(RhLibraryCall *c, RhOp op, double bytes, MPI_Comm comm)
{
    rh_library_clear(c);
    c->op = op;
    MPI_Comm_rank(comm, &c->own);
    MPI_Comm_size(comm, &c->members);
    c->block_words = (int)ceil(bytes / sizeof(uint32_t) / (op == RH_OP_SHIFT ? 1 : c->members));
    c->requests[0] = c->requests[1] = MPI_REQUEST_NULL;
    fill(c);
    start(c, comm);
}

bool rh_library_poll(RhLibraryCall *c)
{
    int done = 0;
    MPI_Testall(2, c->requests, &done, MPI_STATUSES_IGNORE);
    return done != 0;
}

/* Returns the expected word i of the result. */
static uint32_t expected_word(const RhLibraryCall *c, int64_t i)
{
    int64_t block = c->block_words, place = i;
    if (c->op == RH_OP_BROADCAST)
        return input_word(0, i);
    if (c->op == RH_OP_ALL_GATHER)
        return input_word((int)(i / block), i % block);
    if (c->op == RH_OP_ALL_TO_ALL)
        return input_word((int)(i / block), c->own * block + i % block);
    if (c->op == RH_OP_SHIFT)
        return input_word((c->own + c->members - 1) % c->members, i);
    if (c->op == RH_OP_REDUCE_SCATTER)
        place = c->own * block + i;
    uint32_t sum = 0;
    for (int m = 0; m < c->members; m++)
        sum += input_word(m, place);
    return sum;
}

RhPayloadCheck rh_library_check(const RhLibraryCall *c)
{
    RhPayloadCheck check = {0};
    int in, out;
    blocks_of(c, &in, &out);
    if (c->op == RH_OP_BARRIER)
        return check;
    for (int64_t i = 0; i < (int64_t)out * c->block_words; i++, check.checked_count++)
        check.wrong_count += c->out[i] != expected_word(c, i);
    return check;
}

void rh_library_clear(RhLibraryCall *c)
{
    g_clear_pointer(&c->in, g_free);
    g_clear_pointer(&c->out, g_free);
}

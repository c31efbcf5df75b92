#include "validate/perform/mpi_transport.h"

#include <glib.h>

#include "base/garray_access.h"

#define PIECE_BYTES ((int64_t)4 << 20)
#define SPARE_MAX   64 /* buffers kept for reuse */

typedef struct {
    RhTransportOwner owner;
    uint32_t *buffer; /* owned */
    int64_t room;
    int32_t pieces_left;
} Message;

typedef struct {
    uint32_t *buffer;
    int64_t room;
} Spare;

struct RhMpiTransport {
    MPI_Comm comm;
    int rank;
    bool fresh;            /* started since the last call of MPI_Testsome */
    GArray *requests;      /* MPI_Request; those under way, without holes */
    GArray *message_of;    /* int32_t, of each request */
    GArray *messages;      /* Message */
    GArray *free_messages; /* int32_t */
    GArray *spares;        /* Spare */
    GArray *finished;      /* int: results of MPI_Testsome */
    GArray *statuses;      /* MPI_Status, likewise */
};

RhMpiTransport *rh_mpi_transport_new(MPI_Comm comm)
{
    RhMpiTransport *w = g_new0(RhMpiTransport, 1);
    w->comm = comm;
    MPI_Comm_rank(comm, &w->rank);
    w->requests = g_array_new(FALSE, FALSE, sizeof(MPI_Request));
    w->message_of = g_array_new(FALSE, FALSE, sizeof(int32_t));
    w->messages = g_array_new(FALSE, FALSE, sizeof(Message));
    w->free_messages = g_array_new(FALSE, FALSE, sizeof(int32_t));
    w->spares = g_array_new(FALSE, FALSE, sizeof(Spare));
    w->finished = g_array_new(FALSE, FALSE, sizeof(int));
    w->statuses = g_array_new(FALSE, FALSE, sizeof(MPI_Status));
    return w;
}

void rh_mpi_transport_free(RhMpiTransport *w)
{
    if (!w)
        return;
    for (guint i = 0; i < w->spares->len; i++)
        g_free(RH_AT(w->spares, Spare, i)->buffer);
    GArray *arrays[] = {w->requests, w->message_of, w->messages, w->free_messages,
                        w->spares,   w->finished,   w->statuses};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    g_free(w);
}

static Spare buffer_get(RhMpiTransport *w, int64_t bytes)
{
    for (guint i = w->spares->len; i-- > 0;) {
        Spare spare = *RH_AT(w->spares, Spare, i);
        if (spare.room < bytes || spare.room > 2 * bytes + 4096)
            continue;
        g_array_remove_index_fast(w->spares, i);
        return spare;
    }
    return (Spare){g_malloc((gsize)MAX(bytes, 4)), MAX(bytes, 4)};
}

static void buffer_put(RhMpiTransport *w, Spare spare)
{
    if (w->spares->len >= SPARE_MAX)
        g_free(spare.buffer);
    else
        g_array_append_val(w->spares, spare);
}

uint32_t *rh_mpi_transport_buffer(RhMpiTransport *w, int64_t bytes)
{
    return buffer_get(w, bytes).buffer;
}

static int32_t message_new(RhMpiTransport *w, Message message)
{
    if (w->free_messages->len == 0) {
        g_array_append_val(w->messages, message);
        return (int32_t)w->messages->len - 1;
    }
    int32_t i = *RH_AT(w->free_messages, int32_t, w->free_messages->len - 1);
    g_array_set_size(w->free_messages, w->free_messages->len - 1);
    *RH_AT(w->messages, Message, i) = message;
    return i;
}

static void start(RhMpiTransport *w, int rank, int tag, Spare space, int64_t bytes,
                  RhTransportOwner owner)
{
    w->fresh = true;
    int32_t pieces = (int32_t)MAX(1, (bytes + PIECE_BYTES - 1) / PIECE_BYTES);
    int32_t index = message_new(w, (Message){owner, space.buffer, space.room, pieces});
    for (int32_t i = 0; i < pieces; i++) {
        int64_t from = i * PIECE_BYTES;
        char *at = (char *)space.buffer + from;
        int count = (int)MIN(PIECE_BYTES, bytes - from);
        MPI_Request request;
        if (owner.receives)
            MPI_Irecv(at, count, MPI_BYTE, rank, tag, w->comm, &request);
        else
            MPI_Isend(at, count, MPI_BYTE, rank, tag, w->comm, &request);
        g_array_append_val(w->requests, request);
        g_array_append_val(w->message_of, index);
    }
}

void rh_mpi_transport_send(RhMpiTransport *w, int rank, int tag, uint32_t *buffer, int64_t bytes,
                           RhTransportOwner owner)
{
    owner.receives = false;
    start(w, rank, tag, (Spare){buffer, MAX(bytes, 4)}, bytes, owner);
}

void rh_mpi_transport_receive(RhMpiTransport *w, int rank, int tag, int64_t bytes,
                              RhTransportOwner owner)
{
    owner.receives = true;
    start(w, rank, tag, buffer_get(w, bytes), bytes, owner);
}

/* Closes the holes: MPI_Testsome leaves a null request for each that finished. */
static void close_holes(RhMpiTransport *w)
{
    for (guint i = w->requests->len; i-- > 0;)
        if (*RH_AT(w->requests, MPI_Request, i) == MPI_REQUEST_NULL) {
            g_array_remove_index_fast(w->requests, i);
            g_array_remove_index_fast(w->message_of, i);
        }
}

/* Number of finished requests. MPI_Testsome first tests, then progresses: a second call sees the
 * result of that. */
static int finished_requests(RhMpiTransport *w, bool may_have_come)
{
    int count = 0, looks = may_have_come ? 2 : 1;
    for (int i = 0; i < looks && count == 0; i++)
        MPI_Testsome((int)w->requests->len, RH_ELEMENTS(w->requests, MPI_Request), &count,
                     RH_ELEMENTS(w->finished, int), RH_ELEMENTS(w->statuses, MPI_Status));
    return count == MPI_UNDEFINED ? 0 : count;
}

/* Makes MPI progress by probing for a message from the rank itself, which never exists. */
static void progress(RhMpiTransport *w)
{
    int flag;
    MPI_Iprobe(w->rank, MPI_ANY_TAG, w->comm, &flag, MPI_STATUS_IGNORE);
}

int rh_mpi_transport_poll(RhMpiTransport *w, bool may_have_come, RhTransportDone done, void *user)
{
    int finished = 0;
    if (!may_have_come && !w->fresh)
        return 0;
    w->fresh = false;
    if (w->requests->len == 0) {
        progress(w);
        return 0;
    }
    g_array_set_size(w->finished, w->requests->len);
    g_array_set_size(w->statuses, w->requests->len);
    int count = finished_requests(w, may_have_come);
    if (count == 0)
        return 0;
    g_autofree int32_t *whole = g_new(int32_t, count);
    for (int i = 0; i < count; i++) {
        int32_t index = *RH_AT(w->message_of, int32_t, *RH_AT(w->finished, int, i));
        if (--RH_AT(w->messages, Message, index)->pieces_left == 0)
            whole[finished++] = index;
    }
    close_holes(w);
    for (int i = 0; i < finished; i++) {
        Message message = *RH_AT(w->messages, Message, whole[i]);
        g_array_append_val(w->free_messages, whole[i]);
        done(message.owner, message.buffer, user);
        buffer_put(w, (Spare){message.buffer, message.room});
    }
    return finished;
}

int rh_mpi_transport_pending(const RhMpiTransport *w)
{
    return (int)w->requests->len;
}

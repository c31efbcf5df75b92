#include "validate/perform/pingpong.h"

#include <glib.h>
#include <stdlib.h>

#include "validate/perform/clock.h"

#define TAG        9
#define BYTES_MAX  (1 << 20)
#define TRIPS_MAX  31
#define SIZE_S     0.15 /* seconds spent on a size, about */
#define POLL_NAP_S 20e-6

/* The performer polls and naps; so does this. */
static void finish(MPI_Request *request)
{
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    while (!done) {
        rh_clock_nap(POLL_NAP_S);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
}

static void pass(MPI_Comm comm, int peer, void *buffer, int bytes, bool sends)
{
    MPI_Request request;
    if (sends)
        MPI_Isend(buffer, bytes, MPI_BYTE, peer, TAG, comm, &request);
    else
        MPI_Irecv(buffer, bytes, MPI_BYTE, peer, TAG, comm, &request);
    finish(&request);
}

static double round_trip_s(MPI_Comm comm, int peer, void *buffer, int bytes, bool leads)
{
    double t_start_s = rh_clock_now_s();
    pass(comm, peer, buffer, bytes, leads);
    pass(comm, peer, buffer, bytes, !leads);
    return rh_clock_now_s() - t_start_s;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Both ends know how many trips: the first one's time, told by the leader. */
static double one_way_s(MPI_Comm comm, int peer, void *buffer, int bytes, bool leads)
{
    double trips_s[TRIPS_MAX];
    double first_s = round_trip_s(comm, peer, buffer, bytes, leads);
    int trips = (int)CLAMP(SIZE_S / first_s, 3, TRIPS_MAX);
    if (leads)
        MPI_Send(&trips, 1, MPI_INT, peer, TAG, comm);
    else
        MPI_Recv(&trips, 1, MPI_INT, peer, TAG, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < trips; i++)
        trips_s[i] = round_trip_s(comm, peer, buffer, bytes, leads);
    qsort(trips_s, (size_t)trips, sizeof *trips_s, rising);
    return trips_s[trips / 2] / 2;
}

bool rh_pingpong(MPI_Comm comm, int peer, int runs, FILE *out)
{
    int own;
    MPI_Comm_rank(comm, &own);
    g_autofree void *buffer = g_malloc0(BYTES_MAX);
    if (own == 0 && fputs("source,destination,bytes,seconds\n", out) < 0)
        return false;
    for (int run = 0; run < runs; run++)
        for (int bytes = 4; bytes <= BYTES_MAX; bytes *= bytes < 1024 ? 4 : 2) {
            if (own != 0 && own != peer)
                continue;
            double seconds = one_way_s(comm, own == 0 ? peer : 0, buffer, bytes, own == 0);
            char text[G_ASCII_DTOSTR_BUF_SIZE];
            if (own == 0 && fprintf(out, "0,%d,%d,%s\n", peer, bytes,
                                    g_ascii_formatd(text, sizeof text, "%.9g", seconds)) < 0)
                return false;
        }
    /* The others wait here, asleep, as a rank does that has nothing to do. */
    MPI_Request barrier;
    MPI_Ibarrier(comm, &barrier);
    finish(&barrier);
    return true;
}

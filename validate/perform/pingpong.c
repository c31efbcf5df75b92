#include "validate/perform/pingpong.h"

#include "validate/perform/clock.h"
#include <glib.h>

#define TAG        9
#define BYTES_MAX  (1 << 20)
#define TRIPS_MAX  31
#define SIZE_S     0.1 /* seconds spent on a size, about */
#define POLL_NAP_S 50e-6

typedef struct {
    MPI_Comm comm;
    int own, ranks, partner;
    bool leads;
    void *buffer;
} Pair;

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

static void pass(const Pair *p, int bytes, bool sends)
{
    MPI_Request request;
    if (sends)
        MPI_Isend(p->buffer, bytes, MPI_BYTE, p->partner, TAG, p->comm, &request);
    else
        MPI_Irecv(p->buffer, bytes, MPI_BYTE, p->partner, TAG, p->comm, &request);
    finish(&request);
}

static double round_trip_s(const Pair *p, int bytes)
{
    double t_start_s = rh_clock_now_s();
    pass(p, bytes, p->leads);
    pass(p, bytes, !p->leads);
    return rh_clock_now_s() - t_start_s;
}

/* All pairs make as many trips as the slowest has time for: half of each in halves_s. */
static int make_trips(const Pair *p, int bytes, double halves_s[TRIPS_MAX])
{
    double first_s = round_trip_s(p, bytes), slowest_s = first_s;
    MPI_Allreduce(&first_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, p->comm);
    double wanted = SIZE_S / slowest_s;
    int trips = (int)CLAMP(wanted, 5, TRIPS_MAX);
    for (int i = 0; i < trips; i++)
        halves_s[i] = round_trip_s(p, bytes) / 2;
    return trips;
}

/* The leaders' trips, in the order of their ranks, by rank 0. */
static bool write_rows(const Pair *p, int bytes, const double *halves_s, int trips, FILE *out)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree double *all = g_new0(double, p->ranks *trips);
    MPI_Gather(halves_s, trips, MPI_DOUBLE, all, trips, MPI_DOUBLE, 0, p->comm);
    for (int i = 0; p->own == 0 && i < p->ranks / 2 * trips; i++) {
        int leader = i / trips;
        if (fprintf(out, "%d,%d,%d,%s\n", leader, leader + p->ranks / 2, bytes,
                    g_ascii_formatd(text, sizeof text, "%.9g", all[i])) < 0)
            return false;
    }
    return true;
}

bool rh_pingpong(MPI_Comm comm, int runs, FILE *out)
{
    Pair p = {.comm = comm};
    MPI_Comm_rank(comm, &p.own);
    MPI_Comm_size(comm, &p.ranks);
    p.leads = p.own < p.ranks / 2;
    p.partner = p.leads ? p.own + p.ranks / 2 : p.own - p.ranks / 2;
    g_autofree void *buffer = p.buffer = g_malloc0(BYTES_MAX);
    bool written = p.own != 0 || fputs("source,destination,bytes,seconds\n", out) >= 0;
    for (int run = 0; run < runs; run++)
        for (int bytes = 4; bytes <= BYTES_MAX; bytes *= bytes < 1024 ? 4 : 2) {
            double halves_s[TRIPS_MAX];
            MPI_Barrier(comm);
            int trips = make_trips(&p, bytes, halves_s);
            written &= write_rows(&p, bytes, halves_s, trips, out);
        }
    return written;
}

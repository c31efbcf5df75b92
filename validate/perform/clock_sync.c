#include "validate/perform/clock_sync.h"

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define ROUND_TRIPS 30
#define TAG         7

double rh_clock_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void answer(MPI_Comm comm)
{
    for (int i = 0; i < ROUND_TRIPS; i++) {
        double now_s;
        MPI_Recv(&now_s, 1, MPI_DOUBLE, MPI_ANY_SOURCE, TAG, comm, MPI_STATUS_IGNORE);
        now_s = rh_clock_now_s();
        MPI_Send(&now_s, 1, MPI_DOUBLE, 0, TAG, comm);
    }
}

static double ask(MPI_Comm comm, int rank)
{
    double best_s = HUGE_VAL, offset_s = 0;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        double theirs_s = 0, before_s = rh_clock_now_s();
        MPI_Send(&before_s, 1, MPI_DOUBLE, rank, TAG, comm);
        MPI_Recv(&theirs_s, 1, MPI_DOUBLE, rank, TAG, comm, MPI_STATUS_IGNORE);
        double after_s = rh_clock_now_s();
        if (after_s - before_s < best_s) {
            best_s = after_s - before_s;
            offset_s = theirs_s - (before_s + after_s) / 2;
        }
    }
    return offset_s;
}

double rh_clock_offset_s(MPI_Comm comm)
{
    int own, count;
    double offset_s = 0;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &count);
    for (int rank = 1; rank < count; rank++) {
        double found_s = 0;
        if (own == 0)
            found_s = ask(comm, rank);
        else if (own == rank)
            answer(comm);
        if (own == 0)
            MPI_Send(&found_s, 1, MPI_DOUBLE, rank, TAG, comm);
        else if (own == rank)
            MPI_Recv(&offset_s, 1, MPI_DOUBLE, 0, TAG, comm, MPI_STATUS_IGNORE);
    }
    return offset_s;
}

void rh_clock_nap(double seconds)
{
    struct timespec nap = {0, (long)(1e9 * fmax(0, fmin(seconds, 0.5)))};
    nanosleep(&nap, NULL);
}

double rh_clock_stolen_s(void)
{
    g_autofree char *text = NULL;
    double ticks = 0; /* user, nice, system, idle, iowait, irq, softirq, steal */
    if (g_file_get_contents("/proc/stat", &text, NULL, NULL))
        sscanf(text, "cpu %*f %*f %*f %*f %*f %*f %*f %lf", &ticks);
    return ticks / (double)sysconf(_SC_CLK_TCK) / g_get_num_processors();
}

/* Times of processes that share a GPU: a closed network of a delay (no kernel) and a processor that
 * is shared (the device), with as many customers as there are processes. With n kernels on the
 * device each proceeds at min(1, 1 / (n f)), f the part of the device that one fills. Probabilities
 * of n are of product form, and depend on means alone (Baskett, Chandy, Muntz and Palacios, JACM
 * 22(2), 1975, doi 10.1145/321879.321887). */
#include "platforms/devices/gpu_sharing.h"

#include <glib.h>

static const char *const NAMES[RH_CLIENTS_LAST] = {"mps", "time", "mig"};

/* Speed of each of n kernels that are on the device together. */
static double speed(int32_t n, double fill)
{
    return MIN(1, 1 / ((double)n * fill));
}

RhSharedTime rh_clients_time(const RhGpuClients *clients, const RhClientWork *work)
{
    double alone_s = work->kernels_s + work->idle_s;
    int32_t m = MAX(clients->count, 1);
    if (m == 1 || work->kernels_s <= 0 || clients->kind == RH_CLIENTS_MIG)
        return (RhSharedTime){alone_s, work->kernels_s};
    double fill =
        clients->kind == RH_CLIENTS_TIME ? 1 : CLAMP(work->filled_s / work->kernels_s, 1e-9, 1);
    if (work->idle_s <= 0) {
        double seconds = work->kernels_s / speed(m, fill);
        return (RhSharedTime){seconds, seconds};
    }
    /* weights of n kernels on the device, n from 0, and of the work that they do in a second */
    double weight = 1, sum = 1, running = 0;
    for (int32_t n = 1; n <= m; n++) {
        weight *= (m - n + 1) / work->idle_s * work->kernels_s / (n * speed(n, fill));
        sum += weight;
        running += weight * n * speed(n, fill);
    }
    double seconds = m * work->kernels_s * sum / running;
    return (RhSharedTime){seconds, seconds * (sum - 1) / sum};
}

const char *rh_clients_kind_name(RhClientsKind kind)
{
    g_return_val_if_fail(kind < RH_CLIENTS_LAST, "none");
    return NAMES[kind];
}

bool rh_clients_kind_by_name(const char *name, RhClientsKind *kind)
{
    for (int i = 0; i < RH_CLIENTS_LAST; i++)
        if (g_str_equal(NAMES[i], name)) {
            *kind = (RhClientsKind)i;
            return true;
        }
    return false;
}

#pragma once
/* Several processes of one job on one GPU, and how long a stretch of work of one takes beside the
 * others.
 *
 * Knows: how long kernels are, how much of the device they fill, how long none runs. Does not know:
 * kernels, programs, ranks. Seconds throughout. Formulas and sources: docs/theory/sharing.md. */
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    RH_CLIENTS_MPS, /* kernels of different processes run side by side (Multi-Process Service) */
    RH_CLIENTS_TIME, /* one process at a time, the next when it has no kernel: the driver's default */
    RH_CLIENTS_MIG, /* each in an instance of its own, a smaller device (Multi-Instance GPU) */
    RH_CLIENTS_LAST
} RhClientsKind;

/* Processes of a Volta or later GPU under one MPS server, at most (docs.nvidia.com/deploy/mps,
 * "Volta MPS Client Maximums"; 60 since CUDA 13.1). */
#define RH_CLIENTS_MAX 48

typedef struct {
    int32_t count; /* processes on each GPU; 0 and 1: it has the GPU to itself */
    RhClientsKind kind;
} RhGpuClients;

/* A stretch of work as it is alone on the GPU. */
typedef struct {
    double kernels_s; /* a kernel of it is on the device */
    double filled_s;  /* the same work if it always filled the whole device: at most kernels_s */
    double idle_s;    /* none is: launches, the host */
} RhClientWork;

typedef struct {
    double seconds; /* until one process has done the work, and so each of them */
    double busy_s;  /* of these a kernel of one process at least is on the device */
} RhSharedTime;

static inline bool rh_clients_share(const RhGpuClients *clients)
{
    return clients->count > 1;
}

/* Returns how long the stretch takes when so many processes do the same, each in its own time. */
RhSharedTime rh_clients_time(const RhGpuClients *clients, const RhClientWork *work);

const char *rh_clients_kind_name(RhClientsKind kind);                /* "mps" */
bool rh_clients_kind_by_name(const char *name, RhClientsKind *kind); /* false: unknown */
#define RH_CLIENTS_CHOICES "mps|time|mig"

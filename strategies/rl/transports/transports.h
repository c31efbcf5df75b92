#pragma once
/* The table of transports of weights from the trainer to the servers: the RhWeightTransport
 * rh_weight_transport_NAME that a file here defines. A new one is its file and a line here. */
#include "platforms/platform.h"

/* Senders and receivers of weights. GPUs are numbered through the platform, the trainer's first; where trainer and
 * servers share GPUs, both begin at 0. */
typedef struct {
    const RhPlatform *platform;
    double bytes;         /* of all weights, in the servers' format */
    int32_t shards;       /* the trainer's first ranks, which hold one whole copy between them */
    int32_t server_first; /* GPU */
    int32_t server_gpus;  /* of all servers */
    int64_t matrices;     /* of the model's file: matrices of each expert count */
    double changed_frac;  /* of the weights, in a step */
} RhWeightRoute;

typedef struct {
    double gather_s; /* whole tensors among the trainer's ranks */
    double handle_s; /* frameworks beside links: tensors are made whole, named, copied, taken */
    double send_s;   /* from the trainer to all servers */
    double sync_s;   /* from the first byte to the last; the trainer waits */
    double pause_s;  /* part of it in which servers stand still */
} RhWeightTimes;

typedef struct {
    const char *name, *about;
    bool shared;        /* for GPUs that trainer and servers share; else for GPUs of their own */
    const char *source; /* of its constants, and how far other runs are off */
    RhWeightTimes (*times)(const RhWeightRoute *route);
} RhWeightTransport;

#define RH_WEIGHT_TRANSPORTS(ROW)                                                                  \
    ROW(handover)                                                                                  \
    ROW(broadcast)                                                                                 \
    ROW(pipelined)                                                                                 \
    ROW(engine)                                                                                    \
    ROW(delta)

#define RH_WEIGHT_TRANSPORT_ROW(name) extern const RhWeightTransport rh_weight_transport_##name;
RH_WEIGHT_TRANSPORTS(RH_WEIGHT_TRANSPORT_ROW)
#undef RH_WEIGHT_TRANSPORT_ROW

/* Names of those for GPUs apart, NULL-ended. */
const char *const *rh_weight_transport_names(void);
/* NULL: there is none of that name. */
const RhWeightTransport *rh_weight_transport_by_name(const char *name);

/* Seconds of an all-gather of whole tensors among the trainer's shards; 0: one holds all. */
double rh_weight_gather_s(const RhWeightRoute *route);
/* Seconds of a broadcast of so many bytes from the trainer's first rank to every GPU of the servers. */
double rh_weight_broadcast_s(const RhWeightRoute *route, double bytes);
/* Seconds in which the servers' GPUs broadcast their parts of all weights to each other, over the links of all:
 * those of an all-gather. */
double rh_weight_spread_s(const RhWeightRoute *route);
/* Seconds of stages that buckets pass one behind the other, each working on the next bucket while a later
 * one has the last: the slowest takes all bytes, each other a bucket. */
double rh_weight_pipeline_s(const RhWeightRoute *route, const double *stages_s, int32_t count);
/* Seconds in which every GPU copies its part of so many bytes over its link to host memory; 0: no
 * such link is known. */
double rh_weight_host_copy_s(const RhPlatform *platform, double bytes);

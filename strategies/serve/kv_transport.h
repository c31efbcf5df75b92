#pragma once
/* Transport of keys and values between the GPUs of a service, with the times of arrival.
 *
 * A service has the links of its platform to itself (rh_kv_transport_own), or shares them with
 * jobs and uses the transport of their simulation (service_beside_jobs.h). Times never decrease;
 * GPUs are numbered within the service, from 0 on. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/platform.h"

typedef struct {
    int32_t who; /* number given at the start; -1: none has arrived */
    double t_s;
} RhKvTransfer;

typedef struct {
    /* Returns the seconds that the service must wait before `start`: the latency of the route,
     * unless the transport includes it. */
    double (*latency_s)(void *self, int32_t src, int32_t dst);
    bool (*start)(void *self, double t_s, int32_t src, int32_t dst, double bytes, int32_t who,
                  GError **error);
    /* Runs until until_s or until a transfer has arrived, which is written to *carried. */
    bool (*run)(void *self, double until_s, RhKvTransfer *carried, GError **error);
    bool shared; /* other traffic may be on its links */
    void *self;
} RhKvTransport;

/* Returns a transport on links without other traffic; borrows the platform. */
RhKvTransport rh_kv_transport_own(const RhPlatform *platform);
void rh_kv_transport_clear(RhKvTransport *own);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhKvTransport, rh_kv_transport_clear)

#pragma once
/* What takes keys and values from GPU to GPU of a service, and when they are there.
 *
 * A service has the links of its platform to itself (rh_kv_transport_own), or shares them with others and is
 * lent a carrier by whoever performs these (background_service.h). Times do not go back; GPUs are the service's own,
 * from 0 on. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "platforms/platform.h"

typedef struct {
    int32_t who; /* -1: nobody's */
    double t_s;
} RhKvTransfer;

typedef struct {
    /* Seconds that the service lets pass before `start`: the way's latency, where the carrier does not
     * count it itself. */
    double (*latency_s)(void *self, int32_t src, int32_t dst);
    bool (*start)(void *self, double t_s, int32_t src, int32_t dst, double bytes, int32_t who,
                  GError **error);
    /* Goes on until until_s, or until something is there, which *carried tells. */
    bool (*run)(void *self, double until_s, RhKvTransfer *carried, GError **error);
    bool shared; /* others than the service are on its links, at any time */
    void *self;
} RhKvTransport;

/* Links that nobody else is on; borrows the platform. */
RhKvTransport rh_kv_transport_own(const RhPlatform *platform);
void rh_kv_transport_clear(RhKvTransport *own);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RhKvTransport, rh_kv_transport_clear)

#pragma once
/* A router: which replica of a pool a request goes to. A row each. */
#include "strategies/serve/replica/replica.h"

typedef struct {
    const char *name, *about;
    /* Chooses one of `count` replicas for a request; `turn` is the number of requests so far. */
    int32_t (*choose)(RhReplica *const *replicas, int32_t count, int64_t turn, int32_t request);
} RhRouter;

extern const RhRouter *const rh_routers[]; /* NULL-ended; the first is the default */
const RhRouter *rh_router_by_name(const char *name);
const char *const *rh_router_names(void); /* NULL-ended */

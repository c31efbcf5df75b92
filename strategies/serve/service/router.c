#include "strategies/serve/service/router.h"

#include <string.h>

static int32_t least(RhReplica *const *replicas, int32_t count, int64_t turn, int32_t request)
{
    int32_t best = 0;
    (void)turn, (void)request;
    for (int32_t i = 1; i < count; i++)
        if (rh_replica_outstanding(replicas[i]) < rh_replica_outstanding(replicas[best]))
            best = i;
    return best;
}

static int32_t in_turn(RhReplica *const *replicas, int32_t count, int64_t turn, int32_t request)
{
    (void)replicas, (void)request;
    return (int32_t)(turn % count);
}

static int32_t most_room(RhReplica *const *replicas, int32_t count, int64_t turn, int32_t request)
{
    int32_t best = 0;
    (void)turn, (void)request;
    for (int32_t i = 1; i < count; i++)
        if (rh_replica_promised_blocks(replicas[i]) < rh_replica_promised_blocks(replicas[best]))
            best = i;
    return best;
}

/* Fewest blocks: those that would have to be read there, and those that its requests hold or wait
 * for; NVIDIA Dynamo's KV router sums up the same with its default weight of 1
 * (docs.nvidia.com/dynamo, "KV cache routing"). */
static int32_t least_to_read(RhReplica *const *replicas, int32_t count, int64_t turn,
                             int32_t request)
{
    int32_t best = 0;
    int64_t least_cost = INT64_MAX;
    (void)turn;
    for (int32_t i = 0; i < count; i++) {
        int32_t found = rh_replica_found_tokens(replicas[i], request);
        int64_t cost =
            rh_replica_promised_blocks(replicas[i]) - rh_replica_blocks_of(replicas[i], found);
        if (cost < least_cost) {
            best = i;
            least_cost = cost;
        }
    }
    return best;
}

/* Better of two replicas chosen by a hash of the turn: the one with less work (Mitzenmacher 2001).
 * The hash is this router's own, because another one would choose other replicas. */
static int32_t better_of_two(RhReplica *const *replicas, int32_t count, int64_t turn,
                             int32_t request)
{
    (void)request;
    uint64_t hash = ((uint64_t)turn + 1) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 29;
    hash *= UINT64_C(0xBF58476D1CE4E5B9);
    int32_t a = (int32_t)((hash >> 32) % (uint64_t)count);
    int32_t b = (int32_t)((hash & UINT32_MAX) % (uint64_t)count);
    return rh_replica_outstanding(replicas[b]) < rh_replica_outstanding(replicas[a]) ? b : a;
}

static const RhRouter rows[] = {
    {"least", "the replica with the fewest requests", least},
    {"round-robin", "each in its turn", in_turn},
    {"kv", "the replica whose requests hold, or wait for, the least of its cache", most_room},
    {"two-choices", "the less busy of two", better_of_two},
    {"prefix", "as kv, and what a cache has of the prompt counts for its replica", least_to_read},
};

const RhRouter *const rh_routers[] = {&rows[0], &rows[1], &rows[2], &rows[3], &rows[4], NULL};

const RhRouter *rh_router_by_name(const char *name)
{
    for (int i = 0; rh_routers[i]; i++)
        if (strcmp(rh_routers[i]->name, name) == 0)
            return rh_routers[i];
    return NULL;
}

const char *const *rh_router_names(void)
{
    static const char *names[G_N_ELEMENTS(rh_routers)];
    for (int i = 0; rh_routers[i]; i++)
        names[i] = rh_routers[i]->name;
    return names;
}

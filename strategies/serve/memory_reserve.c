#include "strategies/serve/memory_reserve.h"

#include <math.h>

#include "base/units.h"

/* --- reading --- */

/* Reads a row, as "35GiB": {"chunk": 2048, "few": 24, "many": 80}. */
static void read_size(RhJson *doc, const RhJsonNode *sizes, const RhJsonNode *node,
                      RhServerSizes *out)
{
    const char *key = rh_json_key(node);
    double below = 0, before = out->count > 0 ? out->list[out->count - 1].below_bytes : 0;
    const RhJsonNode *size = rh_json_object(doc, sizes, key);
    if (!size)
        return;
    if (!rh_quantity_parse(key, RH_QUANTITY_BYTES, &below, NULL) || below <= before ||
        out->count == RH_SERVER_SIZES_MAX) {
        rh_json_problem(doc, node, NULL, "at most %d sizes of memory, each larger than the last",
                        RH_SERVER_SIZES_MAX);
        return;
    }
    int32_t i = out->count++;
    out->list[i].below_bytes = below;
    out->list[i].chunk = (int32_t)rh_json_int(doc, size, "chunk", 1, 1 << 24);
    out->list[i].few = (int32_t)rh_json_int(doc, size, "few", 1, 1 << 20);
    out->list[i].many = (int32_t)rh_json_int(doc, size, "many", 1, 1 << 20);
}

void rh_memory_reserve_read(RhJson *doc, const RhJsonNode *root, RhMemoryReserve *left)
{
    const RhJsonNode *node = rh_json_object_or_null(doc, root, "memory_left");
    if (!node)
        return;
    rh_json_string(doc, node, "source");
    const struct {
        const char *key;
        double *into;
    } parts[] = {{"base", &left->base_bytes},         {"token", &left->token_bytes},
                 {"sequence", &left->sequence_bytes}, {"rank", &left->rank_bytes},
                 {"group", &left->group_bytes},       {"least", &left->least_bytes}};
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
        *parts[i].into = rh_json_quantity(doc, node, parts[i].key, RH_QUANTITY_BYTES);
    const RhJsonNode *sizes = rh_json_object(doc, node, "below");
    left->sizes.count = 0;
    for (const RhJsonNode *n = sizes ? rh_json_first(sizes) : NULL; n; n = rh_json_next(n))
        read_size(doc, sizes, n, &left->sizes);
}

/* --- use --- */

#define RANKS_MANY     4
#define TOKENS_LEAST   2048
#define SEQUENCES_WIDE 300  /* graphs of more take half as much again per group */
#define LEAST_FROM_GIB 60.0 /* for smaller devices the server's own reserve counts */

/* Index of the first size above the memory; the last one for larger memories. -1: no sizes. */
static int32_t size_of(const RhServerSizes *sizes, double capacity_bytes)
{
    int32_t i = 0;
    while (i + 1 < sizes->count && capacity_bytes >= sizes->list[i].below_bytes)
        i++;
    return sizes->count > 0 ? i : -1;
}

int32_t rh_memory_reserve_chunk(const RhMemoryReserve *left, double capacity_bytes)
{
    int32_t i = size_of(&left->sizes, capacity_bytes);
    return i < 0 ? 0 : left->sizes.list[i].chunk;
}

double rh_memory_reserve_bytes(const RhMemoryReserve *left, const RhPool *pool,
                               double capacity_bytes)
{
    int32_t i = size_of(&left->sizes, capacity_bytes), ranks = rh_pool_gpus(pool);
    if (i < 0)
        return 0;
    double sequences = pool->captured > 0   ? pool->captured
                       : ranks < RANKS_MANY ? left->sizes.list[i].few
                                            : left->sizes.list[i].many;
    double groups =
        pool->dp > 1 ? sequences * pool->dp * (sequences > SEQUENCES_WIDE ? 1.5 : 1) : 0;
    double bytes = left->base_bytes +
                   left->token_bytes * MAX(pool->chunk / rh_pool_batches(pool), TOKENS_LEAST) +
                   left->sequence_bytes * sequences + left->rank_bytes * ranks +
                   left->group_bytes * groups;
    return capacity_bytes > LEAST_FROM_GIB * RH_GIB_BYTES ? fmax(bytes, left->least_bytes) : bytes;
}

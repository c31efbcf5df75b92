#include "strategies/run/spot/node_pool.h"

#include <math.h>

typedef struct {
    int32_t id;
    bool used;
} PoolNode;

RhNodePool *rh_node_pool_new(const RhSpotEvent *events, int32_t count)
{
    RhNodePool *pool = g_new0(RhNodePool, 1);
    pool->events = events;
    pool->count = count;
    pool->nodes = g_array_new(FALSE, FALSE, sizeof(PoolNode));
    return pool;
}

void rh_node_pool_free(RhNodePool *pool)
{
    if (!pool)
        return;
    g_array_unref(pool->nodes);
    g_free(pool);
}

double rh_node_pool_next_s(const RhNodePool *pool)
{
    return pool->next < pool->count ? pool->events[pool->next].t_s : HUGE_VAL;
}

static void count_until(RhNodePool *pool, double t_s)
{
    pool->node_s += (t_s - pool->t_s) * pool->nodes->len;
    if (pool->nodes->len > 0 && t_s > pool->t_s)
        pool->paid +=
            pool->nodes->len * rh_spot_price_sum(pool->prices, pool->prices_count, pool->t_s, t_s);
    pool->t_s = t_s;
}

/* Returns whether it was used. */
static bool take_away(RhNodePool *pool, int32_t id)
{
    for (guint i = 0; i < pool->nodes->len; i++) {
        PoolNode node = g_array_index(pool->nodes, PoolNode, i);
        if (node.id != id)
            continue;
        g_array_remove_index(pool->nodes, i);
        return node.used;
    }
    return false;
}

int32_t rh_node_pool_advance(RhNodePool *pool, double t_s)
{
    int32_t lost = 0;
    for (; rh_node_pool_next_s(pool) <= t_s; pool->next++) {
        const RhSpotEvent *e = &pool->events[pool->next];
        PoolNode node = {.id = e->node};
        count_until(pool, e->t_s);
        if (e->joins)
            g_array_append_val(pool->nodes, node);
        else
            lost += take_away(pool, e->node);
    }
    count_until(pool, t_s);
    return lost;
}

int32_t rh_node_pool_use(RhNodePool *pool, int32_t wanted)
{
    int32_t used = MIN(wanted, (int32_t)pool->nodes->len);
    for (int32_t i = 0; i < (int32_t)pool->nodes->len; i++)
        g_array_index(pool->nodes, PoolNode, i).used = i < used;
    return used;
}

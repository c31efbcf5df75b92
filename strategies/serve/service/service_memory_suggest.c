/* Finds what would make room for a cache, by trying it: changes of a deployment in the order of what
 * they cost its users. Only what helps is named. */
#include <math.h>

#include "base/error.h"
#include "strategies/serve/service/service_private.h"
#include "workloads/precision_recipe.h"

#define MEMORY_MOST  95 /* %; more leaves no room for what is not foreseen */
#define BATCH_LEAST  8
#define CHUNK_LEAST  512
#define ALTERNATIVES 4 /* are named at most */

/* A room that is looked for. */
typedef struct {
    const RhServing *serving;
    const RhPool *pool; /* as asked */
    GString *found;
    int32_t found_count;
} Room;

/* Returns the tokens of a group's cache; 0: there is no room, or no such pool. */
static int64_t tokens_of(const RhServing *s, const RhPool *pool)
{
    RhPool settled = rh_service_settled(pool, s->server, s->platform->device);
    g_autoptr(RhIterations) it = rh_iterations_new(s, &settled, NULL);
    RhKvBudget budget = it ? rh_kv_budget_of(s, &settled, it) : (RhKvBudget){0};
    return budget.tokens / settled.dp;
}

static bool helps(const RhServing *s, const RhPool *pool)
{
    int64_t tokens = tokens_of(s, pool);
    return tokens > 0 && (!s->server->holds_longest || tokens >= pool->max_model_len);
}

static void add(Room *r, const char *format, int64_t value)
{
    if (r->found_count++ >= ALTERNATIVES)
        return;
    g_autofree char *number = g_strdup_printf("%" G_GINT64_FORMAT, value);
    g_string_append_printf(r->found, "%s%s%s", r->found->len > 0 ? ", or " : "", format, number);
}

/* A larger fraction of the memory: the least that is enough. */
static void try_memory(Room *r)
{
    const RhServing *s = r->serving;
    RhPool settled = rh_service_settled(r->pool, s->server, s->platform->device);
    double capacity_bytes = s->platform->device->hbm_bytes.value;
    int32_t now =
        (int32_t)floor(100 * rh_service_memory_frac(s->server, &settled, capacity_bytes) + 1e-6);
    RhPool tried = *r->pool;
    tried.memory = MEMORY_MOST;
    if (now >= MEMORY_MOST || !helps(s, &tried))
        return;
    for (tried.memory = now + 1; tried.memory < MEMORY_MOST && !helps(s, &tried);)
        tried.memory++;
    add(r, "memory=", tried.memory);
}

static void try_cache(Room *r)
{
    RhPool tried = *r->pool;
    tried.cache = RH_CACHE_FP8;
    bool narrow = r->pool->cache == RH_CACHE_FP8 ||
                  (r->pool->cache == RH_CACHE_AUTO && r->serving->server->cache == RH_CACHE_FP8);
    if (narrow || !helps(r->serving, &tried))
        return;
    g_string_append_printf(r->found, "%skv=fp8", r->found->len > 0 ? ", or " : "");
    r->found_count++;
}

/* Shorter requests: what the cache holds as it is. */
static void try_length(Room *r)
{
    int64_t tokens = r->pool->max_model_len > 0 ? tokens_of(r->serving, r->pool) : 0;
    if (tokens > 0)
        add(r, "max_model_len=", tokens);
}

/* A limit that is halved until it helps. */
static void try_halves(Room *r, const char *word, int32_t now, int32_t least, int32_t *limit,
                       const RhPool *tried)
{
    for (*limit = now / 2; *limit >= least; *limit /= 2)
        if (helps(r->serving, tried)) {
            add(r, word, *limit);
            return;
        }
}

static void try_limits(Room *r)
{
    const RhServing *s = r->serving;
    RhPool settled = rh_service_settled(r->pool, s->server, s->platform->device);
    RhPool tried = *r->pool;
    try_halves(r, "batch=", settled.batch / rh_server_batches(s->server, &settled), BATCH_LEAST,
               &tried.batch, &tried);
    tried = *r->pool;
    try_halves(r, "chunk=", settled.chunk / rh_pool_batches(&settled), CHUNK_LEAST, &tried.chunk,
               &tried);
    if (s->server->left.sizes.count > 0 && r->pool->memory == 0) {
        tried = *r->pool;
        try_halves(r, "captured=", 512, BATCH_LEAST, &tried.captured, &tried);
    }
}

static void try_gpus(Room *r)
{
    RhPool tried = *r->pool;
    int32_t there = rh_platform_gpus(r->serving->platform);
    for (tried.tp *= 2; rh_pool_gpus(&tried) * tried.replicas <= there; tried.tp *= 2)
        if (helps(r->serving, &tried)) {
            add(r, "tp", tried.tp);
            return;
        }
    tried = *r->pool;
    for (tried.pp *= 2; rh_pool_gpus(&tried) * tried.replicas <= there; tried.pp *= 2)
        if (helps(r->serving, &tried)) {
            g_autofree char *both = g_strdup_printf("tp%d,pp", tried.tp);
            add(r, both, tried.pp);
            return;
        }
}

/* Narrower weights than they are. */
static void try_weights(Room *r)
{
    static const char *const recipes[] = {"fp8", "int4-weights"};
    RhServing narrower = *r->serving;
    for (size_t i = 0; i < G_N_ELEMENTS(recipes); i++) {
        narrower.recipe = rh_recipe_by_name(recipes[i]);
        if (narrower.recipe->operand_bytes < r->serving->recipe->operand_bytes ||
            narrower.recipe->weight_alone_bytes > 0)
            if (helps(&narrower, r->pool)) {
                g_string_append_printf(r->found, "%sweights in %s",
                                       r->found->len > 0 ? ", or " : "", recipes[i]);
                r->found_count++;
                return;
            }
    }
}

/* What makes room on a pool: "memory=94, or kv=fp8, or tp4 makes room". Caller frees. */
static char *room_help(const RhServing *s, const RhPool *pool)
{
    g_autoptr(GString) found = g_string_new(NULL);
    Room r = {s, pool, found, 0};
    bool tokens = rh_model_makes_tokens(s->model);
    try_memory(&r);
    if (tokens)
        try_cache(&r);
    try_length(&r);
    try_limits(&r);
    try_gpus(&r);
    if (r.found_count < ALTERNATIVES)
        try_weights(&r);
    if (found->len > 0)
        return g_strdup_printf("%s makes room", found->str);
    return g_strdup(
        "more GPUs than the platform has (-p NAME:NODES), or weights in a narrower format: "
        "memory=95, an fp8 cache, smaller limits and all of its GPUs do not make room");
}

void rh_service_room(const RhServing *s, const RhDeployment *d, GError **error)
{
    if (!error || !g_error_matches(*error, RH_ERROR, RH_ERROR_NO_ANSWER))
        return;
    for (int32_t p = 0; p < d->pools_count; p++)
        if (!helps(s, &d->pools[p])) {
            g_autofree char *help = room_help(s, &d->pools[p]);
            rh_error_help(error, "%s", help);
            return;
        }
}

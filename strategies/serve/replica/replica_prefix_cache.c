/* Prefixes that a replica's cache and the slower memory behind it keep. */
#include "strategies/serve/replica/replica_private.h"
#include "strategies/serve/scheduler.h"

static void begin_prefixes(RhReplica *r)
{
    int64_t units[RH_CACHE_TIER_LAST], all = 0;
    r->unit_tokens = rh_prompt_prefixes_unit_tokens(r->spec.prompts);
    r->unit_blocks = r->unit_tokens / r->spec.server->block_tokens;
    for (int i = 0; i < RH_CACHE_TIER_LAST; i++)
        all += units[i] = (int64_t)(r->spec.tier_tokens[i] / r->unit_tokens);
    if (all > 0)
        r->tiers = rh_cache_tiers_new(units);
    int32_t groups = MAX(rh_iterations_pool(r->spec.iterations)->dp, 1);
    r->prefixes = rh_prefix_cache_new(r->spec.prompts, groups, r->tiers);
}

void rh_replica_begin_memory(RhReplica *r)
{
    if (r->spec.prompts)
        begin_prefixes(r);
    else if (r->spec.finds_again && r->spec.server->scheduler->finds_again)
        r->freed = rh_free_queue_new();
}

void rh_replica_end_memory(RhReplica *r)
{
    g_clear_pointer(&r->prefixes, rh_prefix_cache_free);
    g_clear_pointer(&r->tiers, rh_cache_tiers_free);
    g_clear_pointer(&r->freed, rh_free_queue_free);
}

/* Units of a prompt that may be found in a cache: at least one token is always read, as the next
 * one follows from it. */
static int32_t findable(const RhReplica *r, int32_t request, int32_t prompt)
{
    return rh_prompt_prefixes_units(r->spec.prompts, request, prompt - 1);
}

static double load_s(const RhReplica *r, const int32_t loads[RH_CACHE_TIER_LAST])
{
    double s = 0;
    for (int i = 0; i < RH_CACHE_TIER_LAST; i++)
        s += loads[i] > 0 ? loads[i] * r->unit_tokens * r->spec.tier_s[i] : 0;
    return s;
}

static int32_t sum_blocks(const int32_t loads[RH_CACHE_TIER_LAST])
{
    int32_t sum = 0;
    for (int i = 0; i < RH_CACHE_TIER_LAST; i++)
        sum += loads[i];
    return sum;
}

/* Is loading quicker than an iteration that reads these tokens, after `units` that the cache
 * has? */
static bool is_worth(const RhReplica *r, guint units, const int32_t loads[RH_CACHE_TIER_LAST])
{
    RhChunk chunk = {(int32_t)units * r->unit_tokens, sum_blocks(loads) * r->unit_tokens};
    RhBatch batch = {.chunks = &chunk, .chunks_count = 1};
    return chunk.tokens > 0 && load_s(r, loads) < rh_iteration_s(r->spec.iterations, &batch);
}

/* Finds units after those that the cache has, while some tier has them: all, those before the first
 * on a drive, or none, as is quickest. */
static void find_loads(const RhReplica *r, int32_t request, int32_t most, guint units,
                       int32_t loads[RH_CACHE_TIER_LAST])
{
    int32_t host[RH_CACHE_TIER_LAST] = {0};
    bool drives = false;
    loads[RH_CACHE_TIER_HOST] = loads[RH_CACHE_TIER_NVME] = 0;
    for (int32_t i = (int32_t)units; r->tiers && i < most; i++) {
        RhCacheTier tier =
            rh_cache_tiers_find(r->tiers, rh_prefix_cache_name(r->prefixes, request, i));
        if (tier == RH_CACHE_TIER_LAST)
            break;
        drives |= tier == RH_CACHE_TIER_NVME;
        loads[tier]++;
        host[RH_CACHE_TIER_HOST] += !drives;
    }
    if (is_worth(r, units, loads))
        return;
    loads[RH_CACHE_TIER_NVME] = 0;
    loads[RH_CACHE_TIER_HOST] = is_worth(r, units, host) ? host[RH_CACHE_TIER_HOST] : 0;
}

int32_t rh_replica_found_tokens(const RhReplica *r, int32_t request)
{
    const RhRequestRecord *served = &g_array_index(r->spec.served, RhRequestRecord, request);
    if (!r->prefixes)
        return 0;
    g_autoptr(GPtrArray) units = g_ptr_array_new();
    int32_t idle, loads[RH_CACHE_TIER_LAST], most = findable(r, request, served->input_tokens);
    rh_prefix_cache_find(r->prefixes, request, most, units, &idle);
    find_loads(r, request, most, units->len, loads);
    return r->unit_tokens * ((int32_t)units->len + sum_blocks(loads));
}

/* Finds the whole blocks of a preempted sequence that nobody has taken since. */
static void look_for_rest(RhReplica *r, RhSequence *s)
{
    int32_t each = r->spec.server->block_tokens;
    if (s->was_out)
        s->read = each * MIN(rh_free_queue_blocks(r->freed, rh_replica_number(r, s)),
                             (s->prompt - 1) / each);
}

void rh_replica_look_up(RhReplica *r, RhSequence *s)
{
    if (r->freed && !s->fetched)
        look_for_rest(r, s);
    if (!r->prefixes || s->fetched || s->looked_up == rh_prefix_cache_version(r->prefixes) + 1)
        return;
    s->looked_up = rh_prefix_cache_version(r->prefixes) + 1;
    if (!s->units)
        s->units = g_ptr_array_new();
    int32_t most = findable(r, s->request, s->prompt);
    rh_prefix_cache_find(r->prefixes, s->request, most, s->units, &s->idle);
    find_loads(r, s->request, most, s->units->len, s->loads);
    s->read = r->unit_tokens * ((int32_t)s->units->len + sum_blocks(s->loads));
}

/* Holds the found blocks; those that nobody held are in use again, and loads begin. */
void rh_replica_hold_found(RhReplica *r, RhSequence *s)
{
    if (r->freed && s->was_out) {
        rh_free_queue_take(r->freed, rh_replica_number(r, s), rh_replica_blocks_of(r, s->read));
        r->counts.tokens_found += s->read;
    }
    if (!r->prefixes || s->fetched)
        return;
    s->shared = (int32_t)s->units->len;
    rh_prefix_cache_hold(r->prefixes, s->units, s->shared);
    r->counts.tokens_found += s->read;
    for (int32_t loads = sum_blocks(s->loads); loads > 0; loads--)
        rh_prefix_cache_add(r->prefixes, s->request, s->shared++, s->units);
    r->load_s += load_s(r, s->loads);
    for (int i = 0; i < RH_CACHE_TIER_LAST; i++)
        r->counts.tokens_loaded[i] += (int64_t)s->loads[i] * r->unit_tokens;
}

/* Registers blocks of a prompt. Where another sequence has read the same prefix meanwhile, its
 * blocks serve both. */
void rh_replica_remember(RhReplica *r, int32_t sequence, int32_t tokens)
{
    RhSequence *s = rh_replica_sequence(r, sequence);
    if (!r->prefixes || s->fetched)
        return;
    int32_t units = rh_prompt_prefixes_units(r->spec.prompts, s->request, tokens);
    for (; s->shared < units; s->shared++)
        if (rh_prefix_cache_add(r->prefixes, s->request, s->shared, s->units))
            r->used_blocks -= r->unit_blocks;
}

void rh_replica_let_go(RhReplica *r, int32_t sequence, int32_t blocks, int32_t tokens)
{
    int32_t whole = MIN(tokens / r->spec.server->block_tokens, blocks);
    if (!r->freed)
        return;
    rh_free_queue_put(r->freed, RH_FREED_NOBODY, blocks - whole);
    rh_free_queue_put(r->freed, sequence, whole);
}

int32_t rh_replica_blocks_of(const RhReplica *r, int32_t tokens)
{
    return (int32_t)rh_server_blocks_of(r->spec.server, tokens);
}

#include "strategies/serve/server_software.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "base/json/json.h"
#include "platforms/profile.h"
#include "strategies/serve/scheduler.h"

static void *load(const char *name, GError **error);
static RhDataCatalogue shelf = {
    .noun = "server", .folder = "strategies/serve/servers", .load = load};

static const RhServerFact facts[] = {
    {"step", RH_QUANTITY_S, offsetof(RhServer, step_s), 0, 1},
    {"rank_step", RH_QUANTITY_S, offsetof(RhServer, rank_step_s), 0, 1},
    {"sequence", RH_QUANTITY_S, offsetof(RhServer, sequence_s), 0, 0.1},
    {"prompt_rate", RH_QUANTITY_FRAC, offsetof(RhServer, prompt_frac), 0.1, 2},
    {"launch", RH_QUANTITY_S, offsetof(RhServer, launch_s), 0, 0.1},
    {"rank_launch", RH_QUANTITY_S, offsetof(RhServer, rank_launch_s), 0, 0.1},
    {"eager_launch", RH_QUANTITY_S, offsetof(RhServer, eager_launch_s), 0, 0.1},
    {"rank_eager_launch", RH_QUANTITY_S, offsetof(RhServer, rank_eager_launch_s), 0, 0.1},
    {"admit", RH_QUANTITY_S, offsetof(RhServer, admit_s), 0, 10},
    {"first", RH_QUANTITY_S, offsetof(RhServer, first_s), 0, 10},
    {"answer_room", RH_QUANTITY_FRAC, offsetof(RhServer, answer_frac), 0, 1},
    {"memory", RH_QUANTITY_FRAC, offsetof(RhServer, memory_frac), 0.01, 1},
    {"reserve", RH_QUANTITY_BYTES, offsetof(RhServer, reserve_bytes), 0, 1e12},
    {"rank_reserve", RH_QUANTITY_BYTES, offsetof(RhServer, rank_reserve_bytes), 0, 1e12},
    {"start", RH_QUANTITY_S, offsetof(RhServer, start_s), 0, 1e5},
    {"stream_host", RH_QUANTITY_FRAC, offsetof(RhServer, stream_host_frac), 0.01, 1},
    {"stream_nvme", RH_QUANTITY_FRAC, offsetof(RhServer, stream_nvme_frac), 0.01, 1},
    {"logits", RH_QUANTITY_BYTES, offsetof(RhServer, logit_bytes), 0, 1000},
};

static const struct {
    const char *key;
    size_t offset;
    int64_t low, high;
} counts[] = {
    {"block", offsetof(RhServer, block_tokens), 1, 1 << 20},
    {"batch", offsetof(RhServer, batch), 1, 1 << 20},
    {"chunk", offsetof(RhServer, chunk), 1, 1 << 24},
    {"stream", offsetof(RhServer, stream_tokens), 1, 1 << 20},
    {"receive", offsetof(RhServer, receive), 1, 1 << 20},
    {"shared_inside", offsetof(RhServer, shared_inside), 1, 1 << 20},
};

static const struct {
    const char *key;
    size_t offset;
} flags[] = {
    {"ahead", offsetof(RhServer, ahead)},
    {"gather", offsetof(RhServer, gather)},
    {"domain_sends", offsetof(RhServer, domain_sends)},
    {"fills_experts", offsetof(RhServer, fills_experts)},
    {"experts_apart", offsetof(RhServer, experts_apart)},
    {"logits_at_start", offsetof(RhServer, logits_at_start)},
    {"host_each", offsetof(RhServer, host_each)},
    {"batch_each_stage", offsetof(RhServer, batch_each_stage)},
    {"host_beside", offsetof(RhServer, host_beside)},
    {"prefix", offsetof(RhServer, prefix)},
    {"whole_prompts", offsetof(RhServer, whole_prompts)},
    {"stream_waits", offsetof(RhServer, stream_waits)},
    {"holds_longest", offsetof(RhServer, holds_longest)},
    {"keeps_windows", offsetof(RhServer, keeps_windows)},
};

static void read_facts(RhJson *doc, const RhJsonNode *root, RhServer *s)
{
    for (size_t i = 0; i < G_N_ELEMENTS(facts); i++)
        if (rh_json_has(root, facts[i].key)) {
            RhRange range = {.low = facts[i].low, .high = facts[i].high, .zero = true};
            *(RhFact *)(void *)((char *)s + facts[i].offset) =
                rh_json_fact_within(doc, root, facts[i].key, facts[i].kind, &range);
        }
}

/* Object of a sourced value: "block": {"value": 16, "source": "..."}. */
static const RhJsonNode *sourced(RhJson *doc, const RhJsonNode *root, const char *key)
{
    const RhJsonNode *node = rh_json_object_or_null(doc, root, key);
    if (node)
        rh_json_string(doc, node, "source");
    return node;
}

static void read_memory_of(RhJson *doc, const RhJsonNode *root, RhServer *s)
{
    static const char *const names[] = {"all", "free", "rest"};
    const RhJsonNode *of = sourced(doc, root, "memory_of");
    if (!of)
        return;
    const char *name = rh_json_string(doc, of, "value");
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(names[i], name) == 0) {
            s->memory_of = (RhMemoryOf)i;
            return;
        }
    rh_json_problem(doc, of, NULL, "all, free or rest, not \"%s\"", name);
}

/* Reads "reduce_norms_most": {"2": "32MiB", "8": "8MiB", "source": "..."}, by tensor ranks. */
static void read_norms_most(RhJson *doc, const RhJsonNode *root, RhServer *s)
{
    const RhJsonNode *most = sourced(doc, root, "reduce_norms_most");
    if (!most)
        return;
    s->norms_most_count = 0;
    for (const RhJsonNode *m = rh_json_first(most); m; m = rh_json_next(m)) {
        const char *ranks = rh_json_key(m);
        gint64 count = g_ascii_strtoll(ranks, NULL, 10);
        if (strcmp(ranks, "source") == 0)
            continue;
        if (count < 2 || count > 1 << 20 || s->norms_most_count == RH_SERVER_NORMS_MAX) {
            rh_json_problem(doc, m, NULL, "at most %d numbers of ranks, each of 2 or more",
                            RH_SERVER_NORMS_MAX);
            return;
        }
        s->norms_most[s->norms_most_count].ranks = (int32_t)count;
        s->norms_most[s->norms_most_count++].bytes =
            rh_json_quantity(doc, most, ranks, RH_QUANTITY_BYTES);
    }
}

static void read_choices(RhJson *doc, const RhJsonNode *root, RhServer *s)
{
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        const RhJsonNode *node = sourced(doc, root, counts[i].key);
        if (node)
            *(int32_t *)(void *)((char *)s + counts[i].offset) =
                (int32_t)rh_json_int(doc, node, "value", counts[i].low, counts[i].high);
    }
    const RhJsonNode *norms = sourced(doc, root, "reduce_norms");
    if (norms) {
        const char *where = rh_json_string(doc, norms, "value");
        s->reduce_norms_new = strcmp(where, "blackwell") == 0;
        s->reduce_norms = s->reduce_norms_new || strcmp(where, "always") == 0;
        if (!s->reduce_norms && strcmp(where, "never") != 0)
            rh_json_problem(doc, norms, NULL, "never, blackwell or always, not \"%s\"", where);
    }
    read_norms_most(doc, root, s);
    for (size_t i = 0; i < G_N_ELEMENTS(flags); i++) {
        const RhJsonNode *node = sourced(doc, root, flags[i].key);
        if (node)
            *(bool *)(void *)((char *)s + flags[i].offset) =
                rh_json_bool_or(doc, node, "value", false);
    }
    const RhJsonNode *cache = sourced(doc, root, "kv");
    if (cache) {
        const char *name = rh_json_string(doc, cache, "value");
        s->cache = strcmp(name, "fp8") == 0    ? RH_CACHE_FP8
                   : strcmp(name, "bf16") == 0 ? RH_CACHE_BF16
                                               : RH_CACHE_AUTO;
        if (s->cache == RH_CACHE_AUTO && strcmp(name, "auto") != 0)
            rh_json_problem(doc, cache, "auto, bf16 or fp8", "\"%s\" is not a cache format", name);
    }
    read_memory_of(doc, root, s);
    rh_memory_reserve_read(doc, root, &s->left);
    const RhJsonNode *scheduler = sourced(doc, root, "scheduler");
    if (scheduler) {
        const char *name = rh_json_string(doc, scheduler, "value");
        s->scheduler = rh_scheduler_by_name(name);
        if (!s->scheduler)
            rh_json_problem(doc, scheduler, NULL, "there is no scheduler \"%s\"", name);
    }
}

static const RhA2aBackend *backend(RhJson *doc, const RhJsonNode *node, const char *key)
{
    const char *name = rh_json_string(doc, node, key);
    GError *why = NULL;
    const RhA2aBackend *known = rh_a2a_backend_by_name(name, &why);
    if (!known)
        rh_json_problem_of(doc, node, key, why);
    return known;
}

static void read_exchanges(RhJson *doc, const RhJsonNode *root, RhServer *s)
{
    const RhJsonNode *node = sourced(doc, root, "exchanges");
    if (!node)
        return;
    s->exchange_few = backend(doc, node, "few");
    s->exchange_many = backend(doc, node, "many");
    s->few_tokens = (int32_t)rh_json_int(doc, node, "few_tokens", 1, 1 << 20);
}

static void read_profiles(RhJson *doc, const RhJsonNode *root, const char *key,
                          RhServerProfiles *profiles)
{
    const RhJsonNode *list = rh_json_object_or_null(doc, root, key);
    if (!list)
        return;
    profiles->count = 0;
    profiles->format = rh_json_string_or(doc, list, "format", NULL);
    rh_json_string_or(doc, list, "source", NULL);
    for (const RhJsonNode *member = rh_json_first(list); member; member = rh_json_next(member)) {
        const char *device = rh_intern(rh_json_key(member));
        if (strcmp(device, "source") == 0 || strcmp(device, "format") == 0)
            continue;
        if (profiles->count == RH_SERVER_PROFILES_MAX) {
            rh_json_problem(doc, member, NULL, "more than %d profiles", RH_SERVER_PROFILES_MAX);
            return;
        }
        profiles->list[profiles->count].device = device;
        profiles->list[profiles->count++].profile = rh_json_string(doc, list, device);
    }
}

static bool read_server(RhJson *doc, const char *name, RhServer *s, GError **error)
{
    const RhJsonNode *root = rh_json_root(doc);
    const char *base = rh_json_string_or(doc, root, "derives", NULL);
    GError *why = NULL;
    const RhServer *known = base ? rh_server_by_name(base, &why) : NULL;
    bool stands = known || !why; /* it is that of the server it derives from */
    if (known)
        *s = *known;
    else if (why)
        rh_json_problem_of(doc, root, "derives", why);
    s->name = rh_json_string(doc, root, "name");
    s->about = rh_json_string(doc, root, "about");
    s->derives = base;
    if (strcmp(s->name, name) != 0)
        rh_json_problem(doc, root, NULL, "\"%s\" stands in the file of %s", s->name, name);
    read_facts(doc, root, s);
    read_choices(doc, root, s);
    read_exchanges(doc, root, s);
    read_profiles(doc, root, "profiles", &s->profiles);
    read_profiles(doc, root, "experts_cut", &s->experts_cut);
    read_profiles(doc, root, "experts_spread", &s->experts_spread);
    read_profiles(doc, root, "experts_library", &s->experts_library);
    read_profiles(doc, root, "experts_library_groups", &s->experts_library_groups);
    if (stands && (!s->scheduler || s->batch < 1 || s->chunk < 1 || s->block_tokens < 1 ||
                   !s->memory_frac.source || !s->prompt_frac.source))
        rh_json_problem(doc, root, NULL,
                        "a server needs scheduler, batch, chunk, block, memory and prompt_rate, or "
                        "one to derive from");
    return rh_json_finish(doc, error);
}

RhServer *rh_server_load(const char *name, GError **error)
{
    g_autofree char *path = rh_data_shelf_path(&shelf, name);
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    g_autofree RhServer *server = g_new0(RhServer, 1);
    server->stream_tokens = server->receive = 1;
    return doc && read_server(doc, name, server, error) ? g_steal_pointer(&server) : NULL;
}

static void *load(const char *name, GError **error)
{
    return rh_server_load(name, error);
}

const RhServer *rh_server_by_name(const char *name, GError **error)
{
    return rh_data_shelf_get(&shelf, name, error);
}

const char *const *rh_server_names(void)
{
    return rh_data_shelf_names(&shelf);
}

const RhServerFact *rh_server_facts(size_t *count)
{
    *count = G_N_ELEMENTS(facts);
    return facts;
}

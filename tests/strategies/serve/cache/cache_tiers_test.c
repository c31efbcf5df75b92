/* Slower memory behind a cache: what it keeps, what it costs to have it back, and that nothing is lost. */
#include <math.h>
#include <string.h>

#include "strategies/serve/cache/cache_tiers.h"
#include "tests/kit/serve_kit.h"

#define BLOCK 16 /* tokens, of the trace and of the cache */

/* --- the tiers themselves --- */

static void the_oldest_go_on(void)
{
    g_autoptr(RhCacheTiers) t = rh_cache_tiers_new((int64_t[]){2, 1});
    for (uint64_t name = 1; name <= 4; name++)
        rh_cache_tiers_put(t, name);
    CU_ASSERT_EQUAL(rh_cache_tiers_find(t, 1), RH_CACHE_TIER_LAST); /* forgotten */
    CU_ASSERT_EQUAL(rh_cache_tiers_find(t, 2), RH_CACHE_TIER_NVME);
    CU_ASSERT_EQUAL(rh_cache_tiers_find(t, 3), RH_CACHE_TIER_HOST);
    CU_ASSERT_EQUAL(rh_cache_tiers_take(t, 3), RH_CACHE_TIER_HOST);
    CU_ASSERT_EQUAL(rh_cache_tiers_find(t, 3), RH_CACHE_TIER_LAST);
    CU_ASSERT_EQUAL(rh_cache_tiers_take(t, 3), RH_CACHE_TIER_LAST);
    rh_cache_tiers_put(t, 5);
    CU_ASSERT_EQUAL(rh_cache_tiers_find(t, 4), RH_CACHE_TIER_HOST); /* there was room */
    CU_ASSERT_EQUAL(rh_cache_tiers_find(t, 2), RH_CACHE_TIER_NVME);
    CU_ASSERT_EQUAL(rh_cache_tiers_units(t, RH_CACHE_TIER_HOST), 2);
    CU_ASSERT_EQUAL(rh_cache_tiers_units(t, RH_CACHE_TIER_NVME), 1);
}

/* Every unit is in one place or in none, and none is over_budget than it can be. */
static void nothing_is_twice(void)
{
    enum { NAMES = 60 };
    int64_t rooms[][RH_CACHE_TIER_LAST] = {{7, 11}, {0, 5}, {9, 0}, {0, 0}};
    GRand *dice = g_rand_new_with_seed(11);
    for (size_t k = 0; k < G_N_ELEMENTS(rooms); k++) {
        g_autoptr(RhCacheTiers) t = rh_cache_tiers_new(rooms[k]);
        for (int i = 0; i < 3000; i++) {
            uint64_t name = (uint64_t)g_rand_int_range(dice, 0, NAMES);
            bool there = rh_cache_tiers_find(t, name) < RH_CACHE_TIER_LAST;
            CU_ASSERT_EQUAL(rh_cache_tiers_take(t, name) < RH_CACHE_TIER_LAST, there);
            if (!there)
                rh_cache_tiers_put(t, name);
            int64_t counts[RH_CACHE_TIER_LAST + 1] = {0};
            for (uint64_t n = 0; n < NAMES; n++)
                counts[rh_cache_tiers_find(t, n)]++;
            for (int tier = 0; tier < RH_CACHE_TIER_LAST; tier++) {
                CU_ASSERT_EQUAL(counts[tier], rh_cache_tiers_units(t, (RhCacheTier)tier));
                CU_ASSERT_TRUE(counts[tier] <= rooms[k][tier]);
            }
        }
    }
    g_rand_free(dice);
}

/* --- one reload --- */

#define LONG 256 /* blocks */

/* A long prompt, another that puts it out, and the first again; far apart. */
static RhRequests *again(void)
{
    RhRequests *requests = rh_requests_new("test");
    requests->block_tokens = BLOCK;
    for (int32_t i = 0; i < 3; i++) {
        RhRequest q = {.t_s = 1000.0 * i,
                       .input_tokens = LONG * BLOCK + BLOCK,
                       .output_tokens = 4,
                       .session = -1,
                       .blocks_first = (int32_t)requests->blocks->len,
                       .blocks_count = LONG};
        for (uint64_t k = 0; k < LONG; k++) {
            uint64_t hash = k + (i == 1 ? 10000 : 1);
            g_array_append_val(requests->blocks, hash);
        }
        g_array_append_val(requests->list, q);
    }
    return requests;
}

static double first_s(const Setting *s, const RhServiceResult *r, guint i)
{
    return at(r, i)->t_first_s - at(r, i)->t_admit_s - s->serving.server->first_s.value;
}

/* The iteration that reads the rest takes what it takes, or what its loads do; what is quicker read again is not
 * loaded. */
static void a_reload_takes_its_link(void)
{
    static const struct {
        const char *tier;
        double host, nvme; /* bytes/s */
        RhCacheTier from;
    } cases[] = {
        {"host=8", 60e9, 0, RH_CACHE_TIER_HOST},    {"host=8", 12e9, 0, RH_CACHE_TIER_HOST},
        {"host=8", 1e9, 0, RH_CACHE_TIER_LAST},     {"nvme=8", 60e9, 12e9, RH_CACHE_TIER_NVME},
        {"nvme=8", 13e9, 60e9, RH_CACHE_TIER_NVME}, {"nvme=8", 60e9, 1e9, RH_CACHE_TIER_LAST}};
    g_autoptr(RhRequests) requests = again();
    for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
        g_autofree char *text = g_strdup_printf("tp1,blocks=300,%s", cases[k].tier);
        Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", text);
        s.platform->host_bytes_per_s.value = cases[k].host;
        s.platform->nvme_bytes_per_s.value = cases[k].nvme;
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
        RhIterations *it = rh_service_iterations(service, 0);
        double rate = cases[k].nvme > 0 ? fmin(cases[k].host, cases[k].nvme) : cases[k].host;
        bool loaded = cases[k].from < RH_CACHE_TIER_LAST;
        int32_t kept = (int32_t)(r->tokens_found - (loaded ? r->tokens_loaded[cases[k].from] : 0));
        CU_ASSERT_TRUE(kept < LONG * BLOCK / 4); /* the beginning was not put out */
        double load_s = (LONG * BLOCK - kept) * rh_iterations_token_bytes(it) / rate;
        int32_t found = loaded ? LONG * BLOCK : kept;
        RhChunk rest = {found, LONG * BLOCK + BLOCK - found};
        RhBatch batch = {.chunks = &rest, .chunks_count = 1, .ended = 1};
        double own_s = rh_iteration_s(it, &batch);
        CU_ASSERT_EQUAL(at(r, 2)->found_tokens, found);
        CU_ASSERT_DOUBLE_EQUAL(first_s(&s, r, 2), loaded ? fmax(own_s, load_s) : own_s, 1e-9);
        for (int t = 0; t < RH_CACHE_TIER_LAST; t++)
            CU_ASSERT_EQUAL(r->tokens_loaded[t], t == (int)cases[k].from ? LONG * BLOCK - kept : 0);
        CU_ASSERT_DOUBLE_EQUAL(r->load_s, loaded ? load_s : 0, 1e-12);
        close_setting(&s);
    }
}

/* --- crowds --- */

static RhRequests *talks(int32_t count)
{
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_POISSON,
                           .rate_per_s = 4,
                           .count = count,
                           .input = {100, 700},
                           .output = {20, 90},
                           .turns = 5,
                           .seed = 3};
    return rh_requests_draw(&plan);
}

/* A small cache with large enough memory behind it finds all that a large cache would have
 * found. */
static void large_memory_forgets_nothing(void)
{
    g_autoptr(RhRequests) requests = talks(150);
    RhClient client = {.turnaround_s = 20};
    int64_t found[2];
    for (int i = 0; i < 2; i++) {
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", i ? "tp1,blocks=400,host=400" : "tp1");
        s.platform->host_bytes_per_s.value = 1e15; /* nothing is read rather than loaded */
        g_autoptr(RhServiceResult) r = serve(&s, requests, &client);
        found[i] = r->tokens_found;
        CU_ASSERT_EQUAL(r->tokens_loaded[RH_CACHE_TIER_HOST] > 0, i == 1);
        close_setting(&s);
    }
    CU_ASSERT_TRUE(found[1] >= found[0]); /* more, where one was put out and came back */
}

/* Tokens in are tokens read and tokens found, blocks are never more than there are, runs are iterations. */
static void tokens_are_counted(void)
{
    static const char *const servers[] = {"vllm", "sglang", "trtllm"};
    static const char *const tiers[] = {"host=1", "nvme=1", "host=1,nvme=2"};
    for (size_t i = 0; i < G_N_ELEMENTS(servers) * G_N_ELEMENTS(tiers); i++) {
        g_autofree char *text =
            g_strdup_printf("server=%s,tp1,replicas=2,batch=32,blocks=%d,%s", servers[i / 3],
                            i / 3 == 1 ? 8000 : 500, tiers[i % 3]);
        Setting s = setting_of("llama-3.1-8b", "aws-p5:1", text);
        g_autoptr(RhRequests) requests = talks(160);
        RhClient client = {.turnaround_s = 5}, single = {.turnaround_s = 5, .each_iteration = true};
        g_autoptr(RhServiceResult) r = serve(&s, requests, &client);
        g_autoptr(RhServiceResult) each = serve(&s, requests, &single);
        int64_t in = 0, out = 0, again_count = 0, loaded = 0;
        for (guint k = 0; k < r->served->len; k++) {
            CU_ASSERT_EQUAL(at(r, k)->outcome, RH_SERVED_DONE);
            CU_ASSERT_DOUBLE_EQUAL(at(r, k)->t_end_s, at(each, k)->t_end_s, 1e-7);
            in += at(r, k)->input_tokens;
            out += at(r, k)->output_tokens;
            again_count += at(r, k)->preempted_count;
        }
        for (int t = 0; t < RH_CACHE_TIER_LAST; t++)
            loaded += r->tokens_loaded[t];
        CU_ASSERT_TRUE(loaded > 0 && loaded <= r->tokens_found);
        CU_ASSERT_EQUAL(r->tokens_out, out);
        CU_ASSERT_TRUE(r->kv_peak_frac <= 1);
        CU_ASSERT_TRUE(again_count > 0 ? r->tokens_in + r->tokens_found > in
                                       : r->tokens_in + r->tokens_found == in);
        close_setting(&s);
    }
}

static void what_is_not_there_is_refused(void)
{
    static const char *const texts[] = {"tp1,host=100000", "tp1,prefix=off,host=8", "tp1,nvme=8",
                                        "tp1,replicas=8,host=512"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", texts[i]);
        s.platform->nvme_bytes_per_s.value = 0;
        s.platform->host_bytes.value = 2e12;
        CU_ASSERT_PTR_NULL(rh_service_new(&s.serving, &s.deployment, &error));
        CU_ASSERT_PTR_NOT_NULL(error);
        close_setting(&s);
    }
}

int main(void)
{
    static const RhTest tests[] = {{"the oldest go on", the_oldest_go_on},
                                   {"nothing is twice", nothing_is_twice},
                                   {"a reload takes its link", a_reload_takes_its_link},
                                   {"large memory forgets nothing", large_memory_forgets_nothing},
                                   {"tokens are counted", tokens_are_counted},
                                   {"what is not there is refused", what_is_not_there_is_refused},
                                   {0}};
    return rh_test_main("cache_tiers", tests);
}

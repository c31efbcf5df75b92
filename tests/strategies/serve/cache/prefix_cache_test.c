/* Prefix caches of servers. */
#include <math.h>
#include <string.h>

#include "tests/kit/serve_kit.h"

#define BLOCK 16 /* tokens, of the trace and of the cache */

/* Requests a long time apart, so that each has ended when the next comes: `prompts` are strings, a letter a
 * block. */
static RhRequests *far_apart(const char *const *prompts, int32_t count, int32_t beyond)
{
    RhRequests *requests = rh_requests_new("test");
    requests->block_tokens = BLOCK;
    for (int32_t i = 0; i < count; i++) {
        int32_t blocks = (int32_t)strlen(prompts[i]);
        RhRequest q = {.t_s = 1000.0 * i,
                       .input_tokens = blocks * BLOCK + beyond,
                       .output_tokens = 4,
                       .session = -1,
                       .blocks_first = (int32_t)requests->blocks->len,
                       .blocks_count = blocks};
        for (int32_t k = 0; k < blocks; k++) {
            uint64_t hash = (uint64_t)prompts[i][k];
            g_array_append_val(requests->blocks, hash);
        }
        g_array_append_val(requests->list, q);
    }
    return requests;
}

/* Blocks read before are found, up to the first one that differs; a block after another beginning
 * is another block; one token is always read. */
static void beginnings_are_found(void)
{
    static const char *const prompts[] = {"abcd", "abcde", "abxd", "bcd", "abcd", "abx"};
    static const int32_t found[] = {0, 4, 2, 0, 3, 2}; /* blocks, where prompts are whole blocks */
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "tp1");
    g_autoptr(RhRequests) whole = far_apart(prompts, G_N_ELEMENTS(prompts), 0);
    g_autoptr(RhServiceResult) r = serve(&s, whole, &(RhClient){0});
    for (guint i = 0; i < G_N_ELEMENTS(found); i++)
        CU_ASSERT_EQUAL(at(r, i)->found_tokens, found[i] * BLOCK);
    CU_ASSERT_EQUAL(r->tokens_found, 11 * BLOCK);
    CU_ASSERT_EQUAL(r->tokens_in + r->tokens_found, 23 * BLOCK);
    g_autoptr(RhRequests) more = far_apart(prompts, G_N_ELEMENTS(prompts), 1);
    g_autoptr(RhServiceResult) longer = serve(&s, more, &(RhClient){0});
    CU_ASSERT_EQUAL(at(longer, 4)->found_tokens, 4 * BLOCK); /* all but the one beyond */
    CU_ASSERT_EQUAL(at(longer, 5)->found_tokens, 3 * BLOCK);
    close_setting(&s);
}

/* A prompt whose beginning is there takes as long as its rest behind so many cached tokens. */
static void what_is_found_is_not_read(void)
{
    char long_prompt[129];
    memset(long_prompt, 'a', 128);
    long_prompt[128] = 0;
    const char *prompts[] = {long_prompt, long_prompt};
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "tp1");
    g_autoptr(RhRequests) requests = far_apart(prompts, 2, BLOCK);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
    RhIterations *it = rh_service_iterations(service, 0);
    RhChunk chunks[] = {{0, 129 * BLOCK}, {128 * BLOCK, BLOCK}};
    for (guint i = 0; i < 2; i++) {
        RhBatch batch = {.chunks = &chunks[i], .chunks_count = 1, .ended = 1};
        double first_s = at(r, i)->t_first_s - at(r, i)->t_admit_s;
        CU_ASSERT_DOUBLE_EQUAL(first_s,
                               rh_iteration_s(it, &batch) + s.serving.server->first_s.value, 1e-9);
    }
    close_setting(&s);
}

/* Groups of attention have caches of their own, and get the requests in turn. */
static void a_group_finds_what_it_read_itself(void)
{
    static const char *const prompts[] = {"abcd", "abcd", "abce", "abcd", "abxd", "abcd"};
    static const int32_t found[] = {0, 0, 3, 3, 2, 3}; /* blocks; one token is always read */
    Setting s = setting_of("qwen3-30b-a3b", "h100-sxm:2x1", "tp1,dp2,ep2");
    g_autoptr(RhRequests) requests = far_apart(prompts, G_N_ELEMENTS(prompts), 0);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    for (guint i = 0; i < G_N_ELEMENTS(found); i++)
        CU_ASSERT_EQUAL(at(r, i)->found_tokens, found[i] * BLOCK);
    close_setting(&s);
}

/* --- A cache that is too small --- */

typedef struct {
    GString *prefix;
    int32_t used_at; /* request */
} Kept;

static gint goes_first(gconstpointer a, gconstpointer b)
{
    const Kept *x = *(const Kept *const *)a, *y = *(const Kept *const *)b;
    if (x->used_at != y->used_at)
        return x->used_at - y->used_at;
    return (gint)y->prefix->len - (gint)x->prefix->len;
}

static void free_kept(gpointer kept)
{
    g_string_free(((Kept *)kept)->prefix, TRUE);
    g_free(kept);
}

static Kept *kept_of(GPtrArray *all, const char *prompt, guint length)
{
    for (guint i = 0; i < all->len; i++) {
        Kept *k = all->pdata[i];
        if (k->prefix->len == length && memcmp(k->prefix->str, prompt, length) == 0)
            return k;
    }
    return NULL;
}

static void make_room(GPtrArray *all, guint most)
{
    g_ptr_array_sort(all, goes_first);
    while (all->len > most)
        g_ptr_array_remove_index(all, 0);
}

/* Returns the found blocks by counting, with room for so many. A block that is read is new, beside
 * an equal one that was not found; at last the two are one, and the answer has a block. */
static int32_t count_found(GPtrArray *all, const char *prompt, int32_t request, guint room)
{
    guint blocks = (guint)strlen(prompt), found = 0;
    while (found < blocks - 1 && kept_of(all, prompt, found + 1))
        kept_of(all, prompt, ++found)->used_at = request;
    make_room(all, room - (blocks - found));
    for (guint i = found + 1; i <= blocks; i++) {
        Kept *k = kept_of(all, prompt, i);
        if (!k) {
            k = g_new0(Kept, 1);
            k->prefix = g_string_new_len(prompt, i);
            g_ptr_array_add(all, k);
        }
        k->used_at = request;
    }
    make_room(all, room - 1);
    return (int32_t)found;
}

/* The least lately used goes first, the end of a prompt before its beginning. */
static void the_oldest_goes(void)
{
    enum { COUNT = 300 };
    char text[COUNT][8];
    const char *prompts[COUNT];
    GRand *dice = g_rand_new_with_seed(5);
    for (int i = 0; i < COUNT; i++) {
        int length = g_rand_int_range(dice, 1, 7);
        for (int k = 0; k < length; k++)
            text[i][k] = (char)g_rand_int_range(dice, 'a', 'c' + 1);
        text[i][length] = 0;
        prompts[i] = text[i];
    }
    g_rand_free(dice);
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "tp1");
    g_autoptr(RhRequests) requests = far_apart(prompts, COUNT, 0);
    for (int32_t room = 10; room <= 40; room += 10) {
        s.deployment.pools[0].blocks = room;
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(free_kept);
        int64_t found = 0;
        for (guint i = 0; i < COUNT; i++) {
            int32_t blocks = count_found(all, prompts[i], (int32_t)i, (guint)room);
            CU_ASSERT_EQUAL(at(r, i)->found_tokens, blocks * BLOCK);
            found += blocks;
        }
        CU_ASSERT_TRUE(found > COUNT / 4);
        CU_ASSERT_EQUAL(r->tokens_found, found * BLOCK);
    }
    close_setting(&s);
}

/* --- Sessions --- */

static RhRequests *talks(int32_t count, int32_t turns)
{
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_POISSON,
                           .rate_per_s = 4,
                           .count = count,
                           .input = {100, 700},
                           .output = {20, 90},
                           .turns = turns,
                           .seed = 3};
    return rh_requests_draw(&plan);
}

/* A turn comes when the one before it is answered, and finds all whole blocks of what was said but for the
 * last token, of which nothing is in the cache. In the open loop and the closed one. */
static void turns_go_on(void)
{
    static const RhClient clients[] = {{.turnaround_s = 0.5}, {.at_once = 3, .turnaround_s = 0.25}};
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "tp1");
    g_autoptr(RhRequests) requests = talks(120, 5);
    for (size_t c = 0; c < G_N_ELEMENTS(clients); c++) {
        g_autoptr(RhServiceResult) r = serve(&s, requests, &clients[c]);
        for (guint i = 0; i < requests->list->len; i++) {
            const RhRequest *q = &g_array_index(requests->list, RhRequest, i);
            int32_t said = q->turn > 0 ? q[-1].input_tokens + q[-1].output_tokens - 1 : 0;
            CU_ASSERT_EQUAL(at(r, i)->outcome, RH_SERVED_DONE);
            CU_ASSERT_EQUAL(at(r, i)->found_tokens, said / BLOCK * BLOCK);
            if (q->turn > 0)
                CU_ASSERT_DOUBLE_EQUAL(at(r, i)->t_arrive_s,
                                       at(r, i - 1)->t_end_s + clients[c].turnaround_s, 1e-9);
        }
    }
    close_setting(&s);
}

/* Tokens are neither lost nor made twice, whatever is preempted, by every server, with caches that
 * remember or not; and runs are iterations. */
static void tokens_are_counted(void)
{
    static const char *const servers[] = {"vllm", "sglang", "trtllm"};
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(servers); i++) {
        g_autofree char *text =
            g_strdup_printf("server=%s,router=prefix,tp1,replicas=2,batch=32,blocks=%d,prefix=%s",
                            servers[i / 2], i / 2 == 1 ? 8000 : 500, i % 2 ? "on" : "off");
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", text);
        g_autoptr(RhRequests) requests = talks(160, 4);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        g_autoptr(RhServiceResult) each = serve(&s, requests, &(RhClient){.each_iteration = true});
        int64_t in = 0, out = 0, again = 0;
        for (guint k = 0; k < r->served->len; k++) {
            CU_ASSERT_EQUAL(at(r, k)->outcome, RH_SERVED_DONE);
            CU_ASSERT_DOUBLE_EQUAL(at(r, k)->t_end_s, at(each, k)->t_end_s, 1e-9);
            in += at(r, k)->input_tokens;
            out += at(r, k)->output_tokens;
            again += at(r, k)->preempted_count;
        }
        CU_ASSERT_EQUAL(r->tokens_out, out);
        CU_ASSERT_TRUE(r->kv_peak_frac <= 1);
        CU_ASSERT_TRUE(again > 0 ? r->tokens_in + r->tokens_found > in
                                 : r->tokens_in + r->tokens_found == in);
        CU_ASSERT_EQUAL(r->remembers, i % 2 == 1);
        CU_ASSERT_EQUAL(isnan(rh_found_frac(r)), i % 2 == 0);
        close_setting(&s);
    }
}

/* Requests that begin alike go to one replica while it is not busier than the others. */
static void routers_know_prompts(void)
{
    static const char *const prompts[] = {"aaaa",  "bbbb",  "cccc",  "dddd",
                                          "ddddx", "bbbbx", "ccccx", "aaaax"};
    Setting s = setting_of("llama-3.2-1b", "dgx-h100:1", "tp1,replicas=4,router=prefix");
    g_autoptr(RhRequests) requests = far_apart(prompts, G_N_ELEMENTS(prompts), 0);
    for (guint i = 0; i < requests->list->len; i++) /* fours at a time */
        g_array_index(requests->list, RhRequest, i).t_s = 100.0 * (i / 4) + 1e-6 * i;
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    for (guint i = 4; i < 8; i++)
        CU_ASSERT_EQUAL(at(r, i)->found_tokens, 4 * BLOCK);
    close_setting(&s);
}

/* The waiting request with most of its prompt in the cache goes first where that is the order. */
static void most_found_goes_first(void)
{
    static const char *const prompts[] = {"aaaaaaaa", "bbbbbbbb", "cccccccc", "aaaaaaaad"};
    for (int lpm = 0; lpm < 2; lpm++) {
        Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1",
                               lpm ? "tp1,batch=1,order=lpm" : "tp1,batch=1");
        g_autoptr(RhRequests) requests = far_apart(prompts, G_N_ELEMENTS(prompts), 0);
        for (guint i = 1; i < requests->list->len; i++)
            g_array_index(requests->list, RhRequest, i).t_s = 1e-4 * i;
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        CU_ASSERT_EQUAL(at(r, 3)->t_admit_s < at(r, 1)->t_admit_s, lpm);
        CU_ASSERT_TRUE(at(r, 1)->t_admit_s < at(r, 2)->t_admit_s);
        close_setting(&s);
    }
}

static const RhTest tests[] = {
    {"beginnings are found", beginnings_are_found},
    {"what is found is not read", what_is_found_is_not_read},
    {"a group finds what it read itself", a_group_finds_what_it_read_itself},
    {"the oldest goes", the_oldest_goes},
    {"turns go on", turns_go_on},
    {"tokens are counted", tokens_are_counted},
    {"routers know prompts", routers_know_prompts},
    {"most found goes first", most_found_goes_first},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("prefix_cache", tests);
}

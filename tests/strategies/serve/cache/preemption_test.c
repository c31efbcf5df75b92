/* A server whose cache is full: who is admitted, what is left of preempted sequences, when blocks
 * are free. */
#include "strategies/serve/cache/free_block_queue.h"
#include "tests/kit/serve_kit.h"

static RhRequests *those(const int32_t (*sizes)[2], int32_t count)
{
    RhRequests *requests = rh_requests_new("test");
    for (int32_t i = 0; i < count; i++) {
        RhRequest q = {.input_tokens = sizes[i][0], .output_tokens = sizes[i][1], .session = -1};
        g_array_append_val(requests->list, q);
    }
    return requests;
}

/* Blocks let go first are used first, of a sequence its last ones. */
static void the_oldest_are_used_first(void)
{
    g_autoptr(RhFreeQueue) f = rh_free_queue_new();
    rh_free_queue_put(f, RH_FREED_NOBODY, 5);
    rh_free_queue_put(f, 7, 10);
    rh_free_queue_put(f, RH_FREED_NOBODY, 3);
    rh_free_queue_put(f, RH_FREED_NOBODY, 2);
    rh_free_queue_put(f, 8, 0);
    rh_free_queue_shrink(f, 20);
    CU_ASSERT_EQUAL(rh_free_queue_blocks(f, 7), 10);
    rh_free_queue_shrink(f, 12);
    CU_ASSERT_EQUAL(rh_free_queue_blocks(f, 7), 7);
    rh_free_queue_take(f, 7, 4); /* 8 are left: 3 of what was its own, and 5 */
    CU_ASSERT_EQUAL(rh_free_queue_blocks(f, 7), 0);
    CU_ASSERT_EQUAL(rh_free_queue_blocks(f, 8), 0);
    rh_free_queue_put(f, 9, 1);
    rh_free_queue_shrink(f, 1);
    CU_ASSERT_EQUAL(rh_free_queue_blocks(f, 9), 1);
    rh_free_queue_shrink(f, -1);
    CU_ASSERT_EQUAL(rh_free_queue_blocks(f, 9), 0);
    rh_free_queue_take(f, 9, 1);
}

/* The queue stays short, however many blocks go through it. */
static void used_runs_are_forgotten(void)
{
    g_autoptr(RhFreeQueue) f = rh_free_queue_new();
    for (int32_t i = 0; i < 1000; i++) {
        rh_free_queue_put(f, i, 2);
        rh_free_queue_shrink(f, 3);
    }
    CU_ASSERT_EQUAL(rh_free_queue_blocks(f, 999), 2);
    CU_ASSERT_EQUAL(rh_free_queue_blocks(f, 998), 1);
    CU_ASSERT_EQUAL(rh_free_queue_blocks(f, 997), 0);
}

/* Two prompts of 32 blocks in a cache of 100, read at once: when both want a 51st block, the second is put out with 50
 * (800 tokens, 289 made). The first takes 7 of these until it ends (911 tokens are 57 blocks), and 43 are found
 * again. */
static void what_is_left_is_found_again(void)
{
    static const int32_t sizes[][2] = {{512, 400}, {512, 400}};
    for (int k = 0; k < 2; k++) {
        Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1",
                               k == 0 ? "server=vllm,tp1,blocks=100"
                                      : "server=vllm,tp1,blocks=100,prefix=off");
        g_autoptr(RhRequests) requests = those(sizes, 2);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        g_autoptr(RhServiceResult) each = serve(&s, requests, &(RhClient){.each_iteration = true});
        CU_ASSERT_EQUAL(at(r, 0)->preempted_count, 0);
        CU_ASSERT_EQUAL(at(r, 1)->preempted_count, 1);
        CU_ASSERT_EQUAL(r->tokens_found, k == 0 ? 43 * 16 : 0);
        CU_ASSERT_EQUAL(r->tokens_in + r->tokens_found, 2 * 512 + 512 + 289);
        CU_ASSERT_EQUAL(r->tokens_out, 800);
        CU_ASSERT_DOUBLE_EQUAL(at(r, 1)->t_end_s, at(each, 1)->t_end_s, 1e-9);
        close_setting(&s);
    }
}

/* The second prompt has 125 blocks, and 99 are free. */
static void prompts_come_in_whole(void)
{
    static const int32_t sizes[][2] = {{1600, 100}, {2000, 10}};
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "server=vllm,tp1,blocks=200,chunk=512");
    RhServer server = *s.serving.server;
    g_autoptr(RhRequests) requests = those(sizes, 2);
    for (int k = 0; k < 2; k++) {
        server.whole_prompts = k == 1;
        s.serving.server = &server;
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        CU_ASSERT_EQUAL(at(r, 1)->outcome, RH_SERVED_DONE);
        CU_ASSERT_EQUAL(at(r, 1)->t_admit_s > at(r, 0)->t_end_s - server.first_s.value - 1e-9,
                        k == 1);
    }
    close_setting(&s);
}

/* Four prompts of 1,000 tokens in a cache of 4,600: all come in, and some are put out, where room is asked for
 * prompts alone. SGLang asks for the newcomer's answer of 500 and 0.098 of what others have yet to make, too: the fourth
 * waits for an end, and nobody is put out. One alone comes in however little room there is. */
static void answers_have_room(void)
{
    static const int32_t sizes[][2] = {{1000, 500}, {1001, 500}, {1002, 500}, {1003, 500}};
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1",
                           "server=sglang,tp1,blocks=4600,prefix=off,chunk=1100");
    RhServer server = *s.serving.server;
    g_autoptr(RhRequests) requests = those(sizes, 4);
    for (int k = 0; k < 2; k++) {
        if (k == 1)
            server.answer_frac = (RhFact){0};
        s.serving.server = &server;
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        g_autoptr(RhServiceResult) each = serve(&s, requests, &(RhClient){.each_iteration = true});
        CU_ASSERT_EQUAL(rh_preempted_count(r) > 0, k == 1);
        CU_ASSERT_EQUAL(at(r, 3)->t_admit_s > at(r, 0)->t_end_s - server.first_s.value - 1e-9,
                        k == 0);
        CU_ASSERT_DOUBLE_EQUAL(at(r, 3)->t_end_s, at(each, 3)->t_end_s, 1e-9);
        CU_ASSERT_EQUAL(r->tokens_out, 2000);
    }
    close_setting(&s);
}

/* A batch of two: the third comes in when the first has ended; where that iteration was planned before, after one
 * more. */
static void places_are_free_when_the_plan_knows(void)
{
    static const int32_t sizes[][2] = {{64, 100}, {64, 400}, {64, 10}};
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "server=vllm,tp1,batch=2");
    RhServer server = *s.serving.server;
    g_autoptr(RhRequests) requests = those(sizes, 3);
    double later_s[2], step_s = 0;
    for (int k = 0; k < 2; k++) {
        server.ahead = k == 1;
        s.serving.server = &server;
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        g_autoptr(RhServiceResult) each = serve(&s, requests, &(RhClient){.each_iteration = true});
        later_s[k] = at(r, 2)->t_admit_s - (at(r, 0)->t_end_s - server.first_s.value);
        step_s = (at(r, 0)->t_end_s - at(r, 0)->t_first_s) / 99;
        CU_ASSERT_DOUBLE_EQUAL(at(each, 2)->t_admit_s, at(r, 2)->t_admit_s, 1e-9);
    }
    CU_ASSERT_DOUBLE_EQUAL(later_s[0], 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(later_s[1], step_s, 0.05 * step_s);
    close_setting(&s);
}

/* Blocks return after answers that ended, that were preempted and begun again, that shared
 * beginnings, and whose caches were handed over. */
static void all_blocks_return(void)
{
    static const char *const texts[] = {"server=vllm,tp1,batch=64,blocks=400",
                                        "server=sglang,tp1,batch=64,blocks=6400",
                                        "server=trtllm,tp1,batch=64,blocks=400",
                                        "server=orca,tp1,batch=64,blocks=400",
                                        "server=static,tp1,batch=8,blocks=400",
                                        "server=vllm,tp1,batch=64,blocks=400,prefix=off",
                                        "server=vllm,tp1,batch=64,blocks=400,host=4",
                                        "tp1,replicas=2,blocks=400/tp1,replicas=2,blocks=400",
                                        "server=vllm,tp1,batch=64,blocks=400,draft=3,accept=60"};
    int64_t put_out = 0, found = 0;
    for (int32_t turns = 0; turns < 6; turns += 3)
        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
            Setting s = setting_of("llama-3.2-1b", "h100-sxm:4x1", texts[i]);
            RhRequestsPlan plan = {.arrival = RH_ARRIVAL_POISSON,
                                   .rate_per_s = 200,
                                   .count = 300,
                                   .input = {20, 400},
                                   .output = {1, 300},
                                   .turns = turns,
                                   .seed = 4};
            g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
            g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
            int64_t in = 0, out = 0;
            for (guint k = 0; k < r->served->len; k++) {
                CU_ASSERT_EQUAL(at(r, k)->outcome, RH_SERVED_DONE);
                in += at(r, k)->input_tokens;
                out += at(r, k)->output_tokens;
                put_out += at(r, k)->preempted_count;
            }
            found += r->tokens_found;
            CU_ASSERT_EQUAL(r->blocks_left, 0);
            CU_ASSERT_EQUAL(r->tokens_out, out);
            CU_ASSERT_TRUE(r->tokens_in + r->tokens_found >= in); /* who was put out reads again */
            close_setting(&s);
        }
    CU_ASSERT_TRUE(put_out > 100 && found > 10000);
}

int main(void)
{
    static const RhTest tests[] = {
        {"the oldest are used first", the_oldest_are_used_first},
        {"used runs are forgotten", used_runs_are_forgotten},
        {"what is left is found again", what_is_left_is_found_again},
        {"prompts come in whole", prompts_come_in_whole},
        {"answers have room", answers_have_room},
        {"places are free when the plan knows", places_are_free_when_the_plan_knows},
        {"all blocks return", all_blocks_return},
        {0}};
    return rh_test_main("preemption", tests);
}

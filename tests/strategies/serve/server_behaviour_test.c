/* Iterations that are planned ahead, prompts that stay whole, kernels that are launched one by one, links that keep
 * their rate, norms that are made by sums. */
#include <math.h>

#include "strategies/serve/iteration/iteration_private.h"
#include "strategies/serve/scheduler.h"
#include "tests/kit/serve_kit.h"

static RhRequests *every(double gap_s, int32_t count)
{
    RhRequests *requests = rh_requests_new("test");
    for (int32_t i = 0; i < count; i++) {
        RhRequest q = {.t_s = i * gap_s, .input_tokens = 512, .output_tokens = 400, .session = -1};
        g_array_append_val(requests->list, q);
    }
    return requests;
}

static RhServiceResult *serve_with(Setting *s, const RhServer *server, const RhRequests *requests,
                                   const RhClient *client)
{
    s->serving.server = server;
    return serve(s, requests, client);
}

/* A request that comes during an iteration waits for its end, and for the next one's if that is
 * planned already; runs of iterations are cut as single ones are. */
static void newcomers_wait_for_one_more(void)
{
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "server=vllm,tp1");
    RhServer plain = *s.serving.server, ahead = plain;
    plain.ahead = false;
    ahead.ahead = true;
    g_autoptr(RhRequests) requests = every(0.3, 2);
    g_autoptr(RhServiceResult) a = serve_with(&s, &plain, requests, &(RhClient){0});
    g_autoptr(RhServiceResult) b = serve_with(&s, &ahead, requests, &(RhClient){0});
    g_autoptr(RhServiceResult) single =
        serve_with(&s, &ahead, requests, &(RhClient){.each_iteration = true});
    double step_s = (at(a, 0)->t_end_s - at(a, 0)->t_first_s) / 399;
    double later_s = at(b, 1)->t_admit_s - at(a, 1)->t_admit_s;
    CU_ASSERT_DOUBLE_EQUAL(later_s, step_s, 0.05 * step_s);
    CU_ASSERT_DOUBLE_EQUAL(at(single, 1)->t_admit_s, at(b, 1)->t_admit_s, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(at(single, 1)->t_end_s, at(b, 1)->t_end_s, 1e-9);
    close_setting(&s);
}

/* An idle server has no iteration planned and begins at once. */
static void an_idle_server_begins_at_once(void)
{
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "server=vllm,tp1");
    RhServer ahead = *s.serving.server;
    ahead.ahead = true;
    g_autoptr(RhRequests) requests = every(100, 2);
    g_autoptr(RhServiceResult) r = serve_with(&s, &ahead, requests, &(RhClient){0});
    for (guint i = 0; i < 2; i++)
        CU_ASSERT_DOUBLE_EQUAL(at(r, i)->t_admit_s, at(r, i)->t_arrive_s + ahead.admit_s.value,
                               1e-9);
    close_setting(&s);
}

static int64_t continued_before(const RhServiceResult *r, double t_s)
{
    int64_t iterations = 0;
    for (guint i = 0; i < r->works->len; i++) {
        const RhServiceWork *w = &g_array_index(r->works, RhServiceWork, i);
        iterations += w->prompts == 0 && w->t_end_s <= t_s + 1e-9 ? w->iterations : 0;
    }
    return iterations;
}

/* A server that looks for requests every 30 iterations finds one at a multiple of 30 after it last read a prompt, and
 * one that idles at once; runs are cut as single iterations are. */
static void some_servers_look_now_and_then(void)
{
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "server=sglang,tp1");
    RhServer often = *s.serving.server, seldom = often;
    seldom.receive = 30;
    for (double gap_s = 0.1; gap_s < 0.3; gap_s += 0.07) {
        g_autoptr(RhRequests) requests = every(gap_s, 2);
        g_autoptr(RhServiceResult) a =
            serve_with(&s, &often, requests, &(RhClient){.timeline = true});
        g_autoptr(RhServiceResult) b =
            serve_with(&s, &seldom, requests, &(RhClient){.timeline = true});
        g_autoptr(RhServiceResult) single =
            serve_with(&s, &seldom, requests, &(RhClient){.each_iteration = true});
        int64_t soon = continued_before(a, at(a, 1)->t_admit_s),
                late = continued_before(b, at(b, 1)->t_admit_s);
        CU_ASSERT_EQUAL(late % 30, 0);
        CU_ASSERT_TRUE(late >= soon && late < soon + 30);
        CU_ASSERT_DOUBLE_EQUAL(at(single, 1)->t_admit_s, at(b, 1)->t_admit_s, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(at(single, 1)->t_end_s, at(b, 1)->t_end_s, 1e-9);
    }
    g_autoptr(RhRequests) apart = every(100, 2);
    g_autoptr(RhServiceResult) idle = serve_with(&s, &seldom, apart, &(RhClient){0});
    CU_ASSERT_DOUBLE_EQUAL(at(idle, 1)->t_admit_s, at(idle, 1)->t_arrive_s + seldom.admit_s.value,
                           1e-9);
    close_setting(&s);
}

static int32_t most_read_at_once(const RhServiceResult *r)
{
    int32_t most = 0;
    for (guint i = 0; i < r->works->len; i++)
        most = MAX(most, g_array_index(r->works, RhServiceWork, i).prompt_tokens);
    return most;
}

/* The engine of before 0.8 reads whole prompts in iterations of their own, in which nobody else gets a token. */
static void old_engines_read_prompts_alone(void)
{
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "server=vllm-0.7,tp1,chunk=1000");
    g_autoptr(RhRequests) requests = every(0.05, 6);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){.timeline = true});
    int32_t prompts = 0;
    for (guint i = 0; i < r->works->len; i++) {
        const RhServiceWork *work = &g_array_index(r->works, RhServiceWork, i);
        CU_ASSERT_TRUE(work->prompts == 0 || work->continued == 0);
        CU_ASSERT_EQUAL(work->prompt_tokens, 512 * work->prompts);
        prompts += work->prompts;
    }
    CU_ASSERT_EQUAL(prompts, 6);
    close_setting(&s);
}

/* A budget of 1,000 tokens holds a prompt of 512 and part of another. */
static void prompts_stay_whole(void)
{
    static const char *const names[] = {"trtllm", "trtllm-whole"};
    static const int32_t read[] = {1000, 512};
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "server=trtllm,tp1,chunk=1000");
    RhServer server = *s.serving.server;
    g_autoptr(RhRequests) requests = every(0, 3);
    for (int k = 0; k < 2; k++) {
        server.scheduler = rh_scheduler_by_name(names[k]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(server.scheduler);
        g_autoptr(RhServiceResult) r =
            serve_with(&s, &server, requests, &(RhClient){.timeline = true});
        CU_ASSERT_EQUAL(most_read_at_once(r), read[k]);
        CU_ASSERT_EQUAL(at(r, 2)->outcome, RH_SERVED_DONE);
    }
    close_setting(&s);
}

/* Launching is a floor of iterations that read prompts, and where kernels are quicker than the host
 * that launches them. */
static void launching_is_a_floor(void)
{
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "server=vllm,tp1");
    RhServer server = *s.serving.server;
    server.step_s.value = server.sequence_s.value = 0;
    const RhPool *pool = &s.deployment.pools[0];
    double s_of[2][3];
    for (int k = 0; k < 2; k++) {
        server.launch_s.value = k * 1e-3;
        s.serving.server = &server;
        g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, pool, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(it);
        RhBatch few = {.chunks = &(RhChunk){0, 16}, .chunks_count = 1, .ended = 1},
                many = {.chunks = &(RhChunk){0, 16384}, .chunks_count = 1, .ended = 1},
                none = {.decodes = 4, .contexts = 400};
        s_of[k][0] = rh_iteration_s(it, &few);
        s_of[k][1] = rh_iteration_s(it, &many);
        s_of[k][2] = rh_iteration_s(it, &none);
    }
    CU_ASSERT(s_of[0][0] < 0.01);
    CU_ASSERT_DOUBLE_EQUAL(s_of[1][0], s.model->layers_count * 1e-3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(s_of[1][1], s_of[0][1], 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(s_of[1][2], s_of[0][2], 1e-12);
    close_setting(&s);
}

/* Returns the time of reading a part of a prompt, without logits. */
static double reading_s(Setting *s, const RhServer *server, int32_t tokens)
{
    s->serving.server = server;
    g_autoptr(RhIterations) it = rh_iterations_new(&s->serving, &s->deployment.pools[0], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(it);
    return rh_iteration_s(it, &(RhBatch){.chunks = &(RhChunk){0, tokens}, .chunks_count = 1});
}

static RhServer without_host(const Setting *s)
{
    RhServer server = *s->serving.server;
    server.step_s.value = server.rank_step_s.value = server.sequence_s.value = 0;
    return server;
}

static void ranks_launch_together(void)
{
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:4x1", "server=vllm,tp4");
    RhServer server = without_host(&s);
    server.launch_s.value = 1e-3;
    server.rank_launch_s.value = 0.5e-3; /* for each of two doublings */
    CU_ASSERT_DOUBLE_EQUAL(reading_s(&s, &server, 16), s.model->layers_count * 2e-3, 1e-12);
    close_setting(&s);
}

/* An iteration of kernels K and exchanges X takes K/f + X at a share f of the kernels' rate: two
 * sums a layer and one of the embedding. */
static void links_keep_their_rate(void)
{
    Setting s = setting_of("llama-3.1-8b", "h100-sxm:4x1", "server=vllm,tp4");
    RhServer server = without_host(&s);
    double s_of[2];
    for (int k = 0; k < 2; k++) {
        server.prompt_frac.value = 1.0 / (k + 1);
        s_of[k] = reading_s(&s, &server, 2048);
    }
    s.serving.server = &server;
    g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
    double bytes = 2048.0 * (double)s.model->hidden * 2;
    double sum_s = rh_peer_reduce_s(it->platform->device, 4, bytes);
    double kernels_s = s_of[1] - s_of[0], exchanges_s = s_of[0] - kernels_s;
    CU_ASSERT_TRUE(kernels_s > exchanges_s);
    CU_ASSERT_DOUBLE_EQUAL(exchanges_s, (2 * s.model->layers_count + 1) * sum_s, 1e-9);
    close_setting(&s);
}

/* 4,096 columns of two bytes: a sum of 128 tokens is 1 MiB. */
static void large_sums_make_no_norms(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-b200:1", "server=vllm,tp8");
    RhServer limited = without_host(&s), never = limited, always = limited;
    CU_ASSERT_TRUE_FATAL(limited.norms_most_count > 0);
    never.reduce_norms = false;
    always.norms_most_count = 0;
    static const int32_t tokens[] = {128, 129};
    for (int k = 0; k < 2; k++) {
        double with_s = reading_s(&s, &always, tokens[k]),
               apart_s = reading_s(&s, &never, tokens[k]);
        CU_ASSERT_TRUE(apart_s > with_s);
        CU_ASSERT_DOUBLE_EQUAL(reading_s(&s, &limited, tokens[k]), k == 0 ? with_s : apart_s,
                               1e-12);
    }
    limited.norms_most[0].ranks = limited.norms_most[1].ranks = limited.norms_most[2].ranks = 2;
    CU_ASSERT_DOUBLE_EQUAL(reading_s(&s, &limited, 1), reading_s(&s, &never, 1), 1e-12);
    close_setting(&s);
}

/* Each of eight groups has eight of 64 sequences, and a millisecond of its host for each. */
static void groups_have_hosts(void)
{
    Setting s = setting_of("qwen3-30b-a3b", "dgx-h100:1", "server=vllm,dp8,ep8,batch=64");
    RhServer server = *s.serving.server;
    RhBatch batch = {.decodes = 64, .contexts = 64 * 100};
    double s_of[2];
    server.sequence_s.value = 1e-3;
    s.serving.server = &server;
    for (int each = 0; each < 2; each++) {
        server.host_each = each;
        g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(it);
        s_of[each] = rh_iteration_s(it, &batch);
        RH_CHECK_CLOSE(rh_iteration_run(it, 64, 64 * 100).first_s, s_of[each], 1e-9);
    }
    RH_CHECK_CLOSE(s_of[0] - s_of[1], 56e-3, 1e-9);
    close_setting(&s);
}

/* A token of gpt-oss takes 2 KiB in each of 18 layers that keep all tokens, and by TensorRT-LLM in the 18
 * with a window, too. Source: openai/gpt-oss-120b, config.json: 8 heads of 64 in 36 layers. */
static void servers_keep_windows_or_all(void)
{
    static const char *const deployments[] = {"server=vllm,tp1", "server=trtllm-1.2,tp1"};
    for (int k = 0; k < 2; k++) {
        Setting s = setting_of("gpt-oss-120b", "dgx-h200:1", deployments[k]);
        g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(it);
        CU_ASSERT_EQUAL(rh_iterations_token_bytes(it), (k + 1) * 18 * 2 * 8 * 64 * 2.0);
        CU_ASSERT_EQUAL(rh_iterations_sequence_bytes(it) > 0, k == 0);
        close_setting(&s);
    }
}

/* Gaps between the tokens of a lone request are counted one by one, each in the bin of its length, and sum to the time
 * between its first token and its last. */
static void gaps_of_a_lone_request_sum_to_its_answer(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                           .count = 1,
                           .input = {1000, 1000},
                           .output = {50, 50},
                           .seed = 1};
    g_autoptr(RhRequests) one = rh_requests_draw(&plan);
    for (int each = 0; each < 2; each++) {
        g_autoptr(RhServiceResult) r = serve(&s, one, &(RhClient){.each_iteration = each});
        int64_t count = 0;
        double sum_s = 0;
        for (int32_t bin = 0; bin < RH_GAP_BINS; bin++) {
            count += r->gaps[bin];
            sum_s += (double)r->gaps[bin] * rh_gap_s(bin);
        }
        CU_ASSERT_EQUAL(count, 49);
        RH_CHECK_CLOSE(sum_s, at(r, 0)->t_end_s - at(r, 0)->t_first_s, 0.006);
    }
    close_setting(&s);
}

int main(void)
{
    static const RhTest tests[] = {
        {"newcomers wait for one more", newcomers_wait_for_one_more},
        {"gaps of a lone request sum to its answer", gaps_of_a_lone_request_sum_to_its_answer},
        {"an idle server begins at once", an_idle_server_begins_at_once},
        {"some servers look now and then", some_servers_look_now_and_then},
        {"prompts stay whole", prompts_stay_whole},
        {"old engines read prompts alone", old_engines_read_prompts_alone},
        {"launching is a floor", launching_is_a_floor},
        {"ranks launch together", ranks_launch_together},
        {"links keep their rate", links_keep_their_rate},
        {"large sums make no norms", large_sums_make_no_norms},
        {"groups have hosts", groups_have_hosts},
        {"servers keep windows or all", servers_keep_windows_or_all},
        {0}};
    return rh_test_main("server_behaviour", tests);
}

/* Services in parts: pools for prompts and for tokens, pipelines, attention cut by requests. */
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/service.h"
#include "tests/kit/serve_kit.h"
#include "tests/kit/train_kit.h"

/* Prompts on one pool, tokens on another: the cache goes over the network in between. */
static void pools_hand_over(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:2", "tp1,replicas=2/tp2,replicas=2");
    g_autoptr(RhRequests) requests = drawn(100, 20, 3000, 200);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    for (guint k = 0; k < r->served->len; k++) {
        const RhRequestRecord *q = at(r, k);
        CU_ASSERT_EQUAL(q->outcome, RH_SERVED_DONE);
        CU_ASSERT_TRUE(q->replica >= 2 && q->t_transfer_s > 0);
        CU_ASSERT_TRUE(q->t_first_s - q->t_admit_s > q->t_transfer_s + q->t_stall_s);
        /* 128 KiB a token over 450 GB/s at most */
        CU_ASSERT_TRUE(q->t_transfer_s > q->input_tokens * 131072.0 / 450e9);
    }
    CU_ASSERT_EQUAL(r->gpus, 6);
    close_setting(&s);
}

/* First tokens wait for the answers before theirs where the second pool takes one at a time. */
static void a_full_pool_holds_first_tokens(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:2", "tp1/tp1,batch=1");
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                           .count = 4,
                           .input = {1000, 1000},
                           .output = {100, 100},
                           .seed = 1};
    g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    for (guint k = 1; k < r->served->len; k++) {
        const RhRequestRecord *before = at(r, k - 1), *q = at(r, k);
        double answer_s = q->t_end_s - q->t_first_s, parts_s = 0;
        CU_ASSERT_TRUE(q->t_first_s >= before->t_end_s - 1e-9);
        CU_ASSERT_TRUE(q->t_first_s < before->t_end_s + 0.05 * answer_s);
        for (int part = 0; part < RH_TTFT_LAST; part++)
            parts_s += rh_served_ttft_part_s(q, (RhTtftPart)part);
        RH_CHECK_CLOSE(parts_s, q->t_first_s - q->t_arrive_s, 1e-9);
    }
    close_setting(&s);
}

/* Eight nodes send to one at once: each request's cache takes eight times as long as alone. */
static void senders_share_a_link(void)
{
    double took_s[2];
    for (int many = 0; many < 2; many++) {
        Setting s = setting_of("llama-3.1-70b", "dgx-h100:9", "tp8,replicas=8/tp8");
        RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                               .count = many ? 8 : 1,
                               .input = {8192, 8192},
                               .output = {64, 64},
                               .seed = 1};
        g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        double latency_s = rh_platform_route_latency_s(s.platform, 0, 64);
        RhLink link = rh_platform_link_by_name(s.platform, "nic/node0/0/tx");
        /* 80 layers x 2 x 1 head of 128 columns in 2 bytes a rank and token, over a NIC each */
        double alone_s = 8192 * 80 * 2 * 128 * 2.0 / rh_platform_link_bytes_per_s(s.platform, link);
        took_s[many] = at(r, 0)->t_transfer_s - latency_s;
        for (guint k = 0; k < r->served->len; k++)
            RH_CHECK_CLOSE(at(r, k)->t_transfer_s - latency_s, took_s[many], 1e-9);
        RH_CHECK_CLOSE(took_s[many], alone_s * (many ? 8 : 1), 1e-9);
        close_setting(&s);
    }
}

/* Stages of a pipeline and replicas of attention: all is served, and what they hold is parted. */
static void groups_share_a_server(void)
{
    static const struct {
        const char *model, *deployment;
        int32_t gpus;
    } rows[] = {{"llama-3.1-8b", "tp1,pp2", 2},
                {"llama-3.1-8b", "tp2,pp4", 8},
                {"mixtral-8x7b", "tp1,dp4,ep4", 4},
                {"mixtral-8x7b", "tp2,dp2,ep4", 4},
                {"mixtral-8x7b", "tp4,ep4", 4}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        Setting s = setting_of(rows[i].model, "dgx-h100:1", rows[i].deployment);
        g_autoptr(RhRequests) requests = drawn(100, 30, 2000, 200);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        CU_ASSERT_EQUAL(r->gpus, rows[i].gpus);
        for (guint k = 0; k < r->served->len; k++)
            CU_ASSERT_EQUAL(at(r, k)->outcome, RH_SERVED_DONE);
        close_setting(&s);
    }
}

/* Returns the time until so many prompts of 16 chunks, there at once, are read by stages. */
static double read_s(const char *deployment, int32_t prompts)
{
    Setting s = setting_of("llama-3.1-70b", "dgx-h100:1", deployment);
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                           .count = prompts,
                           .input = {16 * 512, 16 * 512},
                           .output = {2, 2}};
    g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    close_setting(&s);
    return r->duration_s;
}

/* Each of the batches that follow each other through stages reads a prompt: two take about as long as one,
 * four twice as long. */
static void stages_read_prompts_side_by_side(void)
{
    double one_s = read_s("tp4,pp2,chunk=512", 1);
    CU_ASSERT_TRUE(read_s("tp4,pp2,chunk=512", 2) < 1.1 * one_s);
    RH_CHECK_CLOSE(read_s("tp4,pp2,chunk=512", 4), 2 * one_s, 0.1);
    RH_CHECK_CLOSE(read_s("tp4,chunk=512", 2), 2 * read_s("tp4,chunk=512", 1), 0.1);
}

static int64_t room_of(const char *model, const char *deployment)
{
    Setting s = setting_of(model, "dgx-h100:1", deployment);
    g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(service);
    int64_t tokens = rh_service_kv_budget(service, 0).tokens;
    close_setting(&s);
    return tokens;
}

/* Half of the layers leave a GPU more than twice the room; cuts that do not go together are refused. */
static void rooms_follow_cuts(void)
{
    CU_ASSERT_TRUE(room_of("llama-3.1-8b", "tp1,pp2") > 2 * room_of("llama-3.1-8b", "tp1"));
    CU_ASSERT_TRUE(room_of("llama-3.1-8b", "tp2") > 2 * room_of("llama-3.1-8b", "tp1"));
    static const char *const wrong[] = {"tp1,dp2", "tp2,ep4", "tp1,dp2,ep2", "tp3", "pp99", "tp16"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", wrong[i]);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_service_new(&s.serving, &s.deployment, &error));
        CU_ASSERT_PTR_NOT_NULL(error);
        close_setting(&s);
    }
}

static const RhTest tests[] = {
    {"pools hand over", pools_hand_over},
    {"a full pool holds first tokens", a_full_pool_holds_first_tokens},
    {"senders share a link", senders_share_a_link},
    {"groups share a server", groups_share_a_server},
    {"stages read prompts side by side", stages_read_prompts_side_by_side},
    {"rooms follow cuts", rooms_follow_cuts},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("service parts", tests);
}

/* Programs of what a service did: legal, and as long as the service where links are its own. */
#include "strategies/serve/results/service_program.h"
#include "tests/kit/engine_kit.h"
#include "tests/kit/serve_kit.h"

typedef struct {
    Setting s;
    RhService *service;
    RhServiceResult *result;
    RhProgram *program;
    double t_end_s; /* of the last iteration */
} Told;

static Told tell(const char *model, const char *platform, const char *deployment,
                 const RhRequests *requests)
{
    g_autoptr(GError) error = NULL;
    Told t = {.s = setting_of(model, platform, deployment)};
    RhClient client = {.timeline = true, .each_iteration = true};
    t.service = rh_service_new(&t.s.serving, &t.s.deployment, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.service);
    t.result = rh_service_run(t.service, requests, &client, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.result);
    t.program = rh_service_program(t.service, &t.s.serving, &t.s.deployment, t.result, &error);
    if (!t.program || !rh_program_check(t.program, &error))
        fprintf(stderr, "    %s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.program);
    CU_ASSERT_PTR_NULL(error);
    for (guint i = 0; i < t.result->works->len; i++)
        t.t_end_s = fmax(t.t_end_s, g_array_index(t.result->works, RhServiceWork, i).t_end_s);
    return t;
}

static void drop(Told *t)
{
    rh_program_free(t->program);
    rh_service_result_free(t->result);
    rh_service_free(t->service);
    close_setting(&t->s);
}

/* Network cards move caches in a service, and take no SMs. */
static double rehearsed_s(const Told *t)
{
    return kit_time_s(t->program, t->s.platform, (RhEngineOptions){.sm_sharing_disabled = true});
}

static RhRequests *burst(int32_t count, int32_t input, int32_t output)
{
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                           .count = count,
                           .input = {input / 2, input},
                           .output = {output / 2, output},
                           .seed = 5};
    return rh_requests_draw(&plan);
}

/* Read, moved, continued: one after another. */
static void one_request_is_a_sum(void)
{
    g_autoptr(RhRequests) requests = burst(1, 4096, 8);
    Told t = tell("llama-3.1-8b", "h100-sxm:1x2,ib:400Gb/s", "tp1/tp1", requests);
    const RhRequestRecord *served = at(t.result, 0);
    const RhServiceWork *first = &g_array_index(t.result->works, RhServiceWork, 0);
    double bytes =
        rh_iterations_token_bytes(rh_service_iterations(t.service, 0)) * served->input_tokens;
    double link = t.s.platform->nic_bytes_per_s.value * t.s.platform->nic_efficiency_frac.value;
    double works_s = 0;
    for (guint i = 0; i < t.result->works->len; i++) {
        const RhServiceWork *w = &g_array_index(t.result->works, RhServiceWork, i);
        works_s += w->t_end_s - w->t_begin_s;
    }
    RH_CHECK_CLOSE(rehearsed_s(&t),
                   first->t_begin_s + works_s + bytes / link +
                       rh_platform_route_latency_s(t.s.platform, 0, 1),
                   1e-6);
    drop(&t);
}

/* A crowd that comes as it likes: servers idle for requests, caches share a link with one another and with
 * nothing else of the program, as in the service. */
static void a_crowd_takes_as_long_as_its_service(void)
{
    static const char *const deployments[] = {"tp1,replicas=3/tp1", "tp1/tp1,replicas=3",
                                              "tp1,replicas=2/tp2", "tp1,replicas=4"};
    for (size_t i = 0; i < G_N_ELEMENTS(deployments); i++) {
        g_autoptr(RhRequests) requests = drawn(40, 10, 4096, 12);
        Told t = tell("llama-3.1-8b", "h100-sxm:1x4,ib:100Gb/s", deployments[i], requests);
        RH_CHECK_CLOSE(rehearsed_s(&t), t.t_end_s, 2e-3);
        drop(&t);
    }
}

/* Sums of tensor ranks on two nodes each, and caches that leave and come by the same NICs: a service has a layer's sums
 * as one flow, a program has their steps. */
static void sums_and_caches_share_their_nics(void)
{
    static const char *const deployments[] = {"tp2/tp2", "tp1,replicas=2/tp2",
                                              "tp2/tp1,replicas=2"};
    for (size_t i = 0; i < G_N_ELEMENTS(deployments); i++) {
        g_autoptr(RhRequests) requests = drawn(40, 10, 4096, 12);
        Told t = tell("llama-3.1-8b", "h100-sxm:1x4,ib:100Gb/s", deployments[i], requests);
        double late_s = 0;
        for (guint k = 0; k < t.result->works->len; k++)
            late_s += g_array_index(t.result->works, RhServiceWork, k).late_s;
        CU_ASSERT_TRUE(late_s > 1e-3);
        RH_CHECK_CLOSE(rehearsed_s(&t), t.t_end_s, 0.06);
        drop(&t);
    }
}

/* Tensor ranks on two nodes, experts on all: sums and exchanges as the closed forms of collectives have them. */
static void exchanges_take_what_was_reckoned(void)
{
    static const char *const cases[][2] = {{"llama-3.1-8b", "tp4"},
                                           {"mixtral-8x7b", "tp1,dp4,ep4,server=static"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(RhRequests) requests = burst(8, 512, 6);
        Told t = tell(cases[i][0], "h100-sxm:2x2,nvlink:450GB/s,ib:400Gb/s", cases[i][1], requests);
        bool exchanged = false;
        for (guint k = 0; k < t.program->tasks->len; k++)
            exchanged |= rh_program_task(t.program, (int32_t)k)->kind == RH_TASK_COLLECTIVE;
        CU_ASSERT_TRUE(exchanged);
        RH_CHECK_CLOSE(rehearsed_s(&t), t.t_end_s, 0.03);
        drop(&t);
    }
}

/* Every cache that was handed over is a message from each of its GPUs. */
static void caches_are_messages(void)
{
    g_autoptr(RhRequests) requests = burst(12, 2048, 6);
    Told t = tell("llama-3.1-8b", "h100-sxm:2x4,ib:400Gb/s", "tp2,replicas=3/tp2", requests);
    int64_t sends = 0, recvs = 0;
    double bytes = 0, expected = 0;
    for (guint i = 0; i < t.program->tasks->len; i++) {
        const RhTask *task = rh_program_task(t.program, (int32_t)i);
        sends += task->kind == RH_TASK_SEND;
        recvs += task->kind == RH_TASK_RECV;
        bytes += task->kind == RH_TASK_SEND ? task->bytes : 0;
    }
    for (guint i = 0; i < 12; i++)
        expected += 2 * rh_iterations_token_bytes(rh_service_iterations(t.service, 0)) *
                    at(t.result, i)->input_tokens;
    CU_ASSERT_EQUAL(sends, 24);
    CU_ASSERT_EQUAL(recvs, 24);
    RH_CHECK_CLOSE(bytes, expected, 1e-9);
    drop(&t);
}

int main(void)
{
    static const RhTest tests[] = {
        {"one request is a sum", one_request_is_a_sum},
        {"a crowd takes as long as its service", a_crowd_takes_as_long_as_its_service},
        {"sums and caches share their NICs", sums_and_caches_share_their_nics},
        {"exchanges take what was reckoned", exchanges_take_what_was_reckoned},
        {"caches are messages", caches_are_messages},
        {0}};
    return rh_test_main("service_program", tests);
}

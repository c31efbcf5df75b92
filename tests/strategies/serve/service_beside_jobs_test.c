/* A service beside a job: its own links when alone, closed forms where it meets the job, nothing where it
 * does not. */
#include "tests/kit/engine_kit.h"
#include "tests/kit/serve_kit.h"

#include "strategies/serve/service_beside_jobs.h"

/* Four nodes of one GPU, two per leaf, whose uplink is as fast as one NIC. */
static const char *const cluster = "h100-sxm:1x4,ib:400Gb/s,leaf:2,oversub:2";

#define JOB_BYTES 4e11 /* eight seconds alone: on the link all the time */

typedef struct {
    int32_t src, dst; /* GPUs of the job */
} Place;

/* A job that does nothing but send. */
static RhProgram *build(int32_t job, void *user, GError **error)
{
    (void)job, (void)error;
    const Place *place = user;
    RhProgram *p = kit_messages(2, 1, 1, JOB_BYTES);
    p->gpu_of_rank = g_new(int32_t, 3);
    p->gpu_of_rank[0] = place->src;
    p->gpu_of_rank[1] = place->dst;
    return p;
}

static const int32_t across[] = {0, 2}, inside[] = {0, 1}; /* leaves */

static RhBackgroundService background_of(const Setting *s, const RhRequests *requests,
                                         const int32_t *nodes)
{
    return (RhBackgroundService){.name = "service",
                                 .serving = s->serving,
                                 .deployment = s->deployment,
                                 .requests = requests,
                                 .fabric = s->platform,
                                 .nodes = nodes,
                                 .nodes_count = 2};
}

static RhMultiJobRun *rehearse(const RhBackgroundService *background, Place place)
{
    g_autoptr(GError) error = NULL;
    RhMultiJobService g = rh_background_service(background);
    RhMultiJobPart job = {"job", 0, 1};
    RhMultiJobQuestion ask = {&job, 1, build, &place, &g};
    RhEngineOptions options = {0};
    RhMultiJobRun *t = rh_multi_job_rehearse(&ask, background->fabric, &options, 1, &error);
    if (!t)
        fprintf(stderr, "    %s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    return t;
}

static void expect_alike(const RhServiceResult *a, const RhServiceResult *b)
{
    CU_ASSERT_EQUAL_FATAL(a->served->len, b->served->len);
    for (guint i = 0; i < a->served->len; i++) {
        CU_ASSERT_EQUAL(at(a, i)->outcome, at(b, i)->outcome);
        CU_ASSERT_DOUBLE_EQUAL(at(a, i)->t_first_s, at(b, i)->t_first_s, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL(at(a, i)->t_end_s, at(b, i)->t_end_s, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL(at(a, i)->t_transfer_s, at(b, i)->t_transfer_s, 1e-7);
    }
}

/* A crowd, whose caches share its own links, on those it lends and on those of a session. */
static void alone_is_what_it_would_be(void)
{
    Setting s = setting_of("llama-3.1-8b", cluster, "tp1/tp1");
    g_autoptr(RhRequests) requests = drawn(60, 20, 4096, 16);
    RhBackgroundService background = background_of(&s, requests, inside);
    g_autoptr(RhMultiJobRun) t = rehearse(&background, (Place){2, 3});
    g_autoptr(RhServiceResult) alone = rh_background_service_answer(t->background_alone);
    CU_ASSERT_PTR_NOT_NULL_FATAL(alone);
    RhClient client = {0};
    g_autoptr(RhServiceResult) own = serve(&s, requests, &client);
    expect_alike(alone, own);
    close_setting(&s);
}

/* One prompt after another: each cache has half the link while the job sends, and the job half of it while
 * a cache is there. */
static void both_get_their_share(void)
{
    Setting s = setting_of("llama-3.1-8b", cluster, "tp1/tp1");
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_EVEN,
                           .rate_per_s = 1,
                           .count = 5,
                           .input = {4096, 4096},
                           .output = {4, 4}};
    g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
    RhBackgroundService background = background_of(&s, requests, across);
    g_autoptr(RhMultiJobRun) t = rehearse(&background, (Place){1, 3});
    g_autoptr(RhServiceResult) alone = rh_background_service_answer(t->background_alone);
    g_autoptr(RhServiceResult) beside = rh_background_service_answer(t->background_beside);
    CU_ASSERT_PTR_NOT_NULL_FATAL(alone);
    CU_ASSERT_PTR_NOT_NULL_FATAL(beside);
    double latency_s = rh_platform_route_latency_s(s.platform, 0, 2), taken_s = 0;
    for (guint i = 0; i < 5; i++) {
        double move_s = at(alone, i)->t_transfer_s - latency_s;
        CU_ASSERT_TRUE(move_s > 1e-3);
        CU_ASSERT_DOUBLE_EQUAL(at(beside, i)->t_transfer_s, latency_s + 2 * move_s, 1e-6);
        taken_s += move_s;
    }
    const RhMultiJobResult *job = &g_array_index(t->parts, RhMultiJobResult, 0);
    CU_ASSERT_DOUBLE_EQUAL(job->beside->step_time_s, job->alone->step_time_s + taken_s, 1e-6);
    CU_ASSERT_EQUAL(t->links->len, 1); /* up and down are alike */
    const RhSessionLink *link = &g_array_index(t->links, RhSessionLink, 0);
    CU_ASSERT_EQUAL(link->met, 5);
    CU_ASSERT_DOUBLE_EQUAL(link->bytes[1], taken_s * link->bytes_per_s, 1);
    close_setting(&s);
}

/* A job changes nothing of messages on links of their own: here the way back. */
static void apart_nothing_changes(void)
{
    Setting s = setting_of("llama-3.1-8b", cluster, "tp1/tp1");
    g_autoptr(RhRequests) requests = drawn(40, 20, 4096, 16);
    RhBackgroundService background = background_of(&s, requests, across);
    g_autoptr(RhMultiJobRun) t = rehearse(&background, (Place){3, 1});
    g_autoptr(RhServiceResult) alone = rh_background_service_answer(t->background_alone);
    g_autoptr(RhServiceResult) beside = rh_background_service_answer(t->background_beside);
    expect_alike(alone, beside);
    const RhMultiJobResult *job = &g_array_index(t->parts, RhMultiJobResult, 0);
    CU_ASSERT_DOUBLE_EQUAL(job->beside->step_time_s, job->alone->step_time_s, 1e-9);
    CU_ASSERT_EQUAL(t->links->len, 0);
    close_setting(&s);
}

/* A session's clock may begin later than the job's, and its times are its own. */
static void a_late_beginning_is_no_change(void)
{
    Setting s = setting_of("llama-3.1-8b", cluster, "tp1/tp1");
    g_autoptr(RhRequests) requests = drawn(40, 20, 4096, 16);
    RhBackgroundService background = background_of(&s, requests, inside);
    background.t_start_s = 0.75;
    g_autoptr(RhMultiJobRun) t = rehearse(&background, (Place){3, 2});
    g_autoptr(RhServiceResult) beside = rh_background_service_answer(t->background_beside);
    RhClient client = {0};
    g_autoptr(RhServiceResult) own = serve(&s, requests, &client);
    expect_alike(beside, own);
    close_setting(&s);
}

/* Sums of a server of two nodes cross the link that the job uses all the time: each iteration lasts
 * its flows' time longer, and the job waits for their bytes. Without the job the session takes the
 * service's own time. */
static void a_server_of_two_nodes_shares_its_sums_link(void)
{
    Setting s = setting_of("llama-3.1-8b", cluster, "tp2");
    RhRequestsPlan plan = {
        .arrival = RH_ARRIVAL_BURST, .count = 1, .input = {2048, 2048}, .output = {9, 9}};
    g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
    RhBackgroundService background = background_of(&s, requests, across);
    CU_ASSERT_TRUE(rh_background_service_check(&background, NULL));
    g_autoptr(RhMultiJobRun) t = rehearse(&background, (Place){1, 3});
    g_autoptr(RhServiceResult) alone = rh_background_service_answer(t->background_alone);
    g_autoptr(RhServiceResult) beside = rh_background_service_answer(t->background_beside);
    CU_ASSERT_PTR_NOT_NULL_FATAL(alone);
    CU_ASSERT_PTR_NOT_NULL_FATAL(beside);
    RhClient client = {0};
    g_autoptr(RhServiceResult) own = serve(&s, requests, &client);
    RH_CHECK_CLOSE(at(alone, 0)->t_end_s, at(own, 0)->t_end_s, 2e-3); /* hops of a farther node */
    double read_s = wire_s(&s, 1, 2048), made_s = wire_s(&s, 1, 1);
    RH_CHECK_CLOSE(at(beside, 0)->t_first_s, at(alone, 0)->t_first_s + read_s, 1e-5);
    RH_CHECK_CLOSE(at(beside, 0)->t_end_s, at(alone, 0)->t_end_s + read_s + 8 * made_s, 1e-5);
    const RhMultiJobResult *job = &g_array_index(t->parts, RhMultiJobResult, 0);
    CU_ASSERT_DOUBLE_EQUAL(job->beside->step_time_s, job->alone->step_time_s + read_s + 8 * made_s,
                           1e-5);
    close_setting(&s);
}

int main(void)
{
    static const RhTest tests[] = {
        {"alone it is as on links of its own", alone_is_what_it_would_be},
        {"both get their share", both_get_their_share},
        {"apart nothing changes", apart_nothing_changes},
        {"a late beginning is no change", a_late_beginning_is_no_change},
        {"a server of two nodes shares its sums' link", a_server_of_two_nodes_shares_its_sums_link},
        {0}};
    return rh_test_main("background_service", tests);
}

/* Replicas that come and go: closed forms of a burst, nothing lost, and no change where nothing scales. */
#include <math.h>

#include "base/error.h"
#include "strategies/serve/service/autoscaling.h"
#include "tests/kit/serve_kit.h"

#define UP_S 30 /* Ray Serve's delay, of looks 10 s apart */

static RhRequests *burst(int32_t count, int32_t output)
{
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                           .count = count,
                           .input = {100, 100},
                           .output = {output, output}};
    return rh_requests_draw(&plan);
}

static double end_of(const RhServiceResult *r)
{
    double last_s = 0;
    for (guint i = 0; i < r->served->len; i++) {
        CU_ASSERT_EQUAL(at(r, i)->outcome, RH_SERVED_DONE);
        last_s = fmax(last_s, at(r, i)->t_end_s);
    }
    return last_s;
}

/* All of a burst stay where they were sent; three more replicas come, and are paid for, in vain. */
static void what_is_added_is_paid(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1",
                           "tp1,replicas=4,scale=ongoing,least=1,target=2,batch=4");
    g_autoptr(RhRequests) requests = burst(100, 1000);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    double last_s = end_of(r);
    CU_ASSERT_TRUE(last_s > UP_S + 60);
    CU_ASSERT_EQUAL(r->starts, 3);
    CU_ASSERT_EQUAL(r->replicas_most, 4);
    RH_CHECK_CLOSE(r->gpu_s, last_s + 3 * (last_s - UP_S), 1e-9);
    for (guint i = 0; i < r->served->len; i++)
        CU_ASSERT_EQUAL(at(r, i)->replica, 0);
    close_setting(&s);
}

/* A burst that ends between two looks: what would begin to start at the second is not there. */
static void nobody_looks_behind_the_end(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1",
                           "tp1,replicas=4,scale=ongoing,least=1,target=2,batch=4");
    g_autoptr(RhRequests) requests = burst(16, 1000);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    double last_s = end_of(r);
    CU_ASSERT_TRUE(last_s > UP_S - 10 && last_s < UP_S);
    CU_ASSERT_EQUAL(r->starts, 0);
    CU_ASSERT_EQUAL(r->replicas_most, 1);
    RH_CHECK_CLOSE(r->gpu_s, last_s, 1e-9);
    close_setting(&s);
}

/* Replicas get requests only once they have their weights. */
static void replicas_start_before_they_serve(void)
{
    Setting s = setting_of("llama-3.1-70b", "dgx-h100:2", "tp4,replicas=4,scale=ongoing,target=8");
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_RAMP,
                           .rate_per_s = 0.5,
                           .rate_end_per_s = 8,
                           .count = 2000,
                           .input = {500, 1500},
                           .output = {100, 300},
                           .seed = 2};
    g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
    double start_s = rh_service_kv_budget(service, 0).start_s, rate;
    rate =
        1 / (4 / s.platform->nvme_bytes_per_s.value +
             1 / (s.platform->host_bytes_per_s.value * s.serving.server->stream_nvme_frac.value));
    RH_CHECK_CLOSE(start_s,
                   s.serving.server->start_s.value +
                       rh_iterations_weight_bytes(rh_service_iterations(service, 0)) / rate,
                   1e-9);
    bool others = false;
    end_of(r);
    for (guint i = 0; i < r->served->len; i++)
        if (at(r, i)->replica > 0) {
            others = true;
            CU_ASSERT_TRUE(at(r, i)->t_arrive_s >= UP_S + start_s);
        }
    CU_ASSERT_TRUE(others);
    CU_ASSERT_TRUE(r->gpu_s < 16 * r->duration_s);
    CU_ASSERT_TRUE(r->window.busy_frac > 0 && r->window.busy_frac <= 1);
    close_setting(&s);
}

/* A crowd, then one now and then for an hour: what came goes 600 s after it is not wanted any more. */
static void what_is_not_wanted_goes(void)
{
    Setting s =
        setting_of("llama-3.1-8b", "dgx-h100:1", "tp1,replicas=3,scale=ongoing,target=2,batch=4");
    g_autoptr(RhRequests) requests = burst(100, 1000);
    for (int32_t i = 0; i < 60; i++) {
        RhRequest q = {
            .t_s = 400 + 60 * i, .input_tokens = 100, .output_tokens = 10, .session = -1};
        g_array_append_val(requests->list, q);
    }
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    double last_s = end_of(r), crowd_s = 0;
    for (guint i = 0; i < 100; i++)
        crowd_s = fmax(crowd_s, at(r, i)->t_end_s);
    double extra_s = (r->gpu_s - last_s) / 2; /* of each that came */
    CU_ASSERT_EQUAL(r->starts, 2);
    CU_ASSERT_TRUE(extra_s >= crowd_s + 600 - UP_S - 20); /* wanted until its last four or so */
    CU_ASSERT_TRUE(extra_s <= crowd_s + 600 - UP_S + 40);
    close_setting(&s);
}

/* A least number equal to the most changes nothing; two pools scale by themselves. */
static void nothing_changes_where_nothing_scales(void)
{
    static const char *const pairs[][2] = {
        {"tp1,replicas=3", "tp1,replicas=3,scale=ongoing,least=3"},
        {"tp1,replicas=2/tp1,replicas=2", "tp1,replicas=2,scale=ongoing,least=2/tp1,replicas=2"}};
    for (size_t k = 0; k < G_N_ELEMENTS(pairs); k++) {
        g_autoptr(RhRequests) requests = drawn(200, 4, 1000, 200);
        RhServiceResult *results[2];
        for (int i = 0; i < 2; i++) {
            Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", pairs[k][i]);
            results[i] = serve(&s, requests, &(RhClient){0});
            close_setting(&s);
        }
        for (guint i = 0; i < results[0]->served->len; i++) {
            CU_ASSERT_EQUAL(at(results[0], i)->t_end_s, at(results[1], i)->t_end_s);
            CU_ASSERT_EQUAL(at(results[0], i)->replica, at(results[1], i)->replica);
        }
        CU_ASSERT_EQUAL(results[1]->starts, 0);
        rh_service_result_free(results[0]);
        rh_service_result_free(results[1]);
    }
}

static void what_says_nothing_is_refused(void)
{
    static const char *const texts[] = {"tp1,replicas=2,least=2", "tp1,target=4",
                                        "tp1,replicas=2,scale=ongoing,least=3"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", texts[i]);
        CU_ASSERT_PTR_NULL(rh_service_new(&s.serving, &s.deployment, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        close_setting(&s);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"what is added is paid", what_is_added_is_paid},
        {"nobody looks behind the end", nobody_looks_behind_the_end},
        {"replicas start before they serve", replicas_start_before_they_serve},
        {"what is not wanted goes", what_is_not_wanted_goes},
        {"nothing changes where nothing scales", nothing_changes_where_nothing_scales},
        {"what says nothing is refused", what_says_nothing_is_refused},
        {0}};
    return rh_test_main("autoscaling", tests);
}

/* Batches that wait for more requests: who begins when. */
#include <math.h>

#include "base/error.h"
#include "tests/kit/serve_kit.h"

static RhRequests *at_times(const double *times, int32_t count)
{
    RhRequests *requests = rh_requests_new("test");
    for (int32_t i = 0; i < count; i++) {
        RhRequest q = {.t_s = times[i], .input_tokens = 128, .output_tokens = 1, .session = -1};
        g_array_append_val(requests->list, q);
    }
    return requests;
}

/* Returns the wait of a request from the time at which the server can see it. */
static double waited_s(const Setting *s, const RhServiceResult *r, guint i)
{
    return at(r, i)->t_admit_s - at(r, i)->t_arrive_s - s->serving.server->admit_s.value;
}

/* Alone for its window; with others until the batch is full, or the first one's window is over. */
static void batches_wait_for_their_first(void)
{
    static const double times[] = {0, 100, 100.01, 100.02, 100.03, 200, 200.04, 200.06};
    static const double waited[] = {0.05, 0.03, 0.02, 0.01, 0, 0.05, 0.01, 0.05};
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "server=static,tp1,batch=4,window=50");
    g_autoptr(RhRequests) requests = at_times(times, G_N_ELEMENTS(times));
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    for (guint i = 0; i < G_N_ELEMENTS(times); i++)
        CU_ASSERT_DOUBLE_EQUAL(waited_s(&s, r, i), waited[i], 1e-9);
    close_setting(&s);
}

/* Requests that come at once are one batch, with a window and without. */
static void a_burst_is_one_batch(void)
{
    static const double times[64] = {0};
    static const char *const deployments[] = {"server=static,tp1,batch=64",
                                              "server=static,tp1,batch=64,window=1"};
    g_autoptr(RhRequests) requests = at_times(times, 64);
    for (guint k = 0; k < 2; k++) {
        Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", deployments[k]);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        CU_ASSERT_EQUAL(r->iterations_stepped, 1);
        CU_ASSERT_EQUAL(at(r, 0)->t_admit_s, at(r, 63)->t_admit_s);
        close_setting(&s);
    }
}

/* Requests that waited for a batch longer than the window begin at once after it. All are done. */
static void nobody_is_forgotten(void)
{
    for (int32_t window = 0; window <= 400; window += 100) {
        g_autofree char *text =
            g_strdup_printf("server=static,tp1,replicas=2,batch=16,window=%d", window);
        Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x2", text);
        g_autoptr(RhRequests) requests = drawn(300, 30, 512, 40);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        for (guint i = 0; i < r->served->len; i++)
            CU_ASSERT_EQUAL(at(r, i)->outcome, RH_SERVED_DONE);
        close_setting(&s);
    }
}

static void others_have_no_window(void)
{
    g_autoptr(GError) error = NULL;
    Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", "tp1,window=5");
    CU_ASSERT_PTR_NULL(rh_service_new(&s.serving, &s.deployment, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    close_setting(&s);
}

int main(void)
{
    static const RhTest tests[] = {{"batches wait for their first", batches_wait_for_their_first},
                                   {"a burst is one batch", a_burst_is_one_batch},
                                   {"nobody is forgotten", nobody_is_forgotten},
                                   {"others have no window", others_have_no_window},
                                   {0}};
    return rh_test_main("batch_wait", tests);
}

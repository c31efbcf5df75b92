/* Power of services from the states of their iterations. */
#include <math.h>

#include "platforms/devices/power.h"
#include "strategies/serve/results/service_metrics.h"
#include "tests/kit/serve_kit.h"

/* Watts of the states over what the timeline says, hosts and buildings aside. */
static void devices_draw_what_iterations_do(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp2,replicas=2");
    s.platform->host_power_w.value = 0;
    s.platform->nic_power_w.value = 0;
    s.platform->switches_power_w.value = 0;
    s.platform->pue.value = 0;
    g_autoptr(RhRequests) requests = drawn(120, 3, 2000, 100);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){.timeline = true});
    double reading_s = 0, making_s = 0;
    for (guint i = 0; i < r->works->len; i++) {
        const RhServiceWork *w = &g_array_index(r->works, RhServiceWork, i);
        *(w->prompts > 0 ? &reading_s : &making_s) +=
            within_s(&r->window, w->t_begin_s, w->t_end_s);
    }
    const RhDevice *d = s.platform->device;
    double idle_s = 2 * r->window.duration_s - reading_s - making_s; /* of servers */
    double expected = 2 * (reading_s * rh_device_state_w(d, RH_POWER_COMPUTE) +
                           making_s * rh_device_state_w(d, RH_POWER_MEMORY) +
                           idle_s * rh_device_state_w(d, RH_POWER_IDLE));
    CU_ASSERT_TRUE(idle_s > 0 && reading_s > 0 && making_s > 0);
    CU_ASSERT_TRUE(r->window.steady);
    RH_CHECK_CLOSE(r->window.energy_j, expected, 1e-9);
    RhSlos none = {0};
    RhServiceMetrics o = rh_service_metrics(r, &none);
    RH_CHECK_CLOSE(o.energy_j_per_token, expected / (o.tokens_per_s * o.window_s), 1e-9);
    close_setting(&s);
}

/* Energy is unknown of a device without a power. */
static void what_is_not_known_is_not_told(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    s.platform->device->power_w.value = 0;
    g_autoptr(RhRequests) requests = drawn(10, 3, 200, 10);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    RhSlos none = {0};
    RhServiceMetrics o = rh_service_metrics(r, &none);
    CU_ASSERT_TRUE(isnan(o.energy_j_per_token));
    close_setting(&s);
}

int main(void)
{
    static const RhTest tests[] = {
        {"devices draw what iterations do", devices_draw_what_iterations_do},
        {"what is not known is not told", what_is_not_known_is_not_told},
        {0}};
    return rh_test_main("service_energy", tests);
}

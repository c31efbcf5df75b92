/* How flows share links: max-min fairness, by examples of textbooks. Each message has the bytes that its published share
 * moves in a second, so all of them end together if shares are right, and only then. */
#include "tests/kit/engine_kit.h"

/* Sends `shares[i]` GB from GPU `from[i]` to `to[i]`, all at once, and checks that each takes `seconds`. */
static void check_shares(RhPlatform *platform, const int32_t (*pairs)[2], const double *shares,
                         int32_t count, double seconds)
{
    g_autoptr(RhProgram) p = rh_program_new(rh_platform_gpus(platform));
    for (int32_t i = 0; i < count; i++) {
        int32_t from = pairs[i][0], delta = pairs[i][1] - from;
        rh_program_begin_role(p, "sender", from, NULL, 0);
        int32_t send = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, delta, shares[i] * 1e9, -1);
        rh_program_end_role(p);
        rh_program_begin_role(p, "receiver", pairs[i][1], NULL, 0);
        int32_t recv = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -delta, shares[i] * 1e9, -1);
        rh_program_end_role(p);
        rh_program_match(p, send, recv);
    }
    RhEngineOptions options = {.timeline = true, .unfolded = true, .collapse_disabled = true};
    g_autoptr(RhRun) run = kit_run(p, platform, options);
    int32_t ended = 0;
    for (guint i = 0; i < run->timeline->len; i++) {
        const RhTaskInterval *span = &g_array_index(run->timeline, RhTaskInterval, i);
        if (rh_program_task(p, span->task)->kind != RH_TASK_RECV)
            continue;
        RH_CHECK_CLOSE(span->t_end_s, seconds, 1e-6);
        ended++;
    }
    CU_ASSERT_EQUAL(ended, count);
}

/* A cluster of nodes of four GPUs that share one NIC of 10 GB/s, without latencies. */
static RhPlatform *cluster(void)
{
    RhPlatform *p = kit_platform("h100-sxm:4x5,ib:80Gb/s,nics:1");
    static const char *const settings[][2] = {{"nic.efficiency", "1"}, {"nic.latency", "0us"}};
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++)
        CU_ASSERT_TRUE_FATAL(rh_platform_set(p, settings[i][0], settings[i][1], NULL));
    return p;
}

/* Four sources that can send 2, 2.6, 4 and 5 share a link of 10: they get 2, 2.6, 2.7 and 2.7.
 * Source: Keshav 1997, An Engineering Approach to Computer Networking, section 9.2.2. */
static void sources_share_as_keshav_says(void)
{
    static const int32_t pairs[][2] = {{0, 16}, {4, 17}, {8, 18}, {12, 19}};
    static const double demands[] = {2, 2.6, 4, 5}, shares[] = {2, 2.6, 2.7, 2.7};
    g_autoptr(RhPlatform) p = cluster();
    for (int i = 0; i < 4; i++) {
        RhLink links[RH_ROUTE_MAX];
        rh_platform_route(p, pairs[i][0], pairs[i][1], links);
        rh_platform_link_scale(p, links[0], demands[i] / 10);
    }
    check_shares(p, pairs, shares, 4, 1);
}

/* One session crosses a link with two others, one of which crosses a wider link with a fourth: three get a third of the
 * first link, and the fourth what is left of its own.
 * Source: Bertsekas and Gallager 1992, Data Networks, section 6.5.2, algorithm of max-min flow control. */
static void sessions_share_as_bertsekas_and_gallager_say(void)
{
    /* Into node 4 come sessions from nodes 0, 1 and 2; node 2 sends a fourth one to node 3. */
    static const int32_t pairs[][2] = {{0, 16}, {4, 17}, {8, 18}, {9, 12}};
    static const double shares[] = {10.0 / 3, 10.0 / 3, 10.0 / 3, 20.0 / 3};
    g_autoptr(RhPlatform) p = cluster();
    check_shares(p, pairs, shares, 4, 1);
}

int main(void)
{
    static const RhTest tests[] = {
        {"sources_share_as_keshav_says", sources_share_as_keshav_says},
        {"sessions_share_as_bertsekas_and_gallager_say",
         sessions_share_as_bertsekas_and_gallager_say},
        {0},
    };
    return rh_test_main("fair_sharing", tests);
}

/* Performing message by message: lone messages, shared links, collectives at their members' pace.
 */
#include "sim/collective_expansion.h"
#include "tests/kit/engine_kit.h"

/* A star of 8 with round figures: 1 kB packets, 1 MB/s, no headers, no bursts, no latency. */
static RhPlatform *star(void)
{
    RhPlatform *p = kit_platform("lab-star");
    static const char *const settings[][2] = {
        {"nic.bandwidth", "1MB/s"},   {"nic.latency", "0us"},    {"messages.packet", "1kB"},
        {"messages.header", "0B"},    {"messages.burst", "0B"},  {"nvlink.bandwidth", "1MB/s"},
        {"nvlink.latency", "0us"},    {"messages.copy", "0B/s"}, {"messages.noise", "0us"},
        {"messages.reaction", "0us"}, {"messages.window", "0B"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++)
        CU_ASSERT_TRUE(rh_platform_set(p, settings[i][0], settings[i][1], NULL));
    return p;
}

static double time_of(const RhProgram *p, const RhPlatform *platform)
{
    return kit_time_s(p, platform, (RhEngineOptions){0});
}

static void a_lone_message_is_stored_and_forwarded(void)
{
    g_autoptr(RhPlatform) p = star();
    g_autoptr(RhProgram) one = kit_messages(8, 1, 1, 1e5);
    /* 100 packets over the first link, the last of them once more over the second. */
    RH_CHECK_CLOSE(time_of(one, p), 0.1 + 0.001, 1e-9);
    CU_ASSERT_TRUE(rh_platform_set(p, "nic.latency", "5ms", NULL));
    RH_CHECK_CLOSE(time_of(one, p), 0.1 + 0.001 + 0.005, 1e-9);
    CU_ASSERT_TRUE(rh_platform_set(p, "messages.header", "100B", NULL));
    RH_CHECK_CLOSE(time_of(one, p), 0.11 + 0.0011 + 0.005, 1e-9);
}

/* P packets of L bits over N links of rate R that store and forward take (N + P - 1) L / R: a million bits, whole and in
 * packets of 10,000, over two links of 5 Mbit/s.
 * Source: Kurose and Ross, Computer Networking, section 1.3, equation 1.1 for P packets. */
static void segments_take_the_time_of_kurose_and_ross(void)
{
    g_autoptr(RhPlatform) p = star();
    CU_ASSERT_TRUE(rh_platform_set(p, "nic.bandwidth", "625kB/s", NULL));
    CU_ASSERT_TRUE(rh_platform_set(p, "messages.packet", "125kB", NULL));
    g_autoptr(RhProgram) one = kit_messages(8, 1, 1, 125e3);
    RH_CHECK_CLOSE(time_of(one, p), (2 + 1 - 1) * 1e6 / 5e6, 1e-9);
    CU_ASSERT_TRUE(rh_platform_set(p, "messages.packet", "1250B", NULL));
    RH_CHECK_CLOSE(time_of(one, p), (2 + 100 - 1) * 1e4 / 5e6, 1e-9);
}

static void an_idle_link_lets_a_burst_through(void)
{
    g_autoptr(RhPlatform) p = star();
    CU_ASSERT_TRUE(rh_platform_set(p, "messages.burst", "10kB", NULL));
    g_autoptr(RhProgram) small = kit_messages(8, 1, 1, 1e4);
    g_autoptr(RhProgram) large = kit_messages(8, 1, 1, 1e5);
    RH_CHECK_CLOSE(time_of(small, p), 0, 1e-9);
    RH_CHECK_CLOSE(time_of(large, p), 0.1 - 0.01, 1e-9); /* the second link's burst hides its own */
}

static double send_ends_s(const RhProgram *p, const RhPlatform *platform)
{
    g_autoptr(RhRun) run = kit_run(p, platform, (RhEngineOptions){.timeline = true});
    for (guint i = 0; i < run->timeline->len; i++) {
        const RhTaskInterval *span = &g_array_index(run->timeline, RhTaskInterval, i);
        if (rh_program_task(p, span->task)->kind == RH_TASK_SEND)
            return span->t_end_s;
    }
    return -1;
}

static void a_window_holds_packets_back(void)
{
    g_autoptr(RhPlatform) p = star();
    g_autoptr(RhProgram) one = kit_messages(8, 1, 1, 1e5);
    RH_CHECK_CLOSE(send_ends_s(one, p), 0, 1e-9);
    /* One packet at a time passes both links before the next leaves. */
    CU_ASSERT_TRUE(rh_platform_set(p, "messages.window", "1kB", NULL));
    RH_CHECK_CLOSE(time_of(one, p), 0.2, 1e-9);
    RH_CHECK_CLOSE(send_ends_s(one, p), 0.198, 1e-9);
    /* Ten at a time keep the first link busy; the last leaves the sender when the 90th is there. */
    CU_ASSERT_TRUE(rh_platform_set(p, "messages.window", "10kB", NULL));
    RH_CHECK_CLOSE(time_of(one, p), 0.1 + 0.001, 1e-9);
    RH_CHECK_CLOSE(send_ends_s(one, p), 0.09 + 0.001, 1e-9);
    g_autoptr(RhProgram) small = kit_messages(8, 1, 1, 1e4);
    RH_CHECK_CLOSE(send_ends_s(small, p), 0, 1e-9);
}

/* A root that sends to one after another: each transfer waits for the one before, but for what the
 * window holds. */
static void steps_wait_for_their_sends(void)
{
    g_autoptr(RhPlatform) platform = star();
    g_autoptr(RhProgram) p = kit_one_collective(8, 8, 1, RH_OP_BROADCAST, RH_ALGO_TREE, 1e5);
    double buffered_s = time_of(p, platform);
    CU_ASSERT_TRUE(rh_platform_set(platform, "messages.window", "2kB", NULL));
    double waiting_s = time_of(p, platform);
    /* Three rounds; at once, the root's three messages share its link. */
    CU_ASSERT_TRUE(waiting_s < 0.9 * buffered_s);
    CU_ASSERT_TRUE(waiting_s >= 3 * 0.1 && waiting_s < 3 * 0.1 + 0.01);
}

static void a_link_that_dies_stops_the_step_and_names_who_waits(void)
{
    g_autoptr(RhPlatform) p = star();
    g_autoptr(RhProgram) one = kit_messages(8, 1, 1, 1e5);
    g_autoptr(GError) error = NULL;
    RhEngineOptions options = {0};
    /* 100 packets have left after 0.1 s: a death thereafter harms nobody, one before does */
    CU_ASSERT_TRUE(rh_platform_set(p, "link.nic/node0/0/tx", "dies@101ms", NULL));
    RH_CHECK_CLOSE(time_of(one, p), 0.1 + 0.001, 1e-9);
    CU_ASSERT_TRUE(rh_platform_set(p, "link.nic/node0/0/tx", "dies@99ms", NULL));
    CU_ASSERT_PTR_NULL(rh_rehearse_isolated(one, p, &options, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "nic/node0/0/tx died at 99"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "rank 1 waits in task 1 (recv"));
}

/* Rank 0 sends `large` to rank 1, then at once `small` to rank 2: when is the small one there? */
static double small_behind_large_s(const RhPlatform *platform, double large, double small)
{
    g_autoptr(RhProgram) p = rh_program_new(8);
    rh_program_begin_role(p, "sender", 0, NULL, 0);
    int32_t first = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, 1, large, -1);
    int32_t second = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_PREV, 2, small, first);
    rh_program_end_role(p);
    rh_program_begin_role(p, "large", 1, NULL, 0);
    int32_t large_recv = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -1, large, -1);
    rh_program_end_role(p);
    rh_program_begin_role(p, "small", 2, NULL, 0);
    int32_t small_recv = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -2, small, -1);
    rh_program_end_role(p);
    rh_program_match(p, first, large_recv);
    rh_program_match(p, second, small_recv);
    g_autoptr(RhRun) run = kit_run(p, platform, (RhEngineOptions){.timeline = true});
    for (guint i = 0; i < run->timeline->len; i++) {
        const RhTaskInterval *span = &g_array_index(run->timeline, RhTaskInterval, i);
        if (span->task == small_recv)
            return span->t_end_s;
    }
    return (double)NAN;
}

static void fair_links_take_turns_and_first_come_links_do_not(void)
{
    g_autoptr(RhPlatform) p = star();
    p->messages.sender = RH_SHARING_FAIR;
    /* Ten packets among the first twenty or so of the large one, then the second hop. */
    RH_CHECK_CLOSE(small_behind_large_s(p, 1e5, 1e4), 0.021 + 0.001, 0.06);
    p->messages.sender = RH_SHARING_FIRST_COME;
    RH_CHECK_CLOSE(small_behind_large_s(p, 1e5, 1e4), 0.11 + 0.001, 1e-9);
}

static void many_to_one_share_its_link(void)
{
    g_autoptr(RhPlatform) platform = star();
    g_autoptr(RhProgram) p = rh_program_new(8);
    int32_t sends[8], recvs[8];
    for (int32_t r = 1; r < 8; r++) {
        rh_program_begin_role(p, "sender", r, NULL, 0);
        sends[r] = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, -r, 1e4, -1);
        rh_program_end_role(p);
    }
    rh_program_begin_role(p, "sink", 0, NULL, 0);
    for (int32_t r = 1; r < 8; r++)
        recvs[r] = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, r, 1e4, -1);
    rh_program_end_role(p);
    for (int32_t r = 1; r < 8; r++)
        rh_program_match(p, sends[r], recvs[r]);
    RH_CHECK_CLOSE(time_of(p, platform), 7 * 0.01 + 0.001, 1e-9);
}

/* A step of n members each sending `bytes` to the next takes packets + 1 services. */
static void a_ring_goes_at_the_pace_of_its_steps(void)
{
    g_autoptr(RhPlatform) platform = star();
    g_autoptr(RhProgram) p = kit_one_collective(8, 8, 1, RH_OP_ALL_REDUCE, RH_ALGO_RING, 8e4);
    RH_CHECK_CLOSE(time_of(p, platform), 14 * (0.01 + 0.001), 1e-9);
}

static void every_collective_ends_and_moves_its_bytes(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("lab-2x4");
    int performed = 0;
    for (RhOp op = RH_OP_ALL_REDUCE; op < RH_OP_LAST; op++)
        for (RhAlgo algo = RH_ALGO_RING; algo < RH_ALGO_LAST; algo++) {
            if (!rh_collective_supports(op, algo))
                continue;
            g_autoptr(RhProgram) p = kit_one_collective(8, 8, 1, op, algo, 1e6);
            g_autoptr(RhRun) run = kit_run(p, platform, (RhEngineOptions){0});
            g_autoptr(RhExpansions) all = rh_expansions_new(p, platform);
            int32_t own;
            const RhExpansion *e = rh_expansion_get(all, rh_program_task(p, 0), 0, &own, NULL);
            double bytes = 0;
            for (guint k = 0; k < e->schedule->rounds->len; k++) {
                const RhRound *round = rh_expansion_round(e, (int32_t)k);
                for (int32_t f = 0; f < round->flows_count; f++)
                    bytes +=
                        round->repeat *
                        g_array_index(e->schedule->flows, RhFlow, round->flows_first + f).bytes;
            }
            RH_CHECK_CLOSE(run->bytes_total, bytes, 1e-9);
            CU_ASSERT_TRUE(run->step_time_s > 0);
            performed++;
        }
    CU_ASSERT_TRUE(performed >= 17);
}

/* Each member's steps, in the order of the schedule, each of its flows as often as its round repeats. */
static void members_walk_all_their_steps_and_no_others(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("lab-2x4");
    for (RhOp op = RH_OP_ALL_REDUCE; op < RH_OP_LAST; op++)
        for (RhAlgo algo = RH_ALGO_RING; algo < RH_ALGO_LAST; algo++) {
            if (!rh_collective_supports(op, algo))
                continue;
            g_autoptr(RhProgram) p = kit_one_collective(8, 8, 1, op, algo, 1e6);
            g_autoptr(RhExpansions) all = rh_expansions_new(p, platform);
            int32_t own;
            const RhExpansion *e = rh_expansion_get(all, rh_program_task(p, 0), 0, &own, NULL);
            for (int32_t m = 0; m < 8; m++) {
                RhExpansionPlace at = rh_expansion_begin(e, m);
                int32_t step = 0;
                for (int32_t k = 0; k < (int32_t)e->schedule->rounds->len; k++) {
                    const RhRound *round = rh_expansion_round(e, k);
                    int32_t flows = 0;
                    for (int32_t f = 0; f < round->flows_count; f++) {
                        const RhFlow *flow =
                            &g_array_index(e->schedule->flows, RhFlow, round->flows_first + f);
                        flows += flow->src == m || flow->dst == m;
                    }
                    for (int32_t q = 0; q < round->repeat && flows > 0; q++) {
                        CU_ASSERT_TRUE_FATAL(rh_expansion_next(e, m, &at));
                        CU_ASSERT_TRUE(at.round == k && at.repeat == q && at.step == step + q);
                        CU_ASSERT_EQUAL(at.to - at.from, flows);
                    }
                    step += round->repeat;
                }
                CU_ASSERT_FALSE(rh_expansion_next(e, m, &at));
            }
        }
}

/* Whose turn it is on a link, and what its bucket holds, outlasts a step. */
static void steps_repeat(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("lab-2x4");
    g_autoptr(RhProgram) p = kit_step((KitStep){.tp = 2,
                                                .dp = 2,
                                                .pp = 2,
                                                .microbatches = 4,
                                                .layers = 2,
                                                .tp_algo = RH_ALGO_RING,
                                                .dp_algo = RH_ALGO_RING,
                                                .kernel_s = 0.01,
                                                .tp_bytes = 1e5,
                                                .dp_bytes = 1e6,
                                                .message_bytes = 1e5});
    CU_ASSERT_TRUE(rh_platform_set((RhPlatform *)platform, "messages.burst", "0B", NULL));
    double one_s = kit_time_s(p, platform, (RhEngineOptions){0});
    double mean_s = kit_time_s(p, platform, (RhEngineOptions){.steps = 3});
    RH_CHECK_CLOSE(mean_s, one_s, 2e-3);
    RH_CHECK_CLOSE(kit_time_s(p, platform, (RhEngineOptions){.unfolded = true}), one_s, 1e-12);
}

/* Noise keeps the mean: many messages one after another take what they take without. */
static void noise_keeps_the_mean_and_follows_the_seed(void)
{
    g_autoptr(RhPlatform) platform = star();
    g_autoptr(RhProgram) p = kit_messages(8, 4, 4, 1e3);
    CU_ASSERT_TRUE(rh_platform_set(platform, "nic.latency", "10ms", NULL));
    double quiet_s = kit_time_s(p, platform, (RhEngineOptions){.steps = 400});
    CU_ASSERT_TRUE(rh_platform_set(platform, "messages.noise", "8ms", NULL));
    double noisy_s = kit_time_s(p, platform, (RhEngineOptions){.steps = 400});
    /* The slowest of four: 2 ms and the mean of the largest of four exponentials, 25/12. */
    RH_CHECK_CLOSE(noisy_s - quiet_s, 0.002 + 25.0 / 12 * 0.008 - 0.010, 0.1);
    CU_ASSERT_EQUAL(kit_time_s(p, platform, (RhEngineOptions){.steps = 400}), noisy_s);
    CU_ASSERT_NOT_EQUAL(kit_time_s(p, platform, (RhEngineOptions){.steps = 400, .seed = 2}),
                        noisy_s);
}

/* A send behind a kernel waits for the host; a send behind a receive does not. */
static void hosts_take_time_to_see_a_kernel_end(void)
{
    g_autoptr(RhPlatform) platform = star();
    g_autoptr(RhProgram) p = rh_program_new(8);
    rh_program_begin_role(p, "sender", 0, NULL, 0);
    int32_t kernel = kit_wait(p, 0.01, NULL, 0);
    int32_t send = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, 1, 0, kernel);
    rh_program_end_role(p);
    rh_program_begin_role(p, "receiver", 1, NULL, 0);
    int32_t recv = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -1, 0, -1);
    rh_program_end_role(p);
    rh_program_match(p, send, recv);
    RH_CHECK_CLOSE(time_of(p, platform), 0.01, 1e-9);
    CU_ASSERT_TRUE(rh_platform_set(platform, "messages.reaction", "2ms", NULL));
    RH_CHECK_CLOSE(kit_time_s(p, platform, (RhEngineOptions){.steps = 1000}), 0.012, 0.02);
    g_autoptr(RhProgram) alone = kit_messages(8, 1, 1, 1e4);
    RH_CHECK_CLOSE(time_of(alone, platform), 0.011, 1e-9);
}

int main(void)
{
    return rh_test_main(
        "exec_messages",
        (RhTest[]){
            {"a_lone_message_is_stored_and_forwarded", a_lone_message_is_stored_and_forwarded},
            {"segments_take_the_time_of_kurose_and_ross",
             segments_take_the_time_of_kurose_and_ross},
            {"an_idle_link_lets_a_burst_through", an_idle_link_lets_a_burst_through},
            {"a_window_holds_packets_back", a_window_holds_packets_back},
            {"steps_wait_for_their_sends", steps_wait_for_their_sends},
            {"a_link_that_dies_stops_the_step_and_names_who_waits",
             a_link_that_dies_stops_the_step_and_names_who_waits},
            {"fair_links_take_turns_and_first_come_links_do_not",
             fair_links_take_turns_and_first_come_links_do_not},
            {"many_to_one_share_its_link", many_to_one_share_its_link},
            {"a_ring_goes_at_the_pace_of_its_steps", a_ring_goes_at_the_pace_of_its_steps},
            {"every_collective_ends_and_moves_its_bytes",
             every_collective_ends_and_moves_its_bytes},
            {"members_walk_all_their_steps_and_no_others",
             members_walk_all_their_steps_and_no_others},
            {"steps_repeat", steps_repeat},
            {"noise_keeps_the_mean_and_follows_the_seed",
             noise_keeps_the_mean_and_follows_the_seed},
            {"hosts_take_time_to_see_a_kernel_end", hosts_take_time_to_see_a_kernel_end},
            {0}});
}

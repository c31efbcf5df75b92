#include "tests/kit/engine_kit.h"

#include <signal.h>

#include "sim/timeline/timeline_diff.h"

static const RhEngineOptions plain = {0};

static double latency_s(const RhPlatform *platform, int32_t src, int32_t dst)
{
    return rh_platform_route_latency_s(platform, src, dst);
}

static void a_message_takes_latency_and_bytes_over_rate(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x2,ib:400Gb/s");
    g_autoptr(RhProgram) p = kit_messages(16, 1, 8, 1e9);
    RhLink links[RH_ROUTE_MAX];
    double slowest = HUGE_VAL;
    for (int i = rh_platform_route(platform, 0, 8, links); i-- > 0;)
        slowest = MIN(slowest, rh_platform_link_bytes_per_s(platform, links[i]));
    RH_CHECK_CLOSE(kit_time_s(p, platform, plain), latency_s(platform, 0, 8) + 1e9 / slowest, 1e-9);
}

static void two_flows_on_one_link_take_twice_as_long(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x2,ib:400Gb/s,nics:1");
    g_autoptr(RhProgram) one = kit_messages(16, 1, 8, 1e9);
    g_autoptr(RhProgram) two = kit_messages(16, 2, 8, 1e9);
    double alpha_s = latency_s(platform, 0, 8);
    double alone_s = kit_time_s(one, platform, plain) - alpha_s;
    RH_CHECK_CLOSE(kit_time_s(two, platform, plain) - alpha_s, 2 * alone_s, 1e-6);
    RhEngineOptions unfolded = {.unfolded = true};
    RH_CHECK_CLOSE(kit_time_s(two, platform, unfolded) - alpha_s, 2 * alone_s, 1e-6);
}

static void half_the_capacity_takes_twice_as_long(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x2,ib:400Gb/s");
    g_autoptr(RhProgram) p = kit_messages(16, 8, 8, 1e9);
    double alpha_s = latency_s(platform, 0, 8);
    double before_s = kit_time_s(p, platform, plain) - alpha_s;
    RhLink links[RH_ROUTE_MAX];
    int count = rh_platform_route(platform, 3, 11, links);
    for (int i = 0; i < count; i++)
        rh_platform_link_scale(platform, links[i], 0.5);
    g_autoptr(RhRun) run = kit_run(p, platform, plain);
    RH_CHECK_CLOSE(run->step_time_s - alpha_s, 2 * before_s, 1e-6);
    CU_ASSERT_EQUAL(run->performers->len, 4); /* the slow pair and the others */
}

/* The second flow joins when the first is half done: the link works on, and ends both at 2. */
static void a_late_flow_shares_what_is_left(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x2,ib:400Gb/s,nics:1");
    g_autoptr(RhProgram) alone = kit_messages(16, 1, 8, 1e9);
    double alpha_s = latency_s(platform, 0, 8);
    double move_s = kit_time_s(alone, platform, plain) - alpha_s;
    g_autoptr(RhProgram) p = rh_program_new(16);
    int32_t sends[2], recvs[2];
    for (int i = 0; i < 2; i++) { /* rank 1 starts when rank 0 is half done */
        RhStride one = {1, 1};
        rh_program_begin_role(p, i ? "late" : "early", i, &one, 1);
        int32_t wait = i ? kit_wait(p, move_s / 2, NULL, 0) : -1;
        sends[i] = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, 8, 1e9, wait);
        rh_program_end_role(p);
        rh_program_begin_role(p, i ? "late receiver" : "early receiver", 8 + i, &one, 1);
        recvs[i] = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -8, 1e9, -1);
        rh_program_end_role(p);
        rh_program_match(p, sends[i], recvs[i]);
    }
    g_autoptr(RhRun) run = kit_run(p, platform, plain);
    RH_CHECK_CLOSE(run->step_time_s, alpha_s + 2 * move_s, 1e-6);
    RH_CHECK_CLOSE(run->bytes_total, 2e9, 1e-9);
    RH_CHECK_CLOSE(run->bytes_as_flows, 1.5e9, 1e-6);
    RhEngineOptions flows = {.collapse_disabled = true};
    g_autoptr(RhRun) all = kit_run(p, platform, flows);
    RH_CHECK_CLOSE(all->step_time_s, run->step_time_s, 1e-6);
    RH_CHECK_CLOSE(all->bytes_as_flows, 2e9, 1e-9);
}

/* 15 % of the SMs held for 0.4 s: the kernel does 0.34 s of its work meanwhile. */
static void communication_slows_the_kernel_it_runs_beside(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x2,ib:400Gb/s");
    platform->device->sms_count = 100;
    platform->collective_sms.value = 15;
    g_autoptr(RhProgram) probe = kit_messages(16, 1, 8, 1e9);
    double alpha_s = latency_s(platform, 0, 8);
    double bytes_per_s = 1e9 / (kit_time_s(probe, platform, plain) - alpha_s);
    g_autoptr(RhProgram) p = rh_program_new(16);
    RhStride one = {1, 1};
    rh_program_begin_role(p, "a", 0, &one, 1);
    kit_wait(p, 1, NULL, 0);
    double bytes = (0.4 - alpha_s) * bytes_per_s;
    int32_t send = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, 8, bytes, -1);
    rh_program_end_role(p);
    rh_program_begin_role(p, "b", 8, &one, 1);
    int32_t recv = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -8, bytes, -1);
    rh_program_end_role(p);
    rh_program_match(p, send, recv);
    g_autoptr(RhRun) run = kit_run(p, platform, plain);
    RH_CHECK_CLOSE(run->step_time_s, 1.06, 1e-9);
    const RhPerformer *a = &g_array_index(run->performers, RhPerformer, 0);
    RH_CHECK_CLOSE(a->wait_s[RH_WAIT_STRETCH], 0.06, 1e-6);
    RH_CHECK_CLOSE(a->wait_s[RH_WAIT_COMPUTE], 1, 1e-9);
    RhEngineOptions unheld = {.sm_sharing_disabled = true};
    RH_CHECK_CLOSE(kit_time_s(p, platform, unheld), 1, 1e-9);
}

/* Two senders share the way into GPU 2, twice in a row and without latency. A kernel elsewhere ends
 * meanwhile: timers run ahead of SimGrid then. */
static void a_flow_without_latency_follows_another_at_once(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:4x1");
    CU_ASSERT_TRUE_FATAL(rh_platform_set(platform, "nvlink.latency", "0us", NULL));
    RhLink links[RH_ROUTE_MAX];
    rh_platform_route(platform, 0, 2, links);
    double alone_s = 1e9 / rh_platform_link_bytes_per_s(platform, links[0]);
    g_autoptr(RhProgram) p = rh_program_new(4);
    int32_t sends[2][2], recvs[2][2];
    for (int32_t r = 0; r < 2; r++) {
        rh_program_begin_role(p, "sender", r, NULL, 0);
        for (int32_t k = 0; k < 2; k++)
            sends[r][k] = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, 2 - r, 1e9, -1);
        rh_program_end_role(p);
    }
    rh_program_begin_role(p, "receiver", 2, NULL, 0);
    for (int32_t k = 0; k < 2; k++)
        for (int32_t r = 0; r < 2; r++)
            recvs[r][k] = kit_message(p, RH_TASK_RECV, r ? RH_LANE_RECV_PREV : RH_LANE_RECV_NEXT,
                                      r - 2, 1e9, -1);
    rh_program_end_role(p);
    rh_program_begin_role(p, "elsewhere", 3, NULL, 0);
    kit_wait(p, alone_s / 3, NULL, 0);
    rh_program_end_role(p);
    for (int32_t k = 0; k < 2; k++)
        for (int32_t r = 0; r < 2; r++)
            rh_program_match(p, sends[r][k], recvs[r][k]);
    RhEngineOptions unheld = {.sm_sharing_disabled = true, .unfolded = true};
    RH_CHECK_CLOSE(kit_time_s(p, platform, unheld), 4 * alone_s, 1e-9);
}

/* The later of two roles sets off the collective of both; each may go on at once. */
static void roles_meet_in_a_group(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x2,ib:400Gb/s");
    RhStride ranks = {1, 8}, pair = {8, 2};
    g_autoptr(RhProgram) p = rh_program_new(16);
    int32_t group = rh_program_add_group(p, "shared", &pair, 1);
    for (int32_t r = 0; r < 2; r++) {
        rh_program_begin_role(p, r ? "last" : "first", 8 * r, &ranks, 1);
        int32_t wait = kit_wait(p, r ? 3e-3 : 1e-3, NULL, 0);
        int32_t sum =
            kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_RING, group, 1e9, wait);
        kit_wait(p, r ? 1e-3 : 2e-3, &sum, 1);
        rh_program_end_role(p);
    }
    CU_ASSERT_TRUE(rh_program_check(p, NULL));
    /* Eight pairs on eight NICs, both ways at once: two steps of half the bytes. */
    RhLink links[RH_ROUTE_MAX];
    double bytes_per_s = HUGE_VAL;
    for (int i = rh_platform_route(platform, 0, 8, links); i-- > 0;)
        bytes_per_s = MIN(bytes_per_s, rh_platform_link_bytes_per_s(platform, links[i]));
    double alpha_s = rh_platform_route_latency_s(platform, 0, 8);
    double sum_s = platform->collective_launch_s.value + 2 * (alpha_s + 0.5e9 / bytes_per_s);
    double dry_s = 0;
    RH_CHECK_CLOSE(kit_time_s(p, platform, plain), 3e-3 + sum_s + 2e-3, 1e-9);
    RH_CHECK_CLOSE(kit_time_s(p, platform, (RhEngineOptions){.unfolded = true}),
                   3e-3 + sum_s + 2e-3, 1e-9);
    CU_ASSERT_TRUE(rh_critical_path_s(p, platform, &dry_s, NULL));
    RH_CHECK_CLOSE(dry_s, 3e-3 + sum_s + 2e-3, 1e-9);
}

/* A stage that is done 2 s before the other waits for it as in any pipeline; for the sum itself both
 * wait alike. */
static void waiting_for_another_role_is_the_pipelines(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x2,ib:400Gb/s");
    g_autoptr(RhProgram) p = rh_program_new(16);
    RhStride one = {1, 1}, both = {8, 2};
    int32_t group = rh_program_add_group(p, "both", &both, 1);
    for (int role = 0; role < 2; role++) {
        rh_program_begin_role(p, role ? "slow" : "quick", 8 * role, &one, 1);
        int32_t sum = kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_RING, group, 1e8,
                                     kit_wait(p, 1 + 2 * role, NULL, 0));
        kit_wait(p, 0.5, &sum, 1);
        rh_program_end_role(p);
    }
    g_autoptr(RhRun) run = kit_run(p, platform, plain);
    double sum_s = run->step_time_s - 3.5;
    CU_ASSERT_TRUE(sum_s > 0);
    for (uint32_t i = 0; i < 2; i++) {
        const RhPerformer *performer = &g_array_index(run->performers, RhPerformer, i);
        RH_CHECK_CLOSE(performer->wait_s[RH_WAIT_DP], sum_s, 1e-9);
        CU_ASSERT_TRUE(fabs(performer->wait_s[RH_WAIT_BUBBLE] - (performer->role ? 0 : 2)) < 1e-9);
    }
}

static void a_receive_without_its_send_fails_by_name(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x1");
    g_autoptr(RhProgram) p = rh_program_new(2);
    RhStride one = {1, 1};
    rh_program_begin_role(p, "talker", 0, &one, 1);
    int32_t wait = kit_wait(p, 1e-3, NULL, 0);
    rh_program_end_role(p);
    rh_program_begin_role(p, "listener", 1, &one, 1);
    kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -1, 1e6, -1);
    rh_program_end_role(p);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_rehearse_isolated(p, platform, &plain, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INTERNAL));
    CU_ASSERT_PTR_NOT_NULL(error ? strstr(error->message, "'listener'") : NULL);
    double step_s = -1;
    g_clear_error(&error);
    CU_ASSERT_FALSE(rh_critical_path_s(p, platform, &step_s, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_EQUAL(wait, 0);
}

static void two_that_wait_for_each_other_fail_by_name(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x1");
    g_autoptr(RhProgram) p = rh_program_new(2);
    int32_t sends[2], recvs[2];
    for (int i = 0; i < 2; i++) { /* each receives before it sends */
        RhStride one = {1, 1};
        rh_program_begin_role(p, i ? "b" : "a", i, &one, 1);
        recvs[i] = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, i ? -1 : 1, 1e6, -1);
        sends[i] = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, i ? -1 : 1, 1e6, recvs[i]);
        rh_program_end_role(p);
    }
    rh_program_match(p, sends[0], recvs[1]);
    rh_program_match(p, sends[1], recvs[0]);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_rehearse_isolated(p, platform, &plain, &error));
    CU_ASSERT_PTR_NOT_NULL(error ? strstr(error->message, "recv") : NULL);
}

/* --- random steps --- */

static void check_waits(const RhRun *run)
{
    for (uint32_t i = 0; i < run->performers->len; i++) {
        const RhPerformer *performer = &g_array_index(run->performers, RhPerformer, i);
        double sum_s = 0;
        for (int k = 0; k < RH_WAIT_LAST; k++) {
            CU_ASSERT_TRUE(performer->wait_s[k] >= -1e-12);
            sum_s += performer->wait_s[k];
        }
        RH_CHECK_CLOSE(sum_s, run->step_time_s, 1e-9);
    }
}

static void random_steps_agree_with_and_without_collapse(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    for (int i = 0; i < 40; i++) {
        g_autoptr(RhPlatform) platform = kit_platform(kit_clusters[i % 4]);
        g_autoptr(RhProgram) p = kit_step(kit_draw(rng));
        kit_settle(p, platform);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE(rh_program_check(p, &error));
        g_autoptr(RhRun) collapsed = kit_run(p, platform, plain);
        RhEngineOptions options = {.collapse_disabled = true};
        g_autoptr(RhRun) flows = kit_run(p, platform, options);
        RH_CHECK_CLOSE(collapsed->step_time_s, flows->step_time_s, 1e-6);
        RH_CHECK_CLOSE(collapsed->bytes_total, flows->bytes_total, 1e-9);
        RH_CHECK_CLOSE(flows->bytes_as_flows, flows->bytes_total, 1e-9);
        CU_ASSERT_TRUE(collapsed->bytes_as_flows <= collapsed->bytes_total * (1 + 1e-9));
        check_waits(collapsed);
    }
    gsl_rng_free(rng);
}

static void the_dry_pass_is_a_lower_bound(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 7);
    double worst = 0;
    for (int i = 0; i < 60; i++) {
        g_autoptr(RhPlatform) platform = kit_platform(kit_clusters[i % 4]);
        g_autoptr(RhProgram) p = kit_step(kit_draw(rng));
        if (i % 3 == 2)
            kit_shuffle(p, rng);
        kit_settle(p, platform);
        g_autoptr(GError) error = NULL;
        double dry_s = 0;
        CU_ASSERT_TRUE(rh_critical_path_s(p, platform, &dry_s, &error));
        double performed_s = kit_time_s(p, platform, plain);
        CU_ASSERT_TRUE(dry_s > 0);
        if (dry_s > performed_s * (1 + 1e-9))
            fprintf(stderr, "    %d: dry %.9g, performed %.9g\n", i, dry_s, performed_s);
        CU_ASSERT_TRUE(dry_s <= performed_s * (1 + 1e-9));
        worst = MAX(worst, dry_s / performed_s);
    }
    CU_ASSERT_TRUE(worst > 0.9); /* a bound of nothing would be no bound */
    gsl_rng_free(rng);
}

static void a_lone_chain_takes_its_dry_time(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s");
    KitStep k = {.tp = 8,
                 .dp = 1,
                 .pp = 4,
                 .microbatches = 1,
                 .layers = 2,
                 .tp_algo = RH_ALGO_RING,
                 .kernel_s = 1e-3,
                 .tp_bytes = 1e7,
                 .message_bytes = 1e7};
    g_autoptr(RhProgram) p = kit_step(k);
    g_autoptr(GError) error = NULL;
    double dry_s = 0;
    CU_ASSERT_TRUE(rh_critical_path_s(p, platform, &dry_s, &error));
    RhEngineOptions unheld = {.sm_sharing_disabled = true};
    RH_CHECK_CLOSE(kit_time_s(p, platform, unheld), dry_s, 1e-6);
}

/* --- runs --- */

static RhProgram *rings_of(int32_t tp, int32_t dp, int32_t pp, int32_t microbatches, int32_t layers)
{
    return kit_step((KitStep){.tp = tp,
                              .dp = dp,
                              .pp = pp,
                              .microbatches = microbatches,
                              .layers = layers,
                              .tp_algo = RH_ALGO_RING,
                              .dp_algo = RH_ALGO_RING,
                              .kernel_s = 1e-3,
                              .tp_bytes = 1e7,
                              .dp_bytes = 1e8,
                              .message_bytes = 1e7});
}

static void two_steps_take_twice_one_on_average(void)
{
    g_autoptr(RhPlatform) platform = kit_platform(kit_clusters[1]);
    g_autoptr(RhProgram) p = rings_of(2, 4, 2, 3, 2);
    RhEngineOptions three = {.steps = 3};
    g_autoptr(RhRun) run = kit_run(p, platform, three);
    RH_CHECK_CLOSE(run->step_time_s, kit_time_s(p, platform, plain), 1e-6);
    check_waits(run);
}

static RhProgram *build_one(int32_t index, void *user, GError **error)
{
    if (index == 3) {
        rh_fail(error, RH_ERROR_INPUT, "number three is refused");
        return NULL;
    }
    if (index == 5)
        raise(SIGKILL);
    gsl_rng *rng = user;
    gsl_rng_set(rng, (unsigned long)index);
    KitStep k = kit_draw(rng);
    k.dp_algo = RH_ALGO_RING;
    return kit_step(k);
}

static void many_runs_do_not_depend_on_jobs(void)
{
    g_autoptr(RhPlatform) platform = kit_platform(kit_clusters[1]);
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    RhRun *one[12], *three[12];
    GError *one_errors[12], *three_errors[12];
    RhIsolatedBatch batch = {
        .count = 12, .jobs = 1, .options = &plain, .out = one, .errors = one_errors, .user = rng};
    rh_rehearse_isolated_many(&batch, build_one, platform);
    batch.jobs = 3;
    batch.out = three;
    batch.errors = three_errors;
    rh_rehearse_isolated_many(&batch, build_one, platform);
    for (int i = 0; i < 12; i++) {
        CU_ASSERT_EQUAL(one[i] != NULL, i != 3 && i != 5);
        CU_ASSERT_EQUAL(one_errors[i] != NULL, i == 3 || i == 5);
        CU_ASSERT_STRING_EQUAL(one_errors[i] ? one_errors[i]->message : "",
                               three_errors[i] ? three_errors[i]->message : "");
        if (one_errors[i])
            CU_ASSERT_EQUAL(one_errors[i]->code, i == 3 ? RH_ERROR_INPUT : RH_ERROR_NO_ANSWER);
        if (one[i] && three[i])
            CU_ASSERT_EQUAL(one[i]->step_time_s, three[i]->step_time_s);
        rh_run_free(one[i]);
        rh_run_free(three[i]);
        g_clear_error(&one_errors[i]);
        g_clear_error(&three_errors[i]);
    }
    gsl_rng_free(rng);
}

static void a_run_out_of_time_is_an_error(void)
{
    g_autoptr(RhPlatform) platform = kit_platform(kit_clusters[0]);
    g_autoptr(RhProgram) p = rings_of(8, 4, 4, 2000, 10);
    RhEngineOptions hasty = {.timeout_s = 0.01};
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_rehearse_isolated(p, platform, &hasty, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
}

static void the_timeline_holds_every_task_and_is_gzipped(void)
{
    g_autoptr(RhPlatform) platform = kit_platform(kit_clusters[1]);
    g_autoptr(RhProgram) p = rings_of(2, 2, 2, 2, 2);
    RhEngineOptions options = {.timeline = true};
    g_autoptr(RhRun) run = kit_run(p, platform, options);
    uint32_t tasks = 0;
    for (uint32_t i = 0; i < run->performers->len; i++) {
        const RhPerformer *performer = &g_array_index(run->performers, RhPerformer, i);
        tasks += (uint32_t)rh_program_role(p, performer->role)->tasks_count;
    }
    CU_ASSERT_EQUAL(run->timeline->len, tasks);
    g_autofree char *folder = g_dir_make_tmp("rehearse-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "step.json.gz", NULL);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE(rh_timeline_write(p, run, path, &error));
    g_autofree char *content = NULL;
    size_t length = 0;
    CU_ASSERT_TRUE(g_file_get_contents(path, &content, &length, NULL));
    CU_ASSERT_TRUE(length > 100 && (uint8_t)content[0] == 0x1f && (uint8_t)content[1] == 0x8b);
    g_autoptr(GArray) read = rh_timeline_read(path, &error);
    CU_ASSERT_TRUE_FATAL(read && read->len == tasks);
    for (guint i = 0; i < read->len; i++) {
        const RhTimelineEvent *e = &g_array_index(read, RhTimelineEvent, i);
        const RhTaskInterval *span = &g_array_index(run->timeline, RhTaskInterval, i);
        CU_ASSERT_EQUAL(e->task, span->task);
        CU_ASSERT_TRUE(fabs(e->t_start_s - span->t_start_s) < 1e-9 &&
                       fabs(e->t_end_s - span->t_end_s) < 1e-9);
    }
    g_autoptr(RhTimelineDiff) same = rh_timeline_diff_new(read, read);
    CU_ASSERT_TRUE(same->common_count == (int32_t)tasks && !same->parted);
    g_autoptr(GArray) late = g_array_copy(read);
    RhTimelineEvent *last = &g_array_index(late, RhTimelineEvent, late->len - 1);
    last->t_start_s += same->a_end_s;
    last->t_end_s += same->a_end_s;
    g_autoptr(RhTimelineDiff) parted = rh_timeline_diff_new(read, late);
    CU_ASSERT_TRUE(parted->parted && parted->b_part.task == last->task);
    CU_ASSERT_EQUAL(parted->median_start_error_s, 0);
    remove(path);
    CU_ASSERT_FALSE(rh_timeline_write(p, run, "/nonexistent/step.json.gz", &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_IO));
    remove(folder);
}

/* A message behind a kernel on the only link there is: nothing moves before, then its bytes over its
 * time; and whatever was moved, its mean is the link's use. */
static void links_are_busy_when_bytes_move(void)
{
    const double kernel_s = 2e-3, bytes = 1e8;
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:1x2,ib:400Gb/s");
    g_autoptr(RhProgram) p = kit_kernel_then_message(kernel_s, bytes);
    g_autoptr(RhRun) run = kit_run(p, platform, (RhEngineOptions){.timeline = true});
    double rate = platform->nic_bytes_per_s.value * platform->nic_efficiency_frac.value;
    double full = bytes / rate / (run->step_time_s - kernel_s); /* latency included */
    guint series =
        run->link_loads->len / RH_LINK_BINS; /* links that hold nobody back are left out */
    CU_ASSERT_TRUE_FATAL(series >= 1 && run->link_loads->len == series * RH_LINK_BINS);
    for (guint l = 0; l < series; l++) {
        const double *loads = &g_array_index(run->link_loads, double, l *RH_LINK_BINS);
        double sum = 0;
        for (int i = 0; i < RH_LINK_BINS; i++) {
            double from_s = i * run->step_time_s / RH_LINK_BINS;
            sum += loads[i];
            if (from_s + run->step_time_s / RH_LINK_BINS <= kernel_s)
                CU_ASSERT_EQUAL(loads[i], 0);
            if (from_s >= kernel_s)
                RH_CHECK_CLOSE(loads[i], full, 1e-9);
        }
        RH_CHECK_CLOSE(sum / RH_LINK_BINS, g_array_index(run->links, RhLinkUse, l).busy_frac, 1e-9);
    }
    g_autoptr(RhRun) untimed = kit_run(p, platform, (RhEngineOptions){0});
    CU_ASSERT_EQUAL(untimed->link_loads->len, 0);
}

int main(void)
{
    return rh_test_main(
        "engine",
        (RhTest[]){
            {"a_message_takes_latency_and_bytes_over_rate",
             a_message_takes_latency_and_bytes_over_rate},
            {"two_flows_on_one_link_take_twice_as_long", two_flows_on_one_link_take_twice_as_long},
            {"half_the_capacity_takes_twice_as_long", half_the_capacity_takes_twice_as_long},
            {"a_late_flow_shares_what_is_left", a_late_flow_shares_what_is_left},
            {"communication_slows_the_kernel_it_runs_beside",
             communication_slows_the_kernel_it_runs_beside},
            {"a_flow_without_latency_follows_another_at_once",
             a_flow_without_latency_follows_another_at_once},
            {"roles_meet_in_a_group", roles_meet_in_a_group},
            {"waiting_for_another_role_is_the_pipelines",
             waiting_for_another_role_is_the_pipelines},
            {"a_receive_without_its_send_fails_by_name", a_receive_without_its_send_fails_by_name},
            {"two_that_wait_for_each_other_fail_by_name",
             two_that_wait_for_each_other_fail_by_name},
            {"random_steps_agree_with_and_without_collapse",
             random_steps_agree_with_and_without_collapse},
            {"the_dry_pass_is_a_lower_bound", the_dry_pass_is_a_lower_bound},
            {"a_lone_chain_takes_its_dry_time", a_lone_chain_takes_its_dry_time},
            {"two_steps_take_twice_one_on_average", two_steps_take_twice_one_on_average},
            {"many_runs_do_not_depend_on_jobs", many_runs_do_not_depend_on_jobs},
            {"a_run_out_of_time_is_an_error", a_run_out_of_time_is_an_error},
            {"the_timeline_holds_every_task_and_is_gzipped",
             the_timeline_holds_every_task_and_is_gzipped},
            {"links_are_busy_when_bytes_move", links_are_busy_when_bytes_move},
            {0}});
}

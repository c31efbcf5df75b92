/* Uneven all-to-alls: experts that are not equally loaded. */
#include "tests/program_kit.h"

/* Every rank of `ranks` in groups of `size` next to each other. */
static RhProgram *uneven(int32_t ranks, int32_t size, double bytes, const double *shares,
                         int32_t count)
{
    RhProgram *p = kit_one_collective(ranks, size, 1, RH_OP_ALL_TO_ALL, RH_ALGO_DIRECT, bytes);
    g_array_index(p->tasks, RhTask, 0).volumes = rh_program_add_volumes(p, shares, count);
    return p;
}

static double route_bytes_per_s(const RhPlatform *platform, int32_t src, int32_t dst)
{
    RhLink links[RH_ROUTE_MAX];
    double least = HUGE_VAL;
    for (int i = rh_platform_route(platform, src, dst, links); i-- > 0;)
        least = MIN(least, rh_platform_link_bytes_per_s(platform, links[i]));
    return least;
}

/* In step k member i sends to i + k: the step takes as long as its largest message. */
static double closed_form_s(const RhPlatform *platform, int32_t n, double bytes,
                            const double *shares, int32_t count)
{
    double total_s = platform->collective_launch_s.value;
    for (int32_t k = 1; k < n; k++) {
        double largest = 0;
        for (int32_t i = 0; i < n; i++)
            largest = MAX(largest, bytes * shares[(i * n + (i + k) % n) % count]);
        if (largest > 0)
            total_s += rh_platform_route_latency_s(platform, 0, 1) +
                       largest / route_bytes_per_s(platform, 0, 1);
    }
    return total_s;
}

static const double hot_expert[] = {0.7, 0.1, 0.1, 0.1};
static const double one_pair[] = {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
static const double all_unlike[] = {0,   0.3, 0.2,  0.1, 0.4, 0.5, 0.05, 0,
                                    0.2, 0,   0.35, 0.6, 1.5, 0.1, 0.1,  0.3};
static const struct {
    const char *what;
    const double *shares;
    int32_t count;
} loads[] = {
    {"a hot expert", hot_expert, 4}, {"one pair", one_pair, 16}, {"all unlike", all_unlike, 16}};

static void a_step_takes_as_long_as_its_largest_message(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:4x1");
    for (size_t i = 0; i < G_N_ELEMENTS(loads); i++) {
        g_autoptr(RhProgram) p = uneven(4, 4, 1e9, loads[i].shares, loads[i].count);
        CU_ASSERT_TRUE(rh_program_check(p, NULL));
        double wanted_s = closed_form_s(platform, 4, 1e9, loads[i].shares, loads[i].count);
        double dry_s = 0;
        CU_ASSERT_TRUE(rh_critical_path_s(p, platform, &dry_s, NULL));
        RH_CHECK_CLOSE(dry_s, wanted_s, 1e-9);
        RH_CHECK_CLOSE(kit_time_s(p, platform, (RhEngineOptions){0}), wanted_s, 1e-9);
    }
}

static void equal_shares_are_an_even_all_to_all(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:4x2,ib:400Gb/s");
    static const double eighths[] = {0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125};
    g_autoptr(RhProgram) p = uneven(8, 8, 1e9, eighths, 8);
    g_autoptr(RhProgram) even = kit_one_collective(8, 8, 1, RH_OP_ALL_TO_ALL, RH_ALGO_DIRECT, 1e9);
    RH_CHECK_CLOSE(kit_time_s(p, platform, (RhEngineOptions){0}),
                   kit_time_s(even, platform, (RhEngineOptions){0}), 1e-12);
}

static void links_carry_what_the_shares_say(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(loads); i++) {
        g_autoptr(RhProgram) p = uneven(4, 4, 1e6, loads[i].shares, loads[i].count);
        g_autoptr(RhSchedule) s = rh_schedule_of_task(p, rh_program_task(p, 0), NULL, NULL);
        double sum = 0, most = 0, sent = 0;
        for (int32_t src = 0; src < 4; src++) {
            double own = 0;
            for (int32_t dst = 0; dst < 4; dst++)
                own += src == dst ? 0 : 1e6 * loads[i].shares[(src * 4 + dst) % loads[i].count];
            sum += own;
            most = MAX(most, own);
        }
        for (guint f = 0; f < s->flows->len; f++) {
            const RhFlow *flow = &g_array_index(s->flows, RhFlow, f);
            CU_ASSERT_TRUE(flow->bytes > 0);
            RH_CHECK_CLOSE(flow->bytes, s->chunk_bytes[flow->src * 4 + flow->dst], 1e-15);
            sent += flow->bytes;
        }
        RH_CHECK_CLOSE(sent, sum, 1e-12);
        RH_CHECK_CLOSE(rh_schedule_wire_bytes(s), most, 1e-12);
        g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:4x1");
        g_autoptr(RhRun) run = kit_run(p, platform, (RhEngineOptions){0});
        RH_CHECK_CLOSE(run->bytes_total, sum, 1e-9);
    }
}

/* Groups over nodes with two NICs for eight GPUs, beside an even exchange of other groups. */
static void folded_and_unfolded_agree(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s,nics:2");
    for (size_t i = 0; i < G_N_ELEMENTS(loads); i++)
        for (int32_t stride = 1; stride <= 8; stride *= 2) {
            g_autoptr(RhProgram) p = uneven(32, 4, 1e8, loads[i].shares, loads[i].count);
            g_array_index(p->groups, RhGroup, 0).spans[0].stride = stride;
            g_autoptr(RhRun) few = kit_run(p, platform, (RhEngineOptions){0});
            g_autoptr(RhRun) all = kit_run(p, platform, (RhEngineOptions){.unfolded = true});
            RH_CHECK_CLOSE(few->step_time_s, all->step_time_s, 1e-6);
            RH_CHECK_CLOSE(few->bytes_total, all->bytes_total, 1e-9);
            double dry_s = 0;
            CU_ASSERT_TRUE(rh_critical_path_s(p, platform, &dry_s, NULL));
            CU_ASSERT_TRUE(dry_s <= few->step_time_s * (1 + 1e-9));
        }
}

static void files_keep_shares(void)
{
    g_autoptr(RhProgram) p = uneven(4, 4, 1e6, all_unlike, 16);
    g_autofree char *text = rh_program_to_json(p);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("p.json", text, strlen(text), &error);
    g_autoptr(RhProgram) q = rh_program_from_json(doc, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    g_autofree char *again = rh_program_to_json(q);
    CU_ASSERT_STRING_EQUAL(text, again);
    int32_t count;
    const double *shares = rh_task_shares(q, rh_program_task(q, 0), &count);
    CU_ASSERT_EQUAL_FATAL(count, 16);
    CU_ASSERT_EQUAL(memcmp(shares, all_unlike, sizeof all_unlike), 0);
    g_autoptr(RhProgram) even = kit_one_collective(4, 4, 1, RH_OP_ALL_TO_ALL, RH_ALGO_DIRECT, 1e6);
    g_autofree char *without = rh_program_to_json(even);
    CU_ASSERT_PTR_NULL(strstr(without, "volumes"));
}

/* Of each size as many sends as receives, and no more. */
static void goal_sends_what_is_not_nothing(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:4x1");
    g_autoptr(RhProgram) p = uneven(4, 4, 1000, one_pair, 16);
    g_autofree char *text = rh_program_to_goal(p, platform, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "send 1000b to 3"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "recv 1000b from 1"));
    const char *first = strstr(text, "send");
    CU_ASSERT_PTR_NULL(first ? strstr(first + 1, "send") : NULL);
}

static void wrong_volumes_are_refused(void)
{
    for (int wrong = 0; wrong < 6; wrong++) {
        g_autoptr(RhProgram) p = uneven(4, 4, 1e6, all_unlike, 16);
        RhTask *task = &g_array_index(p->tasks, RhTask, 0);
        RhVolumes *volumes = &g_array_index(p->volumes, RhVolumes, 0);
        CU_ASSERT_TRUE(rh_program_check(p, NULL));
        if (wrong == 0)
            task->volumes = 2;
        if (wrong == 1)
            task->volumes = -1;
        if (wrong == 2)
            task->op = RH_OP_REDUCE_SCATTER;
        if (wrong == 3)
            volumes->count = 5;
        if (wrong == 4)
            g_array_index(p->shares, double, 3) = (double)NAN;
        if (wrong == 5)
            g_array_index(p->shares, double, 3) = -0.5;
        CU_ASSERT_FALSE(rh_program_check(p, NULL));
    }
}

int main(void)
{
    return rh_test_main(
        "volumes",
        (RhTest[]){{"a_step_takes_as_long_as_its_largest_message",
                    a_step_takes_as_long_as_its_largest_message},
                   {"equal_shares_are_an_even_all_to_all", equal_shares_are_an_even_all_to_all},
                   {"links_carry_what_the_shares_say", links_carry_what_the_shares_say},
                   {"folded_and_unfolded_agree", folded_and_unfolded_agree},
                   {"files_keep_shares", files_keep_shares},
                   {"goal_sends_what_is_not_nothing", goal_sends_what_is_not_nothing},
                   {"wrong_volumes_are_refused", wrong_volumes_are_refused},
                   {0}});
}

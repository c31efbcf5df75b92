/* Copies between tiers of memory: links of their own, that GPUs may share. */
#include "tests/kit/program_kit.h"

#define BYTES 8e9
#define RATE  64e9 /* of a host link of h100-sxm */
#define ALONE (BYTES / RATE)

static const RhEngineOptions folded = {0}, unfolded = {.unfolded = true};

static void set(RhPlatform *platform, const char *key, const char *value)
{
    CU_ASSERT_TRUE_FATAL(rh_platform_set(platform, key, value, NULL));
}

static RhPlatform *four_gpus(const char *gpus_per_link)
{
    RhPlatform *platform = kit_platform("h100-sxm:4x1");
    set(platform, "host.bandwidth", "64GB/s");
    set(platform, "host.gpus_per_link", gpus_per_link);
    set(platform, "nvme.bandwidth", "32GB/s");
    return platform;
}

static int32_t copy(RhProgram *p, RhLane lane, RhMemoryTier from, RhMemoryTier to, int32_t pred)
{
    RhTask task = kit_task(RH_TASK_COPY, lane);
    task.label = rh_program_label(p, "copy");
    task.from = (uint8_t)from;
    task.to = (uint8_t)to;
    task.bytes = BYTES;
    return rh_program_add_task(p, task, &pred, 1);
}

static int32_t copy_out(RhProgram *p, int32_t pred)
{
    return copy(p, RH_LANE_COPY_OUT, RH_MEMORY_TIER_HBM, RH_MEMORY_TIER_HOST, pred);
}

/* Ranks that are all alike. */
static RhProgram *copies(int32_t ranks, RhMemoryTier from, RhMemoryTier to)
{
    RhProgram *p = rh_program_new(ranks);
    RhStride all = {1, ranks};
    rh_program_begin_role(p, "all", 0, &all, 1);
    copy(p, RH_LANE_COPY_OUT, from, to, -1);
    rh_program_end_role(p);
    return p;
}

static RhProgram *all_copy(RhMemoryTier from, RhMemoryTier to)
{
    return copies(4, from, to);
}

static void check_time(const RhProgram *p, const RhPlatform *platform, double wanted_s)
{
    double dry_s = 0;
    CU_ASSERT_TRUE(rh_program_check(p, NULL));
    RH_CHECK_CLOSE(kit_time_s(p, platform, folded), wanted_s, 1e-9);
    RH_CHECK_CLOSE(kit_time_s(p, platform, unfolded), wanted_s, 1e-9);
    CU_ASSERT_TRUE(rh_critical_path_s(p, platform, &dry_s, NULL));
    CU_ASSERT_TRUE(dry_s <= wanted_s * (1 + 1e-9));
}

static void gpus_of_one_link_get_their_share(void)
{
    static const char *const sharers[] = {"1", "2", "4"};
    for (size_t i = 0; i < G_N_ELEMENTS(sharers); i++) {
        g_autoptr(RhPlatform) platform = four_gpus(sharers[i]);
        g_autoptr(RhProgram) p = all_copy(RH_MEMORY_TIER_HBM, RH_MEMORY_TIER_HOST);
        check_time(p, platform, ALONE * atoi(sharers[i]));
        double dry_s = 0;
        CU_ASSERT_TRUE(rh_critical_path_s(p, platform, &dry_s, NULL));
        RH_CHECK_CLOSE(dry_s, ALONE, 1e-12);
    }
}

/* The second begins when the first is half done: both at half speed, then the second alone. */
static void who_comes_later_shares_from_then_on(void)
{
    for (int apart = 1; apart <= 2; apart++) {
        g_autoptr(RhPlatform) platform = four_gpus("2");
        g_autoptr(RhProgram) p = rh_program_new(4);
        for (int32_t r = 0; r < 2; r++) {
            rh_program_begin_role(p, r ? "late" : "early", r * apart, NULL, 0);
            copy_out(p, kit_wait(p, r * ALONE / 2, NULL, 0));
            rh_program_end_role(p);
        }
        check_time(p, platform, apart == 1 ? 2 * ALONE : 1.5 * ALONE);
    }
}

static void both_ways_at_once_do_not_meet(void)
{
    g_autoptr(RhPlatform) platform = four_gpus("1");
    g_autoptr(RhProgram) p = rh_program_new(4);
    RhStride all = {1, 4};
    rh_program_begin_role(p, "all", 0, &all, 1);
    copy_out(p, -1);
    copy(p, RH_LANE_COPY_IN, RH_MEMORY_TIER_HOST, RH_MEMORY_TIER_HBM, -1);
    rh_program_end_role(p);
    check_time(p, platform, ALONE);
}

static void drives_are_shared_by_a_node(void)
{
    g_autoptr(RhPlatform) platform = four_gpus("1");
    g_autoptr(RhProgram) down = all_copy(RH_MEMORY_TIER_HOST, RH_MEMORY_TIER_NVME);
    g_autoptr(RhProgram) through = all_copy(RH_MEMORY_TIER_HBM, RH_MEMORY_TIER_NVME);
    g_autoptr(RhProgram) up = all_copy(RH_MEMORY_TIER_NVME, RH_MEMORY_TIER_HBM);
    check_time(down, platform, 4 * BYTES / 32e9);
    check_time(through, platform, 4 * BYTES / 32e9);
    check_time(up, platform, 4 * BYTES / 32e9);
    set(platform, "nvme.bandwidth", "1TB/s");
    check_time(through, platform, ALONE);
}

static void without_drives_it_is_said(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:4x1");
    g_autoptr(RhProgram) p = all_copy(RH_MEMORY_TIER_HBM, RH_MEMORY_TIER_NVME);
    g_autoptr(GError) error = NULL;
    double dry_s = 0;
    set(platform, "nvme.bandwidth", "0GB/s");
    CU_ASSERT_PTR_NULL(rh_rehearse_isolated(p, platform, &folded, &error));
    CU_ASSERT_PTR_NOT_NULL(error ? strstr(error->message, "nvme.bandwidth") : NULL);
    CU_ASSERT_FALSE(rh_critical_path_s(p, platform, &dry_s, NULL));
    CU_ASSERT_PTR_NULL(rh_program_to_goal(p, platform, NULL));
}

/* Kernels keep their SMs, and communication its links. */
static void a_copy_disturbs_neither_kernels_nor_messages(void)
{
    g_autoptr(RhPlatform) platform = four_gpus("2");
    g_autoptr(RhProgram) alone = kit_one_collective(4, 4, 1, RH_OP_ALL_REDUCE, RH_ALGO_RING, 1e9);
    double sum_s = kit_time_s(alone, platform, folded);
    g_autoptr(RhProgram) p = rh_program_new(4);
    RhStride all = {1, 4};
    rh_program_begin_role(p, "all", 0, &all, 1);
    int32_t group = rh_program_add_group(p, "all", &all, 1);
    copy_out(p, -1);
    int32_t wait = kit_wait(p, 3 * ALONE, NULL, 0);
    kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_RING, group, 1e9, wait);
    rh_program_end_role(p);
    check_time(p, platform, 3 * ALONE + sum_s);
}

/* Tensor groups of two or four on hosts whose links one, two, four or eight GPUs share: ranks of a
 * group are listed once where links allow it. */
static void copies_beside_groups_fold(void)
{
    static const char *const sharers[] = {"1", "2", "4", "8"};
    for (size_t i = 0; i < G_N_ELEMENTS(sharers); i++)
        for (int32_t size = 2; size <= 4; size += 2) {
            g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x2,ib:400Gb/s");
            set(platform, "host.bandwidth", "64GB/s");
            set(platform, "host.gpus_per_link", sharers[i]);
            set(platform, "nvme.bandwidth", "32GB/s");
            g_autoptr(RhProgram) alone =
                kit_one_collective(16, size, 1, RH_OP_ALL_REDUCE, RH_ALGO_RING, 1e9);
            double sum_s = kit_time_s(alone, platform, folded);
            g_autoptr(RhProgram) p = rh_program_new(16);
            RhStride all = {1, 16}, tensor = {1, size};
            rh_program_begin_role(p, "all", 0, &all, 1);
            rh_program_add_group(p, "tp", &tensor, 1);
            int32_t out = copy_out(p, -1);
            kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_RING, 0, 1e9, -1);
            copy(p, RH_LANE_COPY_OUT, RH_MEMORY_TIER_HOST, RH_MEMORY_TIER_NVME, out);
            rh_program_end_role(p);
            double copies_s = ALONE * atoi(sharers[i]) + 8 * BYTES / 32e9;
            check_time(p, platform, MAX(copies_s, sum_s));
            g_autoptr(RhRun) few = kit_run(p, platform, folded);
            g_autoptr(RhRun) every = kit_run(p, platform, unfolded);
            RH_CHECK_CLOSE(few->bytes_total, every->bytes_total, 1e-9);
            CU_ASSERT_EQUAL(few->performers->len, 1);
        }
}

/* 16 nodes below leaves of 4, all GPUs at once: the narrowest of NIC, leaf, client and servers. */
static void storage_is_reached_over_the_network(void)
{
    static const struct {
        const char *key, *value;
        double node_bytes_per_s; /* of what it then sends */
    } narrowest[] = {{"storage.bandwidth", "10TB/s", 8 * 50e9},
                     {"leaf.oversubscription", "4", 2 * 50e9},
                     {"storage.client_bandwidth", "60GB/s", 60e9},
                     {"storage.bandwidth", "800GB/s", 50e9},
                     {"storage.network", "20GB/s", 20e9}};
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x16,ib:400Gb/s,leaf:4");
    set(platform, "nic.efficiency", "1");
    g_autoptr(RhProgram) out = copies(128, RH_MEMORY_TIER_HOST, RH_MEMORY_TIER_STORAGE);
    g_autoptr(RhProgram) in = copies(128, RH_MEMORY_TIER_STORAGE, RH_MEMORY_TIER_HBM);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_rehearse_isolated(out, platform, &folded, &error));
    CU_ASSERT_PTR_NOT_NULL(error ? strstr(error->message, "storage.bandwidth") : NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(narrowest); i++) {
        set(platform, narrowest[i].key, narrowest[i].value);
        double rate = narrowest[i].node_bytes_per_s;
        RH_CHECK_CLOSE(rh_platform_storage_bytes_per_s(platform, 16, true), 16 * rate, 1e-12);
        check_time(out, platform, 8 * BYTES / rate);
        check_time(in, platform, 8 * BYTES / rate);
    }
}

static void who_waits_for_a_copy_is_told_so(void)
{
    g_autoptr(RhPlatform) platform = four_gpus("1");
    g_autoptr(RhProgram) p = rh_program_new(4);
    RhStride all = {1, 4};
    rh_program_begin_role(p, "all", 0, &all, 1);
    int32_t out = copy_out(p, -1);
    kit_wait(p, 1e-3, &out, 1);
    rh_program_end_role(p);
    g_autoptr(RhRun) run = kit_run(p, platform, folded);
    CU_ASSERT_EQUAL(run->performers->len, 1);
    const RhPerformer *a = &g_array_index(run->performers, RhPerformer, 0);
    RH_CHECK_CLOSE(a->wait_s[RH_WAIT_COPY], ALONE, 1e-9);
    RH_CHECK_CLOSE(run->bytes_total, 4 * BYTES, 1e-9);
}

/* Copies take their uncontended time with packets, and in GOAL. */
static void goal_and_packets_take_the_time_alone(void)
{
    g_autoptr(RhPlatform) platform = four_gpus("2");
    g_autoptr(RhProgram) p = all_copy(RH_MEMORY_TIER_HBM, RH_MEMORY_TIER_HOST);
    g_autofree char *text = rh_program_to_goal(p, platform, NULL);
    g_autofree char *calc =
        g_strdup_printf("calc %.0f cpu %d\n", ALONE * 1e9, rh_program_task(p, 0)->lane);
    CU_ASSERT_PTR_NOT_NULL(text ? strstr(text, calc) : NULL);
    g_autoptr(RhPlatform) lab = kit_platform("lab-star:4");
    RH_CHECK_CLOSE(kit_time_s(p, lab, unfolded), BYTES / lab->host_bytes_per_s.value, 1e-9);
}

static void links_have_names_that_lead_back(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x3,ib:400Gb/s");
    set(platform, "host.gpus_per_link", "2");
    set(platform, "nvme.bandwidth", "0GB/s");
    CU_ASSERT_EQUAL(rh_platform_link_by_name(platform, "nvme/node0/in"), -1);
    set(platform, "nvme.bandwidth", "10GB/s");
    CU_ASSERT_EQUAL(rh_platform_link_by_name(platform, "storage/servers/in"), -1);
    set(platform, "storage.bandwidth", "10GB/s");
    RhLink way[RH_STORAGE_ROUTE_MAX];
    for (int32_t gpu = 0; gpu < 24; gpu++)
        for (int i = rh_platform_storage_route(platform, gpu, gpu % 2 == 0, way); i-- > 0;) {
            g_autofree char *name = rh_platform_link_name(platform, way[i]);
            CU_ASSERT_EQUAL(rh_platform_link_by_name(platform, name), way[i]);
        }
    for (int32_t gpu = 0; gpu < 24; gpu++)
        for (int out = 0; out < 2; out++) {
            RhLink links[] = {rh_platform_host_link(platform, gpu, out),
                              rh_platform_nvme_link(platform, gpu / 8, out)};
            g_autofree char *host = rh_platform_link_name(platform, links[0]);
            g_autofree char *drives = rh_platform_link_name(platform, links[1]);
            g_autofree char *wanted = g_strdup_printf("host/node%d/gpu%d/%s", gpu / 8,
                                                      gpu % 8 / 2 * 2, out ? "out" : "in");
            CU_ASSERT_STRING_EQUAL(host, wanted);
            CU_ASSERT_EQUAL(rh_platform_link_by_name(platform, host), links[0]);
            CU_ASSERT_EQUAL(rh_platform_link_by_name(platform, drives), links[1]);
            CU_ASSERT_TRUE(links[1] < rh_platform_links_count(platform));
        }
    static const char *const wrong[] = {"host/node0/out", "host/node0/gpu8/out", "nvme/node3/in",
                                        "nvme/node0/gpu0/in", "host/node0/gpu0/up"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
        CU_ASSERT_EQUAL(rh_platform_link_by_name(platform, wrong[i]), -1);
}

int main(void)
{
    return rh_test_main(
        "tier_copy",
        (RhTest[]){{"gpus_of_one_link_get_their_share", gpus_of_one_link_get_their_share},
                   {"storage_is_reached_over_the_network", storage_is_reached_over_the_network},
                   {"who_comes_later_shares_from_then_on", who_comes_later_shares_from_then_on},
                   {"both_ways_at_once_do_not_meet", both_ways_at_once_do_not_meet},
                   {"drives_are_shared_by_a_node", drives_are_shared_by_a_node},
                   {"without_drives_it_is_said", without_drives_it_is_said},
                   {"a_copy_disturbs_neither_kernels_nor_messages",
                    a_copy_disturbs_neither_kernels_nor_messages},
                   {"copies_beside_groups_fold", copies_beside_groups_fold},
                   {"who_waits_for_a_copy_is_told_so", who_waits_for_a_copy_is_told_so},
                   {"goal_and_packets_take_the_time_alone", goal_and_packets_take_the_time_alone},
                   {"links_have_names_that_lead_back", links_have_names_that_lead_back},
                   {0}});
}

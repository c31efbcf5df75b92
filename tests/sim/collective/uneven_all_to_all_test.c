/* Uneven all-to-alls: experts that are not equally loaded. */
#include "tests/kit/program_kit.h"
#include "workloads/expert_load.h"

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

/* Returns the closed form: in step k member i sends to i + k, and the step takes as long as its
 * largest message. */
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
        g_autoptr(RhSchedule) s = rh_schedule_of_task(p, rh_program_task(p, 0), NULL, NULL, NULL);
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

/* One token of d bytes, as lectures count (the MUG 2025 tutorial of MVAPICH has this table for 4, 8 and 16
 * ranks) and as links do. Tensor parallel: N ranks sum N vectors; a ring sends 2 (N-1) d. Experts, one a
 * token: a vector there and one back, whatever N; an Nth of them stays where it is.
 * Source: MVAPICH, MUG 2025 tutorial, its table for 4, 8 and 16 ranks. */
static void a_token_is_counted_both_ways(void)
{
    static const double d = 8192;
    for (int32_t n = 4; n <= 16; n *= 2) {
        g_autoptr(RhProgram) sum = kit_one_collective(n, n, 1, RH_OP_ALL_REDUCE, RH_ALGO_RING, d);
        g_autoptr(RhProgram) mail =
            kit_one_collective(n, n, 1, RH_OP_ALL_TO_ALL, RH_ALGO_DIRECT, d);
        g_autoptr(RhSchedule) tensor =
            rh_schedule_of_task(sum, rh_program_task(sum, 0), NULL, NULL, NULL);
        g_autoptr(RhSchedule) expert =
            rh_schedule_of_task(mail, rh_program_task(mail, 0), NULL, NULL, NULL);
        RH_CHECK_CLOSE(n * tensor->bytes, n * d, 1e-15);
        RH_CHECK_CLOSE(n * rh_schedule_wire_bytes(tensor), 2 * (n - 1) * d, 1e-12);
        RH_CHECK_CLOSE(2 * expert->bytes, 2 * d, 1e-15);
        RH_CHECK_CLOSE(2 * rh_schedule_wire_bytes(expert), 2 * (n - 1) * d / n, 1e-12);
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

/* GOAL has as many sends as receives of each size, and none of no bytes. */
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

/* --- tokens that are sent once --- */

/* Computes the expected parts by listing every choice: bits of the groups, then of the experts in
 * them. */
static double parts_by_listing(const RhRouting *r, int32_t parts)
{
    int32_t size = r->experts / r->groups, each = r->experts / parts;
    double met = 0, choices = 0;
    for (uint32_t groups = 0; groups < 1u << r->groups; groups++) {
        uint32_t allowed = 0;
        for (int32_t g = 0; g < r->groups; g++)
            allowed |= groups >> g & 1 ? ((1u << size) - 1) << g * size : 0;
        if (__builtin_popcount(groups) != r->groups_chosen)
            continue;
        for (uint32_t chosen = 0; chosen < 1u << r->experts; chosen++) {
            if ((chosen & ~allowed) != 0 || __builtin_popcount(chosen) != r->chosen)
                continue;
            choices++;
            for (int32_t part = 0; part < parts; part++)
                met += (chosen >> part * each & ((1u << each) - 1)) != 0;
        }
    }
    return met / choices;
}

static void expected_parts_are_those_of_every_choice(void)
{
    static const RhRouting routings[] = {{12, 3, 1, 1, 0, 0}, {12, 3, 4, 2, 0, 0},
                                         {12, 4, 3, 2, 0, 0}, {12, 2, 6, 1, 0, 0},
                                         {12, 5, 2, 2, 0, 0}, {8, 1, 4, 4, 0, 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(routings); i++)
        for (int32_t parts = 1; parts <= routings[i].experts; parts++)
            if (routings[i].experts % parts == 0)
                RH_CHECK_CLOSE(rh_routing_parts(&routings[i], parts),
                               parts_by_listing(&routings[i], parts), 1e-12);
    RhRouting v3 = {256, 8, 8, 4, 0, 0}; /* four nodes of eight at most */
    RH_CHECK_CLOSE(rh_routing_parts(&v3, 8), 3.6290109244256996, 1e-12);
    RH_CHECK_CLOSE(rh_routing_parts(&v3, 64), 7.359370078740134, 1e-12);
}

/* --- Chance --- */

/* The first `count` of `all` in an order drawn anew, for the rest of this file's draws. */
static void draw_some(GRand *rand, int32_t *numbers, int32_t all, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t other = g_rand_int_range(rand, i, all), kept = numbers[i];
        numbers[i] = numbers[other];
        numbers[other] = kept;
    }
}

static int32_t busiest_of(GRand *rand, const RhRouting *r, int32_t parts, int32_t tokens)
{
    int32_t groups[8], experts[64], of[64] = {0}, most = 0, size = r->experts / r->groups;
    for (int32_t i = 0; i < r->groups; i++)
        groups[i] = i;
    for (int32_t t = 0; t < tokens; t++) {
        draw_some(rand, groups, r->groups, r->groups_chosen);
        for (int32_t i = 0; i < r->groups_chosen * size; i++)
            experts[i] = groups[i / size] * size + i % size;
        draw_some(rand, experts, r->groups_chosen * size, r->chosen);
        for (int32_t i = 0; i < r->chosen; i++)
            of[experts[i] / (r->experts / parts)]++;
    }
    for (int32_t p = 0; p < parts; p++)
        most = MAX(most, of[p]);
    return most;
}

/* The load of the busiest rank is as drawn 4,000 times, where a token's experts are within
 * groups. */
static void chance_is_as_drawn(void)
{
    static const RhRouting r = {64, 8, 8, 4, 0, 0}, free = {64, 8, 1, 1, 0, 0};
    static const int32_t parts[] = {2, 4, 8, 16}, tokens[] = {8, 64};
    GRand *rand = g_rand_new_with_seed(7);
    for (size_t p = 0; p < G_N_ELEMENTS(parts); p++)
        for (size_t t = 0; t < G_N_ELEMENTS(tokens); t++) {
            double sum = 0, mean = tokens[t] * 8.0 / parts[p];
            for (int i = 0; i < 4000; i++)
                sum += busiest_of(rand, &r, parts[p], tokens[t]);
            double told = rh_routing_busiest(&r, parts[p], tokens[t]);
            RH_CHECK_CLOSE(told, sum / 4000 / mean, 0.05);
            CU_ASSERT_EQUAL(rh_routing_busiest(&free, parts[p], tokens[t]), 1);
        }
    CU_ASSERT_EQUAL(rh_routing_busiest(&r, 1, 64), 1);
    g_rand_free(rand);
}

/* A program of 32 ranks, all in one group: 8 on each of 4 nodes. */
static RhProgram *routed(RhAlgo algo, double bytes, const RhRouting *routing)
{
    RhProgram *p = kit_one_collective(32, 32, 1, RH_OP_ALL_TO_ALL, algo, bytes);
    if (routing)
        g_array_index(p->tasks, RhTask, 0).volumes = rh_program_add_routing(p, routing);
    CU_ASSERT_TRUE(rh_program_check(p, NULL));
    return p;
}

/* A member sends to each of three nodes what its members are to have, once; and hands on what came,
 * and its own, to seven fellows. */
static void nodes_are_sent_a_token_once(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s");
    RhRouting routing = {64, 8, 8, 4, 0, 0};
    for (int once = 0; once < 2; once++) {
        g_autoptr(RhProgram) p = routed(RH_ALGO_FORWARDING, 1e9, once ? &routing : NULL);
        g_autofree int32_t *gpus = rh_group_gpus(p, 0, 0);
        g_autoptr(RhSchedule) s =
            rh_schedule_of_task(p, rh_program_task(p, 0), platform, gpus, NULL);
        double frac = once ? rh_routing_parts(&routing, 4) / rh_routing_parts(&routing, 32) : 1;
        double out = 0, inside = 0;
        for (guint f = 0; f < s->flows->len; f++) {
            const RhFlow *flow = &g_array_index(s->flows, RhFlow, f);
            *(flow->src / 8 == flow->dst / 8 ? &inside : &out) += flow->bytes;
        }
        RH_CHECK_CLOSE(out, 32 * 0.75e9 * frac, 1e-12);
        RH_CHECK_CLOSE(inside, 32 * 0.875e9, 1e-12);
        /* three steps of both, the fourth hands on what came last */
        double a_s = rh_platform_route_latency_s(platform, 0, 8),
               node_s = rh_platform_route_latency_s(platform, 0, 1);
        double sent_s = 0.25e9 * frac / route_bytes_per_s(platform, 0, 8),
               handed_s = 0.875e9 / 4 / route_bytes_per_s(platform, 0, 1);
        double wanted_s = platform->collective_launch_s.value + 3 * (a_s + MAX(sent_s, handed_s)) +
                          node_s + handed_s;
        RH_CHECK_CLOSE(kit_time_s(p, platform, (RhEngineOptions){0}), wanted_s, 1e-9);
        RH_CHECK_CLOSE(kit_time_s(p, platform, (RhEngineOptions){.unfolded = true}), wanted_s,
                       1e-9);
    }
}

/* The library for tokens forwards where nodes are far, and need not where there is one; what is sent as
 * often as it is asked for goes as ever. */
static void tokens_take_the_quicker_way(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s");
    RhRouting routing = {64, 8, 8, 4, 0, 0};
    int32_t nodes[32], one[8] = {0};
    for (int32_t i = 0; i < 32; i++)
        nodes[i] = i / 8;
    CU_ASSERT_EQUAL(
        rh_collective_choose_routed(RH_OP_ALL_TO_ALL, 32, nodes, 1e8, &routing, platform, NULL),
        RH_ALGO_FORWARDING);
    CU_ASSERT_EQUAL(rh_collective_choose(RH_OP_ALL_TO_ALL, 32, nodes, 1e8, platform, NULL),
                    RH_ALGO_DIRECT);
    g_autofree char *why = NULL;
    rh_collective_choose_routed(RH_OP_ALL_TO_ALL, 8, one, 1e8, &routing, platform, &why);
    CU_ASSERT_PTR_NOT_NULL_FATAL(why);
    CU_ASSERT_PTR_NOT_NULL(strstr(why, "direct"));
    CU_ASSERT_PTR_NOT_NULL(strstr(why, "forwarding"));
}

/* A power law's experts are dealt out, a histogram's are in a row; what is above the capacity is dropped. */
static void the_busiest_rank_is_as_busy_as_the_load_says(void)
{
    static const struct {
        const char *text;
        double capacity;
        int32_t ranks;
        double busiest;
    } rows[] = {
        {"balanced", 0, 4, 1},
        {"balanced", 0.5, 4, 0.5},
        {"power-law:0", 0, 4, 1},
        {"power-law:1", 0, 8,
         8 / (1 + 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5. + 1 / 6. + 1 / 7. + 1 / 8.)},
        {"power-law:1", 0, 4,
         4 * (1 + 1 / 5.) / (1 + 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5. + 1 / 6. + 1 / 7. + 1 / 8.)},
        {"power-law:1", 0, 1, 1},
        {"histogram:3x2-1x6", 0, 8, 8 * 3 / 12.},
        {"histogram:3x2-1x6", 0, 4, 4 * 6 / 12.},
        {"histogram:1x7-3", 0, 4, 4 * 4 / 10.},
        {"histogram:3x2-1x6", 1.25, 4, 1.25},
        {"histogram:0x7-1", 2, 8, 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhExpertLoad load = {.capacity = rows[i].capacity};
        CU_ASSERT_TRUE(rh_expert_load_parse(rows[i].text, &load, NULL));
        RH_CHECK_CLOSE(rh_expert_load_busiest(&load, 8, rows[i].ranks), rows[i].busiest, 1e-12);
    }
    static const char *const wrong[] = {"",
                                        "even",
                                        "power-law:",
                                        "power-law:-1",
                                        "power-law:11",
                                        "histogram:",
                                        "histogram:0x8",
                                        "histogram:1x0",
                                        "histogram:1x",
                                        "histogram:a-b",
                                        "histogram:1--2",
                                        "power-law:1x"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        RhExpertLoad load = {0};
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_expert_load_parse(wrong[i], &load, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
}

/* Every step of a pairwise exchange between ranks with a link each waits for the messages to the
 * busiest member, as if all sent as much. Where some are nearer than others, no step waits longer
 * than that. */
static void the_busiest_member_paces_an_exchange(void)
{
    RhExpertLoad load = {0};
    CU_ASSERT_TRUE(rh_expert_load_parse("power-law:0.7", &load, NULL));
    double shares[32], sum = 0, busiest = rh_expert_load_busiest(&load, 32, 32);
    for (int32_t i = 0; i < 32; i++)
        sum += pow(i + 1, -0.7);
    for (int32_t i = 0; i < 32; i++)
        shares[i] = pow(i + 1, -0.7) / sum;
    g_autoptr(RhProgram) p = uneven(32, 32, 1e9, shares, 32);
    g_autoptr(RhProgram) all = routed(RH_ALGO_DIRECT, 1e9 * busiest, NULL);
    g_autoptr(RhPlatform) flat = kit_platform("h100-sxm:1x32,ib:400Gb/s");
    g_autoptr(RhPlatform) nodes = kit_platform("h100-sxm:8x4,ib:400Gb/s");
    RhEngineOptions options = {0};
    RH_CHECK_CLOSE(kit_time_s(p, flat, options), kit_time_s(all, flat, options), 1e-9);
    CU_ASSERT_TRUE(kit_time_s(p, nodes, options) < kit_time_s(all, nodes, options));
}

/* Exchanges take the efficiency of their kernels, not that of collectives: on one node, and on
 * four, where a member sends 24 of its 32 parts through its NIC. */
static void kernels_have_a_pace_of_their_own(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s");
    RhRouting routing = {64, 8, 1, 1, 0.5, 0.25};
    double nvlink = platform->nvlink_bytes_per_s.value, nic = platform->nic_bytes_per_s.value;
    for (int nodes = 1; nodes <= 4; nodes += 3) {
        g_autoptr(RhProgram) p =
            kit_one_collective(8 * nodes, 8 * nodes, 1, RH_OP_ALL_TO_ALL, RH_ALGO_DIRECT, 1e9);
        g_array_index(p->tasks, RhTask, 0).volumes = rh_program_add_routing(p, &routing);
        g_autofree int32_t *gpus = rh_group_gpus(p, 0, 0);
        g_autoptr(RhSchedule) s =
            rh_schedule_of_task(p, rh_program_task(p, 0), platform, gpus, NULL);
        double expected_s =
            nodes == 1 ? 7 / 8.0 * 1e9 / (0.5 * nvlink) : 24 / 32.0 * 1e9 / (0.25 * nic);
        double moving_s = rh_schedule_time(s, p, platform, 0, 0).moving_s;
        /* Rounds with neighbours of the own node among them wait for those beyond. */
        CU_ASSERT_TRUE(moving_s >= expected_s * (1 - 1e-9));
        CU_ASSERT_TRUE(moving_s <= expected_s * (nodes == 1 ? 1 + 1e-9 : 1.35));
    }
}

static void files_keep_routings(void)
{
    RhRouting routing = {64, 8, 8, 4, 0.67, 0.94};
    g_autoptr(RhProgram) p = routed(RH_ALGO_FORWARDING, 1e6, &routing);
    CU_ASSERT_EQUAL(rh_program_add_routing(p, &routing), 1); /* known already */
    g_autofree char *text = rh_program_to_json(p);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_parse("p.json", text, strlen(text), &error);
    g_autoptr(RhProgram) q = rh_program_from_json(doc, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    const RhRouting *read = rh_task_routing(q, rh_program_task(q, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(read);
    CU_ASSERT_EQUAL(memcmp(read, &routing, sizeof routing), 0);
    g_autofree char *again = rh_program_to_json(q);
    CU_ASSERT_STRING_EQUAL(text, again);
}

static void wrong_routings_are_refused(void)
{
    static const RhRouting wrong[] = {{60, 8, 4, 4, 0, 0}, {64, 0, 1, 1, 0, 0},
                                      {64, 8, 5, 1, 0, 0}, {64, 8, 8, 9, 0, 0},
                                      {64, 9, 8, 1, 0, 0}, {-1, 1, 1, 1, 0, 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        RhRouting right = {64, 8, 8, 4, 0, 0};
        g_autoptr(RhProgram) p = routed(RH_ALGO_FORWARDING, 1e6, &right);
        g_array_index(p->volumes, RhVolumes, 0).routing = wrong[i];
        CU_ASSERT_FALSE(rh_program_check(p, NULL));
    }
}

int main(void)
{
    return rh_test_main(
        "uneven_all_to_all",
        (RhTest[]){
            {"a_step_takes_as_long_as_its_largest_message",
             a_step_takes_as_long_as_its_largest_message},
            {"equal_shares_are_an_even_all_to_all", equal_shares_are_an_even_all_to_all},
            {"links_carry_what_the_shares_say", links_carry_what_the_shares_say},
            {"a_token_is_counted_both_ways", a_token_is_counted_both_ways},
            {"folded_and_unfolded_agree", folded_and_unfolded_agree},
            {"files_keep_shares", files_keep_shares},
            {"goal_sends_what_is_not_nothing", goal_sends_what_is_not_nothing},
            {"wrong_volumes_are_refused", wrong_volumes_are_refused},
            {"expected_parts_are_those_of_every_choice", expected_parts_are_those_of_every_choice},
            {"chance_is_as_drawn", chance_is_as_drawn},
            {"nodes_are_sent_a_token_once", nodes_are_sent_a_token_once},
            {"tokens_take_the_quicker_way", tokens_take_the_quicker_way},
            {"kernels_have_a_pace_of_their_own", kernels_have_a_pace_of_their_own},
            {"the_busiest_rank_is_as_busy_as_the_load_says",
             the_busiest_rank_is_as_busy_as_the_load_says},
            {"the_busiest_member_paces_an_exchange", the_busiest_member_paces_an_exchange},
            {"files_keep_routings", files_keep_routings},
            {"wrong_routings_are_refused", wrong_routings_are_refused},
            {0}});
}

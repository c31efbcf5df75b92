/* Programs: ranks by arithmetic, and every invariant that rh_program_check guards. */
#include "tests/kit/program_kit.h"

/* --- arithmetic --- */

static void a_group_has_every_rank_in_one_place(void)
{
    static const RhStride patterns[][3] = {{{1, 4}, {16, 2}, {1, 1}},
                                           {{16, 2}, {1, 4}, {4, 4}},
                                           {{8, 4}, {1, 1}, {1, 1}},
                                           {{1, 32}, {1, 1}, {1, 1}},
                                           {{4, 2}, {16, 2}, {2, 1}}};
    for (size_t i = 0; i < G_N_ELEMENTS(patterns); i++) {
        RhProgram *p = rh_program_new(32);
        int32_t count[32] = {0}, members[32], again[32];
        rh_program_add_group(p, "g", patterns[i], 3);
        const RhGroup *g = rh_program_group(p, 0);
        CU_ASSERT_EQUAL(g->size,
                        patterns[i][0].extent * patterns[i][1].extent * patterns[i][2].extent);
        for (int32_t rank = 0; rank < 32; rank++) {
            int32_t own = rh_group_members(g, rank, members);
            CU_ASSERT_TRUE(own >= 0 && own < g->size && members[own] == rank);
            count[members[0]]++;
            rh_group_members(g, members[0], again);
            CU_ASSERT_EQUAL(memcmp(members, again, (size_t)g->size * sizeof(int32_t)), 0);
        }
        for (int32_t rank = 0; rank < 32; rank++)
            CU_ASSERT_TRUE(count[rank] == 0 || count[rank] == g->size);
        rh_program_free(p);
    }
}

static void members_are_numbered_with_the_first_span_fastest(void)
{
    g_autoptr(RhProgram) p = rh_program_new(32);
    RhStride spans[] = {{8, 2}, {1, 4}};
    int32_t members[8], wanted[] = {16, 24, 17, 25, 18, 26, 19, 27};
    rh_program_add_group(p, "g", spans, 2);
    CU_ASSERT_EQUAL(rh_group_members(rh_program_group(p, 0), 26, members), 5);
    CU_ASSERT_EQUAL(memcmp(members, wanted, sizeof(wanted)), 0);
}

static void a_role_lists_its_box_of_ranks(void)
{
    g_autoptr(RhProgram) p = rh_program_new(32);
    RhStride spans[] = {{1, 2}, {8, 3}};
    int32_t wanted[] = {4, 5, 12, 13, 20, 21};
    rh_program_begin_role(p, "r", 4, spans, 2);
    rh_program_end_role(p);
    CU_ASSERT_EQUAL(rh_program_role(p, 0)->ranks_count, 6);
    g_autofree int32_t *role_of = rh_program_role_of_rank(p);
    int32_t inside = 0;
    for (int32_t i = 0; i < 6; i++) {
        CU_ASSERT_EQUAL(rh_role_rank(rh_program_role(p, 0), i), wanted[i]);
        CU_ASSERT_EQUAL(role_of[wanted[i]], 0);
    }
    for (int32_t rank = 0; rank < 32; rank++)
        inside += role_of[rank] == 0;
    CU_ASSERT_EQUAL(inside, 6);
    CU_ASSERT_EQUAL(role_of[6], -1);
}

static void a_bundle_takes_its_kernels_and_a_gap_after_each(void)
{
    g_autoptr(RhProgram) p = two_stages();
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:4x1,nvlink:450GB/s");
    double kernels = 0;
    for (guint i = 0; i < 2; i++)
        kernels += rh_kernel_time_s(platform->device, &g_array_index(p->kernels, RhKernel, i));
    RH_CHECK_CLOSE(rh_bundle_time_s(p, platform->device, 0), kernels + 2 * p->kernel_gap_s, 1e-12);
    CU_ASSERT_EQUAL(rh_bundle_time_s(p, platform->device, 1), 1e-3);
}

static void a_task_is_at_most_a_hundred_bytes(void)
{
    CU_ASSERT_TRUE(sizeof(RhTask) <= 100);
}

/* --- the check: each change alone breaks a sound program --- */

/* Task numbers of two_stages(). */
enum { GEMM, SUM, SEND, RECV, COPY, MARK, ARRIVES, WAIT, BACK };

static RhTask *task(RhProgram *p, int32_t i)
{
    return &g_array_index(p->tasks, RhTask, i);
}

static RhRole *role(RhProgram *p, int32_t i)
{
    return &g_array_index(p->roles, RhRole, i);
}

static RhGroup *group(RhProgram *p)
{
    return &g_array_index(p->groups, RhGroup, 0);
}

static RhMemoryEvent *event(RhProgram *p, int32_t i)
{
    return &g_array_index(p->memory, RhMemoryEvent, i);
}

static RhBundle *bundle(RhProgram *p, int32_t i)
{
    return &g_array_index(p->bundles, RhBundle, i);
}

/* Gives a task one predecessor, stored behind the others. */
static void set_pred(RhProgram *p, int32_t i, int32_t pred)
{
    task(p, i)->preds_first = (int32_t)p->preds->len;
    task(p, i)->preds_count = 1;
    g_array_append_val(p->preds, pred);
}

static void set_group(RhProgram *p, RhStride a, RhStride b)
{
    group(p)->spans_count = 2;
    group(p)->spans[0] = a;
    group(p)->spans[1] = b;
    group(p)->size = a.extent * b.extent;
}

#define BREAKS(name, ...)                                                                          \
    static void break_##name(RhProgram *p)                                                         \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
BREAKS(ranks_none, p->ranks_count = 0)
BREAKS(ranks_below, p->ranks_count = -1)
BREAKS(ranks_above, p->ranks_count = (1 << 24) + 1)
BREAKS(ranks_too_few, p->ranks_count = 3)
BREAKS(group_size, group(p)->size = 3)
BREAKS(group_extent, group(p)->spans[0].extent = 0)
BREAKS(group_stride, group(p)->spans[0].stride = 0)
BREAKS(group_stride_below, group(p)->spans[0].stride = -1)
BREAKS(group_spans, group(p)->spans_count = RH_STRIDES_MAX + 1)
BREAKS(group_spans_below, group(p)->spans_count = -1)
BREAKS(group_label, group(p)->label = 99)
BREAKS(group_reach, group(p)->spans[0].stride = 4)
BREAKS(group_overflow, group(p)->spans[0] = ((RhStride){INT32_MAX, INT32_MAX}))
BREAKS(group_overlap, set_group(p, (RhStride){1, 2}, (RhStride){1, 2}))
BREAKS(group_outside_role, group(p)->spans[0].stride = 2)
BREAKS(group_larger_than_role, set_group(p, (RhStride){1, 2}, (RhStride){2, 2}))
BREAKS(role_size, role(p, 0)->ranks_count = 1)
BREAKS(role_spans, role(p, 0)->spans_count = RH_STRIDES_MAX + 1)
BREAKS(role_label, role(p, 0)->label = -1)
BREAKS(role_first_below, role(p, 0)->first_rank = -1)
BREAKS(role_past_end, role(p, 1)->first_rank = 3)
BREAKS(role_overlap, role(p, 1)->first_rank = 1)
BREAKS(role_tasks_first, role(p, 1)->tasks_first++)
BREAKS(role_tasks_count, role(p, 0)->tasks_count--)
BREAKS(role_tasks_left, role(p, 1)->tasks_count--)
BREAKS(role_tasks_below, role(p, 1)->tasks_count = -1)
BREAKS(role_memory, role(p, 0)->memory_count++)
BREAKS(role_memory_first, role(p, 0)->memory_first = -1)
BREAKS(memory_use, event(p, 0)->use = RH_MEMORY_LAST)
BREAKS(memory_tier, event(p, 0)->tier = RH_MEMORY_TIER_LAST)
BREAKS(memory_nan, event(p, 0)->bytes = (double)NAN)
BREAKS(memory_infinite, event(p, 0)->bytes = (double)INFINITY)
BREAKS(memory_at, event(p, 2)->at_task = ARRIVES + 1)
BREAKS(memory_at_below, event(p, 0)->at_task = -1)
BREAKS(bundle_first, bundle(p, 0)->first = -1)
BREAKS(bundle_count, bundle(p, 0)->count = 3)
BREAKS(bundle_count_below, bundle(p, 1)->count = -1)
BREAKS(bundle_overflow, bundle(p, 0)->count = INT32_MAX)
BREAKS(bundle_nan, bundle(p, 1)->seconds = (double)NAN)
BREAKS(task_kind_none, task(p, MARK)->kind = RH_TASK_NONE)
BREAKS(task_kind, task(p, MARK)->kind = RH_TASK_LAST)
BREAKS(task_lane, task(p, MARK)->lane = RH_LANES_MAX)
BREAKS(task_phase, task(p, MARK)->phase = RH_PHASE_LAST)
BREAKS(task_label, task(p, MARK)->label = 99)
BREAKS(task_label_below, task(p, MARK)->label = -1)
BREAKS(task_role, task(p, MARK)->role = 1)
BREAKS(task_bytes_nan, task(p, COPY)->bytes = (double)NAN)
BREAKS(task_bytes_below, task(p, COPY)->bytes = -1)
BREAKS(copy_to_itself, task(p, COPY)->to = RH_MEMORY_TIER_HBM)
BREAKS(copy_to_nowhere, task(p, COPY)->to = RH_MEMORY_TIER_LAST)
BREAKS(copy_from_nowhere, task(p, COPY)->from = RH_MEMORY_TIER_LAST)
BREAKS(mark_that_copies, task(p, MARK)->from = RH_MEMORY_TIER_HOST)
BREAKS(preds_first, task(p, MARK)->preds_first = -1)
BREAKS(preds_count, task(p, MARK)->preds_count = 255)
BREAKS(pred_below, set_pred(p, MARK, -1))
BREAKS(pred_above, set_pred(p, MARK, BACK + 1))
BREAKS(pred_of_another_role, set_pred(p, MARK, WAIT))
BREAKS(kernel_without_bundle, task(p, GEMM)->bundle = -1)
BREAKS(kernel_bundle, task(p, GEMM)->bundle = 2)
BREAKS(collective_without_group, task(p, SUM)->group = -1)
BREAKS(collective_group, task(p, SUM)->group = 1)
BREAKS(collective_op_none, task(p, SUM)->op = RH_OP_NONE)
BREAKS(collective_op, task(p, SUM)->op = RH_OP_LAST)
BREAKS(collective_algo_none, task(p, SUM)->algo = RH_ALGO_NONE)
BREAKS(collective_algo, task(p, SUM)->algo = RH_ALGO_LAST)
BREAKS(send_unmatched, task(p, SEND)->peer_task = -1)
BREAKS(send_past_end, task(p, SEND)->peer_task = BACK + 1)
BREAKS(send_to_a_kernel, task(p, SEND)->peer_task = WAIT)
BREAKS(send_to_a_send, task(p, SEND)->peer_task = BACK)
BREAKS(send_one_sided, task(p, ARRIVES)->peer_task = BACK)
BREAKS(send_both_recv, task(p, SEND)->kind = RH_TASK_RECV)
BREAKS(send_bytes, task(p, SEND)->bytes++)
BREAKS(send_delta, task(p, SEND)->peer_delta = 1)
BREAKS(send_delta_both, (task(p, SEND)->peer_delta = 1, task(p, ARRIVES)->peer_delta = -1))
BREAKS(send_to_itself, (task(p, SEND)->peer_delta = 0, task(p, ARRIVES)->peer_delta = 0))
BREAKS(send_delta_extreme, task(p, SEND)->peer_delta = INT32_MIN)
BREAKS(cycle_of_one, set_pred(p, GEMM, GEMM))
BREAKS(cycle_of_two, set_pred(p, GEMM, SUM))
BREAKS(cycle_by_lane, set_pred(p, GEMM, MARK)) /* both on the compute lane */
/* Stage 0 sends only after it has received; stage 1 sends back only after it has received. */
BREAKS(cycle_by_messages, set_pred(p, SEND, RECV))

#define CASE(name)                                                                                 \
    {                                                                                              \
#name, break_##name                                                                        \
    }
static const struct {
    const char *name;
    void (*apply)(RhProgram *p);
} breaks[] = {CASE(ranks_none),
              CASE(ranks_below),
              CASE(ranks_above),
              CASE(ranks_too_few),
              CASE(group_size),
              CASE(group_extent),
              CASE(group_stride),
              CASE(group_stride_below),
              CASE(group_spans),
              CASE(group_spans_below),
              CASE(group_label),
              CASE(group_reach),
              CASE(group_overflow),
              CASE(group_overlap),
              CASE(group_outside_role),
              CASE(group_larger_than_role),
              CASE(role_size),
              CASE(role_spans),
              CASE(role_label),
              CASE(role_first_below),
              CASE(role_past_end),
              CASE(role_overlap),
              CASE(role_tasks_first),
              CASE(role_tasks_count),
              CASE(role_tasks_left),
              CASE(role_tasks_below),
              CASE(role_memory),
              CASE(role_memory_first),
              CASE(memory_use),
              CASE(memory_tier),
              CASE(memory_nan),
              CASE(memory_infinite),
              CASE(memory_at),
              CASE(memory_at_below),
              CASE(bundle_first),
              CASE(bundle_count),
              CASE(bundle_count_below),
              CASE(bundle_overflow),
              CASE(bundle_nan),
              CASE(task_kind_none),
              CASE(task_kind),
              CASE(task_lane),
              CASE(task_phase),
              CASE(task_label),
              CASE(task_label_below),
              CASE(task_role),
              CASE(task_bytes_nan),
              CASE(task_bytes_below),
              CASE(copy_to_itself),
              CASE(copy_to_nowhere),
              CASE(copy_from_nowhere),
              CASE(mark_that_copies),
              CASE(preds_first),
              CASE(preds_count),
              CASE(pred_below),
              CASE(pred_above),
              CASE(pred_of_another_role),
              CASE(kernel_without_bundle),
              CASE(kernel_bundle),
              CASE(collective_without_group),
              CASE(collective_group),
              CASE(collective_op_none),
              CASE(collective_op),
              CASE(collective_algo_none),
              CASE(collective_algo),
              CASE(send_unmatched),
              CASE(send_past_end),
              CASE(send_to_a_kernel),
              CASE(send_to_a_send),
              CASE(send_one_sided),
              CASE(send_both_recv),
              CASE(send_bytes),
              CASE(send_delta),
              CASE(send_delta_both),
              CASE(send_to_itself),
              CASE(send_delta_extreme),
              CASE(cycle_of_one),
              CASE(cycle_of_two),
              CASE(cycle_by_lane),
              CASE(cycle_by_messages)};

static void every_broken_invariant_is_refused(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(breaks); i++) {
        g_autoptr(RhProgram) p = two_stages();
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE(rh_program_check(p, NULL));
        breaks[i].apply(p);
        bool sound = rh_program_check(p, &error);
        if (sound)
            fprintf(stderr, "    accepted: %s\n", breaks[i].name);
        CU_ASSERT_FALSE(sound);
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
}

/* Strides 1 and 4 reach as far as 1 + 2 * 4, and 3 and 1 as far as 3 + 2. */
static void spans_reach_their_last_member_and_no_further(void)
{
    static const struct {
        RhStride spans[2];
        int32_t ranks_least;
    } groups[] = {{{{1, 2}, {4, 3}}, 10}, {{{3, 2}, {1, 3}}, 6}, {{{1, 1}, {7, 2}}, 8}};
    for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
        for (int32_t ranks = groups[i].ranks_least - 1; ranks <= groups[i].ranks_least; ranks++) {
            g_autoptr(RhProgram) p = rh_program_new(ranks);
            rh_program_add_group(p, "g", groups[i].spans, 2);
            CU_ASSERT_EQUAL(rh_program_check(p, NULL), ranks == groups[i].ranks_least);
        }
}

static void harmless_changes_are_accepted(void)
{
    g_autoptr(RhProgram) p = two_stages();
    set_pred(p, RECV, SEND); /* the other order does not deadlock */
    event(p, 2)->at_task = MARK;
    group(p)->spans_count = 2; /* a span of one changes nothing */
    group(p)->spans[1] = (RhStride){1, 1};
    CU_ASSERT_TRUE(rh_program_check(p, NULL));
    p->ranks_count = 5; /* a rank without a role */
    CU_ASSERT_TRUE(rh_program_check(p, NULL));
}

/* Ranks 1 and 2 play the role; its groups pair 0 with 1 and 2 with 3. */
static void a_role_that_holds_half_of_a_group_is_refused(void)
{
    for (int32_t first = 0; first < 3; first++) {
        g_autoptr(RhProgram) p = rh_program_new(4);
        RhStride pair = {1, 2};
        rh_program_begin_role(p, "role", first, &pair, 1);
        kit_collective(p, RH_LANE_TP, RH_OP_ALL_REDUCE, RH_ALGO_RING,
                       rh_program_add_group(p, "tp", &pair, 1), 1e6, -1);
        rh_program_end_role(p);
        CU_ASSERT_EQUAL(rh_program_check(p, NULL), (first != 1));
    }
    g_autoptr(RhProgram) p = rh_program_new(2);
    RhStride pair = {1, 2};
    rh_program_begin_role(p, "second alone", 1, NULL, 0);
    kit_collective(p, RH_LANE_TP, RH_OP_ALL_REDUCE, RH_ALGO_RING,
                   rh_program_add_group(p, "tp", &pair, 1), 1e6, -1);
    rh_program_end_role(p);
    CU_ASSERT_FALSE(rh_program_check(p, NULL));
}

/* --- groups across roles --- */

/* Ranks 0 to 7, two to a role. Roles 0 and 3 call a group of one rank each, once or twice. */
static RhProgram *first_and_last(void)
{
    RhProgram *p = rh_program_new(8);
    RhStride pair = {1, 2}, ends = {6, 2};
    int32_t group = rh_program_add_group(p, "ends", &ends, 1);
    rh_program_space_group(p, group, 0, 8);
    for (int32_t r = 0; r < 4; r++) {
        rh_program_begin_role(p, "stage", 2 * r, &pair, 1);
        int32_t wait = kit_wait(p, 1e-3 * (r + 1), NULL, 0);
        for (int32_t call = 0; call < 2 && (r == 0 || r == 3); call++)
            kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_RING, group, 1e6 * (call + 1),
                           wait);
        rh_program_end_role(p);
    }
    return p;
}
/* tasks of the program: 0 wait, 1 and 2 calls | 3 | 4 | 5 wait, 6 and 7 calls */

static void a_group_may_join_first_and_last_role(void)
{
    g_autoptr(RhProgram) p = first_and_last();
    g_autoptr(GError) error = NULL;
    int32_t members[2], first;
    CU_ASSERT_TRUE(rh_program_check(p, &error));
    CU_ASSERT_EQUAL(rh_group_members(group(p), 7, members), 1);
    CU_ASSERT_TRUE(members[0] == 1 && members[1] == 7);
    for (int32_t rank = 2; rank < 6; rank++)
        CU_ASSERT_EQUAL(rh_group_place(group(p), rank, &first), -1);
}

static RhProgram *two_turns(void)
{
    RhProgram *p = rh_program_new(16);
    RhStride pair[] = {{1, 2}, {8, 2}}, ends = {6, 2};
    int32_t group = rh_program_add_group(p, "ends", &ends, 1);
    rh_program_space_group(p, group, 0, 8);
    for (int32_t r = 0; r < 4; r += 3) {
        rh_program_begin_role(p, "stage", 2 * r, pair, 2);
        kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_RING, group, 1e6, -1);
        rh_program_end_role(p);
    }
    return p;
}

static void such_a_group_begins_again_after_its_period(void)
{
    g_autoptr(RhProgram) p = two_turns();
    int32_t members[2];
    CU_ASSERT_TRUE(rh_program_check(p, NULL));
    CU_ASSERT_EQUAL(rh_group_members(group(p), 9, members), 0);
    CU_ASSERT_TRUE(members[0] == 9 && members[1] == 15);
    group(p)->periods[0] = 0; /* after 12 ranks: 9 then belongs to 3 */
    CU_ASSERT_FALSE(rh_program_check(p, NULL));
}

/* Pairs of the first four of every five ranks from rank 1 on, and the fives' same places. */
static void a_group_begins_again_with_its_lap(void)
{
    static const int32_t places[] = {-1, 0, 1, 0, 1, -1, 0, 1, 0, 1, -1, 0};
    g_autoptr(RhProgram) p = rh_program_new(12);
    RhStride pair = {1, 2}, across[] = {{1, 4}, {5, 2}};
    int32_t pairs = rh_program_add_group(p, "pairs", &pair, 1), members[8];
    int32_t both = rh_program_add_group(p, "both", across, 2);
    for (int32_t g = 0; g < 2; g++) {
        rh_program_shift_group(p, g, 1);
        rh_program_lap_group(p, g, 5, 4);
    }
    for (int32_t rank = 0; rank < 12; rank++)
        CU_ASSERT_EQUAL(rh_group_members(rh_program_group(p, pairs), rank, members), places[rank]);
    CU_ASSERT_EQUAL(rh_group_members(rh_program_group(p, both), 8, members), 6);
    CU_ASSERT_TRUE(members[0] == 1 && members[3] == 4 && members[4] == 6 && members[7] == 9);
    CU_ASSERT_EQUAL(rh_group_members(rh_program_group(p, both), 5, members), -1);
    CU_ASSERT_TRUE(rh_program_check(p, NULL));
    group(p)->held = 3; /* of which the second pair would be half */
    CU_ASSERT_FALSE(rh_program_check(p, NULL));
    group(p)->held = 4;
    g_array_index(p->groups, RhGroup, both).lap = 3; /* not that far apart */
    CU_ASSERT_FALSE(rh_program_check(p, NULL));
}

BREAKS(across_op, task(p, 6)->op = RH_OP_REDUCE_SCATTER)
BREAKS(across_bytes, task(p, 7)->bytes++)
BREAKS(across_algo, task(p, 1)->algo = RH_ALGO_TREE)
BREAKS(across_count, task(p, 7)->kind = RH_TASK_MARK)
BREAKS(across_none, task(p, 6)->kind = task(p, 7)->kind = RH_TASK_MARK)
BREAKS(across_order, set_pred(p, 1, 2)) /* on one lane, so that none of both starts */
BREAKS(across_stranger, (task(p, 3)->kind = RH_TASK_COLLECTIVE, task(p, 3)->group = 0,
                         task(p, 3)->op = RH_OP_ALL_REDUCE, task(p, 3)->algo = RH_ALGO_RING))
BREAKS(across_period_short, group(p)->periods[0] = 6)
BREAKS(across_period_long, group(p)->periods[0] = 9)
BREAKS(across_period_below, group(p)->periods[0] = -1)

static void such_a_group_is_called_alike_by_all_its_roles(void)
{
    static void (*const changes[])(RhProgram *) = {
        break_across_op,          break_across_bytes,       break_across_algo,
        break_across_count,       break_across_none,        break_across_order,
        break_across_stranger,    break_across_period_long, break_across_period_short,
        break_across_period_below};
    for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
        g_autoptr(RhProgram) p = first_and_last();
        g_autoptr(GError) error = NULL;
        changes[i](p);
        bool sound = rh_program_check(p, &error);
        if (sound)
            fprintf(stderr, "    accepted: change %zu\n", i);
        CU_ASSERT_FALSE(sound);
    }
}

/* Roles 0, 1 and 2; half of role 0 meets role 1 and half role 2. */
static void ranks_of_a_role_meet_the_same_roles(void)
{
    g_autoptr(RhProgram) p = rh_program_new(4);
    RhStride pair = {1, 2};
    int32_t across = rh_program_add_group(p, "pairs", &(RhStride){2, 2}, 1);
    for (int32_t r = 0; r < 3; r++) {
        rh_program_begin_role(p, "role", r == 0 ? 0 : r + 1, &pair, r == 0 ? 1 : 0);
        kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_RING, across, 1e6, -1);
        rh_program_end_role(p);
    }
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(rh_program_check(p, &error));
    CU_ASSERT_PTR_NOT_NULL(error ? strstr(error->message, "meet the same roles") : NULL);
}

/* Two groups, called the other way round by the other role. */
static void crossed_calls_are_found_to_wait_for_each_other(void)
{
    for (int crossed = 0; crossed < 2; crossed++) {
        g_autoptr(RhProgram) p = rh_program_new(2);
        RhStride pair = {1, 2};
        int32_t groups[] = {rh_program_add_group(p, "a", &pair, 1),
                            rh_program_add_group(p, "b", &pair, 1)};
        for (int32_t r = 0; r < 2; r++) {
            rh_program_begin_role(p, "role", r, NULL, 0);
            for (int32_t call = 0; call < 2; call++)
                kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_RING,
                               groups[(call + r * crossed) % 2], 1e6, -1);
            rh_program_end_role(p);
        }
        g_autoptr(GError) error = NULL;
        CU_ASSERT_EQUAL(rh_program_check(p, &error), !crossed);
        CU_ASSERT_EQUAL(error && strstr(error->message, "wait for each other"), crossed);
    }
}

int main(void)
{
    return rh_test_main(
        "program_check",
        (RhTest[]){{"a_group_has_every_rank_in_one_place", a_group_has_every_rank_in_one_place},
                   {"members_are_numbered_with_the_first_span_fastest",
                    members_are_numbered_with_the_first_span_fastest},
                   {"a_role_lists_its_box_of_ranks", a_role_lists_its_box_of_ranks},
                   {"a_bundle_takes_its_kernels_and_a_gap_after_each",
                    a_bundle_takes_its_kernels_and_a_gap_after_each},
                   {"a_task_is_at_most_a_hundred_bytes", a_task_is_at_most_a_hundred_bytes},
                   {"every_broken_invariant_is_refused", every_broken_invariant_is_refused},
                   {"spans_reach_their_last_member_and_no_further",
                    spans_reach_their_last_member_and_no_further},
                   {"harmless_changes_are_accepted", harmless_changes_are_accepted},
                   {"a_role_that_holds_half_of_a_group_is_refused",
                    a_role_that_holds_half_of_a_group_is_refused},
                   {"a_group_may_join_first_and_last_role", a_group_may_join_first_and_last_role},
                   {"a_group_begins_again_with_its_lap", a_group_begins_again_with_its_lap},
                   {"such_a_group_begins_again_after_its_period",
                    such_a_group_begins_again_after_its_period},
                   {"such_a_group_is_called_alike_by_all_its_roles",
                    such_a_group_is_called_alike_by_all_its_roles},
                   {"ranks_of_a_role_meet_the_same_roles", ranks_of_a_role_meet_the_same_roles},
                   {"crossed_calls_are_found_to_wait_for_each_other",
                    crossed_calls_are_found_to_wait_for_each_other},
                   {0}});
}

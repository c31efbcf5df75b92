/* GOAL: the text is read back, and must be a schedule that can be performed. */
#include "tests/kit/program_kit.h"
#include "tests/kit/train_kit.h"

/* --- the exact text of a small program --- */

static RhProgram *two_ranks(void)
{
    RhProgram *p = rh_program_new(2);
    rh_program_begin_role(p, "sender", 0, NULL, 0);
    int32_t kernel = kit_wait(p, 1.2e-6, NULL, 0);
    int32_t send = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, 1, 1000, kernel);
    kit_wait(p, 3e-6, &send, 1);
    rh_program_end_role(p);
    rh_program_begin_role(p, "receiver", 1, NULL, 0);
    int32_t recv = kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -1, 1000, -1);
    kit_wait(p, 2e-9, &recv, 1);
    rh_program_end_role(p);
    rh_program_match(p, send, recv);
    return p;
}

static void a_small_program_has_this_text(void)
{
    g_autoptr(RhProgram) p = two_ranks();
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:2x1,nvlink:450GB/s");
    g_autofree char *text = rh_program_to_goal(p, platform, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_STRING_EQUAL(text, "num_ranks 2\n"
                                 "rank 0 {\n"
                                 "l1: calc 1200\n"
                                 "l2: send 1000b to 1 tag 1\n"
                                 "l2 requires l1\n"
                                 "l3: calc 3000\n"
                                 "l3 requires l1\n"
                                 "l3 requires l2\n"
                                 "}\n"
                                 "rank 1 {\n"
                                 "l1: recv 1000b from 0 tag 1\n"
                                 "l2: calc 2\n"
                                 "l2 requires l1\n"
                                 "}\n");
}

static void a_ring_of_two_has_this_text(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:2x1,nvlink:450GB/s");
    g_autoptr(RhProgram) p = kit_one_collective(2, 2, 1, RH_OP_REDUCE_SCATTER, RH_ALGO_RING, 3000);
    g_autofree char *text = rh_program_to_goal(p, platform, NULL);
    g_autofree char *wanted =
        g_strdup_printf("num_ranks 2\n"
                        "rank 0 {\n"
                        "l1: calc %.0f cpu %d\n"
                        "l2: send 1500b to 1 tag 0\n"
                        "l2 requires l1\n"
                        "l3: recv 1500b from 1 tag 0\n"
                        "l3 requires l1\n"
                        "l4: calc 0\n"
                        "l4 requires l2\n"
                        "l4 requires l3\n"
                        "}\n",
                        platform->collective_launch_s.value * 1e9, rh_program_task(p, 0)->lane);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_TRUE(g_str_has_prefix(text, wanted));
}

/* --- reading it back --- */

typedef struct {
    char kind; /* c, s, r */
    int64_t value, tag;
    int32_t peer;
    int *sent;     /* messages of this kind on their way */
    int32_t waits; /* lines it still waits for */
    int32_t next;  /* first edge to what waits for it, or -1 */
} Line;

typedef struct {
    int32_t line, next;
} Edge;

typedef struct {
    int32_t rank, label;
} Place;

typedef struct {
    int32_t ranks_count;
    GArray **lines;    /* per rank: Line, by label - 1 */
    GArray **requires; /* per rank: Edge */
} Schedule;

static void schedule_clear(Schedule *s)
{
    for (int32_t r = 0; r < s->ranks_count; r++) {
        g_array_unref(s->lines[r]);
        g_array_unref(s->requires[r]);
    }
    g_free(s->lines);
    g_free(s->requires);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Schedule, schedule_clear)

static Line *line_at(const Schedule *s, int32_t rank, int32_t label)
{
    return &g_array_index(s->lines[rank], Line, label - 1);
}

/* One line of a block; labels rise from 1, `requires` follows its line and looks back. */
static bool read_line(Schedule *s, int32_t rank, const char *text)
{
    int label, on;
    long long value, tag;
    int32_t known = (int32_t)s->lines[rank]->len;
    Line l = {.peer = -1, .next = -1};
    if (sscanf(text, "l%d requires l%d", &label, &on) == 2) {
        if (label != known || on < 1 || on >= label)
            return false;
        Edge edge = {label, line_at(s, rank, on)->next};
        line_at(s, rank, on)->next = (int32_t)s->requires[rank] -> len;
        line_at(s, rank, label)->waits++;
        g_array_append_val(s->requires[rank], edge);
        return true;
    }
    if (sscanf(text, "l%d: calc %lld", &label, &value) == 2)
        l.kind = 'c', l.value = value;
    else if (sscanf(text, "l%d: send %lldb to %d tag %lld", &label, &value, &l.peer, &tag) == 4)
        l.kind = 's', l.value = value, l.tag = tag;
    else if (sscanf(text, "l%d: recv %lldb from %d tag %lld", &label, &value, &l.peer, &tag) == 4)
        l.kind = 'r', l.value = value, l.tag = tag;
    g_array_append_val(s->lines[rank], l);
    return l.kind && label == known + 1 && l.value >= (l.kind == 'c' ? 0 : 1) &&
           (l.kind == 'c' || (l.peer >= 0 && l.peer < s->ranks_count && l.peer != rank));
}

/* The next line of *text, cut out of it; NULL at the end. (strstr under a sanitizer reads on to the
 * end.) */
static char *cut_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');
    if (!end)
        return NULL;
    *end = 0;
    *text = end + 1;
    return line;
}

static Schedule read_goal(char *text)
{
    Schedule s = {0};
    CU_ASSERT_EQUAL_FATAL(sscanf(cut_line(&text), "num_ranks %d", &s.ranks_count), 1);
    s.lines = g_new0(GArray *, s.ranks_count);
    s.requires = g_new0(GArray *, s.ranks_count);
    for (int32_t r = 0; r < s.ranks_count; r++) {
        int rank = -1;
        char *line = cut_line(&text);
        s.lines[r] = g_array_new(FALSE, FALSE, sizeof(Line));
        s.requires[r] = g_array_new(FALSE, FALSE, sizeof(Edge));
        CU_ASSERT_TRUE_FATAL(line && sscanf(line, "rank %d {", &rank) == 1 && rank == r);
        while ((line = cut_line(&text)) && strcmp(line, "}"))
            CU_ASSERT_TRUE_FATAL(read_line(&s, r, line));
        CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    }
    CU_ASSERT_EQUAL(*text, 0);
    return s;
}

/* --- what must hold --- */

/* A counter for each sender, receiver, tag and size; lines that share it match each other. */
static GHashTable *join_messages(const Schedule *s)
{
    GHashTable *counters = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (int32_t r = 0; r < s->ranks_count; r++)
        for (guint i = 0; i < s->lines[r]->len; i++) {
            Line *l = &g_array_index(s->lines[r], Line, i);
            if (l->kind == 'c')
                continue;
            bool sends = l->kind == 's';
            g_autofree char *key =
                g_strdup_printf("%d %d %" G_GINT64_FORMAT " %" G_GINT64_FORMAT, sends ? r : l->peer,
                                sends ? l->peer : r, l->tag, l->value);
            l->sent = g_hash_table_lookup(counters, key);
            if (!l->sent)
                g_hash_table_insert(counters, g_steal_pointer(&key), l->sent = g_new0(int, 1));
            *l->sent += sends ? 1 : -1;
        }
    return counters;
}

/* Performs the lines of a rank that wait for nothing, and then what waited for them. */
typedef struct {
    const Schedule *s;
    GArray *ready;    /* Place */
    GHashTable *held; /* counter -> GArray of Place: receives that came before their message */
    int64_t left;
} Player;

static void become_ready(Player *y, int32_t rank, int32_t label)
{
    Place place = {rank, label};
    g_array_append_val(y->ready, place);
}

static void finish(Player *y, Place at)
{
    const GArray *requires = y->s->requires[at.rank];
    Line *l = line_at(y->s, at.rank, at.label);
    y->left--;
    for (int32_t e = l->next; e >= 0; e = g_array_index(requires, Edge, e).next) {
        int32_t label = g_array_index(requires, Edge, e).line;
        if (--line_at(y->s, at.rank, label)->waits == 0)
            become_ready(y, at.rank, label);
    }
}

static GArray *held_by(Player *y, int *counter)
{
    GArray *held = g_hash_table_lookup(y->held, counter);
    if (!held)
        g_hash_table_insert(y->held, counter, held = g_array_new(FALSE, FALSE, sizeof(Place)));
    return held;
}

static void perform(Player *y, Place at)
{
    Line *l = line_at(y->s, at.rank, at.label);
    if (l->kind == 'r' && *l->sent == 0) {
        g_array_append_val(held_by(y, l->sent), at);
        return;
    }
    if (l->kind == 'r')
        --*l->sent;
    finish(y, at);
    if (l->kind != 's')
        return;
    GArray *held = held_by(y, l->sent);
    ++*l->sent;
    if (held->len > 0) {
        Place waiting = g_array_index(held, Place, 0);
        g_array_remove_index(held, 0);
        perform(y, waiting);
    }
}

static int64_t lines_never_reached(const Schedule *s)
{
    g_autoptr(GArray) ready = g_array_new(FALSE, FALSE, sizeof(Place));
    g_autoptr(GHashTable) held =
        g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
    Player y = {s, ready, held, 0};
    for (int32_t r = 0; r < s->ranks_count; r++)
        for (int32_t label = 1; label <= (int32_t)s->lines[r]->len; label++, y.left++)
            if (line_at(s, r, label)->waits == 0)
                become_ready(&y, r, label);
    while (ready->len > 0) {
        Place at = g_array_index(ready, Place, ready->len - 1);
        g_array_set_size(ready, ready->len - 1);
        perform(&y, at);
    }
    return y.left;
}

/* Every send has its receive, and with buffered messages every line is reached. */
static void check_schedule(const Schedule *s)
{
    g_autoptr(GHashTable) counters = join_messages(s);
    GHashTableIter iter;
    void *count;
    int unmatched = 0;
    g_hash_table_iter_init(&iter, counters);
    while (g_hash_table_iter_next(&iter, NULL, &count))
        unmatched += *(int *)count != 0;
    CU_ASSERT_EQUAL(unmatched, 0);
    CU_ASSERT_EQUAL(lines_never_reached(s), 0);
}

static Schedule check_goal(const RhProgram *p, const RhPlatform *platform)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = rh_program_to_goal(p, platform, &error);
    if (!text)
        fprintf(stderr, "    %s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    Schedule s = read_goal(text);
    CU_ASSERT_EQUAL(s.ranks_count, p->ranks_count);
    check_schedule(&s);
    return s;
}

static int64_t sum_of(const Schedule *s, int32_t rank, char kind)
{
    int64_t sum = 0;
    for (guint i = 0; i < s->lines[rank]->len; i++) {
        const Line *l = &g_array_index(s->lines[rank], Line, i);
        sum += l->kind == kind ? l->value : 0;
    }
    return sum;
}

static void every_collective_sends_what_its_schedule_sends(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:4x4,ib:400Gb/s");
    int checked = 0;
    for (RhOp op = RH_OP_ALL_REDUCE; op < RH_OP_LAST; op++)
        for (RhAlgo algo = RH_ALGO_RING; algo < RH_ALGO_LAST; algo++)
            for (int32_t size = 4; size <= 16; size *= 2) {
                int32_t nodes[16];
                for (int32_t m = 0; m < size; m++)
                    nodes[m] = m / 4;
                g_autoptr(RhSchedule) s = rh_schedule_new(op, algo, size, nodes, 1 << 24, NULL);
                if (!s)
                    continue;
                g_autoptr(RhProgram) p = kit_one_collective(16, size, 1, op, algo, 1 << 24);
                g_auto(Schedule) goal = check_goal(p, platform);
                int64_t most = 0;
                for (int32_t r = 0; r < 16; r++)
                    most = MAX(most, sum_of(&goal, r, 's'));
                double wire = rh_schedule_wire_bytes(s);
                CU_ASSERT_TRUE(op == RH_OP_BARRIER ? most < 10 : fabs((double)most - wire) < 64);
                checked++;
            }
    CU_ASSERT_TRUE(checked > 35);
}

static void groups_across_stages_can_be_performed(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s");
    for (int inside = 0; inside < 2; inside++) {
        g_autoptr(RhProgram) p = kit_step((KitStep){.tp = 2,
                                                    .dp = 4,
                                                    .pp = 4,
                                                    .microbatches = 2,
                                                    .layers = 1,
                                                    .stages_inside = inside,
                                                    .tp_algo = RH_ALGO_RING,
                                                    .dp_algo = RH_ALGO_RING,
                                                    .kernel_s = 1e-4,
                                                    .shared_bytes = 1 << 20});
        g_auto(Schedule) s = check_goal(p, platform);
        CU_ASSERT_EQUAL(s.ranks_count, 32);
    }
}

static void random_steps_can_be_performed(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:8x4,ib:400Gb/s");
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 11);
    for (int i = 0; i < 12; i++) {
        KitStep step = kit_draw(rng);
        step.tp = MIN(step.tp, 4), step.dp = MIN(step.dp, 2);
        g_autoptr(RhProgram) p = kit_step(step);
        if (i % 2 && p->ranks_count <= 32)
            kit_shuffle(p, rng);
        kit_settle(p, platform);
        g_auto(Schedule) s = check_goal(p, platform);
        CU_ASSERT_EQUAL(s.ranks_count, p->ranks_count);
    }
    gsl_rng_free(rng);
}

static void a_training_step_calculates_what_its_kernels_take(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 8, 2048);
    RhLayout layout = train_layout(&k, "tp2,pp2,dp2,mb1");
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &layout, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    g_auto(Schedule) s = check_goal(p, k.platform);
    g_autofree int32_t *role_of = rh_program_role_of_rank(p);
    for (int32_t r = 0; r < p->ranks_count; r++) {
        const RhRole *role = rh_program_role(p, role_of[r]);
        double wanted_s = 0;
        for (int32_t i = role->tasks_first; i < role->tasks_first + role->tasks_count; i++) {
            const RhTask *t = rh_program_task(p, i);
            wanted_s += t->kind == RH_TASK_KERNEL
                            ? rh_bundle_time_s(p, k.platform->device, t->bundle)
                        : t->kind == RH_TASK_COLLECTIVE ? k.platform->collective_launch_s.value
                                                        : 0;
        }
        CU_ASSERT_TRUE(fabs((double)sum_of(&s, r, 'c') - wanted_s * 1e9) < role->tasks_count);
    }
}

/* --- what is refused --- */

static void check_refused(const RhProgram *p, const RhPlatform *platform)
{
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE(rh_program_check(p, NULL));
    CU_ASSERT_PTR_NULL(rh_program_to_goal(p, platform, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
}

static RhProgram *waits(int32_t ranks)
{
    RhProgram *p = rh_program_new(ranks);
    RhStride all = {1, ranks};
    rh_program_begin_role(p, "all", 0, &all, 1);
    kit_wait(p, 1e-3, NULL, 0);
    rh_program_end_role(p);
    return p;
}

static void more_than_1024_ranks_are_refused(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("dgx-h100:256");
    g_autoptr(RhProgram) most = waits(1024), above = waits(1025);
    g_auto(Schedule) s = check_goal(most, platform);
    CU_ASSERT_EQUAL(sum_of(&s, 1023, 'c'), 1000000);
    check_refused(above, platform);
}

static void a_text_that_would_fill_the_disk_is_refused(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("dgx-h100:128");
    g_autoptr(RhProgram) p = rh_program_new(1024);
    RhStride all = {1, 1024};
    rh_program_begin_role(p, "all", 0, &all, 1);
    int32_t group = rh_program_add_group(p, "all", &all, 1);
    for (int i = 0; i < 10; i++)
        kit_collective(p, RH_LANE_DP, RH_OP_ALL_REDUCE, RH_ALGO_RING, group, 1e6, -1);
    rh_program_end_role(p);
    check_refused(p, platform);
}

static void ranks_outside_the_platform_are_refused(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("dgx-h100:1");
    g_autoptr(RhProgram) p = waits(9);
    check_refused(p, platform);
    g_autoptr(RhProgram) q = waits(2);
    q->gpu_of_rank = g_new0(int32_t, 2);
    q->gpu_of_rank[1] = 8;
    check_refused(q, platform);
}

static void an_algorithm_that_does_not_go_is_refused(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:4x4,ib:400Gb/s");
    g_autoptr(RhProgram) p =
        kit_one_collective(12, 6, 1, RH_OP_ALL_REDUCE, RH_ALGO_HIERARCHICAL, 1e6);
    check_refused(p, platform);
}

int main(void)
{
    return rh_test_main(
        "program_goal",
        (RhTest[]){
            {"a_small_program_has_this_text", a_small_program_has_this_text},
            {"a_ring_of_two_has_this_text", a_ring_of_two_has_this_text},
            {"every_collective_sends_what_its_schedule_sends",
             every_collective_sends_what_its_schedule_sends},
            {"groups_across_stages_can_be_performed", groups_across_stages_can_be_performed},
            {"random_steps_can_be_performed", random_steps_can_be_performed},
            {"a_training_step_calculates_what_its_kernels_take",
             a_training_step_calculates_what_its_kernels_take},
            {"more_than_1024_ranks_are_refused", more_than_1024_ranks_are_refused},
            {"a_text_that_would_fill_the_disk_is_refused",
             a_text_that_would_fill_the_disk_is_refused},
            {"ranks_outside_the_platform_are_refused", ranks_outside_the_platform_are_refused},
            {"an_algorithm_that_does_not_go_is_refused", an_algorithm_that_does_not_go_is_refused},
            {0}});
}

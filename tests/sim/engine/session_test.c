/* Programs that share a fabric: closed forms of two jobs on one link, beginnings, ends, and what a
 * session refuses. One session lives per process: every body runs in a child, which sends numbers.
 */
#include <gsl/gsl_rng.h>
#include <string.h>

#include "sim/engine/session.h"
#include "sim/engine/workers/process_pool.h"
#include "tests/kit/engine_kit.h"

#define NUMBERS 8

typedef struct {
    void (*body)(double *out);
    double out[NUMBERS];
    bool answered;
} Child;

static GByteArray *run_body(int32_t item, void *user, GError **error)
{
    (void)item, (void)error;
    double out[NUMBERS] = {0};
    ((Child *)user)->body(out);
    return g_byte_array_append(g_byte_array_new(), (const guint8 *)out, sizeof out);
}

static void take_numbers(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    (void)item;
    Child *child = user;
    child->answered = bytes && bytes->len == sizeof child->out;
    if (child->answered)
        memcpy(child->out, bytes->data, sizeof child->out);
    else
        fprintf(stderr, "    %s\n", error ? error->message : "no numbers");
}

/* Runs the body in a child and returns what it writes into out[]. */
static const double *in_child(Child *child, void (*body)(double *out))
{
    *child = (Child){.body = body};
    RhProcessPool workers = {
        .count = 1, .jobs = 1, .perform = run_body, .answer = take_numbers, .user = child};
    rh_process_pool_run(&workers);
    CU_ASSERT_TRUE_FATAL(child->answered);
    return child->out;
}

/* Ends a child with its error, since assertions do not count there. */
static void must(bool fine, GError *error)
{
    if (!fine)
        g_error("%s", error ? error->message : "the test's own assumption");
}

/* --- two jobs of two ranks: each computes, then one sends to the other --- */

#define KERNEL_S 1e-3
#define BYTES    1e8

/* Eight nodes of one GPU, two per leaf; a leaf has half its nodes' bandwidth to the others. */
static const char *const cluster = "h100-sxm:1x8,ib:400Gb/s,leaf:2,oversub:2";

/* Seconds of a message alone from leaf to leaf; the leaf's uplink is as fast as one NIC. */
static double alone_s(const RhPlatform *platform, double *move_s)
{
    *move_s = BYTES / (platform->nic_bytes_per_s.value * platform->nic_efficiency_frac.value);
    return rh_platform_route_latency_s(platform, 0, 2) + *move_s;
}

typedef struct {
    RhPlatform *platform;
    RhProgram *program;
    RhSession *session;
    int32_t a, b;
    GError *error;
} Two;

static Two two_jobs(const int32_t *gpus_a, const int32_t *gpus_b, const RhEngineOptions *options)
{
    Two two = {.platform = kit_platform(cluster),
               .program = kit_kernel_then_message(KERNEL_S, BYTES)};
    two.session = rh_session_open(two.platform, options);
    two.a = rh_session_admit(two.session, two.program, gpus_a, "a", &two.error);
    two.b = rh_session_admit(two.session, two.program, gpus_b, "b", &two.error);
    must(two.a == 0 && two.b == 1, two.error);
    return two;
}

static void submit(Two *two, int32_t job, double t_start_s, int32_t steps)
{
    RhSubmission what = {.job = job, .t_start_s = t_start_s, .steps = steps};
    must(rh_session_submit(two->session, what, &two->error), two->error);
}

/* Times of the next ends, and whose they are. */
static double next_end_s(Two *two, double *job)
{
    RhSessionEvent event;
    must(rh_session_run(two->session, HUGE_VAL, &event, &two->error), two->error);
    must(event.kind == RH_EVENT_ENDED, NULL);
    if (job)
        *job = event.job;
    return event.t_s;
}

static const int32_t leaf_0_node_0[] = {0, 2}, leaf_0_node_1[] = {1, 3}, leaf_2[] = {4, 6};

static void share_from_the_start(double *out)
{
    RhEngineOptions options = {0};
    Two two = two_jobs(leaf_0_node_0, leaf_0_node_1, &options);
    submit(&two, two.a, 0, 1);
    submit(&two, two.b, 0, 1);
    out[0] = next_end_s(&two, NULL);
    out[1] = next_end_s(&two, NULL);
    GArray *met = rh_session_collective_calls(two.session);
    for (uint32_t i = 0; i < met->len; i++)
        out[2] += g_array_index(met, RhSessionLink, i).alike;
    if (met->len > 0) {
        const RhSessionLink *link = &g_array_index(met, RhSessionLink, 0);
        out[3] = link->bytes[0];
        out[4] = link->bytes[1];
        out[5] = (double)link->met;
    }
    rh_session_close(two.session);
}

static void two_jobs_share_a_leaf_as_the_closed_form_says(void)
{
    Child child;
    double move_s;
    g_autoptr(RhPlatform) platform = kit_platform(cluster);
    const double *out = in_child(&child, share_from_the_start);
    double expected_s = KERNEL_S + alone_s(platform, &move_s) + move_s; /* twice as long to move */
    RH_CHECK_CLOSE(out[0], expected_s, 1e-9);
    RH_CHECK_CLOSE(out[1], expected_s, 1e-9);
    CU_ASSERT_EQUAL(out[2], 2); /* the uplink of their leaf, and the downlink of the other */
    RH_CHECK_CLOSE(out[3], BYTES, 1e-12);
    RH_CHECK_CLOSE(out[4], BYTES, 1e-12);
    CU_ASSERT_EQUAL(out[5], 1);
}

#define LATE_S 0.5e-3

static void share_for_a_while(double *out)
{
    RhEngineOptions options = {0};
    Two two = two_jobs(leaf_0_node_0, leaf_0_node_1, &options);
    submit(&two, two.b, LATE_S, 1);
    submit(&two, two.a, 0, 1);
    out[0] = next_end_s(&two, &out[1]);
    out[2] = next_end_s(&two, &out[3]);
}

/* b moves LATE_S after a: until then a has the link for itself, then each has half of it, and when
 * a has gone b has it all. */
static void a_later_job_costs_what_is_left(void)
{
    Child child;
    double move_s;
    g_autoptr(RhPlatform) platform = kit_platform(cluster);
    const double *out = in_child(&child, share_for_a_while);
    double lone_s = KERNEL_S + alone_s(platform, &move_s);
    CU_ASSERT_TRUE(move_s > LATE_S);
    CU_ASSERT_EQUAL(out[1], 0);
    RH_CHECK_CLOSE(out[0], lone_s + move_s - LATE_S, 1e-9);
    CU_ASSERT_EQUAL(out[3], 1);
    RH_CHECK_CLOSE(out[2], lone_s + move_s, 1e-9);
}

static void apart(double *out)
{
    RhEngineOptions options = {0};
    Two two = two_jobs(leaf_0_node_0, leaf_2, &options);
    submit(&two, two.a, 0, 3);
    submit(&two, two.b, 0, 2);
    out[0] = next_end_s(&two, &out[1]);
    out[2] = next_end_s(&two, &out[3]);
    out[4] = rh_session_collective_calls(two.session)->len;
    out[5] = rh_session_report(two.session, two.a)->step_time_s;
    out[6] = rh_session_report(two.session, two.b)->step_time_s;
}

static void on_leaves_of_their_own_they_cost_each_other_nothing(void)
{
    Child child;
    double move_s;
    g_autoptr(RhPlatform) platform = kit_platform(cluster);
    const double *out = in_child(&child, apart);
    double lone_s = KERNEL_S + alone_s(platform, &move_s);
    CU_ASSERT_EQUAL(out[1], 1);
    RH_CHECK_CLOSE(out[0], 2 * lone_s, 1e-12);
    RH_CHECK_CLOSE(out[2], 3 * lone_s, 1e-12);
    CU_ASSERT_EQUAL(out[4], 0);
    RH_CHECK_CLOSE(out[5], lone_s, 1e-12);
    RH_CHECK_CLOSE(out[6], lone_s, 1e-12);
}

/* --- times and cancelling --- */

static void cancel_in_the_middle(double *out)
{
    RhEngineOptions options = {0};
    RhSessionEvent event;
    double move_s;
    Two two = two_jobs(leaf_0_node_0, leaf_0_node_1, &options);
    double t_s = KERNEL_S + alone_s(two.platform, &move_s); /* both have moved half by then */
    submit(&two, two.a, 0, 1);
    submit(&two, two.b, 0, 0);
    must(rh_session_run(two.session, t_s, &event, &two.error), two.error);
    out[0] = event.kind;
    out[1] = rh_session_clock_s(two.session) - t_s;
    rh_session_cancel(two.session, two.b);
    out[2] = next_end_s(&two, NULL) - t_s;
    submit(&two, two.b, rh_session_clock_s(two.session), 1); /* again, and alone */
    out[3] = rh_session_clock_s(two.session);
    out[3] = next_end_s(&two, NULL) - out[3];
    must(rh_session_run(two.session, 1, &event, &two.error), two.error);
    out[4] = event.kind; /* nothing is left, but time goes on */
    out[5] = rh_session_clock_s(two.session);
}

static void a_cancelled_job_leaves_the_link_to_the_other(void)
{
    Child child;
    double move_s;
    g_autoptr(RhPlatform) platform = kit_platform(cluster);
    const double *out = in_child(&child, cancel_in_the_middle);
    double lone_s = KERNEL_S + alone_s(platform, &move_s);
    CU_ASSERT_EQUAL(out[0], RH_EVENT_NONE);
    CU_ASSERT_TRUE(fabs(out[1]) < 1e-12);
    RH_CHECK_CLOSE(out[2], move_s / 2, 1e-9); /* the other half, at full rate */
    RH_CHECK_CLOSE(out[3], lone_s, 1e-9);
    CU_ASSERT_EQUAL(out[4], RH_EVENT_NONE);
    RH_CHECK_CLOSE(out[5], 1, 1e-12);
}

/* --- fold --- */

#define DRAWS 12

static int32_t draw_number;

/* Two random steps side by side on one cluster, interleaved node by node. */
static void two_random_steps(double *out, bool unfolded)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, (unsigned long)draw_number);
    RhPlatform *platform = kit_platform("h100-sxm:8x16,ib:200Gb/s,leaf:4,oversub:3");
    RhEngineOptions options = {.unfolded = unfolded};
    RhSession *s = rh_session_open(platform, &options);
    GError *error = NULL;
    for (int32_t j = 0; j < 2; j++) {
        KitStep k = kit_draw(rng);
        k.dp = MIN(k.dp, 2);
        k.tp = 8;
        k.tp_algo = k.dp_algo = RH_ALGO_RING;
        RhProgram *p = kit_step(k);
        g_autofree int32_t *gpus = g_new(int32_t, p->ranks_count);
        for (int32_t r = 0; r < p->ranks_count; r++)
            gpus[r] = 8 * (2 * (r / 8) + j) + r % 8;
        must(rh_session_admit(s, p, gpus, j ? "b" : "a", &error) == j, error);
    }
    for (int32_t j = 0; j < 2; j++)
        must(rh_session_submit(s, (RhSubmission){.job = j, .t_start_s = j * 1e-3, .steps = 2},
                               &error),
             error);
    RhSessionEvent event;
    for (int32_t i = 0; i < 2; i++) {
        must(rh_session_run(s, HUGE_VAL, &event, &error) && event.kind == RH_EVENT_ENDED, error);
        out[event.job] = rh_session_report(s, event.job)->step_time_s;
    }
    out[2] = rh_session_collective_calls(s)->len;
}

static void folded_steps(double *out)
{
    two_random_steps(out, false);
}

static void unfolded_steps(double *out)
{
    two_random_steps(out, true);
}

static void jobs_beside_each_other_fold_exactly(void)
{
    int met = 0;
    for (draw_number = 1; draw_number <= DRAWS; draw_number++) {
        Child folded, unfolded;
        const double *a = in_child(&folded, folded_steps), *b = in_child(&unfolded, unfolded_steps);
        RH_CHECK_CLOSE(a[0], b[0], 1e-9);
        RH_CHECK_CLOSE(a[1], b[1], 1e-9);
        CU_ASSERT_EQUAL(a[2] > 0, b[2] > 0);
        met += a[2] > 0;
    }
    CU_ASSERT_TRUE(met >= DRAWS / 3); /* else nothing was tried */
}

/* --- refusals, memory --- */

static void be_refused(double *out)
{
    RhEngineOptions options = {0};
    GError *error = NULL;
    RhSessionEvent event;
    static const int32_t outside[] = {0, 8}, twice[] = {5, 5};
    Two two = two_jobs(leaf_0_node_0, leaf_0_node_0, &options);
    out[0] = rh_session_admit(two.session, two.program, outside, "c", &error);
    must(error && error->code == RH_ERROR_INPUT, error);
    g_clear_error(&error);
    out[1] = rh_session_admit(two.session, two.program, twice, "c", &error);
    must(error && error->code == RH_ERROR_INPUT, error);
    g_clear_error(&error);
    submit(&two, two.a, 0, 1);
    RhSubmission again = {.job = two.a, .t_start_s = 1, .steps = 1}, other = again;
    other.job = two.b; /* on the same GPUs */
    out[2] = rh_session_submit(two.session, again, NULL);
    out[3] = rh_session_submit(two.session, other, &error);
    must(error && strstr(error->message, "at the same time"), error);
    next_end_s(&two, NULL);
    out[4] = rh_session_submit(two.session, other, NULL); /* now they are free */
    must(rh_session_run(two.session, HUGE_VAL, &event, &two.error), two.error);
    out[5] = rh_session_admit(two.session, two.program, leaf_2, "c", NULL);
    again.t_start_s = 0;
    out[6] = rh_session_submit(two.session, again, NULL); /* in the past */
    RhSession *second = rh_session_open(two.platform, &options);
    must(rh_session_admit(second, two.program, NULL, "d", NULL) == 0, NULL);
    g_clear_error(&error);
    out[7] = rh_session_run(second, 1, &event, &error);
    must(error && error->code == RH_ERROR_INPUT, error);
}

static void what_cannot_be_is_refused(void)
{
    Child child;
    const double *out = in_child(&child, be_refused);
    static const double expected[NUMBERS] = {-1, -1, false, false, true, -1, false, false};
    for (int i = 0; i < NUMBERS; i++)
        CU_ASSERT_EQUAL(out[i], expected[i]);
}

/* Keeps 3e9 bytes, and 2e9 more while its kernel runs. */
static RhProgram *keeping_program(void)
{
    RhProgram *p = rh_program_new(1);
    rh_program_begin_role(p, "keeper", 0, NULL, 0);
    rh_program_add_memory(p, RH_MEMORY_TIER_HBM, RH_MEMORY_WEIGHTS, 3e9);
    rh_program_add_memory(p, RH_MEMORY_TIER_HBM, RH_MEMORY_ACTIVATIONS, 2e9);
    kit_wait(p, KERNEL_S, NULL, 0);
    rh_program_add_memory(p, RH_MEMORY_TIER_HBM, RH_MEMORY_ACTIVATIONS, -2e9);
    rh_program_end_role(p);
    return p;
}

static void keep_memory(double *out)
{
    RhEngineOptions options = {0};
    RhPlatform *platform = kit_platform(cluster);
    RhSession *s = rh_session_open(platform, &options);
    RhProgram *p = keeping_program();
    RhSessionEvent event;
    static const int32_t gpu[] = {3};
    must(rh_session_admit(s, p, gpu, "a", NULL) == 0 && rh_session_admit(s, p, gpu, "b", NULL) == 1,
         NULL);
    out[0] = rh_session_gpu_bytes(s, 3);
    must(rh_session_submit(s, (RhSubmission){.job = 0, .steps = 1}, NULL), NULL);
    out[1] = rh_session_gpu_bytes(s, 3);
    must(rh_session_run(s, HUGE_VAL, &event, NULL), NULL);
    out[2] = rh_session_gpu_bytes(s, 3);
    must(rh_session_submit(s, (RhSubmission){.job = 1, .t_start_s = 1, .steps = 1}, NULL), NULL);
    out[3] = rh_session_gpu_bytes(s, 3);
    rh_session_cancel(s, 0);
    out[4] = rh_session_gpu_bytes(s, 3);
    out[5] = rh_session_gpu_bytes(s, 2);
}

static void what_programs_keep_stays_on_their_gpus(void)
{
    Child child;
    const double *out = in_child(&child, keep_memory);
    static const double expected[] = {0, 5e9, 3e9, 8e9, 5e9, 0};
    for (int i = 0; i < 6; i++)
        CU_ASSERT_EQUAL(out[i], expected[i]);
}

/* --- packets --- */

static const int32_t ends_a[] = {0, 4}, ends_b[] = {1, 5};

static void share_packets(double *out)
{
    RhPlatform *platform = kit_platform("lab-2x4");
    RhEngineOptions options = {0};
    RhSession *s = rh_session_open(platform, &options);
    RhProgram *p = kit_kernel_then_message(KERNEL_S, 1e6);
    GError *error = NULL;
    RhSessionEvent event;
    must(rh_session_admit(s, p, ends_a, "a", &error) == 0, error);
    must(rh_session_admit(s, p, ends_b, "b", &error) == 1, error);
    must(rh_session_submit(s, (RhSubmission){.job = 0, .steps = 1}, &error), error);
    must(rh_session_run(s, HUGE_VAL, &event, &error), error);
    out[0] = event.t_s; /* alone */
    double t_s = rh_session_clock_s(s) + 1;
    for (int32_t j = 0; j < 2; j++)
        must(rh_session_submit(s, (RhSubmission){.job = j, .t_start_s = t_s, .steps = 1}, &error),
             error);
    must(rh_session_run(s, HUGE_VAL, &event, &error), error);
    must(rh_session_run(s, HUGE_VAL, &event, &error), error);
    out[1] = event.t_s - t_s;
    out[2] = rh_session_collective_calls(s)->len;
    for (int32_t j = 0; j < 2; j++)
        must(rh_session_submit(s, (RhSubmission){.job = j, .t_start_s = event.t_s + 1, .steps = 1},
                               &error),
             error);
    t_s = event.t_s + 1;
    must(rh_session_run(s, t_s + out[0] / 2, &event, &error), error);
    rh_session_cancel(s, 1);
    must(rh_session_run(s, HUGE_VAL, &event, &error), error);
    out[3] = event.job;
    out[4] = event.t_s - t_s;
}

static void packets_of_two_jobs_share_links_too(void)
{
    Child child;
    const double *out = in_child(&child, share_packets);
    CU_ASSERT_TRUE(out[2] > 0);
    CU_ASSERT_TRUE(out[1] > 1.3 * out[0]);
    CU_ASSERT_EQUAL(out[3], 0);
    CU_ASSERT_TRUE(out[4] > 0 && out[4] <= out[1] * (1 + 1e-9));
}

int main(void)
{
    return rh_test_main(
        "session",
        (const RhTest[]){
            {"two_jobs_share_a_leaf_as_the_closed_form_says",
             two_jobs_share_a_leaf_as_the_closed_form_says},
            {"a_later_job_costs_what_is_left", a_later_job_costs_what_is_left},
            {"on_leaves_of_their_own_they_cost_each_other_nothing",
             on_leaves_of_their_own_they_cost_each_other_nothing},
            {"a_cancelled_job_leaves_the_link_to_the_other",
             a_cancelled_job_leaves_the_link_to_the_other},
            {"jobs_beside_each_other_fold_exactly", jobs_beside_each_other_fold_exactly},
            {"what_cannot_be_is_refused", what_cannot_be_is_refused},
            {"what_programs_keep_stays_on_their_gpus", what_programs_keep_stays_on_their_gpus},
            {"packets_of_two_jobs_share_links_too", packets_of_two_jobs_share_links_too},
            {0}});
}

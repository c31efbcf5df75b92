/* A plan beside neighbours: the cost of two jobs on one uplink in closed form, none on leaves of their
 * own, and the placements that switches tell apart. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "strategies/search/colocation/plan_with_jobs.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* Eight nodes of one GPU, two below a leaf, whose way up is as fast as one NIC. */
static const char *const cluster = "h100-sxm:1x8,ib:400Gb/s,leaf:2,oversub:2";

typedef struct {
    TrainKit k;
    RhColocatedJob other;
    RhConstraint two_stages;
    RhPlanOptions options;
} Setting;

/* A job of two stages and one micro-batch; beside it its best layout again on `nodes`. */
static void open_setting(Setting *s, const int32_t *nodes)
{
    *s = (Setting){.k = train_kit("llama-2-7b", cluster, "bare", 1, 2048)};
    s->k.c.job.gpus = 2;
    s->other = (RhColocatedJob){
        .name = "other", .c = &s->k.c, .nodes = nodes, .nodes_count = 2, .steps = 1};
    CU_ASSERT_TRUE_FATAL(rh_constraint_parse("pp=2", false, &s->two_stages, NULL));
    s->options = (RhPlanOptions){.top = 1,
                                 .gap_frac = 0.002,
                                 .risk_frac = 1,
                                 .jobs = 1,
                                 .constraints = &s->two_stages,
                                 .constraints_count = 1};
    g_autoptr(RhPlan) alone = rh_plan(&s->k.c, &s->options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(alone);
    s->other.layout = ((const RhRehearsal *)g_ptr_array_index(alone->entries, 0))->layout;
}

static RhPlan *plan(Setting *s, const int32_t *nodes)
{
    g_autoptr(GError) error = NULL;
    RhJobPlacement place = {"as asked", (int32_t *)nodes, 2};
    RhColocatedJobQuestion ask = {
        .others = &s->other, .others_count = 1, .place = nodes ? &place : NULL, .processes = 2};
    RhPlan *p = rh_plan_with_jobs(&s->k.c, &s->options, &ask, &error);
    if (!p)
        fprintf(stderr, "    %s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p->beside);
    return p;
}

static const int32_t even[] = {0, 2}, odd[] = {1, 3}, apart[] = {4, 5};

/* Returns the bytes of all messages of the program: with one micro-batch none is under way beside
 * another. */
static double bytes_sent(const Setting *s)
{
    g_autoptr(RhProgram) p = rh_train_build(&s->k.c, &s->other.layout, NULL);
    double bytes = 0;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *t = rh_program_task(p, (int32_t)i);
        bytes += t->kind == RH_TASK_SEND ? t->bytes : 0;
    }
    return bytes;
}

/* Every message is at the same moment as one of the other's, and each has half the link. */
static void an_uplink_shared_costs_each_message_once_more(void)
{
    Setting s;
    open_setting(&s, odd);
    g_autoptr(RhPlan) p = plan(&s, even);
    const RhColocatedJobTrial *t = RH_AT(p->beside->layouts, RhColocatedJobTrial, 0);
    double rate = s.k.platform->nic_bytes_per_s.value * s.k.platform->nic_efficiency_frac.value;
    RH_CHECK_CLOSE(rh_colocated_job_step_s(t) - rh_colocated_job_alone_s(t), bytes_sent(&s) / rate,
                   1e-6);
    RH_CHECK_CLOSE(rh_colocated_job_cost_frac(t, 1), rh_colocated_job_cost_frac(t, 0), 1e-6);
    CU_ASSERT_EQUAL(t->met->links->len > 0, true);
    CU_ASSERT_FALSE(p->beside->proved); /* bounds are of neighbours on one leaf */
    train_kit_clear(&s.k);
}

static void a_leaf_of_its_own_avoids_them(void)
{
    Setting s;
    open_setting(&s, odd);
    g_autoptr(RhPlan) p = plan(&s, even);
    const RhColocatedJobTrial *best = rh_colocated_job_best_place(p->beside);
    CU_ASSERT_EQUAL(best->nodes[0], 4);
    CU_ASSERT_EQUAL(best->nodes[1], 5);
    CU_ASSERT_EQUAL(rh_colocated_job_cost_frac(best, 0), 0);
    CU_ASSERT_EQUAL(rh_colocated_job_cost_frac(best, 1), 0);
    CU_ASSERT_EQUAL(best->met->links->len, 0);
    train_kit_clear(&s.k);
}

static void on_a_leaf_of_its_own_the_plan_stays_and_is_proved(void)
{
    Setting s;
    open_setting(&s, odd);
    g_autoptr(RhPlan) p = plan(&s, apart);
    const RhColocatedJobTrial *t = RH_AT(p->beside->layouts, RhColocatedJobTrial, 0);
    const RhRehearsal *best = g_ptr_array_index(p->entries, 0);
    CU_ASSERT_EQUAL(t->entry, 0);
    RH_CHECK_CLOSE(rh_colocated_job_step_s(t), best->step_time_s, 1e-9);
    CU_ASSERT_TRUE(p->beside->proved);
    train_kit_clear(&s.k);
}

static void too_few_free_nodes_are_an_error(void)
{
    Setting s;
    open_setting(&s, odd);
    s.k.c.job.gpus = 8;
    RhColocatedJobQuestion ask = {.others = &s.other, .others_count = 1, .processes = 1};
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlan) p = rh_plan_with_jobs(&s.k.c, &s.options, &ask, &error);
    CU_ASSERT_PTR_NULL(p);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    train_kit_clear(&s.k);
}

/* A search that runs out of time still answers: its first was rehearsed beside the jobs, or says
 * that none was in time. */
static void time_may_run_out_at_any_moment(void)
{
    Setting s;
    open_setting(&s, odd);
    RhColocatedJobQuestion ask = {.others = &s.other, .others_count = 1, .processes = 1};
    s.options.constraints_count = 0;
    int32_t late = 0, whole = 0;
    for (s.options.timeout_s = 1e-4; whole == 0 && s.options.timeout_s < 1e3;
         s.options.timeout_s *= 1.2) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhPlan) p = rh_plan_with_jobs(&s.k.c, &s.options, &ask, &error);
        if (p && p->entries->len > 0) {
            CU_ASSERT_PTR_NOT_NULL_FATAL(p->beside);
            CU_ASSERT_TRUE(p->beside->layouts->len > 0);
            whole += !p->timed_out;
        } else {
            CU_ASSERT_TRUE(p ? p->timed_out : g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
            late++;
        }
    }
    CU_ASSERT_TRUE(late > 0);
    CU_ASSERT_EQUAL(whole, 1);
    train_kit_clear(&s.k);
}

/* --- another layout wins: nothing that was tried or left out is quicker beside --- */

static void the_winner_is_the_quickest_beside(void)
{
    static const int32_t nodes[] = {1, 3, 5, 7};
    g_auto(TrainKit) k =
        train_kit("llama-3.2-1b", "h100-sxm:2x8,ib:100Gb/s,leaf:4,oversub:8", "bare", 16, 2048);
    k.c.job.gpus = 8;
    RhLayout layout = train_layout(&k, "tp1,dp8,zero3,mb1");
    RhColocatedJob other = {
        .name = "other", .c = &k.c, .layout = layout, .nodes = nodes, .nodes_count = 4, .steps = 1};
    RhColocatedJobQuestion ask = {.others = &other, .others_count = 1, .processes = 2};
    RhPlanOptions options = {.top = 2, .gap_frac = 0.002, .risk_frac = 1, .jobs = 2};
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlan) p = rh_plan_with_jobs(&k.c, &options, &ask, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    const RhColocatedJobPlan *b = p->beside;
    const RhColocatedJobTrial *first = RH_AT(b->layouts, RhColocatedJobTrial, 0);
    CU_ASSERT_TRUE(p->entries->len <= 3);
    CU_ASSERT_TRUE(b->tried >= b->alone_rank);
    CU_ASSERT_TRUE(first->entry < p->entries->len);
    for (guint i = 0; i < b->layouts->len; i++) {
        const RhColocatedJobTrial *t = RH_AT(b->layouts, RhColocatedJobTrial, i);
        CU_ASSERT_TRUE(rh_colocated_job_step_s(first) <= rh_colocated_job_step_s(t));
        CU_ASSERT_TRUE(rh_colocated_job_alone_s(t) <= rh_colocated_job_step_s(t) * (1 + 1e-9));
    }
}

/* --- placements --- */

static void expect_place(const GArray *places, guint i, const char *about, const int32_t *nodes,
                         int32_t count)
{
    CU_ASSERT_TRUE_FATAL(i < places->len);
    const RhJobPlacement *place = RH_AT(places, RhJobPlacement, i);
    CU_ASSERT_STRING_EQUAL(place->about, about);
    CU_ASSERT_EQUAL_FATAL(place->count, count);
    CU_ASSERT_EQUAL(memcmp(place->nodes, nodes, (size_t)count * sizeof *nodes), 0);
}

static void switches_tell_placements_apart(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("h100-sxm:1x12,ib:400Gb/s,leaf:4,oversub:2", NULL);
    bool taken[12] = {[0] = true, [1] = true};
    int32_t asked[] = {2, 3}, away[] = {4, 5}, spread_away[] = {4, 8};
    g_autoptr(GArray) places = rh_placements(p, 2, taken, &(RhJobPlacement){"as asked", asked, 2});
    CU_ASSERT_EQUAL(places->len, 3);
    expect_place(places, 0, "as asked", asked, 2);
    expect_place(places, 1, "away from their leaf switches", away, 2);
    expect_place(places, 2, "spread over leaf switches without them", spread_away, 2);
}

/* Two of four nodes fit below the switch without neighbours; where each has some, none is away. */
static void away_is_said_of_switches_without_neighbours(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("h100-sxm:1x8,ib:400Gb/s,leaf:4,oversub:2", NULL);
    bool some[8] = {[0] = true, [1] = true}, each[8] = {[0] = true, [1] = true, [5] = true};
    int32_t asked[] = {2, 3, 4, 5, 6}, rest[] = {2, 4, 5, 6, 7}, pair[] = {2, 4}, lone[] = {4, 6};
    g_autoptr(GArray) part = rh_placements(p, 5, some, &(RhJobPlacement){"as asked", asked, 5});
    expect_place(part, 1, "as few on their leaf switches as can be", rest, 5);
    g_autoptr(GArray) none = rh_placements(p, 2, each, &(RhJobPlacement){"as asked", pair, 2});
    expect_place(none, 1, "in the fewest leaf switches", lone, 2);
}

static void one_switch_tells_nothing_apart(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("h100-sxm:1x8,ib:400Gb/s", NULL);
    bool taken[8] = {true};
    int32_t asked[] = {6, 2};
    g_autoptr(GArray) places = rh_placements(p, 2, taken, &(RhJobPlacement){"as asked", asked, 2});
    CU_ASSERT_EQUAL(places->len, 1);
}

static void every_place_is_free_and_as_large(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("dgx-h100:64", NULL);
    for (int32_t seed = 1; seed <= 40; seed++) {
        bool taken[64];
        int32_t left = 0;
        for (int32_t n = 0; n < 64; n++)
            left += !(taken[n] = (n * seed + seed * seed) % 7 < seed % 6);
        for (int32_t needed = 1; needed <= left; needed += 5) {
            RhJobPlacement first;
            CU_ASSERT_TRUE_FATAL(rh_placement_first(p, needed, taken, &first));
            g_autoptr(GArray) places = rh_placements(p, needed, taken, &first);
            for (guint i = 0; i < places->len; i++)
                for (int32_t k = 0; k < needed; k++) {
                    const int32_t *nodes = RH_AT(places, RhJobPlacement, i)->nodes;
                    CU_ASSERT_FALSE(taken[nodes[k]]);
                    CU_ASSERT_TRUE(k == 0 || nodes[k] > nodes[k - 1]);
                }
            g_free(first.nodes);
        }
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"an uplink shared costs each message once more",
         an_uplink_shared_costs_each_message_once_more},
        {"a leaf of its own avoids them", a_leaf_of_its_own_avoids_them},
        {"on a leaf of its own the plan stays and is proved",
         on_a_leaf_of_its_own_the_plan_stays_and_is_proved},
        {"too few free nodes are an error", too_few_free_nodes_are_an_error},
        {"time may run out at any moment", time_may_run_out_at_any_moment},
        {"the winner is the quickest beside", the_winner_is_the_quickest_beside},
        {"switches tell placements apart", switches_tell_placements_apart},
        {"away is said of switches without neighbours",
         away_is_said_of_switches_without_neighbours},
        {"one switch tells nothing apart", one_switch_tells_nothing_apart},
        {"every place is free and as large", every_place_is_free_and_as_large},
        {0}};
    return rh_test_main("plan_with_jobs", tests);
}

/* Pipelines with redundant stages, beside Bamboo's own simulator. */
#include "strategies/run/spot/redundant_stages.h"

#include <stdio.h>

#include "strategies/run/spot/node_pool.h"
#include "tests/kit/testkit.h"

/* BERT on pipelines of 12 nodes. Source: uclasystem/bamboo@8080929, project_pactum/simulation/simulator.py. */
static const int64_t bert_ms[] = {4310, 2390, 1805, 1450};

static RhRedundantStages bert(const RhSpotEvent *events, int32_t count)
{
    return (RhRedundantStages){.stages = 12,
                               .step_ms = bert_ms,
                               .pipelines_most = 4,
                               .creation_ms = 45000,
                               .global_ms = 30000,
                               .local_ms = 20000,
                               .slower = 1.5,
                               .risk_frac = 0.05,
                               .events = events,
                               .events_count = count,
                               .steps_most = 1000000};
}

static void write_line(int64_t t_ms, const char *what, int64_t a, int64_t b, void *user)
{
    g_string_append_printf(user, "%.3f %s %d %d\n", (double)t_ms / 1000, what, (int)a, (int)b);
}

/* 24 nodes, one a second; then losses one by one and together, and nodes that come back. The lines are those that
 * Bamboo's simulator logs for these events. Source: uclasystem/bamboo@8080929, run on them. */
static void events_are_those_of_bamboos_simulator(void)
{
    RhSpotEvent events[40];
    int32_t count = 0;
    for (int32_t node = 1; node <= 24; node++)
        events[count++] = (RhSpotEvent){node, node, true};
    static const RhSpotEvent later[] = {{200, 3, false},     {300, 25, true},   {401, 7, false},
                                        {402, 6, false},     {500, 26, true},   {501, 27, true},
                                        {640, 14, false},    {700, 28, true},   {800, 20, false},
                                        {801, 21, false},    {802, 22, false},  {805, 9, false},
                                        {1000.1, 10, false}, {1000.3, 8, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(later); i++)
        events[count++] = later[i];
    g_autoptr(GString) log = g_string_new(NULL);
    RhRedundantStages p = bert(events, count);
    p.until_ms = 1200000;
    p.told = write_line;
    p.user = log;
    RhRedundantResult r = rh_redundant_stages(&p);
    CU_ASSERT_STRING_EQUAL(log->str, "76.000 met 24 2\n"
                                     "200.420 reconfigure 52 0\n"
                                     "220.420 met 23 1\n"
                                     "345.410 reconfigure 81 0\n"
                                     "365.410 met 24 2\n"
                                     "401.390 reconfigure 96 0\n"
                                     "402.000 fatal 6 0\n"
                                     "421.390 met 22 1\n"
                                     "432.000 met 0 0\n"
                                     "575.000 met 24 2\n"
                                     "642.880 reconfigure 126 0\n"
                                     "662.880 met 23 1\n"
                                     "749.080 reconfigure 146 0\n"
                                     "769.080 met 24 2\n"
                                     "800.225 reconfigure 159 0\n"
                                     "801.000 fatal 21 0\n"
                                     "820.225 again 9 0\n"
                                     "831.000 met 20 1\n"
                                     "840.225 met 0 0\n"
                                     "1000.300 fatal 8 0\n"
                                     "1030.300 met 18 1\n");
    CU_ASSERT_EQUAL(r.steps_count, 200);
    CU_ASSERT_EQUAL(r.fatal_count, 3);
    CU_ASSERT_EQUAL(r.lost_count, 10);
    CU_ASSERT_EQUAL(r.first_ms + r.alone_ms + r.slower_ms + r.meeting_ms, r.last_ms);
}

/* A loss in a step makes it, and those until the nodes met, half as long again; a second one is fatal. */
static void a_second_loss_at_one_place_is_fatal(void)
{
    RhSpotEvent events[14];
    for (int32_t node = 1; node <= 12; node++)
        events[node - 1] = (RhSpotEvent){0, node, true};
    events[12] = (RhSpotEvent){1000, 5, false};
    events[13] = (RhSpotEvent){1001, 9, false};
    RhRedundantStages p = bert(events, 13);
    p.risk_frac = 1; /* goes on with one overloaded */
    p.until_ms = 10000000;
    RhRedundantResult one = rh_redundant_stages(&p);
    CU_ASSERT_EQUAL(one.fatal_count, 0);
    CU_ASSERT_DOUBLE_EQUAL((double)(one.alone_ms + one.slower_ms) / one.steps_count, 1.5 * 4310,
                           310); /* 215 steps of 4,310 ms come first */
    p.events_count = 14;
    CU_ASSERT_EQUAL(rh_redundant_stages(&p).fatal_count, 0); /* at another place */
    events[13].node = 4;                                     /* it holds 5's stage */
    CU_ASSERT_EQUAL(rh_redundant_stages(&p).fatal_count, 1);
    p.checkpoint_steps = 100;
    p.meets_once = true;
    RhRedundantResult back = rh_redundant_stages(&p);
    CU_ASSERT_EQUAL(back.steps_count, 200);
    CU_ASSERT_TRUE(back.lost_ms > 10 * 4310);
}

/* Steps that are jumped over are counted as those that are not. */
static void jumps_count_every_step(void)
{
    RhSpotEvent events[160];
    int32_t count = 0;
    for (; count < 48; count++)
        events[count] = (RhSpotEvent){0, count + 1, true};
    for (int32_t i = 0; i < 50; i++) {
        events[count++] = (RhSpotEvent){1000 + 317.0 * i, i + 1, false};
        events[count++] = (RhSpotEvent){1100 + 317.0 * i, i + 49, true};
    }
    RhRedundantStages p = bert(events, count);
    p.meets_once = true;
    p.until_ms = 16000000;
    RhRedundantResult few = rh_redundant_stages(&p);
    for (int32_t i = 0; i < 16000 && count < 160; i += 400) /* nobody: cuts the jumps */
        events[count++] = (RhSpotEvent){i, -1, false};
    RhRedundantResult r = few;
    p.events_count = count;
    r = rh_redundant_stages(&p);
    CU_ASSERT_EQUAL(r.steps_count, few.steps_count);
    CU_ASSERT_EQUAL(r.last_ms, few.last_ms);
    CU_ASSERT_EQUAL(r.alone_ms, few.alone_ms);
    CU_ASSERT_EQUAL(r.first_ms + r.alone_ms + r.slower_ms + r.meeting_ms, r.last_ms);
}

static void a_pool_counts_and_uses_nodes(void)
{
    static const RhSpotEvent events[] = {
        {0, 1, true}, {0, 2, true}, {10, 3, true}, {20, 1, false}, {30, 3, false}};
    g_autoptr(RhNodePool) pool = rh_node_pool_new(events, 5);
    CU_ASSERT_EQUAL(rh_node_pool_advance(pool, 0), 0);
    CU_ASSERT_EQUAL(rh_node_pool_use(pool, 2), 2);
    CU_ASSERT_EQUAL(rh_node_pool_next_s(pool), 10);
    CU_ASSERT_EQUAL(rh_node_pool_advance(pool, 15), 0);
    CU_ASSERT_EQUAL(rh_node_pool_advance(pool, 20), 1);
    CU_ASSERT_EQUAL(rh_node_pool_advance(pool, 40), 0); /* node 3 was a spare */
    CU_ASSERT_EQUAL(rh_node_pool_use(pool, 2), 1);
    CU_ASSERT_DOUBLE_EQUAL(pool->node_s, 2 * 10 + 3 * 10 + 2 * 10 + 10, 1e-9);
}

/* 1 USD for ten seconds, 3 for five, then 2. What a time costs is a sum over them; the first holds before it, too. */
static void prices_add_up(void)
{
    static const RhSpotPrice prices[] = {{5, 1}, {15, 3}, {20, 2}};
    RH_CHECK_CLOSE(rh_spot_price_sum(prices, 3, 0, 30), 15 * 1 + 5 * 3 + 10 * 2, 1e-12);
    RH_CHECK_CLOSE(rh_spot_price_sum(prices, 3, 16, 18), 2 * 3, 1e-12);
    RH_CHECK_CLOSE(rh_spot_price_sum(prices, 3, 14, 21), 1 + 15 + 2, 1e-12);
    RH_CHECK_CLOSE(rh_spot_price_sum(prices, 1, 2, 9), 7, 1e-12);
    CU_ASSERT_EQUAL(rh_spot_price_sum(NULL, 0, 0, 30), 0);
}

static GArray *loaded(const char *text, GError **error)
{
    GArray *events = g_array_new(FALSE, FALSE, sizeof(RhSpotEvent));
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "rehearse-spot-XXXXXX", NULL);
    int file = g_mkstemp(path);
    CU_ASSERT_TRUE(file >= 0 && g_file_set_contents(path, text, -1, NULL));
    g_autoptr(GArray) prices = g_array_new(FALSE, FALSE, sizeof(RhSpotPrice));
    bool read = rh_spot_trace_load(path, events, prices, error);
    CU_ASSERT_EQUAL(read, !error || !*error);
    (void)remove(path);
    return events;
}

static void traces_of_counts_and_of_names_are_read(void)
{
    GArray *counts = loaded("seconds,instances\n0,2\n60,3\n90.5,1\n", NULL);
    CU_ASSERT_EQUAL(counts->len, 5);
    RhSpotEvent last = g_array_index(counts, RhSpotEvent, 4);
    CU_ASSERT_TRUE(!last.joins && last.node == 1 && last.t_s == 90.5);
    g_array_unref(counts);
    GArray *names = loaded("seconds,event,node\n0,add,a\n0,add,b\n5,remove,a\n", NULL);
    CU_ASSERT_TRUE(names->len == 3 && g_array_index(names, RhSpotEvent, 2).node == 1);
    g_array_unref(names);
    static const char *const wrong[][2] = {
        {"seconds,instances\n10,2\n5,3\n", ":3:1: seconds \"5\" is before"},
        {"seconds,event,node\n0,remove,a\n", ":2:10: node \"a\" is not there"},
        {"seconds,event,node\n0,drop,a\n", ":2:3: event \"drop\" is no event"},
        {"time,count\n0,1\n", ":1:1: no trace of nodes"}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        GError *error = NULL;
        g_array_unref(loaded(wrong[i][0], &error));
        CU_ASSERT_TRUE(error && rh_test_says(error->message, wrong[i][1]));
        g_clear_error(&error);
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"events_are_those_of_bamboos_simulator", events_are_those_of_bamboos_simulator},
        {"a_second_loss_at_one_place_is_fatal", a_second_loss_at_one_place_is_fatal},
        {"jumps_count_every_step", jumps_count_every_step},
        {"a_pool_counts_and_uses_nodes", a_pool_counts_and_uses_nodes},
        {"prices_add_up", prices_add_up},
        {"traces_of_counts_and_of_names_are_read", traces_of_counts_and_of_names_are_read},
        {NULL, NULL},
    };
    return rh_test_main("redundant_stages", tests);
}

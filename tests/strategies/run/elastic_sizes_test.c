/* Sizes at which an elastic job may run. */
#include "strategies/run/elastic_sizes.h"

#include "strategies/run/failure_rates.h"
#include "strategies/run/run_state.h"
#include "tests/kit/testkit.h"

/* At most 10,000 samples, micro-batches of 8, 12, 16 and 17, from 32 to 1,500 GPUs: a batch of 9,792 with 23
 * sizes. Source: DeepSpeed, tests/unit/elasticity/test_elastic.py. */
static void batch_and_sizes_are_deepspeeds(void)
{
    static const int64_t micro[] = {8, 12, 16, 17};
    int64_t batch = rh_elastic_batch(10000, micro, 4, 32, 1500);
    CU_ASSERT_EQUAL(batch, 9792);
    GArray *sizes = rh_elastic_sizes(batch, micro, 4, 32, 1500);
    CU_ASSERT_EQUAL(sizes->len, 23);
    for (guint i = 0; i < sizes->len; i++) {
        int32_t size = g_array_index(sizes, int32_t, i);
        CU_ASSERT_EQUAL(batch % size, 0);
        CU_ASSERT_NOT_EQUAL(size, 128); /* DeepSpeed's test of an invalid one */
    }
    g_array_unref(sizes);
}

/* Replicas that divide the micro-batches of a batch. */
static void sizes_divide_the_batch(void)
{
    static const int64_t one[] = {1};
    GArray *sizes = rh_elastic_sizes(12, one, 1, 1, 12);
    CU_ASSERT_EQUAL(sizes->len, 6); /* 1, 2, 3, 4, 6, 12 */
    g_array_unref(sizes);
}

/* 64 micro-batches over 8 replicas of 4 stages: 8 + 3; over 7 replicas one has 10; only 4 divide 64. */
static void speeds_follow_the_micro_batches(void)
{
    double speeds[9];
    RhElasticJob job = {.batch = 128, .micro_batch = 2, .replicas = 8, .fill = 3};
    rh_elastic_speeds(&job, speeds);
    CU_ASSERT_EQUAL(speeds[0], 0);
    CU_ASSERT_DOUBLE_EQUAL(speeds[7], 11.0 / 13, 1e-12);
    CU_ASSERT_EQUAL(speeds[8], 1);
    job.even = true;
    rh_elastic_speeds(&job, speeds);
    CU_ASSERT_DOUBLE_EQUAL(speeds[7], 11.0 / 19, 1e-12);
    CU_ASSERT_EQUAL(speeds[7], speeds[4]);
}

/* A job of four replicas with layouts for three nodes and for two: the quickest that fits counts, and those for more
 * nodes than there are do not. More than the usual number of nodes is seldom away. */
static void a_shrunk_job_takes_the_quickest_layout(void)
{
    RhRunSize sizes[] = {{3, 0.7}, {2, 0.6}};
    RhTrainingRun run = {.nodes_count = 4, .node_gpus = 8, .group_nodes = 1};
    run.sizes = sizes;
    run.sizes_count = 2;
    CU_ASSERT_EQUAL(rh_run_speed_frac(&run, 0), 1);
    CU_ASSERT_EQUAL(rh_run_speed_frac(&run, 1), 0.75); /* three replicas */
    CU_ASSERT_EQUAL(rh_run_speed_frac(&run, 2), 0.6);
    CU_ASSERT_EQUAL(rh_run_speed_frac(&run, 3), 0.25);
    run.group_nodes = 4; /* one replica, that cannot lose a node */
    CU_ASSERT_EQUAL(rh_run_speed_frac(&run, 1), 0.7);
    CU_ASSERT_EQUAL(rh_run_speed_frac(&run, 3), 0);
    run = (RhTrainingRun){.nodes_count = 2048,
                          .law = RH_LAW_EXPONENTIAL,
                          .rates = rh_failure_rates_by_name("llama-3"),
                          .mtbf_s = 3 * 3600,
                          .repair_s = 86400};
    int32_t most = rh_run_missing_most(&run);
    run.repair_s *= 4;
    CU_ASSERT_TRUE(most > 5 && rh_run_missing_most(&run) > 2 * most &&
                   rh_run_missing_most(&run) < 4 * most);
}

int main(void)
{
    static const RhTest tests[] = {
        {"batch_and_sizes_are_deepspeeds", batch_and_sizes_are_deepspeeds},
        {"sizes_divide_the_batch", sizes_divide_the_batch},
        {"speeds_follow_the_micro_batches", speeds_follow_the_micro_batches},
        {"a_shrunk_job_takes_the_quickest_layout", a_shrunk_job_takes_the_quickest_layout},
        {NULL, NULL},
    };
    return rh_test_main("elastic_sizes", tests);
}

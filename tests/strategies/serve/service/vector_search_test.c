/* Searches in an index of vectors before requests are served: hops and tiers in closed form, threads as a queue. */
#include "strategies/serve/service/vector_search_stage.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "strategies/serve/results/service_metrics.h"
#include "tests/kit/serve_kit.h"

#define FACT(text) "{\"value\": \"" text "\", \"tag\": \"assumed\", \"source\": \"a test\"}"
#define TIERS                                                                                      \
    "\"tiers\": {\"near\": {\"latency\": " FACT("100ns") ", \"bandwidth\": " FACT(                 \
        "10GB/s") "}, "                                                                            \
                  "\"far\": {\"latency\": " FACT("100us") ", \"bandwidth\": " FACT(                \
                      "1GB/s") ", "                                                                \
                               "\"shared\": " FACT("2GB/s") "}}, "
#define PARTS                                                                                      \
    "\"parts\": [{\"name\": \"upper\", \"tier\": \"near\", \"hops\": 50, \"reads\": 20, "          \
    "\"at_once\": 8, \"bytes\": \"400B\", \"compute\": \"30ns\", \"size\": \"1GB\"}, "             \
    "{\"name\": \"base\", \"tier\": \"far\", \"hops\": 10, \"reads\": 4, \"at_once\": 4, "         \
    "\"bytes\": \"100kB\", \"size\": \"90GB\"}]"
#define HEAD "{\"name\": \"two\", \"source\": \"a test\", \"vectors\": 1000000, "

static RhVectorIndex *index_of(const char *more)
{
    g_autofree char *text = g_strconcat(HEAD TIERS PARTS, more, "}", NULL);
    g_autoptr(GError) error = NULL;
    RhVectorIndex *index = rh_vector_index_parse("index.json", text, strlen(text), &error);
    g_assert_no_error(error);
    return index;
}

/* Latency of each batch of reads in flight, bytes at the tier's rate, a comparison each. */
static void a_search_is_the_sum_of_its_hops(void)
{
    g_autofree RhVectorIndex *index = index_of("");
    double near_s = 50 * (3 * 100e-9 + 20 * 400 / 10e9 + 20 * 30e-9),
           far_s = 10 * (100e-6 + 400e3 / 1e9);
    RH_CHECK_CLOSE(rh_vector_index_search_s(index, 1, 1), near_s + far_s, 1e-12);
    RH_CHECK_CLOSE(rh_vector_index_search_s(index, 0.1, 1), 0.1 * (near_s + far_s), 1e-12);
    CU_ASSERT_EQUAL(rh_vector_index_tier_bytes(index, 0), 1e9);
    CU_ASSERT_EQUAL(rh_vector_index_tier_bytes(index, 1), 90e9);
}

/* Few threads do not feel that a tier is shared; many take its whole rate, and no more. */
static void threads_share_a_tier(void)
{
    g_autofree RhVectorIndex *index = index_of("");
    double alone_s = rh_vector_index_search_s(index, 1, 1), before_s = alone_s;
    CU_ASSERT_EQUAL(rh_vector_index_search_s(index, 1, 2), alone_s);
    for (int32_t busy = 4; busy <= 64; busy *= 2) {
        double s = rh_vector_index_search_s(index, 1, busy);
        CU_ASSERT_TRUE(s > before_s);
        CU_ASSERT_TRUE(busy * 10 * 400e3 / s <= 2e9);
        before_s = s;
    }
    RH_CHECK_CLOSE(64 * 10 * 400e3 / before_s, 2e9, 0.001);
}

/* Source: Li et al., SIGMOD 2020, whose queries stop where they have found what they look for: in the mean a share of
 * the hops that the hardest need. */
static void queries_that_stop_early_take_their_own_effort(void)
{
    g_autofree RhVectorIndex *fixed = index_of(", \"effort\": [[0.5, 0.2], [0.9, 0.4], [1, 1]]");
    g_autofree RhVectorIndex *early =
        index_of(", \"effort\": [[0.5, 0.2], [0.9, 0.4], [1, 1]], \"stop\": \"early\"");
    RhVectorSearchStage *stages[] = {rh_vector_search_stage_new(fixed),
                                     rh_vector_search_stage_new(early)};
    double means_s[2];
    for (int k = 0; k < 2; k++) {
        for (int32_t i = 0; i < 1000; i++) {
            double done_s = rh_vector_search_stage_done_s(stages[k], i, i);
            CU_ASSERT_TRUE(done_s > i && done_s < i + 1);
        }
        RhVectorSearches sums = rh_vector_search_stage_sums(stages[k]);
        means_s[k] = sums.search_s / (double)sums.count;
        CU_ASSERT_EQUAL(sums.wait_s, 0);
        rh_vector_search_stage_free(stages[k]);
    }
    RH_CHECK_CLOSE(means_s[0], rh_vector_index_search_s(fixed, 1, 1), 1e-9);
    RH_CHECK_CLOSE(means_s[1] / means_s[0], 0.5 * 0.2 + 0.4 * 0.4 + 0.1, 0.005);
    RH_CHECK_CLOSE(rh_vector_index_most_per_s(early), 1 / means_s[1], 0.005);
}

/* One thread whose searches are alike is M/D/1. Source: Pollaczek and Khinchine. */
static void searches_wait_as_in_a_queue(void)
{
    g_autofree RhVectorIndex *index = index_of("");
    double search_s = rh_vector_index_search_s(index, 1, 1);
    static const double loads[] = {0.3, 0.7};
    for (size_t k = 0; k < G_N_ELEMENTS(loads); k++) {
        RhRequestsPlan plan = {.arrival = RH_ARRIVAL_POISSON,
                               .rate_per_s = loads[k] / search_s,
                               .count = 2000000,
                               .input = {1, 1},
                               .output = {1, 1},
                               .seed = 7};
        g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
        RhVectorSearchStage *stage = rh_vector_search_stage_new(index);
        for (guint i = 0; i < requests->list->len; i++)
            rh_vector_search_stage_done_s(stage, (int32_t)i,
                                          g_array_index(requests->list, RhRequest, i).t_s);
        RhVectorSearches sums = rh_vector_search_stage_sums(stage);
        RH_CHECK_CLOSE(sums.wait_s / (double)sums.count, loads[k] / (2 * (1 - loads[k])) * search_s,
                       0.03);
        rh_vector_search_stage_free(stage);
    }
}

/* A request that nobody else meets is answered later by its search, and by nothing else. */
static void an_answer_comes_after_its_search(void)
{
    g_autofree RhVectorIndex *index = index_of("");
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    g_autoptr(RhRequests) requests = drawn(20, 0.01, 100, 10);
    g_autoptr(RhServiceResult) plain = serve(&s, requests, &(RhClient){0});
    g_autoptr(RhServiceResult) behind = serve(&s, requests, &(RhClient){.index = index});
    double search_s = rh_vector_index_search_s(index, 1, 1);
    for (guint i = 0; i < 20; i++) {
        CU_ASSERT_EQUAL(at(plain, i)->t_arrive_s, at(behind, i)->t_arrive_s);
        RH_CHECK_CLOSE(at(behind, i)->t_first_s - at(plain, i)->t_first_s, search_s, 1e-6);
        RH_CHECK_CLOSE(at(behind, i)->t_end_s - at(plain, i)->t_end_s, search_s, 1e-6);
    }
    CU_ASSERT_EQUAL(behind->searches.count, 20);
    CU_ASSERT_EQUAL(plain->searches.count, 0);
    close_setting(&s);
}

static void what_is_no_index_is_refused(void)
{
    static const char *const texts[] = {
        HEAD TIERS "\"parts\": []}",
        HEAD TIERS "\"parts\": [{\"name\": \"a\", \"tier\": \"middle\", \"hops\": 1, \"bytes\": "
                   "\"1B\"}]}",
        HEAD TIERS PARTS ", \"stop\": \"early\"}",
        HEAD TIERS PARTS ", \"effort\": [[0.5, 0.2]]}",
        HEAD TIERS PARTS ", \"effort\": [[0.5, 0.6], [1, 0.2]]}",
        HEAD TIERS PARTS ", \"hop\": 1}"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(rh_vector_index_parse("index.json", texts[i], strlen(texts[i]), &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
}

int main(void)
{
    return rh_test_main(
        "vector_search",
        (RhTest[]){{"a_search_is_the_sum_of_its_hops", a_search_is_the_sum_of_its_hops},
                   {"threads_share_a_tier", threads_share_a_tier},
                   {"queries_that_stop_early_take_their_own_effort",
                    queries_that_stop_early_take_their_own_effort},
                   {"searches_wait_as_in_a_queue", searches_wait_as_in_a_queue},
                   {"an_answer_comes_after_its_search", an_answer_comes_after_its_search},
                   {"what_is_no_index_is_refused", what_is_no_index_is_refused},
                   {0}});
}

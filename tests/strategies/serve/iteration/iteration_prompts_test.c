/* Prompts that one iteration reads. */
#include "strategies/serve/iteration/iteration.h"
#include "tests/kit/serve_kit.h"

static double reading_s(RhIterations *it, const RhChunk *chunks, int32_t count)
{
    return rh_iteration_s(it, &(RhBatch){.chunks = chunks, .chunks_count = count, .ended = 1});
}

static RhIterations *open_iterations(Setting *s)
{
    RhPool pool = s->deployment.pools[0];
    pool.batch = s->serving.server->batch;
    pool.chunk = s->serving.server->chunk;
    RhIterations *it = rh_iterations_new(&s->serving, &pool, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(it);
    return it;
}

/* Eight prompts of 64 tokens have an eighth of the pairs of one of 512, and one kernel, too. */
static void all_prompts_share_one_attention_kernel(void)
{
    Setting s = setting_of("llama-3.2-1b", "v100-sxm-32:1x1", "tp1");
    g_autoptr(RhIterations) it = open_iterations(&s);
    static const RhChunk one[] = {{0, 512}}, two[] = {{0, 256}, {0, 256}},
                         eight[] = {{0, 64}, {0, 64}, {0, 64}, {0, 64},
                                    {0, 64}, {0, 64}, {0, 64}, {0, 64}};
    double one_s = reading_s(it, one, 1);
    CU_ASSERT(reading_s(it, two, 2) <= one_s);
    CU_ASSERT(reading_s(it, eight, 8) <= one_s);
    close_setting(&s);
}

/* Unequal chunks lie between equal ones, whatever their order: 6,144 and 2,048 tokens have the pairs of
 * 1.6 equal chunks, and so a time between one's and two's. */
static void unequal_prompts_lie_between_equal_ones(void)
{
    Setting s = setting_of("llama-3.1-70b", "dgx-h100:1", "tp2");
    g_autoptr(RhIterations) it = open_iterations(&s);
    static const RhChunk one[] = {{0, 8192}}, two[] = {{0, 4096}, {0, 4096}},
                         mixed[] = {{0, 6144}, {0, 2048}}, turned[] = {{0, 2048}, {0, 6144}};
    double one_s = reading_s(it, one, 1), two_s = reading_s(it, two, 2),
           mixed_s = reading_s(it, mixed, 2);
    CU_ASSERT(two_s < one_s);
    RH_CHECK_CLOSE(mixed_s, one_s + 0.6 * (two_s - one_s), 1e-12);
    RH_CHECK_CLOSE(reading_s(it, turned, 2), mixed_s, 1e-15);
    close_setting(&s);
}

/* What is in the cache counts by the tokens that see it. */
static void cached_tokens_count_for_those_that_see_them(void)
{
    Setting s = setting_of("llama-3.1-70b", "dgx-h100:1", "tp2");
    g_autoptr(RhIterations) it = open_iterations(&s);
    static const RhChunk first[] = {{8000, 1024}, {0, 1024}},
                         second[] = {{4000, 1024}, {4000, 1024}}, none[] = {{0, 1024}, {0, 1024}};
    RH_CHECK_CLOSE(reading_s(it, first, 2), reading_s(it, second, 2), 1e-12);
    CU_ASSERT(reading_s(it, first, 2) > reading_s(it, none, 2));
    close_setting(&s);
}

int main(void)
{
    static const RhTest tests[] = {
        {"all_prompts_share_one_attention_kernel", all_prompts_share_one_attention_kernel},
        {"unequal_prompts_lie_between_equal_ones", unequal_prompts_lie_between_equal_ones},
        {"cached_tokens_count_for_those_that_see_them",
         cached_tokens_count_for_those_that_see_them},
        {NULL, NULL},
    };
    return rh_test_main("iteration_prompts", tests);
}

/* Which prompts of a published file begin alike. */
#include "validate/serving/published_prompt_prefixes.h"

#include "base/error.h"
#include "tests/kit/testkit.h"

#define PROMPTS 300
#define SHA256  "05e48b32da530d4a3dd77f3d47c6fe694ac8308d611aa088e38bb10fba2b3b3a"

static RhRequests *prompts_of(int32_t tokens)
{
    RhRequests *requests = rh_requests_new("test");
    for (int32_t i = 0; i < PROMPTS; i++) {
        RhRequest q = {.t_s = i, .input_tokens = tokens, .output_tokens = 9, .session = -1};
        g_array_append_val(requests->list, q);
    }
    return requests;
}

/* Line 40 of the file came second, line 47 first. */
static void count_places(int32_t places[PROMPTS])
{
    for (int32_t i = 0; i < PROMPTS; i++)
        places[i] = i;
    places[0] = 47;
    places[1] = 40;
    places[40] = 1;
    places[47] = 0;
}

static uint64_t block(const RhRequests *r, int32_t request, int32_t k)
{
    return g_array_index(r->blocks, uint64_t,
                         g_array_index(r->list, RhRequest, request).blocks_first + k);
}

static int32_t common(const RhRequests *r, int32_t a, int32_t b)
{
    int32_t k = 0;
    while (k < g_array_index(r->list, RhRequest, a).blocks_count &&
           block(r, a, k) == block(r, b, k))
        k++;
    return k;
}

/* 448 tokens of prompt 47 are prompt 40's; 992 of prompt 139 are 117's, which has 384 of 45's. */
static void prompts_share_what_the_file_says(void)
{
    int32_t places[PROMPTS];
    count_places(places);
    g_autoptr(RhRequests) r = prompts_of(1600);
    CU_ASSERT_TRUE_FATAL(rh_alike_name(r, places, SHA256, NULL));
    CU_ASSERT_EQUAL_FATAL(r->block_tokens, 16);
    CU_ASSERT_EQUAL(r->blocks->len, PROMPTS * 100);
    CU_ASSERT_EQUAL(common(r, 0, 1), 28);
    CU_ASSERT_EQUAL(common(r, 139, 117), 62);
    CU_ASSERT_EQUAL(common(r, 139, 45), 24);
    CU_ASSERT_EQUAL(common(r, 2, 3), 0);
}

static void other_files_are_not_known(void)
{
    int32_t places[PROMPTS];
    count_places(places);
    g_autoptr(RhRequests) r = prompts_of(1600);
    CU_ASSERT_TRUE(rh_alike_name(r, places, "", NULL));
    CU_ASSERT_TRUE(r->block_tokens == 0 && r->blocks->len == 0);
}

static void other_prompts_are_refused(void)
{
    int32_t places[PROMPTS];
    g_autoptr(GError) shorter = NULL, more = NULL;
    count_places(places);
    g_autoptr(RhRequests) few = prompts_of(32);
    CU_ASSERT_FALSE(rh_alike_name(few, places, SHA256, &shorter));
    CU_ASSERT_TRUE(g_error_matches(shorter, RH_ERROR, RH_ERROR_INPUT));
    places[5] = PROMPTS;
    g_autoptr(RhRequests) r = prompts_of(1600);
    CU_ASSERT_FALSE(rh_alike_name(r, places, SHA256, &more));
    CU_ASSERT_TRUE(g_error_matches(more, RH_ERROR, RH_ERROR_INPUT));
}

int main(void)
{
    static const RhTest tests[] = {
        {"prompts share what the file says", prompts_share_what_the_file_says},
        {"other files are not known", other_files_are_not_known},
        {"other prompts are refused", other_prompts_are_refused},
        {NULL, NULL}};
    return rh_test_main("published_prefixes", tests);
}

/* Lengths of published data sets: what is drawn has their means and keeps their bounds. */
#include <math.h>

#include "tests/kit/testkit.h"
#include "validate/serving/prompt_lengths.h"

#define COUNT 20000

static RhPromptLengths lengths_of(const char *name)
{
    g_autoptr(GError) error = NULL;
    RhPromptLengths l;
    bool loaded = rh_prompt_lengths_load(name, &l, &error);
    CU_ASSERT_TRUE_FATAL(loaded);
    return l;
}

/* The mean prompt of MLCommons' sample of OpenOrca has 222 tokens, its mean answer 219. */
static void means_are_those_of_the_data_set(void)
{
    RhPromptLengths l = lengths_of("openorca");
    RH_CHECK_CLOSE(rh_prompt_lengths_mean(&l, l.input), 222.3, 0.01);
    RH_CHECK_CLOSE(rh_prompt_lengths_mean(&l, l.output), 218.9, 0.01);
}

/* Llama 3's vocabulary takes 3.94 characters of English a token, Llama 2's 3.17.
 * Source: arXiv 2407.21783, section 3.2. */
static void vocabularies_cut_the_same_texts(void)
{
    RhPromptLengths two = lengths_of("openorca"), three = lengths_of("openorca-llama-3");
    RH_CHECK_CLOSE(rh_prompt_lengths_mean(&three, three.input),
                   rh_prompt_lengths_mean(&two, two.input) * 3.17 / 3.94, 0.01);
    CU_ASSERT_EQUAL(rh_prompt_lengths_mean(&three, three.output),
                    rh_prompt_lengths_mean(&two, two.output));
}

static void stretched_answers_have_the_mean_and_keep_the_longest(void)
{
    RhPromptLengths l = lengths_of("openorca");
    double longest = l.output[l.count - 1];
    rh_prompt_lengths_stretch(&l, 294.45);
    RH_CHECK_CLOSE(rh_prompt_lengths_mean(&l, l.output), 294.45, 1e-6);
    CU_ASSERT_EQUAL(l.output[l.count - 1], longest);
    for (int32_t i = 1; i < l.count; i++)
        CU_ASSERT_TRUE(l.output[i] >= l.output[i - 1]);
}

static void draws_have_the_mean_of_their_quantiles(void)
{
    RhPromptLengths l = lengths_of("openorca");
    RhRequestsPlan plan = {
        .arrival = RH_ARRIVAL_BURST, .count = COUNT, .input = {1, 1}, .output = {1, 1}};
    g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
    rh_prompt_lengths_draw(&l, 1, requests);
    double input = 0, output = 0;
    for (guint i = 0; i < requests->list->len; i++) {
        const RhRequest *r = &g_array_index(requests->list, RhRequest, i);
        input += r->input_tokens;
        output += r->output_tokens;
        CU_ASSERT_TRUE(r->input_tokens >= (int32_t)l.input[0]);
        CU_ASSERT_TRUE(r->output_tokens <= (int32_t)l.output[l.count - 1]);
    }
    RH_CHECK_CLOSE(input / COUNT, rh_prompt_lengths_mean(&l, l.input), 0.03);
    RH_CHECK_CLOSE(output / COUNT, rh_prompt_lengths_mean(&l, l.output), 0.03);
}

static void unknown_data_sets_are_told(void)
{
    g_autoptr(GError) error = NULL;
    RhPromptLengths l;
    CU_ASSERT_FALSE(rh_prompt_lengths_load("no-such-set", &l, &error));
    CU_ASSERT_PTR_NOT_NULL(error);
}

static const RhTest tests[] = {
    {"means are those of the data set", means_are_those_of_the_data_set},
    {"vocabularies cut the same texts", vocabularies_cut_the_same_texts},
    {"stretched answers have the mean and keep the longest",
     stretched_answers_have_the_mean_and_keep_the_longest},
    {"draws have the mean of their quantiles", draws_have_the_mean_of_their_quantiles},
    {"unknown data sets are told", unknown_data_sets_are_told},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("prompt_lengths", tests);
}

/* Requests: traces as others write them, and draws held to the moments of their distributions. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"
#include "workloads/requests/requests.h"

static const RhRequest *at(const RhRequests *requests, guint i)
{
    return &g_array_index(requests->list, RhRequest, i);
}

static RhRequests *parse(const char *text, bool skip_bad)
{
    g_autoptr(GError) error = NULL;
    RhRequests *requests = rh_requests_parse("t", text, strlen(text), skip_bad, &error);
    if (error)
        printf("\n%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(requests);
    return requests;
}

/* --- traces --- */

/* Each says: the first at 0, 100 tokens in and 10 out; the second 1.5 s later, 200 in and 20 out. */
static const struct {
    const char *format, *text;
    bool timed;
} traces[] = {
    {"rehearse", "arrival_s,input_tokens,output_tokens\n0,100,10\n1.5,200,20\n", true},
    {"rehearse", "output_tokens,input_tokens,note\n10,100,\"a, b\"\n20,200,\"\"\"x\"\"\"\n", false},
    {"rehearse",
     "{\"arrival_s\": 7, \"input_tokens\": 100, \"output_tokens\": 10}\n"
     "{\"output_tokens\":20,\"x\":{\"a\":[1,\"}\"]},\"input_tokens\":200.0,\"arrival_s\":8.5e0 }",
     true},
    {"azure",
     "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 23:59:59.2500000,100,10\r\n"
     "2023-11-17 00:00:00.7500000,200,20\r\n",
     true},
    {"azure",
     "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,100,10\n"
     "2024-05-10 05:30:01.509930+05:30,200,20\n",
     true},
    {"mooncake",
     "{\"timestamp\": 500, \"input_length\": 100, \"output_length\": 10, \"hash_ids\": [7]}\n"
     "{\"timestamp\": 2000, \"input_length\": 200, \"output_length\": 20, \"hash_ids\": [8]}\n",
     true},
    {"bailian",
     "{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 0.5, \"input_length\": 100, "
     "\"output_length\": 10, \"hash_ids\": [1]}\n"
     "{\"chat_id\": 2, \"parent_chat_id\": 1, \"timestamp\": 2.0, \"input_length\": 200, "
     "\"output_length\": 20, \"hash_ids\": [1, 2]}\n",
     true},
    {"burstgpt",
     "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
     "5,ChatGPT,100,10,110,Conversation log\n6.5,GPT-4,200,20,220,API log\n",
     true},
    {"vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,100,10\n1.5,200,20\n", true},
    {"vidur", "num_prefill_tokens,num_decode_tokens,pd_ratio\n100,10,10.0\n200,20,10.0\n", false},
    {"splitwise-sim",
     "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
     "0,2,0,1,1,100,10\n1,2,0,2.5,1,200,20\n",
     true},
    {"llmservingsim",
     "{\"request_id\": \"b-0\", \"input_toks\": 100, \"output_toks\": 10, \"arrival_time\": "
     "1787267980.5}\n{\"request_id\": \"b-1\", \"input_toks\": 200, \"output_toks\": 20, "
     "\"arrival_time\": 1787267982.0}\n",
     true},
    {"llmservingsim",
     "{\"input_toks\": 100, \"output_toks\": 10, \"arrival_time_ns\": 0}\n"
     "{\"input_toks\": 200, \"output_toks\": 20, \"arrival_time_ns\": 1500000000}\n",
     true},
};

/* Tokens themselves are hashes of blocks of one. */
static void prompts_of_tokens_tell_what_is_alike(void)
{
    g_autoptr(RhRequests) r =
        parse("{\"input_toks\": 3, \"output_toks\": 1, \"arrival_time_ns\": 0, "
              "\"input_tok_ids\": [5, 6, 7], \"output_tok_ids\": [9]}\n"
              "{\"input_toks\": 4, \"output_toks\": 1, \"arrival_time_ns\": 8, "
              "\"input_tok_ids\": [5, 6, 9, 7]}\n",
              false);
    CU_ASSERT_EQUAL(r->block_tokens, 1);
    CU_ASSERT_EQUAL_FATAL(r->blocks->len, 7);
    const RhRequest *q = &g_array_index(r->list, RhRequest, 1);
    CU_ASSERT_TRUE(q->blocks_first == 3 && q->blocks_count == 4);
    CU_ASSERT_EQUAL(g_array_index(r->blocks, uint64_t, 5), 9);
    g_autoptr(GError) error = NULL;
    static const char more[] = "{\"input_toks\": 1, \"output_toks\": 1, \"arrival_time_ns\": 0, "
                               "\"input_tok_ids\": [5, 6]}\n";
    CU_ASSERT_PTR_NULL(rh_requests_parse("t", more, strlen(more), false, &error));
    CU_ASSERT_TRUE(error && strstr(error->message, "input_tok_ids") != NULL);
}

static void traces_are_told_by_their_columns(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(traces); i++) {
        g_autoptr(RhRequests) r = parse(traces[i].text, false);
        CU_ASSERT_STRING_EQUAL(r->format, traces[i].format);
        CU_ASSERT_EQUAL(r->timed, traces[i].timed);
        CU_ASSERT_EQUAL_FATAL(r->list->len, 2);
        CU_ASSERT_EQUAL(at(r, 0)->t_s, 0);
        RH_CHECK_CLOSE(at(r, 1)->t_s, traces[i].timed ? 1.5 : 0, 1e-12);
        for (int k = 0; k < 2; k++) {
            CU_ASSERT_EQUAL(at(r, (guint)k)->input_tokens, 100 * (k + 1));
            CU_ASSERT_EQUAL(at(r, (guint)k)->output_tokens, 10 * (k + 1));
            CU_ASSERT_EQUAL(at(r, (guint)k)->session, -1);
        }
    }
}

/* Cells may stand in quotes, doubled inside of them: names of columns and numbers alike. */
static void cells_may_be_quoted(void)
{
    g_autoptr(RhRequests) r = parse("\"arrival_s\",\"input_tokens\",\"output_tokens\"\n"
                                    "\"0\",\"128\",\"16\"\n\"1.5\",64,\"8\"\n",
                                    false);
    CU_ASSERT_EQUAL_FATAL(r->list->len, 2);
    CU_ASSERT_EQUAL(at(r, 0)->input_tokens, 128);
    CU_ASSERT_EQUAL(at(r, 0)->output_tokens, 16);
    CU_ASSERT_EQUAL(at(r, 1)->t_s, 1.5);
    CU_ASSERT_EQUAL(at(r, 1)->output_tokens, 8);
    g_autoptr(GError) error = NULL;
    static const char *const doubled = "arrival_s,input_tokens,output_tokens\n0,\"1\"\"2\",3\n";
    g_autoptr(RhRequests) none =
        rh_requests_parse("t.csv", doubled, strlen(doubled), false, &error);
    CU_ASSERT_PTR_NULL(none);
    CU_ASSERT_TRUE(error != NULL && strstr(error->message, "1\"2") != NULL);
}

/* Traces for models that make no tokens omit answers; a misspelled column is not taken for another
 * format's. */
static void answers_may_be_left_out(void)
{
    g_autoptr(RhRequests) csv = parse("arrival_s,input_tokens\n0,128\n2,64\n", false);
    g_autoptr(RhRequests) json = parse("{\"input_tokens\": 128, \"priority\": 1}\n", false);
    CU_ASSERT_TRUE(csv->once && csv->timed && json->once && !json->timed);
    CU_ASSERT_STRING_EQUAL(csv->format, "rehearse-once");
    CU_ASSERT_EQUAL(at(csv, 1)->input_tokens, 64);
    CU_ASSERT_EQUAL(at(csv, 1)->output_tokens, 1);
    CU_ASSERT_EQUAL(at(json, 0)->priority, 1);
    g_autoptr(RhRequests) whole = parse("arrival_s,input_tokens,output_tokens\n0,128,7\n", false);
    CU_ASSERT_FALSE(whole->once);
    g_autoptr(GError) error = NULL;
    const char *bad = "arrival_s,input_tokens\n0,128\n1,0\n";
    CU_ASSERT_PTR_NULL(rh_requests_parse("t.csv", bad, strlen(bad), false, &error));
    CU_ASSERT_TRUE(error && g_str_has_prefix(error->message, "t.csv:3:3:"));
}

static void hashes_stand_behind_one_another(void)
{
    g_autoptr(RhRequests) r =
        parse("{\"timestamp\":9,\"input_length\":513,\"output_length\":1,\"hash_ids\":[5,"
              "18446744073709551615]}\n"
              "{\"timestamp\":8,\"input_length\":1,\"output_length\":1,\"hash_ids\":[ 6 ]}\n"
              "{\"timestamp\":9,\"input_length\":1,\"output_length\":1}\n",
              false);
    CU_ASSERT_EQUAL(r->block_tokens, 512);
    CU_ASSERT_EQUAL(r->blocks->len, 3);
    CU_ASSERT_EQUAL(at(r, 0)->blocks_count, 1); /* the one of 8 ms */
    CU_ASSERT_EQUAL(g_array_index(r->blocks, uint64_t, at(r, 0)->blocks_first), 6);
    CU_ASSERT_EQUAL(at(r, 1)->blocks_count, 2);
    CU_ASSERT_EQUAL(g_array_index(r->blocks, uint64_t, at(r, 1)->blocks_first + 1), G_MAXUINT64);
    CU_ASSERT_EQUAL(at(r, 2)->blocks_count, 0);
}

static void sessions_are_numbered_and_their_turns_counted(void)
{
    g_autoptr(RhRequests) r = parse("arrival_s,input_tokens,output_tokens,session,priority\n"
                                    "3,1,1,bob,\n1,1,1,bob,-2\n2,1,1,ann,7\n2,1,1,,\n9,1,1,-1,0\n",
                                    false);
    static const int32_t sessions[] = {0, 1, -1, 0, -1}, turns[] = {0, 0, 0, 1, 0},
                         priorities[] = {-2, 7, 0, 0, 0};
    for (guint i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(at(r, i)->session, sessions[i]);
        CU_ASSERT_EQUAL(at(r, i)->turn, turns[i]);
        CU_ASSERT_EQUAL(at(r, i)->priority, priorities[i]);
    }
}

static void equal_times_keep_the_order_of_the_file(void)
{
    g_autoptr(GString) text = g_string_new("arrival_s,input_tokens,output_tokens\n");
    for (int i = 0; i < 1000; i++)
        g_string_append_printf(text, "%d,%d,1\n", i % 3, i + 1);
    g_autoptr(RhRequests) r = parse(text->str, false);
    for (guint i = 1; i < 1000; i++)
        CU_ASSERT_TRUE(at(r, i - 1)->t_s < at(r, i)->t_s ||
                       at(r, i - 1)->input_tokens < at(r, i)->input_tokens);
}

/* --- what is wrong --- */

#define OURS "arrival_s,input_tokens,output_tokens\n"
static const struct {
    const char *text, *said; /* how the message begins */
    bool skippable;
} wrongs[] = {
    {OURS "0,100,10\n1,-5,10\n", "t:3:3: input_tokens \"-5\" is not a whole number from 1 to",
     true},
    {OURS "0,100,0\n1,1,1\n", "t:2:7: output_tokens \"0\" is not a whole number", true},
    {OURS "0,nan,1\n1,1,1\n", "t:2:3: input_tokens \"nan\"", true},
    {OURS "0,0x10,1\n1,1,1\n", "t:2:3: input_tokens \"0x10\"", true},
    {OURS "0,1.5,1\n1,1,1\n", "t:2:3: input_tokens \"1.5\"", true},
    {OURS "0,2147483648,1\n1,1,1\n", "t:2:3: input_tokens \"2147483648\"", true},
    {OURS "0,1e999,1\n1,1,1\n", "t:2:3: input_tokens \"1e999\"", true},
    {OURS "-1,1,1\n1,1,1\n", "t:2:1: arrival_s \"-1\" is not a number of seconds from 0", true},
    {OURS "1;5,1,1\n1,1,1\n", "t:2:1: arrival_s \"1;5\"", true},
    {OURS "1699999999999,1,1\n1,1,1\n", "t:2:1: arrival_s \"1699999999999\"", true},
    {OURS ",1,1\n1,1,1\n", "t:2:1: no \"arrival_s\"", true},
    {OURS "1,1\n1,1,1\n", "t:2:1: 2 cells in this line, 3 in the header", true},
    {OURS "1,\"1,1\n1,1,1\n", "t:2:3: this quote is not closed", true},
    {OURS "1,\"1\"x,1\n1,1,1\n", "t:2:3: text behind a closing quote", true},
    {OURS "1,\xff,1\n1,1,1\n", "t:2:3: the text is not UTF-8", true},
    {"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-02-30 00:00:00,1,1\n2024-02-29 00:00:00,1,1\n",
     "t:2:1: TIMESTAMP \"2024-02-30 00:00:00\" is not a time", true},
    {"{\"input_tokens\": 1, \"output_tokens\": 1}\n{\"input_tokens\": 1 \"output_tokens\": 1}\n",
     "t:2:20: a comma or a closing brace is expected here", true},
    {"{\"input_tokens\": 1, \"output_tokens\": 1}\n{\"input_tokens\": 1}\n",
     "t:2:1: no \"output_tokens\"", true},
    {"{\"input_tokens\": 1, \"output_tokens\": tru}\n{\"input_tokens\": 1, \"output_tokens\": 1}",
     "t:1:38: a value is expected here", true},
    {"{\"input_tokens\": 1, \"input_tokens\": 1, \"output_tokens\": 1}\n"
     "{\"input_tokens\": 1, \"output_tokens\": 1}",
     "t:1:22: a second \"input_tokens\"", true},
    {"{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1,2]}\n"
     "{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1]}\n",
     "t:1:64: more of \"hash_ids\" than the prompt has blocks of 512 tokens", true},
    {"{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[-1]}\n"
     "{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1]}\n",
     "t:1:64: \"hash_ids\" is not a list of whole numbers", true},
    {"", "t: there is no request in it", false},
    {OURS, "t: there is no request in it", false},
    {OURS "x,y,z\n", NULL, false},
    {"a,b,c\n1,2,3\n", "t:1:1: these are not the columns of a trace that is known", false},
    {"TIMESTAMP,ContextTokens\n1,2\n", "t:1:1: these are not the columns", false},
    {"{\"a\": 1}\n{\"input_tokens\": 1, \"output_tokens\": 1}\n", "t:1:1: these are not the keys",
     false},
    {"[{\"input_tokens\": 1, \"output_tokens\": 1}]\n", "t:1:1: a JSON array, not lines", false},
    {"input_tokens,output_tokens,input_tokens\n1,1,1\n", "t:1:28: two columns are named", false},
};

static void what_is_wrong_is_said_with_its_place(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++) {
        g_autoptr(GError) error = NULL;
        size_t length = strlen(wrongs[i].text);
        CU_ASSERT_PTR_NULL(rh_requests_parse("t", wrongs[i].text, length, false, &error));
        CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        bool as_said = !wrongs[i].said || g_str_has_prefix(error->message, wrongs[i].said);
        if (!as_said)
            printf("\n%s\nexpected %s\n", error->message, wrongs[i].said);
        CU_ASSERT_TRUE(as_said);
        g_autoptr(RhRequests) rest = rh_requests_parse("t", wrongs[i].text, length, true, NULL);
        CU_ASSERT_EQUAL(rest != NULL, wrongs[i].skippable);
        if (!rest)
            continue;
        CU_ASSERT_EQUAL(rest->skipped_count, 1);
        CU_ASSERT_EQUAL(rest->list->len, 1);
        CU_ASSERT_TRUE(g_str_has_prefix(rest->skipped_first, wrongs[i].said));
        CU_ASSERT_PTR_NULL(strchr(rest->skipped_first, '\n'));
    }
}

/* --- draws --- */

#define DRAWS 200000

static const RhRequestsPlan plain = {.arrival = RH_ARRIVAL_POISSON,
                                     .rate_per_s = 4,
                                     .count = DRAWS,
                                     .input = {820, 1024},
                                     .output = {1, 3},
                                     .seed = 7};

typedef struct {
    double mean, cv;
} Moments;

static Moments gaps(const RhRequests *r)
{
    double sum = 0, squares = 0, n = r->list->len - 1;
    for (guint i = 1; i < r->list->len; i++) {
        double gap = at(r, i)->t_s - at(r, i - 1)->t_s;
        sum += gap;
        squares += gap * gap;
    }
    return (Moments){sum / n, sqrt(squares / n - sum / n * (sum / n)) / (sum / n)};
}

/* A gap's mean is 1/rate, its coefficient of variation 1/sqrt(shape); of 200,000 draws the mean lies
 * within cv / sqrt(200,000) of that in two cases of three: five times as much is allowed. */
static void gaps_have_the_moments_of_their_distribution(void)
{
    static const struct {
        RhArrival arrival;
        double burstiness, cv;
    } rows[] = {{RH_ARRIVAL_EVEN, 0, 0},
                {RH_ARRIVAL_POISSON, 0, 1},
                {RH_ARRIVAL_GAMMA, 1, 1},
                {RH_ARRIVAL_GAMMA, 0.25, 2},
                {RH_ARRIVAL_GAMMA, 4, 0.5}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        RhRequestsPlan plan = plain;
        plan.arrival = rows[i].arrival;
        plan.burstiness = rows[i].burstiness;
        g_autoptr(RhRequests) r = rh_requests_draw(&plan);
        Moments m = gaps(r);
        CU_ASSERT_DOUBLE_EQUAL(m.mean * 4, 1, 5 * rows[i].cv / sqrt(DRAWS) + 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(m.cv, rows[i].cv, 0.03 * rows[i].cv + 1e-5);
        CU_ASSERT_EQUAL(at(r, 0)->t_s, 0);
    }
}

/* The first half of the requests of a ramp from a to b takes the time in which the rate goes to
 * sqrt((a^2 + b^2) / 2). */
static void a_ramp_reaches_the_rates_it_is_given(void)
{
    RhRequestsPlan plan = plain;
    plan.arrival = RH_ARRIVAL_RAMP;
    plan.rate_per_s = 1;
    plan.rate_end_per_s = 7;
    g_autoptr(RhRequests) r = rh_requests_draw(&plan);
    double end_s = 2.0 * DRAWS / 8;
    RH_CHECK_CLOSE(at(r, DRAWS - 1)->t_s, end_s, 0.01);
    RH_CHECK_CLOSE(at(r, DRAWS / 2)->t_s, end_s * (5 - 1) / 6, 0.01);
    plan.rate_per_s = plan.rate_end_per_s = 4; /* level: the Poisson of that seed */
    g_autoptr(RhRequests) level = rh_requests_draw(&plan);
    g_autoptr(RhRequests) poisson = rh_requests_draw(&plain);
    for (guint i = 0; i < DRAWS; i += 1001)
        RH_CHECK_CLOSE(at(level, i)->t_s, at(poisson, i)->t_s, 1e-12);
}

static void lengths_are_drawn_evenly(void)
{
    g_autoptr(RhRequests) r = rh_requests_draw(&plain);
    double sum = 0, counts[4] = {0};
    int32_t low = G_MAXINT32, high = 0;
    for (guint i = 0; i < DRAWS; i++) {
        sum += at(r, i)->input_tokens;
        low = MIN(low, at(r, i)->input_tokens);
        high = MAX(high, at(r, i)->input_tokens);
        CU_ASSERT_TRUE_FATAL(at(r, i)->output_tokens >= 1 && at(r, i)->output_tokens <= 3);
        counts[at(r, i)->output_tokens]++;
    }
    CU_ASSERT_EQUAL(low, 820);
    CU_ASSERT_EQUAL(high, 1024);
    double sigma = sqrt((205.0 * 205 - 1) / 12 / DRAWS);
    CU_ASSERT_DOUBLE_EQUAL(sum / DRAWS, 922, 5 * sigma);
    for (int k = 1; k <= 3; k++)
        CU_ASSERT_DOUBLE_EQUAL(counts[k] / DRAWS, 1.0 / 3, 5 * sqrt(2.0 / 9 / DRAWS));
}

static void one_seed_gives_the_same_bytes(void)
{
    RhRequestsPlan other = plain;
    g_autoptr(RhRequests) a = rh_requests_draw(&plain), b = rh_requests_draw(&plain);
    CU_ASSERT_EQUAL(memcmp(a->list->data, b->list->data, sizeof(RhRequest) * DRAWS), 0);
    other.seed = 8;
    g_autoptr(RhRequests) c = rh_requests_draw(&other);
    CU_ASSERT_NOT_EQUAL(memcmp(a->list->data, c->list->data, sizeof(RhRequest) * DRAWS), 0);
    other.seed = 7;
    other.rate_per_s = 8;
    g_autoptr(RhRequests) d = rh_requests_draw(&other);
    for (guint i = 0; i < DRAWS; i += 997) { /* the same requests, twice as close */
        RH_CHECK_CLOSE(at(d, i)->t_s, at(a, i)->t_s / 2, 1e-12);
        CU_ASSERT_EQUAL(at(d, i)->input_tokens, at(a, i)->input_tokens);
    }
}

static void a_table_of_lengths_takes_arrivals(void)
{
    g_autoptr(RhRequests) r = parse("input_tokens,output_tokens\n1,2\n3,4\n5,6\n", false);
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_EVEN, .rate_per_s = 10};
    CU_ASSERT_FALSE(r->timed);
    rh_requests_arrive(r, &plan);
    CU_ASSERT_TRUE(r->timed);
    for (guint i = 0; i < 3; i++) {
        RH_CHECK_CLOSE(at(r, i)->t_s, i / 10.0, 1e-12);
        CU_ASSERT_EQUAL(at(r, i)->input_tokens, (int32_t)(2 * i + 1));
    }
}

static void time_is_stretched_to_a_rate(void)
{
    g_autoptr(RhRequests) a = rh_requests_draw(&plain), b = rh_requests_draw(&plain);
    rh_requests_at_rate(b, 40);
    RH_CHECK_CLOSE(rh_requests_rate_per_s(b), 40, 1e-9);
    double stretch = rh_requests_rate_per_s(a) / 40;
    for (guint i = 1; i < DRAWS; i += 991)
        RH_CHECK_CLOSE(at(b, i)->t_s, at(a, i)->t_s * stretch, 1e-12);
    g_autofree char *one = rh_requests_hash(a), *two = rh_requests_hash(b);
    CU_ASSERT_STRING_NOT_EQUAL(one, two);
    rh_requests_head(b, 3);
    CU_ASSERT_EQUAL(b->list->len, 3);
    rh_requests_head(b, 5);
    CU_ASSERT_EQUAL(b->list->len, 3);
}

/* Some 100 million requests take many times as long. */
static void drawing_ends_with_the_time_given(void)
{
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_POISSON,
                           .rate_per_s = 1000,
                           .count = 100000000,
                           .input = {1, 8},
                           .output = {1, 8},
                           .deadline = rh_deadline_in(0.02)};
    gint64 t_start_us = g_get_monotonic_time();
    CU_ASSERT_PTR_NULL(rh_requests_draw(&plan));
    CU_ASSERT_TRUE(g_get_monotonic_time() - t_start_us < 1000000);
    plan.count = 10000;
    plan.deadline = rh_deadline_in(600);
    g_autoptr(RhRequests) all = rh_requests_draw(&plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    CU_ASSERT_EQUAL(all->list->len, 10000);
}

static const RhTest tests[] = {
    {"drawing ends with the time given", drawing_ends_with_the_time_given},
    {"prompts of tokens tell what is alike", prompts_of_tokens_tell_what_is_alike},
    {"traces are told by their columns", traces_are_told_by_their_columns},
    {"cells may be quoted", cells_may_be_quoted},
    {"answers may be left out", answers_may_be_left_out},
    {"hashes stand behind one another", hashes_stand_behind_one_another},
    {"sessions are numbered and their turns counted",
     sessions_are_numbered_and_their_turns_counted},
    {"equal times keep the order of the file", equal_times_keep_the_order_of_the_file},
    {"what is wrong is said with its place", what_is_wrong_is_said_with_its_place},
    {"gaps have the moments of their distribution", gaps_have_the_moments_of_their_distribution},
    {"a ramp reaches the rates it is given", a_ramp_reaches_the_rates_it_is_given},
    {"lengths are drawn evenly", lengths_are_drawn_evenly},
    {"one seed gives the same bytes", one_seed_gives_the_same_bytes},
    {"time is stretched to a rate", time_is_stretched_to_a_rate},
    {"a table of lengths takes arrivals", a_table_of_lengths_takes_arrivals},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("requests", tests);
}

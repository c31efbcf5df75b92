/* Programs as files: JSON keeps every bit, and refuses what is wrong with its place. */
#include "base/error.h"
#include "tests/kit/program_kit.h"
#include "tests/kit/train_kit.h"

/* --- sameness, field by field (structs have padding, spans have unused ends) --- */

static bool same_spans(const RhStride *a, const RhStride *b, int32_t count)
{
    return memcmp(a, b, (size_t)count * sizeof(RhStride)) == 0;
}

static bool same_task(const RhTask *a, const RhTask *b)
{
    return a->kind == b->kind && a->lane == b->lane && a->phase == b->phase && a->op == b->op &&
           a->algo == b->algo && a->preds_count == b->preds_count && a->layer == b->layer &&
           a->microbatch == b->microbatch && a->role == b->role && a->label == b->label &&
           a->bundle == b->bundle && a->group == b->group && a->peer_task == b->peer_task &&
           a->peer_delta == b->peer_delta && a->bytes == b->bytes && a->volumes == b->volumes &&
           a->from == b->from && a->to == b->to && a->preds_first == b->preds_first;
}

static bool same_kernel(const RhKernel *a, const RhKernel *b)
{
    return a->cls == b->cls && a->dtype == b->dtype && a->causal == b->causal &&
           a->heads == b->heads && a->kv_heads == b->kv_heads && a->batch == b->batch &&
           a->m == b->m && a->n == b->n && a->k == b->k && a->v_head == b->v_head &&
           a->flops == b->flops && a->bytes == b->bytes && a->again == b->again;
}

static bool same_role(const RhRole *a, const RhRole *b)
{
    return a->label == b->label && a->first_rank == b->first_rank &&
           a->spans_count == b->spans_count && same_spans(a->spans, b->spans, a->spans_count) &&
           a->ranks_count == b->ranks_count && a->tasks_first == b->tasks_first &&
           a->tasks_count == b->tasks_count && a->memory_first == b->memory_first &&
           a->memory_count == b->memory_count;
}

static void check_same_heads(const RhProgram *a, const RhProgram *b)
{
    CU_ASSERT_EQUAL(a->ranks_count, b->ranks_count);
    CU_ASSERT_EQUAL(a->kernel_gap_s, b->kernel_gap_s);
    CU_ASSERT_STRING_EQUAL(a->gap_source, b->gap_source);
    CU_ASSERT_EQUAL((a->gpu_of_rank == NULL), (b->gpu_of_rank == NULL));
    for (int32_t r = 0; r < a->ranks_count; r++)
        CU_ASSERT_EQUAL(rh_program_gpu(a, r), rh_program_gpu(b, r));
    CU_ASSERT_EQUAL_FATAL(a->labels->len, b->labels->len);
    for (guint i = 0; i < a->labels->len; i++)
        CU_ASSERT_STRING_EQUAL((char *)a->labels->pdata[i], (char *)b->labels->pdata[i]);
}

static void check_same_tables(const RhProgram *a, const RhProgram *b)
{
    CU_ASSERT_EQUAL_FATAL(a->kernels->len, b->kernels->len);
    for (guint i = 0; i < a->kernels->len; i++)
        CU_ASSERT_TRUE(same_kernel(&g_array_index(a->kernels, RhKernel, i),
                                   &g_array_index(b->kernels, RhKernel, i)));
    CU_ASSERT_EQUAL_FATAL(a->bundles->len, b->bundles->len);
    CU_ASSERT_EQUAL(memcmp(a->bundles->data, b->bundles->data, a->bundles->len * sizeof(RhBundle)),
                    0);
    CU_ASSERT_EQUAL_FATAL(a->groups->len, b->groups->len);
    for (int32_t i = 0; i < (int32_t)a->groups->len; i++) {
        const RhGroup *x = rh_program_group(a, i), *y = rh_program_group(b, i);
        CU_ASSERT_TRUE(x->label == y->label && x->size == y->size &&
                       x->spans_count == y->spans_count && x->origin == y->origin &&
                       x->lap == y->lap && x->held == y->held &&
                       same_spans(x->spans, y->spans, x->spans_count) &&
                       memcmp(x->periods, y->periods, sizeof x->periods) == 0);
    }
}

static void check_same(const RhProgram *a, const RhProgram *b)
{
    check_same_heads(a, b);
    check_same_tables(a, b);
    CU_ASSERT_EQUAL_FATAL(a->roles->len, b->roles->len);
    for (int32_t i = 0; i < (int32_t)a->roles->len; i++)
        CU_ASSERT_TRUE(same_role(rh_program_role(a, i), rh_program_role(b, i)));
    CU_ASSERT_EQUAL_FATAL(a->tasks->len, b->tasks->len);
    CU_ASSERT_EQUAL_FATAL(a->preds->len, b->preds->len);
    for (int32_t i = 0; i < (int32_t)a->tasks->len; i++)
        CU_ASSERT_TRUE(same_task(rh_program_task(a, i), rh_program_task(b, i)));
    CU_ASSERT_EQUAL(memcmp(a->preds->data, b->preds->data, a->preds->len * sizeof(int32_t)), 0);
    CU_ASSERT_EQUAL_FATAL(a->memory->len, b->memory->len);
    for (guint i = 0; i < a->memory->len; i++) {
        const RhMemoryEvent *x = &g_array_index(a->memory, RhMemoryEvent, i);
        const RhMemoryEvent *y = &g_array_index(b->memory, RhMemoryEvent, i);
        CU_ASSERT_TRUE(x->at_task == y->at_task && x->use == y->use && x->tier == y->tier &&
                       x->bytes == y->bytes);
    }
}

/* --- JSON --- */

static RhProgram *read_text(const char *text, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_parse("p.json", text, strlen(text), error);
    return doc ? rh_program_from_json(doc, error) : NULL;
}

static void check_round_trip(RhProgram *p)
{
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE(rh_program_check(p, NULL));
    g_autofree char *text = rh_program_to_json(p);
    g_autoptr(RhProgram) q = read_text(text, &error);
    if (!q)
        fprintf(stderr, "    %s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    check_same(p, q);
    g_autofree char *again = rh_program_to_json(q);
    CU_ASSERT_STRING_EQUAL(text, again);
}

static void json_keeps_every_bit_of_a_small_program(void)
{
    g_autoptr(RhProgram) p = two_stages();
    check_round_trip(p);
    /* a kernel whose weights the one before has read */
    g_array_index(p->kernels, RhKernel, p->kernels->len - 1).again = true;
    check_round_trip(p);
    p->gpu_of_rank = g_new(int32_t, 4);
    for (int32_t r = 0; r < 4; r++)
        p->gpu_of_rank[r] = 3 - r;
    check_round_trip(p);
}

static void json_keeps_groups_across_roles(void)
{
    for (int inside = 0; inside < 2; inside++) {
        g_autoptr(RhProgram) p = kit_step((KitStep){.tp = 2,
                                                    .dp = 2,
                                                    .pp = 4,
                                                    .microbatches = 1,
                                                    .layers = 1,
                                                    .stages_inside = inside,
                                                    .tp_algo = RH_ALGO_RING,
                                                    .dp_algo = RH_ALGO_RING,
                                                    .kernel_s = 1e-4,
                                                    .shared_bytes = 1e6});
        check_round_trip(p);
    }
}

static void json_keeps_every_bit_of_random_programs(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 7);
    for (int i = 0; i < 20; i++) {
        g_autoptr(RhProgram) p = kit_step(kit_draw(rng));
        if (i % 2)
            kit_shuffle(p, rng);
        check_round_trip(p);
    }
    gsl_rng_free(rng);
}

static void json_keeps_every_bit_of_a_training_step(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 16, 2048);
    RhLayout layout = train_layout(&k, "tp2,pp2,dp2,mb1");
    g_autoptr(GError) error = NULL;
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &layout, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_TRUE(p->tasks->len > 1000);
    check_round_trip(p);
    g_autofree char *text = rh_program_to_json(p);
    CU_ASSERT_TRUE(strlen(text) < 200 * p->tasks->len);
}

static void a_program_that_was_read_can_be_extended(void)
{
    g_autoptr(RhProgram) p = two_stages();
    g_autofree char *text = rh_program_to_json(p);
    g_autoptr(RhProgram) q = read_text(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    CU_ASSERT_EQUAL(rh_program_label(q, "tp"), rh_program_label(p, "tp"));
    CU_ASSERT_EQUAL(rh_program_label(q, "new"), (int32_t)p->labels->len);
}

/* Texts of two_stages and what replaces them. */
static const char *const wrong_texts[][2] = {
    {"rehearse.program/1", "rehearse.program/9"},
    {"\"ranks\":4", "\"ranks\":0"},
    {"\"ranks\":4", "\"ranks\":-4"},
    {"\"ranks\":4", "\"ranks\":16777217"},
    {"\"ranks\":4", "\"ranks\":1e300"},
    {"\"ranks\":4", "\"ranks\":4.5"},
    {"\"ranks\":4", "\"ranks\":\"4\""},
    {"\"ranks\":4", "\"ranks\":NaN"},
    {"\"ranks\":4,", ""},
    {"\"ranks\":4,", "\"ranks\":4,\"rank\":4,"},
    {"\"kernel_gap_s\":", "\"kernel_gap_s\":-"},
    {"[\"gemm\",", "[\"gem\","},
    {"[\"gemm\",", "["},
    {"[\"gemm\",", "[\"gemm\",0,"},
    {"4096,1024,8192", "4096,-1,8192"},
    {"4096,1024,8192", "4096,1e18,8192"},
    {"[2,0,0.001]", "[2,0]"},
    {"[2,0,0.001]", "[2,0,-3]"},
    {"[2,0,0.001]", "[2,1,0.001]"},
    {"[2,0,0.001]", "7"},
    {"[[1,2]]", "[[1,0]]"},
    {"[[1,2]]", "[[0,2]]"},
    {"[[1,2]]", "[[1,5]]"},
    {"[[1,2]]", "[[1,2,1]]"},
    {"[[1,2]]", "[[1,2,5]]"},
    {"[[1,2]]", "[[1,2,2,2]]"},
    {"\"first_rank\":0,\"spans\":[[1,2]]", "\"first_rank\":0,\"spans\":[[1,2,2]]"},
    {"[[1,2]]", "[1,2]"},
    {"[[1,2]]", "[[1,2],[1,1],[1,1],[1,1],[1,1]]"},
    {"\"first_rank\":2", "\"first_rank\":4"},
    {"\"kind\":\"mark\"", "\"kind\":\"marc\""},
    {"\"kind\":\"mark\",", ""},
    {"{\"kind\":\"mark\"", "7,{\"kind\":\"mark\""},
    {"\"lane\":\"tp\"", "\"lane\":3"},
    {"\"op\":\"all-reduce\"", "\"op\":\"all_reduce\""},
    {"\"algorithm\":\"ring\"", "\"algorithm\":\"ringg\""},
    {"\"layer\":7", "\"layer\":40000"},
    {"\"bytes\":64000000", "\"bytes\":-1"},
    {"\"bytes\":64000000", "\"bytes\":1e300"},
    {"\"bytes\":64000000", "\"bites\":64000000"},
    {"\"preds\":[3,0]", "\"preds\":[3,-1]"},
    {"\"preds\":[3,0]", "\"preds\":3"},
    {"\"preds\":[3,0]", "\"preds\":[3,0.5]"},
    {"[0,\"weights\"", "[-1,\"weights\""},
    {"[0,\"weights\"", "[0,\"weight\""},
    {"\"memory\":[]", "\"memory\":[],\"memory\":[]"},
};

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    return g_strdup_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void wrong_files_are_refused_and_the_place_is_told(void)
{
    g_autoptr(RhProgram) p = two_stages();
    g_autofree char *text = rh_program_to_json(p);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong_texts); i++) {
        g_autofree char *wrong = replaced(text, wrong_texts[i][0], wrong_texts[i][1]);
        g_autoptr(GError) error = NULL;
        g_autoptr(RhProgram) q = read_text(wrong, &error);
        CU_ASSERT_PTR_NULL(q);
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        if (q)
            fprintf(stderr, "    accepted: %s\n", wrong_texts[i][1]);
        else
            CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "p.json:"));
    }
}

static void what_the_check_refuses_is_refused_in_files_too(void)
{
    static const char *const wrong[][2] = {
        {"\"preds\":[3,0]", "\"preds\":[3,99]"},
        {"\"preds\":[3,0]", "\"preds\":[4]"},
        {"\"peer_task\":6", "\"peer_task\":7"},
        {"\"bundle\":1", "\"bundle\":2"},
        {"\"group\":0", "\"group\":1"},
        {"\"algorithm\":\"ring\"", "\"algorithm\":\"direct\""},
        {"\"bytes\":3000", "\"bytes\":3001"},
        {"[6,\"activations\"", "[7,\"activations\""},
        {"\"peer_delta\":2", "\"peer_delta\":-2"},
        {"\"first_rank\":2", "\"first_rank\":1"},
        {"\"kind\":\"mark\"", "\"kind\":\"none\""},
        {"\"first_rank\":2,\"spans\":[[1,2]]", "\"first_rank\":2,\"spans\":[[4,2]]"}};
    g_autoptr(RhProgram) p = two_stages();
    g_autofree char *text = rh_program_to_json(p);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autofree char *changed = replaced(text, wrong[i][0], wrong[i][1]);
        g_autoptr(GError) error = NULL;
        g_autoptr(RhProgram) q = read_text(changed, &error);
        CU_ASSERT_PTR_NULL(q);
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        if (q)
            fprintf(stderr, "    accepted: %s\n", wrong[i][1]);
    }
}

static void a_placement_must_name_every_rank(void)
{
    static const char *const wrong[] = {"[0,1,2]",     "[0,1,2,3,4]",   "[0,1,2,-1]",
                                        "[0,1,2,1e9]", "[0,1,2,\"3\"]", "{}"};
    g_autoptr(RhProgram) p = two_stages();
    p->gpu_of_rank = g_new0(int32_t, 4);
    g_autofree char *text = rh_program_to_json(p);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autofree char *changed = replaced(text, "[0,0,0,0]", wrong[i]);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(read_text(changed, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
}

#define HEAD "{\"schema\":\"rehearse.program/1\",\"ranks\":1048576,\"kernels\":[],\"bundles\":[],"
#define BARRIER                                                                                    \
    "{\"kind\":\"collective\",\"op\":\"barrier\",\"algorithm\":\"recursive-doubling\",\"group\":0}"

/* A few hundred bytes that name a million ranks cost time and memory in proportion to the ranks.
 */
static void a_million_ranks_are_checked_at_once(void)
{
    static const struct {
        const char *group, *role;
        bool fine;
    } cases[] = {
        {"[[1,1048576]]", "[[1,1048576]]", true},
        {"[[1024,1024]]", "[[1,1048576]]", true},
        {"[[32,32],[1,32],[1024,32],[32768,32]]", "[[1,1048576]]", true},
        {"[[1,32],[1,32],[1,32],[1,32]]", "[[1,1048576]]", false},
        {"[[1,64],[32,64]]", "[[1,1048576]]", false},
        {"[[1048576,1048576]]", "[[1,1048576]]", false},
        {"[[1,2]]", "[[1048576,1048576]]", false},
        {"[[1,1048576]]", "[[1,524288]]", false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text =
            g_strdup_printf(HEAD "\"groups\":[{\"spans\":%s}],\"roles\":[{\"first_rank\":0,"
                                 "\"spans\":%s,\"tasks\":[" BARRIER "]}]}",
                            cases[i].group, cases[i].role);
        g_autoptr(GError) error = NULL;
        g_autoptr(RhProgram) p = read_text(text, &error);
        CU_ASSERT_EQUAL((p != NULL), cases[i].fine);
    }
}

static void two_hundred_and_fifty_six_predecessors_are_too_many(void)
{
    g_autoptr(RhProgram) p = two_stages();
    g_autofree char *text = rh_program_to_json(p);
    for (int count = 255; count <= 256; count++) {
        g_autoptr(GString) list = g_string_new("\"preds\":[3");
        for (int i = 1; i < count; i++)
            g_string_append(list, ",3");
        g_string_append_c(list, ']');
        g_autofree char *changed = replaced(text, "\"preds\":[3,0]", list->str);
        g_autoptr(RhProgram) q = read_text(changed, NULL);
        CU_ASSERT_EQUAL((q != NULL), (count == 255));
    }
}

int main(void)
{
    return rh_test_main(
        "program_json",
        (RhTest[]){
            {"json_keeps_groups_across_roles", json_keeps_groups_across_roles},

            {"json_keeps_every_bit_of_a_small_program", json_keeps_every_bit_of_a_small_program},
            {"json_keeps_every_bit_of_random_programs", json_keeps_every_bit_of_random_programs},
            {"json_keeps_every_bit_of_a_training_step", json_keeps_every_bit_of_a_training_step},
            {"a_program_that_was_read_can_be_extended", a_program_that_was_read_can_be_extended},
            {"wrong_files_are_refused_and_the_place_is_told",
             wrong_files_are_refused_and_the_place_is_told},
            {"what_the_check_refuses_is_refused_in_files_too",
             what_the_check_refuses_is_refused_in_files_too},
            {"a_placement_must_name_every_rank", a_placement_must_name_every_rank},
            {"a_million_ranks_are_checked_at_once", a_million_ranks_are_checked_at_once},
            {"two_hundred_and_fifty_six_predecessors_are_too_many",
             two_hundred_and_fifty_six_predecessors_are_too_many},
            {0}});
}

/* Documents in samples, against counts made here by hand. */
#include "workloads/document_packing.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "strategies/train/block_cost.h"
#include "tests/kit/shard_kit.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static RhDocuments documents_of(const char *text, bool padded, int64_t sequence)
{
    RhDocuments d = {.padded = padded};
    CU_ASSERT_TRUE_FATAL(rh_documents_parse(text, &d, NULL));
    rh_documents_settle(&d, sequence, 1);
    return d;
}

static void lists_are_read_and_wrong_ones_refused(void)
{
    static const char *const wrong[] = {"",      "x",    "0",      "-1",  "5x0",
                                        "5x",    "5x-3", "5-",     "-5",  "5xx2",
                                        "5x2x2", "5,6",  "mean:5", "1e3", "99999999999999999999"};
    RhDocuments d = {0};
    CU_ASSERT_TRUE(rh_documents_parse("300x5-2000", &d, NULL));
    CU_ASSERT_EQUAL(d.runs_count, 2);
    CU_ASSERT_TRUE(d.runs[0].tokens == 300 && d.runs[0].count == 5);
    CU_ASSERT_TRUE(d.runs[1].tokens == 2000 && d.runs[1].count == 1);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        RhDocuments before = d;
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_documents_parse(wrong[i], &d, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        CU_ASSERT_EQUAL(memcmp(&d, &before, sizeof d), 0);
    }
}

/* Eight documents of 512 fill 4,096 tokens; two of 3,000 do not go into one sample, one longer than a
 * sample is cut to it. */
static void samples_get_as_full_as_first_fit_makes_them(void)
{
    CU_ASSERT_EQUAL(documents_of("512", false, 4096).fill, 1);
    RH_CHECK_CLOSE(documents_of("3000", false, 4096).fill, 3000 / 4096.0, 1e-12);
    CU_ASSERT_EQUAL(documents_of("9000", false, 4096).fill, 1);
    /* As many of 1,096 as of 3,000: pairs of them are full, chance leaves a few over. */
    CU_ASSERT_TRUE(documents_of("3000x1-1096x1", false, 4096).fill > 0.97);
    /* Small ones fill what large ones leave, but for 96 tokens of 1,096. */
    CU_ASSERT_TRUE(documents_of("3000x1-100x20", false, 4096).fill > 0.97);
    /* However few samples 4,096 of them open: 1,310 go into one. */
    RH_CHECK_CLOSE(documents_of("100", false, 131072).fill, 131000 / 131072.0, 1e-12);
    RH_CHECK_CLOSE(documents_of("300", false, 131072).fill, 436 * 300 / 131072.0, 1e-12);
    RH_CHECK_CLOSE(documents_of("100", false, 4096).fill, 4000 / 4096.0, 1e-12);
    CU_ASSERT_EQUAL(documents_of("1", false, INT64_C(1) << 28).fill, 1);
    RhDocuments none = {0};
    rh_documents_settle(&none, 4096, 1);
    CU_ASSERT_EQUAL(none.fill, 1);
}

static void padded_samples_are_as_full_as_the_mean_document(void)
{
    RH_CHECK_CLOSE(documents_of("512", true, 4096).fill, 512 / 4096.0, 1e-14);
    RH_CHECK_CLOSE(documents_of("300x5-2000x1", true, 4096).fill, 3500.0 / 6 / 4096, 1e-14);
    RH_CHECK_CLOSE(documents_of("300x1-9000x1", true, 4096).fill, 4396.0 / 2 / 4096, 1e-14);
}

static void a_seed_says_which_documents_are_drawn(void)
{
    RhDocuments a = documents_of("300x5-2000x1-1700x2", false, 4096), b = a, c = a;
    rh_documents_settle(&b, 4096, 1);
    rh_documents_settle(&c, 4096, 2);
    CU_ASSERT_EQUAL(a.fill, b.fill);
    CU_ASSERT_NOT_EQUAL(a.fill, c.fill);
    CU_ASSERT_TRUE(fabs(a.fill - c.fill) < 0.02); /* another draw of the same documents */
}

/* A document of l tokens has l^2/2 pairs, and l w - w^2/2 with a window of w. */
static void masks_leave_each_document_its_own_pairs(void)
{
    RhDocuments one = documents_of("4096", false, 4096), eight = documents_of("512", false, 4096);
    CU_ASSERT_EQUAL(rh_documents_pairs(&one, 4096, 0, false), 4096.0 * 4096 / 2);
    CU_ASSERT_EQUAL(rh_documents_pairs(&one, 4096, 1024, false), 4096.0 * 1024 - 1024.0 * 1024 / 2);
    CU_ASSERT_EQUAL(rh_documents_pairs(&eight, 4096, 0, false), 8 * 512.0 * 512 / 2);
    CU_ASSERT_EQUAL(rh_documents_pairs(&eight, 4096, 1024, false), 8 * 512.0 * 512 / 2);
    CU_ASSERT_EQUAL(rh_documents_pairs(&eight, 4096, 0, true), 8 * 512.0 * 512);
    RhDocuments mixed = documents_of("1000x3-3000x1", false, 6000);
    double each = (3 * 1000.0 * 1000 + 3000.0 * 3000) / 2, samples = mixed.fill * 6000 / 6000;
    RH_CHECK_CLOSE(rh_documents_pairs(&mixed, 6000, 0, false), each * samples, 1e-12);
    CU_ASSERT_EQUAL(rh_documents_length(&mixed, 6000), (3e6 + 9e6) / 6000);
    CU_ASSERT_EQUAL(rh_documents_length(&eight, 4096), 512);
}

static double flops_of(const RhModel *m, RhPass pass, const RhShard *shard)
{
    return block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, pass, shard);
}

/* llama-3.1-8b: 32 heads of 128, so 4 x 4,096 FLOPs a pair forward and 10 x 4,096 backward; what
 * linear layers do stays. A single document as long as the sample is no list at all. */
static void kernels_do_the_flops_of_the_documents_pairs(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-8b", NULL);
    RhDocuments eight = documents_of("512", false, 4096), one = documents_of("4096", false, 4096);
    RhShard plain = shard_of(1, 4096, 2);
    RhShard packed = plain, whole = plain;
    packed.documents = &eight;
    whole.documents = &one;
    double less = 2 * (4096.0 * 4096 / 2 - 8 * 512.0 * 512 / 2);
    RH_CHECK_CLOSE(flops_of(m, RH_PASS_FORWARD, &plain) - flops_of(m, RH_PASS_FORWARD, &packed),
                   less * 4 * 4096, 1e-9);
    RH_CHECK_CLOSE(flops_of(m, RH_PASS_BACKWARD_DATA, &plain) -
                       flops_of(m, RH_PASS_BACKWARD_DATA, &packed),
                   less * 10 * 4096, 1e-9);
    for (RhPass pass = RH_PASS_FORWARD; pass < RH_PASS_LAST; pass++)
        CU_ASSERT_EQUAL(flops_of(m, pass, &plain), flops_of(m, pass, &whole));
    double full = rh_model_flops_per_token(m, 4096), pair = 32 * 3 * 4 * 4096.0;
    const RhLora all = {0};
    RH_CHECK_CLOSE(rh_model_documents_flops_per_token(m, 4096, &all, &one), full, 1e-12);
    RH_CHECK_CLOSE(rh_model_documents_flops_per_token(m, 4096, &all, &eight),
                   full - pair * (4096 - 512) / 2.0, 1e-12);
    RhDocuments padded = documents_of("512", true, 4096);
    RH_CHECK_CLOSE(rh_model_documents_flops_per_token(m, 4096, &all, &padded),
                   full - pair * (4096 - 512) / 2.0, 1e-12);
}

/* Context ranks have a c-th of every document's pairs, whichever way keys and values come to them; a
 * sample that is one document is none. */
static void context_ranks_share_every_documents_pairs(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-8b", NULL);
    RhDocuments mixed = documents_of("1000x3-3000x1", false, 6000),
                one = documents_of("6000", false, 6000);
    RhShard all = {.tp = 1, .sequence = 6000, .microbatch = 1, .dtype = RH_DTYPE_BF16};
    all.flash = all.fused_norms = all.fused_elementwise = true;
    all.documents = &mixed;
    const struct {
        int32_t cp, ulysses;
        RhContextKind kv;
    } cuts[] = {{2, 1, RH_CONTEXT_RING},   {6, 1, RH_CONTEXT_RING}, {2, 1, RH_CONTEXT_GATHER},
                {6, 1, RH_CONTEXT_GATHER}, {4, 4, RH_CONTEXT_RING}, {4, 2, RH_CONTEXT_GATHER}};
    for (size_t i = 0; i < G_N_ELEMENTS(cuts); i++)
        for (RhPass pass = RH_PASS_FORWARD; pass <= RH_PASS_BACKWARD_DATA; pass++) {
            RhShard part = all, whole;
            part.cp = cuts[i].cp;
            part.ulysses = cuts[i].ulysses;
            part.kv = cuts[i].kv;
            RH_CHECK_CLOSE(part.cp * flops_of(m, pass, &part), flops_of(m, pass, &all), 1e-12);
            whole = part;
            whole.documents = &one;
            part.documents = NULL;
            RH_CHECK_CLOSE(flops_of(m, pass, &whole), flops_of(m, pass, &part), 1e-12);
        }
}

/* Packed, a step takes less than one long document would, padded exactly as much. */
static void packing_saves_attention_and_padding_nothing(void)
{
    double seconds[3];
    for (int i = 0; i < 3; i++) {
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 8, 16384);
        if (i > 0)
            k.c.job.documents = documents_of("512", i == 2, 16384);
        RhLayout l = train_layout(&k, "tp8,recompute=full");
        g_autoptr(RhModelCost) model_cost = rh_model_cost_new(&k.c, &l);
        seconds[i] =
            model_cost->mixer[0].tensor_forward.seconds + model_cost->mixer[0].data.seconds;
    }
    CU_ASSERT_TRUE(seconds[1] < 0.7 * seconds[0]);
    CU_ASSERT_EQUAL(seconds[2], seconds[0]);
}

static void what_documents_do_not_go_with_is_refused(void)
{
    static const struct {
        const char *model, *layout, *documents;
        bool padded, legal;
    } rows[] = {{"llama-3.1-8b", "tp8", "512", false, true},
                {"llama-3.1-8b", "cp2,tp4", "512", false, true},
                {"llama-3.1-8b", "cp2,tp4", "3x1-4x9", false, false},
                {"llama-3.1-8b", "cp2,tp4", "3", true, true},
                {"deepseek-v3.2", "tp8", "512", false, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit(rows[i].model, "dgx-h100:1", "megatron", 8, 16384);
        k.c.job.documents = documents_of(rows[i].documents, rows[i].padded, 16384);
        RhLayout l = rh_train_default(&k.c);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        l = rh_train_canonical(&k.c, &l);
        CU_ASSERT_EQUAL(rh_train_legal(&k.c, &l, &error), rows[i].legal);
        CU_ASSERT_TRUE(rows[i].legal || strstr(error->message, "documents"));
    }
}

int main(void)
{
    return rh_test_main(
        "documents",
        (RhTest[]){
            {"lists_are_read_and_wrong_ones_refused", lists_are_read_and_wrong_ones_refused},
            {"samples_get_as_full_as_first_fit_makes_them",
             samples_get_as_full_as_first_fit_makes_them},
            {"padded_samples_are_as_full_as_the_mean_document",
             padded_samples_are_as_full_as_the_mean_document},
            {"a_seed_says_which_documents_are_drawn", a_seed_says_which_documents_are_drawn},
            {"masks_leave_each_document_its_own_pairs", masks_leave_each_document_its_own_pairs},
            {"kernels_do_the_flops_of_the_documents_pairs",
             kernels_do_the_flops_of_the_documents_pairs},
            {"context_ranks_share_every_documents_pairs",
             context_ranks_share_every_documents_pairs},
            {"packing_saves_attention_and_padding_nothing",
             packing_saves_attention_and_padding_nothing},
            {"what_documents_do_not_go_with_is_refused", what_documents_do_not_go_with_is_refused},
            {0}});
}

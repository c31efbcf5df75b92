/* Layers that look at keys which a layer before them chose (GLM-5.2), cut into stages: what is sent, and that memory and bounds
 * hold. */
#include <string.h>

#include "sim/memory_ledger.h"
#include "tests/kit/bounds_kit.h"
#include "tests/kit/model_counts.h"
#include "tests/kit/serve_kit.h"
#include "tests/kit/train_kit.h"

#define TOP      512
#define SEQUENCE 2048
#define GLM(rest)                                                                                  \
    "{" SHAPE("glm_moe_dsa", 8, 1024, 16, 16, 4096,                                                \
              32000) ", 'q_lora_rank': 512, 'kv_lora_rank': 256, 'qk_nope_head_dim': 64, "         \
                     "'qk_rope_head_dim': 64, 'v_head_dim': 64, 'index_n_heads': 16, "             \
                     "'index_head_dim': 64, 'index_topk': 512, 'n_routed_experts': null, "         \
                     "'num_experts_per_tok': null, 'moe_intermediate_size': null" rest "}"
#define TURNS                                                                                      \
    ", 'indexer_types': ['full', 'shared', 'shared', 'full', 'shared', 'shared', 'full', "         \
    "'shared']"

static TrainKit kit(const char *rest, int64_t sequence)
{
    TrainKit k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 16, sequence);
    rh_model_free(k.model);
    g_autofree char *text = g_strdup_printf(GLM("%s"), rest);
    k.model = model_load(text);
    k.c.model = k.model;
    train_kit_runs_all(&k);
    return k;
}

static RhLayout layout_of(const TrainKit *k, const char *text)
{
    RhLayout l = rh_train_default(&k->c);
    CU_ASSERT_TRUE_FATAL(rh_layout_parse(text, &l, NULL));
    rh_train_complete(&k->c, &l);
    CU_ASSERT_TRUE_FATAL(rh_train_legal(&k->c, &l, NULL));
    return l;
}

/* The bytes of all messages of this name in a step of the stage's role. */
static double sent(const RhProgram *p, int32_t role, const char *label)
{
    double bytes = 0;
    const RhRole *r = rh_program_role(p, role);
    for (int32_t i = r->tasks_first; i < r->tasks_first + r->tasks_count; i++) {
        const RhTask *task = &g_array_index(p->tasks, RhTask, i);
        if (task->kind == RH_TASK_SEND &&
            g_str_equal(g_ptr_array_index(p->labels, task->label), label))
            bytes += task->bytes;
    }
    return bytes;
}

/* Four stages of two layers: before layers 2 and 4, which borrow, each token's numbers travel beside its hidden state, forward
 * alone; before layer 6, which chooses itself, the hidden state. */
static void numbers_travel_forward_alone(void)
{
    static const bool borrows[] = {true, true, false};
    const double hidden = 2.0 * 1024, numbers = 4.0 * TOP, tokens = 16.0 * SEQUENCE / 2;
    g_auto(TrainKit) k = kit(TURNS, SEQUENCE);
    RhLayout l = layout_of(&k, "pp4,dp2,mb1");
    g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int32_t stage = 0; stage < 3; stage++) {
        CU_ASSERT_EQUAL(sent(p, stage, "send activations"),
                        tokens * (hidden + (borrows[stage] ? numbers : 0)));
        CU_ASSERT_EQUAL(sent(p, stage + 1, "send gradients"), tokens * hidden);
    }
    g_auto(TrainKit) near = kit(TURNS, TOP);
    l = layout_of(&near, "pp4,dp2,mb1");
    g_autoptr(RhProgram) all = rh_train_build(&near.c, &l, NULL);
    CU_ASSERT_EQUAL(sent(all, 0, "send activations"), 16.0 * TOP / 2 * hidden);
}

/* Tensor ranks send their share of the tokens, and of the numbers. */
static void memory_and_bounds_hold(void)
{
    static const char *const layouts[] = {"pp4,dp2,mb1", "pp2,tp2,dp2,mb1,sp=on",
                                          "pp2,dp4,vpp2,mb1", "pp4,dp2,mb1,schedule=zb-h1",
                                          "pp2,dp4,mb1,schedule=dualpipe"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_auto(TrainKit) k = kit(TURNS, SEQUENCE);
        RhLayout l = layout_of(&k, layouts[i]);
        bounds_check_within(&k.c, "shared indexers", &l, BOUNDS_PATIENCE_S);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        RhTrainMemory worst = rh_train_memory(&k.c, &l);
        RH_CHECK_CLOSE(rh_ledger_walk(p, worst.stage, RH_MEMORY_TIER_HBM).peak_bytes,
                       worst.peak_bytes, 1e-9);
    }
}

/* A server's stages hand on as much at every boundary. */
static void servers_hand_numbers_on(void)
{
    static const char *const rests[] = {"", TURNS};
    for (size_t i = 0; i < G_N_ELEMENTS(rests); i++) {
        Setting s = setting_of("llama-3.2-1b", "dgx-h100:1", "tp1,pp2");
        g_autofree char *text = g_strdup_printf(GLM("%s"), rests[i]);
        rh_model_free(s.model);
        s.serving.model = s.model = model_load(text);
        g_autoptr(GError) error = NULL;
        g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], &error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(it);
        CU_ASSERT_EQUAL(rh_iteration_hidden_bytes(it, 10), 10 * 2.0 * 1024);
        CU_ASSERT_EQUAL(rh_iteration_handed_bytes(it, 10), 10 * (2.0 * 1024 + i * 4.0 * TOP));
        close_setting(&s);
    }
}

int main(void)
{
    return rh_test_main("shared_index",
                        (RhTest[]){{"numbers_travel_forward_alone", numbers_travel_forward_alone},
                                   {"memory_and_bounds_hold", memory_and_bounds_hold},
                                   {"servers_hand_numbers_on", servers_hand_numbers_on},
                                   {0}});
}

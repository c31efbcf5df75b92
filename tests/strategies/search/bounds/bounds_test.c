/* Bounds hold: closed form <= segment graph <= rehearsal, where they once did not, and how near they are.
 * bounds_drawn_test.c draws layouts. */
#include <math.h>
#include <string.h>

#include "strategies/knobs.h"
#include "strategies/layer_partition.h"
#include "tests/kit/bounds_kit.h"

/* --- layouts that once had a bound above their rehearsal --- */

static const struct {
    const char *model, *platform, *stack;
    int64_t batch, sequence;
    int32_t gpus; /* 0: all */
    const char *layout;
} known[] = {
    /* pipelines that share NICs */
    {"gpt3-175b", "dgx-h100:7", "megatron", 16, 128, 0, "tp1,pp14,dp4,zero0,sp=off,order=tp-dp-pp"},
    {"gpt3-175b", "dgx-h100:7", "megatron", 16, 128, 0, "tp1,pp14,dp4,zero0,sp=off,order=tp-pp-dp"},
    {"llama-2-13b", "llama3-roce:16", "megatron", 32, 1, 0,
     "tp1,pp32,dp4,mb1,zero2,recompute=selective,sp=off,schedule=gpipe"},
    /* tensor groups across nodes, NVLink slower than the NIC */
    {"llama-3.2-1b", "h100-sxm:3x9,nvlink:10GB/s", "megatron", 32, 2048, 24, "tp2,pp3,dp4"},
    {"llama-3.2-1b", "h100-sxm:3x9,nvlink:10GB/s", "bare", 32, 2048, 24, "tp2,pp3,dp4,zero3"},
    /* islands in nodes, which tensor groups lie in or straddle; a torus */
    {"llama-3.2-1b", "summit:4", "bare", 48, 1024, 0, "tp2,pp2,dp6,zero1"},
    {"llama-3.2-1b", "pcie-gen4:2", "megatron", 16, 1024, 0, "tp8,pp2,dp1"},
    {"llama-3.2-1b", "frontier:4", "bare", 32, 1024, 0, "tp4,pp2,dp4,zero3"},
    {"llama-3.2-1b", "tpu-v5p", "bare", 64, 1024, 0, "tp1,pp4,dp16,zero1"},
    {"llama-3.2-1b", "tpu-v5p", "bare", 60, 1024, 40, "tp1,cp2,pp2,dp10,zero3"},
    /* tensor groups along a torus, beside the axis of shards */
    {"llama-3.2-1b", "tpu-v5p", "bare", 64, 1024, 0, "tp4,dp16,zero3"},
    {"llama-3.2-1b", "tpu-v5p", "maxtext", 64, 1024, 0, "tp2,pp2,dp16,zero1"},
    /* meshes whose pairs of GPUs differ, and with them the groups of a block's ranks */
    {"llama-3.2-1b", "v100-sxm-32:8x32,nvlink:10GB/s,ib:200Gb/s,nics:8,leaf:4,oversub:2", "lab",
     256, 64, 0, "tp4,pp2,dp16,cp2,ulysses2,zero1,sp=off"},
    {"llama-3.2-1b", "v100-sxm-32:8x16,nvlink:10GB/s,ib:100Gb/s,nics:1", "megatron", 256, 64, 0,
     "tp4,dp32,mb2,zero1,shard8,sp=off"},
    {"llama-3.2-1b", "v100-sxm-32:8x64,nvlink:10GB/s,ib:400Gb/s,nics:8,leaf:4,oversub:4",
     "megatron", 1536, 384, 0, "tp8,dp64,mb2,zero1,shard2,sp=off"},
    /* of two tensor groups in a block, in each stage another crosses nodes */
    {"gpt2", "h100-sxm:8x48,nvlink:200GB/s,ib:200Gb/s,nics:8", "lab", 1152, 96, 0,
     "tp6,pp4,dp8,cp2,kv=gather,mb2,zero1,recompute=mlp,schedule=zb-h2,sp=on,order=tp-pp-dp"},
    /* stages cut unevenly */
    {"llama-3.1-8b", "dgx-h200:1", "megatron", 2, 512, 2, "pp2,stages=2-30"},
    {"llama-3.2-1b", "dgx-h100:1", "megatron", 16, 1024, 8, "pp4,dp2,stages=1-1-13-1"},
    /* experts, and layers of two kinds */
    {"mixtral-8x7b", "dgx-h100:4", "megatron", 64, 2048, 0, "tp2,pp4,dp4,zero1,vpp2"},
    {"deepseek-v3", "dgx-h100:8", "bare", 64, 1024, 0, "tp4,pp4,dp4,zero3,recompute=full"},
    {"deepseek-v3", "dgx-h100:8", "bare", 64, 1024, 0, "tp4,pp2,dp8,ep32,etp1,zero2"},
    /* the first group of experts lies evenly on nodes, others do not: one algorithm for all */
    {"mixtral-8x7b", "h100-sxm:6x8,nvlink:50GB/s,ib:200Gb/s,nics:1", "megatron", 144, 192, 0,
     "tp1,pp2,cp4,kv=gather,ep4,etp2,dispatch=deepep,mb4,zero0,sp=off,order=tp-pp-dp"},
};

static void known_counter_examples_hold(void)
{
    int32_t rehearsed = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        g_auto(TrainKit) k = train_kit(known[i].model, known[i].platform, known[i].stack,
                                       known[i].batch, known[i].sequence);
        if (known[i].gpus)
            k.c.job.gpus = known[i].gpus;
        train_kit_runs_all(&k);
        RhLayout l = train_layout(&k, known[i].layout);
        rehearsed += bounds_rehearsed(bounds_check(&k.c, known[i].model, &l));
    }
    bounds_check_some(rehearsed);
}

/* One link at another rate than its like, whichever it is: stages that lie alike no longer take as long. */
static void links_of_other_rates_hold(void)
{
    static const struct {
        const char *platform, *layout, *link;
        double scale;
    } rows[] = {{"pcie-gen4:3", "tp8,pp3,dp1", "nvlink/node0/gpu3/up", 0.5},
                {"pcie-gen4:2", "tp2,pp2,dp4", "nvlink/node1/gpu0/down", 0.5},
                {"dgx-h100:3", "tp8,pp3,dp1,schedule=gpipe", "nvlink/node2/gpu0/up", 0.5},
                {"dgx-h100:3", "tp1,dp24,zero3", "nic/node1/3/tx", 0.25},
                {"dgx-h100:3", "tp8,pp3,dp1", "nvlink/node0/gpu0/up", 4},
                {"llama3-roce:4", "tp4,dp8,zero1", "nic/node0/0/rx", 3}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("gpt2-medium", rows[i].platform, "megatron", 48, 1024);
        train_kit_runs_all(&k);
        RhLink link = rh_platform_link_by_name(k.platform, rows[i].link);
        CU_ASSERT_TRUE_FATAL(link >= 0);
        rh_platform_link_scale(k.platform, link, rows[i].scale);
        RhLayout l = train_layout(&k, rows[i].layout);
        CU_ASSERT_TRUE(bounds_check_surely(&k.c, rows[i].link, &l).segment > 0.3);
    }
}

/* Layers of two kinds: what a slot leaves on a lane meets the first layers of the next one, as
 * backward begins with experts here, forward with dense layers. */
static void layers_of_two_kinds_hold_in_their_order(void)
{
    int32_t rehearsed = 0;
    static const char *const layouts[] = {
        "tp2,pp2,dp4,zero0,schedule=zb-h1,sp=off,stages=5-1",
        "tp2,pp2,dp4,zero0,schedule=1f1b,sp=off,stages=5-1",
        "tp2,pp2,dp4,zero0,schedule=zb-h1,sp=off,stages=4-2,recompute=selective"};
    g_auto(TrainKit) k =
        train_kit("deepseek-v3", "h100-sxm:4x4,nvlink:10GB/s,ib:400Gb/s,nics:1", "bare", 48, 768);
    static const char *const sets[][2] = {
        {"layers", "6"}, {"n_group", "4"}, {"experts", "64"}, {"topk_group", "2"}};
    for (size_t i = 0; i < G_N_ELEMENTS(sets); i++)
        g_assert(rh_model_set(k.model, sets[i][0], sets[i][1], NULL));
    train_kit_runs_all(&k);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        rehearsed += bounds_rehearsed(bounds_check(&k.c, "deepseek-v3 of 6 layers", &l));
    }
    bounds_check_some(rehearsed);
}

/* Replicas of two on nodes of six: groups of two or four of them lie on their nodes in several ways, and
 * all share the NICs. Too many ranks differ for any to be performed as it is; what is performed in their
 * place is no quicker. */
static void merged_ranks_share_links_with_groups_that_lie_otherwise(void)
{
    int32_t rehearsed = 0;
    static const char *const stacks[] = {"megatron", "bare"};
    static const char *const layouts[] = {"tp2,dp672,mb2,zero1,shard2,recompute=selective,sp=off",
                                          "tp2,dp672,mb2,zero1,shard4,sp=off",
                                          "tp2,dp672,zero2,shard2"};
    for (size_t i = 0; i < G_N_ELEMENTS(stacks) * G_N_ELEMENTS(layouts); i++) {
        g_auto(TrainKit) k = train_kit("gpt2", "h100-sxm:6x224,nvlink:200GB/s,ib:400Gb/s,nics:1",
                                       stacks[i % 2], 4032, 3072);
        rh_model_free(k.model);
        k.model = rh_model_gpt("small", 6, 384, 6, 0, 32000, 8192);
        k.c.model = k.model;
        k.c.job.lora = (RhLora){8, RH_LINEAR_ALL};
        RhLayout l = train_layout(&k, layouts[i / 2]);
        rehearsed += bounds_rehearsed(bounds_check(&k.c, "merged", &l));
    }
    bounds_check_some(rehearsed);
}

/* Frozen weights of 4 bits are gathered as they are held, for forward and for backward, and made
 * wide before each product. */
static void frozen_weights_of_few_bits_are_gathered(void)
{
    int32_t rehearsed = 0;
    static const char *const layouts[] = {"dp16,mb1,zero3,recompute=full", "dp16,mb2,zero3",
                                          "tp2,dp8,mb1,zero3,shard4,sp=on", "tp2,dp8,mb1,zero2"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "bare", 64, 2048);
        k.c.job.lora = (RhLora){16, RH_LINEAR_ALL};
        k.c.job.frozen = &rh_frozen_format_nf4;
        RhLayout l = train_layout(&k, layouts[i]);
        rehearsed += bounds_rehearsed(bounds_check(&k.c, "frozen in 4 bits", &l));
    }
    bounds_check_some(rehearsed);
}

/* Ranks on a mesh of eight V100s, where some pairs of GPUs four apart have two links, others one.
 * Ranks that gather their second shares over two are earlier with the gathers behind, which the
 * graph, at 1.03, had all ranks begin at one time. */
static void second_shares_on_a_mesh_are_not_in_step(void)
{
    g_auto(TrainKit) k =
        train_kit("gpt2", "v100-sxm-32:8x448,nvlink:50GB/s,ib:100Gb/s,nics:8,leaf:2,oversub:4",
                  "aleph-softmax", 28672, 48);
    rh_model_free(k.model);
    k.model = rh_model_gpt("drawn", 24, 512, 8, 0, 32000, 8192);
    k.model->tied_embeddings = false;
    k.c.model = k.model;
    train_kit_runs_all(&k);
    k.stack->prefetch_layers = 3;
    RhLayout l = train_layout(&k, "tp4,dp896,mb4,zero3,hpz2,sp=off");
    CU_ASSERT_TRUE(bounds_rehearsed(bounds_check_surely(&k.c, "second shares", &l)));
}

/* Groups of every third rank on nodes of four: the 256 that sum adapters' gradients side by side
 * share nodes in other ways, so their trees differ, and nothing keeps them in step from round to
 * round. */
static void trees_of_groups_that_lie_otherwise_are_not_in_step(void)
{
    int32_t rehearsed = 0;
    static const struct {
        const char *stack, *platform, *layout;
        int32_t layers, prefetch;
        int64_t batch, sequence;
        uint32_t modules;
    } rows[] = {
        {"bare", "h100-sxm:4x192,nvlink:10GB/s,ib:200Gb/s,nics:2",
         "tp3,dp64,cp4,ulysses4,mb2,zero0,recompute=selective,sp=off", 6, 4, 1536, 1536, 1357},
        {"aleph", "h100-sxm:4x192,nvlink:50GB/s,ib:25Gb/s,nics:2",
         "tp3,dp64,cp4,ulysses4,mb1,zero1,shard4,recompute=selective,sp=on", 2, 2, 2304, 192, 1854},
        {"aleph", "h100-sxm:4x192,nvlink:50GB/s,ib:25Gb/s,nics:2",
         "tp3,dp64,cp4,mb1,zero0,recompute=full,sp=on", 2, 2, 2304, 192, 1854},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k =
            train_kit("gpt2", rows[i].platform, rows[i].stack, rows[i].batch, rows[i].sequence);
        rh_model_free(k.model);
        k.model = rh_model_gpt("drawn", rows[i].layers, 768, 12, 0, 32000, 8192);
        k.c.model = k.model;
        train_kit_runs_all(&k);
        k.stack->prefetch_layers = rows[i].prefetch;
        k.c.job.lora = (RhLora){8, rows[i].modules};
        RhLayout l = train_layout(&k, rows[i].layout);
        rehearsed += bounds_rehearsed(bounds_check(&k.c, "trees that differ", &l));
    }
    bounds_check_some(rehearsed);
}

/* An exchange of two replicas at the turn is behind them: the next pair does not wait for it. */
static void an_exchange_at_the_turn_keeps_no_pair_back(void)
{
    int32_t rehearsed = 0;
    static const char *const layouts[] = {
        "tp4,pp4,dp2,mb1,zero0,recompute=full,schedule=dualpipe,vpp2,sp=on,tpoverlap=on,"
        "stages=3-3-4-5-2-1-3-3",
        "tp4,pp4,dp2,mb1,zero0,recompute=full,schedule=dualpipe,vpp2,sp=on,"
        "stages=3-3-4-5-2-1-3-3"};
    g_auto(TrainKit) k =
        train_kit("gpt2", "h100-sxm:8x4,nvlink:50GB/s,ib:400Gb/s,nics:1", "bare", 96, 48);
    rh_model_free(k.model);
    k.model = rh_model_gpt("small", 24, 512, 8, 0, 32000, 8192);
    k.c.model = k.model;
    train_kit_runs_all(&k);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        rehearsed += bounds_rehearsed(bounds_check(&k.c, "exchange at the turn", &l));
    }
    bounds_check_some(rehearsed);
}

/* Groups of the same GPUs of many nodes, of which two and two are joined by one link or by two.
 * With rounds in step the graph was at 1.00025 of the rehearsal. */
static void groups_on_a_mesh_may_be_ahead_in_a_round(void)
{
    g_auto(TrainKit) k = train_kit("gpt2", "v100-sxm-32:8x112,nvlink:50GB/s,ib:200Gb/s,nics:1",
                                   "megatron-2021", 224, 1536);
    rh_model_free(k.model);
    k.model = rh_model_gpt("small", 2, 128, 8, 0, 4000, 8192);
    k.c.model = k.model;
    RhLayout l = train_layout(&k, "tp4,dp224,mb1,zero0,recompute=layernorm,sp=off");
    CU_ASSERT_TRUE(bounds_rehearsed(bounds_check_surely(&k.c, "mesh of many nodes", &l)));
}

/* Ranks of a node whose NVLinks differ: some are ready before others, when some of them exchange
 * tokens for experts; then sums of gradients that share a NIC fill one another's latencies. With
 * all of them in step the graph was at 1.0016 of the rehearsal. */
static void groups_on_a_mesh_may_begin_apart(void)
{
    static const char *const layouts[] = {"tp8,dp4,ep4,etp2,epoverlap=pairs,mb1,zero2",
                                          "tp4,dp8,ep4,etp1,epoverlap=pairs,mb1,zero2",
                                          "tp2,cp4,dp4,mb1,zero2"};
    g_auto(TrainKit) k = train_kit(
        "mixtral-8x7b", "v100-sxm-32:8x4,nvlink:50GB/s,ib:400Gb/s,nics:2", "hai-llm", 96, 384);
    CU_ASSERT_TRUE_FATAL(rh_model_set(k.model, "layers", "2", NULL));
    int32_t rehearsed = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        rehearsed += bounds_rehearsed(bounds_check(&k.c, "mesh of experts", &l));
    }
    bounds_check_some(rehearsed);
}

/* Parameters gathered further ahead. */
static void prefetch_of_any_depth_holds(void)
{
    int32_t rehearsed = 0;
    static const int32_t depths[] = {0, 1, 3, 64, 2, 4, 5, 6, 1000};
    for (size_t d = 0; d < RH_TRIES(G_N_ELEMENTS(depths), 4); d++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-a100:2", "megatron", 32, 1024);
        train_kit_runs_all(&k);
        k.stack->prefetch_layers = depths[d];
        static const char *const layouts[] = {"dp16,zero3", "tp2,pp2,dp4,zero3",
                                              "pp4,dp4,zero3,vpp2"};
        for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
            RhLayout l = train_layout(&k, layouts[i]);
            rehearsed += bounds_rehearsed(bounds_check(&k.c, "prefetch", &l));
        }
    }
    bounds_check_some(rehearsed);
}

/* The graph leaves nothing out where no SMs are held and no flows meet: what one slot's last
 * collective keeps the next slot from is counted too. */
static void with_nothing_shared_the_graph_is_the_rehearsal(void)
{
    static const char *const layouts[] = {"tp8,pp2,vpp20,sp=on", "tp8,pp2,vpp10,sp=on",
                                          "tp8,pp2,vpp20,sp=off", "tp8,pp2,sp=on"};
    g_auto(TrainKit) k = train_kit("llama-2-13b", "dgx-h100:2", "megatron", 16, 4096);
    k.platform->collective_sms.value = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        BoundsRatio ratio = bounds_check_surely(&k.c, "nothing shared", &l);
        CU_ASSERT_DOUBLE_EQUAL(ratio.segment, 1, 1e-6);
    }
}

/* A ring by which a linear layer gathers its rows goes on, step by step, beside kernels that wait for earlier steps
 * alone: each step slows whatever kernel runs. One node, so no flows meet. */
static void kernels_are_slowed_by_all_steps_of_a_ring(void)
{
    static const char *const layouts[] = {"tp8,tpoverlap=on,sp=on",
                                          "tp8,tpoverlap=on,sp=on,recompute=full"};
    g_auto(TrainKit) k = train_kit("llama-2-13b", "dgx-h100:1", "megatron", 16, 4096);
    train_kit_runs_all(&k);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        BoundsRatio ratio = bounds_check_surely(&k.c, "a ring's steps", &l);
        CU_ASSERT_DOUBLE_EQUAL(ratio.segment, 1, 1e-6);
    }
}

/* Kernels keep one SM, however many lanes hold SMs: what a bound takes off for some lanes, beside
 * others that it has counted already, is no more than what these cost. Devices may differ. */
static void lanes_take_no_more_than_all_but_one_sm(void)
{
    static const double held[] = {0, 1, 16, 24, 40, 66, 107};
    g_auto(TrainKit) k = train_kit("gpt2", "dgx-h100:1", "bare", 16, 1024);
    for (size_t i = 0; i < G_N_ELEMENTS(held); i++) {
        k.platform->collective_sms.value = held[i];
        g_autoptr(RhBoundCache) s = rh_bound_new(&k.c);
        double sms = k.platform->device->sms_count;
        s->sms_least = 108;
        s->held_frac = 1 - rh_bound_sms_left_frac(s, 1);
        for (int32_t others = 0; others < 5; others++)
            for (int32_t lanes = 1; lanes < 12; lanes++) {
                double taken = lanes * rh_bound_taken_frac(s, lanes, others) - 1e-12;
                CU_ASSERT_TRUE(taken <= rh_sms_left_frac(sms, held[i], others) -
                                            rh_sms_left_frac(sms, held[i], others + lanes));
                CU_ASSERT_TRUE(taken <= rh_sms_left_frac(108, held[i], others) -
                                            rh_sms_left_frac(108, held[i], others + lanes));
            }
        if (held[i] * 3 < 107)
            RH_CHECK_CLOSE(rh_bound_taken_frac(s, 2, 1), held[i] / sms, 1e-12);
    }
}

/* Knobs that a knob's row does not keep make another table: ep's keeps splits and shapes alone. */
static void a_knob_is_in_every_key_unless_its_row_says_otherwise(void)
{
    g_auto(TrainKit) k = train_kit("mixtral-8x7b", "dgx-h100:1", "bare", 16, 1024);
    g_autoptr(RhBoundCache) s = rh_bound_new(&k.c);
    RhLayout l = train_layout(&k, "tp2,pp2,dp2"), other = l;
    CU_ASSERT_EQUAL_FATAL(rh_knob_find("ep", 2)->keeps, RH_COMMON_SPLIT | RH_COMMON_SHAPE);
    other.ep = 2;
    CU_ASSERT_PTR_NOT_EQUAL(rh_bound_shard(s, &l), rh_bound_shard(s, &other));
    CU_ASSERT_PTR_EQUAL(rh_bound_split(s, &l), rh_bound_split(s, &other));
    CU_ASSERT_PTR_EQUAL(rh_bound_pipeline_profile(s, &l), rh_bound_pipeline_profile(s, &other));
    CU_ASSERT_PTR_NOT_EQUAL(rh_bound_network(s, &l), rh_bound_network(s, &other));
    CU_ASSERT_PTR_NOT_EQUAL(rh_bound_comm_steps(s, &l), rh_bound_comm_steps(s, &other));
    other = l;
    other.zero = 3; /* items, for one, are what they were */
    CU_ASSERT_PTR_EQUAL(rh_bound_shard(s, &l), rh_bound_shard(s, &other));
    CU_ASSERT_PTR_NOT_EQUAL(rh_bound_comm_steps(s, &l), rh_bound_comm_steps(s, &other));
}

/* Tensor groups of six on nodes of eight: some lie on two nodes. With ZeRO-2 and 3 their
 * collectives share NICs with the reductions and gathers of other replicas. */
static void straddling_tensor_groups_are_bounded_within_a_tenth(void)
{
    static const struct {
        const char *stack, *layout;
    } rows[] = {{"megatron", "tp6,dp4,zero1"},    {"megatron", "tp6,pp2,dp2"},
                {"megatron", "tp6,pp4,dp1"},      {"megatron", "tp6,dp4,zero2"},
                {"megatron", "tp6,dp4,zero3"},    {"bare", "tp6,pp2,dp2,zero3"},
                {"bare", "tp6,dp4,zero2"},        {"bare", "tp6,pp2,dp2,zero1"},
                {"megatron", "tp6,pp2,dp2,zero2"}};
    int32_t rehearsed = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("gpt2", "dgx-h100:3", rows[i].stack, 48, 1536);
        rh_model_free(k.model);
        k.model = rh_model_gpt("wide", 24, 6144, 48, 0, 51200, 2048);
        k.c.model = k.model;
        train_kit_runs_all(&k);
        RhLayout l = train_layout(&k, rows[i].layout);
        rehearsed += bounds_check_tight(&k.c, "straddling", &l, (BoundsRatio){0.9, 0.9});
    }
    bounds_check_some(rehearsed);
}

/* Blocks of a mesh, whose NVLinks differ from pair to pair: those that its turns bring over one
 * another are in step all the same, and collectives hold a fifth of a V100's SMs. */
static void blocks_of_a_mesh_are_in_step(void)
{
    static const char *const layouts[] = {"tp4,dp8,mb4,zero2", "tp8,dp4,mb8,zero1",
                                          "tp8,dp4,mb8,zero2"};
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "aws-p3:4", "megatron", 64, 2048);
    train_kit_runs_all(&k);
    int32_t rehearsed = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = train_layout(&k, layouts[i]);
        rehearsed += bounds_check_tight(&k.c, "mesh", &l, (BoundsRatio){0.99, 0.99});
    }
    bounds_check_some(rehearsed);
}

/* The longest path is found at its own prices: where chunks differ no path of equal ones is the
 * longest. And sums of a chunk's gradients slow the slots beside and behind: of paths that are else
 * as long, the one through these counts. */
static void the_closed_form_follows_the_longest_path(void)
{
    static const struct {
        int64_t batch;
        const char *layout;
        double least; /* closed form over rehearsed */
    } rows[] = {
        {8, "tp4,pp4,dp1,mb1,vpp4,stages=1-1-4-2-2-3-1-2-2-1-4-1-1-3-2-2", 0.97},
        {8, "tp2,pp4,dp2,mb1,vpp3,zero1,stages=3-3-3-3-3-3-3-3-2-2-2-2", 0.97},
        {16, "tp1,pp4,dp4,mb1,vpp4,zero1", 0.985},
    };
    int32_t rehearsed = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k =
            train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", rows[i].batch, 8192);
        train_kit_runs_all(&k);
        RhLayout l = train_layout(&k, rows[i].layout);
        BoundsRatio least = {rows[i].least, rows[i].least};
        rehearsed += bounds_check_tight(&k.c, "longest path", &l, least);
    }
    bounds_check_some(rehearsed);
}

/* Parameters of the next layer are gathered with ZeRO-3 beside a layer's kernels, and share NICs
 * with the gradients of the layer before. Sums over replicas keep a lane busy beside other links:
 * its next scatter shares nothing meanwhile. */
static void gathers_and_scatters_share_their_links(void)
{
    static const struct {
        const char *model, *layout;
        double least; /* segment graph over rehearsed */
    } rows[] = {
        {"llama-3.1-8b", "zero3,mb2,recompute=full", 0.99},
        {"llama-3.1-8b", "zero3,mb1", 0.97},
        {"llama-3.1-8b", "zero3,mb1,shard8", 0.96},
        {"mixtral-8x7b", "zero3,mb2,shard8,recompute=full", 0.94},
        {"mixtral-8x7b", "zero3,mb2,shard8,recompute=selective", 0.9},
    };
    int32_t rehearsed = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit(rows[i].model, "dgx-h100:4", "megatron", 64, 4096);
        RhLayout l = train_layout(&k, rows[i].layout);
        rehearsed += bounds_check_tight(&k.c, "gathers", &l, (BoundsRatio){0, rows[i].least});
    }
    bounds_check_some(rehearsed);
}

int main(void)
{
    return rh_test_main(
        "bounds",
        (RhTest[]){
            {"known_counter_examples_hold", known_counter_examples_hold},
            {"links_of_other_rates_hold", links_of_other_rates_hold},
            {"layers_of_two_kinds_hold_in_their_order", layers_of_two_kinds_hold_in_their_order},
            {"merged_ranks_share_links_with_groups_that_lie_otherwise",
             merged_ranks_share_links_with_groups_that_lie_otherwise},
            {"trees_of_groups_that_lie_otherwise_are_not_in_step",
             trees_of_groups_that_lie_otherwise_are_not_in_step},
            {"an_exchange_at_the_turn_keeps_no_pair_back",
             an_exchange_at_the_turn_keeps_no_pair_back},
            {"frozen_weights_of_few_bits_are_gathered", frozen_weights_of_few_bits_are_gathered},
            {"second_shares_on_a_mesh_are_not_in_step", second_shares_on_a_mesh_are_not_in_step},
            {"groups_on_a_mesh_may_be_ahead_in_a_round", groups_on_a_mesh_may_be_ahead_in_a_round},
            {"groups_on_a_mesh_may_begin_apart", groups_on_a_mesh_may_begin_apart},
            {"prefetch_of_any_depth_holds", prefetch_of_any_depth_holds},
            {"straddling_tensor_groups_are_bounded_within_a_tenth",
             straddling_tensor_groups_are_bounded_within_a_tenth},
            {"blocks_of_a_mesh_are_in_step", blocks_of_a_mesh_are_in_step},
            {"the_closed_form_follows_the_longest_path", the_closed_form_follows_the_longest_path},
            {"gathers_and_scatters_share_their_links", gathers_and_scatters_share_their_links},
            {"with_nothing_shared_the_graph_is_the_rehearsal",
             with_nothing_shared_the_graph_is_the_rehearsal},
            {"kernels_are_slowed_by_all_steps_of_a_ring",
             kernels_are_slowed_by_all_steps_of_a_ring},
            {"lanes_take_no_more_than_all_but_one_sm", lanes_take_no_more_than_all_but_one_sm},
            {"a_knob_is_in_every_key_unless_its_row_says_otherwise",
             a_knob_is_in_every_key_unless_its_row_says_otherwise},
            {0}});
}

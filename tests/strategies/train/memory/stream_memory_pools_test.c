/* PyTorch's FSDP2 and its context parallelism take memory besides the model's tensors: counts by hand. */
#include "strategies/train/memory/stream_memory_pools.h"

#include "tests/kit/train_kit.h"

#define WORDS  (128256.0 * 4096)                                   /* an end of Llama 3.1 8B */
#define LAYER  (4096.0 * (2 * 4096 + 2 * 1024 + 3 * 14336) + 8192) /* with both norms */
#define LAYERS 32

static double streams_of(const char *stack, const char *text, RhTrainMemory *m)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", stack, 64, 4096);
    RhLayout l = train_layout(&k, text);
    *m = rh_train_memory(&k.c, &l);
    return rh_train_streams_bytes(&k.c, &l, m);
}

/* Both ends and the first layer are gathered at once. Shares of gradients are part of the fullest
 * moment where a step has one micro-batch and each is reduced. */
static void ends_arrive_with_a_layer(void)
{
    RhTrainMemory m;
    double streams = streams_of("torchtitan", "dp8,mb1,zero3", &m);
    double shares = 4 * (2 * WORDS + 4096 + LAYERS * LAYER) / 8;
    CU_ASSERT_TRUE(m.at_peak_bytes[RH_MEMORY_GRADIENTS] <= shares * (1 + 1e-12));
    RH_CHECK_CLOSE(streams,
                   2 * (2 * WORDS + 4096 + LAYER) + shares - m.at_peak_bytes[RH_MEMORY_GRADIENTS],
                   1e-12);
    CU_ASSERT_EQUAL(streams_of("megatron", "dp8,zero1", &m), 0);
}

/* Gradients of stages are summed whole, in the stream of the kernels, and their shares come at the
 * end in another. */
static void shares_of_stages_come_besides(void)
{
    RhTrainMemory m;
    double streams = streams_of("torchtitan", "pp2,dp4,mb1,zero2", &m);
    double end = WORDS + (m.stage == 1 ? 4096 : 0);
    RH_CHECK_CLOSE(m.at_peak_bytes[RH_MEMORY_GRADIENTS], 4 * (end + LAYERS / 2 * LAYER), 1e-12);
    RH_CHECK_CLOSE(streams, 2 * (LAYER + MAX(end, LAYER)) + 4 * (end + LAYERS / 2 * LAYER) / 4,
                   1e-12);
}

/* Keys and values of 32 heads, not of 8: gathered from all ranks and packed once, backward two gradients in fp32. */
static void a_ring_may_gather_all_heads(void)
{
    g_autoptr(RhModel) model = rh_model_load("llama-3.1-8b", NULL);
    RhShard ring = {.tp = 1,
                    .cp = 4,
                    .sequence = 8192,
                    .microbatch = 1,
                    .dtype = RH_DTYPE_BF16,
                    .flash = true,
                    .fused_norms = true,
                    .fused_elementwise = true};
    RhShard heads = ring;
    heads.gathers_heads = true;
    double n = 2048, own = 2 * n * 8 * 256, all = n * 32 * 256;
    RhActivation a = rh_block_activation_bytes(model, &model->kinds[0], RH_BLOCK_MIXER, &ring);
    RhActivation b = rh_block_activation_bytes(model, &model->kinds[0], RH_BLOCK_MIXER, &heads);
    CU_ASSERT_EQUAL(a.kept, b.kept);
    RH_CHECK_CLOSE(b.forward - a.forward, 2 * 5 * all - 2 * own, 1e-12);
    RH_CHECK_CLOSE(b.backward - a.backward, (2 * 5 + 8) * all - 4 * own, 1e-12);
    heads.cp = ring.cp = 1;
    a = rh_block_activation_bytes(model, &model->kinds[0], RH_BLOCK_MIXER, &ring);
    b = rh_block_activation_bytes(model, &model->kinds[0], RH_BLOCK_MIXER, &heads);
    CU_ASSERT_EQUAL(a.backward, b.backward);
}

/* Said by TorchTitan's stacks. */
static void torchtitan_gathers_heads(void)
{
    CU_ASSERT_TRUE(rh_stack_by_name("torchtitan-2024", NULL)->gathers_heads);
    CU_ASSERT_FALSE(rh_stack_by_name("megatron", NULL)->gathers_heads);
}

int main(void)
{
    return rh_test_main("stream_pools",
                        (RhTest[]){{"ends_arrive_with_a_layer", ends_arrive_with_a_layer},
                                   {"shares_of_stages_come_besides", shares_of_stages_come_besides},
                                   {"a_ring_may_gather_all_heads", a_ring_may_gather_all_heads},
                                   {"torchtitan_gathers_heads", torchtitan_gathers_heads},
                                   {0}});
}

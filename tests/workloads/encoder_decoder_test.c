/* Encoders and decoders: parameters against published weights, FLOPs, kernels and bytes by hand, what tensor
 * ranks exchange, and what is refused. */
#include <string.h>

#include "strategies/launch/launch.h"
#include "strategies/train/block_cost.h"
#include "tests/kit/model_counts.h"
#include "tests/kit/shard_kit.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"
#include "workloads/operators/operator.h"

#define T5(width, layers, heads, size, ffn, rest)                                                  \
    "{'model_type': 't5', 'is_encoder_decoder': true, 'd_model': " #width                          \
    ", 'num_layers': " #layers ", 'num_heads': " #heads ", 'd_kv': " #size ", 'd_ff': " #ffn       \
    ", 'vocab_size': 32128" rest "}"
#define BART(type, width, layers, heads, ffn, vocab, positions)                                    \
    "{'model_type': '" type "', 'd_model': " #width ", 'encoder_layers': " #layers                 \
    ", 'decoder_layers': " #layers ", 'num_hidden_layers': " #layers                               \
    ", 'encoder_attention_heads': " #heads ", 'decoder_attention_heads': " #heads                  \
    ", 'encoder_ffn_dim': " #ffn ", 'decoder_ffn_dim': " #ffn ", 'vocab_size': " #vocab            \
    ", 'max_position_embeddings': " #positions "}"

#define MLLAMA(layers, crossing)                                                                   \
    "{'model_type': 'mllama', 'text_config': {" SHAPE(                                             \
        "mllama_text_model", layers, 4096, 32, 8, 14336,                                           \
        128256) ", 'cross_attention_layers': [" crossing "]}}"

/* Llama-3.2-11B-Vision: 10,670,220,835 parameters, of which its tower has 863,567,378 and what makes the
 * tower's 7,680 columns 4,096 has 31,461,376, counted here from its shapes; the rest but for eight rows of the
 * table and two scales in each of eight layers. Those look at 6,404 tokens of a picture.
 * Source: the weights of meta-llama/Llama-3.2-11B-Vision. */
static void layers_may_look_at_pictures(void)
{
    const double h = 4096, kv = 1024, f = 14336, S = 8192, E = 6404;
    const int64_t tower = 40 * (4 * 1280 * 1280 + 2 * 1280 * 5120 + 5120 + 1280 + 4 * 1280) + 16 +
                          1601 * 1280 + 9 * 4 * 1601 * 1280 + 1 + 2 * (9 * 4 * 1280 + 1) +
                          14 * 14 * 3 * 1280 + 1280 + 4 * 1280;
    g_autoptr(RhModel) m = model_load(MLLAMA(40, "3, 8, 13, 18, 23, 28, 33, 38"));
    CU_ASSERT_EQUAL(rh_model_params(m),
                    10670220835 - tower - (7680 * 4096 + 4096) - 8 * 4096 - 2 * 8);
    double own = S * (2 * h * h + 2 * h * kv) + S * S / 2 * 2 * h;
    double cross = S * 2 * h * h + E * 2 * h * kv + S * E * 2 * h;
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 8192) * S,
                   6 * (32 * own + 8 * cross + 40 * S * 3 * h * f + S * h * 128256), 1e-14);
    CU_ASSERT_TRUE(rh_model_crosses(m) && m->encoder == NULL);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(model_parse("{" SHAPE("mllama", 4, 256, 8, 2, 512, 1000) "}", &error));
    CU_ASSERT_TRUE(error && strstr(error->message, "cross_attention_layers"));
}

/* Tables of biases by distance in every layer (UMT5); MT5 is gated and not tied where the file says nothing. */
static void what_a_file_leaves_out_is_the_types_own(void)
{
#define PLAIN                                                                                      \
    ", 'd_model': 512, 'num_layers': 8, 'num_decoder_layers': 6, 'num_heads': 6, 'd_ff': 1024, "   \
    "'vocab_size': 1000}"
    g_autoptr(RhModel) t5 = model_load("{'model_type': 't5'" PLAIN);
    g_autoptr(RhModel) mt5 = model_load("{'model_type': 'mt5'" PLAIN);
    g_autoptr(RhModel) umt5 = model_load("{'model_type': 'umt5'" PLAIN);
    CU_ASSERT_TRUE(t5->tied_embeddings && !mt5->tied_embeddings && umt5->tied_embeddings);
    CU_ASSERT_EQUAL(rh_model_params(mt5) - rh_model_params(t5), 1000 * 512 + 14 * 512 * 1024);
    CU_ASSERT_EQUAL(rh_model_params(umt5) - rh_model_params(t5),
                    14 * 512 * 1024 + (7 + 5) * 32 * 6);
    CU_ASSERT_EQUAL(t5->layers_count, 8 + 2 * 6);
    CU_ASSERT_EQUAL(rh_model_encoder_tokens(t5, 512), 512);
    CU_ASSERT_TRUE(rh_model_set(t5, "encoder_tokens", "2048", NULL));
    CU_ASSERT_EQUAL(rh_model_encoder_tokens(t5, 512), 2048);
    CU_ASSERT_TRUE(rh_model_set(t5, "encoder_layers", "2", NULL));
    CU_ASSERT_EQUAL(t5->layers_count, 2 + 2 * 6);
    CU_ASSERT_TRUE(rh_model_makes_tokens(t5));
}

/* Multiply-adds: of each token the matrices, of each pair two products; the encoder's tokens once more for
 * keys and values in every layer of the decoder. */
static void flops_are_those_counted_by_hand(void)
{
    const double h = 1024, inner = 32 * 128, f = 16384, V = 32128, E = 2048, S = 512, L = 24;
    g_autoptr(RhModel) m = model_load(T5(1024, 24, 32, 128, 16384, ""));
    CU_ASSERT_TRUE(rh_model_set(m, "encoder_tokens", "2048", NULL));
    double attention = 4 * h * inner, ffn = 2 * h * f;
    double encoder = L * (E * (attention + ffn) + E * E * 2 * inner);
    double decoder = L * (S * (attention + 2 * h * inner + ffn) + E * 2 * h * inner +
                          S * S / 2 * 2 * inner + S * E * 2 * inner);
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 512) * S, 6 * (encoder + decoder + S * h * V),
                   1e-14);
}

/* Kernels of every kind of layer and of both ends do the FLOPs that their rows count, however they
 * are cut: three products with keys and two with values backward; shares sum to the whole. */
static void kernels_do_the_flops_of_their_rows(void)
{
    static const char *const models[] = {"flan-t5-xxl", "whisper-large-v3"};
    for (size_t i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(RhModel) m = rh_model_load(models[i], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CU_ASSERT_EQUAL(m->kinds_count, 4);
        for (int32_t c = 0; c < 4 * m->kinds_count; c++) {
            const RhLayerKind *kind = &m->kinds[c / 4];
            RhBlock block = c % 2 ? RH_BLOCK_FFN : RH_BLOCK_MIXER;
            RhShard shard = {.tp = c / 2 % 2 ? 4 : 1,
                             .sequence = 448,
                             .microbatch = 3,
                             .dtype = RH_DTYPE_BF16,
                             .flash = true};
            static const RhPass passes[] = {RH_PASS_FORWARD, RH_PASS_BACKWARD_DATA,
                                            RH_PASS_BACKWARD_WEIGHT};
            double done[3];
            RhShard whole = shard;
            whole.tp = 1;
            RhFlops cut = rh_block_flops(m, kind, block, &shard);
            RhFlops all = rh_block_flops(m, kind, block, &whole);
            for (int p = 0; p < 3; p++)
                done[p] = block_flops(m, kind, block, passes[p], &shard);
            RH_CHECK_CLOSE(done[0], cut.weights + cut.pairs, 1e-14);
            RH_CHECK_CLOSE(done[1], cut.weights + 2.5 * cut.pairs, 1e-14);
            RH_CHECK_CLOSE(done[2], cut.weights, 1e-14);
            RH_CHECK_CLOSE(shard.tp * (cut.weights + cut.pairs), all.weights + all.pairs, 1e-14);
        }
    }
}

static double kept_of(const RhModel *m, const RhLayerKind *kind, RhBlock block,
                      RhRecompute recompute)
{
    RhShard shard = shard_of(1, 448, 2);
    shard.recompute = recompute;
    return rh_block_activation_bytes(m, kind, block, &shard).kept;
}

/* Cross attention keeps its input and the norm's output, queries, keys, values and output, and a number a
 * query and head. The encoder's output stays once, whatever is run again. */
static void kept_bytes_are_those_counted_by_hand(void)
{
    g_autoptr(RhModel) m = rh_model_load("whisper-large-v3", NULL);
    const double n = 2 * 448, encoded = 2 * 1500, h = 1280;
    const RhLayerKind *cross = &m->kinds[3], *last = &m->kinds[1];
    CU_ASSERT_STRING_EQUAL(rh_operator_name(cross->mixer), "cross attention");
    CU_ASSERT_TRUE(last->encodes && last->end_norm && !m->kinds[0].end_norm);
    RH_CHECK_CLOSE(kept_of(m, cross, RH_BLOCK_MIXER, RH_RECOMPUTE_NONE),
                   2 * (2 * n * h + 2 * n * h + 2 * encoded * h) + 4 * n * 20, 1e-14);
    RH_CHECK_CLOSE(kept_of(m, cross, RH_BLOCK_MIXER, RH_RECOMPUTE_SELECTIVE),
                   2 * (2 * n * h + 2 * n * h + 2 * encoded * h), 1e-14);
    RH_CHECK_CLOSE(kept_of(m, cross, RH_BLOCK_MIXER, RH_RECOMPUTE_FULL), 2 * n * h, 1e-14);
    RH_CHECK_CLOSE(kept_of(m, last, RH_BLOCK_FFN, RH_RECOMPUTE_NONE) -
                       kept_of(m, &m->kinds[0], RH_BLOCK_FFN, RH_RECOMPUTE_NONE),
                   2 * 2 * encoded * h, 1e-12);
    CU_ASSERT_EQUAL(kept_of(m, &m->kinds[0], RH_BLOCK_FFN, RH_RECOMPUTE_FULL), 0);
    RH_CHECK_CLOSE(kept_of(m, last, RH_BLOCK_FFN, RH_RECOMPUTE_FULL), 2 * encoded * h, 1e-14);
}

/* The spectrum, 3,000 frames of 128 rows, through three taps each, the second in steps of two. */
static void sounds_become_tokens_by_two_convolutions(void)
{
    g_autoptr(RhModel) m = rh_model_load("whisper-large-v3", NULL);
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    RhShard shard = {.tp = 1, .sequence = 448, .microbatch = 1, .dtype = RH_DTYPE_BF16};
    double flops = 0;
    rh_block_kernels(m, NULL, RH_BLOCK_EMBEDDING, RH_PART_TENSOR, RH_PASS_FORWARD, &shard, out);
    for (guint i = 0; i < out->len; i++)
        flops += g_array_index(out, RhKernel, i).flops;
    RH_CHECK_CLOSE(flops, 2 * (3000.0 * 3 * 128 * 1280 + 1500.0 * 3 * 1280 * 1280), 1e-14);
    RhParams p = rh_block_params(m, NULL, RH_BLOCK_EMBEDDING, &shard);
    RH_CHECK_CLOSE(p.replicated, 3.0 * 1280 * (128 + 1280) + 2 * 1280 + (1500 + 448) * 1280.0,
                   1e-14);
}

/* A sum behind each block is of its own tokens; before cross attention's, gradients of both sides are summed,
 * and with sequence parallelism both are gathered. */
static void tensor_ranks_exchange_both_sides(void)
{
    g_auto(TrainKit) k = train_kit("whisper-large-v3", "dgx-h100:1", "bare", 16, 448);
    RhLayout l = train_layout(&k, "tp4,dp2,mb2,sp=on");
    g_autoptr(RhModelCost) p = rh_model_cost_sized_new(&k.c, &l);
    double own = 2.0 * 2 * 448 * 1280, encoded = 2.0 * 2 * 1500 * 1280;
    CU_ASSERT_EQUAL(p->mixer[0].boundary_bytes, encoded);
    CU_ASSERT_EQUAL(p->mixer[2].boundary_bytes, own);
    CU_ASSERT_EQUAL(p->mixer[2].other_bytes, 0);
    CU_ASSERT_EQUAL(p->mixer[3].boundary_bytes, own);
    CU_ASSERT_EQUAL(p->mixer[3].other_bytes, encoded);
    CU_ASSERT_EQUAL(p->mixer[3].gathered_bytes, own + encoded);
    CU_ASSERT_EQUAL(p->ffn[3].gathered_bytes, own);
    CU_ASSERT_EQUAL(p->embedding.boundary_bytes, own); /* its ranks have all sounds */
    g_auto(TrainKit) t5 = train_kit("flan-t5-xxl", "dgx-h100:1", "bare", 16, 512);
    l = train_layout(&t5, "tp4,dp2,mb2");
    g_autoptr(RhModelCost) q = rh_model_cost_sized_new(&t5.c, &l);
    CU_ASSERT_EQUAL(q->embedding.boundary_bytes, 2 * 2.0 * 2 * 512 * 4096);
}

/* Norms and additions of an encoder work on a rank's share of its own tokens with sequence
 * parallelism. */
static void an_encoders_tokens_are_shared_out(void)
{
    g_autoptr(RhModel) m = rh_model_load("whisper-large-v3", NULL);
    RhShard whole = shard_of(4, 448, 2), shared = whole;
    shared.sequence_parallel = true;
    double bytes[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(RhKernel));
        rh_block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PART_SEQUENCE, RH_PASS_FORWARD,
                         i ? &shared : &whole, out);
        for (guint k = 0; k < out->len; k++)
            bytes[i] += g_array_index(out, RhKernel, k).bytes;
    }
    CU_ASSERT_TRUE(m->kinds[0].encodes);
    RH_CHECK_CLOSE(bytes[0], 4 * bytes[1], 1e-12);
}

static void what_is_not_known_of_them_is_refused(void)
{
    static const struct {
        const char *layout, *says;
    } rows[] = {{"tp2,dp4", NULL},
                {"dp8,zero3", NULL},
                {"pp2,dp4", "not cut into stages here"},
                {"cp2,dp4", "not cut along the sequence"},
                {"tp8,sp=on", "heads"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("whisper-large-v3", "dgx-h100:1", "bare", 16, 448);
        RhLayout l = rh_train_default(&k.c);
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        CU_ASSERT_EQUAL(rh_train_legal(&k.c, &l, &error), rows[i].says == NULL);
        CU_ASSERT_TRUE(rows[i].says == NULL || strstr(error->message, rows[i].says));
    }
    g_auto(TrainKit) k = train_kit("flan-t5-xxl", "dgx-h100:1", "megatron", 16, 512);
    RhLayout l = train_layout(&k, "tp2,dp4,sp=on");
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(rh_launch_new("megatron", &k.c, &l, &error));
    CU_ASSERT_TRUE(error && strstr(error->message, "an encoder's tokens"));
    CU_ASSERT_TRUE(rh_model_set(k.model, "encoder_tokens", "1021", NULL));
    CU_ASSERT_FALSE(
        rh_train_legal(&k.c, &l, NULL)); /* tensor ranks share out an encoder's tokens */
    k.c.job.lora = (RhLora){16, 0};
    CU_ASSERT_TRUE(rh_train_job_legal(&k.c, NULL));
    k.c.job.lora = (RhLora){0};
    CU_ASSERT_TRUE(rh_train_job_legal(&k.c, NULL));
    CU_ASSERT_TRUE(rh_documents_parse("100", &k.c.job.documents, NULL));
    CU_ASSERT_FALSE(rh_train_job_legal(&k.c, NULL));
}

/* A model without an encoder has none of its sizes; one with learned positions no more tokens than these. */
static void sizes_of_an_encoder_are_checked(void)
{
    g_autoptr(RhModel) llama = rh_model_load("llama-3.2-1b", NULL);
    g_autoptr(RhModel) bart = model_load(BART("bart", 768, 6, 12, 3072, 50265, 1024));
    g_autoptr(GError) error = NULL, other = NULL;
    CU_ASSERT_FALSE(rh_model_set(llama, "encoder_tokens", "100", &error));
    CU_ASSERT_TRUE(strstr(error->message, "encoder_tokens") != NULL);
    CU_ASSERT_FALSE(rh_model_set(bart, "encoder_tokens", "1025", &other));
    CU_ASSERT_TRUE(strstr(other->message, "1024 positions") != NULL);
    CU_ASSERT_TRUE(rh_model_set(bart, "encoder_tokens", "1024", NULL));
}

#define LED                                                                                        \
    "{'model_type': 'led', 'd_model': 768, 'encoder_layers': 6, 'decoder_layers': 6, "             \
    "'encoder_ffn_dim': 3072, 'decoder_ffn_dim': 3072, 'encoder_attention_heads': 12, "            \
    "'decoder_attention_heads': 12, 'vocab_size': 50265, 'attention_window': [1024, 1024, 1024, "  \
    "1024, 1024, 1024], 'max_encoder_position_embeddings': 16384, "                                \
    "'max_decoder_position_embeddings': 1024}"

/* led-base-16384 (161,844,480; a norm before the head is counted), bigbird-pegasus-large (576,891,904) and
 * longformer-base-4096 (148,659,456 with its pooler, without the norm): an encoder has a window of its own, and keys and
 * values a second time, which all its tokens make.
 * Source: the weights of allenai/led-base-16384, google/bigbird-pegasus-large-arxiv,
 * allenai/longformer-base-4096. */
static void windows_of_an_encoder_are_its_own(void)
{
    static const ExactCount rows[] = {
        {LED, 161844480 + 2 * 768},
        {"{'model_type': 'bigbird_pegasus', 'd_model': 1024, 'encoder_layers': 16, "
         "'decoder_layers': 16, 'encoder_ffn_dim': 4096, 'decoder_ffn_dim': 4096, "
         "'encoder_attention_heads': 16, 'decoder_attention_heads': 16, 'vocab_size': 96103, "
         "'max_position_embeddings': 4096, 'use_bias': false}",
         576891904},
        {"{" SHAPE("longformer", 2, 768, 12, 12, 3072,
                   50265) ", 'attention_window': [512, 256], 'max_position_embeddings': 4098, "
                          "'type_vocab_size': 1}",
         (148659456 - 590592 - 50265 * 768 - 4098 * 768 - 3 * 768) / 6 +
             (50265 + 4098 + 1 + 2 + 2) * 768},
    };
    check_exact(rows, G_N_ELEMENTS(rows));
    const double h = 768, f = 3072, V = 50265, E = 4096, S = 1024, L = 6;
    g_autoptr(RhModel) m = model_load(LED);
    CU_ASSERT_TRUE(rh_model_set(m, "encoder_tokens", "4096", NULL));
    double encoder = L * E * (6 * h * h + 2 * h * f + 1024 * 2 * h);
    double decoder =
        L * (S * (6 * h * h + 2 * h * f) + E * 2 * h * h + S * S / 2 * 2 * h + S * E * 2 * h);
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 1024) * S, 6 * (encoder + decoder + S * h * V),
                   1e-14);
    g_autoptr(RhModel) longformer = model_load(rows[2].config);
    CU_ASSERT_EQUAL(longformer->kinds[0].window_tokens, 512);
    CU_ASSERT_EQUAL(longformer->kinds[1].window_tokens, 256);
    for (int t = 1; t <= 4; t *= 4) { /* kernels do what the row counts, cut or not */
        RhShard shard = {
            .tp = t, .sequence = 448, .microbatch = 3, .dtype = RH_DTYPE_BF16, .flash = true};
        RhFlops flops = rh_block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, &shard);
        RH_CHECK_CLOSE(block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PASS_FORWARD, &shard),
                       flops.weights + flops.pairs, 1e-14);
        RH_CHECK_CLOSE(
            block_flops(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PASS_BACKWARD_WEIGHT, &shard),
            flops.weights, 1e-14);
    }
}

#define SWITCH(rest)                                                                               \
    "{'model_type': 'switch_transformers', 'd_model': 768, 'num_layers': 12, 'num_heads': 12, "    \
    "'d_kv': 64, 'd_ff': 3072, 'vocab_size': 32128, 'num_experts': 8" rest "}"
#define EVERY(turn) ", 'encoder_sparse_step': " #turn ", 'decoder_sparse_step': " #turn

/* How many layers have experts, of the encoder's and of the decoder's 12; the first that has. */
static void check_experts_of(const char *config, int encoder, int decoder, int first)
{
    g_autoptr(RhModel) m = model_load(config);
    int found[2] = {0}, at = -1;
    for (int32_t i = 0; i < m->layers_count; i++) {
        bool some = m->kinds[m->kind_of_layer[i]].experts > 0;
        found[i >= 12] += some;
        at = some && at < 0 ? i : at;
    }
    CU_ASSERT_TRUE(found[0] == encoder && found[1] == decoder && at == first);
}

/* Switch-Base-8 (619,339,008 as published) and NLLB-200's 54.5 G (arXiv 2207.04672, section 6.2): experts stand in both
 * stacks, in turns.
 * Source: the weights of google/switch-base-8; arXiv 2207.04672, section 6.2. */
static void experts_stand_in_both_stacks(void)
{
    static const ExactCount exact[] = {{SWITCH(EVERY(2)), 619339008}};
    check_exact(exact, 1);
    check_experts_of(SWITCH(EVERY(2)), 6, 6, 1);
    check_experts_of(SWITCH(EVERY(1)), 12, 12, 0);
    check_experts_of(SWITCH(EVERY(4)), 3, 3, 1);
    check_experts_of(SWITCH(""), 3, 3, 1);
    check_experts_of(SWITCH(", 'num_sparse_encoder_layers': 6, 'num_sparse_decoder_layers': 0"), 6,
                     0, 1);
    g_autoptr(RhModel) m = model_load(
        "{'model_type': 'nllb-moe', 'd_model': 2048, 'encoder_layers': 24, 'decoder_layers': 24, "
        "'encoder_attention_heads': 16, 'decoder_attention_heads': 16, 'encoder_ffn_dim': 8192, "
        "'decoder_ffn_dim': 8192, 'vocab_size': 256206, 'num_experts': 128, "
        "'encoder_sparse_step': 4, 'decoder_sparse_step': 4}");
    RH_CHECK_CLOSE((double)rh_model_params(m), 54.5e9, 1e-3);
    const double h = 2048, f = 8192, V = 256206, S = 512;
    double attention = 4 * h * h, ffn = 2 * h * f, routed = 2 * ffn + 128 * h;
    double encoder = 24 * (attention + S * 2 * h) + 18 * ffn + 6 * routed;
    double decoder = 24 * (2 * attention + S / 2 * 2 * h + S * 2 * h) + 18 * ffn + 6 * routed;
    RH_CHECK_CLOSE(rh_model_flops_per_token(m, 512), 6 * (encoder + decoder + h * V), 1e-12);
}

/* Experts of both stacks are spread, those of the encoder's last layer as well, after which a norm
 * stands: each of two ranks has half of them, and sends tokens there and back. */
static void experts_of_both_stacks_are_spread(void)
{
    g_autoptr(RhModel) m = model_load(SWITCH(EVERY(2)));
    const RhLayerKind *last = &m->kinds[m->kind_of_layer[11]];
    CU_ASSERT_PTR_EQUAL(last->ffn, &rh_encoder_end);
    CU_ASSERT_TRUE(last->experts == 8 && last->encodes);
    RhShard shard = shard_of(1, 512, 2), spread = shard;
    spread.ep = 2;
    RhParams one = rh_block_params(m, last, RH_BLOCK_FFN, &shard);
    RhParams half = rh_block_params(m, last, RH_BLOCK_FFN, &spread);
    CU_ASSERT_EQUAL(half.experts, 4 * 2.0 * 768 * 3072);
    CU_ASSERT_EQUAL(one.sharded + one.replicated - half.experts, half.experts + half.replicated);
    CU_ASSERT_TRUE(rh_block_takes_whole(m, last, RH_BLOCK_FFN, &shard));
    CU_ASSERT_FALSE(rh_block_takes_whole(m, last, RH_BLOCK_FFN, &spread));
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    g_autoptr(GArray) exchanges = g_array_new(FALSE, FALSE, sizeof(RhExchange));
    rh_block_pass(m, last, RH_BLOCK_FFN, RH_PART_TENSOR, RH_PASS_FORWARD, &spread,
                  (RhBlockList){kernels, exchanges});
    CU_ASSERT_TRUE(exchanges->len >= 2);
}

int main(void)
{
    return rh_test_main(
        "encoder_decoder",
        (RhTest[]){
            {"layers_may_look_at_pictures", layers_may_look_at_pictures},
            {"what_a_file_leaves_out_is_the_types_own", what_a_file_leaves_out_is_the_types_own},
            {"flops_are_those_counted_by_hand", flops_are_those_counted_by_hand},
            {"kernels_do_the_flops_of_their_rows", kernels_do_the_flops_of_their_rows},
            {"kept_bytes_are_those_counted_by_hand", kept_bytes_are_those_counted_by_hand},
            {"sounds_become_tokens_by_two_convolutions", sounds_become_tokens_by_two_convolutions},
            {"tensor_ranks_exchange_both_sides", tensor_ranks_exchange_both_sides},
            {"what_is_not_known_of_them_is_refused", what_is_not_known_of_them_is_refused},
            {"an_encoders_tokens_are_shared_out", an_encoders_tokens_are_shared_out},
            {"sizes_of_an_encoder_are_checked", sizes_of_an_encoder_are_checked},
            {"windows_of_an_encoder_are_its_own", windows_of_an_encoder_are_its_own},
            {"experts_stand_in_both_stacks", experts_stand_in_both_stacks},
            {"experts_of_both_stacks_are_spread", experts_of_both_stacks_are_spread},
            {0}});
}

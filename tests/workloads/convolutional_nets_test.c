/* Nets of convolutions: sizes, parameters and FLOPs against published ones, kernels and bytes against
 * counts by hand, messages between stages, bounds and memory against what is performed. */
#include <math.h>

#include "base/error.h"
#include "sim/engine/workers/isolated_run.h"
#include "sim/memory_ledger.h"
#include "strategies/search/bounds/bound_cache.h"
#include "tests/kit/model_counts.h"
#include "tests/kit/shard_kit.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"
#include "workloads/operator_costs.h"

static RhModel *catalogue(const char *name)
{
    RhModel *m = rh_model_load(name, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static RhShard pictures_of(int64_t pictures, bool fused)
{
    RhShard shard = shard_of(1, 1, pictures);
    shard.dtype = RH_DTYPE_FP16;
    shard.fused_elementwise = fused;
    return shard;
}

/* Returns the FLOPs of a picture's forward pass. */
static double forward_flops(const RhModel *m)
{
    RhShard shard = pictures_of(1, true);
    double forward = rh_block_flops(m, NULL, RH_BLOCK_HEAD, &shard).weights;
    for (int32_t i = 0; i < m->layers_count; i++)
        forward +=
            rh_block_flops(m, &m->kinds[m->kind_of_layer[i]], RH_BLOCK_MIXER, &shard).weights;
    return forward;
}

/* Source: torchvision's documentation of resnext50_32x4d: 25,028,904 parameters, 4.23 GFLOPS (of multiply-adds). */
static void groups_make_resnext_out_of_resnet(void)
{
    g_autoptr(RhModel) m = catalogue("resnext-50");
    CU_ASSERT_EQUAL(rh_model_params(m), 25028904);
    RH_CHECK_CLOSE(forward_flops(m), 2 * 4.23e9, 0.005);
}

/* Source: Zoph et al. 2018, arXiv 1707.07012, table 2: 23.8 G multiply-adds, 88.9 M parameters, and table 3: 564 M,
 * 5.3 M; to the last one as Keras counts those that are trained (keras.applications.nasnet). */
static void nasnet_has_its_published_size(void)
{
    static const struct {
        const char *name;
        int64_t params;
        double multiply_adds;
    } nets[] = {{"nasnet-a-large", 88753150, 23.8e9}, {"nasnet-a-mobile", 5289978, 564e6}};
    for (size_t n = 0; n < G_N_ELEMENTS(nets); n++) {
        g_autoptr(RhModel) m = catalogue(nets[n].name);
        CU_ASSERT_EQUAL(rh_model_params(m), nets[n].params);
        RH_CHECK_CLOSE(forward_flops(m), 2 * nets[n].multiply_adds, 0.005);
    }
}

/* AmoebaNet-D of 18 cells: tensors go from a cell to the two behind it. */
static void a_cell_hands_two_tensors_to_the_next(void)
{
    g_autoptr(RhModel) m = catalogue("amoebanet-d");
    const RhLayerKind *second = &m->kinds[m->kind_of_layer[5]];
    CU_ASSERT_EQUAL(second->steps->outputs_count, 2);
    /* 28 x 28 pictures of 4 x 256 channels, twice */
    CU_ASSERT_EQUAL(second->output, 2 * 28 * 28 * 4 * 256);
    CU_ASSERT_EQUAL(m->hidden, 4 * 1024);
}

static void pictures_keep_their_height_and_width(void)
{
    g_autoptr(RhModel) m = catalogue("resnet-50");
    const RhStepList *stem = m->kinds[0].steps;
    CU_ASSERT_EQUAL(m->layers_count, 17);
    CU_ASSERT_EQUAL(stem->tensors[0].size.height, 224);
    CU_ASSERT_EQUAL(stem->tensors[1].size.width, 112);
    CU_ASSERT_EQUAL(stem->tensors[stem->steps_count].size.height, 56);
    CU_ASSERT_EQUAL(stem->steps[0].kernel[0], 7);
    CU_ASSERT_EQUAL(stem->steps[0].padding[1], 3);
    CU_ASSERT_TRUE(rh_model_set(m, "height", "448", NULL));
    CU_ASSERT_EQUAL(m->kinds[0].output, 112 * 56 * 64);
    CU_ASSERT_EQUAL(m->hidden, 2048);
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(rh_model_set(m, "heads", "8", &error));
    CU_ASSERT_EQUAL(m->kinds[0].output, 112 * 56 * 64);
}

static double flops_of(const RhModel *m, const RhLayerKind *kind, RhPass pass, const RhShard *shard)
{
    g_autoptr(GArray) kernels = block_kernels(m, kind, RH_BLOCK_MIXER, pass, shard);
    for (guint i = 0; i < kernels->len; i++)
        CU_ASSERT_TRUE(g_array_index(kernels, RhKernel, i).bytes > 0);
    return kernels_flops(kernels);
}

/* All that kernels do of a step on eight pictures. */
static double step_flops(const RhModel *m, const RhShard *shard)
{
    static const RhPass passes[] = {RH_PASS_FORWARD, RH_PASS_BACKWARD_DATA,
                                    RH_PASS_BACKWARD_WEIGHT};
    double sum = 3 * rh_block_flops(m, NULL, RH_BLOCK_HEAD, shard).weights;
    for (int32_t i = 0; i < m->layers_count; i++)
        for (size_t p = 0; p < G_N_ELEMENTS(passes); p++)
            sum += flops_of(m, &m->kinds[m->kind_of_layer[i]], passes[p], shard);
    return sum;
}

/* Forward, gradients of weights, and gradients of inputs, but for the picture's own, are as many; the model's FLOPs are
 * all of these. */
static void kernels_do_the_products_of_the_net(void)
{
    static const char *const names[] = {"resnet-18",     "resnet-50",       "resnet-1001",
                                        "shufflenet-v2", "amoebanet-d",     "vgg-16",
                                        "u-net",         "deeplab-v3-plus", "resnext-50"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(RhModel) m = catalogue(names[i]);
        RhShard shard = pictures_of(8, i % 2);
        for (int k = 0; k < m->kinds_count; k++) {
            RhFlops f = rh_block_flops(m, &m->kinds[k], RH_BLOCK_MIXER, &shard);
            double data = flops_of(m, &m->kinds[k], RH_PASS_BACKWARD_DATA, &shard);
            CU_ASSERT_EQUAL(flops_of(m, &m->kinds[k], RH_PASS_FORWARD, &shard), f.weights);
            CU_ASSERT_EQUAL(flops_of(m, &m->kinds[k], RH_PASS_RECOMPUTE_FULL, &shard), f.weights);
            CU_ASSERT_EQUAL(flops_of(m, &m->kinds[k], RH_PASS_BACKWARD_WEIGHT, &shard), f.weights);
            CU_ASSERT_EQUAL(data, f.weights - f.first);
            CU_ASSERT_EQUAL(f.first > 0, k == 0 && f.weights > 0);
        }
        RH_CHECK_CLOSE(8 * rh_model_flops_per_token(m, 1), step_flops(m, &shard), 1e-12);
    }
}

/* The second bottleneck of ResNet-50's first stage, 56 x 56: its input and three norms' inputs, two
 * convolutions' inputs behind ReLUs. The sum's ReLU is kept by the next layer. */
static void a_bottleneck_keeps_what_its_backward_reads(void)
{
    g_autoptr(RhModel) m = catalogue("resnet-50");
    RhShard shard = pictures_of(4, true);
    const RhLayerKind *kind = &m->kinds[m->kind_of_layer[2]];
    double place = 4 * 56 * 56 * 2.0;
    RhActivation bytes = rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &shard);
    CU_ASSERT_EQUAL(bytes.kept, place * (256 + 64 + 64 + 64 + 64 + 256));
    shard.recompute = RH_RECOMPUTE_FULL;
    RhActivation full = rh_block_activation_bytes(m, kind, RH_BLOCK_MIXER, &shard);
    CU_ASSERT_EQUAL(full.kept, place * 256);
    CU_ASSERT_EQUAL(full.kept + full.backward, bytes.kept + bytes.backward);
}

/* Forward of the same block, fused, in bytes of 16 bits a number: a convolution reads and writes each
 * picture and its weights once, a norm reads twice and writes; the sum rides on the last norm, ReLUs
 * cost nothing. */
static void a_bottleneck_moves_the_bytes_counted_by_hand(void)
{
    g_autoptr(RhModel) m = catalogue("resnet-50");
    RhShard shard = pictures_of(4, true);
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, &m->kinds[m->kind_of_layer[2]], RH_BLOCK_MIXER, RH_PART_TENSOR,
                     RH_PASS_FORWARD, &shard, kernels);
    double place = 4 * 56 * 56, bytes = 0;
    for (guint i = 0; i < kernels->len; i++)
        bytes += g_array_index(kernels, RhKernel, i).bytes;
    double convs = place * (256 + 64 + 64 + 64 + 64 + 256) + 256 * 64 + 64 * 576 + 64 * 256;
    double norms = 3 * place * (64 + 64 + 256), sum = place * 256;
    CU_ASSERT_DOUBLE_EQUAL(bytes, 2 * (convs + norms + sum), 1e-6);
    CU_ASSERT_EQUAL(kernels->len, 7);
}

/* The first convolution's three channels are four to matrix units, its products those of three; a strided
 * one's gradient is written where no window was, too. */
static void convolutions_fill_channels_and_write_whole_gradients(void)
{
    g_autoptr(RhModel) m = catalogue("resnet-50");
    RhShard shard = pictures_of(4, true);
    g_autoptr(GArray) stem = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PART_TENSOR, RH_PASS_FORWARD, &shard,
                     stem);
    const RhKernel *first = &g_array_index(stem, RhKernel, 0);
    CU_ASSERT_EQUAL(first->k, 4 * 7 * 7);
    CU_ASSERT_EQUAL(first->flops, 2.0 * 4 * 112 * 112 * 64 * 3 * 7 * 7);
    /* The first block of the second stage: its shortcut takes 56 x 56 x 256 to 28 x 28 x 512 by every other place. */
    g_autoptr(GArray) back = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, &m->kinds[m->kind_of_layer[4]], RH_BLOCK_MIXER, RH_PART_TENSOR,
                     RH_PASS_BACKWARD_DATA, &shard, back);
    int found = 0;
    for (guint i = 0; i < back->len; i++) {
        const RhKernel *k = &g_array_index(back, RhKernel, i);
        if (k->cls != RH_KERNEL_GEMM || k->m != 4 * 28 * 28 || k->n != 256 || k->k != 512)
            continue;
        found++;
        CU_ASSERT_EQUAL(k->bytes, 2.0 * (4.0 * 56 * 56 * 256 + 4.0 * 28 * 28 * 512 + 256 * 512));
    }
    CU_ASSERT_EQUAL(found, 1);
}

/* --- on a machine --- */

static void check_layout(const RhProblem *c, const char *text)
{
    g_autoptr(GError) error = NULL;
    RhLayout said = rh_train_default(c);
    CU_ASSERT_TRUE_FATAL(rh_layout_parse(text, &said, &error));
    RhLayout l = rh_train_canonical(c, &said);
    bool legal = rh_train_legal(c, &l, &error);
    g_assert_no_error(error);
    CU_ASSERT_TRUE_FATAL(legal);
    g_autoptr(RhBoundCache) cache = rh_bound_new(c);
    double closed = rh_closed_form_s(cache, &l), segment = rh_segment_graph_s(cache, &l);
    g_autoptr(RhProgram) p = rh_train_build(c, &l, &error);
    g_assert_no_error(error);
    RhTrainMemory memory = rh_train_memory(c, &l);
    RhLedger ledger = rh_ledger_walk(p, memory.stage, RH_MEMORY_TIER_HBM);
    CU_ASSERT_DOUBLE_EQUAL(ledger.peak_bytes / memory.peak_bytes, 1, 1e-9);
    RhEngineOptions options = {0};
    g_autoptr(RhRun) run = rh_rehearse_isolated(p, c->platform, &options, &error);
    g_assert_no_error(error);
    bool holds =
        closed <= segment * (1 + 1e-9) && segment <= run->step_time_s * (1 + 1e-9) && closed > 0;
    CU_ASSERT_TRUE(holds);
    if (!holds)
        g_printerr("  %s: %.9g, %.9g, %.9g\n", text, closed, segment, run->step_time_s);
}

/* Sources: milesial/Pytorch-UNet (31,037,698 with two classes); tensorflow/models, research/deeplab,
 * g3doc/model_zoo.md, xception65_coco_voc_trainaug (54.17 G multiply-adds); stable-diffusion-v1-5's U-Net
 * (859,520,964, of which 2,050,560 are of the vector of time, which is made once a picture and left out),
 * Kim et al. 2023, arXiv 2305.15798, table 1 (339 G multiply-adds, attention itself not counted);
 * Peebles and Xie 2022, arXiv 2212.09748, table 4 (DiT-XL/2: 675 M, 118.6 G multiply-adds). */
static void published_nets_are_as_large(void)
{
    static const struct {
        const char *name;
        double params, params_off, multiply_adds, off;
        bool pairs; /* products of places with places are counted, too */
    } rows[] = {{"u-net", 31037698, 0, 0, 0, false},
                {"deeplab-v3-plus", 0, 0, 54.17e9, 0.005, false},
                {"stable-diffusion-unet", 859520964 - 2050560, 0, 338.75e9, 0.005, false},
                {"dit-xl-2", 675e6, 0.006, 118.64e9, 0.005, true}};
    RhShard shard = pictures_of(1, true);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = catalogue(rows[i].name);
        double flops = 0;
        for (int32_t l = 0; l < m->layers_count; l++) {
            const RhLayerKind *kind = &m->kinds[m->kind_of_layer[l]];
            RhFlops f = rh_block_flops(m, kind, RH_BLOCK_MIXER, &shard);
            flops += f.weights + (rows[i].pairs ? f.pairs : 0);
        }
        if (rows[i].params > 0)
            CU_ASSERT_DOUBLE_EQUAL(rh_model_params(m), rows[i].params,
                                   rows[i].params_off * rows[i].params);
        if (rows[i].multiply_adds > 0)
            CU_ASSERT_DOUBLE_EQUAL(flops / 2, rows[i].multiply_adds,
                                   rows[i].off * rows[i].multiply_adds);
    }
}

/* A transposed convolution does the products of the convolution that goes the other way, and a dilated one
 * those of a dense one. */
static void the_other_way_takes_as_many_products(void)
{
    g_autoptr(RhModel) m = catalogue("u-net");
    RhShard shard = pictures_of(2, true);
    const RhLayerKind *kind = &m->kinds[m->kind_of_layer[5]]; /* 32 x 32 x 1024 to 64 x 64 x 512 */
    const RhStepList *steps = kind->steps;
    CU_ASSERT_EQUAL(steps->tensors[steps->inputs_count].size.height, 64);
    g_autoptr(GArray) kernels = block_kernels(m, kind, RH_BLOCK_MIXER, RH_PASS_FORWARD, &shard);
    const RhKernel *up = &g_array_index(kernels, RhKernel, 0);
    CU_ASSERT_EQUAL(up->flops, 2.0 * 2 * 32 * 32 * 1024 * 512 * 4);
    CU_ASSERT_EQUAL(up->bytes, 2.0 * (2 * 32 * 32 * 1024 + 2 * 64 * 64 * 512 + 1024 * 512 * 4));
    g_autoptr(RhModel) wide = catalogue("deeplab-v3-plus");
    const RhLayerKind *rates = &wide->kinds[wide->kind_of_layer[wide->layers_count - 2]];
    const RhStepList *of = rates->steps;
    for (int32_t i = 0; i < of->steps_count; i++)
        if (of->steps[i].dilation[0] > 1) /* padded so that it keeps the size */
            CU_ASSERT_EQUAL(of->tensors[of->inputs_count + i].size.height, 33);
}

static void bounds_and_memory_hold(void)
{
    static const char *const layouts[] = {
        "tp1,pp1,mb4",
        "tp1,pp4,mb4",
        "tp1,pp4,mb4,partition=work",
        "tp1,pp2,vpp2,mb4,schedule=interleaved",
        "tp1,pp4,mb8,recompute=full",
        "tp1,pp2,mb4,zero1",
        "tp1,pp2,mb4,schedule=gpipe,partition=parameters",
    };
    static const char *const names[] = {"resnet-50", "amoebanet-d", "shufflenet-v2",
                                        "deeplab-v3-plus", "stable-diffusion-unet"};
    for (size_t n = 0; n < G_N_ELEMENTS(names); n++) {
        TrainKit kit = train_kit(names[n], "h100-sxm:4x2,ib:200Gb/s", "bare", 128, 1);
        for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++)
            check_layout(&kit.c, layouts[i]);
        train_kit_clear(&kit);
    }
}

/* The message after layer 5 (28 x 28 x 512) and back holds 4 pictures of 16 bits. */
static void a_message_is_as_large_as_the_picture_it_carries(void)
{
    TrainKit kit = train_kit("resnet-50", "h100-sxm:2x1", "bare", 8, 1);
    RhLayout l = rh_train_default(&kit.c);
    CU_ASSERT_TRUE_FATAL(rh_layout_parse("tp1,pp2,mb4,stages=5-12", &l, NULL));
    l = rh_train_canonical(&kit.c, &l);
    g_autoptr(RhProgram) p = rh_train_build(&kit.c, &l, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    int sends = 0;
    for (int32_t i = 0; i < (int32_t)p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, i);
        if (task->kind != RH_TASK_SEND)
            continue;
        CU_ASSERT_EQUAL(task->bytes, 4 * 28 * 28 * 512 * 2.0);
        sends++;
    }
    CU_ASSERT_EQUAL(sends, 4);
    train_kit_clear(&kit);
}

static void what_cannot_be_cut_is_refused(void)
{
    TrainKit kit = train_kit("resnet-50", "h100-sxm:2x1", "bare", 8, 1);
    static const char *const layouts[] = {"tp2,mb4", "tp1,cp2,mb4"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_autoptr(GError) error = NULL;
        RhLayout l = rh_train_default(&kit.c);
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(layouts[i], &l, NULL));
        CU_ASSERT_FALSE(rh_train_legal(&kit.c, &l, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
    train_kit_clear(&kit);
}

/* --- what files may not say --- */

#define NET(layers)                                                                                \
    "{'model_type': 'layers', 'height': 32, 'width': 32, 'channels': 3, 'classes': 10, "           \
    "'layers': [" layers "]}"

static void nets_that_cannot_be_are_refused(void)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {NET("{'steps': [{'operator': 'conv', 'out': 8}, {'operator': 'dense', 'out': 8}]}"),
         "step \"dense\" is unknown"},
        {NET("{'steps': [{'operator': 'conv', 'out': 8, 'groups': 2}]}"),
         "layer 1, step 1 (conv): 2 groups do not divide 3 channels"},
        {NET("{'steps': [{'operator': 'conv', 'out': 8, 'as': 'a'}, {'operator': 'conv', 'out': 16, "
             "'as': 'b'}, {'operator': 'add', 'from': ['a', 'b']}]}"),
         "32 x 32 x 8 and 32 x 32 x 16 are of different sizes"},
        {NET("{'steps': [{'operator': 'conv', 'out': 8, 'from': 'x'}]}"),
         "no tensor is called \"x\""},
        {NET("{'steps': [{'operator': 'add', 'from': ['input']}]}"), "joins two tensors at least"},
        {NET("{'steps': [{'operator': 'conv', 'out': 8, 'kernel': 64, 'padding': 0}]}"),
         "a kernel of 64 x 64 does not fit into 32 x 32"},
        {NET("{'steps': [{'operator': 'conv', 'out': 8, 'kernel': [3]}]}"), "lists 1 numbers"},
        {NET("{'steps': [{'operator': 'conv', 'out': 8, 'as': 'a'}], 'out': ['a', 'input']}, "
             "{'steps': [{'operator': 'relu'}]}"),
         "layer 2, takes 1 tensors, the layer before hands on 2"},
        {NET("{'steps': [{'operator': 'conv', 'out': 8, 'as': 'a'}], 'out': ['a', 'input']}"),
         "the head takes one"},
        {NET("{'steps': [{'operator': 'conv', 'out': 8, 'dilations': 2}]}"), "dilations"},
        {NET("{'steps': [{'operator': 'conv', 'out': 8, 'kernel': 9, 'dilation': 5, 'padding': 0}]}"),
         "a kernel of 9 x 9 does not fit into 32 x 32"},
        {NET("{'steps': [{'operator': 'upsample', 'to': 16}]}"), "32 places are more than 16"},
        {NET("{'steps': [{'operator': 'transposed conv', 'out': 8, 'padding': 99}]}"),
         "leaves nothing"},
        {NET("{'steps': [{'operator': 'norm', 'over': 'pictures'}]}"), "over \"pictures\""},
        {NET("{'steps': [{'operator': 'cross attention', 'heads': 5, 'tokens': 7, 'width': 8}]}"),
         "no queries of 5 heads"},
        {NET("{'steps': []}"), "a layer has 1 to 256 steps"},
        {NET("{'mixer': {'operator': 'attention', 'heads': 4}}"), "steps"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        check_refused(rows[i].text, rows[i].expected);
}

int main(void)
{
    return rh_test_main(
        "convolutional_nets",
        (RhTest[]){{"groups_make_resnext_out_of_resnet", groups_make_resnext_out_of_resnet},
                   {"nasnet_has_its_published_size", nasnet_has_its_published_size},
                   {"a_cell_hands_two_tensors_to_the_next", a_cell_hands_two_tensors_to_the_next},
                   {"pictures_keep_their_height_and_width", pictures_keep_their_height_and_width},
                   {"kernels_do_the_products_of_the_net", kernels_do_the_products_of_the_net},
                   {"a_bottleneck_keeps_what_its_backward_reads",
                    a_bottleneck_keeps_what_its_backward_reads},
                   {"a_bottleneck_moves_the_bytes_counted_by_hand",
                    a_bottleneck_moves_the_bytes_counted_by_hand},
                   {"convolutions_fill_channels_and_write_whole_gradients",
                    convolutions_fill_channels_and_write_whole_gradients},
                   {"published_nets_are_as_large", published_nets_are_as_large},
                   {"the_other_way_takes_as_many_products", the_other_way_takes_as_many_products},
                   {"bounds_and_memory_hold", bounds_and_memory_hold},
                   {"a_message_is_as_large_as_the_picture_it_carries",
                    a_message_is_as_large_as_the_picture_it_carries},
                   {"what_cannot_be_cut_is_refused", what_cannot_be_cut_is_refused},
                   {"nets_that_cannot_be_are_refused", nets_that_cannot_be_are_refused},
                   {0}});
}

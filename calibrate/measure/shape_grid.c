#include "calibrate/measure/shape_grid.h"

#include <math.h>
#include <stdlib.h>

#define M_MAX        32768
#define FLOPS_MAX    3e13 /* some 50 ms of an H100 */
#define LENGTH(list) (sizeof(list) / sizeof *(list))

/* A grid being built: what is allowed, and the samples so far. */
typedef struct {
    const RkGridOptions *options;
    RkSamples *out;
    bool failed;
} Build;

static bool known(const RkSamples *samples, const RkSample *sample)
{
    for (size_t i = 0; i < samples->count; i++)
        if (rk_sample_same_shape(&samples->items[i], sample))
            return true;
    return false;
}

static void add(Build *build, RkSample sample)
{
    const RkGridOptions *o = build->options;
    if (!o->dtypes[sample.dtype] || !o->classes[sample.cls])
        return;
    rk_sample_measure_up(&sample);
    if (sample.bytes > o->bytes_max || sample.flops > o->flops_max ||
        (rk_class_is_product(sample.cls) && sample.m > o->m_max) || known(build->out, &sample))
        return;
    build->failed |= !rk_samples_add(build->out, sample);
}

/* Rounds a side as fp8 requires, to multiples of 16. */
static int64_t aligned(RhDtype dtype, int64_t side)
{
    return dtype == RH_DTYPE_FP8 ? (side + 15) / 16 * 16 : side;
}

/* Sides of a product, m x k by k x n, `batch` times. */
typedef struct {
    int64_t batch, m, n, k;
} Sides;

static void product(Build *build, int32_t tier, RkClass cls, RhDtype dtype, Sides sides)
{
    add(build, (RkSample){.cls = cls,
                          .dtype = dtype,
                          .tier = tier,
                          .batch = sides.batch,
                          .m = aligned(dtype, sides.m),
                          .n = aligned(dtype, sides.n),
                          .k = aligned(dtype, sides.k)});
}

static void gemm(Build *build, int32_t tier, RhDtype dtype, Sides sides)
{
    product(build, tier, RK_GEMM, dtype, sides);
}

/* --- GEMM: the shapes of models --- */

typedef struct {
    int64_t n, k;
} Matrix;

#define MATRICES 5

/* Products of one layer and of the head, cut over `tp` ranks. */
static void matrices_of(const RkModel *model, int32_t tp, Matrix out[MATRICES])
{
    int64_t q = (int64_t)model->heads * model->head_size / tp;
    int64_t kv = (int64_t)(model->kv_heads / tp > 0 ? model->kv_heads / tp : 1) * model->head_size;
    int64_t ffn = model->ffn / tp, slice = (int64_t)128 * tp;
    int64_t vocab = (model->vocab + slice - 1) / slice * 128; /* padded as in Megatron-LM */
    out[0] = (Matrix){q + 2 * kv, model->hidden};
    out[1] = (Matrix){model->hidden, q};
    out[2] = (Matrix){(model->gated ? 2 : 1) * ffn, model->hidden};
    out[3] = (Matrix){model->hidden, ffn};
    out[4] = (Matrix){vocab, model->hidden};
}

/* Adds the models' shapes: forward with a micro-batch of 4,096 tokens first, then gradients and
 * other sizes. Small m are distributed over the matrices in turn, so that all matrices together
 * have all m. */
static void gemm_of_models(Build *build, RhDtype dtype)
{
    static const int64_t FEW[] = {1, 4, 16, 64, 256, 512};
    static const int64_t MANY[] = {1024, 2048, 8192, 16384, M_MAX};
    size_t turn = 0;
    for (const RkModel *model = rk_models(); model->name != NULL; model++) {
        for (int32_t tp = 1; tp <= 8; tp *= 2) {
            if (model->heads % tp != 0)
                continue;
            Matrix matrices[MATRICES];
            matrices_of(model, tp, matrices);
            for (int i = 0; i < MATRICES; i++, turn++) {
                int64_t n = matrices[i].n, k = matrices[i].k;
                gemm(build, 0, dtype, (Sides){1, 4096, n, k});
                Sides input = {1, 4096, k, n}, weight = {1, n, k, 4096}; /* of the gradients */
                product(build, 1, RK_GEMM_NN, dtype, input);
                gemm(build, 1, dtype, (Sides){1, MANY[turn % LENGTH(MANY)], n, k});
                product(build, 1, RK_GEMM_NT, dtype, weight);
                gemm(build, 2, dtype, (Sides){1, FEW[turn % LENGTH(FEW)], n, k});
                gemm(build, 3, dtype, (Sides){1, FEW[(turn + 3) % LENGTH(FEW)], n, k});
                gemm(build, 3, dtype, (Sides){1, MANY[(turn + 2) % LENGTH(MANY)], n, k});
            }
        }
    }
}

/* --- GEMM: shapes between and around those of models --- */

/* Plastic number p with p^4 = p + 1: fractional parts of multiples of 1/p, 1/p^2, 1/p^3 are an
 * additive recurrence that covers a cube evenly at every length (M. Roberts, The unreasonable
 * effectiveness of quasirandom sequences, 2018). */
#define PLASTIC 1.22074408460575947536

static int64_t log_between(double low, double high, double at, int64_t multiple)
{
    double x = low * pow(high / low, at);
    int64_t count = (int64_t)round(x / (double)multiple);
    return (count > 0 ? count : 1) * multiple;
}

static void gemm_cover(Build *build, RhDtype dtype, int count)
{
    for (int i = 0; i < count; i++) {
        double at[3];
        for (int axis = 0; axis < 3; axis++)
            at[axis] = fmod(0.5 + (i + 1) * pow(PLASTIC, -(axis + 1)), 1);
        int64_t m = log_between(1, M_MAX, at[0], 1);
        gemm(build, 4 * i / count, dtype,
             (Sides){1, m >= 512 ? (m + 63) / 64 * 64 : m, log_between(64, 65536, at[1], 64),
                     log_between(64, 32768, at[2], 64)});
    }
}

/* Adds shapes with one more row or column than tiles hold: the two sides of a step. */
static void gemm_boundaries(Build *build, RhDtype dtype)
{
    static const int64_t EDGES[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192};
    for (size_t i = 0; i < LENGTH(EDGES); i++) {
        int32_t tier = i % 2 == 0 ? 1 : 2;
        int64_t side = i % 2 == 0 ? 4096 : 8192;
        for (int64_t over = 0; over <= 1; over++) {
            gemm(build, tier, dtype, (Sides){1, EDGES[i] + over, side, side});
            gemm(build, tier + 1, dtype, (Sides){1, side, EDGES[i] + 8 * over, side});
            gemm(build, 3, dtype, (Sides){1, side, side, EDGES[i] + 8 * over});
        }
    }
}

/* Adds tiles of 128 x 128 that fill the SMs exactly `waves` times, and one more row of tiles. */
static void gemm_waves(Build *build, RhDtype dtype)
{
    for (int waves = 1; waves <= 8; waves *= 2) {
        int64_t n = (int64_t)128 * build->options->sms * waves / 4;
        for (int over = 0; over <= 1; over++)
            gemm(build, 2, dtype, (Sides){1, 128 * (4 + over), n, 4096});
    }
}

static void gemm_batched(Build *build, RhDtype dtype)
{
    static const int64_t SEQUENCES[] = {512, 1024, 2048, 4096};
    for (size_t i = 0; i < LENGTH(SEQUENCES); i++) {
        int64_t s = SEQUENCES[i];
        for (int64_t batch = 8; batch <= 128; batch *= 4) {
            int64_t head = i % 2 == 0 ? 128 : 64;
            gemm(build, (int32_t)i, dtype, (Sides){batch, s, s, head}); /* scores */
            gemm(build, (int32_t)i, dtype, (Sides){batch, s, head, s}); /* values */
        }
    }
}

/* Adds square shapes, and the largest of real layers: enough for a fraction of the peak. */
static void gemm_thin(Build *build, RhDtype dtype)
{
    for (int64_t side = 256; side <= 16384; side *= 2)
        gemm(build, side >= 2048 ? 0 : 1, dtype, (Sides){1, side, side, side});
    for (int64_t m = 16; m <= 16384; m *= 4) {
        gemm(build, 1, dtype, (Sides){1, m, 4096, 4096});
        gemm(build, 2, dtype, (Sides){1, m, 28672, 8192});
        gemm(build, 3, dtype, (Sides){1, m, 8192, 3584});
    }
    gemm_cover(build, dtype, 24);
}

static void gemms(Build *build)
{
    static const RhDtype ALL[] = {RH_DTYPE_FP8, RH_DTYPE_BF16, RH_DTYPE_FP16, RH_DTYPE_TF32,
                                  RH_DTYPE_FP32};
    RhDtype most = build->options->main;
    gemm_of_models(build, most);
    gemm_cover(build, most, 256);
    gemm_boundaries(build, most);
    gemm_waves(build, most);
    gemm_batched(build, most);
    for (int64_t m = 1; m <= M_MAX; m *= 2)
        gemm(build, m % 3 == 1 ? 0 : 1, most, (Sides){1, m, 4096, 4096});
    for (size_t i = 0; i < LENGTH(ALL); i++)
        if (ALL[i] != most)
            gemm_thin(build, ALL[i]);
}

static void grouped_gemms(Build *build)
{
    /* n, k of experts: Mixtral 8x7B (hidden 4096, 14336 wide), Qwen3-30B-A3B (2048, 768 wide). */
    static const Matrix EXPERTS[] = {{28672, 4096}, {4096, 14336}, {1536, 2048}, {2048, 768}};
    for (size_t i = 0; i < LENGTH(EXPERTS); i++)
        for (int64_t experts = 4; experts <= 64; experts *= 4)
            for (int64_t tokens = 1024; tokens <= 16384; tokens *= 4)
                add(build, (RkSample){.cls = RK_GROUPED_GEMM,
                                      .dtype = build->options->main,
                                      .tier = tokens == 4096 ? 0 : 2,
                                      .batch = experts,
                                      .m = tokens,
                                      .n = EXPERTS[i].n,
                                      .k = EXPERTS[i].k});
}

/* --- Attention --- */

static void attention(Build *build, int32_t tier, RkSample shape)
{
    shape.tier = tier;
    shape.cls = RK_ATTENTION;
    add(build, shape);
    shape.cls = RK_ATTENTION_BACKWARD;
    add(build, shape);
}

/* Adds few shapes: cuDNN plans each for some half a second (measured by others on H20 and B200,
 * 2025), longer than it is then timed. */
static void attentions(Build *build)
{
    static const int32_t HEADS[][3] = {/* heads, kv heads, head size */
                                       {32, 8, 128}, {8, 1, 128},  {32, 32, 128},
                                       {12, 12, 64}, {16, 2, 128}, {32, 8, 64}};
    for (size_t i = 0; i < LENGTH(HEADS); i++) {
        for (int64_t tokens = 512; tokens <= M_MAX; tokens *= 4) {
            bool usual = tokens == 2048 || tokens == 8192;
            RkSample shape = {.dtype = build->options->main,
                              .causal = true,
                              .batch = 1,
                              .m = tokens,
                              .n = tokens,
                              .heads = HEADS[i][0],
                              .kv_heads = HEADS[i][1],
                              .k = HEADS[i][2]};
            attention(build, usual ? 0 : 1 + (int32_t)(i % 3), shape);
            shape.causal = false;
            if (usual)
                attention(build, 2, shape);
        }
    }
}

/* --- Bandwidth-bound kernels --- */

static void rows(Build *build, RkClass cls, RhDtype dtype, int64_t n, int64_t k)
{
    for (int64_t m = 16; m <= 16384; m *= 4) {
        RkSample sample = {
            .cls = cls, .dtype = dtype, .tier = m >= 4096 ? 0 : 2, .m = m, .n = n, .k = k};
        add(build, sample);
    }
}

static void heads(Build *build, RkClass cls, int32_t count, int32_t head_size)
{
    for (int64_t m = 64; m <= 16384; m *= 4)
        add(build, (RkSample){.cls = cls,
                              .dtype = build->options->main,
                              .tier = m >= 4096 ? 0 : 2,
                              .batch = 1,
                              .m = m,
                              .heads = count,
                              .k = head_size});
}

static void streams(Build *build)
{
    static const RkClass BY_HIDDEN[] = {RK_NORM, RK_ADD, RK_REDUCE};
    static const int64_t HIDDEN[] = {768, 4096, 8192, 16384};
    for (size_t i = 0; i < LENGTH(HIDDEN); i++) {
        for (size_t c = 0; c < LENGTH(BY_HIDDEN); c++)
            rows(build, BY_HIDDEN[c], build->options->main, HIDDEN[i], 0);
        rows(build, RK_EMBEDDING, build->options->main, HIDDEN[i], 32768);
        rows(build, RK_OPTIMIZER, RH_DTYPE_FP32, HIDDEN[i], 0);
    }
    rows(build, RK_NORM, RH_DTYPE_FP32, 4096, 0);
    rows(build, RK_ADD, RH_DTYPE_FP32, 4096, 0);
    rows(build, RK_ACTIVATION, build->options->main, 14336, 0);
    rows(build, RK_ACTIVATION, build->options->main, 3584, 0);
    rows(build, RK_SOFTMAX, build->options->main, 2048, 0);
    rows(build, RK_SOFTMAX, build->options->main, 8192, 0);
    rows(build, RK_CROSS_ENTROPY, build->options->main, 128256, 0);
    rows(build, RK_CROSS_ENTROPY, build->options->main, 16128, 0);
    heads(build, RK_ROTARY, 32, 128);
    heads(build, RK_ROTARY, 8, 128);
    heads(build, RK_PERMUTE, 32, 128);
    heads(build, RK_PERMUTE, 12, 64);
}

/* --- Copies, launches, contention, collectives --- */

static void copies(Build *build)
{
    for (int cls = RK_COPY_DEVICE; cls <= RK_COPY_BOTH_PINNED; cls++) {
        int64_t largest = (int64_t)1 << (cls == RK_COPY_DEVICE ? 31 : 28);
        for (int64_t bytes = 4096; bytes <= largest; bytes *= 8)
            add(build, (RkSample){.cls = (RkClass)cls,
                                  .dtype = build->options->main,
                                  .tier = bytes >= 16 << 20 ? 0 : 1,
                                  .n = bytes});
    }
}

static void launches(Build *build)
{
    add(build, (RkSample){.cls = RK_EMPTY, .dtype = build->options->main});
    add(build, (RkSample){.cls = RK_LAUNCH, .dtype = build->options->main, .n = 1});
    add(build, (RkSample){.cls = RK_LAUNCH_RATE, .dtype = build->options->main, .n = 1000});
    add(build, (RkSample){.cls = RK_GRAPH_LAUNCH, .dtype = build->options->main, .n = 1000});
    add(build,
        (RkSample){.cls = RK_GRAPH_LAUNCH, .dtype = build->options->main, .tier = 1, .n = 10});
    add(build,
        (RkSample){.cls = RK_GRAPH_LAUNCH, .dtype = build->options->main, .tier = 1, .n = 100});
}

static void contention(Build *build)
{
    static const int32_t HELD[] = {0, 4, 8, 16, 32};
    static const int64_t SIDES[] = {4096, 8192};
    add(build, (RkSample){.cls = RK_SUSTAINED_GEMM,
                          .dtype = build->options->main,
                          .batch = 1,
                          .m = 8192,
                          .n = 8192,
                          .k = 8192});
    for (size_t i = 0; i < LENGTH(SIDES); i++)
        for (size_t h = 0; h < LENGTH(HELD); h++)
            add(build, (RkSample){.cls = RK_GEMM_BESIDE_COPY,
                                  .dtype = build->options->main,
                                  .tier = (int32_t)(2 * i),
                                  .batch = 1,
                                  .m = 4096,
                                  .n = SIDES[i],
                                  .k = SIDES[i],
                                  .heads = HELD[h]});
}

/* Adds collectives where there is more than one GPU: within one no byte travels. */
static void collectives(Build *build)
{
    int64_t largest = (int64_t)1 << 30;
    for (int cls = RK_NCCL_ALL_REDUCE; cls <= RK_NCCL_SEND_RECV && build->options->gpus > 1; cls++)
        for (int64_t bytes = 1024; bytes <= largest; bytes *= 4)
            add(build, (RkSample){.cls = (RkClass)cls,
                                  .dtype = build->options->main,
                                  .tier = bytes == largest ? 0 : 1,
                                  .batch = build->options->gpus,
                                  .n = bytes});
}

/* --- order --- */

typedef struct {
    double at; /* (place in its stream + 1/2) / length of the stream, plus the tier */
    size_t stream, index;
} Place;

static int by_place(const void *a, const void *b)
{
    const Place *x = (const Place *)a, *y = (const Place *)b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

#define STREAMS ((size_t)RK_CLASS_LAST * RH_DTYPE_LAST)

/* Computes the places of the samples of one tier. */
static void place_tier(const RkSamples *samples, int32_t tier, Place *places)
{
    size_t length[STREAMS] = {0}, seen[STREAMS] = {0};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < samples->count; i++) {
            const RkSample *s = &samples->items[i];
            if (s->tier != tier)
                continue;
            size_t stream = (size_t)s->cls * RH_DTYPE_LAST + s->dtype;
            if (pass == 0)
                length[stream]++;
            else
                places[i] = (Place){tier + ((double)seen[stream]++ + 0.5) / (double)length[stream],
                                    stream, i};
        }
    }
}

bool rk_grid_interleave(RkSamples *samples)
{
    size_t count = samples->count;
    if (count == 0)
        return true;
    Place *places = (Place *)calloc(count, sizeof *places);
    RkSample *sorted = (RkSample *)calloc(count, sizeof *sorted);
    bool ok = places != NULL && sorted != NULL;
    if (ok) {
        int32_t last = 0;
        for (size_t i = 0; i < count; i++)
            last = samples->items[i].tier > last ? samples->items[i].tier : last;
        for (int32_t tier = 0; tier <= last; tier++)
            place_tier(samples, tier, places);
        qsort(places, count, sizeof *places, by_place);
        for (size_t i = 0; i < count; i++)
            sorted[i] = samples->items[places[i].index];
        free(samples->items);
        samples->items = sorted;
        samples->capacity = count;
        sorted = NULL;
    }
    free(places);
    free(sorted);
    return ok;
}

/* --- the whole grid --- */

RkGridOptions rk_grid_defaults(void)
{
    RkGridOptions options = {.sms = 132,
                             .gpus = 1,
                             .bytes_max = 8e9,
                             .flops_max = FLOPS_MAX,
                             .m_max = INT64_MAX,
                             .main = RH_DTYPE_BF16};
    for (int i = 0; i < RH_DTYPE_LAST; i++)
        options.dtypes[i] = true;
    for (int i = 0; i < RK_CLASS_LAST; i++)
        options.classes[i] = true;
    return options;
}

bool rk_grid(const RkGridOptions *options, RkSamples *out)
{
    Build build = {.options = options, .out = out};
    gemms(&build);
    grouped_gemms(&build);
    attentions(&build);
    streams(&build);
    copies(&build);
    launches(&build);
    contention(&build);
    collectives(&build);
    return !build.failed && rk_grid_interleave(out);
}

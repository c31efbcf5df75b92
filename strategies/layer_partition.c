/* Which layers each chunk of a pipeline holds, where the layout does not name them.
 *
 * Where nodes have several devices, =work weighs what a chunk's stage has by how long its slowest one
 * takes for all layers: stages as the usual order of ranks places them, one behind another.
 *
 * partition=uniform deals out the modules of a model as DeepSpeed's partition_method "uniform" does, and
 * Aleph Alpha's trainer (github.com/Aleph-Alpha/scaling, pipeline_partitioning.py): the embedding, each
 * layer, the final norm and the head are a module each, and the first chunks have one more where they
 * do not divide. partition=parameters is what DeepSpeed's PipelineModule does by default (partition_method
 * "parameters", deepspeed/runtime/pipe/module.py); =work weighs a layer by its FLOPs instead, the
 * head among them. Both keep the heaviest chunk as light as it can be, and among such splits each
 * chunk as near to an equal share of what is left as that allows. */
#include "strategies/layer_partition.h"

#include <math.h>
#include <string.h>

const char *rh_partition_whole(const RhModel *model, bool trained)
{
    if (model->encoder)
        return "is an encoder and a decoder, which are not cut into stages here: what the encoder puts out would go to "
               "every stage of the decoder";
    if (rh_model_reads_beside(model))
        return "has layers that read keys of layers before them, or columns of a second embedding, which are not sent "
               "from stage to stage here";
    if (trained && rh_model_shares_layers(model))
        return "has layers that share parameters, whose gradients would be summed over stages, which is not supported";
    return NULL;
}

/* Even split where L divides; else, where L + 2 divides, the embedding and the head each stand for
 * one layer (the split of Llama 3: 126 layers on 128 places); else the remainder goes to the middle
 * chunks first. */
static int32_t even_layers(int32_t layers, int32_t chunks, int32_t g)
{
    int32_t base = layers / chunks, rest = layers % chunks;
    if (rest == 0)
        return base;
    if ((layers + 2) % chunks == 0 && chunks >= 2)
        return (layers + 2) / chunks - (g == 0 || g == chunks - 1);
    bool middle = g > 0 && g < chunks - 1;
    bool extra = middle ? g - 1 < rest : g == 0 && rest > MAX(chunks - 2, 0);
    return base + extra;
}

#define MODULES_BEFORE 1 /* the embedding */
#define MODULES_BEHIND 2 /* final norm, head */

/* Split by modules, with at least one layer for each chunk, even where modules alone would leave it
 * none. */
static void uniform_layers(int32_t layers, int32_t chunks, int32_t *of)
{
    int32_t modules = MODULES_BEFORE + layers + MODULES_BEHIND, left = layers;
    for (int32_t g = 0; g < chunks; g++) {
        int32_t many = modules / chunks + (g < modules % chunks);
        many -= (g == 0 ? MODULES_BEFORE : 0) + (g == chunks - 1 ? MODULES_BEHIND : 0);
        of[g] = CLAMP(g == chunks - 1 ? left : many, 1, left - (chunks - 1 - g));
        left -= of[g];
    }
}

/* --- weights of layers --- */

static RhShard whole_of(const RhProblem *c, int64_t samples)
{
    return (RhShard){.tp = 1,
                     .microbatch = samples,
                     .sequence = c->job.sequence,
                     .dtype = c->job.recipe->dtype,
                     .flash = c->stack->flash_attention,
                     .fused_norms = c->stack->fused_norms,
                     .fused_softmax = c->stack->fused_softmax,
                     .fused_elementwise = c->stack->fused_elementwise};
}

static double weight_of(const RhProblem *c, RhPartition partition, const RhLayerKind *kind,
                        RhBlock block)
{
    RhShard whole = whole_of(c, 1);
    if (partition == RH_PARTITION_PARAMETERS) {
        RhParams p = rh_block_params(c->model, kind, block, &whole);
        return p.sharded + p.replicated + p.experts;
    }
    RhFlops f = rh_block_flops(c->model, kind, block, &whole);
    return f.weights + f.pairs;
}

/* Sums of weights of layers 0 .. i - 1 together with the embedding; and the weight of the head. */
static double *sums_new(const RhProblem *c, RhPartition partition, double *head)
{
    const RhModel *m = c->model;
    double *sums = g_new(double, m->layers_count + 1), mixer[RH_LAYER_KINDS_MAX],
           ffn[RH_LAYER_KINDS_MAX];
    for (int k = 0; k < m->kinds_count; k++) {
        mixer[k] = weight_of(c, partition, &m->kinds[k], RH_BLOCK_MIXER);
        ffn[k] = weight_of(c, partition, &m->kinds[k], RH_BLOCK_FFN);
    }
    sums[0] = weight_of(c, partition, NULL, RH_BLOCK_EMBEDDING);
    for (int32_t i = 0; i < m->layers_count; i++)
        sums[i + 1] = sums[i] + mixer[m->kind_of_layer[i]] + ffn[m->kind_of_layer[i]];
    *head = weight_of(c, partition, NULL, RH_BLOCK_HEAD);
    return sums;
}

/* --- the split --- */

typedef struct {
    const double *sums; /* layers + 1 */
    double head;
    int32_t layers, chunks; /* at least one layer for each chunk */
    const double *slow;     /* per chunk: time of its device for work that takes the first device
                             * 1 */
} Weights;

/* Samples of the uncut forward pass by which devices are compared; enough that launches do not
 * count. */
#define SAMPLES 8

static double forward_s(const RhProblem *c, int32_t device)
{
    static const RhBlock blocks[] = {RH_BLOCK_MIXER, RH_BLOCK_FFN};
    static const RhPart parts[] = {RH_PART_SEQUENCE, RH_PART_TENSOR};
    const RhModel *m = c->model;
    RhShard whole = whole_of(c, SAMPLES);
    double sum = 0;
    for (int k = 0; k < m->kinds_count; k++) {
        g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
        for (int i = 0; i < 4; i++)
            rh_block_kernels(m, &m->kinds[k], blocks[i / 2], parts[i % 2], RH_PASS_FORWARD, &whole,
                             kernels);
        int32_t layers = 0;
        for (int32_t l = 0; l < m->layers_count; l++)
            layers += m->kind_of_layer[l] == k;
        for (guint i = 0; i < kernels->len; i++)
            sum += layers * rh_kernel_time_s(rh_platform_device(c->platform, device),
                                             &g_array_index(kernels, RhKernel, i));
    }
    return sum;
}

/* Relative time of each chunk on the slowest GPU of its stage, where several share a chunk's work if it
 * is cut and others are not. */
static double *slowness_new(const RhProblem *c, const RhLayout *l, RhPartition by)
{
    int32_t chunks = l->pp * l->vpp, each = MAX(c->job.gpus / l->pp, 1);
    int32_t devices = rh_platform_devices_count(c->platform);
    bool differ = by == RH_PARTITION_WORK && devices > 1;
    double *slow = g_new(double, chunks);
    g_autofree double *own = g_new(double, devices);
    for (int32_t i = 0; i < devices; i++)
        own[i] = differ ? forward_s(c, i) / forward_s(c, 0) : 1;
    for (int32_t g = 0; g < chunks; g++) {
        int32_t first = g % l->pp * each;
        slow[g] = own[differ ? rh_platform_device_of(c->platform, first) : 0];
        for (int32_t gpu = first; differ && gpu < first + each; gpu++)
            slow[g] = fmax(slow[g], own[rh_platform_device_of(c->platform, gpu)]);
        if (by == RH_PARTITION_WORK && l->cp_stages > 0)
            slow[g] /= g < l->cp_stages ? l->cp : l->local_dp;
    }
    return slow;
}

/* Weight of layers [from, to) as chunk g. */
static double weight_between(const Weights *w, int32_t g, int32_t from, int32_t to)
{
    double work = w->sums[to] - (g > 0 ? w->sums[from] : 0) + (g == w->chunks - 1 ? w->head : 0);
    return w->slow[g] * work;
}

/* Sets starts[g] to the first layer that chunk g can begin with so that neither it nor later chunks
 * weigh more than `most`. False where there is no such split. */
static bool starts_within(const Weights *w, double most, int32_t *starts)
{
    int32_t end = w->layers;
    for (int32_t g = w->chunks - 1; g >= 0; g--) {
        int32_t at = end - 1;
        if (at < g || weight_between(w, g, at, end) > most)
            return false;
        while (at > g && weight_between(w, g, at - 1, end) <= most)
            at--;
        starts[g] = end = at;
    }
    return starts[0] == 0;
}

/* Least weight of the heaviest chunk, to 1e-12; `starts` receives its split. */
static double lightest(const Weights *w, int32_t *starts)
{
    double low = 0, slowest = 0;
    for (int32_t g = 0; g < w->chunks; g++)
        slowest = fmax(slowest, w->slow[g]);
    double high = slowest * (w->sums[w->layers] + w->head);
    while (high - low > 1e-12 * high) {
        double middle = 0.5 * (low + high);
        *(starts_within(w, middle, starts) ? &high : &low) = middle;
    }
    starts_within(w, high, starts);
    return high;
}

static void fill(const Weights *w, int32_t *layers)
{
    g_autofree int32_t *starts = g_new(int32_t, w->chunks + 1);
    double most = lightest(w, starts), left = w->sums[w->layers] + w->head;
    double rest = 0; /* remaining chunks, weighted by their speed */
    for (int32_t g = 0; g < w->chunks; g++)
        rest += 1 / w->slow[g];
    starts[w->chunks] = w->layers;
    for (int32_t g = 0, from = 0; g < w->chunks; g++) {
        double share = left / rest;
        int32_t to = MAX(starts[g + 1], from + 1), last = w->layers - (w->chunks - 1 - g);
        while (to < last && weight_between(w, g, from, to + 1) <= most &&
               fabs(weight_between(w, g, from, to + 1) - share) <
                   fabs(weight_between(w, g, from, to) - share))
            to++;
        left -= weight_between(w, g, from, to) / w->slow[g];
        rest -= 1 / w->slow[g];
        layers[g] = to - from;
        from = to;
    }
}

/* Layers of the chunks of one copy of the model. */
static void partition_copy(const RhProblem *c, const RhLayout *l, int32_t chunks, int32_t *layers)
{
    int32_t count = c->model->layers_count;
    if (l->stage_layers_count != chunks && l->partition == RH_PARTITION_UNIFORM &&
        chunks <= count) {
        uniform_layers(count, chunks, layers);
        return;
    }
    if (l->stage_layers_count != chunks && l->partition != RH_PARTITION_EVEN && chunks <= count) {
        double head;
        g_autofree double *sums = sums_new(c, l->partition, &head);
        g_autofree double *slow = slowness_new(c, l, l->partition);
        fill(&(Weights){sums, head, count, chunks, slow}, layers);
        return;
    }
    for (int32_t g = 0; g < chunks; g++)
        layers[g] =
            l->stage_layers_count == chunks ? l->stage_layers[g] : even_layers(count, chunks, g);
}

int32_t rh_partition_chunks(const RhLayout *l)
{
    return l->pp * l->vpp / rh_pipeline_kind_copies(l->schedule);
}

void rh_partition_layers(const RhProblem *c, const RhLayout *l, int32_t *layers)
{
    int32_t each = rh_partition_chunks(l);
    partition_copy(c, l, each, layers);
    for (int32_t g = each; g < l->pp * l->vpp; g++)
        layers[g] = layers[g - each];
}

bool rh_partition_is_new(const RhProblem *c, const RhLayout *layout, RhPartition by)
{
    int32_t chunks = layout->pp * layout->vpp;
    g_autofree int32_t *split = g_new(int32_t, chunks), *earlier = g_new(int32_t, chunks);
    RhLayout l = *layout;
    l.partition = by;
    rh_partition_layers(c, &l, split);
    for (l.partition = RH_PARTITION_EVEN; l.partition < by; l.partition++) {
        rh_partition_layers(c, &l, earlier);
        if (memcmp(split, earlier, (size_t)chunks * sizeof(*split)) == 0)
            return false;
    }
    return true;
}

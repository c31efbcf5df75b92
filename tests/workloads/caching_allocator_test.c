/* What a framework's allocator makes of tensors that come and go: PyTorch's, which takes the smallest free
 * block that is large enough, parts it, and joins free neighbours again; where the device has no more, it
 * gives back segments that are free as a whole (c10/cuda/CUDACachingAllocator.cpp, large pool, nothing
 * set). Replayed are the tensors of Aleph Alpha's trainer, one by one, on the last stage of its pipeline
 * (github.com/Aleph-Alpha/scaling at 737f855): what it takes is what the head's bytes count. */
#include <math.h>
#include <string.h>

#include "tests/kit/testkit.h"
#include "workloads/operator_costs.h"

#define MIB 1048576.0
/* A request below 10 MiB gets a segment of 20, others of what they need in steps of 2; a rest above 1 MiB
 * is a block of its own. */
#define SMALL_SEGMENT (20 * MIB)
#define SMALL_REQUEST (10 * MIB)
#define STEP          (2 * MIB)
#define SPLIT_REST    MIB

typedef struct Block {
    double bytes;
    bool used;
    struct Block *before, *behind; /* of the same segment */
} Block;

typedef struct {
    GPtrArray *blocks; /* Block, owned */
    double room, reserved, live;
    double most_reserved, most_live;
    bool failed;
} Pool;

static Pool pool_new(double room)
{
    return (Pool){.blocks = g_ptr_array_new_with_free_func(g_free), .room = room};
}

static Block *block_new(Pool *p, double bytes)
{
    Block *b = g_new0(Block, 1);
    b->bytes = bytes;
    g_ptr_array_add(p->blocks, b);
    return b;
}

static Block *smallest_free(const Pool *p, double bytes)
{
    Block *best = NULL;
    for (guint i = 0; i < p->blocks->len; i++) {
        Block *b = p->blocks->pdata[i];
        if (!b->used && b->bytes >= bytes && (!best || b->bytes < best->bytes))
            best = b;
    }
    return best;
}

static void give_back_segments(Pool *p)
{
    for (guint i = p->blocks->len; i-- > 0;) {
        const Block *b = p->blocks->pdata[i];
        if (b->used || b->before || b->behind)
            continue;
        p->reserved -= b->bytes;
        g_ptr_array_remove_index_fast(p->blocks, i);
    }
}

static Block *segment(Pool *p, double bytes)
{
    double whole = bytes < SMALL_REQUEST ? SMALL_SEGMENT : ceil(bytes / STEP) * STEP;
    if (p->reserved + whole > p->room)
        give_back_segments(p);
    p->failed |= p->reserved + whole > p->room;
    p->reserved += whole;
    p->most_reserved = MAX(p->most_reserved, p->reserved);
    return block_new(p, whole);
}

static Block *take(Pool *p, double bytes)
{
    Block *b = smallest_free(p, bytes);
    if (!b)
        b = segment(p, bytes);
    if (b->bytes - bytes > SPLIT_REST) {
        Block *rest = block_new(p, b->bytes - bytes);
        rest->before = b;
        rest->behind = b->behind;
        if (b->behind)
            b->behind->before = rest;
        b->behind = rest;
        b->bytes = bytes;
    }
    b->used = true;
    p->live += b->bytes;
    p->most_live = MAX(p->most_live, p->live);
    return b;
}

/* Takes in the free block behind it. */
static void join(Pool *p, Block *b)
{
    Block *gone = b->behind;
    if (!gone || gone->used || b->used)
        return;
    b->bytes += gone->bytes;
    b->behind = gone->behind;
    if (gone->behind)
        gone->behind->before = b;
    g_ptr_array_remove_fast(p->blocks, gone);
}

static void give(Pool *p, Block *b)
{
    if (!b)
        return;
    b->used = false;
    p->live -= b->bytes;
    join(p, b);
    if (b->before)
        join(p, b->before);
}

/* --- the last stage --- */

typedef struct {
    int32_t tp, layers;
    bool recompute, first;
    double tokens, hidden, width, words;
} Stage;

/* Tensors of a layer by name. "+ah": `a` is made, of the size `h`; "-a": let go. Sizes: h the hidden state
 * in 2 bytes, 2 in 4; t its cut share, q three of those, f the ffn's share; gradients of weights: 1 of the
 * ffn's matrices, o and v of attention's.
 * Eager norm x y c o, product of queries, keys and values Q, rotated a b, the core's output e, sum r; the
 * second norm X C O; A G S P of the ffn; N goes on. */
static const char FORWARD[] = "+x2+y2+ch-y+oh+Qq+at+zt-z+bt+zt-z+et+dh+rh-d"
                              "+X2+y2+Ch-y+Oh+Af+Gf+Sf+Pf+dh+Nh-d";
/* Backward pass from the gradient D to that of its input, Z. */
static const char BACKWARD[] = "+pf+#1-#-P+sf+kf-p-S-G+lf-s-A+ih+#1-#-k+jh+#1-#-l+mh-i-j-O"
                               "+uh-m+v2-u-C+w2+W2-w-v+nh-W-X-r+Eh-n-D"
                               "+mt+#o-#+ut+vt+wt-m-e-b-a+mt-u+Ut-v+Tq-m-U-w-Q+ih+#v-#-T-o"
                               "+uh-i+v2-u-c+w2+W2-w-v+nh-W-x+Zh-n-E";
/* Tensors of FORWARD that are kept for BACKWARD. */
static const char KEPT[] = "xcoQaberXCOAGSP";

typedef Block *Layer['z' + 1];

static double size_of(const Stage *s, char size)
{
    double state = 2 * s->tokens * s->hidden, matrix = 2 * s->hidden / s->tp;
    switch (size) {
    case 'h':
        return state;
    case '2':
        return 2 * state;
    case 't':
        return state / s->tp;
    case 'q':
        return 3 * state / s->tp;
    case 'f':
        return 2 * s->tokens * s->width / s->tp;
    case '1':
        return matrix * s->width;
    default:
        return (size == 'v' ? 3 : 1) * matrix * s->hidden;
    }
}

static void replay(Pool *p, const Stage *s, const char *events, Layer at)
{
    for (const char *e = events; *e; e += *e == '+' ? 3 : 2)
        if (*e == '+')
            at[(guchar)e[1]] = take(p, size_of(s, e[2]));
        else if (e[1] != '#' || !s->first)
            give(p, at[(guchar)e[1]]);
}

static void let_go(Pool *p, Layer at)
{
    for (const char *k = KEPT; *k; k++)
        give(p, at[(guchar)*k]);
}

/* Logits of this rank's words, and, put together out of all ranks' parts, of all. */
static Block *logits_of(Pool *p, const Stage *s)
{
    double bytes = 2 * s->tokens * s->words;
    Block *own = take(p, bytes / s->tp), *model_cost[8] = {NULL};
    if (s->tp == 1)
        return own;
    for (int32_t i = 1; i < s->tp; i++)
        model_cost[i] = take(p, bytes / s->tp);
    Block *whole = take(p, bytes);
    for (int32_t i = 1; i < s->tp; i++)
        give(p, model_cost[i]);
    give(p, own);
    return whole;
}

/* Forward an fp32 copy beside the log-softmax; backward the gradient of the log-softmax beside that of the
 * copy, which is cast and cut. Returns the gradient of the head's input. */
static Block *loss(Pool *p, const Stage *s)
{
    double bytes = 4 * s->tokens * s->words;
    Block *copy = take(p, bytes), *softmax = take(p, bytes);
    give(p, copy);
    Block *of_softmax = take(p, bytes), *of_copy = take(p, bytes);
    give(p, of_softmax);
    give(p, softmax);
    Block *cast = take(p, bytes / 2);
    give(p, of_copy);
    if (s->recompute)
        give(p, logits_of(p, s));
    Block *cut = s->tp > 1 ? take(p, bytes / 2 / s->tp) : cast;
    if (s->tp > 1)
        give(p, cast);
    Block *gradient = take(p, size_of(s, 'h'));
    Block *of_weight = take(p, 2 * s->words * s->hidden / s->tp);
    if (!s->first)
        give(p, of_weight);
    give(p, cut);
    return gradient;
}

static void backward(Pool *p, const Stage *s, Layer *layers, Block *gradient)
{
    for (int32_t l = s->layers - 1; l >= 0; l--) {
        if (s->recompute) {
            replay(p, s, FORWARD, layers[l]);
            give(p, layers[l]['N']);
        }
        layers[l]['D'] = gradient;
        replay(p, s, BACKWARD, layers[l]);
        give(p, layers[l]['I']);
        gradient = layers[l]['Z'];
    }
    give(p, gradient);
}

static void microbatch(Pool *p, const Stage *s, Block **buffer)
{
    g_autofree Layer *layers = g_new0(Layer, s->layers + 1);
    layers[0]['I'] = take(p, size_of(s, 'h'));
    for (int32_t l = 0; l < s->layers; l++) {
        replay(p, s, FORWARD, layers[l]);
        layers[l + 1]['I'] = layers[l]['N'];
        if (s->recompute)
            let_go(p, layers[l]);
    }
    Block *normed = take(p, size_of(s, 'h')), *before = *buffer;
    *buffer = logits_of(p, s);
    give(p, before);
    Block *gradient = loss(p, s);
    give(p, normed);
    give(p, layers[s->layers]['I']);
    backward(p, s, layers, gradient);
}

static Pool run(const Stage *s, double room)
{
    Pool p = pool_new(room);
    Block *buffers[2] = {NULL, NULL};
    for (int i = 0; i < 5; i++) {
        Stage at = *s;
        at.first = i == 0;
        microbatch(&p, &at, &buffers[i % 2]);
    }
    g_ptr_array_unref(p.blocks);
    return p;
}

/* Bytes a logit without which it fails, beyond those that live. */
static double needed(const Stage *s)
{
    Pool free = run(s, 1e18);
    double least = free.most_live, most = free.most_reserved, logits = s->tokens * s->words;
    while (most - least > 0.05 * logits) {
        double room = (least + most) / 2;
        *(run(s, room).failed ? &least : &most) = room;
    }
    return (most - free.most_live) / logits;
}

/* Returns the head's count of the stage: without the logits of the micro-batch before, which are
 * alive. */
static double counted(const Stage *s, const RhModel *m)
{
    RhShard shard = {.tp = s->tp,
                     .sequence = (int64_t)s->tokens,
                     .microbatch = 1,
                     .dtype = RH_DTYPE_BF16,
                     .recompute = s->recompute ? RH_RECOMPUTE_FULL : RH_RECOMPUTE_NONE,
                     .flash = true,
                     .whole_logits = true,
                     .keeps_outputs = true};
    RhShard lets_go = shard;
    lets_go.keeps_outputs = false;
    RhActivation a = rh_block_activation_bytes(m, NULL, RH_BLOCK_HEAD, &shard);
    RhActivation b = rh_block_activation_bytes(m, NULL, RH_BLOCK_HEAD, &lets_go);
    double words = 128.0 * s->tp * ceil((double)m->vocab / (128.0 * s->tp)); /* as the model's */
    return (a.kept - b.kept) / (s->tokens * words) - 2;
}

/* The logits of two micro-batches, without layers, lie in halves of former fp32 blocks, and so do
 * parts (docs/theory/workload.md); the gradient of the head's weights comes besides. */
static void logits_part_the_blocks_of_others(void)
{
    for (int32_t tp = 1; tp <= 8; tp *= 2) {
        Stage s = {tp, 0, false, false, 8192, 5120, 13824, 128000};
        double weights = 2 * s.words * s.hidden / tp / (s.tokens * s.words),
               halves = tp > 1 ? 4 : 2;
        CU_ASSERT_TRUE(needed(&s) >= halves);
        CU_ASSERT_TRUE(needed(&s) <= halves + weights + 0.1);
    }
}

/* The head's count is never more than needed with layers, whose gradients come between, and equals
 * it in the mean. */
static void the_head_counts_what_is_needed(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-2-13b", NULL);
    double beyond[2] = {0}; /* one tensor rank, several */
    int count[2] = {0};
    for (int32_t tp = 1; tp <= 8; tp *= 2)
        for (int again = 0; again < 2; again++)
            for (int32_t layers = 10; layers <= 40; layers += 10) {
                Stage s = {tp, layers, again, false, 8192, 5120, 13824, 128000};
                double is = needed(&s);
                CU_ASSERT_TRUE(is >= (tp > 1 ? 4 : 2));
                beyond[tp > 1] += is - counted(&s, m);
                count[tp > 1]++;
            }
    for (int several = 0; several < 2; several++)
        CU_ASSERT_TRUE(fabs(beyond[several] / count[several]) < 1.5);
}

int main(void)
{
    return rh_test_main("caching_allocator",
                        (RhTest[]){
                            {"logits_part_the_blocks_of_others", logits_part_the_blocks_of_others},
                            {"the_head_counts_what_is_needed", the_head_counts_what_is_needed},
                            {0},
                        });
}

/* Double binary tree (Sanders, Speck, Traeff 2009): two trees over the members, the second the
 * first one shifted by one so that most inner members of one are leaves of the other; each carries
 * half of the buffer, cut into chunks that follow one another up and down. Member v of depth d
 * sends chunk c up in step D-d+c and down in step D+d+c: 2D + C - 1 steps. Broadcast alone: a
 * binomial tree, whole buffer, ceil(log2 n) steps. */
#include "sim/collective_private.h"

#define CHUNK_BYTES 524288.0
#define CHUNKS_MAX  16

int32_t rh_tree_chunks(double bytes)
{
    return (int32_t)CLAMP(bytes / 2 / CHUNK_BYTES, 1.0, (double)CHUNKS_MAX);
}

typedef struct {
    int32_t *parent, *depth;
    int32_t deepest;
} Tree;

/* The in-order tree over low..high-1: the middle is the parent of both halves' middles. */
static void grow(Tree *t, int32_t low, int32_t high, int32_t parent, int32_t depth)
{
    if (low >= high)
        return;
    int32_t middle = low + (high - low) / 2;
    t->parent[middle] = parent;
    t->depth[middle] = depth;
    t->deepest = MAX(t->deepest, depth);
    grow(t, low, middle, middle, depth + 1);
    grow(t, middle + 1, high, middle, depth + 1);
}

static void add_step(RhScheduleBuilder *b, const Tree *t, int32_t shift, int32_t chunks,
                     int32_t step)
{
    int32_t n = b->members;
    for (int32_t v = 0; v < n; v++) {
        if (t->parent[v] < 0)
            continue;
        int32_t child = (v + shift) % n, parent = (t->parent[v] + shift) % n;
        int32_t up = step - (t->deepest - t->depth[v]);
        int32_t down = step - (t->deepest + t->depth[v] - 1);
        if (up >= 0 && up < chunks)
            rh_schedule_flow(b, child, parent, shift * chunks + up, 1, true);
        if (down >= 0 && down < chunks)
            rh_schedule_flow(b, parent, child, shift * chunks + down, 1, false);
    }
}

static void binomial(RhScheduleBuilder *b)
{
    rh_schedule_chunks(b, 1);
    for (int32_t distance = 1; distance < b->members; distance *= 2) {
        rh_schedule_phase(b, 1);
        for (int32_t i = 0; i < distance && i + distance < b->members; i++)
            rh_schedule_flow(b, i, i + distance, 0, 1, false);
    }
}

void rh_generate_tree(RhScheduleBuilder *b, RhOp op)
{
    if (op == RH_OP_BROADCAST) {
        binomial(b);
        return;
    }
    int32_t n = b->members, chunks = rh_tree_chunks(b->schedule->bytes);
    g_autofree int32_t *cells = g_new(int32_t, 2 * (size_t)n);
    Tree t = {cells, cells + n, 0};
    grow(&t, 0, n, -1, 0);
    rh_schedule_chunks(b, 2 * chunks);
    for (int32_t step = 0; step < 2 * t.deepest + chunks - 1; step++) {
        rh_schedule_phase(b, 1);
        add_step(b, &t, 0, chunks, step);
        add_step(b, &t, 1, chunks, step);
    }
}

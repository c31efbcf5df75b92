#include "strategies/serve/cache/free_block_queue.h"

typedef struct {
    int32_t sequence, blocks;
} Run;

struct RhFreeQueue {
    GArray *runs; /* Run; those before `first` are used up */
    guint first;
    int64_t blocks; /* of all runs */
};

RhFreeQueue *rh_free_queue_new(void)
{
    RhFreeQueue *f = g_new0(RhFreeQueue, 1);
    f->runs = g_array_new(FALSE, FALSE, sizeof(Run));
    return f;
}

void rh_free_queue_free(RhFreeQueue *f)
{
    if (!f)
        return;
    g_array_unref(f->runs);
    g_free(f);
}

static Run *run_at(const RhFreeQueue *f, guint i)
{
    return &g_array_index(f->runs, Run, i);
}

void rh_free_queue_put(RhFreeQueue *f, int32_t sequence, int32_t blocks)
{
    Run *last = f->runs->len > f->first ? run_at(f, f->runs->len - 1) : NULL, run;
    if (blocks <= 0)
        return;
    f->blocks += blocks;
    if (last && last->sequence == sequence) {
        last->blocks += blocks;
        return;
    }
    run = (Run){sequence, blocks};
    g_array_append_val(f->runs, run);
}

static void drop_used(RhFreeQueue *f)
{
    while (f->first < f->runs->len && run_at(f, f->first)->blocks == 0)
        f->first++;
    if (f->first > 64 && 2 * f->first > f->runs->len) {
        g_array_remove_range(f->runs, 0, f->first);
        f->first = 0;
    }
}

void rh_free_queue_shrink(RhFreeQueue *f, int64_t left)
{
    while (f->blocks > MAX(left, 0)) {
        Run *run = run_at(f, f->first);
        int32_t used = (int32_t)MIN(f->blocks - MAX(left, 0), run->blocks);
        run->blocks -= used;
        f->blocks -= used;
        drop_used(f);
    }
}

static Run *find(const RhFreeQueue *f, int32_t sequence)
{
    for (guint i = f->runs->len; i-- > f->first;)
        if (run_at(f, i)->sequence == sequence)
            return run_at(f, i);
    return NULL;
}

int32_t rh_free_queue_blocks(const RhFreeQueue *f, int32_t sequence)
{
    const Run *run = find(f, sequence);
    return run ? run->blocks : 0;
}

void rh_free_queue_take(RhFreeQueue *f, int32_t sequence, int32_t blocks)
{
    Run *run = find(f, sequence);
    if (!run)
        return;
    g_assert(blocks <= run->blocks);
    f->blocks -= blocks;
    run->blocks -= blocks;
    run->sequence = RH_FREED_NOBODY;
    drop_used(f);
}

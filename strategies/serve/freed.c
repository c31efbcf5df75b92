#include "strategies/serve/freed.h"

typedef struct {
    int32_t sequence, blocks;
} Run;

struct RhFreed {
    GArray *runs; /* Run; those before `first` are used */
    guint first;
    int64_t blocks; /* of all runs */
};

RhFreed *rh_freed_new(void)
{
    RhFreed *f = g_new0(RhFreed, 1);
    f->runs = g_array_new(FALSE, FALSE, sizeof(Run));
    return f;
}

void rh_freed_free(RhFreed *f)
{
    if (!f)
        return;
    g_array_unref(f->runs);
    g_free(f);
}

static Run *run_at(const RhFreed *f, guint i)
{
    return &g_array_index(f->runs, Run, i);
}

void rh_freed_put(RhFreed *f, int32_t sequence, int32_t blocks)
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

static void drop_used(RhFreed *f)
{
    while (f->first < f->runs->len && run_at(f, f->first)->blocks == 0)
        f->first++;
    if (f->first > 64 && 2 * f->first > f->runs->len) {
        g_array_remove_range(f->runs, 0, f->first);
        f->first = 0;
    }
}

void rh_freed_shrink(RhFreed *f, int64_t left)
{
    while (f->blocks > MAX(left, 0)) {
        Run *run = run_at(f, f->first);
        int32_t used = (int32_t)MIN(f->blocks - MAX(left, 0), run->blocks);
        run->blocks -= used;
        f->blocks -= used;
        drop_used(f);
    }
}

static Run *find(const RhFreed *f, int32_t sequence)
{
    for (guint i = f->runs->len; i-- > f->first;)
        if (run_at(f, i)->sequence == sequence)
            return run_at(f, i);
    return NULL;
}

int32_t rh_freed_blocks(const RhFreed *f, int32_t sequence)
{
    const Run *run = find(f, sequence);
    return run ? run->blocks : 0;
}

void rh_freed_take(RhFreed *f, int32_t sequence, int32_t blocks)
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

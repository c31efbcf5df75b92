/* Memory of layouts from tables: of chunks by what they are made of, of stages by shard and split. */
#include "strategies/search/screen.h"

void rh_rooms_free(void *data)
{
    RhRooms *r = data;
    g_hash_table_destroy(r->peaks);
    g_free(r->held);
    g_free(r);
}

static const RhChunkMemory *chunk_memory(const RhScreen *s, RhShardCost *shard, int32_t content,
                                         const RhLayout *l)
{
    if (content >= (int32_t)shard->chunk_memory->len)
        g_ptr_array_set_size(shard->chunk_memory, (gint)s->contents->len);
    if (!shard->chunk_memory->pdata[content]) {
        RhChunkMemory m =
            rh_chunk_memory(shard->pieces, l, &g_array_index(s->contents, RhChunkItems, content));
        shard->chunk_memory->pdata[content] = g_memdup2(&m, sizeof m);
    }
    return shard->chunk_memory->pdata[content];
}

/* Per model chunk; the caller frees. */
static RhChunkMemory *chunks_of(const RhScreen *s, RhShardCost *shard, const RhSplit *split,
                                const RhLayout *l)
{
    RhChunkMemory *chunks = g_new(RhChunkMemory, split->chunks);
    for (int32_t g = 0; g < split->chunks; g++)
        chunks[g] = *chunk_memory(s, shard, split->content[g], l);
    return chunks;
}

/* Layouts come in the order of the space: what is asked for no more is a long stretch behind. */
#define ROOMS_STAGES_MAX 400000 /* of all rooms together */

static void forget_rooms(RhScreen *s)
{
    GHashTableIter shards;
    void *shard;
    g_hash_table_iter_init(&shards, s->shards.table);
    while (g_hash_table_iter_next(&shards, NULL, &shard))
        g_hash_table_remove_all(((RhShardCost *)shard)->rooms);
    s->rooms_stages = 0;
}

static RhRooms *rooms_new(RhScreen *s, RhShardCost *shard, const RhSplit *split, const RhLayout *l)
{
    RhRooms *rooms = g_new0(RhRooms, 1);
    g_autofree RhChunkMemory *chunks = chunks_of(s, shard, split, l);
    if (s->rooms_stages > ROOMS_STAGES_MAX)
        forget_rooms(s);
    s->rooms_stages += l->pp;
    rooms->held = rh_stage_held_new(chunks, l);
    rooms->peaks = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    g_hash_table_insert(shard->rooms, (void *)(uintptr_t)split, rooms);
    return rooms;
}

static RhInFlight *peaks_new(RhScreen *s, RhShardCost *shard, const RhSplit *split,
                             const RhLayout *l, RhRooms *rooms, const RhShape *shape)
{
    g_autofree RhChunkMemory *chunks = chunks_of(s, shard, split, l);
    RhInFlight *peaks = rh_stage_peaks_new(shard->pieces, chunks, shape);
    g_hash_table_insert(rooms->peaks, (void *)(uintptr_t)shape, peaks);
    return peaks;
}

RhTrainMemory rh_screen_memory(RhScreen *s, const RhLayout *l)
{
    RhShardCost *shard = rh_screen_shard(s, l);
    const RhShape *shape = rh_screen_shape(s, l);
    const RhSplit *split = rh_screen_split(s, l);
    RhRooms *rooms = g_hash_table_lookup(shard->rooms, split);
    if (!rooms)
        rooms = rooms_new(s, shard, split, l);
    if (rooms->peaks_shape != shape) {
        const RhInFlight *peaks = g_hash_table_lookup(rooms->peaks, shape);
        rooms->peaks_last = peaks ? peaks : peaks_new(s, shard, split, l, rooms, shape);
        rooms->peaks_shape = shape;
    }
    return rh_train_memory_with(shard->pieces, rooms->held, rooms->peaks_last, l);
}

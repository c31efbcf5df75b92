/* Times of blocks' collectives, as bytes from one process to another. */
#include "strategies/search/bounds/collective_time_cache_merge.h"

void rh_bound_begin_learning(RhBoundCache *s)
{
    s->learned = g_byte_array_new();
    s->learned_alone = rh_uncontended_times_give(s->alone, 0, NULL);
}

GByteArray *rh_bound_end_learning(RhBoundCache *s)
{
    GByteArray *out = g_byte_array_new();
    g_autoptr(GByteArray) learned = g_steal_pointer(&s->learned);
    g_autoptr(GByteArray) alone = g_byte_array_new();
    rh_uncontended_times_give(s->alone, s->learned_alone, alone);
    rh_pack_bytes(out, learned);
    rh_pack_bytes(out, alone);
    return out;
}

void rh_bound_learn(RhBoundCache *s, RhUnpack *in)
{
    g_autoptr(GByteArray) learned = rh_unpack_bytes(in);
    g_autoptr(GByteArray) alone = rh_unpack_bytes(in);
    RhUnpack left = {.whole = true};
    if (learned->len > 0)
        left = (RhUnpack){learned->data, learned->data + learned->len, true};
    while (left.at < left.end) {
        size_t size;
        RhCollectiveKey key;
        rh_unpack(&left, &size, sizeof size);
        rh_unpack(&left, &key, sizeof key);
        if (!g_hash_table_contains(s->collectives, &key))
            g_hash_table_insert(s->collectives, g_memdup2(&key, sizeof key),
                                g_memdup2(left.at, size));
        left.at += size;
    }
    if (alone->len > 0)
        rh_uncontended_times_take(s->alone, alone->data, alone->len);
}

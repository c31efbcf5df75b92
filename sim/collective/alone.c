#include "sim/collective/alone.h"

#include <string.h>

#include "sim/map64.h"

typedef struct {
    uint64_t hash; /* of the collective */
    double seconds;
} Alone;

struct RhAloneTimes {
    const RhPlatform *platform;
    RhMap64 *place_of; /* hash of the collective -> place below */
    GArray *all;       /* Alone */
};

RhAloneTimes *rh_alone_times_new(const RhPlatform *platform)
{
    RhAloneTimes *times = g_new0(RhAloneTimes, 1);
    times->platform = platform;
    times->place_of = rh_map64_new();
    times->all = g_array_new(FALSE, FALSE, sizeof(Alone));
    return times;
}

void rh_alone_times_free(RhAloneTimes *times)
{
    if (!times)
        return;
    rh_map64_free(times->place_of);
    g_array_unref(times->all);
    g_free(times);
}

static uint64_t hash_of(RhOp op, RhAlgo algo, int32_t members, const int32_t *gpus, double bytes)
{
    uint64_t hash = rh_mix64((uint64_t)op << 8 | (uint64_t)algo, rh_bits64(bytes));
    for (int32_t i = 0; i < members; i++)
        hash = rh_mix64(hash, (uint64_t)gpus[i]);
    return hash;
}

double rh_alone_time_s(RhAloneTimes *times, RhOp op, RhAlgo algo, int32_t members,
                       const int32_t *gpus, double bytes)
{
    int32_t fresh = (int32_t)times->all->len;
    uint64_t hash = hash_of(op, algo, members, gpus, bytes);
    int32_t at = *rh_map64_at(times->place_of, hash, fresh);
    if (at == fresh) {
        Alone made = {hash, rh_collective_alone_s(op, algo, members, gpus, bytes, times->platform)};
        g_array_append_val(times->all, made);
    }
    return g_array_index(times->all, Alone, at).seconds;
}

int32_t rh_alone_times_made(const RhAloneTimes *times)
{
    return (int32_t)times->all->len;
}

void rh_alone_times_give(const RhAloneTimes *times, int32_t from, GByteArray *bytes)
{
    const Alone *all = (const Alone *)(const void *)times->all->data;
    guint count = times->all->len - (guint)from;
    if (count > 0)
        g_byte_array_append(bytes, (const guint8 *)(all + from), count * (guint)sizeof *all);
}

void rh_alone_times_take(RhAloneTimes *times, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length / sizeof(Alone); i++) {
        Alone told;
        memcpy(&told, (const uint8_t *)bytes + i * sizeof told, sizeof told);
        int32_t fresh = (int32_t)times->all->len;
        if (*rh_map64_at(times->place_of, told.hash, fresh) == fresh)
            g_array_append_val(times->all, told);
    }
}

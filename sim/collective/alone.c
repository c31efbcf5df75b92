#include "sim/collective/alone.h"

#include "sim/map64.h"

struct RhAloneTimes {
    const RhPlatform *platform;
    RhMap64 *place_of; /* hash of the collective -> place below */
    GArray *seconds;   /* double */
};

RhAloneTimes *rh_alone_times_new(const RhPlatform *platform)
{
    RhAloneTimes *times = g_new0(RhAloneTimes, 1);
    times->platform = platform;
    times->place_of = rh_map64_new();
    times->seconds = g_array_new(FALSE, FALSE, sizeof(double));
    return times;
}

void rh_alone_times_free(RhAloneTimes *times)
{
    if (!times)
        return;
    rh_map64_free(times->place_of);
    g_array_unref(times->seconds);
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
    int32_t fresh = (int32_t)times->seconds->len;
    int32_t at = *rh_map64_at(times->place_of, hash_of(op, algo, members, gpus, bytes), fresh);
    if (at == fresh) {
        double seconds = rh_collective_alone_s(op, algo, members, gpus, bytes, times->platform);
        g_array_append_val(times->seconds, seconds);
    }
    return g_array_index(times->seconds, double, at);
}

int32_t rh_alone_times_made(const RhAloneTimes *times)
{
    return (int32_t)times->seconds->len;
}

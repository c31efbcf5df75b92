#include "sim/collective/uncontended_times.h"

#include <string.h>

#include "base/garray_access.h"
#include "sim/map64.h"

typedef struct {
    uint64_t hash; /* hash of the collective; with its bytes, unless one entry serves all sizes */
    double fixed_s, byte_s;
} Alone;

struct RhUncontendedTimes {
    GMutex lock; /* of the table */
    const RhPlatform *platform;
    RhMap64 *place_of; /* hash of the collective -> index below */
    GArray *all;       /* Alone */
};

RhUncontendedTimes *rh_uncontended_times_new(const RhPlatform *platform)
{
    RhUncontendedTimes *times = g_new0(RhUncontendedTimes, 1);
    times->platform = platform;
    times->place_of = rh_map64_new();
    times->all = g_array_new(FALSE, FALSE, sizeof(Alone));
    return times;
}

void rh_uncontended_times_free(RhUncontendedTimes *times)
{
    if (!times)
        return;
    g_mutex_clear(&times->lock);
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

/* Looks up a collective; adds `made`, if given, where it is not known. Returns whether it was
 * known. */
static bool look_up(RhUncontendedTimes *times, uint64_t hash, const Alone *made, Alone *found)
{
    g_mutex_lock(&times->lock);
    int32_t at = rh_map64_get(times->place_of, hash);
    if (at < 0 && made) {
        at = *rh_map64_at(times->place_of, hash, (int32_t)times->all->len);
        g_array_append_val(times->all, *made);
    }
    if (at >= 0)
        *found = g_array_index(times->all, Alone, at);
    g_mutex_unlock(&times->lock);
    return at >= 0;
}

double rh_uncontended_time_s(RhUncontendedTimes *times, RhOp op, RhAlgo algo, int32_t members,
                             const int32_t *gpus, double bytes)
{
    bool by_byte = bytes > RH_LATENCY_BYTES && !rh_collective_is_pipelined(op, algo);
    Alone found;
    uint64_t hash = hash_of(op, algo, members, gpus, by_byte ? 0 : bytes);
    if (!look_up(times, hash, NULL, &found)) {
        RhScheduleTime time = rh_collective_alone(
            op, algo, members, gpus, by_byte ? RH_TIMED_BYTES : bytes, times->platform);
        Alone made = {hash, time.fixed_s + (by_byte ? 0 : time.moving_s),
                      by_byte ? time.moving_s / RH_TIMED_BYTES : 0};
        look_up(times, hash, &made, &found);
    }
    return found.fixed_s + found.byte_s * bytes;
}

int32_t rh_uncontended_times_give(RhUncontendedTimes *times, int32_t from, GByteArray *bytes)
{
    g_mutex_lock(&times->lock);
    const Alone *all = RH_ELEMENTS(times->all, Alone);
    int32_t made = (int32_t)times->all->len;
    if (bytes && made > from)
        g_byte_array_append(bytes, (const guint8 *)(all + from),
                            (guint)(made - from) * (guint)sizeof *all);
    g_mutex_unlock(&times->lock);
    return made;
}

void rh_uncontended_times_take(RhUncontendedTimes *times, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length / sizeof(Alone); i++) {
        Alone told;
        memcpy(&told, (const uint8_t *)bytes + i * sizeof told, sizeof told);
        look_up(times, told.hash, &told, &told);
    }
}

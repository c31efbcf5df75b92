#include "sweep/shard.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"

#define SHARDS_MAX 1000000

bool rh_shard_parse(const char *text, RhStudyShard *shard, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, "/", 2);
    int64_t index = 0, count = 0;
    if (g_strv_length(parts) != 2 || !rh_integer_parse(parts[1], 1, SHARDS_MAX, &count, NULL) ||
        !rh_integer_parse(parts[0], 1, count, &index, NULL))
        return rh_fail(error, RH_ERROR_USAGE,
                       "\"%s\" is not a part of a whole, which are 1/8 to 8/8 of eight", text);
    *shard = (RhStudyShard){.index = (int32_t)index - 1, .count = (int32_t)count};
    return true;
}

/* A whole number of the environment; false where it is not set, or is none. */
static bool number_of(const char *(*get)(const char *), const char *name, int64_t *value)
{
    const char *text = get(name);
    return text && rh_integer_parse(text, 0, SHARDS_MAX, value, NULL);
}

static bool take_array(const char *(*get)(const char *), RhStudyShard *shard, GString *from,
                       GError **error)
{
    int64_t id, low, high, count, step = 1;
    if (!number_of(get, "SLURM_ARRAY_TASK_ID", &id))
        return true;
    rh_ignore_failure(number_of(get, "SLURM_ARRAY_TASK_STEP", &step)); /* 1 where it is not set */
    if (!number_of(get, "SLURM_ARRAY_TASK_MIN", &low) ||
        !number_of(get, "SLURM_ARRAY_TASK_MAX", &high) ||
        !number_of(get, "SLURM_ARRAY_TASK_COUNT", &count) || step < 1 || id < low ||
        (high - low) / step + 1 != count)
        return rh_fail(error, RH_ERROR_USAGE,
                       "this task of a Slurm array cannot be told its part: the array has gaps");
    *shard = (RhStudyShard){.index = (int32_t)((id - low) / step), .count = (int32_t)count};
    g_string_append(from, "SLURM_ARRAY_TASK_ID");
    return true;
}

bool rh_shard_of_environment(const char *(*get)(const char *), RhStudyShard *shard, char **from,
                             GError **error)
{
    /* The first that is set: srun sets those of PMI as well. */
    static const struct {
        const char *rank, *size;
    } ranks[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                 {"PMI_RANK", "PMI_SIZE"},
                 /* set by srun; a batch script has SLURM_PROCID, but is no part of a step */
                 {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
    g_autoptr(GString) names = g_string_new(NULL);
    RhStudyShard found = {.index = 0, .count = 1};
    if (!take_array(get, &found, names, error))
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(ranks); i++) {
        int64_t rank, size;
        if (!number_of(get, ranks[i].rank, &rank) || !number_of(get, ranks[i].size, &size) ||
            rank >= size || size * found.count > SHARDS_MAX)
            continue;
        found.index = found.index * (int32_t)size + (int32_t)rank;
        found.count *= (int32_t)size;
        g_string_append_printf(names, "%s%s", names->len > 0 ? " and " : "", ranks[i].rank);
        break;
    }
    *shard = found;
    *from = names->len > 0 ? g_string_free(g_steal_pointer(&names), FALSE) : NULL;
    return true;
}

/* The place of a hash among `count`, by jumps over the counts at which it would move (Lamping and
 * Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", arXiv:1406.2294): places differ in size
 * as draws do, and of n places 1/(n + 1) moves when one is added, which no assignment undercuts. */
static int32_t place_of(uint64_t hash, int32_t count)
{
    int64_t place = -1, next = 0;
    while (next < count) {
        place = next;
        hash = hash * UINT64_C(2862933555777941757) + 1;
        next = (int64_t)((double)(place + 1) * ((double)(1LL << 31) / (double)((hash >> 33) + 1)));
    }
    return (int32_t)place;
}

bool rh_shard_has(RhStudyShard shard, const char *key)
{
    char digits[17];
    g_strlcpy(digits, key, sizeof digits);
    return shard.count <= 1 ||
           place_of(g_ascii_strtoull(digits, NULL, 16), shard.count) == shard.index;
}

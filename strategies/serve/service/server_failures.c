#include "strategies/serve/service/server_failures.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"

static bool parse_one(const char *word, RhFailure *f, GError **error)
{
    const char *at = strchr(word, '@');
    g_autofree char *number = at ? g_strndup(word, (gsize)(at - word)) : NULL;
    int64_t replica = 0;
    if (!at || !rh_integer_parse(g_strstrip(number), 0, INT32_MAX, &replica, NULL))
        return rh_fail(
            error, RH_ERROR_USAGE,
            "\"%s\" is not a server and a time\nhelp: 0@30s: the first server, 30 s after "
            "the first request",
            word);
    f->replica = (int32_t)replica;
    GError *local = NULL;
    if (rh_quantity_parse_like(at + 1, RH_QUANTITY_S, "30s", &f->t_s, &local))
        return true;
    local->code = RH_ERROR_USAGE;
    g_propagate_error(error, local);
    return false;
}

GArray *rh_failures_parse(const char *text, GError **error)
{
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(RhFailure));
    g_auto(GStrv) words = g_strsplit(*text ? text : " ", ",", -1);
    for (char **word = words; *word; word++) {
        RhFailure f = {0, 0};
        if (!parse_one(g_strstrip(*word), &f, error))
            return NULL;
        g_array_append_val(list, f);
    }
    return g_steal_pointer(&list);
}

bool rh_failures_check(const RhFailures *failures, const RhDeployment *d, GError **error)
{
    int32_t replicas = 0;
    for (int32_t p = 0; p < d->pools_count; p++)
        replicas += d->pools[p].replicas;
    for (guint i = 0; failures->list && i < failures->list->len; i++) {
        int32_t replica = g_array_index(failures->list, RhFailure, i).replica;
        if (replica >= replicas)
            return rh_fail(error, RH_ERROR_USAGE,
                           "server %d cannot fail: there are %d, numbered from 0", replica,
                           replicas);
    }
    return true;
}

/* Finaliser of SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

double rh_failures_life_s(const RhFailures *f, int32_t replica, int32_t n)
{
    uint64_t place = ((uint64_t)(uint32_t)replica << 32) + (uint32_t)n + 1;
    uint64_t bits = mixed(mixed(f->seed) + place * UINT64_C(0x9E3779B97F4A7C15));
    double share = ((double)(bits >> 11) + 0.5) * 0x1p-53; /* above 0, below 1 */
    return -f->mtbf_s * log(share);
}

#include "strategies/run/elastic_sizes.h"

#include <math.h>

#define COMPOSITE_MOST 720720 /* the 38th highly composite number, DeepSpeed's last */

static bool is_valid(int64_t batch, const int64_t *micro, int32_t count, int64_t size)
{
    for (int32_t i = 0; i < count; i++)
        if (batch % micro[i] == 0 && batch / micro[i] % size == 0)
            return true;
    return false;
}

GArray *rh_elastic_sizes(int64_t batch, const int64_t *micro, int32_t count, int32_t low,
                         int32_t high)
{
    GArray *sizes = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (int32_t size = MAX(low, 1); size <= high; size++)
        if (is_valid(batch, micro, count, size))
            g_array_append_val(sizes, size);
    return sizes;
}

static int32_t divisors_count(int64_t n)
{
    int32_t count = 0;
    for (int64_t i = 1; i * i <= n; i++)
        if (n % i == 0)
            count += i * i == n ? 1 : 2;
    return count;
}

/* The largest number up to `most` with more divisors than any smaller one. Beyond 6 such numbers are multiples of
 * 12, as far as they go here. */
static int64_t most_composite(int64_t most)
{
    int64_t best = 1;
    int32_t divisors = 1;
    for (int64_t n = 2; n <= MIN(most, COMPOSITE_MOST); n += n < 12 ? 2 : 12) {
        int32_t own = divisors_count(n);
        if (own > divisors) {
            divisors = own;
            best = n;
        }
    }
    return best;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y != 0) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

int64_t rh_elastic_batch(int64_t most, const int64_t *micro, int32_t count, int32_t low,
                         int32_t high)
{
    int64_t all = 1, best = micro[0];
    guint sizes_most = 0;
    for (int32_t i = 0; i < count; i++) {
        all = common_multiple(all, micro[i]);
        best = MIN(best, micro[i]);
    }
    for (int32_t i = 0; i <= count; i++) {
        int64_t base = i < count ? micro[i] : all;
        if (base > most)
            continue;
        int64_t batch = base * most_composite(most / base);
        GArray *sizes = rh_elastic_sizes(batch, micro, count, low, high);
        if (sizes->len > sizes_most || (sizes->len == sizes_most && batch > best)) {
            sizes_most = sizes->len;
            best = batch;
        }
        g_array_unref(sizes);
    }
    return best;
}

static double step_of(const RhElasticJob *job, int32_t replicas)
{
    double each = (double)job->batch / (double)job->micro_batch / replicas;
    return ceil(each * (1 - 1e-12)) + job->fill;
}

void rh_elastic_speeds(const RhElasticJob *job, double *speeds)
{
    double whole = step_of(job, job->replicas);
    speeds[0] = 0;
    for (int32_t k = 1; k <= job->replicas; k++) {
        bool runs = !job->even || is_valid(job->batch, &job->micro_batch, 1, k);
        speeds[k] = runs ? whole / step_of(job, k) : speeds[k - 1];
    }
}

/* Profiles of long schedules are computed from their ends and some of the middle. */
#include <string.h>

#include "strategies/train/pipeline_schedule_properties.h"
#include "tests/kit/testkit.h"

static bool same_ints(const int32_t *a, const int32_t *b, int32_t count)
{
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static bool same_moments(const RhPipelineProfile *a, const RhPipelineProfile *b)
{
    if (a->candidates->len != b->candidates->len ||
        !same_ints(a->candidates_first, b->candidates_first, a->p + 1))
        return false;
    for (guint i = 0; i < a->candidates->len; i++) {
        const RhPeakCandidate *x = &g_array_index(a->candidates, RhPeakCandidate, i),
                              *y = &g_array_index(b->candidates, RhPeakCandidate, i);
        if (x->chunk != y->chunk || x->pass != y->pass || x->beside != y->beside ||
            x->next != y->next || x->runs_count != y->runs_count)
            return false;
        if (memcmp(&g_array_index(a->runs, RhInFlightRun, x->runs_first),
                   &g_array_index(b->runs, RhInFlightRun, y->runs_first),
                   (size_t)x->runs_count * sizeof(RhInFlightRun)) != 0)
            return false;
        if (a->gradients &&
            memcmp(&g_array_index(a->gradients, uint8_t, x->gradients_first),
                   &g_array_index(b->gradients, uint8_t, y->gradients_first), (size_t)a->v) != 0)
            return false;
    }
    return true;
}

static bool same(const RhPipelineProfile *a, const RhPipelineProfile *b)
{
    int32_t entries = a->p * a->v * RH_SLOT_PASSES;
    return a->m == b->m && a->slots_count == b->slots_count && same_moments(a, b) &&
           same_ints(a->before_last, b->before_last, entries) &&
           same_ints(a->behind_back, b->behind_back, entries) &&
           same_ints(a->back_chunk, b->back_chunk, a->p);
}

/* Are there so many micro-batches and chunks? */
static bool is_legal(RhPipelineKind kind, int32_t p, int32_t v, int32_t m)
{
    const RhPipelineSchedule *schedule = rh_pipeline_schedule(kind);
    int32_t only = rh_pipeline_kind_chunks(kind);
    return (only == RH_CHUNKS_ANY || v == only) && !(schedule->in_rounds && m % p) &&
           m >= schedule->rounds_least * p;
}

static int compare(const RhPipelineSchedule *schedule, int32_t p, int32_t v, int32_t m)
{
    for (int frees = 0; frees <= 1; frees++) {
        g_autoptr(RhPipelineProfile) whole =
            rh_pipeline_profile_walked(schedule, p, v, m, m, frees);
        g_autoptr(RhPipelineProfile) ends =
            rh_pipeline_profile_walked(schedule, p, v, m, 4 * p + m % p, frees);
        CU_ASSERT_TRUE(same(whole, ends));
    }
    return 1;
}

static void ends_tell_what_all_of_it_tells(void)
{
    int compared = 0;
    for (int kind = RH_PIPELINE_NONE + 1; kind < RH_PIPELINE_LAST; kind++) {
        const RhPipelineSchedule *schedule = rh_pipeline_schedule((RhPipelineKind)kind);
        for (int32_t p = 2; p <= 12 && schedule->settles; p += p < 6 ? 1 : 2)
            for (int32_t v = 1; v <= 5; v++)
                for (int32_t m = 5 * p; m <= 12 * p; m += 1 + (m > 7 * p) * (p - 1)) {
                    if (!is_legal((RhPipelineKind)kind, p, v, m))
                        continue;
                    compared += compare(schedule, p, v, m);
                    if (schedule->paired)
                        compared += compare(schedule->paired, p, v, m);
                }
    }
    CU_ASSERT_TRUE(compared > 500);
}

int main(void)
{
    return rh_test_main(
        "pipeline_profile",
        (RhTest[]){{"ends_tell_what_all_of_it_tells", ends_tell_what_all_of_it_tells}, {0}});
}

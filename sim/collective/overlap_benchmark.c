#include "sim/collective/overlap_benchmark.h"

#include <math.h>

#include "platforms/fabric/collective_library.h"
#include "sim/collective/group_links.h"

static RhComputeOverlap overlap_of(double alone_s, double overall_s)
{
    double beyond = alone_s > 0 ? (overall_s - alone_s) / alone_s : 0;
    return (RhComputeOverlap){alone_s, overall_s, fmax(1 - beyond, 0)};
}

/* Computing has what SMs are left until the collective's kernel ends, and all of them for the rest. */
static double beside_kernels_s(double alone_s, const RhPlatform *p)
{
    double left = rh_sms_left_frac(p->device->sms_count, p->collective_sms.value, 1);
    return alone_s + (1 - left) * alone_s;
}

/* Returns when the library is called next, at t_s or later. */
static double next_call_s(double t_s, double compute_s, int32_t tests)
{
    double every_s = compute_s / (tests + 1);
    return t_s >= compute_s || every_s <= 0 ? t_s : fmin(ceil(t_s / every_s) * every_s, compute_s);
}

static double beside_calls_s(const RhSchedule *s, const GArray *rounds, double post_s,
                             double compute_s, int32_t tests)
{
    double t_s = 0;
    for (guint i = 0; i < rounds->len; i++) {
        const RhStepTime *step = &g_array_index(rounds, RhStepTime, i);
        int32_t repeat = g_array_index(s->rounds, RhRound, i).repeat;
        for (int32_t q = 0; q < repeat; q++) {
            bool first = i == 0 && q == 0;
            double begin_s = first ? post_s : next_call_s(t_s, compute_s, tests);
            t_s = begin_s + step->latency_s + step->moving_s;
        }
    }
    return fmax(t_s, compute_s);
}

RhComputeOverlap rh_collective_overlap(const RhCollectiveSpec *call, int32_t members,
                                       const int32_t *gpus, int32_t tests,
                                       const RhPlatform *platform)
{
    double alone_s =
        rh_collective_alone_s(call->op, call->algo, members, gpus, call->bytes, platform);
    if (rh_platform_library_family(platform) != RH_LIBRARY_MPI)
        return overlap_of(alone_s, beside_kernels_s(alone_s, platform));
    if (call->algo == RH_ALGO_SHARP)
        return overlap_of(alone_s, alone_s);
    g_autoptr(RhProgram) one = rh_program_new(members);
    int32_t group = rh_program_add_group(one, "alone", &(RhStride){1, members}, 1);
    one->gpu_of_rank = g_memdup2(gpus, sizeof *gpus * (size_t)members);
    g_autoptr(RhSchedule) s = rh_schedule_on(call, members, platform, gpus, NULL);
    g_autoptr(GArray) rounds = rh_schedule_round_times(s, one, platform, group, -1);
    double post_s = platform->collective_launch_s.value + s->launch_more_s;
    return overlap_of(alone_s, beside_calls_s(s, rounds, post_s, alone_s, tests));
}

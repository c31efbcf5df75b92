/* Times of a collective on a network of its own. */
#include "sim/collective/group_links.h"
#include "sim/collective/step_pattern_time.h"

RhScheduleTime rh_collective_alone(RhOp op, RhAlgo algo, int32_t members, const int32_t *gpus,
                                   double bytes, const RhPlatform *platform)
{
    g_autoptr(RhProgram) one = rh_program_new(members);
    RhStride all = {1, members};
    int32_t group = rh_program_add_group(one, "alone", &all, 1);
    one->gpu_of_rank = g_memdup2(gpus, sizeof *gpus * (size_t)members);
    RhCollectiveSpec spec = {.op = op, .algo = algo, .bytes = bytes};
    g_autoptr(RhPatternTally) tally = rh_step_pattern_tally_new(&spec, one, platform, group, -1);
    if (tally)
        return rh_step_pattern_tally_time(tally, algo, bytes);
    g_autoptr(RhSchedule) schedule = rh_schedule_on(&spec, members, platform, gpus, NULL);
    return rh_schedule_time(schedule, one, platform, group, -1);
}

double rh_collective_alone_s(RhOp op, RhAlgo algo, int32_t members, const int32_t *gpus,
                             double bytes, const RhPlatform *platform)
{
    RhScheduleTime time = rh_collective_alone(op, algo, members, gpus, bytes, platform);
    return time.fixed_s + time.moving_s;
}

#include "tests/kit/engine_kit.h"

typedef struct {
    const char *platform;
    int32_t ranks, size, stride;
} Place;

static const Place places[] = {
    {"h100-sxm:8x1", 8, 2, 1},
    {"h100-sxm:8x1", 6, 3, 1},
    {"h100-sxm:8x1", 8, 8, 1},
    {"h100-sxm:8x1", 8, 4, 2},
    {"h100-sxm:8x4,ib:400Gb/s", 32, 4, 8},
    {"h100-sxm:8x4,ib:400Gb/s", 32, 32, 1},
    {"h100-sxm:8x4,ib:400Gb/s", 32, 16, 2},
    {"h100-sxm:8x3,ib:400Gb/s", 24, 3, 8},
    {"h100-sxm:8x4,ib:400Gb/s,nics:2", 32, 4, 8},
    {"h100-sxm:8x8,ib:400Gb/s,leaf:2,oversub:4", 64, 8, 8},
    {"h100-sxm:8x8,ib:400Gb/s,leaf:4,rail", 64, 64, 1},
    {"dgx-1", 8, 8, 1},
    {"dgx-1", 8, 4, 1},
    {"dgx-1", 8, 4, 2},
    {"dgx-1", 8, 2, 1},
    {"dgx-1:2", 16, 16, 1},
    {"summit", 6, 6, 1},
    {"frontier:2", 16, 16, 1},
};

/* All siblings of the group run at once, as rh_schedule_time_s takes them to. */
static double expected_s(const RhProgram *p, const RhPlatform *platform, int32_t *steps)
{
    const RhTask *task = rh_program_task(p, 0);
    const RhGroup *group = rh_program_group(p, task->group);
    g_autofree int32_t *gpus = rh_group_gpus(p, task->group, 0);
    RhCollectiveSpec call = {
        .op = (RhOp)task->op, .algo = (RhAlgo)task->algo, .bytes = task->bytes};
    g_autoptr(RhSchedule) schedule = rh_schedule_on(&call, group->size, platform, gpus, NULL);
    *steps = 1;
    if (!schedule) /* hierarchical over nodes with unequal members, say */
        return -1;
    for (uint32_t i = 0; i < schedule->rounds->len; i++)
        *steps += g_array_index(schedule->rounds, RhRound, i).repeat;
    return rh_schedule_time_s(schedule, p, platform, task->group, 0);
}

static void check_place(const Place *place, RhOp op, RhAlgo algo, double bytes,
                        RhEngineOptions options)
{
    g_autoptr(RhPlatform) platform = kit_platform(place->platform);
    g_autoptr(RhProgram) p =
        kit_one_collective(place->ranks, place->size, place->stride, op, algo, bytes);
    int32_t steps;
    double wanted_s = expected_s(p, platform, &steps);
    if (wanted_s < 0)
        return;
    double got_s = kit_time_s(p, platform, options);
    bool close = fabs(got_s - wanted_s) <= MAX(1e-6 * wanted_s, 1e-9 * steps);
    if (!close)
        fprintf(stderr, "    %s %s, %d of stride %d on %s, %g bytes: %.9g, expected %.9g\n",
                rh_algo_name(algo), rh_op_name(op), place->size, place->stride, place->platform,
                bytes, got_s, wanted_s);
    CU_ASSERT_TRUE(close);
}

/* With sanitizers other places are tried each time. */
static void every_collective(RhEngineOptions options, size_t first)
{
    for (int op = RH_OP_ALL_REDUCE; op < RH_OP_LAST; op++)
        for (int algo = RH_ALGO_RING; algo < RH_ALGO_LAST; algo++)
            for (size_t i = first % RH_TRIES(1, 5); i < G_N_ELEMENTS(places); i += RH_TRIES(1, 5))
                if (rh_collective_supports((RhOp)op, (RhAlgo)algo))
                    check_place(&places[i], (RhOp)op, (RhAlgo)algo, i % 2 ? 3e8 : 7e4, options);
}

static void every_collective_takes_its_schedule_time(void)
{
    every_collective((RhEngineOptions){0}, 0);
}

static void every_collective_takes_the_same_without_collapse(void)
{
    every_collective((RhEngineOptions){.collapse_disabled = true}, 3);
}

static void every_collective_takes_the_same_unfolded(void)
{
    for (int op = RH_OP_ALL_REDUCE; op < RH_OP_LAST; op++)
        for (int algo = RH_ALGO_RING; algo < RH_ALGO_LAST; algo++)
            for (size_t i = 4; i < G_N_ELEMENTS(places); i += RH_TRIES(3, 6))
                if (rh_collective_supports((RhOp)op, (RhAlgo)algo))
                    check_place(&places[i], (RhOp)op, (RhAlgo)algo, 3e8,
                                (RhEngineOptions){.unfolded = true});
}

int main(void)
{
    return rh_test_main(
        "engine_collective",
        (RhTest[]){
            {"every_collective_takes_its_schedule_time", every_collective_takes_its_schedule_time},
            {"every_collective_takes_the_same_without_collapse",
             every_collective_takes_the_same_without_collapse},
            {"every_collective_takes_the_same_unfolded", every_collective_takes_the_same_unfolded},
            {0}});
}

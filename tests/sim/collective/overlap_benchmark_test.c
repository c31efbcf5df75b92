/* Collectives beside computing: what the engine performs, and what a library that goes on when it is called leaves. */
#include "sim/collective/overlap_benchmark.h"

#include "tests/kit/engine_kit.h"

static int32_t *places_of(const RhPlatform *p, int32_t *members)
{
    *members = rh_platform_gpus(p);
    int32_t *gpus = g_new(int32_t, *members);
    for (int32_t i = 0; i < *members; i++)
        gpus[i] = i;
    return gpus;
}

static RhComputeOverlap overlap(const RhPlatform *p, RhCollectiveSpec call, int32_t tests)
{
    int32_t members;
    g_autofree int32_t *gpus = places_of(p, &members);
    return rh_collective_overlap(&call, members, gpus, tests, p);
}

/* A kernel as long as the collective alone, beside it, as the engine shares SMs. */
static void kernels_share_sms_as_in_the_engine(void)
{
    g_autoptr(RhPlatform) p = kit_platform("h100-sxm:8x2,ib:400Gb/s");
    static const double held[] = {0, 16, 66};
    static const RhOp ops[] = {RH_OP_ALL_REDUCE, RH_OP_ALL_GATHER};
    for (size_t i = 0; i < G_N_ELEMENTS(held); i++)
        for (size_t k = 0; k < G_N_ELEMENTS(ops); k++) {
            p->collective_sms.value = held[i];
            RhCollectiveSpec call = {.op = ops[k], .algo = RH_ALGO_RING, .bytes = 1e9};
            RhComputeOverlap o = overlap(p, call, 0);
            g_autoptr(RhProgram) both = rh_program_new(16);
            RhStride all = {1, 16};
            rh_program_begin_role(both, "all", 0, &all, 1);
            int32_t group = rh_program_add_group(both, "group", &all, 1);
            kit_wait(both, o.compute_s, NULL, 0);
            kit_collective(both, RH_LANE_DP, call.op, call.algo, group, call.bytes, -1);
            rh_program_end_role(both);
            RH_CHECK_CLOSE(kit_time_s(both, p, (RhEngineOptions){0}), o.overall_s, 1e-3);
            RH_CHECK_CLOSE(o.overlap_frac, 1 - (o.overall_s - o.compute_s) / o.compute_s, 1e-12);
            RH_CHECK_CLOSE(o.overlap_frac, 1 - held[i] / p->device->sms_count, 1e-9);
        }
}

/* One step of a ring goes on by itself; each call while computing lets one more begin, until all steps hide.
 * Source: OSU micro-benchmarks 7.5, osu_iallreduce, option -t. */
static void a_library_that_is_called_goes_on(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("frontera:16", NULL);
    int32_t members = rh_platform_gpus(p);
    RhCollectiveSpec ring = {.op = RH_OP_ALL_GATHER, .algo = RH_ALGO_RING, .bytes = 64e6};
    RhComputeOverlap before = overlap(p, ring, 0);
    RH_CHECK_CLOSE(before.overlap_frac, 1.0 / (members - 1), 0.15);
    for (int32_t tests = 1; tests <= 4096; tests *= 4) {
        RhComputeOverlap o = overlap(p, ring, tests);
        CU_ASSERT_TRUE(o.overlap_frac >= before.overlap_frac - 1e-9);
        CU_ASSERT_TRUE(o.overall_s >= o.compute_s && o.overlap_frac <= 1);
        before = o;
    }
    CU_ASSERT_TRUE(before.overlap_frac > 0.98);
    RhCollectiveSpec shift = {.op = RH_OP_SHIFT, .algo = RH_ALGO_RING, .bytes = 64e6};
    RH_CHECK_CLOSE(overlap(p, shift, 0).overlap_frac, 1, 1e-9); /* one step */
}

static void what_switches_sum_goes_on_by_itself(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("frontera:16", NULL);
    CU_ASSERT_TRUE(rh_platform_set(p, "nic.sharp.efficiency", "0.95", NULL));
    RhCollectiveSpec call = {.op = RH_OP_ALL_REDUCE, .algo = RH_ALGO_SHARP, .bytes = 64e6};
    CU_ASSERT_EQUAL(overlap(p, call, 0).overlap_frac, 1);
}

int main(void)
{
    return rh_test_main(
        "overlap_benchmark",
        (RhTest[]){{"kernels_share_sms_as_in_the_engine", kernels_share_sms_as_in_the_engine},
                   {"a_library_that_is_called_goes_on", a_library_that_is_called_goes_on},
                   {"what_switches_sum_goes_on_by_itself", what_switches_sum_goes_on_by_itself},
                   {0}});
}

/* Profiles of links that are shipped: what they make of collectives that were timed. */
#include "platforms/fabric/nccl_protocol.h"
#include "platforms/profile.h"
#include "sim/collective/collective.h"
#include "tests/kit/testkit.h"

/* Times of collectives among 8 GPUs, from the tables that the profiles were fitted to
 * (aiconfigurator 095f58a51, nccl_perf), numbers of two bytes: 64 KiB and 512 MiB gathered, 512 MiB
 * summed. */
static const struct {
    const char *platform, *profile;
    double few_s, many_s, sum_s;
} rows[] = {
    {"dgx-a100", "dgx-a100-nccl-2.27.3", 20.9e-6, 2289.1e-6, 4225.9e-6},
    {"dgx-h100", "dgx-h100-nccl-2.29.2", 13.1e-6, 1400.1e-6, 2111.1e-6},
    {"dgx-h200", "dgx-h200-nccl-2.29.2", 13.9e-6, 1393.6e-6, 2040.3e-6},
    {"dgx-b200", "dgx-b200-nccl-2.29.2", 19.0e-6, 761.1e-6, 1334.6e-6},
};
#define OFF_FRAC 0.15

static double time_s(const RhPlatform *p, RhOp op, double bytes)
{
    static const int32_t gpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
    RhAlgo algo = rh_collective_choose(op, 8, NULL, bytes, p, NULL);
    return rh_collective_alone_s(op, algo, 8, gpus, bytes, p);
}

/* Gathers and sums of 8 GPUs, with the shipped profile, beside the measured times. Source:
 * aiconfigurator 095f58a51, nccl_perf.txt. */
static void they_take_as_long_as_was_measured(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = g_strdup_printf("%s/platforms/data/links/%s.json",
                                                g_getenv("REHEARSE_DATA"), rows[i].profile);
        g_autoptr(RhPlatform) p = rh_platform_load(rows[i].platform, NULL);
        CU_ASSERT_TRUE_FATAL(p && rh_platform_apply_profile(p, path, NULL));
        RH_CHECK_CLOSE(time_s(p, RH_OP_ALL_GATHER, 65536), rows[i].few_s, OFF_FRAC);
        RH_CHECK_CLOSE(time_s(p, RH_OP_ALL_GATHER, 512 << 20), rows[i].many_s, OFF_FRAC);
        RH_CHECK_CLOSE(time_s(p, RH_OP_ALL_REDUCE, 512 << 20), rows[i].sum_s, OFF_FRAC);
    }
}

/* Profiles of NCCL's protocols leave room for flags: LL sends four bytes of flag with four of data,
 * LL128 eight with 120. Source: Hu et al. 2025 (arXiv 2507.04786), table of protocols. */
static void protocols_leave_room_for_their_flags(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = g_strdup_printf("%s/platforms/data/links/%s.json",
                                                g_getenv("REHEARSE_DATA"), rows[i].profile);
        g_autoptr(RhPlatform) p = rh_platform_load(rows[i].platform, NULL);
        CU_ASSERT_TRUE_FATAL(p && rh_platform_apply_profile(p, path, NULL));
        const RhProtocolFacts *ll = rh_protocol_of(p, RH_PROTOCOL_LL, false);
        const RhProtocolFacts *ll128 = rh_protocol_of(p, RH_PROTOCOL_LL128, false);
        CU_ASSERT_TRUE_FATAL(ll != NULL && ll128 != NULL);
        CU_ASSERT_TRUE(ll->efficiency_frac.value <= 4.0 / 8);
        CU_ASSERT_TRUE(ll128->efficiency_frac.value <= 120.0 / 128);
        CU_ASSERT_TRUE(ll->efficiency_frac.value < ll128->efficiency_frac.value);
    }
}

int main(void)
{
    return rh_test_main(
        "link_profiles",
        (RhTest[]){{"they take as long as was measured", they_take_as_long_as_was_measured},
                   {"protocols leave room for their flags", protocols_leave_room_for_their_flags},
                   {0}});
}

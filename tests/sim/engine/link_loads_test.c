/* Load of each link over a run: all of its bytes, and when they are sent. */
#include "tests/kit/engine_kit.h"

#define KERNEL_S 2e-3
#define BYTES    45e6

/* Rank 0 runs a kernel and sends to rank 1, on its node, and behind that to rank 2, on another. */
static RhProgram *near_and_far(void)
{
    RhProgram *p = rh_program_new(4);
    rh_program_begin_role(p, "sender", 0, NULL, 0);
    int32_t kernel = kit_wait(p, KERNEL_S, NULL, 0);
    int32_t near = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, 1, BYTES, kernel);
    int32_t far = kit_message(p, RH_TASK_SEND, RH_LANE_SEND_NEXT, 2, BYTES, near);
    rh_program_end_role(p);
    rh_program_begin_role(p, "near", 1, NULL, 0);
    rh_program_match(p, near, kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -1, BYTES, -1));
    rh_program_end_role(p);
    rh_program_begin_role(p, "far", 2, NULL, 0);
    rh_program_match(p, far, kit_message(p, RH_TASK_RECV, RH_LANE_RECV_PREV, -2, BYTES, -1));
    rh_program_end_role(p);
    return p;
}

static double rate_of(const RhPlatform *platform, const char *name)
{
    RhLink link = rh_platform_link_by_name(platform, name);
    CU_ASSERT_TRUE_FATAL(link >= 0);
    return rh_platform_link_bytes_per_s(platform, link);
}

static void links_move_their_bytes_when_they_are_sent(void)
{
    g_autoptr(RhPlatform) platform = kit_platform("h100-sxm:2x2,ib:400Gb/s,nvlink:450GB/s");
    g_autoptr(RhProgram) p = near_and_far();
    g_autoptr(RhRun) run = kit_run(p, platform, (RhEngineOptions){.timeline = true});
    guint series = run->link_loads->len / RH_LINK_BINS;
    CU_ASSERT_TRUE_FATAL(series >= 2 && run->links->len >= series);
    double bin_s = run->step_time_s / RH_LINK_BINS;
    for (guint l = 0; l < series; l++) {
        const RhLinkUse *use = &g_array_index(run->links, RhLinkUse, l);
        double moved = 0;
        for (guint i = 0; i < RH_LINK_BINS; i++) {
            double load = g_array_index(run->link_loads, double, l *RH_LINK_BINS + i);
            CU_ASSERT_TRUE(load >= 0 && load <= 1 + 1e-9);
            CU_ASSERT_TRUE(load == 0 || (i + 1) * bin_s > KERNEL_S);
            moved += load * bin_s * rate_of(platform, use->name);
        }
        RH_CHECK_CLOSE(moved, use->bytes, 1e-9);
    }
}

int main(void)
{
    return rh_test_main("link_loads", (RhTest[]){{"links_move_their_bytes_when_they_are_sent",
                                                  links_move_their_bytes_when_they_are_sent},
                                                 {0}});
}

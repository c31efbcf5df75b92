/* A collective of one's own: an all-reduce of 256 MiB over two nodes of eight H100s in three steps,
 * beside one ring over all of them.
 *
 *     cc collective.c $(pkg-config --cflags --libs rehearse) -o collective && ./collective */
#include <gsl/gsl_errno.h>
#include <rehearse.h>
#include <stdio.h>

static int32_t add(RhProgram *p, RhOp op, int32_t group, double bytes, int32_t after)
{
    RhTask task = {.kind = RH_TASK_COLLECTIVE, .lane = RH_LANE_DP, .op = op, .group = group};
    task.algo = RH_ALGO_RING, task.layer = -1, task.microbatch = -1, task.bundle = -1,
    task.peer_task = -1;
    task.bytes = bytes;
    return rh_program_add_task(p, task, &after, 1);
}

int main(void)
{
    GError *error = NULL;
    gsl_set_error_handler_off();
    g_autoptr(RhPlatform) platform = rh_platform_load("dgx-h100:2", &error);
    for (int own = 0; platform && !error && own < 2; own++) {
        const double bytes = 256 << 20;
        g_autoptr(RhProgram) p = rh_program_new(16);
        int32_t node = rh_program_add_group(p, "node", (RhStride[]){{1, 8}}, 1);
        int32_t rail = rh_program_add_group(p, "rail", (RhStride[]){{8, 2}}, 1);
        int32_t all = rh_program_add_group(p, "all", (RhStride[]){{1, 16}}, 1);
        rh_program_begin_role(p, "ranks", 0, (RhStride[]){{1, 16}}, 1);
        int32_t last = own ? add(p, RH_OP_REDUCE_SCATTER, node, bytes, -1)
                           : add(p, RH_OP_ALL_REDUCE, all, bytes, -1);
        last = own ? add(p, RH_OP_ALL_REDUCE, rail, bytes / 8, last) : last;
        last = own ? add(p, RH_OP_ALL_GATHER, node, bytes, last) : last;
        rh_program_end_role(p);
        g_autoptr(RhRun) run = rh_rehearse_isolated(p, platform, &(RhEngineOptions){0}, &error);
        if (run)
            printf("%s: %.2f ms\n", own ? "in three steps" : "one ring", run->step_time_s * 1e3);
    }
    return error ? fprintf(stderr, "error: %s\n", error->message), 1 : 0;
}

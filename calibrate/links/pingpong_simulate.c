/* Simulates a ping-pong. */
#include "calibrate/links/pingpong_fit.h"
#include "sim/engine/workers/isolated_run.h"

#define TRIPS 8 /* by then the token buckets of the links have settled */

static int32_t add_end(RhProgram *p, RhTaskKind kind, int32_t delta, double bytes, int32_t before)
{
    RhTask task = {.kind = (uint8_t)kind,
                   .lane = kind == RH_TASK_SEND ? RH_LANE_SEND_NEXT : RH_LANE_RECV_PREV,
                   .layer = -1,
                   .microbatch = -1,
                   .label = rh_program_label(p, "ping"),
                   .bundle = -1,
                   .group = -1,
                   .peer_task = -1,
                   .peer_delta = delta,
                   .bytes = bytes};
    return rh_program_add_task(p, task, &before, 1);
}

/* Makes the program: rank 0 sends and receives, rank 1 receives and sends, TRIPS times. */
static RhProgram *ping_program(const RhPing *ping)
{
    RhProgram *p = rh_program_new(2);
    int32_t ends[2][2 * TRIPS];
    for (int32_t rank = 0; rank < 2; rank++) {
        int32_t last = -1, delta = rank == 0 ? 1 : -1;
        rh_program_begin_role(p, rank == 0 ? "ping" : "pong", rank, NULL, 0);
        for (int i = 0; i < 2 * TRIPS; i++) {
            bool sends = (i + rank) % 2 == 0;
            last = ends[rank][i] =
                add_end(p, sends ? RH_TASK_SEND : RH_TASK_RECV, delta, ping->bytes, last);
        }
        rh_program_end_role(p);
    }
    for (int i = 0; i < 2 * TRIPS; i++)
        rh_program_match(p, ends[i % 2][i], ends[1 - i % 2][i]);
    p->gpu_of_rank = g_new(int32_t, 2);
    p->gpu_of_rank[0] = ping->source;
    p->gpu_of_rank[1] = ping->destination;
    return p;
}

bool rh_ping_rehearse(const RhPlatform *platform, const RhPing *ping, double timeout_s,
                      double *seconds, GError **error)
{
    g_autoptr(RhProgram) p = ping_program(ping);
    RhEngineOptions options = {.timeline = true, .timeout_s = timeout_s};
    g_autoptr(RhRun) run = rh_rehearse_isolated(p, platform, &options, error);
    if (!run)
        return false;
    /* the last two receives of rank 0 are a round trip apart */
    double t_s[2] = {0};
    for (guint i = 0; i < run->timeline->len; i++) {
        const RhTaskInterval *span = &g_array_index(run->timeline, RhTaskInterval, i);
        if (span->task == 2 * TRIPS - 1)
            t_s[1] = span->t_end_s;
        if (span->task == 2 * TRIPS - 3)
            t_s[0] = span->t_end_s;
    }
    *seconds = (t_s[1] - t_s[0]) / 2;
    return true;
}

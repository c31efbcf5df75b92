/* Transfers between GPUs share links as SimGrid's flows do. */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/engine/simgrid_bridge.h"
#include "sim/fair_share_transfers.h"
#include "tests/kit/testkit.h"

#define FLOWS 120

typedef struct {
    double t_s, bytes;
    int32_t src, dst;
} Ask;

typedef struct {
    const Ask *asks;
    int32_t next;
    double *ends_s;
} Bridge;

static RhPlatform *fabric(const char *name)
{
    RhPlatform *p = rh_platform_load(name, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

/* Whole bytes, at times in order, between any two GPUs. */
static void draw(const RhPlatform *p, Ask asks[FLOWS])
{
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    double t_s = 0;
    for (int i = 0; i < FLOWS; i++) {
        t_s += g_rand_double_range(random, 0, 2e-5);
        int32_t gpus = rh_platform_gpus(p), src = g_rand_int_range(random, 0, gpus);
        int32_t dst = (src + g_rand_int_range(random, 1, gpus)) % gpus;
        asks[i] = (Ask){t_s, floor(exp(g_rand_double_range(random, 14, 19))), src, dst};
    }
}

/* --- SimGrid --- */

static void on_alarm(void *user)
{
    Bridge *b = user;
    int32_t i = b->next++;
    rh_bridge_flow(i, (uint64_t)b->asks[i].bytes, i);
    if (b->next < FLOWS)
        rh_bridge_alarm(b->asks[b->next].t_s);
}

static void on_done(int32_t flow, void *user)
{
    ((Bridge *)user)->ends_s[flow] = rh_bridge_clock_s();
}

static void run_simgrid(const RhPlatform *p, const Ask asks[FLOWS], double ends_s[FLOWS])
{
    int32_t links = rh_platform_links_count(p), hops_count = 0;
    g_autofree double *rates = g_new(double, links);
    RhBridgeHop hops[FLOWS * RH_ROUTE_MAX];
    int32_t first[FLOWS + 1];
    Bridge bridge = {.asks = asks, .ends_s = ends_s};
    for (int32_t l = 0; l < links; l++)
        rates[l] = rh_platform_link_bytes_per_s(p, l);
    for (int i = 0; i < FLOWS; i++) {
        RhLink route[RH_ROUTE_MAX];
        int count = rh_platform_route(p, asks[i].src, asks[i].dst, route);
        first[i] = hops_count;
        for (int h = 0; h < count; h++)
            hops[hops_count++] = (RhBridgeHop){route[h], 1};
    }
    first[FLOWS] = hops_count;
    RhBridgePlatform platform = {links, rates, FLOWS, first, hops};
    CU_ASSERT_PTR_NULL(rh_bridge_start(&platform, (RhBridgeCallbacks){on_done, on_alarm, &bridge}));
    rh_bridge_alarm(asks[0].t_s);
    CU_ASSERT_PTR_NULL(rh_bridge_run());
}

/* Runs the transfers in a child, because SimGrid keeps its state. */
static void run_apart(const RhPlatform *p, const Ask asks[FLOWS], double ends_s[FLOWS])
{
    int pipe_of[2], status = 1;
    CU_ASSERT_EQUAL_FATAL(pipe(pipe_of), 0);
    pid_t child = fork();
    if (child == 0) {
        run_simgrid(p, asks, ends_s);
        _exit(write(pipe_of[1], ends_s, sizeof(double) * FLOWS) == (ssize_t)(sizeof(double) * FLOWS)
                  ? 0
                  : 1);
    }
    CU_ASSERT_EQUAL(read(pipe_of[0], ends_s, sizeof(double) * FLOWS),
                    (ssize_t)(sizeof(double) * FLOWS));
    waitpid(child, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
    close(pipe_of[0]);
    close(pipe_of[1]);
}

/* --- ours --- */

static void run_ours(const RhPlatform *p, const Ask asks[FLOWS], double ends_s[FLOWS])
{
    g_autoptr(RhTransfers) transfers = rh_transfers_new(p);
    int32_t next = 0;
    for (double end_s = HUGE_VAL; next < FLOWS || end_s < HUGE_VAL;
         end_s = rh_transfers_next_s(transfers)) {
        if (next < FLOWS && asks[next].t_s <= end_s) {
            const Ask *a = &asks[next];
            rh_transfers_start(transfers, a->t_s, a->src, a->dst, a->bytes, next++);
        } else {
            ends_s[rh_transfers_end(transfers)] = end_s;
        }
    }
}

static void compare(const char *name)
{
    g_autoptr(RhPlatform) p = fabric(name);
    Ask asks[FLOWS];
    double simgrid_s[FLOWS], ours_s[FLOWS];
    draw(p, asks);
    run_apart(p, asks, simgrid_s);
    run_ours(p, asks, ours_s);
    int32_t contended = 0;
    for (int i = 0; i < FLOWS; i++) {
        double alone_s = asks[i].bytes / rh_platform_link_bytes_per_s(
                                             p, rh_platform_link_by_name(p, "nic/node0/0/tx"));
        contended += ours_s[i] - asks[i].t_s > 1.5 * alone_s;
        RH_CHECK_CLOSE(ours_s[i], simgrid_s[i], 1e-6);
    }
    CU_ASSERT_TRUE(contended > FLOWS / 4);
}

/* The second has links between switches that carry all that its NICs send, which are left out. */
static void links_are_shared_alike(void)
{
    compare("llama3-roce:6");
    compare("dgx-h100:4");
}

static const RhTest tests[] = {
    {"links are shared alike", links_are_shared_alike},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("transfers", tests);
}

/* Servers on several nodes: part by part their iterations take what they take as a whole, and what they and others on
 * their links take from each other is the links' rule. */
#include <math.h>

#include "sim/fair_share_transfers.h"
#include "tests/kit/serve_kit.h"

#define NOBODYS (1 << 30)

/* Links of the service's own, and one message of somebody else's. */
typedef struct {
    const RhPlatform *platform;
    RhTransfers *transfers;
    double t_there_s;
} Links;

static double no_latency(void *self, int32_t src, int32_t dst)
{
    return rh_platform_route_latency_s(((Links *)self)->platform, src, dst);
}

static bool start(void *self, double t_s, int32_t src, int32_t dst, double bytes, int32_t who,
                  GError **error)
{
    (void)error;
    rh_transfers_start(((Links *)self)->transfers, t_s, src, dst, bytes, who);
    return true;
}

static bool run(void *self, double until_s, RhKvTransfer *carried, GError **error)
{
    (void)error;
    Links *l = self;
    *carried = (RhKvTransfer){.who = -1, .t_s = until_s};
    while (rh_transfers_count(l->transfers) > 0 && rh_transfers_next_s(l->transfers) <= until_s) {
        carried->t_s = rh_transfers_next_s(l->transfers);
        carried->who = rh_transfers_end(l->transfers);
        if (carried->who != NOBODYS)
            return true;
        l->t_there_s = carried->t_s;
        carried->who = -1;
    }
    return true;
}

/* Part by part, with a message of so many bytes from GPU 0 to `to` that leaves with the first request. */
static RhServiceResult *beside(const Setting *s, const RhRequests *requests, int32_t to,
                               double bytes, double *t_there_s)
{
    Links links = {s->platform, rh_transfers_new(s->platform), 0};
    RhKvTransport carrier = {
        .latency_s = no_latency, .start = start, .run = run, .shared = true, .self = &links};
    RhClient client = {.carrier = &carrier};
    if (bytes > 0)
        rh_transfers_start(links.transfers, 0, 0, to, bytes, NOBODYS);
    RhServiceResult *result = serve(s, requests, &client);
    if (t_there_s)
        *t_there_s = links.t_there_s;
    rh_transfers_free(links.transfers);
    return result;
}

static const struct {
    const char *model, *platform, *deployment;
} servers[] = {{"llama-3.1-8b", "h100-sxm:1x4,ib:400Gb/s", "tp2"},
               {"llama-3.1-8b", "h100-sxm:2x4,nvlink:450GB/s,ib:100Gb/s", "tp8"},
               {"llama-3.1-8b", "h100-sxm:1x4,ib:100Gb/s", "tp1,pp2"},
               {"mixtral-8x7b", "h100-sxm:2x2,nvlink:450GB/s,ib:400Gb/s", "tp1,dp4,ep4"},
               {"qwen3-30b-a3b", "h100-sxm:4x4,nvlink:450GB/s,ib:400Gb/s", "tp1,dp16,ep16"}};

static void parts_are_the_whole(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(servers); i++) {
        Setting s = setting_of(servers[i].model, servers[i].platform, servers[i].deployment);
        g_autoptr(RhRequests) requests = drawn(60, 20, 1024, 40);
        RhClient client = {0};
        g_autoptr(RhServiceResult) whole = serve(&s, requests, &client);
        g_autoptr(RhServiceResult) parts = beside(&s, requests, 1, 0, NULL);
        CU_ASSERT_TRUE(parts->iterations_stepped > 2 * whole->iterations_stepped || i > 0);
        for (guint k = 0; k < whole->served->len; k++) {
            RH_CHECK_CLOSE(at(parts, k)->t_first_s, at(whole, k)->t_first_s, 1e-6);
            RH_CHECK_CLOSE(at(parts, k)->t_end_s, at(whole, k)->t_end_s, 1e-6);
        }
        close_setting(&s);
    }
}

/* One request of so many tokens. */
static RhRequests *one(int32_t input, int32_t output)
{
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                           .count = 1,
                           .input = {input, input},
                           .output = {output, output}};
    return rh_requests_draw(&plan);
}

/* A message that never ends has half of the link while a sum is there: iterations last their flows' time longer. */
static void sums_have_half_of_a_link(void)
{
    Setting s = setting_of("llama-3.1-8b", "h100-sxm:1x4,ib:100Gb/s", "tp2");
    g_autoptr(RhRequests) requests = one(2048, 9);
    RhClient client = {0};
    g_autoptr(RhServiceResult) alone = serve(&s, requests, &client);
    g_autoptr(RhServiceResult) shared = beside(&s, requests, 2, 1e15, NULL);
    double read_s = wire_s(&s, 1, 2048), made_s = wire_s(&s, 1, 1);
    CU_ASSERT_TRUE(read_s > 0.02 && made_s > 1e-5);
    RH_CHECK_CLOSE(at(shared, 0)->t_first_s, at(alone, 0)->t_first_s + read_s, 1e-6);
    RH_CHECK_CLOSE(at(shared, 0)->t_end_s, at(alone, 0)->t_end_s + read_s + 8 * made_s, 1e-6);
    CU_ASSERT_EQUAL(alone->tokens_out, shared->tokens_out);
    close_setting(&s);
}

/* A message is delayed by the bytes of the sums that it meets, and no more: links are never idle
 * while it is there. */
static void a_message_waits_for_the_bytes_it_meets(void)
{
    Setting s = setting_of("llama-3.1-8b", "h100-sxm:1x4,ib:100Gb/s", "tp2");
    g_autoptr(RhRequests) requests = one(2048, 2);
    double link = s.platform->nic_bytes_per_s.value * s.platform->nic_efficiency_frac.value;
    double t_there_s, bytes = 2 * link;
    g_autoptr(RhServiceResult) shared = beside(&s, requests, 2, bytes, &t_there_s);
    CU_ASSERT_EQUAL_FATAL(shared->served->len, 1);
    g_autoptr(RhServiceResult) long_one = beside(&s, requests, 2, 1e15, NULL);
    double both_s = wire_s(&s, 1, 2048) + wire_s(&s, 1, 1);
    CU_ASSERT_TRUE(at(long_one, 0)->t_end_s < 1.9);
    /* it ends behind the service: what is left then it has to itself */
    double left_s = bytes / link + both_s;
    CU_ASSERT_TRUE(t_there_s <= 0 || fabs(t_there_s - left_s) < 1e-6);
    close_setting(&s);
}

/* A server's ranks on one node have nothing on these links, and those on links apart change nothing. */
static void links_apart_change_nothing(void)
{
    Setting s = setting_of("llama-3.1-8b", "h100-sxm:1x4,ib:100Gb/s", "tp2");
    g_autoptr(RhRequests) requests = one(2048, 9);
    RhClient client = {0};
    g_autoptr(RhServiceResult) alone = serve(&s, requests, &client);
    Links links = {s.platform, rh_transfers_new(s.platform), 0};
    RhKvTransport carrier = {
        .latency_s = no_latency, .start = start, .run = run, .shared = true, .self = &links};
    client.carrier = &carrier;
    rh_transfers_start(links.transfers, 0, 2, 3, 1e15, NOBODYS);
    g_autoptr(RhServiceResult) apart = serve(&s, requests, &client);
    RH_CHECK_CLOSE(at(apart, 0)->t_end_s, at(alone, 0)->t_end_s, 1e-6);
    rh_transfers_free(links.transfers);
    close_setting(&s);
    Setting inside = setting_of("llama-3.1-8b", "h100-sxm:2x2,nvlink:450GB/s,ib:100Gb/s", "tp2");
    g_autoptr(RhIterations) it =
        rh_iterations_new(&inside.serving, &inside.deployment.pools[0], NULL);
    CU_ASSERT_PTR_NULL(rh_replica_traffic_new(it, 0));
    close_setting(&inside);
}

/* Stages of two servers hand on to GPUs of another rail, by way of one pair of switches: they meet where these carry
 * less than the NICs below send, and then only. */
static void who_shares_ample_links_does_not_meet(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:4", "tp4,pp4,replicas=2");
    for (int half = 0; half < 2; half++) {
        if (half)
            s.platform->tiers[0].oversubscription.value = 2;
        g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
        g_autoptr(RhReplicaTraffic) first = rh_replica_traffic_new(it, 0),
                                    second = rh_replica_traffic_new(it, 16);
        CU_ASSERT_PTR_NOT_NULL_FATAL(first);
        CU_ASSERT_PTR_NOT_NULL_FATAL(second);
        CU_ASSERT_EQUAL(rh_replica_traffic_meet(first, second), half);
        CU_ASSERT_TRUE(rh_replica_traffic_meet(first, first));
    }
    close_setting(&s);
}

int main(void)
{
    static const RhTest tests[] = {
        {"parts are the whole", parts_are_the_whole},
        {"sums have half of a link", sums_have_half_of_a_link},
        {"a message waits for the bytes that it meets", a_message_waits_for_the_bytes_it_meets},
        {"links apart change nothing", links_apart_change_nothing},
        {"who shares ample links does not meet", who_shares_ample_links_does_not_meet},
        {0}};
    return rh_test_main("replica_traffic", tests);
}

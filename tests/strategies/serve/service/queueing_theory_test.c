/* Services of one sequence at a time beside results of queueing theory. A request arrives by itself, its prompt has 512
 * tokens, and its answer decides how long it takes. */
#include <math.h>

#include "tests/kit/serve_kit.h"

#define PROMPT 512
#define SHORT  1
#define LONG   40

/* Returns the seconds that a server is busy with a request of so many tokens. */
static double service_s(const Setting *s, int32_t output)
{
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                           .count = 2,
                           .input = {PROMPT, PROMPT},
                           .output = {output, output},
                           .seed = 1};
    g_autoptr(RhRequests) two = rh_requests_draw(&plan);
    g_autoptr(RhServiceResult) pair = serve(s, two, &(RhClient){0});
    return at(pair, 1)->t_end_s - at(pair, 0)->t_end_s;
}

/* Returns the seconds between a request's being there and its server's beginning with it. */
static double wait_s(const Setting *s, const RhServiceResult *r, guint i)
{
    return at(r, i)->t_admit_s - at(r, i)->t_arrive_s - s->serving.server->admit_s.value;
}

/* One at a time, prompts of one length and one token each: a queue M/D/1, whose mean wait is
 * rho / (2 (1 - rho)) of the time a request takes (Pollaczek 1930, Khinchine 1932).
 * Source: Pollaczek 1930, Khinchine 1932. */
static void a_queue_is_a_queue(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "server=static,tp1,batch=1");
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                           .count = 2,
                           .input = {2048, 2048},
                           .output = {1, 1},
                           .seed = 1};
    g_autoptr(RhRequests) two = rh_requests_draw(&plan);
    g_autoptr(RhServiceResult) pair = serve(&s, two, &(RhClient){0});
    double each_s = at(pair, 1)->t_end_s - at(pair, 0)->t_end_s;
    static const double loads[] = {0.3, 0.6, 0.8};
    for (size_t i = 0; i < RH_TRIES(G_N_ELEMENTS(loads), 1); i++) {
        double rho = loads[i], wait_s = 0;
        plan.arrival = RH_ARRIVAL_POISSON;
        plan.rate_per_s = rho / each_s;
        plan.count = 200000;
        g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        double admit_s = s.serving.server->admit_s.value;
        for (guint k = 0; k < r->served->len; k++)
            wait_s += at(r, k)->t_admit_s - at(r, k)->t_arrive_s - admit_s;
        double theory = rho / (2 * (1 - rho));
        CU_ASSERT_DOUBLE_EQUAL(wait_s / r->served->len / each_s, theory, 0.03 * theory + 0.005);
    }
    close_setting(&s);
}

typedef struct {
    Setting s;
    double short_s, long_s; /* of service */
    double mean_s, rate_per_s, rho;
    RhRequests *requests;
    RhServiceResult *result;
} Queue;

/* A queue of `count` requests at a load of rho, of which a share has long answers. */
static Queue queue_of(RhArrival arrival, double burstiness, double rho, double long_frac,
                      int32_t count, double first_frac)
{
    Queue q = {.s = setting_of("llama-3.1-8b", "dgx-h100:1", "server=static,tp1,batch=1"),
               .rho = rho};
    q.short_s = service_s(&q.s, SHORT);
    q.long_s = service_s(&q.s, LONG);
    q.mean_s = (1 - long_frac) * q.short_s + long_frac * q.long_s;
    q.rate_per_s = rho / q.mean_s;
    RhRequestsPlan plan = {.arrival = arrival,
                           .rate_per_s = q.rate_per_s,
                           .burstiness = burstiness,
                           .count = count,
                           .input = {PROMPT, PROMPT},
                           .output = {SHORT, SHORT},
                           .seed = 11};
    q.requests = rh_requests_draw(&plan);
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    for (guint i = 0; i < q.requests->list->len; i++) {
        RhRequest *r = &g_array_index(q.requests->list, RhRequest, i);
        r->output_tokens = g_rand_double(random) < long_frac ? LONG : SHORT;
        r->priority = g_rand_double(random) < first_frac;
    }
    q.result = serve(&q.s, q.requests, &(RhClient){0});
    return q;
}

static void queue_clear(Queue *q)
{
    rh_service_result_free(q->result);
    rh_requests_free(q->requests);
    close_setting(&q->s);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Queue, queue_clear)

/* Mean of a power of a service time, of which a share is long. */
static double moment(const Queue *q, double long_frac, int power)
{
    return (1 - long_frac) * pow(q->short_s, power) + long_frac * pow(q->long_s, power);
}

static double mean_wait_s(const Queue *q, int power)
{
    double sum = 0;
    for (guint i = 0; i < q->result->served->len; i++)
        sum += pow(wait_s(&q->s, q->result, i), power);
    return sum / q->result->served->len;
}

#define COUNT RH_TRIES(200000, 20000)
#define NEAR  RH_TRIES(0.04, 0.15)

/* The mean wait of an M/G/1 is lambda E[S^2] / (2 (1 - rho)).
 * Source: Pollaczek 1930, Khinchine 1932. */
static void unequal_answers_wait_as_pollaczek_says(void)
{
    static const double loads[] = {0.4, 0.7};
    for (size_t i = 0; i < G_N_ELEMENTS(loads); i++) {
        g_auto(Queue) q = queue_of(RH_ARRIVAL_POISSON, 1, loads[i], 0.2, COUNT, 0);
        RH_CHECK_CLOSE(mean_wait_s(&q, 1), q.rate_per_s * moment(&q, 0.2, 2) / (2 * (1 - q.rho)),
                       NEAR);
    }
}

/* The mean square of a wait is twice the square of its mean and lambda E[S^3] / (3 (1 - rho)).
 * Source: Takacs 1962, equation of the moments of waiting in M/G/1. */
static void waits_vary_as_takacs_says(void)
{
    g_auto(Queue) q = queue_of(RH_ARRIVAL_POISSON, 1, 0.6, 0.2, COUNT, 0);
    double first_s = q.rate_per_s * moment(&q, 0.2, 2) / (2 * (1 - q.rho));
    double second = 2 * first_s * first_s + q.rate_per_s * moment(&q, 0.2, 3) / (3 * (1 - q.rho));
    RH_CHECK_CLOSE(mean_wait_s(&q, 2), second, 2 * NEAR);
}

/* Share of waits up to x services of D in an M/D/1: (1 - rho) sum of (-rho (x - k))^k / k! exp(rho (x - k)) over
 * k up to x. */
static double erlang_cdf(double rho, double x)
{
    double sum = 0, factorial = 1;
    for (int k = 0; k <= (int)x; k++) {
        factorial *= k > 0 ? k : 1;
        sum += pow(-rho * (x - k), k) / factorial * exp(rho * (x - k));
    }
    return (1 - rho) * sum;
}

/* Waits of equal services are distributed as the first of all queues was found to be.
 * Source: Erlang 1909, waits in M/D/1. */
static void waits_are_distributed_as_erlang_says(void)
{
    g_auto(Queue) q = queue_of(RH_ARRIVAL_POISSON, 1, 0.7, 0, COUNT, 0);
    static const double bounds[] = {0.25, 0.5, 1, 1.5, 2, 3, 4.5};
    for (size_t i = 0; i < G_N_ELEMENTS(bounds); i++) {
        int32_t within = 0;
        for (guint k = 0; k < q.result->served->len; k++)
            within += wait_s(&q.s, q.result, k) <= bounds[i] * q.short_s;
        CU_ASSERT_DOUBLE_EQUAL((double)within / q.result->served->len, erlang_cdf(0.7, bounds[i]),
                               RH_TRIES(0.006, 0.03));
    }
}

/* A random arrival finds the server busy with probability rho, whatever answers are like. Source:
 * Wolff 1982, "Poisson arrivals see time averages". */
static void arrivals_see_a_busy_server_as_often_as_it_is_busy(void)
{
    static const double long_fracs[] = {0, 0.2};
    for (size_t i = 0; i < G_N_ELEMENTS(long_fracs); i++) {
        g_auto(Queue) q = queue_of(RH_ARRIVAL_POISSON, 1, 0.5, long_fracs[i], COUNT, 0);
        int32_t waited = 0;
        for (guint k = 0; k < q.result->served->len; k++)
            waited += wait_s(&q.s, q.result, k) > 1e-9;
        CU_ASSERT_DOUBLE_EQUAL((double)waited / q.result->served->len, 0.5, RH_TRIES(0.006, 0.03));
    }
}

/* Requests of two non-preemptive priorities wait W0 / (1 - rho1) and W0 / ((1 - rho1) (1 - rho)),
 * where W0 = lambda E[S^2] / 2. Source: Cobham 1954, priority assignment in waiting lines. */
static void priorities_wait_as_cobham_says(void)
{
    g_auto(Queue) q = queue_of(RH_ARRIVAL_POISSON, 1, 0.7, 0.2, COUNT, 0.3);
    double sum_s[2] = {0};
    int32_t of[2] = {0};
    for (guint k = 0; k < q.result->served->len; k++) {
        int32_t first = g_array_index(q.requests->list, RhRequest, k).priority;
        sum_s[first] += wait_s(&q.s, q.result, k);
        of[first]++;
    }
    double residual_s = q.rate_per_s * moment(&q, 0.2, 2) / 2, first_rho = 0.3 * q.rho;
    RH_CHECK_CLOSE(sum_s[1] / of[1], residual_s / (1 - first_rho), NEAR);
    RH_CHECK_CLOSE(sum_s[0] / of[0], residual_s / ((1 - first_rho) * (1 - q.rho)), NEAR);
}

/* The mean wait behind any independent arrivals is at most lambda (Va + Vs) / (2 (1 - rho)), variances of gaps and
 * services, and near it where the load is high.
 * Source: Kingman 1962, some inequalities for the queue GI/G/1. */
static void bursts_wait_no_longer_than_kingman_says(void)
{
    static const double loads[] = {0.5, 0.9};
    for (size_t i = 0; i < G_N_ELEMENTS(loads); i++) {
        g_auto(Queue) q = queue_of(RH_ARRIVAL_GAMMA, 0.5, loads[i], 0.2, 2 * COUNT, 0);
        double gaps =
            2 / (q.rate_per_s * q.rate_per_s); /* a gap's variance is 1 / shape of its square */
        double services = moment(&q, 0.2, 2) - q.mean_s * q.mean_s;
        double bound_s = q.rate_per_s * (gaps + services) / (2 * (1 - q.rho));
        CU_ASSERT_TRUE(mean_wait_s(&q, 1) < bound_s * (1 + NEAR));
        if (loads[i] > 0.8)
            CU_ASSERT_TRUE(mean_wait_s(&q, 1) > RH_TRIES(0.85, 0.6) * bound_s);
    }
}

/* Clients that think Z seconds are answered in N / X - Z, and X is no more than 1 / D and than N / (D + Z).
 * Source: Denning and Buzen 1978, interactive response time formula and asymptotic bounds. */
static void clients_are_answered_as_operational_laws_say(void)
{
    const double think_s = 0.5;
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "server=static,tp1,batch=1");
    double each_s = service_s(&s, LONG);
    for (int32_t clients = 1; clients <= 16; clients *= 4) {
        RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                               .count = 200 * clients,
                               .input = {PROMPT, PROMPT},
                               .output = {LONG, LONG},
                               .seed = 1};
        g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
        g_autoptr(RhServiceResult) r =
            serve(&s, requests, &(RhClient){.at_once = clients, .turnaround_s = think_s});
        double response_s = 0, last_s = 0;
        for (guint k = 0; k < r->served->len; k++) {
            response_s += (at(r, k)->t_end_s - at(r, k)->t_arrive_s) / r->served->len;
            last_s = fmax(last_s, at(r, k)->t_end_s);
        }
        double per_s = r->served->len / last_s;
        RH_CHECK_CLOSE(response_s, clients / per_s - think_s, 0.02);
        CU_ASSERT_TRUE(per_s <= 1 / each_s * 1.001);
        CU_ASSERT_TRUE(per_s <= clients / (each_s + think_s) * 1.01);
        CU_ASSERT_TRUE(per_s > 0.9 * fmin(1 / each_s, clients / (each_s + think_s)));
    }
    close_setting(&s);
}

/* Requests under way are Poisson with a mean of lambda T where some server is always free. Source:
 * Palm 1938, occupancy of M/G/infinity. */
static void requests_under_way_are_poisson(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:8",
                           "server=static,tp1,batch=1,replicas=64,router=least");
    const double mean = 6;
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                           .count = 1,
                           .input = {PROMPT, PROMPT},
                           .output = {LONG, LONG},
                           .seed = 5};
    g_autoptr(RhRequests) one = rh_requests_draw(&plan);
    g_autoptr(RhServiceResult) alone = serve(&s, one, &(RhClient){0});
    double each_s = at(alone, 0)->t_end_s - at(alone, 0)->t_arrive_s;
    plan.arrival = RH_ARRIVAL_POISSON;
    plan.rate_per_s = mean / each_s;
    plan.count = COUNT / 4;
    g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    double shares[64] = {0}, expected = exp(-mean);
    for (guint i = 64; i < r->served->len; i++) {
        int32_t under_way = 0;
        RH_CHECK_CLOSE(at(r, i)->t_end_s - at(r, i)->t_arrive_s, each_s, 1e-6); /* none waits */
        for (guint k = i - 63; k < i; k++)
            under_way += at(r, k)->t_end_s > at(r, i)->t_arrive_s;
        shares[under_way] += 1.0 / (r->served->len - 64);
    }
    for (int k = 0; k < 16; k++) {
        CU_ASSERT_DOUBLE_EQUAL(shares[k], expected, RH_TRIES(0.008, 0.04));
        expected *= mean / (k + 1);
    }
    close_setting(&s);
}

int main(void)
{
    static const RhTest tests[] = {
        {"a_queue_is_a_queue", a_queue_is_a_queue},
        {"unequal_answers_wait_as_pollaczek_says", unequal_answers_wait_as_pollaczek_says},
        {"waits_vary_as_takacs_says", waits_vary_as_takacs_says},
        {"waits_are_distributed_as_erlang_says", waits_are_distributed_as_erlang_says},
        {"arrivals_see_a_busy_server_as_often_as_it_is_busy",
         arrivals_see_a_busy_server_as_often_as_it_is_busy},
        {"priorities_wait_as_cobham_says", priorities_wait_as_cobham_says},
        {"bursts_wait_no_longer_than_kingman_says", bursts_wait_no_longer_than_kingman_says},
        {"clients_are_answered_as_operational_laws_say",
         clients_are_answered_as_operational_laws_say},
        {"requests_under_way_are_poisson", requests_under_way_are_poisson},
        {0},
    };
    return rh_test_main("queueing_theory", tests);
}

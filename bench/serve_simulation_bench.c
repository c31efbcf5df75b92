/* How fast a service is played: scheduler iterations per second on one core, runs of them told by their
 * closed form or each performed; and how long the whole question takes, the highest rate of any deployment, on all
 * cores. serve_simulation_bench [TRACE]: a trace of requests; without one as many are drawn as
 * Azure's conversation trace of 2023 has, of like lengths and rate. */
#include "bench/bench_job.h"
#include "strategies/search/services/serve_plan.h"
#include "strategies/serve/service/service.h"

/* 19,366 requests in 3,501 s, 1,155 tokens in and 211 out in the mean (AzurePublicDataset b469a11). */
static RhRequests *requests_of(const char *trace)
{
    GError *error = NULL;
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_POISSON,
                           .rate_per_s = 19366 / 3501.0,
                           .count = 19366,
                           .input = {10, 2300},
                           .output = {10, 412},
                           .seed = 1};
    RhRequests *requests = trace ? rh_requests_load(trace, false, &error) : rh_requests_draw(&plan);
    g_assert_no_error(error);
    return requests;
}

static double rate_of(const RhServing *serving, const char *deployment, const RhRequests *requests,
                      bool each, int64_t *iterations)
{
    GError *error = NULL;
    RhDeployment d = rh_deployment_default();
    bool read = rh_deployment_parse(deployment, &d, &error);
    g_assert_no_error(error);
    g_assert(read);
    double start = bench_cpu_s(); /* tables and all */
    g_autoptr(RhService) service = rh_service_new(serving, &d, &error);
    g_assert_no_error(error);
    g_autoptr(RhServiceResult) r =
        rh_service_run(service, requests, &(RhClient){.each_iteration = each}, &error);
    g_assert_no_error(error);
    *iterations = r->iterations_stepped + r->iterations_skipped;
    return (double)*iterations / (bench_cpu_s() - start);
}

/* serve-plan --find-rate of Llama 3.1 70B on 32 H100s, of as many requests as the command draws. */
static void plan_rate(void)
{
    GError *error = NULL;
    RhRequestsPlan drawn = {.arrival = RH_ARRIVAL_POISSON,
                            .rate_per_s = 1,
                            .count = 40000,
                            .input = {820, 1024},
                            .output = {205, 256},
                            .seed = 1};
    RhServePlanOptions options = {.gpus = 32, .mode = RH_SERVE_COLOCATED, .drawn = &drawn};
    g_autoptr(RhModel) model = rh_model_load("llama-3.1-70b", NULL);
    g_autoptr(RhPlatform) platform = rh_platform_load("dgx-h100:4", NULL);
    g_autoptr(RhRequests) requests = rh_requests_draw(&drawn);
    RhServing serving = {model, &rh_recipe_bf16, platform, rh_server_by_name("vllm", NULL), NULL};
    bool read = rh_slos_parse(&options.slos, RH_METRIC_TTFT, "p99<2s", &error) &&
                rh_slos_parse(&options.slos, RH_METRIC_TPOT, "p99<40ms", &error);
    g_assert_no_error(error);
    g_assert(read);
    gint64 start_us = g_get_monotonic_time();
    g_autoptr(RhServePlan) plan = rh_serve_plan(&serving, "vllm", requests, &options, &error);
    g_assert_no_error(error);
    bench_line("serve-plan, the highest rate: deployments", (double)plan->legal_count, "",
               ">= 200");
    bench_line("  runs", (double)plan->runs_count, "", "");
    bench_line("  wall clock", (double)(g_get_monotonic_time() - start_us) / 1e6, "s", "<= 60");
}

int main(int argc, char **argv)
{
    static const char *const deployments[] = {"tp4", "tp4,replicas=2", "tp4,replicas=8"};
    g_autoptr(RhRequests) requests = requests_of(argc > 1 ? argv[1] : NULL);
    g_autoptr(RhModel) model = rh_model_load("llama-2-70b", NULL);
    g_autoptr(RhPlatform) platform = rh_platform_load("dgx-h100:8", NULL);
    RhServing serving = {model, &rh_recipe_bf16, platform, rh_server_by_name("vllm", NULL), NULL};
    for (size_t i = 0; i < G_N_ELEMENTS(deployments); i++) {
        int64_t iterations;
        double runs = rate_of(&serving, deployments[i], requests, false, &iterations);
        double each = rate_of(&serving, deployments[i], requests, true, &iterations);
        printf("%s: %" G_GINT64_FORMAT " iterations\n", deployments[i], iterations);
        bench_line("  iterations, runs by their closed form", runs, "1/s", ">= 1e+06");
        bench_line("  iterations, each performed", each, "1/s", "");
        bench_line("  ratio", runs / each, "", "");
    }
    plan_rate();
    return 0;
}

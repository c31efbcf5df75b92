/* Serves: what do 200 requests to Llama-3.1-8B on one H100 live through, four of them a second?
 *
 *     cc serve.c $(pkg-config --cflags --libs rehearse) -o serve && ./serve */
#include <gsl/gsl_errno.h>
#include <rehearse.h>
#include <stdio.h>

int main(void)
{
    GError *error = NULL;
    gsl_set_error_handler_off();
    g_autoptr(RhModel) model = rh_model_load("llama-3.1-8b", &error);
    g_autoptr(RhPlatform) bought = model ? rh_platform_load("dgx-h100:1", &error) : NULL;
    RhDeployment deployment = rh_deployment_default();
    bool fine = bought && rh_deployment_parse("server=vllm,tp1", &deployment, &error);
    const RhServer *server = fine ? rh_server_by_name(deployment.server, &error) : NULL;
    g_autoptr(RhPlatform) platform = server ? rh_server_hardware(server, bought, &error) : NULL;
    RhServing serving = {model, &rh_recipe_bf16, platform, server, NULL};
    g_autoptr(RhService) service = platform ? rh_service_new(&serving, &deployment, &error) : NULL;
    RhRequestsPlan traffic = {.arrival = RH_ARRIVAL_POISSON,
                              .rate_per_s = 4,
                              .count = 200,
                              .input = {512, 1536},
                              .output = {128, 384},
                              .seed = 1};
    g_autoptr(RhRequests) requests = rh_requests_draw(&traffic);
    RhClient client = {0}; /* waits for nobody, and gives up never */
    g_autoptr(RhServiceResult) result =
        service ? rh_service_run(service, requests, &client, &error) : NULL;
    if (!result) {
        fprintf(stderr, "error: %s\n", error->message);
        return 1;
    }
    RhServiceMetrics metrics = rh_service_metrics(result, NULL);
    printf("%.0f tokens/s, %d of %d done\n", metrics.tokens_per_s, (int)metrics.completed_count,
           (int)metrics.requests_count);
    return 0;
}

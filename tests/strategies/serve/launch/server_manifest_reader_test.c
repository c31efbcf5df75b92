/* Replicas that manifests say are servers of the deployment. */
#include <string.h>

#include "base/error.h"
#include "strategies/serve/launch/deployment_from_commands.h"
#include "tests/kit/testkit.h"

#define CONTAINER                                                                                  \
    "{image: \"vllm/vllm-openai:v0.10.1\", args: [\"--model\", \"meta-llama/Llama-3.1-8B\", "      \
    "\"--tensor-parallel-size\", \"2\"]}"

static const struct {
    const char *text;
    int32_t replicas; /* 0: refused */
} manifests[] = {
    {"kind: Deployment\nspec: {replicas: 3, template: {spec: {containers: [" CONTAINER "]}}}\n", 3},
    {"kind: Deployment\nspec: {template: {spec: {containers: [" CONTAINER "]}}}\n", 1},
    {"kind: Deployment\nspec: {replicas: 0, template: {spec: {containers: [" CONTAINER "]}}}\n", 0},
    {"kind: LeaderWorkerSet\nspec: {replicas: 2, leaderWorkerTemplate: {leaderTemplate: {spec: "
     "{containers: [" CONTAINER "]}}}}\n",
     2},
    {"services:\n  llm: {image: \"vllm/vllm-openai:v0.10.1\", command: \"--model "
     "meta-llama/Llama-3.1-8B\", deploy: {replicas: 4}}\n  web: {image: nginx, command: nginx, "
     "deploy: {replicas: 0}}\n",
     4},
    {"services:\n  llm: {image: \"vllm/vllm-openai:v0.10.1\", command: \"--model "
     "meta-llama/Llama-3.1-8B\", scale: 5}\n",
     5},
};

static void replicas_are_servers(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(manifests); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhLaunchedDeployment) l =
            rh_launched_deployment_parse("manifest.yaml", manifests[i].text, &error);
        CU_ASSERT_EQUAL(l != NULL, manifests[i].replicas > 0);
        CU_ASSERT_EQUAL(l ? l->deployment.pools[0].replicas : 0, manifests[i].replicas);
        CU_ASSERT_TRUE(l || strstr(error->message, "manifest.yaml:2:18"));
    }
}

int main(void)
{
    return rh_test_main("server manifest",
                        (RhTest[]){{"replicas are servers", replicas_are_servers}, {0}});
}

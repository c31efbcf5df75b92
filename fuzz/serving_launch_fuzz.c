/* rh_launched_deployment_parse: whatever a file holds, its deployment is one that can be typed. */
#include <string.h>

#include "fuzz/fuzzkit.h"
#include "strategies/serve/launch/deployment_from_commands.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"serve.sh", "serve.yaml"};
    g_autofree char *text = g_strndup((const char *)data, size);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhLaunchedDeployment) l = rh_launched_deployment_parse(names[i], text, &error);
        if (!l) {
            fuzz_check_error(&error);
            continue;
        }
        RhDeployment again = rh_deployment_default();
        g_autofree char *first = rh_deployment_format(&l->deployment);
        FUZZ_CHECK(rh_deployment_parse(first, &again, &error));
        g_autofree char *second = rh_deployment_format(&again);
        FUZZ_CHECK(strcmp(first, second) == 0);
    }
    return 0;
}

#include "cli/serve/launched_service.h"

#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/text_input.h"
#include "cli/output/terminal.h"
#include "strategies/serve/launch/server_commands_from_files.h"
#include "workloads/config/hf_hub.h"

/* The name by which a model is loaded: as it is, or the end of a path that is not here, where that
 * is a name on the hub ("/models/Qwen/Qwen3-32B"). Interned. */
static const char *model_name(const char *said)
{
    const char *last = strrchr(said, '/'), *id = last;
    while (id && id > said && id[-1] != '/')
        id--;
    bool is_hub = id && rh_hub_is_id(id) && rh_hub_model(id);
    return rh_intern(*said == '/' && is_hub && !g_file_test(said, G_FILE_TEST_EXISTS) ? id : said);
}

bool rh_launched_service_read(const RhArguments *a, RhArguments *words,
                              RhLaunchedDeployment **launch, GError **error)
{
    *words = *a;
    *launch = NULL;
    if (!a->from)
        return true;
    g_autoptr(RhLaunchedDeployment) l = rh_launched_deployment_load(a->from, error);
    if (!l || (a->strategy && !rh_deployment_parse(a->strategy, &l->deployment, error)))
        return false;
    if (!a->workload && !l->model)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "%s does not say which model it serves\nhelp: -w meta-llama/Llama-3.1-8B, or a "
            "config.json",
            a->from);
    if (!a->workload)
        words->workload = model_name(l->model);
    if (l->recipe && !rh_arguments_given(a, "--dtype"))
        words->dtype = l->recipe;
    *launch = g_steal_pointer(&l);
    return true;
}

void rh_launched_service_settle(RhLaunchedDeployment *l, const RhInputs *in)
{
    rh_launched_deployment_settle(l, in->model, in->hardware->device);
    for (guint i = 0; i < l->notes->len; i++) {
        g_autofree char *line = g_strconcat("note: ", l->notes->pdata[i], NULL);
        rh_terminal_hint(line);
    }
}

bool rh_launched_service_is(const char *path)
{
    g_autoptr(GPtrArray) commands =
        g_file_test(path, G_FILE_TEST_IS_REGULAR) ? rh_server_commands_load(path, NULL) : NULL;
    return commands != NULL;
}

bool rh_launched_service_check(const char *path, GString *notes, GError **error)
{
    g_autoptr(RhLaunchedDeployment) l = rh_launched_deployment_load(path, error);
    if (!l)
        return false;
    g_autofree char *text = rh_deployment_format(&l->deployment);
    g_autofree char *model = l->model ? rh_text_plain(l->model) : NULL;
    const char *known =
        model && rh_hub_is_id(model_name(model)) ? rh_hub_model(model_name(model)) : NULL;
    g_string_append_printf(notes, "launch of %s: %s%s%s\n", l->engine->project,
                           model ? model : "a model that it does not say", known ? ", " : "",
                           known ? known : "");
    g_string_append_printf(notes, "note: deployment: %s%s%s\n", text, l->recipe ? "; --dtype " : "",
                           l->recipe ? l->recipe : "");
    for (guint i = 0; i < l->notes->len; i++)
        g_string_append_printf(notes, "note: %s\n", (const char *)l->notes->pdata[i]);
    g_string_append_printf(notes,
                           "note: rehearse serve-simulate --from %s%s -p PLATFORM --lengths "
                           "in=1024,out=256 --rate 5/s\n",
                           path, model ? "" : " -w MODEL");
    return true;
}

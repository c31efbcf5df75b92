#include "strategies/serve/launch/server_commands_from_files.h"

#include <string.h>

#include "base/error.h"
#include "base/text/text_input.h"
#include "strategies/serve/launch/server_command_reader.h"

static void free_command(gpointer data)
{
    RhServerCommand *c = data;
    g_free(c->model);
    g_free(c->version);
    g_free(c->config);
    g_free(c->role);
    g_ptr_array_unref(c->settings);
    g_free(c);
}

static bool read_file(RhServerReader *r, const char *text, size_t length, GError **error)
{
    bool yaml = g_str_has_suffix(r->name, ".yaml") || g_str_has_suffix(r->name, ".yml");
    if (yaml)
        return rh_server_read_yaml(r, text, length, error);
    GError *local = NULL;
    bool read =
        !rh_server_holds_command(text) || rh_server_read_script(r, text, length, NULL, &local);
    if (r->commands->len > 0 || !read) {
        if (!read)
            g_propagate_error(error, local);
        return read;
    }
    if (rh_server_read_yaml(r, text, length, NULL) || r->commands->len > 0)
        return true;
    return true;
}

GPtrArray *rh_server_commands_parse(const char *name, const char *text, size_t length,
                                    GError **error)
{
    g_autoptr(GPtrArray) commands = g_ptr_array_new_with_free_func(free_command);
    g_autoptr(GHashTable) files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GHashTable) versions = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    RhServerReader r = {name, commands, files, versions, 0};
    if (!read_file(&r, text, length, error))
        return NULL;
    if (commands->len > 0)
        return g_steal_pointer(&commands);
    rh_fail(
        error, RH_ERROR_INPUT,
        "%s starts no server that is known\n"
        "note: known are the commands vllm serve, python -m vllm.entrypoints.openai.api_server, "
        "python -m sglang.launch_server, sglang serve and trtllm-serve, in a script, in a line of "
        "docker run, in a manifest of Kubernetes or Docker Compose, and an engine's own "
        "configuration file",
        name);
    return NULL;
}

GPtrArray *rh_server_commands_load(const char *path, GError **error)
{
    g_autofree char *text = rh_text_load(path, error);
    return text ? rh_server_commands_parse(path, text, strlen(text), error) : NULL;
}

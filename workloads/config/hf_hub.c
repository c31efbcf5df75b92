#include "workloads/config/hf_hub.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "workloads/model.h"

#define HUB       "https://huggingface.co/"
#define WORD      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define ID_LENGTH 200

bool rh_hub_is_id(const char *text)
{
    size_t owner = strspn(text, WORD), length = strlen(text);
    return text[0] != '.' && owner > 0 && text[owner] == '/' && length > owner + 1 &&
           length < ID_LENGTH && strspn(text + owner + 1, WORD) == length - owner - 1 &&
           !g_str_has_suffix(text, ".json");
}

/* The files are small and read a few times a run, so nothing is cached. */
char *rh_hub_id(const char *name)
{
    g_autofree char *file = g_strconcat(name, ".json", NULL), *text = NULL;
    g_autofree char *path = g_build_filename(rh_data_dir(), "workloads", "data", file, NULL);
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return NULL;
    const char *source = strstr(text, "\"source\": \"" HUB);
    const char *id = source ? strstr(source, HUB) + strlen(HUB) : NULL;
    const char *end = id ? strstr(id, "/blob/") : NULL;
    g_autofree char *found = end ? g_strndup(id, (gsize)(end - id)) : NULL;
    return found && rh_hub_is_id(found) ? g_steal_pointer(&found) : NULL;
}

#include "cli/parse/commands.h"

#include <string.h>

#include "base/error.h"
#include "base/text/nearest_names.h"

static const RhCommand *const none[] = {NULL};
const RhCommand *const *rh_commands = none;

const RhCommand *rh_command_by_name(const char *name)
{
    for (const RhCommand *const *c = rh_commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

bool rh_command_fail_unknown(const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const RhCommand *const *c = rh_commands; *c; c++)
        g_ptr_array_add(names, (void *)(*c)->name);
    g_ptr_array_add(names, NULL);
    const char *near = rh_near_name(name, (const char *const *)names->pdata);
    if (near)
        return rh_fail(error, RH_ERROR_USAGE,
                       "there is no command \"%s\"\nhelp: a command with a similar name exists: %s",
                       name, near);
    return rh_fail(error, RH_ERROR_USAGE,
                   "there is no command \"%s\"\nhelp: `rehearse help` lists the commands", name);
}

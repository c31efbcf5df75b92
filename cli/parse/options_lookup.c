/* Looks options up in the tables of a command. */
#include <string.h>

#include "cli/parse/option_parser.h"

static bool is_name(const char *known, const char *name, size_t length)
{
    return known && strlen(known) == length && strncmp(known, name, length) == 0;
}

const RhOption *rh_options_find(const RhCommand *command, const char *name, size_t length)
{
    for (const RhOption *const *table = command->tables; *table; table++)
        for (const RhOption *o = *table; o->name; o++)
            if (is_name(o->name, name, length) || is_name(o->also, name, length))
                return o;
    return NULL;
}

bool rh_option_has_stand_in(const RhCommand *c, const RhOption *o)
{
    g_auto(GStrv) others = g_strsplit(o->unless ? o->unless : "", "|", -1);
    for (const RhOption *const *table = c->tables; *table; table++)
        for (const RhOption *before = *table; before->name; before++) {
            if (before == o)
                return false;
            if (before->required && g_strv_contains((const char *const *)others, before->name))
                return true;
        }
    return false;
}

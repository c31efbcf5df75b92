#include "cli/parse/hint_to_options.h"

#include <string.h>

#include "cli/parse/commands.h"
#include "strategies/knobs.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_."

static bool is_option_of_plan(const char *name, size_t length)
{
    const RhCommand *plan = rh_command_by_name("plan");
    return plan && rh_options_find(plan, name, length);
}

static bool gives_layout(const RhCommand *command)
{
    return command && rh_options_find(command, "strategy", 8) &&
           !rh_options_find(command, "fix", 3);
}

/* A knob that has one value is fixed, one that has several is limited; an option has its own word, all else is set. */
static void append_typed(GString *out, const RhCommand *command, const char *term, size_t length)
{
    size_t key = strspn(term, LETTERS);
    const char *relation = term + key;
    if (rh_knob_find(term, key) && gives_layout(command))
        g_string_append_printf(out, "%.*s in -s", (int)length, term);
    else if (rh_knob_find(term, key))
        g_string_append_printf(out, *relation == '=' ? "--fix %.*s" : "--limit '%.*s'", (int)length,
                               term);
    else if (*relation == '=' && is_option_of_plan(term, key))
        g_string_append_printf(out, "--%.*s %.*s", (int)key, term, (int)(length - key - 1),
                               relation + 1);
    else
        g_string_append_printf(out, "--set %.*s", (int)length, term);
}

/* How long the term is that begins here; 0: none does. */
static size_t term_length(const char *text)
{
    size_t key = strspn(text, LETTERS), length = strcspn(text, "` \n");
    return key > 0 && strchr("<>=", text[key]) && text[key] && text[length] == '`' ? length : 0;
}

char *rh_hint_options(const char *message, const RhCommand *command)
{
    g_autoptr(GString) out = g_string_new(NULL);
    for (const char *at = message; *at;) {
        size_t length = *at == '`' ? term_length(at + 1) : 0;
        if (length > 0)
            append_typed(out, command, at + 1, length);
        else
            g_string_append_c(out, *at);
        at += length > 0 ? length + 2 : 1;
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

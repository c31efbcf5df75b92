/* The two helps of a command, from its option tables. */
#include <string.h>

#include "cli/parse/options_shared.h"

#define HELP_COLUMN 30

const char rh_help_exit_status[] =
    "0 answer found, 1 the answer is no, 2 wrong command line,\n3 wrong input file, 70 a bug of ours\n";

const char rh_help_inputs[] =
    "WORKLOAD  a Hugging Face config.json, a folder holding one, or a name\n"
    "PLATFORM  a platform file, a name, NAME:NODES, or one line of text like\n"
    "          \"h100-sxm:8x16,nvlink:450GB/s,ib:400Gb/s\" (GPUs per node x nodes)\n"
    "STRATEGY  a layout like tp8,pp16,mb1 (keys left out take defaults), a file\n"
    "          holding one, or plan.json#RANK\n"
    "`rehearse show workloads|platforms|strategies|stacks|recipes` lists the names.\n"
    "Quantities carry units: 400Gb/s, 50GB/s, 6us, 80GiB, 90%.\n";

/* "  -w, --workload FILE|NAME" */
static char *option_head(const RhOption *o)
{
    g_autofree char *letter = o->letter ? g_strdup_printf("-%c, ", o->letter) : g_strdup("    ");
    bool wants_value = o->value != NULL;
    if (!o->name[1]) /* a letter alone: -h */
        return g_strdup_printf("  -%s", o->name);
    return g_strdup_printf("  %s--%s%s%s", letter, o->name, wants_value ? " " : "",
                           wants_value ? o->value : "");
}

/* `words` from column `from`, broken before column 80, further lines indented to `indent`. */
static void append_words(GString *out, char *const *words, int indent, int from)
{
    int column = from;
    for (char *const *word = words; *word; word++) {
        int width = (int)g_utf8_strlen(*word, -1);
        if (column > indent && column + 1 + width > 79) {
            g_string_append_printf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent || word != words) {
            g_string_append_c(out, ' ');
            column++;
        }
        g_string_append(out, *word);
        column += width;
    }
    g_string_append_c(out, '\n');
}

static void append_wrapped(GString *out, const char *text, int indent, int from)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    append_words(out, words, indent, from);
}

/* " (needed)", or what else may stand there. */
static void append_needed(GString *text, const RhCommand *c, const RhOption *o)
{
    g_auto(GStrv) others = g_strsplit(o->unless ? o->unless : "", "|", -1);
    g_string_append(text, " (needed");
    bool first = true;
    for (char **other = others; *other; other++) {
        if (!rh_options_find(c, *other, strlen(*other)))
            continue;
        g_string_append_printf(text, "%s--%s", first ? ", or " : " or ", *other);
        first = false;
    }
    g_string_append_c(text, ')');
}

char *rh_option_text(const RhCommand *c, const RhOption *o)
{
    g_autoptr(GString) text = g_string_new(o->help);
    if (o->choices) {
        g_auto(GStrv) choices = g_strsplit(o->choices, "|", -1);
        g_autofree char *list = g_strjoinv(", ", choices);
        g_string_append_printf(text, ": %s", list);
    }
    if (o->names_told) {
        g_autofree char *list = g_strjoinv(", ", (char **)o->names());
        g_string_append_printf(text, ": %s", list);
    }
    if (o->required)
        append_needed(text, c, o);
    else if (o->otherwise && strcmp(o->otherwise, "0") != 0)
        g_string_append_printf(text, " (%s)", o->otherwise);
    if (o->kind == RH_OPTION_LIST)
        g_string_append(text, "; repeatable");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void append_option(GString *out, const RhCommand *c, const RhOption *o)
{
    g_autofree char *head = option_head(o);
    g_autofree char *text = rh_option_text(c, o);
    g_string_append(out, head);
    int column = (int)strlen(head);
    if (column >= HELP_COLUMN - 1)
        g_string_append_printf(out, "\n%*s", HELP_COLUMN, "");
    else
        g_string_append_printf(out, "%*s", HELP_COLUMN - column, "");
    append_wrapped(out, text, HELP_COLUMN, HELP_COLUMN);
}

/* "usage: rehearse plan -w FILE|NAME [options]"; an option stays on one line with its value. */
static void append_usage(GString *out, const RhCommand *c)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    for (const RhOption *const *table = c->tables; *table; table++)
        for (const RhOption *o = *table; o->name; o++)
            if (o->required && o->letter)
                g_ptr_array_add(words, g_strdup_printf("-%c %s", o->letter, o->value));
            else if (o->required && !rh_option_has_stand_in(c, o))
                g_ptr_array_add(words, g_strdup_printf("--%s %s", o->name, o->value));
    if (*c->operands)
        g_ptr_array_add(words, g_strdup(c->operands));
    g_ptr_array_add(words, g_strdup("[options]"));
    g_ptr_array_add(words, NULL);
    g_autofree char *head = g_strdup_printf("usage: rehearse %s ", c->name);
    g_string_append_printf(out, "rehearse %s - %s\n\n%s", c->name, c->summary, head);
    append_words(out, (char *const *)words->pdata, (int)strlen(head), (int)strlen(head));
}

static void append_options(GString *out, const RhCommand *c)
{
    for (const RhOption *const *table = c->tables; *table; table++) {
        if ((*table)->name && (*table != rh_options_help || table == c->tables))
            g_string_append_c(out, '\n');
        for (const RhOption *o = *table; o->name; o++)
            append_option(out, c, o);
    }
}

char *rh_options_help_short(const RhCommand *command)
{
    GString *out = g_string_new(NULL);
    append_usage(out, command);
    append_options(out, command);
    g_string_append_printf(out, "\n`rehearse %s --help` explains and has examples\n",
                           command->name);
    return g_string_free(out, FALSE);
}

char *rh_command_about(const RhCommand *command)
{
    g_autofree char *rows = command->about_rows ? command->about_rows() : NULL;
    return g_strconcat(command->about, rows, NULL);
}

char *rh_options_help_long(const RhCommand *command)
{
    GString *out = g_string_new(NULL);
    append_usage(out, command);
    g_autofree char *about = rh_command_about(command);
    g_string_append_printf(out, "\n%s", about);
    append_options(out, command);
    if (*command->examples) {
        g_auto(GStrv) lines = g_strsplit(command->examples, "\n", -1);
        g_string_append(out, "\nexamples\n");
        for (char **line = lines; *line; line++)
            if (**line)
                g_string_append_printf(out, "  %s\n", *line);
    }
    g_string_append_printf(out, "\nexit status: %s", rh_help_exit_status);
    return g_string_free(out, FALSE);
}

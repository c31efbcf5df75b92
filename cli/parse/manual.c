#include "cli/parse/manual.h"

#include <string.h>

#include "cli/parse/commands.h"

/* A line of roff whose words are only words. */
static void append_plain(GString *out, const char *text, gsize length)
{
    if (length > 0 && (text[0] == '.' || text[0] == '\''))
        g_string_append(out, "\\&");
    for (gsize i = 0; i < length; i++) {
        if (text[i] == '\\')
            g_string_append(out, "\\e");
        else if (text[i] == '-')
            g_string_append(out, "\\-");
        else
            g_string_append_c(out, text[i]);
    }
}

static void append_word(GString *out, const char *text)
{
    append_plain(out, text, strlen(text));
}

/* Lines as they stand, where they are indented or `verbatim`; else paragraphs that the reader fills. */
static void append_lines(GString *out, const char *text, bool verbatim)
{
    bool open = false;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        bool stands = **line && (verbatim || **line == ' ');
        if (stands != open)
            g_string_append(out, stands ? ".nf\n" : ".fi\n");
        open = stands;
        if (!**line) {
            g_string_append(out, line[1] ? ".PP\n" : "");
            continue;
        }
        append_word(out, *line);
        g_string_append_c(out, '\n');
    }
    if (open)
        g_string_append(out, ".fi\n");
}

static void append_option(GString *out, const RhCommand *c, const RhOption *o)
{
    g_autofree char *text = rh_option_text(c, o);
    g_string_append(out, ".TP\n");
    if (!o->name[1])
        g_string_append_printf(out, "\\fB\\-%s\\fR", o->name);
    else if (o->letter)
        g_string_append_printf(out, "\\fB\\-%c\\fR, ", o->letter);
    if (o->name[1]) {
        g_string_append(out, "\\fB\\-\\-");
        append_word(out, o->name);
        g_string_append(out, "\\fR");
    }
    if (o->value) {
        g_string_append(out, " \\fI");
        append_word(out, o->value);
        g_string_append(out, "\\fR");
    }
    g_string_append_c(out, '\n');
    append_word(out, text);
    g_string_append_c(out, '\n');
}

static void append_table(GString *out, const RhCommand *c, const RhOption *table)
{
    for (const RhOption *o = table; o->name; o++)
        append_option(out, c, o);
}

static void append_command(GString *out, const RhCommand *c)
{
    g_string_append(out, ".SS rehearse ");
    append_word(out, c->name);
    g_string_append(out, *c->operands ? " " : "");
    append_word(out, c->operands);
    g_string_append(out, "\n");
    append_word(out, c->summary);
    g_string_append(out, "\n.PP\n");
    g_autofree char *about = rh_command_about(c);
    append_lines(out, about, false);
    bool shared = false;
    for (const RhOption *const *table = c->tables; *table; table++) {
        if (*table == rh_options_shared)
            shared = true;
        else if (*table != rh_options_help)
            append_table(out, c, *table);
    }
    if (shared)
        g_string_append(out, ".PP\nand the shared options below.\n");
    if (!*c->examples)
        return;
    g_string_append(out, ".PP\n");
    append_lines(out, c->examples, true);
}

char *rh_manual(void)
{
    GString *out = g_string_new(".\\\" Made by `rehearse help --man` from the table of options.\n");
    g_string_append(
        out, ".TH REHEARSE 1 \"\" \"rehearse " RH_VERSION "\" \"User Commands\"\n"
             ".SH NAME\nrehearse \\- try a training job on a cluster before you have the cluster\n"
             ".SH SYNOPSIS\n\\fBrehearse\\fR \\fICOMMAND\\fR \\fB\\-w\\fR \\fIWORKLOAD\\fR "
             "\\fB\\-p\\fR \\fIPLATFORM\\fR [\\fB\\-s\\fR \\fISTRATEGY\\fR] [\\fIoptions\\fR]\n"
             ".SH INPUTS\n");
    append_lines(out, rh_help_inputs, true);
    g_string_append(out, ".SH COMMANDS\n");
    for (const RhCommand *const *c = rh_commands; *c; c++)
        append_command(out, *c);
    g_string_append(out, ".SH SHARED OPTIONS\n");
    append_table(out, rh_commands[0], rh_options_shared); /* alike in all */
    append_table(out, rh_commands[0], rh_options_help);
    g_string_append(out, ".SH EXIT STATUS\n");
    append_lines(out, rh_help_exit_status, true);
    g_string_append(
        out,
        ".SH ENVIRONMENT\n.TP\n\\fBREHEARSE_DATA\\fR\nfolder of the catalogues, where it is not "
        "beside the program\n.TP\n\\fBNO_COLOR\\fR\nno colours, where it is set and not empty and no --color says otherwise\n");
    return g_string_free(out, FALSE);
}

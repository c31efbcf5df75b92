/* rehearse completions bash|zsh|fish: scripts made from the tables of commands and options. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/commands.h"
#include "strategies/knobs.h"

typedef void (*OptionFunc)(const RhCommand *command, const RhOption *option);

static void for_each_option(const RhCommand *command, OptionFunc visit)
{
    for (const RhOption *const *table = command->tables; *table; table++)
        for (const RhOption *o = *table; o->name; o++)
            if (o->name[1]) /* -h needs no completion */
                visit(command, o);
}

static void print_dashed(const RhCommand *command, const RhOption *o)
{
    (void)command;
    printf(" --%s", o->name);
}

/* "tp= pp= ... recompute=none recompute=selective ...": what a value over layout keys may be.
 * Caller frees. */
static char *layout_words(void)
{
    g_autoptr(GString) out = g_string_new(NULL);
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        if (!knob->names)
            g_string_append_printf(out, "%s%s=", out->len ? " " : "", knob->key);
        for (int32_t value = knob->low; knob->names && value <= knob->high; value++)
            g_string_append_printf(out, " %s=%s", knob->key, knob->names[value]);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static void print_bash_layout_option(const RhCommand *command, const RhOption *o)
{
    g_autofree char *words = o->layout_keys ? layout_words() : NULL;
    if (words)
        printf("    %s:--%s) words='%s' ;;\n", command->name, o->name, words);
}

static void print_bash(void)
{
    puts("# bash: eval \"$(rehearse completions bash)\"\n"
         "_rehearse() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
         "    case ${COMP_CWORD}:${COMP_WORDS[1]} in");
    fputs("    1:*) words='", stdout);
    for (const RhCommand *const *c = rh_commands; *c; c++)
        printf("%s%s", c == rh_commands ? "" : " ", (*c)->name);
    puts("' ;;");
    for (const RhCommand *const *c = rh_commands; *c; c++) {
        printf("    *:%s) words='", (*c)->name);
        for_each_option(*c, print_dashed);
        puts("' ;;");
    }
    puts("    esac\n"
         "    case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD - 1]} in");
    for (const RhCommand *const *c = rh_commands; *c; c++)
        for_each_option(*c, print_bash_layout_option);
    puts("    esac\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "    [[ $word == -* || $COMP_CWORD == 1 ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY "
         "< <(compgen -f -- \"$word\")\n"
         "}\n"
         "complete -o filenames -F _rehearse rehearse");
}

/* `text` with every `quote` doubled by the shell's own rule: '\''. */
static char *shell_text(const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "'", -1);
    return g_strjoinv("'\\''", parts);
}

static void print_zsh_option(const RhCommand *command, const RhOption *o)
{
    (void)command;
    g_autofree char *help = shell_text(o->help);
    g_autoptr(GString) plain = g_string_new(help);
    g_string_replace(plain, "[", "(", 0);
    g_string_replace(plain, "]", ")", 0);
    g_string_replace(plain, ":", " -", 0);
    g_autofree char *words = o->layout_keys ? layout_words() : NULL;
    g_autofree char *values = words ? g_strdup_printf("(%s)", words) : g_strdup("_files");
    printf(" \\\n            '--%s%s[%s]%s%s'", o->name, o->value ? "=" : "", plain->str,
           o->value ? ":value:" : "", o->value ? values : "");
}

static void print_zsh(void)
{
    puts("#compdef rehearse\n"
         "# zsh: rehearse completions zsh > ~/.zfunc/_rehearse\n"
         "_rehearse() {\n"
         "    if ((CURRENT == 2)); then\n"
         "        local -a commands=(");
    for (const RhCommand *const *c = rh_commands; *c; c++) {
        g_autofree char *summary = shell_text((*c)->summary);
        printf("            '%s:%s'\n", (*c)->name, summary);
    }
    puts("        )\n"
         "        _describe command commands\n"
         "        return\n"
         "    fi\n"
         "    case $words[2] in");
    for (const RhCommand *const *c = rh_commands; *c; c++) {
        printf("    %s)\n        _arguments '*:file:_files'", (*c)->name);
        for_each_option(*c, print_zsh_option);
        puts(" ;;");
    }
    puts("    esac\n"
         "}\n"
         "_rehearse \"$@\"");
}

static void print_fish_option(const RhCommand *command, const RhOption *o)
{
    g_autofree char *help = shell_text(o->help);
    printf("complete -c rehearse -n '__fish_seen_subcommand_from %s' -l %s", command->name,
           o->name);
    if (o->letter)
        printf(" -s %c", o->letter);
    if (o->value)
        fputs(" -r", stdout);
    g_autofree char *words = o->layout_keys ? layout_words() : NULL;
    if (words)
        printf(" -a '%s'", words);
    printf(" -d '%s'\n", help);
}

static void print_fish(void)
{
    puts("# fish: rehearse completions fish > ~/.config/fish/completions/rehearse.fish");
    for (const RhCommand *const *c = rh_commands; *c; c++) {
        g_autofree char *summary = shell_text((*c)->summary);
        printf("complete -c rehearse -n __fish_use_subcommand -a %s -d '%s'\n", (*c)->name,
               summary);
    }
    for (const RhCommand *const *c = rh_commands; *c; c++)
        for_each_option(*c, print_fish_option);
}

static int run(const RhArguments *a, GError **error)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    const char *name = g_ptr_array_index(a->operands, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(shells); i++)
        if (strcmp(shells[i].name, name) == 0) {
            shells[i].print();
            return 0;
        }
    rh_fail(error, RH_ERROR_USAGE, "no completions for \"%s\"\nnote: shells: bash, zsh, fish",
            name);
    return 2;
}

static const RhOption own[] = {
    RH_OPTION(help_short, "h", 'h', RH_OPTION_FLAG, NULL, "these options", .neutral = true),
    RH_OPTION(help_long, "help", 0, RH_OPTION_FLAG, NULL, "explanation and examples",
              .neutral = true),
    {0}};
static const RhOption *const tables[] = {own, NULL};

const RhCommand rh_command_completions = {
    .name = "completions",
    .operands = "bash|zsh|fish",
    .operands_low = 1,
    .operands_high = 1,
    .summary = "shell completions, to be sourced by the shell",
    .about = "Prints a completion script made from the same tables as the help.\n",
    .examples = "eval \"$(rehearse completions bash)\"",
    .tables = tables,
    .run = run,
};

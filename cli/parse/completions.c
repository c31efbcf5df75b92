/* rehearse completions bash|zsh|fish: scripts made from the tables of commands and options. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/parse/commands.h"
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
        for (int32_t value = knob->low; knob->names && value <= knob->high; value++) {
            g_autofree char *word = rh_knob_value_text(knob, value);
            g_string_append_printf(out, " %s=%s", knob->key, word);
        }
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* Returns the known values of an option: keys of layouts, names, choices. Caller frees; NULL: none.
 */
static char *words_of(const RhOption *o)
{
    g_autoptr(GString) choices = o->choices ? g_string_new(o->choices) : NULL;
    if (o->layout_keys)
        return layout_words();
    if (o->names)
        return g_strjoinv(" ", (char **)o->names());
    if (!choices)
        return NULL;
    g_string_replace(choices, "|", " ", 0);
    return g_string_free(g_steal_pointer(&choices), FALSE);
}

/* A number is no file, and of choices none is. */
static bool may_be_file(const RhOption *o)
{
    return o->kind == RH_OPTION_TEXT || o->kind == RH_OPTION_LIST;
}

static bool takes_value(const RhOption *o)
{
    return o->kind != RH_OPTION_FLAG && o->kind != RH_OPTION_COUNT;
}

static void print_bash_value(const RhCommand *command, const RhOption *o)
{
    g_autofree char *words = words_of(o);
    if (!takes_value(o))
        return;
    printf("    %s:--%s", command->name, o->name);
    if (o->letter)
        printf("|%s:-%c", command->name, o->letter);
    printf(") words='%s'%s%s ;;\n", words ? words : "", o->layout_keys ? " list=1" : "",
           may_be_file(o) ? "" : " files=");
}

/* The words after a command that has topics. */
static void print_bash_topics(const RhCommand *c)
{
    if (!c->topics)
        return;
    printf("    2:%s) words='", c->name);
    for (const RhTopic *t = c->topics; t->name; t++)
        printf("%s%s", t == c->topics ? "" : " ", t->name);
    puts("' ;;");
    for (const RhTopic *t = c->topics; t->name; t++) {
        g_autofree char *names = t->names ? g_strjoinv(" ", (char **)t->names()) : NULL;
        if (names)
            printf("    3:%s:%s) words='%s' ;;\n", c->name, t->name, names);
    }
}

static void print_bash(void)
{
    puts("# bash: eval \"$(rehearse completions bash)\"\n"
         "_rehearse() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} words= list= before= files=1\n"
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
    puts(
        "    esac\n"
        "    [[ $word == -* ]] || case ${COMP_CWORD}:${COMP_WORDS[1]}${COMP_WORDS[3]+:${COMP_WORDS[2]}} in");
    for (const RhCommand *const *c = rh_commands; *c; c++)
        print_bash_topics(*c);
    puts("    esac");
    puts("    case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD - 1]} in");
    for (const RhCommand *const *c = rh_commands; *c; c++)
        for_each_option(*c, print_bash_value);
    puts(
        "    esac\n"
        "    [[ $list && $word == *,* ]] && before=${word%,*}, word=${word##*,}\n"
        "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$words\" -- \"$word\")\n"
        "    [[ ! $files || $word == -* || $COMP_CWORD == 1 ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY "
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
    g_autofree char *words = words_of(o);
    g_autofree char *values = words && o->names ? g_strdup_printf("{compadd %s; _files}", words)
                              : words           ? g_strdup_printf("(%s)", words)
                              : may_be_file(o)  ? g_strdup("_files")
                                                : g_strdup(" ");
    g_autofree char *rest =
        g_strdup_printf("[%s]%s%s", plain->str, o->value ? ":value:" : "", o->value ? values : "");
    printf(" \\\n            '--%s%s%s'", o->name, o->value ? "=" : "", rest);
    if (o->letter)
        printf(" \\\n            '-%c%s%s'", o->letter, o->value ? "+" : "", rest);
}

/* $words begins with the program: 3 is the word after the command. */
static void print_zsh_topics(const RhCommand *c)
{
    if (!c->topics)
        return;
    fputs("        ((CURRENT == 3)) && compadd", stdout);
    for (const RhTopic *t = c->topics; t->name; t++)
        printf(" %s", t->name);
    puts("");
    for (const RhTopic *t = c->topics; t->name; t++) {
        g_autofree char *names = t->names ? g_strjoinv(" ", (char **)t->names()) : NULL;
        if (names)
            printf("        ((CURRENT == 4)) && [[ $words[3] == %s ]] && compadd %s\n", t->name,
                   names);
    }
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
        printf("    %s)\n", (*c)->name);
        print_zsh_topics(*c);
        fputs("        _arguments '*:file:_files'", stdout);
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
    if (takes_value(o)) /* -x: and no file */
        fputs(may_be_file(o) ? " -r" : " -x", stdout);
    g_autofree char *words = words_of(o);
    if (words)
        printf(" -a '%s'", words);
    printf(" -d '%s'\n", help);
}

static void print_fish_topic(const RhCommand *c, const RhTopic *t)
{
    g_autofree char *names = t->names ? g_strjoinv(" ", (char **)t->names()) : NULL;
    printf(
        "complete -c rehearse -n '__fish_seen_subcommand_from %s; and test (count (commandline -opc)) -eq 2' -a %s\n",
        c->name, t->name);
    if (names)
        printf(
            "complete -c rehearse -n '__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s' -a '%s'\n",
            c->name, t->name, names);
}

static void print_fish(void)
{
    puts("# fish: rehearse completions fish > ~/.config/fish/completions/rehearse.fish");
    for (const RhCommand *const *c = rh_commands; *c; c++) {
        g_autofree char *summary = shell_text((*c)->summary);
        printf("complete -c rehearse -n __fish_use_subcommand -a %s -d '%s'\n", (*c)->name,
               summary);
    }
    for (const RhCommand *const *c = rh_commands; *c; c++) {
        for_each_option(*c, print_fish_option);
        for (const RhTopic *t = (*c)->topics; t && t->name; t++)
            print_fish_topic(*c, t);
    }
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

static const RhOption *const tables[] = {rh_options_help, NULL};

static const RhTopic topics[] = {{"bash", NULL}, {"zsh", NULL}, {"fish", NULL}, {0}};

const RhCommand rh_command_completions = {
    .name = "completions",
    .topics = topics,
    .operands = "bash|zsh|fish",
    .operands_low = 1,
    .operands_high = 1,
    .summary = "shell completions, to be sourced by the shell",
    .about = "Prints a completion script made from the same tables as the help.\n",
    .examples = "eval \"$(rehearse completions bash)\"",
    .tables = tables,
    .run = run,
};

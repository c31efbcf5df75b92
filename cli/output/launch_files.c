#include "cli/output/launch_files.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/parse/hint_to_options.h"
#include "report/format.h"
#include "strategies/launch/launch.h"

static RhLaunchOptions extras_of(const RhArguments *a)
{
    return (RhLaunchOptions){a->save, a->load, a->save_steps, a->preflight};
}

/* `why` may be NULL: nothing was refused. */
static void print_refusal(const GError *why)
{
    if (!why)
        return;
    g_autoptr(GString) out = g_string_new(NULL);
    g_autofree char *typed = rh_hint_options(why->message, NULL);
    g_auto(GStrv) lines = g_strsplit(typed, "\n", -1);
    for (int i = 0; lines[i]; i++) {
        g_autofree char *line = g_strconcat(i == 0 ? "#1 is not launched: " : "", lines[i], NULL);
        g_string_append(out, i == 0 ? "\n" : "  ");
        rh_text_wrap(out, line, 2, 79);
    }
    fputs(out->str, stdout);
}

/* The framework of --emit NAME, or NAME+slurm; slurm alone: the stack's own. Caller frees. */
static char *framework_of(const RhArguments *a, const RhStack *stack)
{
    if (strcmp(a->emit, "slurm") == 0)
        return g_strdup(stack->framework ? stack->framework : "");
    const char *joint = strchr(a->emit, '+');
    return joint ? g_strndup(a->emit, (gsize)(joint - a->emit)) : g_strdup(a->emit);
}

/* The stack that this framework runs; NULL: none. */
static const RhStack *stack_of(const char *framework)
{
    for (const char *const *name = rh_stack_names(); *name; name++) {
        const RhStack *stack = rh_stack_by_name(*name, NULL);
        if (stack && g_strcmp0(stack->framework, framework) == 0)
            return stack;
    }
    return NULL;
}

/* Advises the framework's own stack for a plan of another one, because that knows what the
 * framework can run. With --stack any, the stack and its number formats are the search's choice, so
 * no option is suggested. */
static void advise_own_stack(const RhArguments *a, const char *framework, const RhStack *stack,
                             GError **why)
{
    const RhStack *own = stack_of(framework);
    if (!own || g_strcmp0(stack->framework, framework) == 0)
        return;
    char *help = strstr((*why)->message, "\nhelp: ");
    bool chosen = g_strcmp0(a->stack, "any") != 0;
    if (help && !chosen)
        *help = '\0';
    rh_error_note(why, "the plan is of the stack %s, with its costs and number formats",
                  stack->name);
    rh_error_help(why, "%s--stack %s plans what this framework runs", chosen ? "or " : "",
                  own->name);
}

/* The first layout that the framework can run; why it cannot run those before is said. */
static RhLaunch *first_launch(const RhArguments *a, const RhInputs *in, const RhLaunchFiles *rows,
                              guint count, guint *row, GError **error)
{
    g_autoptr(GError) first = NULL;
    g_autofree char *framework = framework_of(a, in->c.stack);
    RhLaunchOptions extras = extras_of(a);
    if (!*framework) {
        rh_fail(
            error, RH_ERROR_USAGE,
            "--emit slurm: the stack %s belongs to no framework\nhelp: NAME+slurm, as megatron+slurm",
            in->c.stack->name);
        return NULL;
    }
    for (guint turn = 0; turn < count; turn++) {
        g_autoptr(GError) why = NULL;
        RhLaunch *launch = rh_launch_new_with(framework, &in->c, rows[turn].layout, &extras, &why);
        *row = rows[turn].row;
        if (launch) {
            print_refusal(first);
            return launch;
        }
        if (!first)
            first = g_steal_pointer(&why);
    }
    advise_own_stack(a, framework, in->c.stack, &first);
    g_propagate_prefixed_error(error, g_steal_pointer(&first), "--emit %s: ", a->emit);
    return NULL;
}

/* At the margin: it is for pasting. */
static void print_script(const RhArguments *a, const RhLaunch *launch, guint row)
{
    g_autofree char *which = row > 0 ? g_strdup_printf(" #%u", row) : g_strdup("");
    bool slurm = g_str_has_suffix(a->emit, "slurm");
    g_autofree char *script =
        rh_launch_script(launch, slurm ? RH_LAUNCHER_SLURM : RH_LAUNCHER_SHELL);
    g_autofree char *where = slurm ? g_strdup("a script for sbatch")
                             : launch->nodes > 1
                                 ? g_strdup_printf("on each of %d nodes", launch->nodes)
                                 : g_strdup("on its node");
    /* sbatch takes no file whose first line is another. */
    const char *rest = slurm && g_str_has_prefix(script, "#!") ? strchr(script, '\n') + 1 : script;
    printf("\n%.*s# launch%s with %s %s, %s:\n%s", (int)(rest - script), script, which,
           launch->title, launch->version, where, rest);
    if (!slurm && launch->nodes > 1)
        printf(
            "# note: set NODE_RANK (from 0 to %d, another on each node) and MASTER_ADDR (the host\n"
            "#       name of node 0)\n",
            launch->nodes - 1);
}

/* A comment of a shell, so that it may be pasted with what it stands behind. */
static void append_note(GString *out, const char *note)
{
    g_autoptr(GString) wrapped = g_string_new("note: ");
    rh_text_wrap(wrapped, note, 6, 77);
    g_auto(GStrv) lines = g_strsplit(wrapped->str, "\n", -1);
    for (char **line = lines; *line && **line; line++)
        g_string_append_printf(out, "# %s\n", *line);
}

/* Has the plan the seconds of another stack than the framework's own? */
static const RhStack *own_stack(const RhArguments *a, const RhStack *stack)
{
    g_autofree char *framework = framework_of(a, stack);
    const RhStack *own = stack_of(framework);
    return own && g_strcmp0(stack->framework, framework) != 0 ? own : NULL;
}

void rh_launch_files_print_stack(const RhArguments *a, const RhInputs *in)
{
    const RhStack *own = a->emit ? own_stack(a, in->c.stack) : NULL;
    if (!own)
        return;
    g_autofree char *framework = framework_of(a, in->c.stack);
    g_autoptr(GString) out = g_string_new("note: ");
    g_autofree char *note = g_strdup_printf(
        "seconds and memory are of the stack %s, as --stack has it, and the script is for %s: "
        "without --stack it is planned with %s's own (%s)",
        in->c.stack->name, framework, framework, own->name);
    rh_text_wrap(out, note, 6, 79);
    fputs(out->str, stdout);
}

/* The stack in whose seconds the best is asked for. */
const char *rh_launch_files_stack(const RhArguments *a)
{
    const char *joint = a->emit ? strchr(a->emit, '+') : NULL;
    if (!a->emit || a->stack)
        return a->stack;
    g_autofree char *framework =
        joint ? g_strndup(a->emit, (gsize)(joint - a->emit)) : g_strdup(a->emit);
    const RhStack *own = stack_of(framework);
    return own ? own->name : NULL;
}

bool rh_launch_files_check(const RhArguments *a, GError **error)
{
    const char *with = a->save        ? "--save"
                       : a->load      ? "--load"
                       : a->preflight ? "--preflight"
                                      : NULL;
    if (with && !a->emit)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s is of a script\nhelp: --emit FRAMEWORK prints one", with);
    if (rh_arguments_given(a, "--save-interval") && !a->save)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--save-interval: no checkpoints are asked for\nhelp: --save FOLDER");
    const char *folders[] = {a->save, a->load};
    for (size_t i = 0; i < G_N_ELEMENTS(folders); i++)
        if (folders[i] && (!*folders[i] || strpbrk(folders[i], "\n\r")))
            return rh_fail(error, RH_ERROR_USAGE, "--%s: a folder's name, on one line",
                           i == 0 ? "save" : "load");
    return true;
}

bool rh_launch_files_print(const RhArguments *a, const RhInputs *in, const RhLaunchFiles *rows,
                           guint count, GError **error)
{
    guint row = 0;
    if (!a->emit)
        return true;
    if (!rh_inputs_alone_on_gpus(in, "--emit", error))
        return false;
    g_autoptr(RhLaunch) launch = first_launch(a, in, rows, count, &row, error);
    if (!launch)
        return false;
    print_script(a, launch, row);
    g_auto(GStrv) notes = g_strsplit(launch->notes, "\n", -1);
    g_autoptr(GString) out = g_string_new(NULL);
    for (char **note = notes; *note; note++)
        append_note(out, *note);
    fputs(out->str, stdout);
    return true;
}

const RhOption rh_options_launch[] = {
    RH_OPTION(emit, "emit", 0, RH_OPTION_CHOICE, "FRAMEWORK",
              "print the command that starts the layout in FRAMEWORK, planned for that "
              "framework; NAME+slurm: a script for sbatch; slurm: a script of the framework "
              "of --stack",
              .choices = RH_FRAMEWORK_CHOICES),
    RH_OPTION(save, "save", 0, RH_OPTION_TEXT, "FOLDER",
              "with --emit: the script writes checkpoints to FOLDER"),
    RH_OPTION(save_steps, "save-interval", 0, RH_OPTION_INTEGER, "N",
              "with --save: steps between checkpoints", .otherwise = "1000", .low = 1,
              .high = 1000000000),
    RH_OPTION(load, "load", 0, RH_OPTION_TEXT, "FOLDER",
              "with --emit: the script starts from the checkpoint in FOLDER"),
    RH_OPTION(preflight, "preflight", 0, RH_OPTION_FLAG, NULL,
              "with --emit: the script first times an all-reduce, and stops if it is far "
              "slower than the plan assumes"),
    {0}};

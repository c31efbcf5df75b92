/* Writes a launch as a script: exports, files, and the command for every node. */
#include <string.h>

#include "strategies/launch/launch.h"

#define WIDTH  77 /* column after which a word begins the next line; " \" comes after it */
#define INDENT "    "

/* Is the position inside a shell quote that began earlier? */
static bool is_quoted_at(const char *text, const char *end)
{
    bool quoted = false;
    for (; text < end; text++) {
        if (!quoted && *text == '\\')
            text++;
        else if (*text == '\'')
            quoted = !quoted;
    }
    return quoted;
}

/* Splits the command at joints that are outside quotes. */
static GStrv words_of(const char *command, const char *joint)
{
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    const char *word = command;
    for (const char *at = strstr(command, joint); at; at = strstr(at + 1, joint)) {
        if (is_quoted_at(command, at))
            continue;
        g_autofree char *part = g_strndup(word, (gsize)(at - word));
        g_strv_builder_add(words, part);
        word = at + strlen(joint);
    }
    g_strv_builder_add(words, word);
    return g_strv_builder_end(words);
}

/* Appends a command. A line may be broken between two words, but not between a flag and its value:
 * a flag begins with `joint`, " --" or " ". The first word stands as it is. */
static void append_command(GString *out, const char *command, const char *joint)
{
    g_auto(GStrv) words = words_of(command, joint);
    size_t column = 0;
    for (char **word = words; *word; word++) {
        bool flag = word != words;
        size_t length = strlen(*word) + (flag ? strlen(joint) : 0);
        if (flag && column + length > WIDTH) {
            g_string_append(out, " \\\n" INDENT);
            column = strlen(INDENT);
        } else if (flag) {
            g_string_append_c(out, ' ');
        }
        g_string_append_printf(out, "%s%s", flag ? &joint[1] : "", *word);
        column += length;
    }
    g_string_append_c(out, '\n');
}

static void append_exports(GString *out, const char *environment)
{
    g_auto(GStrv) words = g_strsplit(environment, " ", -1);
    for (char **word = words; *word; word++)
        if (**word)
            g_string_append_printf(out, "export %s\n", *word);
}

static void append_slurm(GString *out, const RhLaunch *l)
{
    g_string_append_printf(out,
                           "#!/bin/bash\n"
                           "#SBATCH --job-name=%s\n"
                           "#SBATCH --nodes=%d\n"
                           "#SBATCH --ntasks-per-node=1\n"
                           "#SBATCH --gpus-per-node=%d\n"
                           "#SBATCH --exclusive\n"
                           "set -eu\n"
                           "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | "
                           "head -n 1)\n",
                           l->name, l->nodes, l->gpus_of_node);
}

/* Starts one process per node, which reads its number from NODE_RANK where it needs it (NNODES). */
static void append_own_start(GString *out, const RhLaunch *l, RhLauncher launcher)
{
    bool asks = strstr(l->environment, "NNODES=") != NULL;
    if (launcher == RH_LAUNCHER_SLURM)
        g_string_append_printf(out, "srun bash -c 'NODE_RANK=$SLURM_NODEID exec %s \"$@\"' -",
                               l->program);
    else
        g_string_append_printf(out, "%s%s", asks ? "NODE_RANK=$NODE_RANK " : "", l->program);
    g_string_append(out, " \\\n" INDENT);
    append_command(out, l->flags, " ");
}

static void append_torchrun(GString *out, const RhLaunch *l, RhLauncher launcher,
                            const char *program, const char *flags)
{
    g_autoptr(GString) command = g_string_new(NULL);
    g_string_append(command, launcher == RH_LAUNCHER_SLURM
                                 ? "srun bash -c 'exec torchrun --node-rank $SLURM_NODEID \"$@\"' -"
                                 : "torchrun");
    g_string_append_printf(command, " --nnodes %d --nproc-per-node %d", l->nodes, l->gpus_of_node);
    if (l->nodes > 1)
        g_string_append_printf(command,
                               "%s --master-addr $MASTER_ADDR --master-port ${MASTER_PORT:-29500}",
                               launcher == RH_LAUNCHER_SLURM ? "" : " --node-rank $NODE_RANK");
    g_string_append_printf(command, " %s%s%s", program, *flags ? " " : "", flags);
    append_command(out, command->str, " --");
}

/* Writes the script. Ranks go node by node, as simulated, so nodes are numbered and do not join in
 * any order. */
char *rh_launch_script(const RhLaunch *l, RhLauncher launcher)
{
    GString *out = g_string_new(NULL);
    if (launcher == RH_LAUNCHER_SLURM)
        append_slurm(out, l);
    append_exports(out, l->environment);
    g_string_append(out, l->files);
    if (l->preflight) { /* the job starts only if the check ends well */
        append_torchrun(out, l, launcher, l->preflight, "");
        g_string_insert(out, (gssize)out->len - 1, " &&");
    }
    if (l->starts_itself)
        append_own_start(out, l, launcher);
    else
        append_torchrun(out, l, launcher, l->program, l->flags);
    return g_string_free(out, FALSE);
}

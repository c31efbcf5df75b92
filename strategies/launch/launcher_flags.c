/* Reads launchers' words: how many nodes, and how many GPUs on each. */
#include <string.h>

#include "strategies/launch/readers.h"

typedef enum { COUNT_NODES, COUNT_EACH, COUNT_ALL } Count;

/* Flags with a number. Both spellings of a dash are one. */
static const struct {
    const char *flag;
    Count count;
} flags[] = {{"nnodes", COUNT_NODES},
             {"num-nodes", COUNT_NODES},
             {"num-machines", COUNT_NODES},
             {"nodes", COUNT_NODES},
             {"N", COUNT_NODES},
             {"nproc-per-node", COUNT_EACH},
             {"num-gpus", COUNT_EACH},
             {"gpus-per-node", COUNT_EACH},
             {"ntasks-per-node", COUNT_EACH},
             {"gres", COUNT_EACH},
             {"num-processes", COUNT_ALL},
             {"np", COUNT_ALL},
             {"ntasks", COUNT_ALL},
             {"gpus", COUNT_ALL},
             {"G", COUNT_ALL},
             {"n", COUNT_ALL}};

/* Reads "8", "gpu:8", "gpu:h100:8", and of "1:4" (elastic) the larger; -1: no number. */
static int64_t number_of_item(const char *text)
{
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    int64_t value = g_ascii_strtoll(colon ? colon + 1 : text, &end, 10);
    return *text && !*end && value > 0 && value < 1 << 22 ? value : -1;
}

/* Reads an item, or of a list as Slurm's "gpu:8,lscratch:100" that of GPUs. */
static int64_t number_of(const char *text)
{
    g_auto(GStrv) items = g_strsplit(text, ",", -1);
    for (char **item = items; items[0] && items[1] && *item; item++)
        if (g_str_has_prefix(*item, "gpu"))
            return number_of_item(*item);
    return number_of_item(text);
}

static void take(RhLaunchReading *r, Count count, int64_t value)
{
    RhLaunchJobField at = count == COUNT_NODES  ? RH_JOB_FIELD_NODES
                          : count == COUNT_EACH ? RH_JOB_FIELD_GPUS_OF_NODE
                                                : RH_JOB_FIELD_GPUS;
    /* One task a node is torchrun's own start */
    if (count != COUNT_NODES && value == 1 && r->job[at] > 1)
        return;
    r->job[at] = MAX(r->job[at], value);
}

static void read_flag(RhLaunchReading *r, const char *name, const char *value, bool whole)
{
    g_autofree char *plain = g_strdelimit(g_strdup(name), "_", '-');
    for (size_t i = 0; i < G_N_ELEMENTS(flags); i++) {
        if (strcmp(flags[i].flag, plain) != 0)
            continue;
        g_autofree char *line = g_strdup_printf("%s %s", name, value);
        int64_t number = number_of(value);
        if (whole && number > 0) {
            take(r, flags[i].count, number);
            g_ptr_array_add(r->used, g_steal_pointer(&line));
        } else if (!whole) {
            r->nodes_outside |= flags[i].count == COUNT_NODES;
            g_ptr_array_add(r->outside, g_steal_pointer(&line));
        }
    }
}

void rh_launch_read_launcher(RhLaunchReading *r, const RhShellCommand *command, guint words)
{
    for (guint i = 0; i < words; i++) {
        const RhShellWord *word = rh_shell_word(command, i), *next = rh_shell_word(command, i + 1);
        const char *name = word->text + strspn(word->text, "-"), *equals = strchr(name, '=');
        size_t length = equals ? (size_t)(equals - name) : strlen(name);
        bool glued = word->text[0] == '-' && word->text[1] == 'N' && g_ascii_isdigit(word->text[2]);
        if (word->text[0] != '-')
            continue;
        g_autofree char *flag = glued ? g_strdup("N") : g_strndup(name, length);
        if (glued)
            read_flag(r, flag, word->text + 2, word->whole);
        else if (equals)
            read_flag(r, flag, equals + 1, word->whole);
        else if (next)
            read_flag(r, flag, next->text, next->whole);
    }
}

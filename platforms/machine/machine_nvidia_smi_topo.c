/* `nvidia-smi topo -m`: a matrix of what lies between two GPUs, or a GPU and a NIC.
 *
 *         GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity
 *   GPU0   X      NV18    PXB     0-55            0
 *   GPU1   NV18    X      NODE    0-55            0
 *   NIC0   PXB    NODE     X
 *
 * NVn: n NVLinks; PIX, PXB: PCIe switches alone; PHB, NODE, SYS: over the host. Behind the matrix comes a
 * legend. Older ones name NICs as the system does ("mlx5_0"). */
#include <string.h>

#include "base/error.h"
#include "platforms/machine/machine.h"

#define GPUS_MAX    64
#define COLUMNS_MAX 256

typedef struct {
    const char *name;
    int32_t columns, gpus;            /* counted in the header: all, and the first that are GPUs */
    int32_t link[GPUS_MAX][GPUS_MAX]; /* NVLinks; 0: none; -1: PCIe switches alone; -2: over the
                                       * host */
    bool close[COLUMNS_MAX];          /* NICs behind a switch that also has a GPU */
    bool seen[GPUS_MAX];
} Matrix;

static bool is_gpu(const char *word)
{
    return g_str_has_prefix(word, "GPU") && g_ascii_isdigit(word[3]);
}

static bool is_kind(const char *word)
{
    static const char *const kinds[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC", NULL};
    return g_strv_contains(kinds, word) ||
           (g_str_has_prefix(word, "NV") && g_ascii_isdigit(word[2]));
}

static bool fail(const Matrix *t, int32_t line, const char *what, const char *word, GError **error)
{
    return rh_fail(error, RH_ERROR_INPUT, "%s:%d:1: %s, \"%s\" given", t->name, line, what, word);
}

/* Does the text have a line of a GPU with its links? */
static bool owns(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_auto(GStrv) words = rh_machine_words(*line);
        if (words[0] && words[1] && is_gpu(words[0]) && is_kind(words[1]))
            return true;
    }
    return false;
}

/* Reads the columns up to "CPU Affinity": GPUs first, then NICs whatever they are called. */
static bool read_header(Matrix *t, char **words, int32_t line, GError **error)
{
    for (; words[t->columns] && strcmp(words[t->columns], "CPU") != 0; t->columns++) {
        if (t->columns == COLUMNS_MAX)
            return fail(t, line, "a header of at most 256 columns must stand here",
                        words[t->columns], error);
        if (is_gpu(words[t->columns]))
            t->gpus = t->columns + 1;
    }
    return t->gpus <= GPUS_MAX || fail(t, line, "at most 64 GPUs", words[0], error);
}

static int32_t link_of(const char *kind)
{
    if (g_str_has_prefix(kind, "NV"))
        return CLAMP((int32_t)g_ascii_strtoll(kind + 2, NULL, 10), 0, 1024);
    return strcmp(kind, "PIX") == 0 || strcmp(kind, "PXB") == 0 ? -1 : -2;
}

static bool read_row(Matrix *t, char **words, int32_t line, GError **error)
{
    int64_t gpu = g_ascii_strtoll(words[0] + 3, NULL, 10);
    if (gpu < 0 || gpu >= t->gpus || t->seen[gpu])
        return fail(t, line, "a GPU of the header, each once, must stand here", words[0], error);
    t->seen[gpu] = true;
    for (int32_t k = 0; k < t->columns; k++) {
        const char *kind = words[1 + k];
        if (!kind || !is_kind(kind))
            return fail(t, line, "NVn, PIX, PXB, PHB, NODE, SYS or X must stand in every column",
                        kind ? kind : "nothing", error);
        if (k < t->gpus)
            t->link[gpu][k] = link_of(kind);
        else
            t->close[k] = t->close[k] || link_of(kind) == -1;
    }
    return true;
}

/* Smallest g that divides the GPUs into islands 0..g-1, g..2g-1 and so on, which are joined inside
 * and not between; 0 where there is none. */
static int32_t island_size(const Matrix *t, bool nvlink)
{
    for (int32_t g = 1; g <= t->gpus; g++) {
        bool fits = t->gpus % g == 0;
        for (int32_t a = 0; fits && a < t->gpus; a++)
            for (int32_t b = 0; fits && b < t->gpus; b++) {
                bool joined = nvlink ? t->link[a][b] > 0 : t->link[a][b] == -1;
                fits = a == b || joined == (a / g == b / g);
            }
        if (fits)
            return g;
    }
    return 0;
}

/* Copies the number of NVLinks between each pair, if the machine has room for them and rows
 * agree. */
static void copy_nvlinks(const Matrix *t, RhMachine *m)
{
    for (int32_t a = 0; a < t->gpus; a++)
        for (int32_t b = 0; b < t->gpus; b++)
            if (t->gpus > RH_MESH_MAX || t->link[a][b] != t->link[b][a] ||
                t->link[a][b] > UINT8_MAX)
                return;
    for (int32_t a = 0; a < t->gpus; a++) {
        int32_t sum = 0;
        for (int32_t b = 0; b < t->gpus; b++) {
            m->joined[a][b] = (uint8_t)(a == b ? 0 : MAX(0, t->link[a][b]));
            sum += m->joined[a][b];
        }
        m->nvlinks_most = MAX(m->nvlinks_most, sum);
    }
}

static void settle(const Matrix *t, RhMachine *m)
{
    int32_t most = 0, least = INT32_MAX, nics = 0, all = t->columns - t->gpus;
    for (int32_t a = 0; a < t->gpus; a++)
        for (int32_t b = 0; b < t->gpus; b++)
            if (a != b && t->link[a][b] > 0) {
                most = MAX(most, t->link[a][b]);
                least = MIN(least, t->link[a][b]);
            }
    for (int32_t k = t->gpus; k < t->columns; k++)
        nics += t->close[k];
    int32_t g = island_size(t, most > 0);
    m->has_links = true;
    m->gpus = t->gpus;
    m->uneven = g == 0 || (most > 0 && most != least);
    m->nvlinks = m->uneven ? 0 : most;
    m->island_gpus = g;
    m->nics = nics > 0 ? nics : all;
    copy_nvlinks(t, m);
}

static bool read_topology(RhMachine *m, const char *name, const char *text, GError **error)
{
    g_autofree Matrix *t = g_new0(Matrix, 1);
    t->name = name;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int32_t i = 0; lines[i]; i++) {
        g_auto(GStrv) words = rh_machine_words(lines[i]);
        if (!words[0] || !is_gpu(words[0]))
            continue;
        bool header = t->columns == 0 && !(words[1] && is_kind(words[1]));
        if (t->columns == 0 && !header)
            return fail(t, i + 1, "a header of GPUs must stand before", words[0], error);
        if (header ? !read_header(t, words, i + 1, error) : !read_row(t, words, i + 1, error))
            return false;
    }
    for (int32_t gpu = 0; gpu < t->gpus; gpu++)
        if (!t->seen[gpu])
            return rh_fail(error, RH_ERROR_INPUT, "%s: the header names GPU%d, no row does", name,
                           gpu);
    settle(t, m);
    return true;
}

const RhMachineReader rh_machine_topology = {"nvidia-smi topo -m", owns, read_topology,
                                             G_STRUCT_OFFSET(RhMachine, links_source)};

/* Reads what rocm-smi shows of the topology and of product names: which GPUs xGMI joins, and what
 * they are.
 *
 *     ===== Link Type between two GPUs =====
 *            GPU0         GPU1
 *     GPU0   0            XGMI
 *     GPU1   XGMI         0
 *     GPU[0]          : Card Series:          AMD Instinct MI300X OAM */
#include <string.h>

#include "base/error.h"
#include "platforms/machine/machine.h"

#define GPUS_MOST 64

typedef struct {
    const char *name;
    bool joined[GPUS_MOST][GPUS_MOST];
    int32_t columns, rows; /* of the matrix of link types */
    bool inside;           /* that matrix */
    int32_t series;        /* GPUs with a name */
} Matrix;

static bool is_gpu(const char *word)
{
    return g_str_has_prefix(word, "GPU") && g_ascii_isdigit(word[3]);
}

static bool read_row(Matrix *t, char **words, int32_t line, GError **error)
{
    guint count = g_strv_length(words);
    if (is_gpu(words[0]) && (count == 1 || is_gpu(words[1]))) {
        t->columns = (int32_t)count;
        if (count > GPUS_MOST)
            return rh_fail(error, RH_ERROR_INPUT, "%s:%d:1: more than 64 GPUs", t->name, line);
        return true;
    }
    if (!is_gpu(words[0]) || t->columns == 0)
        return true;
    int64_t row = g_ascii_strtoll(words[0] + 3, NULL, 10);
    if (row != t->rows || row >= t->columns || (int32_t)count != t->columns + 1)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s:%d:1: row GPU%d with a link to each of %d GPUs must stand here", t->name,
                       line, t->rows, t->columns);
    for (int32_t k = 0; k < t->columns; k++)
        t->joined[row][k] = strcmp(words[1 + k], "XGMI") == 0;
    t->rows++;
    return true;
}

/* Reads "GPU[0] : Card Series: AMD Instinct MI300X OAM"; older ones write "Card series". */
static bool read_series(Matrix *t, RhMachine *m, const char *text, int32_t line, GError **error)
{
    g_autoptr(GRegex) form =
        g_regex_new("^GPU\\[\\d+\\]\\s*:\\s*Card series:\\s*(.*\\S)", G_REGEX_CASELESS, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    if (!g_regex_match(form, text, 0, &match))
        return true;
    g_autofree char *name = g_match_info_fetch(match, 1);
    if (t->series > 0 && strcmp(m->gpu_name, name) != 0)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s:%d:1: GPU %d is \"%s\", those before it are \"%s\"", t->name, line,
                       t->series, name, m->gpu_name);
    g_free(m->gpu_name);
    m->gpu_name = g_steal_pointer(&name);
    t->series++;
    return true;
}

/* GPUs 0 to g-1, g to 2g-1 and so on that are joined inside and not between; 0: no such g. */
static int32_t island_size(const Matrix *t)
{
    for (int32_t g = 1; g <= t->rows; g++) {
        bool fits = t->rows % g == 0;
        for (int32_t a = 0; fits && a < t->rows; a++)
            for (int32_t b = 0; fits && b < t->rows; b++)
                fits = a == b || t->joined[a][b] == (a / g == b / g);
        if (fits)
            return g;
    }
    return 0;
}

static bool settle(const Matrix *t, RhMachine *m, GError **error)
{
    if (t->rows != t->columns)
        return rh_fail(error, RH_ERROR_INPUT, "%s: the matrix of links has %d GPUs and %d rows",
                       t->name, t->columns, t->rows);
    if (t->rows == 0 && t->series == 0)
        return rh_fail(error, RH_ERROR_INPUT,
                       "%s: neither links nor names of GPUs stand in it\nhelp: let rocm-smi show "
                       "the topology and the product names",
                       t->name);
    if (t->rows == 0) {
        m->gpus = t->series;
        return true;
    }
    m->gpus = t->rows;
    m->has_links = true;
    m->island_gpus = island_size(t);
    m->uneven = m->island_gpus == 0;
    return true;
}

static bool read_text(RhMachine *m, const char *name, const char *text, GError **error)
{
    g_autofree Matrix *t = g_new0(Matrix, 1);
    t->name = name;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int32_t i = 0; lines[i]; i++) {
        if (strstr(lines[i], "==="))
            t->inside = strstr(lines[i], "Link Type") != NULL;
        g_auto(GStrv) words = rh_machine_words(lines[i]);
        if (!words[0])
            continue;
        if (!read_series(t, m, lines[i], i + 1, error) ||
            (t->inside && !read_row(t, words, i + 1, error)))
            return false;
    }
    return settle(t, m, error);
}

static bool owns(const char *text)
{
    return strstr(text, "ROCm System Management") != NULL ||
           strstr(text, "Link Type between two GPUs") != NULL;
}

const RhMachineReader rh_machine_rocm = {"rocm-smi", owns, read_text,
                                         G_STRUCT_OFFSET(RhMachine, links_source)};

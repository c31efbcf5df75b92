/* Finds trace files by name: FILE.goal alone, PREFIX.N.et and PREFIX.N.json by rank. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/gzip_file.h"
#include "base/text/text_input.h"
#include "sim/import/imported_trace.h"

#define BYTES_MAX ((gsize)256 << 20)
#define RANKS_MAX (1 << 16)

/* Reads a file's bytes and adds them to the hash. */
static GByteArray *load_bytes(const char *path, GChecksum *sum, GError **error)
{
    GByteArray *bytes = rh_bytes_load(path, BYTES_MAX, error);
    if (bytes)
        g_checksum_update(sum, bytes->data, bytes->len);
    return bytes;
}

static RhImportedTrace *load_goal(const char *path, GChecksum *sum, GError **error)
{
    g_autoptr(GByteArray) bytes = load_bytes(path, sum, error);
    if (!bytes)
        return NULL;
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    const char *text = rh_text_check(path, (const char *)bytes->data, bytes->len - 1, error);
    return text ? rh_goal_parse(path, text, error) : NULL;
}

static bool add_file(RhImportedTrace *f, const char *path, bool json, GChecksum *sum,
                     GError **error)
{
    g_autoptr(GByteArray) bytes = load_bytes(path, sum, error);
    if (!bytes)
        return false;
    g_ptr_array_add(f->files, g_strdup(path));
    if (!json)
        return rh_chakra_add_bytes(f, path, bytes->data, bytes->len, error);
    RhJson *doc = rh_json_parse(path, (const char *)bytes->data, bytes->len, error);
    if (!doc)
        return false;
    g_ptr_array_add(f->docs, doc);
    return rh_chakra_add_json(f, doc, error);
}

/* --- names --- */

/* Endings of a rank's trace file, after PREFIX and the rank. */
static const char *const endings[] = {".et", ".json", ".et.gz", ".json.gz", NULL};

static const char *ending_of(const char *path)
{
    for (const char *const *e = endings; *e; e++)
        if (g_str_has_suffix(path, *e))
            return *e;
    return NULL;
}

static char *file_of(const char *prefix, int32_t rank, const char *ending)
{
    return g_strdup_printf("%s.%d%s", prefix, rank, ending);
}

/* Prefix of a path: "dir/all_reduce.3.et" -> "dir/all_reduce"; NULL without a number. Caller
 * frees. */
static char *prefix_of(const char *path, const char *ending)
{
    g_autofree char *stem = g_strndup(path, strlen(path) - strlen(ending));
    char *dot = strrchr(stem, '.');
    if (!dot || !dot[1] || strspn(dot + 1, "0123456789") != strlen(dot + 1))
        return NULL;
    return g_strndup(stem, (gsize)(dot - stem));
}

/* Largest rank that PREFIX has a file for; -1 without one. */
static int32_t last_rank(const char *prefix, const char *ending, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(prefix), *base = g_path_get_basename(prefix);
    g_autofree char *start = g_strconcat(base, ".", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    int32_t last = -1;
    if (!dir)
        rh_fail(error, RH_ERROR_IO, "folder %s cannot be read", folder);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        guint64 rank;
        if (!g_str_has_prefix(name, start) || !g_str_has_suffix(name, ending) ||
            strlen(name) <= strlen(start) + strlen(ending))
            continue;
        g_autofree char *digits =
            g_strndup(name + strlen(start), strlen(name) - strlen(start) - strlen(ending));
        if (g_ascii_string_to_unsigned(digits, 10, 0, RANKS_MAX - 1, &rank, NULL))
            last = MAX(last, (int32_t)rank);
    }
    return last;
}

/* --- Chakra --- */

/* Multiplies an all-gather's bytes by its members: the trace has one member's part, the program the
 * whole buffer. */
static void count_gathered(RhImportedTrace *f)
{
    g_autofree double *members = g_new0(double, f->teams->len + 1);
    for (guint i = 0; i < f->ops->len; i++) {
        const RhImportedOp *o = rh_imported_trace_op(f, (int32_t)i);
        if (o->kind == RH_IMPORTED_COLLECTIVE && o->call == 0)
            members[o->team] += MAX(f->alike_count, 1);
    }
    for (guint i = 0; i < f->ops->len; i++) {
        RhImportedOp *o = rh_imported_trace_op(f, (int32_t)i);
        if (o->kind == RH_IMPORTED_COLLECTIVE && o->op == RH_OP_ALL_GATHER)
            o->bytes *= members[o->team];
    }
}

static bool spread(RhImportedTrace *f, int32_t ranks, GError **error)
{
    for (guint i = 0; i < f->ops->len; i++) {
        const RhImportedOp *o = rh_imported_trace_op(f, (int32_t)i);
        if (o->kind == RH_IMPORTED_SEND || o->kind == RH_IMPORTED_RECV)
            return rh_imported_trace_fail(
                f, (int32_t)i, NULL, error,
                "a trace with messages is one rank's alone: %d ranks cannot do "
                "what it says",
                ranks);
    }
    f->alike_count = ranks;
    return true;
}

static RhImportedTrace *load_ranks(const char *prefix, const char *ending, GChecksum *sum,
                                   GError **error)
{
    GError *local = NULL;
    int32_t last = last_rank(prefix, ending, &local);
    if (local) {
        g_propagate_error(error, local);
        return NULL;
    }
    g_autoptr(RhImportedTrace) f = rh_imported_trace_new("Chakra", HUGE_VAL);
    bool json = strstr(ending, ".json") != NULL;
    for (int32_t rank = 0; rank <= MAX(last, 0); rank++) {
        g_autofree char *path = file_of(prefix, rank, ending);
        if (rank < last && !g_file_test(path, G_FILE_TEST_EXISTS)) {
            rh_fail(error, RH_ERROR_INPUT, "rank %d is missing: no %s, and ranks go on to %d", rank,
                    path, last);
            return NULL;
        }
        if (!add_file(f, path, json, sum, error))
            return NULL;
    }
    return g_steal_pointer(&f);
}

static RhImportedTrace *load_one(const char *path, const char *ending, GChecksum *sum,
                                 GError **error)
{
    g_autoptr(RhImportedTrace) f = rh_imported_trace_new("Chakra", HUGE_VAL);
    return add_file(f, path, strstr(ending, ".json") != NULL, sum, error) ? g_steal_pointer(&f)
                                                                          : NULL;
}

/* Loads PREFIX alone, with the first ending that rank 0 has. */
static RhImportedTrace *load_prefix(const char *path, GChecksum *sum, GError **error)
{
    for (const char *const *e = endings; *e; e++) {
        g_autofree char *file = file_of(path, 0, *e);
        if (g_file_test(file, G_FILE_TEST_EXISTS))
            return load_ranks(path, *e, sum, error);
    }
    bool there = g_file_test(path, G_FILE_TEST_EXISTS);
    rh_fail(error, there ? RH_ERROR_INPUT : RH_ERROR_IO,
            "%s: %s\nnote: programs are .program.json, .goal (GOAL), .et and .json (Chakra: "
            "PREFIX.N.et of rank N, or PREFIX); each may be gzip's",
            path, there ? "its ending is of no program" : "there is no such file");
    return NULL;
}

RhImportedTrace *rh_imported_trace_load(const char *path, int32_t ranks, GError **error)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    const char *ending = ending_of(path);
    g_autofree char *prefix = ending ? prefix_of(path, ending) : NULL;
    bool goal = g_str_has_suffix(path, ".goal") || g_str_has_suffix(path, ".goal.gz");
    g_autoptr(RhImportedTrace) f = goal     ? load_goal(path, sum, error)
                                   : prefix ? load_ranks(prefix, ending, sum, error)
                                   : ending ? load_one(path, ending, sum, error)
                                            : load_prefix(path, sum, error);
    if (!f)
        return NULL;
    if (f->ops->len == 0) {
        rh_fail(error, RH_ERROR_INPUT,
                "%s: no operation stands in it: a step of nothing takes no time", path);
        return NULL;
    }
    f->hash = g_strdup(g_checksum_get_string(sum));
    if (f->ranks_count == 1 && ranks > 1 && !spread(f, ranks, error))
        return NULL;
    if (!rh_imported_trace_close(f, error))
        return NULL;
    count_gathered(f);
    return g_steal_pointer(&f);
}

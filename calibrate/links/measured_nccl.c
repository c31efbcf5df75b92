/* Reads output of nccl-tests (github.com/NVIDIA/nccl-tests, and rccl-tests): the ranks' placement,
 * then a table of sizes, with the times out of place and in place.
 *
 *     #  Rank  0 Group  0 Pid  43 on worker-0 device  0 [0x0f] NVIDIA A100-SXM4-40GB
 *     #       size         count      type   redop    root     time   algbw   busbw #wrong ...
 *          1048576        262144     float     sum      -1    85.58   12.25   22.97      0 ...
 *
 * The size is that of RhTask.bytes: of an all-gather the gathered bytes, of a reduce-scatter the
 * input. Columns changed over the years, so times are found by the header, counted from the end of
 * the line, where nothing changed. Bandwidths identify the operation: busbw is algbw times a factor
 * of the operation and the number of ranks (PERFORMANCE.md there). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "calibrate/links/measured_private.h"
#include "sim/collective/collective_benchmark.h"

#define TIMES_MOST   2    /* out of place, and in place */
#define SECONDS_MOST 1e4  /* per call: assumed */
#define BUS_OFF_FRAC 0.03 /* bandwidths are printed to hundredths */
#define BUS_OFF      0.02 /* GB/s, likewise */

static const struct {
    const char *name;
    RhOp op;
} ops[] = {
    {"all_reduce", RH_OP_ALL_REDUCE},         {"all_gather", RH_OP_ALL_GATHER},
    {"reduce_scatter", RH_OP_REDUCE_SCATTER}, {"alltoall", RH_OP_ALL_TO_ALL},
    {"broadcast", RH_OP_BROADCAST},           {"sendrecv", RH_OP_SHIFT},
};

typedef struct {
    RhMeasured *out;
    GError **error;
    GPtrArray *hosts; /* char*, owned: of each rank */
    const char *op;   /* the latest NAME_perf; NULL */
    int32_t columns;  /* of the header; 0: not in a table */
    int32_t times[TIMES_MOST], times_count;
    int32_t rows, wrong; /* of the current table; wrong: with wrong results */
    bool tabled;         /* a table stood behind the latest list of ranks */
    bool troubled;       /* a line behind it tells of a failure */
} Reading;

/* --- operations --- */

static double bus_factor(int row, int32_t ranks)
{
    return rh_collective_bus_factor(ops[row].op, ranks);
}

/* Notes the program in a line before a table, a command or "Collective test starting:":
 * "all_reduce_perf", "all_reduce_perf_mpi", or a path of these. Programs that we do not read are
 * noted as such. */
static void note_program(Reading *r, const RhLine *line)
{
    for (int32_t i = 0; i < (int32_t)line->words->len; i++) {
        const char *word = rh_line_word(line, i), *end = strstr(word, "_perf"), *start = end;
        if (!end || (end[5] && !g_str_has_prefix(end + 5, "_mpi")))
            continue;
        while (start > word && (g_ascii_isalnum(start[-1]) || start[-1] == '_'))
            start--;
        g_autofree char *name = g_strndup(start, (gsize)(end - start));
        r->op = rh_intern(name);
    }
}

/* Returns the operation by a file's name: "all_gather.log". */
static const char *op_of_file(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    for (size_t i = 0; i < G_N_ELEMENTS(ops); i++)
        if (strstr(base, ops[i].name))
            return ops[i].name;
    return NULL;
}

/* Returns the operation of a row: reductions name theirs, and the bus bandwidth tells which of the
 * two it is. */
static const char *op_of_row(const RhLine *line, int32_t time, int32_t ranks)
{
    const char *redop = rh_line_word(line, 3);
    double algbw = g_ascii_strtod(rh_line_word(line, time + 1), NULL),
           busbw = g_ascii_strtod(rh_line_word(line, time + 2), NULL);
    bool reduces = g_ascii_isalpha(*redop) && strcmp(redop, "none") != 0;
    for (int i = 0; reduces && algbw >= 1 && i < (int)G_N_ELEMENTS(ops); i++)
        if ((ops[i].op == RH_OP_ALL_REDUCE || ops[i].op == RH_OP_REDUCE_SCATTER) &&
            fabs(busbw / algbw / bus_factor(i, ranks) - 1) < BUS_OFF_FRAC)
            return ops[i].name;
    return NULL;
}

/* --- placement --- */

static int32_t nodes_of(const GPtrArray *hosts)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < hosts->len; i++)
        g_hash_table_add(names, g_ptr_array_index(hosts, i));
    return (int32_t)g_hash_table_size(names);
}

static int32_t ranks_on(const GPtrArray *hosts, const char *host)
{
    int32_t count = 0;
    for (guint i = 0; i < hosts->len; i++)
        count += strcmp(g_ptr_array_index(hosts, i), host) == 0;
    return count;
}

/* Returns whether every host has equally many ranks. */
static bool are_even(const GPtrArray *hosts, int32_t nodes)
{
    for (guint i = 0; i < hosts->len; i++)
        if (ranks_on(hosts, g_ptr_array_index(hosts, i)) * nodes != (int32_t)hosts->len)
            return false;
    return true;
}

/* Returns whether the ranks of each host are numbered consecutively, as the model's placements
 * are, and not dealt over hosts in turn, as srun -m cyclic does. */
static bool are_side_by_side(const GPtrArray *hosts, int32_t nodes)
{
    guint each = hosts->len / (guint)nodes;
    for (guint i = 0; i < hosts->len; i++)
        if (strcmp(g_ptr_array_index(hosts, i), g_ptr_array_index(hosts, i / each * each)) != 0)
            return false;
    return true;
}

/* --- the table --- */

static bool begins_table(const RhLine *line)
{
    return rh_line_find(line, 0, "size") >= 0 && rh_line_find(line, 0, "count") >= 0 &&
           rh_line_find(line, 0, "time") >= 0 && rh_line_find(line, 0, "algbw") >= 0;
}

/* Finds the times by their distance from the end of a row, which has as many words there as the
 * header. */
static void open_table(Reading *r, const RhLine *line)
{
    r->columns = (int32_t)line->words->len;
    r->times_count = 0;
    r->rows = r->wrong = 0;
    for (int32_t at = rh_line_find(line, 0, "time"); at >= 0 && r->times_count < TIMES_MOST;
         at = rh_line_find(line, at + 1, "time"))
        r->times[r->times_count++] = r->columns - at;
}

static bool check_bus(const Reading *r, const RhLine *line, int32_t time, int row)
{
    int32_t ranks = (int32_t)r->hosts->len;
    double algbw = 0, busbw = 0;
    if (!rh_line_number(line, time + 1, 0, 1e9, &algbw, r->error) ||
        !rh_line_number(line, time + 2, 0, 1e9, &busbw, r->error))
        return false;
    double due = algbw * bus_factor(row, ranks);
    if (algbw < 1 || fabs(busbw - due) <= fmax(BUS_OFF, BUS_OFF_FRAC * due))
        return true;
    g_autofree char *what =
        g_strdup_printf("is not the bus bandwidth of %s on %d ranks, %.2f\nhelp: the \"# Rank\" "
                        "lines and the name of the program must be of this table",
                        ops[row].name, ranks, due);
    return rh_line_fail(line, time + 2, what, r->error);
}

static bool read_time(Reading *r, const RhLine *line, int32_t time, int row, double bytes)
{
    RhTimed timed = {.op = ops[row].op,
                     .ranks = (int32_t)r->hosts->len,
                     .nodes = nodes_of(r->hosts),
                     .bytes = bytes,
                     .line = line->number};
    double us = 0, wrong = g_ascii_strtod(rh_line_word(line, time + 3), NULL);
    if (strcmp(rh_line_word(line, time), "N/A") == 0)
        return true;
    if (!rh_line_number(line, time, 1e-3, 1e6 * SECONDS_MOST, &us, r->error))
        return false;
    if (wrong >= 1) { /* "#wrong" counts; the older "error" is a tiny number */
        r->wrong++;
        return true;
    }
    if (!check_bus(r, line, time, row))
        return false;
    timed.seconds = 1e-6 * us;
    g_array_append_val(r->out->rows, timed);
    r->rows++;
    return true;
}

/* Index into `ops`; -1 when there is none. *failed: it cannot be determined, which was reported. */
static int settle_op(Reading *r, const RhLine *line, int32_t time, bool *failed)
{
    const char *name = r->op ? r->op : op_of_row(line, time, (int32_t)r->hosts->len);
    name = name ? name : op_of_file(r->out->name);
    *failed = !name;
    if (!name)
        rh_line_fail(line, 0,
                     "is a size, but of which collective?\nhelp: keep the line of the command in "
                     "the log (all_gather_perf -b ...), or name the file after it",
                     r->error);
    for (int i = 0; name && i < (int)G_N_ELEMENTS(ops); i++)
        if (strcmp(ops[i].name, name) == 0)
            return i;
    return -1;
}

static bool read_row(Reading *r, const RhLine *line)
{
    double bytes = 0;
    bool failed = false;
    int32_t words = (int32_t)line->words->len, first = words - r->times[0];
    if (r->hosts->len == 0)
        return rh_line_fail(line, 0,
                            "is a size, but on which hosts?\nhelp: keep the \"# Rank 0 ... on "
                            "HOST device 0\" lines in the log",
                            r->error);
    if (first < 3)
        return rh_line_fail(line, words,
                            "where the time should be\nhelp: correct the line, or "
                            "delete it",
                            r->error);
    if (!rh_line_number(line, 0, 0, 1e15, &bytes, r->error))
        return false;
    int row = settle_op(r, line, first, &failed);
    if (failed)
        return false;
    for (int32_t i = 0; row >= 0 && bytes > 0 && r->hosts->len > 1 && i < r->times_count; i++)
        if (!read_time(r, line, words - r->times[i], row, bytes))
            return false;
    return true;
}

static void leave_out(Reading *r)
{
    g_array_set_size(r->out->rows, r->out->rows->len - (guint)r->rows);
}

/* Judges the order of the ranks on even hosts. NCCL's rings and trees follow hosts, whatever the
 * order of the ranks; only neighbours of sendrecv are those of the order. */
static void judge_order(Reading *r, const char *name, int32_t nodes)
{
    if (are_side_by_side(r->hosts, nodes) || r->rows == 0)
        return;
    if (strcmp(name, "sendrecv") == 0) {
        leave_out(r);
        rh_measured_note(r->out,
                         "%s: neighbours lie on different hosts (srun -m cyclic?), the model's "
                         "side by side: left out",
                         name);
        return;
    }
    rh_measured_note(r->out,
                     "%s: ranks are dealt over %d hosts in turn (srun -m cyclic?); NCCL's rings "
                     "follow hosts, so these times count as those of ranks side by side",
                     name, nodes);
}

static bool is_modelled(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(ops); i++)
        if (strcmp(ops[i].name, name) == 0)
            return true;
    return false;
}

static void note_empty(Reading *r, const char *name)
{
    if (r->op && !is_modelled(name))
        rh_measured_note(r->out,
                         "%s_perf: %s is not modelled; all_reduce, all_gather, reduce_scatter, "
                         "alltoall, broadcast and sendrecv are",
                         name, name);
    else
        rh_measured_note(r->out,
                         "%s: a table without times: the run ended, or hung, before the first one",
                         name);
}

/* Ends a table; rows with a placement that the model does not have are removed. */
static void close_table(Reading *r)
{
    int32_t ranks = (int32_t)r->hosts->len, nodes = ranks > 0 ? nodes_of(r->hosts) : 0;
    const char *name = r->op ? r->op : "a table";
    if (r->columns == 0)
        return;
    if (r->wrong > 0)
        rh_measured_note(r->out, "%s: %d times of wrong results are left out", name, r->wrong);
    if (ranks == 1)
        rh_measured_note(r->out,
                         "%s of one rank moves nothing; where more were started, the program was "
                         "built without MPI (make MPI=1)",
                         name);
    else if (ranks > 1 && !are_even(r->hosts, nodes)) {
        leave_out(r);
        rh_measured_note(r->out, "%s: %d ranks lie unevenly on %d hosts: left out", name, ranks,
                         nodes);
    } else if (r->rows == 0)
        note_empty(r, name);
    else
        judge_order(r, name, nodes);
    r->columns = 0;
    r->op = NULL;
}

/* Fails where a second list of ranks begins before the first has a table: processes that do not
 * know of each other print side by side. */
static bool check_alone(const Reading *r, const RhLine *line, int32_t at)
{
    if (r->hosts->len == 0 || r->tabled || r->troubled)
        return true;
    g_autofree char *what = g_strdup_printf(
        "is rank 0 twice: two runs of %u rank%s each, which do not know of each other, so the "
        "program was built without MPI\nhelp: make MPI=1 MPI_HOME=..., and measure again",
        r->hosts->len, r->hosts->len == 1 ? "" : "s");
    return rh_line_fail(line, at + 1, what, r->error);
}

/* Reads a rank: "# Rank 8 Group 0 Pid 43 on HOST device 0 [0x0f] NVIDIA H100 80GB HBM3"; older
 * lines have no group. Rank 0 ends a table and begins another list. */
static bool note_rank(Reading *r, const RhLine *line)
{
    int32_t at = rh_line_find(line, 0, "Rank");
    int32_t on = rh_line_find(line, at + 1, "on"), device = rh_line_find(line, on + 1, "device");
    double rank = 0;
    if (at < 0 || at > 1 || on < 0 || device != on + 2 || !rh_line_is_whole(line, at + 1))
        return true;
    if (!rh_line_number(line, at + 1, 0, 1 << 20, &rank, r->error))
        return false;
    if (rank == 0) {
        close_table(r);
        if (!check_alone(r, line, at))
            return false;
        g_ptr_array_set_size(r->hosts, 0);
        r->tabled = r->troubled = false;
    }
    if ((int32_t)rank != (int32_t)r->hosts->len)
        return rh_line_fail(line, at + 1,
                            "is not the next rank\nhelp: one run's ranks stand in order; cut logs "
                            "of several runs apart",
                            r->error);
    g_ptr_array_add(r->hosts, g_strdup(rh_line_word(line, on + 1)));
    g_autoptr(GString) name = g_string_new(NULL);
    for (int32_t i = device + 3; i < (int32_t)line->words->len; i++)
        g_string_append_printf(name, "%s%s", name->len ? " " : "", rh_line_word(line, i));
    r->out->device = rh_intern(name->str);
    return true;
}

static void note_library(Reading *r, const RhLine *line)
{
    int32_t at = rh_line_find(line, 0, "version");
    if (at < 1 || strcmp(rh_line_word(line, at - 1), "NCCL") != 0 || !*rh_line_word(line, at + 1))
        return;
    g_autofree char *text = g_strdup_printf("NCCL %.40s", rh_line_word(line, at + 1));
    r->out->library = rh_intern(text);
}

/* Does a line tell of a failure: "Test CUDA failure", "error", "Killed", "aborted"? */
static bool is_trouble(const RhLine *line)
{
    static const char *const words[] = {"fail", "error", "abort", "killed", "signal"};
    for (int32_t i = 0; i < (int32_t)line->words->len; i++) {
        g_autofree char *word = g_ascii_strdown(rh_line_word(line, i), -1);
        for (size_t k = 0; k < G_N_ELEMENTS(words); k++)
            if (g_str_has_prefix(word, words[k]))
                return true;
    }
    return false;
}

static bool read_line(void *reading, const RhLine *line)
{
    Reading *r = reading;
    if (begins_table(line)) {
        close_table(r);
        open_table(r, line);
        r->tabled = true;
        return true;
    }
    bool ends = rh_line_find(line, 0, "Out") >= 0 && rh_line_find(line, 0, "bounds") >= 0;
    if (r->columns > 0 && rh_line_is_whole(line, 0) && rh_line_is_whole(line, 1))
        return read_row(r, line);
    if (ends)
        close_table(r);
    r->troubled |= is_trouble(line);
    if (r->columns == 0)
        note_program(r, line);
    note_library(r, line);
    return note_rank(r, line);
}

static bool read(RhMeasured *out, const char *text, GError **error)
{
    g_autoptr(GPtrArray) hosts = g_ptr_array_new_with_free_func(g_free);
    Reading r = {.out = out, .error = error, .hosts = hosts};
    if (!rh_measured_lines(out, text, read_line, &r))
        return false;
    close_table(&r);
    return true;
}

static bool begins(const char *text)
{
    const char *at = strstr(text, "algbw");
    while (at && at > text && at[-1] != '\n')
        at--;
    g_auto(RhLine) line = rh_line_new("", 1, at ? at : "");
    return begins_table(&line);
}

const RhMeasuredFormat rh_format_nccl_tests = {"nccl-tests", begins, read};

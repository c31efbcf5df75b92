/* Output of OSU micro-benchmarks (mvapich.cse.ohio-state.edu/benchmarks), on GPUs or hosts:
 *
 *     # ranks=2 nodes=2                           by whoever kept the log: OSU does not say it
 *     # OSU MPI-CUDA Latency Test v7.5
 *     # Size       Avg Latency(us)
 *     1                       2.75
 *
 * Times are one way, or a collective's mean over ranks. Its sizes are those of a rank's part where
 * an all-gather's and an all-to-all's are meant, as MPI counts them. */
#include <string.h>

#include "base/interned_strings.h"
#include "base/units.h"
#include "calibrate/links/measured_private.h"

#define US_MOST    1e10
#define RANKS_MOST (1 << 20)
#define MB         1e6

/* Titles between "OSU MPI..." and "Test". */
static const struct {
    const char *title;
    RhOp op;
    bool message, rate, part; /* part: sizes are of one rank's part, or one pair's */
} titles[] = {
    {"Latency", RH_OP_SHIFT, true, false, false},
    {"Bandwidth", RH_OP_SHIFT, true, true, false},
    {"Allreduce Latency", RH_OP_ALL_REDUCE, false, false, false},
    {"Allgather Latency", RH_OP_ALL_GATHER, false, false, true},
    {"Reduce_scatter Latency", RH_OP_REDUCE_SCATTER, false, false, false},
    {"Broadcast Latency", RH_OP_BROADCAST, false, false, false},
    {"All-to-All Personalized Exchange Latency", RH_OP_ALL_TO_ALL, false, false, true},
};

typedef struct {
    RhMeasured *out;
    int row;     /* of titles; -1: no table, or one that is not read */
    bool headed; /* "# Size" has been read */
    double ranks, nodes;
    GError **error;
} Reading;

static int row_titled(const char *title)
{
    for (size_t i = 0; i < G_N_ELEMENTS(titles); i++)
        if (strcmp(titles[i].title, title) == 0)
            return (int)i;
    return -1;
}

/* Reads a title: "# OSU MPI-CUDA Allreduce Latency Test v7.5". */
static void begin_table(Reading *r, const RhLine *line, int32_t osu)
{
    int32_t test = rh_line_find(line, osu, "Test");
    g_autoptr(GString) title = g_string_new(NULL);
    for (int32_t i = osu + 2; i < test; i++)
        g_string_append_printf(title, "%s%s", title->len ? " " : "", rh_line_word(line, i));
    r->row = row_titled(title->str);
    r->headed = false;
    if (r->row < 0)
        rh_measured_note(
            r->out,
            "OSU's %.60s: not fitted; osu_latency, osu_bw and the blocking collectives "
            "osu_allreduce, osu_allgather, osu_reduce_scatter, osu_bcast and "
            "osu_alltoall are",
            title->str);
    else {
        g_autofree char *library = g_strdup_printf("OSU %.20s", rh_line_word(line, test + 1));
        r->out->library = rh_intern(library);
    }
}

static bool read_place(Reading *r, const RhLine *line, int32_t word)
{
    const char *text = rh_line_word(line, word), *equals = strchr(text, '=');
    double *value = g_str_has_prefix(text, "ranks=")   ? &r->ranks
                    : g_str_has_prefix(text, "nodes=") ? &r->nodes
                                                       : NULL;
    int64_t number = 0;
    if (!value)
        return true;
    if (!rh_integer_parse(equals + 1, 1, RANKS_MOST, &number, NULL))
        return rh_line_fail(line, word, "is not a number of them\nhelp: \"# ranks=2 nodes=2\"",
                            r->error);
    *value = (double)number;
    return true;
}

static bool check_place(const Reading *r, const RhLine *line)
{
    bool even = r->nodes > 0 && r->ranks >= r->nodes &&
                (int32_t)r->ranks % (int32_t)r->nodes == 0 && r->ranks > 1;
    return (even && (!titles[r->row].message || r->ranks == 2)) ||
           rh_line_fail(line, 0,
                        "is a size, but of how many ranks, and as many on each of how many "
                        "nodes?\nhelp: OSU does not print it: put a line \"# ranks=2 nodes=2\" "
                        "above its title",
                        r->error);
}

static bool read_row(Reading *r, const RhLine *line)
{
    double size = 0, value = 0;
    bool rate = titles[r->row].rate;
    if (!check_place(r, line) || !rh_line_number(line, 0, 0, 1e15, &size, r->error) ||
        !rh_line_number(line, 1, 1e-6, US_MOST, &value, r->error))
        return false;
    if (size == 0)
        return true;
    if (rate) {
        rh_measured_rate(r->out, r->nodes > 1 ? RH_RATE_NODES : RH_RATE_PEER, MB * value, size);
        return true;
    }
    RhTimed timed = {.op = titles[r->row].op,
                     .message = titles[r->row].message,
                     .ranks = (int32_t)r->ranks,
                     .nodes = (int32_t)r->nodes,
                     .bytes = titles[r->row].part ? size * r->ranks : size,
                     .seconds = 1e-6 * value,
                     .line = line->number};
    g_array_append_val(r->out->rows, timed);
    return true;
}

static bool read_line(void *reading, const RhLine *line)
{
    Reading *r = reading;
    int32_t osu = rh_line_find(line, 0, "OSU");
    if (strcmp(rh_line_word(line, 0), "#") == 0) {
        if (osu == 1)
            begin_table(r, line, osu);
        r->headed = r->headed || rh_line_find(line, 0, "Size") == 1;
        for (int32_t i = 1; i < (int32_t)line->words->len; i++)
            if (!read_place(r, line, i))
                return false;
        return true;
    }
    return r->row < 0 || !r->headed || !rh_line_is_whole(line, 0) || read_row(r, line);
}

static bool read(RhMeasured *out, const char *text, GError **error)
{
    Reading r = {.out = out, .row = -1, .error = error};
    return rh_measured_lines(out, text, read_line, &r);
}

static bool begins(const char *text)
{
    return strstr(text, "# OSU ") != NULL;
}

const RhMeasuredFormat rh_format_osu = {"OSU micro-benchmarks", begins, read};

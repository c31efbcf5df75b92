/* rehearse collective OP -p PLATFORM: times and bus bandwidth of a collective by size. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/nearest_names.h"
#include "calibrate/links/links_fit.h"
#include "cli/inputs/inputs_settings.h"
#include "cli/output/output_file.h"
#include "cli/parse/commands.h"
#include "platforms/fabric/collective_library.h"
#include "platforms/profile.h"
#include "report/collective.h"
#include "sim/collective/library_choice.h"

#define SIZES_MOST 64
#define SIZE_MOST  (double)(INT64_C(1) << 44)

/* Names as people and benchmarks write them; of those alike the first is shown. A reduce is a broadcast the other way
 * round, and a gather a scatter: links are full duplex and alike both ways. */
static const struct {
    const char *name;
    RhOp op;
    RhMessageBenchmark messages;
} names[] = {{"all-reduce", RH_OP_ALL_REDUCE, RH_MESSAGES_NONE},
             {"all_reduce", RH_OP_ALL_REDUCE, RH_MESSAGES_NONE},
             {"allreduce", RH_OP_ALL_REDUCE, RH_MESSAGES_NONE},
             {"all-gather", RH_OP_ALL_GATHER, RH_MESSAGES_NONE},
             {"all_gather", RH_OP_ALL_GATHER, RH_MESSAGES_NONE},
             {"allgather", RH_OP_ALL_GATHER, RH_MESSAGES_NONE},
             {"reduce-scatter", RH_OP_REDUCE_SCATTER, RH_MESSAGES_NONE},
             {"reduce_scatter", RH_OP_REDUCE_SCATTER, RH_MESSAGES_NONE},
             {"all-to-all", RH_OP_ALL_TO_ALL, RH_MESSAGES_NONE},
             {"alltoall", RH_OP_ALL_TO_ALL, RH_MESSAGES_NONE},
             {"broadcast", RH_OP_BROADCAST, RH_MESSAGES_NONE},
             {"bcast", RH_OP_BROADCAST, RH_MESSAGES_NONE},
             {"reduce", RH_OP_BROADCAST, RH_MESSAGES_NONE},
             {"barrier", RH_OP_BARRIER, RH_MESSAGES_NONE},
             {"sendrecv", RH_OP_SHIFT, RH_MESSAGES_NONE},
             {"scatter", RH_OP_SHIFT, RH_MESSAGES_SCATTER},
             {"gather", RH_OP_SHIFT, RH_MESSAGES_SCATTER},
             {"latency", RH_OP_SHIFT, RH_MESSAGES_LATENCY},
             {"bandwidth", RH_OP_SHIFT, RH_MESSAGES_BANDWIDTH},
             {"bidirectional", RH_OP_SHIFT, RH_MESSAGES_BIDIRECTIONAL},
             {"put", RH_OP_SHIFT, RH_MESSAGES_PUT},
             {"get", RH_OP_SHIFT, RH_MESSAGES_GET}};

/* Returns the first name of what the row says; of a reduce and a gather their own. */
static const char *name_of(size_t row)
{
    if (g_str_equal(names[row].name, "reduce") || g_str_equal(names[row].name, "gather"))
        return names[row].name;
    size_t i = 0;
    while (names[i].op != names[row].op || names[i].messages != names[row].messages)
        i++;
    return names[i].name;
}

/* Finds the row of a name. */
static bool row_of(const char *name, size_t *row, GError **error)
{
    const char *known[G_N_ELEMENTS(names) + 1] = {NULL};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        known[i] = names[i].name;
        if (strcmp(name, names[i].name) == 0) {
            *row = i;
            return true;
        }
    }
    const char *near = rh_near_name(name, known);
    return rh_fail(
        error, RH_ERROR_USAGE,
        "\"%s\" is no collective\nhelp: %s%s%sthere are all-reduce, all-gather, "
        "reduce-scatter, all-to-all, broadcast, reduce, scatter, gather, barrier and "
        "sendrecv, non-blocking with an i before them (iallreduce); between two GPUs latency, bandwidth, bidirectional, put and get",
        name, near ? "nearest: " : "", near ? near : "", near ? "; " : "");
}

/* Finds what is asked: a name, or with an i before it that of a call which does not block. */
static bool operation_of(const char *name, size_t *row, bool *non_blocking, GError **error)
{
    *non_blocking = name[0] == 'i' && row_of(name + 1, row, NULL);
    RhMessageBenchmark messages = *non_blocking ? names[*row].messages : RH_MESSAGES_NONE;
    if (*non_blocking && (messages == RH_MESSAGES_NONE || messages == RH_MESSAGES_SCATTER))
        return true;
    return row_of(name, row, error);
}

/* --- sizes --- */

/* Parses "8", "64K", "1M", "8GiB", "1e9B"; letters alone are powers of 1,024, as in nccl-tests. */
static bool parse_size(const char *text, double *bytes, GError **error)
{
    gsize length = strlen(text);
    bool letter = length > 0 && strchr("KMGT", g_ascii_toupper(text[length - 1]));
    bool plain = length > 0 && g_ascii_isdigit(text[length - 1]);
    g_autofree char *stem = letter ? g_strndup(text, length - 1) : g_strdup(text);
    g_autofree char *whole =
        letter  ? g_strdup_printf("%s%ciB", stem, g_ascii_toupper(text[length - 1]))
        : plain ? g_strconcat(text, "B", NULL)
                : g_strdup(text);
    if (!rh_quantity_parse_like(whole, RH_QUANTITY_BYTES, "1MiB", bytes, error)) {
        g_prefix_error(error, "--size: ");
        if (error && *error)
            (*error)->code = RH_ERROR_USAGE;
        return false;
    }
    *bytes = floor(*bytes);
    if (*bytes >= 1 && *bytes <= SIZE_MOST)
        return true;
    return rh_fail(error, RH_ERROR_USAGE, "--size: \"%s\" is not between 1 B and 16 TiB", text);
}

/* Adds the ends of "1M..8G" and the powers of two times the first between them. */
static bool add_range(GArray *sizes, const char *text, GError **error)
{
    if (!*text)
        return rh_fail(error, RH_ERROR_USAGE, "--size: a size is missing beside a comma");
    g_auto(GStrv) ends = g_strsplit(text, "..", 2);
    double low = 0, high = 0;
    if (!parse_size(ends[0], &low, error) || !parse_size(ends[ends[1] ? 1 : 0], &high, error))
        return false;
    if (high < low)
        return rh_fail(error, RH_ERROR_USAGE, "--size: \"%s\" ends before it begins", text);
    for (; low <= high; low *= 2)
        g_array_append_val(sizes, low);
    return true;
}

static gint ascending(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static GArray *sizes_of(const char *text, GError **error)
{
    g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(double));
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    for (char **part = parts; *part; part++)
        if (!add_range(sizes, *part, error))
            return NULL;
    if (sizes->len == 0 || sizes->len > SIZES_MOST) {
        rh_fail(error, RH_ERROR_USAGE, "--size: between 1 and %d sizes are listed", SIZES_MOST);
        return NULL;
    }
    g_array_sort(sizes, ascending);
    return g_steal_pointer(&sizes);
}

/* --- the platform and who calls --- */

static RhPlatform *platform_of(const RhArguments *a, const char **profile, GError **error)
{
    g_autoptr(RhPlatform) p = rh_platform_load(a->platform, error);
    if (!p)
        return NULL;
    bool own = a->profile && rh_profile_has_links(a->profile);
    const char *fitted = own ? NULL : rh_platform_links_profile(p);
    *profile = fitted ? fitted : a->profile;
    if (fitted && !rh_platform_apply_profile(p, fitted, error))
        return NULL;
    if (a->profile && !rh_platform_apply_profile(p, a->profile, error))
        return NULL;
    for (guint i = 0; i < a->sets->len; i++) {
        const char *set = g_ptr_array_index(a->sets, i);
        g_auto(GStrv) parts = g_strsplit(set, "=", 2);
        if (!parts[0] || !parts[1]) {
            rh_fail(error, RH_ERROR_USAGE, "--set needs KEY=VALUE, \"%s\" given", set);
            return NULL;
        }
        if (!rh_inputs_set_platform(p, parts[0], parts[1], error))
            return NULL;
    }
    if ((a->library && !rh_platform_set(p, "library", a->library, error)) ||
        (p->library && !rh_library_check_names(p->library, error)))
        return NULL;
    return g_steal_pointer(&p);
}

/* Spreads the ranks over as few nodes as hold them, equally many on each. */
static bool set_ranks(RhCollectiveBenchmark *benchmark, int64_t ranks, const RhPlatform *p,
                      GError **error)
{
    int64_t gpus = (int64_t)p->nodes_count * p->gpus_per_node, nodes;
    ranks = ranks > 0 ? ranks : gpus;
    if (ranks > gpus)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--ranks %" G_GINT64_FORMAT ": %s has %" G_GINT64_FORMAT " GPUs\n"
                       "help: NAME:NODES makes it larger, as dgx-h100:16",
                       ranks, p->name, gpus);
    nodes = (ranks + p->gpus_per_node - 1) / p->gpus_per_node;
    if (ranks < 2 || ranks % nodes != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       ranks < 2 ? "a collective needs two GPUs\nhelp: --ranks 2 or more"
                                 : "--ranks: %" G_GINT64_FORMAT " ranks do not lie equally on "
                                   "%" G_GINT64_FORMAT " nodes\nhelp: take a multiple of the "
                                   "nodes",
                       ranks, nodes);
    benchmark->ranks = (int32_t)ranks;
    benchmark->nodes = (int32_t)nodes;
    return true;
}

/* --- a log --- */

static bool is_of(const RhTimed *row, const RhCollectiveBenchmark *benchmark)
{
    return row->op == benchmark->op && !row->message && row->ranks == benchmark->ranks &&
           row->nodes == benchmark->nodes && row->seconds > 0 && row->bytes >= 1;
}

/* Takes sizes and times of the operation from a log, and who called: of several placements that of
 * the most ranks. */
static bool read_log(const char *path, size_t operation, const RhPlatform *p,
                     RhCollectiveBenchmark *benchmark, GArray *sizes, GArray *measured,
                     GError **error)
{
    g_autoptr(RhMeasured) log = rh_measured_load(path, error);
    g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
    if (!log || !rh_links_place(log, p, notes, error))
        return false;
    for (guint i = 0; i < log->rows->len; i++) {
        const RhTimed *row = &g_array_index(log->rows, RhTimed, i);
        if (row->op != benchmark->op || row->message || row->ranks <= benchmark->ranks)
            continue;
        benchmark->ranks = row->ranks;
        benchmark->nodes = row->nodes;
    }
    for (guint i = 0; i < log->rows->len; i++) {
        const RhTimed *row = &g_array_index(log->rows, RhTimed, i);
        bool again = sizes->len > 0 && g_array_index(sizes, double, sizes->len - 1) == row->bytes;
        if (!is_of(row, benchmark) || again) /* in place, behind out of place */
            continue;
        g_array_append_val(sizes, row->bytes);
        g_array_append_val(measured, row->seconds);
    }
    for (guint i = 0; i < notes->len; i++)
        fprintf(stderr, "note: %s\n", (const char *)g_ptr_array_index(notes, i));
    if (benchmark->ranks >= 2 && sizes->len > 0)
        return true;
    return rh_fail(error, RH_ERROR_INPUT,
                   "%s: no times of %s\nhelp: name the collective that the log is of", path,
                   name_of(operation));
}

/* --- the answer --- */

typedef struct {
    size_t row; /* of names */
    RhCollectiveBenchmark benchmark;
    RhPlatform *platform;
    const char *profile;
    GArray *sizes, *measured, *points;
} Answer;

static void answer_clear(Answer *a)
{
    rh_platform_free(a->platform);
    g_clear_pointer(&a->sizes, g_array_unref);
    g_clear_pointer(&a->measured, g_array_unref);
    g_clear_pointer(&a->points, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answer, answer_clear)

/* Places the two that talk on two nodes, where there are two. */
static bool set_pair(RhCollectiveBenchmark *benchmark, int64_t ranks, const RhPlatform *p,
                     GError **error)
{
    if ((ranks > 0 && ranks != 2) || (int64_t)p->nodes_count * p->gpus_per_node < 2)
        return rh_fail(
            error, RH_ERROR_USAGE,
            "latency, bandwidth, bidirectional, put and get are of two GPUs\nhelp: leave "
            "--ranks out, and take a platform that has two");
    benchmark->ranks = 2;
    benchmark->nodes = MIN(p->nodes_count, 2);
    return true;
}

static bool set_callers(Answer *out, const RhArguments *a, GError **error)
{
    RhMessageBenchmark messages = out->benchmark.messages;
    return messages == RH_MESSAGES_NONE || messages == RH_MESSAGES_SCATTER
               ? set_ranks(&out->benchmark, a->ranks, out->platform, error)
               : set_pair(&out->benchmark, a->ranks, out->platform, error);
}

static GArray *asked_sizes(const Answer *out, const RhArguments *a, GError **error)
{
    bool barrier = out->benchmark.op == RH_OP_BARRIER;
    if (barrier && a->size) {
        rh_fail(error, RH_ERROR_USAGE, "--size: a barrier has no size\nhelp: leave it out");
        return NULL;
    }
    return sizes_of(a->size                                       ? a->size
                    : barrier                                     ? "8"
                    : out->benchmark.messages == RH_MESSAGES_NONE ? "8K..8G"
                                                                  : "8..4M",
                    error);
}

static bool fill(Answer *out, const RhArguments *a, GError **error)
{
    bool *non_blocking = &out->benchmark.non_blocking;
    if (!operation_of(g_ptr_array_index(a->operands, 0), &out->row, non_blocking, error))
        return false;
    if (*non_blocking ? a->froms->len > 0 : rh_arguments_given(a, "--tests"))
        return rh_fail(error, RH_ERROR_USAGE,
                       *non_blocking ? "--from: logs of calls that block alone are read here"
                                     : "--tests: the call blocks\nhelp: iallreduce does not");
    if (*non_blocking && a->call_s > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--call: how calls that do not block are wrapped is not modelled\n"
                       "help: leave it out, or ask for the call that blocks");
    out->benchmark.tests = (int32_t)a->tests;
    out->benchmark.call_s = a->call_s;
    out->benchmark.op = names[out->row].op;
    out->benchmark.messages = names[out->row].messages;
    out->platform = platform_of(a, &out->profile, error);
    if (!out->platform)
        return false;
    if (a->froms->len == 0) {
        out->sizes = asked_sizes(out, a, error);
        return out->sizes && set_callers(out, a, error);
    }
    if (out->benchmark.messages != RH_MESSAGES_NONE)
        return rh_fail(error, RH_ERROR_USAGE, "--from: logs of collectives alone are read here");
    out->sizes = g_array_new(FALSE, FALSE, sizeof(double));
    out->measured = g_array_new(FALSE, FALSE, sizeof(double));
    return read_log(g_ptr_array_index(a->froms, 0), out->row, out->platform, &out->benchmark,
                    out->sizes, out->measured, error);
}

static void compute(Answer *a)
{
    a->points = g_array_new(FALSE, TRUE, sizeof(RhCollectivePoint));
    g_array_set_clear_func(a->points, (GDestroyNotify)rh_collective_point_clear);
    for (guint i = 0; i < a->sizes->len; i++) {
        RhCollectivePoint point =
            rh_collective_point(&a->benchmark, g_array_index(a->sizes, double, i), a->platform);
        g_array_append_val(a->points, point);
    }
}

static bool write_files(const RhArguments *a, const RhCollectiveAnswer *answer, GError **error)
{
    for (guint i = 0; i < a->outputs->len; i++) {
        const char *path = g_ptr_array_index(a->outputs, i);
        RhOutput kind = rh_output_kind(path);
        g_autofree char *text = kind == RH_OUTPUT_SVG   ? rh_report_collective_svg(answer)
                                : kind == RH_OUTPUT_CSV ? rh_report_collective_csv(answer)
                                                        : rh_report_collective_json(answer);
        if (!rh_output_write(path, text, error))
            return false;
    }
    return true;
}

static int run(const RhArguments *a, GError **error)
{
    static const RhOutput kinds[] = {RH_OUTPUT_JSON, RH_OUTPUT_CSV, RH_OUTPUT_SVG, RH_OUTPUT_NONE};
    if (!rh_outputs_check(a->outputs, kinds, error) || !rh_outputs_spare_inputs(a, error))
        return 2;
    if (a->froms->len > 0 && (a->size || a->ranks > 0)) {
        rh_fail(error, RH_ERROR_USAGE,
                "--from: the log says sizes and ranks\nhelp: leave --size and --ranks out");
        return 2;
    }
    g_auto(Answer) found = {.benchmark = {.op = RH_OP_NONE}};
    if (!fill(&found, a, error))
        return 3;
    compute(&found);
    g_auto(GStrv) argv = rh_arguments_words(a->recorded);
    g_autofree char *operation =
        g_strconcat(found.benchmark.non_blocking ? "non-blocking " : "", name_of(found.row), NULL);
    RhCollectiveAnswer answer = {
        .version = RH_VERSION,
        .argv = (const char *const *)argv,
        .operation = operation,
        .benchmark = &found.benchmark,
        .platform = found.platform,
        .given = found.profile == a->profile && a->profile != NULL,
        .profile = found.profile,
        .points = found.points,
        .measured_s = found.measured ? (const double *)(void *)found.measured->data : NULL,
        .log = found.measured ? g_ptr_array_index(a->froms, 0) : NULL};
    g_autofree char *text = a->json ? rh_report_collective_json(&answer)
                                    : rh_report_collective_text(&answer, a->verbosity > 0);
    fputs(text, stdout);
    rh_output_answered();
    return write_files(a, &answer, error) ? 0 : 3;
}

static const RhOption own[] = {
    RH_OPTION(platform, "platform", 'p', RH_OPTION_TEXT, "FILE|NAME",
              "cluster: a file, NAME:NODES as dgx-h100:8, or one line: "
              "\"h100-sxm:8x4,ib:400Gb/s\"",
              .required = true, .names = rh_platform_names),
    RH_OPTION(size, "size", 0, RH_OPTION_TEXT, "A..B",
              "sizes of the buffer: 8K..8G doubles from one to the other, 1M,64M lists"),
    RH_OPTION(ranks, "ranks", 0, RH_OPTION_INTEGER, "N", "GPUs that call it (all of the platform)",
              .low = 1, .high = 1 << 22),
    RH_OPTION(tests, "tests", 0, RH_OPTION_INTEGER, "N",
              "calls of MPI_Test while a non-blocking collective runs, evenly spaced",
              .otherwise = "0", .low = 0, .high = 1000000),
    RH_OPTION(
        call_s, "call", 0, RH_OPTION_QUANTITY, "400ns",
        "time of every call beside the library, as a binding of another language takes (none)",
        .quantity = RH_QUANTITY_S),
    RH_OPTION(froms, "from", 0, RH_OPTION_LIST, "LOG",
              "a log of nccl-tests or the like, set beside the predictions"),
    RH_OPTION(profile, "profile", 0, RH_OPTION_TEXT, "FILE|NAME",
              "measured constants of links (the catalogue's for such GPUs and links)",
              .names = rh_profile_names),
    RH_OPTION(library, "library", 0, RH_OPTION_TEXT, "FILE|NAME",
              "communication library: nccl, rccl, mvapich, mvapich-x, intel-mpi, open-mpi, mpi "
              "(the platform's)",
              .names = rh_library_names),
    RH_OPTION(sets, "set", 0, RH_OPTION_LIST, "KEY=VALUE", "change one constant of the platform"),
    RH_OPTION(outputs, "output", 'o', RH_OPTION_LIST, "FILE",
              "also write the answer, as .json, .csv or .svg", .neutral = true),
    RH_OPTION(json, "json", 0, RH_OPTION_FLAG, NULL, "one JSON document on stdout, nothing else",
              .neutral = true),
    RH_OPTION(verbosity, "verbose", 'v', RH_OPTION_COUNT, NULL,
              "more detail: why each algorithm is chosen", .neutral = true),
    {0}};
static const RhOption *const tables[] = {own, rh_options_terminal, rh_options_help, NULL};

const RhCommand rh_command_collective = {
    .name = "collective",
    .operands = "OPERATION",
    .operands_low = 1,
    .operands_high = 1,
    .summary = "what bandwidth should an all-reduce reach here?",
    .about = "OPERATION is all-reduce, all-gather, reduce-scatter, all-to-all, broadcast,\n"
             "reduce, scatter, gather, barrier or sendrecv; or, between two GPUs, on two nodes\n"
             "where there are two, latency, bandwidth, bidirectional, put or get, as OSU's\n"
             "benchmarks count them. For each size: its time on otherwise idle links,\n"
             "algorithm and bus bandwidth as nccl-tests count them, how near that is to the\n"
             "bound of the links' data sheets, and the algorithm that the library chooses\n"
             "(-v: why).\n\n"
             "With an i before its name (iallreduce, ialltoall, ibcast ...) a collective does\n"
             "not block: as much is computed as it takes alone, and its overlap is counted as\n"
             "OSU's benchmarks do. Kernels of NCCL go on by themselves and take SMs from what\n"
             "computes; MPI goes on when it is called (--tests).\n\n"
             "Where the catalogue has constants that were fitted to measured collectives of\n"
             "such GPUs and links, they are taken, in-switch sums (NVLS) among them; else the\n"
             "platform's own. With --from LOG, measured times stand beside the predictions.\n",
    .examples = "rehearse collective all-reduce -p dgx-h100\n"
                "rehearse collective all-gather -p dgx-h100:8 --size 1M..8G -o rates.svg\n"
                "rehearse collective all-reduce -p dgx-h100:2 --from all_reduce.log",
    .tables = tables,
    .run = run,
};

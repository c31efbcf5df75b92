#include "report/collective.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "base/json/json.h"
#include "base/text/text_table.h"
#include "platforms/fabric/collective_library.h"
#include "report/format.h"

#define GB 1e9

static const RhCollectivePoint *point_of(const RhCollectiveAnswer *a, guint i)
{
    return &g_array_index(a->points, RhCollectivePoint, i);
}

static double bus_gb_per_s(const RhCollectiveAnswer *a, guint i, double seconds)
{
    return seconds > 0
               ? point_of(a, i)->bytes * rh_benchmark_bus_factor(a->benchmark) / seconds / GB
               : 0;
}

/* --- text --- */

/* "8 GiB", "1.5 MiB", "1,000 B". Caller frees. */
static char *size_text(double bytes)
{
    static const char *const units[] = {"TiB", "GiB", "MiB", "KiB"};
    double unit = 1024.0 * 1024 * 1024 * 1024;
    for (size_t i = 0; i < G_N_ELEMENTS(units); i++, unit /= 1024)
        if (bytes >= unit && fmod(bytes, unit) == 0)
            return g_strdup_printf("%.0f %s", bytes / unit, units[i]);
    return bytes < 1024 ? g_strdup_printf("%.0f B", bytes)
                        : rh_quantity_format(bytes, RH_QUANTITY_BYTES, 4);
}

static void append_row(RhTable *table, const RhCollectiveAnswer *a, guint i)
{
    const RhCollectivePoint *p = point_of(a, i);
    g_autofree char *size = size_text(p->bytes),
                    *time = rh_quantity_format(p->seconds, RH_QUANTITY_S, 3),
                    *alg = rh_text_number(p->bytes / p->seconds / GB, 3),
                    *bus = rh_text_number(bus_gb_per_s(a, i, p->seconds), 3);
    g_autofree char *bound =
        p->bound_s > 0 ? g_strdup_printf("%.0f %%", 100 * p->bound_s / p->seconds) : g_strdup("");
    if (a->benchmark->non_blocking) {
        g_autofree char *overall = rh_quantity_format(p->overlap.overall_s, RH_QUANTITY_S, 3);
        rh_table_rowf(table, "%s|%s|%s|%.0f %%|%s|%s", size, time, overall,
                      100 * p->overlap.overlap_frac, bus, rh_algo_name(p->algo));
        return;
    }
    if (!a->measured_s) {
        rh_table_rowf(table, "%s|%s|%s|%s|%s|%s", size, time, alg, bus, bound,
                      rh_algo_name(p->algo));
        return;
    }
    g_autofree char *real = rh_quantity_format(a->measured_s[i], RH_QUANTITY_S, 3),
                    *real_bus = rh_text_number(bus_gb_per_s(a, i, a->measured_s[i]), 3);
    rh_table_rowf(table, "%s|%s|%s|%s|%s|%s|%s|%+.0f %%", size, time, bus, bound,
                  rh_algo_name(p->algo), real, real_bus, 100 * (p->seconds / a->measured_s[i] - 1));
}

/* Appends why each algorithm is taken, at the largest size at which it is. */
static void append_reasons(GString *out, const RhCollectiveAnswer *a)
{
    g_string_append(out, "choice of the algorithm, by closed forms without contention:\n");
    for (guint i = 0; i < a->points->len; i++) {
        const RhCollectivePoint *p = point_of(a, i);
        if (i + 1 < a->points->len && point_of(a, i + 1)->algo == p->algo)
            continue;
        g_autofree char *size = size_text(p->bytes);
        g_autofree char *line = g_strdup_printf("  at %s %s", size, p->why ? p->why : "");
        rh_text_wrap(out, line, 4, 79);
    }
}

/* Appends what the library is, and whence its table. */
static void append_library(GString *out, const RhLibrary *library)
{
    if (!library)
        return;
    g_autofree char *line = g_strdup_printf("library: %s%s%s", library->description,
                                            library->source ? "; source: " : "",
                                            library->source ? library->source : "");
    rh_text_wrap(out, line, 2, 79);
}

static void append_constants(GString *out, const RhCollectiveAnswer *a)
{
    g_autofree char *what = rh_collective_bound_text(a->benchmark, a->platform);
    g_autofree char *most = rh_text_number(bus_gb_per_s(a, 0, point_of(a, 0)->bound_s), 3);
    g_autofree char *between =
        a->benchmark->nodes > 1
            ? g_strdup_printf("; between nodes the facts of platform %s", a->platform->name)
            : g_strdup("");
    g_autofree char *limit = g_strdup_printf(
        "bound: %s GB/s of bus bandwidth without latencies, by the data sheet of %s", most, what);
    g_autofree char *line =
        a->given ? g_strdup_printf("latencies and rates: profile %s%s", a->profile, between)
        : a->profile
            ? g_strdup_printf(
                  "latencies and rates: inside a node fitted to measured collectives of the "
                  "communication library with its default settings (profile %s)%s; `plan` and `simulate` take "
                  "lower rates inside a node, measured with NVLink SHARP disabled "
                  "(NCCL_NVLS_ENABLE=0), as in many training recipes; with --profile %s they "
                  "take those of this table",
                  a->profile, between, a->profile)
            : g_strdup_printf(
                  "latencies and rates: those of %s, as `plan` and `simulate` take them; "
                  "no profile of such links is in the catalogue",
                  a->platform->name);
    if (point_of(a, 0)->bound_s > 0)
        rh_text_wrap(out, limit, 2, 79);
    rh_text_wrap(out, line, 2, 79);
    append_library(out, a->platform->library);
}

static void append_error(GString *out, const RhCollectiveAnswer *a)
{
    double worst = 0;
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < a->points->len; i++) {
        double error = point_of(a, i)->seconds / a->measured_s[i] - 1;
        worst = fabs(error) > fabs(worst) ? error : worst;
        error = fabs(error);
        g_array_append_val(errors, error);
    }
    gsl_sort((double *)errors->data, 1, errors->len);
    double median = gsl_stats_median_from_sorted_data((double *)errors->data, 1, errors->len);
    g_autofree char *line = g_strdup_printf(
        "beside %s: median error %.1f %%, worst %+.0f %% (positive: predicted too slow)", a->log,
        100 * median, 100 * worst);
    rh_text_wrap(out, line, 2, 79);
}

/* Appends the time that calls take beside the library. */
static void append_call(GString *out, const RhCollectiveAnswer *a)
{
    if (a->benchmark->call_s <= 0)
        return;
    g_autofree char *each = rh_quantity_format(a->benchmark->call_s, RH_QUANTITY_S, 3);
    g_autofree char *line = g_strdup_printf("calls: %s of each beside the library (--call)", each);
    rh_text_wrap(out, line, 2, 79);
}

char *rh_report_collective_text(const RhCollectiveAnswer *a, bool verbose)
{
    GString *out = g_string_new(NULL);
    const RhLibrary *library = a->platform->library;
    bool pair =
        a->benchmark->messages != RH_MESSAGES_NONE && a->benchmark->messages != RH_MESSAGES_SCATTER;
    g_string_printf(out, "%s%s %s %d GPUs of %s, on %d node%s%s%s\n\n",
                    a->log ? "as in the log: " : "", a->operation, pair ? "between" : "among",
                    a->benchmark->ranks, a->platform->name, a->benchmark->nodes,
                    a->benchmark->nodes > 1 ? "s" : "", library ? ", by " : "",
                    library ? library->name : "");
    g_autoptr(RhTable) table = rh_table_new(a->measured_s ? ">>>><>>>" : ">>>>><");
    rh_table_rowf(table, a->benchmark->non_blocking
                             ? "size|time|beside computing|overlap|busbw GB/s|algorithm"
                         : a->measured_s
                             ? "size|time|busbw GB/s|of bound|algorithm|measured|its busbw|error"
                             : "size|time|algbw GB/s|busbw GB/s|of bound|algorithm");
    for (guint i = 0; i < a->points->len; i++)
        append_row(table, a, i);
    rh_table_append(table, out, "");
    g_string_append_c(out, '\n');
    if (a->measured_s)
        append_error(out, a);
    append_constants(out, a);
    append_call(out, a);
    if (verbose)
        append_reasons(out, a);
    return g_string_free(out, FALSE);
}

/* --- JSON and CSV --- */

char *rh_report_collective_json(const RhCollectiveAnswer *a)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(true);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", "rehearse.collective/1");
    rh_json_put_string(w, "version", a->version);
    rh_json_begin_array(w, "argv");
    for (int i = 0; a->argv[i]; i++)
        rh_json_put_string(w, NULL, a->argv[i]);
    rh_json_end_array(w);
    rh_json_put_string(w, "collective", a->operation);
    rh_json_put_string(w, "platform", a->platform->name);
    rh_json_put_string(w, "profile", a->profile);
    rh_json_put_string(w, "library", a->platform->library ? a->platform->library->name : NULL);
    rh_json_put_int(w, "gpus", a->benchmark->ranks);
    rh_json_put_int(w, "nodes", a->benchmark->nodes);
    rh_json_begin_array(w, "sizes");
    for (guint i = 0; i < a->points->len; i++) {
        const RhCollectivePoint *p = point_of(a, i);
        rh_json_begin_object(w, NULL);
        rh_json_put_number(w, "bytes", p->bytes);
        rh_json_put_number(w, "time_s", p->seconds);
        rh_json_put_number(w, "algorithm_bytes_per_s", p->bytes / p->seconds);
        rh_json_put_number(w, "bus_bytes_per_s", GB * bus_gb_per_s(a, i, p->seconds));
        rh_json_put_number(w, "bound_s", p->bound_s);
        rh_json_put_string(w, "algorithm", rh_algo_name(p->algo));
        rh_json_put_string(w, "why", p->why);
        if (a->benchmark->non_blocking) {
            rh_json_put_number(w, "compute_s", p->overlap.compute_s);
            rh_json_put_number(w, "overall_s", p->overlap.overall_s);
            rh_json_put_number(w, "overlap_frac", p->overlap.overlap_frac);
        }
        if (a->measured_s)
            rh_json_put_number(w, "measured_s", a->measured_s[i]);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

static void append_cell(GString *out, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(out, ",%s", g_ascii_formatd(text, sizeof text, "%.6g", value));
}

char *rh_report_collective_csv(const RhCollectiveAnswer *a)
{
    GString *out = g_string_new("bytes,time_s,bus_gb_per_s,bound_s,algorithm");
    g_string_append(out, a->benchmark->non_blocking ? ",overall_s,overlap_frac\n"
                         : a->measured_s            ? ",measured_s\n"
                                                    : "\n");
    for (guint i = 0; i < a->points->len; i++) {
        const RhCollectivePoint *p = point_of(a, i);
        g_string_append_printf(out, "%.0f", p->bytes);
        append_cell(out, p->seconds);
        append_cell(out, bus_gb_per_s(a, i, p->seconds));
        append_cell(out, p->bound_s);
        g_string_append_printf(out, ",%s", rh_algo_name(p->algo));
        if (a->benchmark->non_blocking) {
            append_cell(out, p->overlap.overall_s);
            append_cell(out, p->overlap.overlap_frac);
        }
        if (a->measured_s)
            append_cell(out, a->measured_s[i]);
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}

/* Logs of collectives, and the fit of a platform's links: what was put in comes out. */
#include "base/interned_strings.h"
#include "calibrate/links/links_fit.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "platforms/platform_constants.h"
#include "platforms/profile.h"
#include "tests/kit/testkit.h"

#define HEADER                                                                                     \
    "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
#define RANKS                                                                                      \
    "#  Rank  0 Group  0 Pid  1 on a device  0 [0x0f] NVIDIA H100 80GB HBM3\n"                     \
    "#  Rank  1 Group  0 Pid  2 on b device  0 [0x0f] NVIDIA H100 80GB HBM3\n"
#define ROW "1048576 262144 float sum -1 100.0 10.49 10.49 0 50.0 20.97 20.97 0\n"

static const RhTimed *row_at(const RhMeasured *log, guint i)
{
    return &g_array_index(log->rows, RhTimed, i);
}

/* --- logs --- */

static void a_log_tells_who_ran_where_and_how_long(void)
{
    g_autoptr(RhMeasured) log = rh_measured_parse(
        "t.log",
        "NCCL version 2.19.3+cuda12.2\n./all_reduce_perf -b 1M\n" RANKS
        "worker-0:1:2 [0] NCCL INFO junk size count\n" HEADER ROW "# Out of bounds values : 0 OK\n",
        NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    CU_ASSERT_EQUAL_FATAL(log->rows->len, 2);
    CU_ASSERT_STRING_EQUAL(log->device, "NVIDIA H100 80GB HBM3");
    CU_ASSERT_STRING_EQUAL(log->library, "NCCL 2.19.3+cuda12.2");
    const RhTimed *apart = row_at(log, 0), *in_place = row_at(log, 1);
    CU_ASSERT_TRUE(apart->op == RH_OP_ALL_REDUCE && apart->ranks == 2 && apart->nodes == 2);
    CU_ASSERT_TRUE(apart->bytes == 1048576 && apart->line == 7);
    RH_CHECK_CLOSE(apart->seconds, 100e-6, 1e-12);
    RH_CHECK_CLOSE(in_place->seconds, 50e-6, 1e-12);
}

/* Rows as they stand in github.com/NVIDIA/nccl-tests issues 78 and 128, dgx-spark-playbooks 103 and
 * NVIDIA/nccl issue 1453; hosts made up.
 * Source: the issues named; a printed bus bandwidth that is not ours of the time refuses a row. */
static void columns_of_other_years_and_launchers_are_found(void)
{
    static const struct {
        const char *table;
        RhOp op;
        double seconds;
        guint rows;
    } logs[] = {
        {"all_reduce_perf -c 0\n" RANKS
         "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
         "33554432 8388608 float sum 1464.2 22.92 22.92 N/A 1458.1 23.01 23.01 N/A\n",
         RH_OP_ALL_REDUCE, 1464.2e-6, 2},
        {"/x/reduce_scatter_perf_mpi -b 8\n" RANKS HEADER
         "0 0 float sum -1 5.70 0.00 0.00 0 5.54 0.00 0.00 0\n"
         "128 4 float sum -1 32.31 0.00 0.00 0 25.35 0.01 0.00 0\n",
         RH_OP_REDUCE_SCATTER, 32.31e-6, 2},
        {"# nccl-tests version 2.20.0 (b4d5bee) nccl-headers=23102 nccl-library=23102\n"
         "# Collective test starting: all_gather_perf\n" RANKS HEADER
         "8192 2048 float none -1 35.15 0.23 0.12 0 30.33 0.27 0.14 0\n",
         RH_OP_ALL_GATHER, 35.15e-6, 2},
        {"[1,0]<stdout>:# Collective test starting: sendrecv_perf\n[1,0]<stdout>:" RANKS
         "[1,0]<stdout>:#  size count type redop root time algbw busbw #wrong\n"
         "[1,0]<stdout>:  8192 2048 float -1 35.15 0.23 0.23 0\n",
         RH_OP_SHIFT, 35.15e-6, 1},
        {"alltoall_perf\n" RANKS HEADER
         "[0]  1048576 262144 float none -1 1626.5 0.64 0.32 0 N/A N/A N/A N/A\n",
         RH_OP_ALL_TO_ALL, 1626.5e-6, 1},
        {RANKS HEADER ROW, RH_OP_ALL_REDUCE, 100e-6, 2}, /* sum, and its bus bandwidth */
        {RANKS "0: " HEADER
               "0:  1048576 262144 float sum -1 50.0 20.97 10.49 0 50.0 20.97 10.49 0\n",
         RH_OP_REDUCE_SCATTER, 50e-6, 2},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(logs); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhMeasured) log = rh_measured_parse("t.log", logs[i].table, &error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(log);
        CU_ASSERT_EQUAL_FATAL(log->rows->len, logs[i].rows);
        CU_ASSERT_EQUAL(row_at(log, 0)->op, logs[i].op);
        RH_CHECK_CLOSE(row_at(log, 0)->seconds, logs[i].seconds, 1e-12);
    }
}

static void what_is_no_time_is_left_out_and_said(void)
{
    static const char *const logs[] = {
        "all_reduce_perf\n#  Rank 0 Pid 1 on a device 0 [0x00] Tesla\n" HEADER ROW,
        "all_reduce_perf\n" RANKS HEADER
        "1048576 262144 float sum -1 100.0 10.49 10.49 3 50.0 20.97 20.97 7\n",
        "hypercube_perf\n" RANKS HEADER ROW,
        "all_reduce_perf\n" RANKS "#  Rank 2 Pid 1 on a device 1 [0x00] Tesla\n" HEADER
        "1048576 262144 float sum -1 100.0 10.49 13.98 0 50.0 20.97 27.96 0\n",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(logs); i++) {
        g_autoptr(RhMeasured) log = rh_measured_parse("t.log", logs[i], NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(log);
        CU_ASSERT_TRUE(log->rows->len == 0 && log->notes->len > 0);
    }
}

static void wrong_logs_are_refused_where_they_are_wrong(void)
{
    static const struct {
        const char *text, *where;
    } wrong[] = {
        {"nothing\n", "t.log:1:1: "},
        {"all_reduce_perf\n" HEADER ROW, "t.log:3:1: "},
        {RANKS HEADER "8 2 float none -1 9.0 0.00 0.00 0 9.0 0.00 0.00 0\n", "t.log:4:1: "},
        {"all_reduce_perf\n" RANKS HEADER "1048576 262144 float\n", "t.log:5:21: "},
        {"all_reduce_perf\n" RANKS HEADER
         " 1048576 262144 float sum -1 fast 10.49 10.49 0 50.0 20.97 20.97 0\n",
         "t.log:5:30: "},
        {"all_reduce_perf\n" RANKS HEADER
         "1048576 262144 float sum -1 -1 10.49 10.49 0 50.0 20.97 20.97 0\n",
         "t.log:5:29: "},
        {"all_reduce_perf\n" RANKS HEADER
         "1048576 262144 float sum -1 100.0 10.49 20.98 0 50.0 20.97 20.97 0\n",
         "t.log:5:41: "},
        {"#  Rank  3 Group  0 Pid  1 on a device  0 [0x0f] H100\n" HEADER, "t.log:1:10: "},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhMeasured) log = rh_measured_parse("t.log", wrong[i].text, &error);
        CU_ASSERT_PTR_NULL(log);
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_TRUE(error && g_str_has_prefix(error->message, wrong[i].where));
    }
    g_autoptr(RhMeasured) named =
        rh_measured_parse("x/all_gather.log",
                          RANKS HEADER "8 2 float none -1 9.0 0.00 0.00 0 9.0 0.00 0.00 0\n", NULL);
    CU_ASSERT_TRUE(named && row_at(named, 0)->op == RH_OP_ALL_GATHER);
}

/* --- segments --- */

static void lines_put_in_are_the_segments_found(void)
{
    static const double fixed_s[] = {10e-6, 20e-6, 60e-6}, rate[] = {1e9, 10e9, 100e9};
    for (int lines = 1; lines <= RH_SEGMENTS_MAX; lines++) {
        RhSegmentPoint points[64];
        RhSegment found[RH_SEGMENTS_MAX];
        size_t count = 0;
        for (double bytes = 64; bytes <= 1 << 30; bytes *= 2) {
            double seconds = HUGE_VAL;
            for (int i = 0; i < lines; i++)
                seconds = fmin(seconds, fixed_s[i] + bytes / rate[i]);
            points[count] = (RhSegmentPoint){bytes, seconds * (count % 2 ? 1.004 : 0.996)};
            count++;
        }
        CU_ASSERT_EQUAL_FATAL(rh_segments_find(points, count, found), lines);
        for (int i = 0; i < lines; i++) {
            CU_ASSERT_TRUE(fabs(found[i].fixed_s - fixed_s[i]) <= 0.05 * fixed_s[i]);
            CU_ASSERT_TRUE(fabs(1 / found[i].s_per_byte / rate[i] - 1) < 0.2);
            CU_ASSERT_TRUE(found[i].fixed_error_s > 0);
        }
    }
    RhSegmentPoint few[] = {{1, 1}, {2, 1}, {2, 1}, {3, 1}};
    RhSegment found[RH_SEGMENTS_MAX];
    CU_ASSERT_EQUAL(rh_segments_find(few, 4, found), 0);
}

/* --- the fit --- */

static const struct {
    const char *key, *value;
    double truth;
} put_in[] = {
    {"nvlink.latency", "1.7us", 1.7e-6},  {"nvlink.efficiency", "0.71", 0.71},
    {"nic.latency", "8us", 8e-6},         {"nic.efficiency", "0.55", 0.55},
    {"collective.launch", "11us", 11e-6},
};

/* Times of a platform with the constants put in, with normal errors of 1 %. */
static RhMeasured *made_by(const RhPlatform *truth, RhOp op, int32_t ranks, int32_t nodes)
{
    RhMeasured *log = g_new0(RhMeasured, 1);
    log->name = g_strdup("made.log");
    log->format = "nccl-tests";
    log->device = log->library = rh_intern("");
    log->rows = g_array_new(FALSE, FALSE, sizeof(RhTimed));
    log->rates = g_array_new(FALSE, FALSE, sizeof(RhRate));
    log->notes = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GRand) random = g_rand_new_with_seed(7 + (guint32)ranks);
    for (double bytes = 512; bytes <= 1 << 28; bytes *= 2) {
        double noise = 0; /* of twelve uniform ones, variance 1 */
        for (int i = 0; i < 12; i++)
            noise += g_rand_double(random) - 0.5;
        RhTimed row = {op, false, ranks, nodes, bytes, 0, 1};
        row.seconds = rh_links_time_s(truth, &row) * (1 + 0.01 * noise);
        g_array_append_val(log->rows, row);
    }
    return log;
}

static bool is_in(const RhLinksFit *fit, const char *key, double truth)
{
    for (guint i = 0; i < fit->facts->len; i++) {
        const RhFittedFact *f = &g_array_index(fit->facts, RhFittedFact, i);
        if (strcmp(f->key, key) == 0)
            return f->fact.low <= truth && truth <= f->fact.high && !f->on_bound &&
                   f->fact.high / f->fact.low < 1.3;
    }
    return false;
}

static void constants_put_in_lie_in_their_intervals(void)
{
    g_autoptr(RhPlatform) before = rh_platform_load("dgx-h100:2", NULL);
    g_autoptr(RhPlatform) truth = rh_platform_copy(before);
    for (size_t i = 0; i < G_N_ELEMENTS(put_in); i++)
        CU_ASSERT_TRUE(rh_platform_set(truth, put_in[i].key, put_in[i].value, NULL));
    g_autoptr(GPtrArray) logs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_measured_free);
    for (int32_t ranks = 2; ranks <= 8; ranks *= 2)
        g_ptr_array_add(logs, made_by(truth, RH_OP_ALL_GATHER, ranks, 1));
    g_ptr_array_add(logs, made_by(truth, RH_OP_REDUCE_SCATTER, 16, 2));
    g_autoptr(RhLinksFit) fit = rh_links_fit(logs, before, 0.2, "2026-11-22", 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_EQUAL(fit->facts->len, G_N_ELEMENTS(put_in));
    for (size_t i = 0; i < G_N_ELEMENTS(put_in); i++)
        CU_ASSERT_TRUE(is_in(fit, put_in[i].key, put_in[i].truth));
    const RhLinksClass *all = &g_array_index(fit->classes, RhLinksClass, fit->classes->len - 1);
    CU_ASSERT_TRUE(all->held_out.count > 3 && all->held_out.p90_frac < 0.03);
    CU_ASSERT_TRUE(all->before.median_frac > 0.1);
    CU_ASSERT_PTR_NULL(fit->untold_rate);
}

/* Small messages alone tell latencies, and no rate: their profile has no word on large ones. */
static void a_log_of_small_sizes_leaves_the_rate_untold(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("dgx-h100:2", NULL);
    g_autoptr(GPtrArray) logs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_measured_free);
    RhMeasured *small = made_by(p, RH_OP_REDUCE_SCATTER, 16, 2);
    g_array_set_size(small->rows, 6);
    g_ptr_array_add(logs, made_by(p, RH_OP_ALL_GATHER, 8, 1));
    g_ptr_array_add(logs, small);
    g_autoptr(RhLinksFit) fit = rh_links_fit(logs, p, 0, "2026-11-22", 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit->untold_rate);
    CU_ASSERT_STRING_EQUAL(fit->untold_rate, "nic.efficiency");
}

/* The platform has other protocols than those that made the times; or leaves constants of one out. */
static void protocols_put_in_come_out(void)
{
    static const struct {
        const char *key, *before, *value; /* before: NULL, left out */
        double truth;
    } constants[] = {{"nvlink.ll.efficiency", "0.05", "0.03", 0.03},
                     {"nvlink.ll.latency", NULL, "0.7us", 0.7e-6},
                     {"nvlink.ll.launch", "5us", "4us", 4e-6},
                     {"nvlink.ll128.efficiency", "0.5", "0.35", 0.35},
                     {"nvlink.ll128.latency", "1.2us", "1.1us", 1.1e-6},
                     {"nvlink.ll128.launch", NULL, "8us", 8e-6},
                     {"nvlink.simple.efficiency", "0.7", "0.85", 0.85},
                     {"nvlink.simple.latency", "1.5us", "3us", 3e-6},
                     {"nvlink.simple.launch", "20us", "30us", 30e-6},
                     {"nvlink.copy", "0.4", "0.6", 0.6}};
    g_autoptr(RhPlatform) before = rh_platform_load("dgx-h100", NULL);
    CU_ASSERT_TRUE(rh_platform_set(before, "nvlink.nvls.efficiency", "0", NULL));
    g_autoptr(RhPlatform) truth = rh_platform_copy(before);
    for (size_t i = 0; i < G_N_ELEMENTS(constants); i++) {
        if (constants[i].before)
            CU_ASSERT_TRUE(rh_platform_set(before, constants[i].key, constants[i].before, NULL));
        CU_ASSERT_TRUE(rh_platform_set(truth, constants[i].key, constants[i].value, NULL));
    }
    g_autoptr(GPtrArray) logs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_measured_free);
    for (int32_t ranks = 2; ranks <= 8; ranks++) {
        g_ptr_array_add(logs, made_by(truth, RH_OP_ALL_GATHER, ranks, 1));
        g_ptr_array_add(logs, made_by(truth, RH_OP_ALL_REDUCE, ranks, 1));
    }
    g_autoptr(RhLinksFit) fit = rh_links_fit(logs, before, 0.2, "2026-11-22", 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_EQUAL(fit->facts->len, G_N_ELEMENTS(constants));
    for (size_t i = 0; i < G_N_ELEMENTS(constants); i++) {
        RhFactRow row;
        CU_ASSERT_TRUE_FATAL(rh_facts_find(fit->platform, constants[i].key, &row));
        RH_CHECK_CLOSE(rh_facts_seen(fit->platform, &row)->value, constants[i].truth, 0.1);
    }
    const RhLinksClass *all = &g_array_index(fit->classes, RhLinksClass, fit->classes->len - 1);
    CU_ASSERT_TRUE(all->held_out.count > 3 && all->held_out.p90_frac < 0.03);
}

static void a_profile_of_links_is_laid_over_its_platform(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("dgx-h100:2", NULL);
    g_autoptr(RhPlatform) truth = rh_platform_copy(p);
    CU_ASSERT_TRUE(rh_platform_set(truth, "nic.efficiency", "0.5", NULL));
    g_autoptr(GPtrArray) logs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_measured_free);
    g_ptr_array_add(logs, made_by(truth, RH_OP_ALL_GATHER, 16, 2));
    g_autoptr(RhLinksFit) fit = rh_links_fit(logs, p, 0, "2026-11-22", 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    g_autofree char *text = rh_links_fit_profile(fit);
    g_autoptr(RhJson) doc = rh_json_parse("p.json", text, strlen(text), NULL);
    CU_ASSERT_TRUE_FATAL(doc && rh_platform_apply_profile_json(p, doc, NULL));
    RH_CHECK_CLOSE(p->nic_efficiency_frac.value, 0.5, 0.05);
    CU_ASSERT_EQUAL(p->nic_efficiency_frac.tag, RH_TAG_FITTED);
    CU_ASSERT_TRUE(p->nic_efficiency_frac.low < p->nic_efficiency_frac.high);
    CU_ASSERT_EQUAL(p->collective_launch_s.value, truth->collective_launch_s.value);
}

static void logs_of_something_else_are_refused(void)
{
    static const struct {
        const char *platform, *device;
        int32_t ranks, nodes;
    } wrong[] = {{"dgx-h100:2", "", 16, 1},
                 {"dgx-h100:2", "", 32, 4},
                 {"dgx-h100:2", "NVIDIA A100-SXM4-80GB", 16, 2},
                 {"lab-star", "", 2, 2}};
    g_autoptr(RhPlatform) truth = rh_platform_load("dgx-h100:4", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhPlatform) p = rh_platform_load(wrong[i].platform, NULL);
        g_autoptr(GPtrArray) logs =
            g_ptr_array_new_with_free_func((GDestroyNotify)rh_measured_free);
        g_ptr_array_add(logs, made_by(truth, RH_OP_ALL_GATHER, wrong[i].ranks, wrong[i].nodes));
        ((RhMeasured *)g_ptr_array_index(logs, 0))->device = rh_intern(wrong[i].device);
        CU_ASSERT_PTR_NULL(rh_links_fit(logs, p, 0.2, "2026-11-22", 0, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
}

/* --- other benchmarks --- */

/* Rates as H100 nodes print them (github.com/NVIDIA/nvbandwidth); fewer GPUs. */
#define COPIES                                                                                     \
    "nvbandwidth Version: v0.8\n\nDevice 0: NVIDIA H100 80GB HBM3 (00000000:19:00)\n\n"            \
    "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"      \
    "           0         1\n 0     55.37     55.33\n\nSUM host_to_device_memcpy_ce 110.70\n\n"    \
    "Running device_to_host_memcpy_ce.\nmemcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n"      \
    "           0         1\n 0     55.20     55.26\n\n"                                           \
    "Running device_to_host_bidirectional_memcpy_ce.\n"                                            \
    "memcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)\n           0\n 0      1.00\n\n"          \
    "Running device_to_device_memcpy_read_ce.\n"                                                   \
    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"                                         \
    "           0         1\n 0       N/A    370.90\n 1    372.05      0.00\n"

static const RhFittedFact *fact_of(const RhLinksFit *fit, const char *key)
{
    for (guint i = 0; i < fit->facts->len; i++) {
        const RhFittedFact *f = &g_array_index(fit->facts, RhFittedFact, i);
        if (strcmp(f->key, key) == 0)
            return f;
    }
    return NULL;
}

static void rates_of_copies_are_measured_constants(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("dgx-h100", NULL);
    g_autoptr(GPtrArray) logs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_measured_free);
    RhMeasured *log = rh_measured_parse("copies.txt", COPIES, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    g_ptr_array_add(logs, log);
    CU_ASSERT_TRUE(log->rates->len == 6 && log->rows->len == 0);
    CU_ASSERT_STRING_EQUAL(log->device, "NVIDIA H100 80GB HBM3");
    g_autoptr(RhLinksFit) fit = rh_links_fit(logs, p, 0.2, "2026-11-22", 0, NULL);
    CU_ASSERT_TRUE_FATAL(fit && fit->facts->len == 2);
    const RhFittedFact *host = fact_of(fit, "host.bandwidth"),
                       *nvlink = fact_of(fit, "nvlink.efficiency");
    CU_ASSERT_TRUE_FATAL(host && nvlink);
    RH_CHECK_CLOSE(host->fact.value, 55.23e9, 1e-9);
    CU_ASSERT_TRUE(host->fact.tag == RH_TAG_MEASURED && host->fact.low == 55.20e9);
    RH_CHECK_CLOSE(nvlink->fact.value, 371.475 / 450, 1e-9);
    g_autofree char *profile = rh_links_fit_profile(fit);
    g_autoptr(RhJson) doc = rh_json_parse("p.json", profile, strlen(profile), NULL);
    CU_ASSERT_TRUE(doc && rh_platform_apply_profile_json(p, doc, NULL));
}

/* OSU's sizes are of a rank's part where MPI counts so. */
static void tables_of_osu_have_the_place_that_is_said_for_them(void)
{
    static const struct {
        const char *text;
        RhTimed due;
    } tables[] = {
        {"# OSU MPI-CUDA Latency Test v7.5\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
         "0 0.95\n1024 2.75\n",
         {RH_OP_SHIFT, true, 2, 2, 1024, 2.75e-6, 6}},
        {"# OSU MPI-CUDA Allreduce Latency Test v5.9\n# Size Avg Latency(us) Min Latency(us)\n"
         "16777216 8630.58 8619.50\n",
         {RH_OP_ALL_REDUCE, false, 2, 2, 16777216, 8630.58e-6, 4}},
        {"# OSU MPI Allgather Latency Test v7.2\n# Size Avg Latency(us)\n[junk] 1 2\n64 9.5\n",
         {RH_OP_ALL_GATHER, false, 2, 2, 128, 9.5e-6, 5}},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        const RhTimed *due = &tables[i].due;
        g_autofree char *text = g_strconcat("# ranks=2 nodes=2\n", tables[i].text, NULL);
        g_autoptr(RhMeasured) log = rh_measured_parse("osu.txt", text, NULL);
        CU_ASSERT_TRUE_FATAL(log && log->rows->len == 1);
        const RhTimed *row = row_at(log, 0);
        CU_ASSERT_TRUE(row->op == due->op && row->message == due->message);
        CU_ASSERT_TRUE(row->bytes == due->bytes && row->line == due->line && row->nodes == 2);
        RH_CHECK_CLOSE(row->seconds, due->seconds, 1e-12);
        g_autoptr(GError) error = NULL; /* without its place */
        g_autoptr(RhMeasured) bare = rh_measured_parse("osu.txt", tables[i].text, &error);
        CU_ASSERT_TRUE(!bare && g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
}

/* A message launches nothing: latency and rate alone, as a ping-pong tells them. */
static void messages_of_osu_tell_the_network(void)
{
    g_autoptr(RhPlatform) p = rh_platform_load("dgx-h100:2", NULL);
    g_autoptr(GString) text = g_string_new("# ranks=2 nodes=2\n# OSU MPI-CUDA Latency Test v7.5\n"
                                           "# Size       Avg Latency(us)\n");
    double hop_s = rh_platform_route_latency_s(p, 0, 8) - p->nic_latency_s.value;
    for (double bytes = 64; bytes <= 1 << 26; bytes *= 2)
        g_string_append_printf(text, "%.0f %.3f\n", bytes, 1e6 * (9e-6 + hop_s + bytes / 40e9));
    g_string_append(text, "# OSU MPI-CUDA Bandwidth Test v7.5\n# Size Bandwidth (MB/s)\n"
                          "4194304 41000.0\n");
    g_autoptr(GPtrArray) logs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_measured_free);
    g_ptr_array_add(logs, rh_measured_parse("osu.txt", text->str, NULL));
    CU_ASSERT_PTR_NOT_NULL_FATAL(g_ptr_array_index(logs, 0));
    g_autoptr(RhLinksFit) fit = rh_links_fit(logs, p, 0.2, "2026-11-22", 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    const RhFittedFact *latency = fact_of(fit, "nic.latency"),
                       *efficiency = fact_of(fit, "nic.efficiency");
    CU_ASSERT_TRUE_FATAL(latency && efficiency && fit->facts->len == 2);
    RH_CHECK_CLOSE(latency->fact.value, 9e-6, 1e-3);
    RH_CHECK_CLOSE(efficiency->fact.value, 40.0 / 50, 1e-3);
    CU_ASSERT_TRUE(fit->notes->len >= 1); /* the rate says 0.82 */
}

static void wrong_benchmarks_are_refused_where_they_are_wrong(void)
{
    static const struct {
        const char *text, *where;
    } wrong[] = {
        {"# OSU MPI Latency Test v7\n# Size Latency (us)\n1 2\n", "t.txt:3:1: "},
        {"# ranks=3 nodes=2\n# OSU MPI Allreduce Latency Test v7\n# Size Latency (us)\n1 2\n",
         "t.txt:4:1: "},
        {"# ranks=x nodes=2\n# OSU MPI Latency Test v7\n", "t.txt:1:3: "},
        {"# ranks=2 nodes=1\n# OSU MPI Latency Test v7\n# Size Latency (us)\n1 fast\n",
         "t.txt:4:3: "},
        {"Running host_to_device_memcpy_ce.\nmemcpy CE bandwidth (GB/s)\n   0  1\n 0  1.0  x\n",
         "t.txt:4:10: "},
        {"Running host_to_device_memcpy_ce.\nmemcpy CE bandwidth (GB/s)\n   0  1\n 0  1.0\n",
         "t.txt:4:8: "},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhMeasured) log = rh_measured_parse("t.txt", wrong[i].text, &error);
        CU_ASSERT_PTR_NULL(log);
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_TRUE(error && g_str_has_prefix(error->message, wrong[i].where));
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"a log tells who ran where and how long", a_log_tells_who_ran_where_and_how_long},
        {"columns of other years and launchers are found",
         columns_of_other_years_and_launchers_are_found},
        {"what is no time is left out and said", what_is_no_time_is_left_out_and_said},
        {"wrong logs are refused where they are wrong",
         wrong_logs_are_refused_where_they_are_wrong},
        {"lines put in are the segments found", lines_put_in_are_the_segments_found},
        {"constants put in lie in their intervals", constants_put_in_lie_in_their_intervals},
        {"a log of small sizes leaves the rate untold",
         a_log_of_small_sizes_leaves_the_rate_untold},
        {"protocols put in come out", protocols_put_in_come_out},
        {"a profile of links is laid over its platform",
         a_profile_of_links_is_laid_over_its_platform},
        {"logs of something else are refused", logs_of_something_else_are_refused},
        {"rates of copies are measured constants", rates_of_copies_are_measured_constants},
        {"tables of OSU have the place that is said for them",
         tables_of_osu_have_the_place_that_is_said_for_them},
        {"messages of OSU tell the network", messages_of_osu_tell_the_network},
        {"wrong benchmarks are refused where they are wrong",
         wrong_benchmarks_are_refused_where_they_are_wrong},
        {NULL, NULL}};
    return rh_test_main("links_fit", tests);
}

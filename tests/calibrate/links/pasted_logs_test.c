/* Logs of links as people paste them: prefixes, orders of ranks, builds without MPI, headings cut
 * off, and benchmarks of copies and of NICs. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/links/links_fit.h"
#include "sim/collective/collective.h"
#include "tests/kit/testkit.h"

#define HEADER "#  size  count  type  redop  root  time  algbw  busbw #wrong\n"

/* A log of `ranks` ranks, `each` on a host, dealt over the hosts in turn if `cyclic`; an all-reduce
 * (or another operation, whose bus bandwidth is `bus` times algbw) takes 30 us and its bytes at
 * 100 GB/s of bus bandwidth; of a rack's ranks 250 us and 840 GB/s. */
static char *log_of(const char *program, int ranks, int each, bool cyclic, double bus,
                    const char *prefix)
{
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%s%s -b 8\n", prefix, program);
    for (int i = 0; i < ranks; i++)
        g_string_append_printf(text, "%s#  Rank %d Group 0 Pid 1 on h%d device 0 [0x0f] NVIDIA X\n",
                               prefix, i, cyclic ? i % (ranks / each) : i / each);
    g_string_append_printf(text, "%s%s", prefix, HEADER);
    for (double bytes = 1 << 20; bytes <= 1 << 28; bytes *= 4) {
        bool rack = ranks > 8;
        double us = (rack ? 250 : 30) + bytes * bus / (rack ? 840e3 : 100e3),
               algbw = bytes / us / 1e3;
        g_string_append_printf(text, "%s%.0f %.0f float sum -1 %.3f %.4f %.4f 0\n", prefix, bytes,
                               bytes / 4, us, algbw, algbw * bus);
    }
    return g_string_free(text, FALSE);
}

static RhMeasured *measured(const char *text, GError **error)
{
    return rh_measured_parse("pasted.log", text, error);
}

static bool notes_say(const RhMeasured *log, const char *words)
{
    for (guint i = 0; i < log->notes->len; i++)
        if (strstr(g_ptr_array_index(log->notes, i), words))
            return true;
    return false;
}

/* Keys and cells as nvbandwidth's json_output.cpp writes them. */
static void json_is_read_like_text(void)
{
    static const char json[] =
        "{\"nvbandwidth\": {\"CUDA Runtime Version\": 12080, \"testcases\": ["
        "{\"bandwidth_description\": \"memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\","
        "\"bandwidth_matrix\": [[\"55.5\", \"54.5\"]], \"name\": \"host_to_device_memcpy_ce\","
        "\"status\": \"Passed\", \"sum\": 110.0},"
        "{\"bandwidth_matrix\": [[\"N/A\", \"390\"], [\"391\", \"N/A\"]],"
        "\"name\": \"device_to_device_memcpy_read_ce\", \"status\": \"Passed\"},"
        "{\"name\": \"host_to_device_memcpy_sm\", \"status\": \"Waived\"}]}}";
    CU_ASSERT_TRUE(rh_measured_begins(json));
    g_autoptr(RhMeasured) log = measured(json, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    CU_ASSERT_EQUAL_FATAL(log->rates->len, 4);
    CU_ASSERT_EQUAL(g_array_index(log->rates, RhRate, 0).kind, RH_RATE_HOST_IN);
    RH_CHECK_CLOSE(g_array_index(log->rates, RhRate, 1).bytes_per_s, 54.5e9, 1e-12);
    CU_ASSERT_EQUAL(g_array_index(log->rates, RhRate, 3).kind, RH_RATE_PEER);
    CU_ASSERT_TRUE(notes_say(log, "copies by kernels"));
    g_autoptr(GError) error = NULL;
    CU_ASSERT_PTR_NULL(measured("{\"nvbandwidth\": {\"testcases\": [{\"name\": "
                                "\"host_to_device_memcpy_ce\", \"bandwidth_matrix\": [[\"x\"]]}]}}",
                                &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "is no rate in GB/s"));
}

static void a_prefix_changes_nothing(void)
{
    static const char *const prefixes[] = {"", "[pod/a/b] ", "2025-11-03T10:00:00.1Z ",
                                           "3: ", "gpu-7: "};
    for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        g_autofree char *text = log_of("all_reduce_perf", 4, 2, false, 1.5, prefixes[i]);
        g_autoptr(RhMeasured) log = measured(text, NULL);
        CU_ASSERT_TRUE(rh_measured_begins(text));
        CU_ASSERT_PTR_NOT_NULL_FATAL(log);
        CU_ASSERT_EQUAL(log->rows->len, 5);
        CU_ASSERT_STRING_EQUAL(log->device, "NVIDIA X");
    }
}

/* NCCL's rings follow hosts whatever the order of ranks; only neighbours of sendrecv follow it. */
static void ranks_dealt_in_turn_count_but_for_neighbours(void)
{
    static const struct {
        const char *program;
        double bus;
        guint rows;
        const char *note;
    } logs[] = {{"all_reduce_perf", 1.5, 5, "dealt over 2 hosts in turn"},
                {"alltoall_perf", 0.75, 5, "dealt over 2 hosts in turn"},
                {"sendrecv_perf", 1, 0, "left out"}};
    for (size_t i = 0; i < G_N_ELEMENTS(logs); i++) {
        g_autofree char *text = log_of(logs[i].program, 4, 2, true, logs[i].bus, "");
        g_autoptr(RhMeasured) log = measured(text, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(log);
        CU_ASSERT_EQUAL(log->rows->len, logs[i].rows);
        CU_ASSERT_TRUE(notes_say(log, logs[i].note));
    }
}

static void two_runs_of_one_rank_were_built_without_mpi(void)
{
    static const char two[] =
        "./all_reduce_perf -b 8\n"
        "#   Rank  0 Pid 1 on a device  0 [0x0f] Tesla V100-SXM2-16GB\n"
        "# nThread 1\n"
        "#   Rank  0 Pid 2 on b device  0 [0x0f] Tesla V100-SXM2-16GB\n" HEADER;
    static const char failed[] = "#   Rank  0 Pid 1 on a device  0 [0x0f] X\n"
                                 "a: Test CUDA failure common.cu:1\n"
                                 "#   Rank  0 Pid 2 on b device  0 [0x0f] X\n" HEADER;
    g_autoptr(GError) error = NULL;
    g_autoptr(RhMeasured) log = measured(two, &error);
    CU_ASSERT_PTR_NULL(log);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "pasted.log:4:"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "built without MPI"));
    g_autoptr(RhMeasured) again = measured(failed, NULL); /* the second run is the one that ran */
    CU_ASSERT_PTR_NOT_NULL(again);
}

static void an_operation_that_is_not_modelled_is_named(void)
{
    g_autofree char *text = log_of("./build/reduce_perf", 4, 2, false, 1, "");
    g_autoptr(RhMeasured) log = measured(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    CU_ASSERT_TRUE(notes_say(log, "reduce is not modelled"));
}

/* 18 hosts of four GPUs are one node of a platform whose nodes are racks. */
static void trays_count_as_their_domain(void)
{
    g_autofree char *text = log_of("all_reduce_perf", 72, 4, false, 2.0 * 71 / 72, "");
    g_autoptr(RhPlatform) rack = rh_platform_load("gb200-nvl72:1", NULL);
    g_autoptr(GPtrArray) logs = g_ptr_array_new_with_free_func((GDestroyNotify)rh_measured_free);
    g_autoptr(GError) error = NULL;
    g_ptr_array_add(logs, measured(text, NULL));
    ((RhMeasured *)logs->pdata[0])->device = "";
    g_autoptr(RhLinksFit) fit = rh_links_fit(logs, rack, 0, "2026-11", 0, &error);
    g_assert_no_error(error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit);
    CU_ASSERT_EQUAL(g_array_index(((RhMeasured *)logs->pdata[0])->rows, RhTimed, 0).nodes, 1);
}

static void a_sum_names_the_test_of_a_matrix_without_heading(void)
{
    static const char cut[] =
        "           0         1\n 0       N/A     26.30\n 1     26.10       N/A\n"
        "\nSUM device_to_device_memcpy_read_ce 52.40\n";
    static const char unnamed[] = "Running host_to_device_memcpy_ce.\n"
                                  "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
                                  "    0\n 0  25.0\nSUM host_to_device_memcpy_ce 25.0\n"
                                  "   0  1\n 0 1.0 2.0\n";
    g_autoptr(RhMeasured) log = measured(cut, NULL);
    g_autoptr(RhMeasured) other = measured(unnamed, NULL);
    CU_ASSERT_TRUE_FATAL(log && other);
    CU_ASSERT_EQUAL_FATAL(log->rates->len, 2);
    CU_ASSERT_EQUAL(g_array_index(log->rates, RhRate, 0).kind, RH_RATE_PEER);
    RH_CHECK_CLOSE(g_array_index(log->rates, RhRate, 0).bytes_per_s, 26.3e9, 1e-12);
    CU_ASSERT_EQUAL(other->rates->len, 1);
    CU_ASSERT_TRUE(notes_say(other, "without its heading"));
}

static void only_rates_one_way_between_peers_count(void)
{
    static const char text[] =
        "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
        "Device: 0, NVIDIA H100 80GB HBM3, pciBusID: 18, pciDeviceID: 0, pciDomainID:0\n"
        "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n"
        "     0 2573.14 30.0\n     1 31.0 2570.0\n"
        "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n"
        "     0 2573.14 378.21\n     1 379.49 2578.12\n"
        "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n"
        "     0 2573.14 700.0\n     1 701.0 2578.12\n"
        "P2P=Enabled Latency (P2P Writes) Matrix (us)\n   GPU     0      1\n     0   2.55   2.11\n";
    g_autoptr(RhMeasured) log = measured(text, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    CU_ASSERT_STRING_EQUAL(log->device, "NVIDIA H100 80GB HBM3");
    CU_ASSERT_EQUAL_FATAL(log->rates->len, 2);
    RH_CHECK_CLOSE(g_array_index(log->rates, RhRate, 1).bytes_per_s, 379.49e9, 1e-12);
}

static void rates_of_a_nic_count_in_either_unit(void)
{
    static const struct {
        const char *title, *unit;
        double rate, bytes_per_s; /* 0: left out */
    } rows[] = {{"RDMA_Write BW Test", "Gb/sec", 386.9, 386.9e9 / 8},
                {"Send BW Test", "MB/sec", 11000, 11000 * 1048576.0},
                {"RDMA_Write Bidirectional BW Test", "Gb/sec", 700, 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strdup_printf(
            "   %s\n #bytes     #iterations    BW peak[%s]    BW average[%s]   MsgRate[Mpps]\n"
            " 65536      5000             1.0             %g               0.7\n",
            rows[i].title, rows[i].unit, rows[i].unit, rows[i].rate);
        g_autoptr(RhMeasured) log = measured(text, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(log);
        CU_ASSERT_EQUAL(log->rates->len, rows[i].bytes_per_s > 0);
        if (log->rates->len > 0)
            RH_CHECK_CLOSE(g_array_index(log->rates, RhRate, 0).bytes_per_s, rows[i].bytes_per_s,
                           1e-12);
    }
}

int main(void)
{
    return rh_test_main(
        "pasted_logs",
        (RhTest[]){
            {"json_is_read_like_text", json_is_read_like_text},
            {"a_prefix_changes_nothing", a_prefix_changes_nothing},
            {"ranks_dealt_in_turn_count_but_for_neighbours",
             ranks_dealt_in_turn_count_but_for_neighbours},
            {"two_runs_of_one_rank_were_built_without_mpi",
             two_runs_of_one_rank_were_built_without_mpi},
            {"an_operation_that_is_not_modelled_is_named",
             an_operation_that_is_not_modelled_is_named},
            {"trays_count_as_their_domain", trays_count_as_their_domain},
            {"a_sum_names_the_test_of_a_matrix_without_heading",
             a_sum_names_the_test_of_a_matrix_without_heading},
            {"only_rates_one_way_between_peers_count", only_rates_one_way_between_peers_count},
            {"rates_of_a_nic_count_in_either_unit", rates_of_a_nic_count_in_either_unit},
            {0}});
}

/* Communication libraries of the catalogue and of files: what their tables say, and what of it a
 * platform takes. */
#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "platforms/fabric/collective_library.h"
#include "platforms/fabric/nccl_protocol.h"
#include "sim/collective/collective.h"
#include "sim/collective/library_choice.h"
#include "tests/kit/engine_kit.h"

static RhPlatform *platform_with(const char *spec, const char *library)
{
    RhPlatform *p = kit_platform(spec);
    CU_ASSERT_TRUE(rh_platform_set(p, "library", library, NULL));
    return p;
}

/* Returns what the platform's library takes for an all-reduce of all its ranks. */
static const char *taken(const RhPlatform *p, double bytes)
{
    int32_t ranks = rh_platform_gpus(p);
    g_autofree int32_t *nodes = g_new(int32_t, ranks);
    for (int32_t i = 0; i < ranks; i++)
        nodes[i] = rh_platform_node_of(p, i);
    return rh_algo_name(rh_collective_choose(RH_OP_ALL_REDUCE, ranks, nodes, bytes, p, NULL));
}

static void every_library_names_what_is_there(void)
{
    int count = 0;
    for (const char *const *name = rh_library_names(); *name; name++, count++) {
        GError *error = NULL;
        const RhLibrary *l = rh_library_by_name(*name, &error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(l);
        CU_ASSERT_STRING_EQUAL(l->name, *name);
        CU_ASSERT_TRUE(rh_library_check_names(l, &error));
        CU_ASSERT_TRUE(l->rows->len == 0 || strlen(l->source) > 20);
    }
    CU_ASSERT_TRUE(count >= 6);
}

/* Source: Open MPI, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c from 4.1 on: with 8 to 15 ranks
 * recursive doubling below 8,192 bytes, else Rabenseifner's; with 64 to 127 below 262,144. */
static void open_mpi_takes_what_its_rules_say(void)
{
    g_autoptr(RhPlatform) few = platform_with("frontera:4", "open-mpi");
    g_autoptr(RhPlatform) many = platform_with("frontera:32", "open-mpi");
    CU_ASSERT_STRING_EQUAL(taken(few, 8191), "recursive-doubling");
    CU_ASSERT_STRING_EQUAL(taken(few, 8192), "rabenseifner");
    CU_ASSERT_STRING_EQUAL(taken(many, 262143), "recursive-doubling");
    CU_ASSERT_STRING_EQUAL(taken(many, 262144), "rabenseifner");
}

/* Source: MVAPICH2 2.3, gen2_cma_FRONTERA_2ppn.h: from 8 KiB on a reduce-scatter and an all-gather
 * with more than 4 ranks, recursive doubling up to 4 KiB. */
static void mvapich_takes_what_its_table_says(void)
{
    g_autoptr(RhPlatform) p = platform_with("frontera:16", "mvapich");
    CU_ASSERT_STRING_EQUAL(taken(p, 4096), "recursive-doubling");
    CU_ASSERT_STRING_EQUAL(taken(p, 8192), "rabenseifner");
    CU_ASSERT_STRING_EQUAL(taken(p, 1 << 30), "rabenseifner");
}

static void several_leaders_are_taken_where_they_are_cheapest(void)
{
    g_autoptr(RhPlatform) p = platform_with("frontera:16", "mvapich-x");
    CU_ASSERT_STRING_EQUAL(taken(p, 1 << 20), "multi-leader");
    g_autoptr(RhPlatform) gpus = platform_with("dgx-h100:2", "nccl");
    CU_ASSERT_STRING_NOT_EQUAL(taken(gpus, 1 << 20), "multi-leader");
}

static void processors_do_not_speak_nccl(void)
{
    g_autoptr(RhPlatform) p = kit_platform("xeon-8280:2x8,ib:100Gb/s");
    g_autoptr(RhPlatform) gpus = kit_platform("h100-sxm:2x8,ib:400Gb/s");
    CU_ASSERT_EQUAL(rh_platform_library_family(p), RH_LIBRARY_MPI);
    CU_ASSERT_EQUAL(rh_platform_library_family(gpus), RH_LIBRARY_GPU);
    CU_ASSERT_STRING_EQUAL(taken(p, 1024), "recursive-doubling");
}

static void rows_are_found_by_ranks_on_a_node_and_in_all(void)
{
    const RhLibrary *l = rh_library_by_name("intel-mpi", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(l);
    const RhLibraryRow *row = rh_library_row(l, "all-reduce", 32, 2);
    CU_ASSERT_TRUE(row && row->ranks_per_node == 2 && row->ranks == 32);
    row = rh_library_row(l, "all-reduce", 33, 3); /* 2 is the most that 3 reaches */
    CU_ASSERT_TRUE(row && row->ranks_per_node == 2 && row->ranks == 64);
    row = rh_library_row(l, "all-reduce", 1 << 20, 56);
    CU_ASSERT_TRUE(row && row->ranks_per_node == 16 && row->ranks == 0);
    CU_ASSERT_PTR_NULL(rh_library_row(l, "broadcast", 8, 2));
}

static void protocols_come_and_go_with_their_library(void)
{
    g_autoptr(RhPlatform) p = kit_platform("h100-sxm:8x1,nvlink:450GB/s");
    CU_ASSERT_FALSE(rh_protocols_any(p, false));
    CU_ASSERT_TRUE(rh_platform_set(p, "library", "rccl", NULL));
    const RhProtocolFacts *ll = rh_protocol_of(p, RH_PROTOCOL_LL, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ll);
    CU_ASSERT_DOUBLE_EQUAL(ll->efficiency_frac.value, 0.08 * p->nvlink_efficiency_frac.value,
                           1e-12);
    CU_ASSERT_TRUE(rh_platform_set(p, "library", "nccl", NULL));
    CU_ASSERT_FALSE(rh_protocols_any(p, false));
    CU_ASSERT_TRUE(rh_platform_set(p, "nvlink.simple.efficiency", "0.7", NULL));
    CU_ASSERT_TRUE(rh_platform_set(p, "library", "rccl", NULL)); /* the platform's own stay */
    CU_ASSERT_PTR_NULL(rh_protocol_of(p, RH_PROTOCOL_LL, false));
}

static const RhLibrary *library_of(const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "rh-library-XXXXXX.json", NULL);
    int fd = g_mkstemp(path);
    CU_ASSERT_TRUE(fd >= 0 && g_close(fd, NULL) && g_file_set_contents(path, text, -1, NULL));
    const RhLibrary *l = rh_library_by_name(path, error);
    CU_ASSERT_EQUAL(g_remove(path), 0);
    return l;
}

#define ROWS(rows)                                                                                 \
    "{\"name\": \"mine\", \"description\": \"d\", \"family\": \"mpi\", \"source\": \"s\", "        \
    "\"rows\": [" rows "]}"

static void bad_files_are_refused(void)
{
    static const char *const bad[] = {
        ROWS("{\"operation\": \"all-reduce\", \"sizes\": []}"),
        ROWS("{\"operation\": \"all-reduce\", \"sizes\": [{\"algorithms\": []}]}"),
        ROWS("{\"operation\": \"all-reduce\", \"sizes\": [{\"to\": \"8KiB\", \"algorithms\": "
             "[\"ring\"]}, {\"to\": \"4KiB\", \"algorithms\": [\"ring\"]}, {\"algorithms\": "
             "[\"ring\"]}]}"),
        "{\"name\": \"mine\", \"description\": \"d\", \"family\": \"cuda\"}"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        CU_ASSERT_PTR_NULL(library_of(bad[i], &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    }
    g_autoptr(GError) error = NULL;
    const RhLibrary *l = library_of(
        ROWS("{\"operation\": \"all-reduce\", \"sizes\": [{\"algorithms\": [\"rnig\"]}]}"), &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(l);
    CU_ASSERT_FALSE(rh_library_check_names(l, &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "rnig"));
}

int main(void)
{
    return rh_test_main(
        "library",
        (RhTest[]){
            {"every_library_names_what_is_there", every_library_names_what_is_there},
            {"open_mpi_takes_what_its_rules_say", open_mpi_takes_what_its_rules_say},
            {"mvapich_takes_what_its_table_says", mvapich_takes_what_its_table_says},
            {"several_leaders_are_taken_where_they_are_cheapest",
             several_leaders_are_taken_where_they_are_cheapest},
            {"processors_do_not_speak_nccl", processors_do_not_speak_nccl},
            {"rows_are_found_by_ranks_on_a_node_and_in_all",
             rows_are_found_by_ranks_on_a_node_and_in_all},
            {"protocols_come_and_go_with_their_library", protocols_come_and_go_with_their_library},
            {"bad_files_are_refused", bad_files_are_refused},
            {0}});
}

/* Output of lstopo and nvidia-smi, where several objects differ or say nothing. */
#include "platforms/machine/machine.h"

#include <string.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

static void read_machine(RhMachine *m, const char *text)
{
    g_autoptr(GError) error = NULL;
    *m = (RhMachine){.nics = -1};
    CU_ASSERT_TRUE(rh_machine_read(m, "machine", text, strlen(text), &error));
    g_assert_no_error(error);
}

#define GPU(speed)                                                                                 \
    "<object type=\"PCIDev\" pci_type=\"0302 [10de:2330]\" pci_link_speed=\"" speed "\"/>"

static void the_slowest_link_of_a_gpu_counts(void)
{
    static const char *const texts[] = {
        "<topology>" GPU("31.5") GPU("15.75") GPU("63.0") "</topology>",
        "<topology>" GPU("15.75") GPU("31.5") GPU("0.0") "</topology>", /* not said */
        "<topology>" GPU("63.0") GPU("1e5") GPU("15.75") "</topology>", /* none so quick */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_auto(RhMachine) m;
        read_machine(&m, texts[i]);
        CU_ASSERT_EQUAL(m.gpus, 3);
        RH_CHECK_CLOSE(m.host_link_bytes_per_s, 15.75e9, 1e-12);
    }
}

static void a_host_has_the_memory_of_all_its_nodes(void)
{
    g_auto(RhMachine) m;
    read_machine(&m, "<topology><object type=\"NUMANode\" local_memory=\"1000\"/>"
                     "<object type=\"NUMANode\" local_memory=\"3000\"/>"
                     "<object type=\"NUMANode\" local_memory=\"-5\"/></topology>");
    CU_ASSERT_EQUAL(m.host_bytes, 4000);
}

static void a_limit_that_is_not_said_changes_nothing(void)
{
    g_auto(RhMachine) m;
    read_machine(&m, "==============NVSMI LOG==============\n"
                     "    Product Name                          : NVIDIA H100\n"
                     "        Current Power Limit               : 650.00 W\n"
                     "        Power Limit                       : N/A\n");
    CU_ASSERT_EQUAL(m.power_w, 650);
    CU_ASSERT_EQUAL(m.gpus, 1);
}

static void a_list_without_a_gpu_is_refused(void)
{
    static const char text[] = "==============NVSMI LOG==============\nDriver Version : 550\n";
    g_auto(RhMachine) m = {.nics = -1};
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(rh_machine_read(&m, "machine", text, strlen(text), &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
}

/* A machine whose GPU is in the catalogue becomes a platform of that GPU; one of another GPU is refused. */
static void a_known_gpu_makes_a_platform(void)
{
    char h100[] = "NVIDIA H100 80GB HBM3", unknown[] = "NVIDIA Q1";
    RhMachine known = {.gpu_name = h100, .gpus = 8, .nics = -1, .nodes = 4};
    RhMachine other = {.gpu_name = unknown, .gpus = 8, .nics = -1};
    g_autoptr(GError) error = NULL;
    g_autofree char *text = rh_machine_platform(&known, "2026-11", NULL, &error);
    g_assert_no_error(error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"derives\": \"dgx-h100\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"nodes\": 4"));
    CU_ASSERT_PTR_NULL(rh_machine_platform(&other, "2026-11", NULL, &error));
    CU_ASSERT_TRUE(error != NULL && strstr(error->message, "NVIDIA Q1") != NULL);
}

/* Trays of a rack are one NVLink domain; how many there are is the list of nodes', or a
 * scheduler's blocks'. */
static void trays_of_a_rack_are_one_node(void)
{
    static const struct {
        int32_t nodes, domain_nodes;
        const char *gpus, *count, *note;
    } rows[] = {
        {36, 0, "\"gpus_per_node\": 72", "\"nodes\": 2", "18 trays of 4 GPUs are one"},
        {32, 0, "\"gpus_per_node\": 64", "\"nodes\": 2", "16 trays of 4 GPUs are one"},
        {36, 9, "\"gpus_per_node\": 36", "\"nodes\": 4", "scheduler's blocks"},
        {0, 0, "\"gpus_per_node\": 4", "\"nodes\": 1", "NVLink goes on to other trays"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char name[] = "NVIDIA GB200";
        RhMachine m = {.gpu_name = name,
                       .gpus = 4,
                       .nics = -1,
                       .nodes = rows[i].nodes,
                       .domain_nodes = rows[i].domain_nodes};
        g_autofree char *hints = NULL, *text = rh_machine_platform(&m, "2026-11", &hints, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[i].gpus));
        CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[i].count));
        CU_ASSERT_PTR_NOT_NULL(strstr(hints, rows[i].note));
    }
}

int main(void)
{
    return rh_test_main(
        "machine",
        (RhTest[]){
            {"the_slowest_link_of_a_gpu_counts", the_slowest_link_of_a_gpu_counts},
            {"a_host_has_the_memory_of_all_its_nodes", a_host_has_the_memory_of_all_its_nodes},
            {"a_limit_that_is_not_said_changes_nothing", a_limit_that_is_not_said_changes_nothing},
            {"a_list_without_a_gpu_is_refused", a_list_without_a_gpu_is_refused},
            {"a_known_gpu_makes_a_platform", a_known_gpu_makes_a_platform},
            {"trays_of_a_rack_are_one_node", trays_of_a_rack_are_one_node},
            {0}});
}

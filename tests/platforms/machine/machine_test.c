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

static void short_lists_and_tables_are_read(void)
{
    g_auto(RhMachine) m, t;
    read_machine(&m, "GPU 0: NVIDIA H200 (UUID: GPU-1)\nGPU 1: NVIDIA H200 (UUID: GPU-2)\n");
    CU_ASSERT_EQUAL(m.gpus, 2);
    CU_ASSERT_STRING_EQUAL(m.gpu_name, "NVIDIA H200");
    read_machine(&t, "| NVIDIA-SMI 570.1   Driver Version: 570.1   CUDA Version: 12.8 |\n"
                     "|   0  NVIDIA L40S          On  |   00000000:01:00.0 Off |       0 |\n"
                     "| N/A   30C    P8     35W /  350W |   1MiB /  46068MiB |   0%   Default |\n");
    CU_ASSERT_EQUAL(t.gpus, 1);
    CU_ASSERT_STRING_EQUAL(t.gpu_name, "NVIDIA L40S");
    CU_ASSERT_EQUAL(t.power_w, 350);
    CU_ASSERT_EQUAL(t.memory_bytes, 46068 * 1048576.0);
    static const char cut[] = "| NVIDIA-SMI 470  Driver Version: 470 |\n"
                              "|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |  0 |\n";
    g_auto(RhMachine) c = {.nics = -1};
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(rh_machine_read(&c, "machine", cut, strlen(cut), &error));
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "cut off"));
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

/* --- networks --- */

static bool reads(RhMachine *m, const char *text, const char *wrong)
{
    g_autoptr(GError) error = NULL;
    bool fine = rh_machine_read(m, "file", text, strlen(text), &error);
    if (wrong && !fine) {
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, wrong));
    } else
        g_assert_no_error(error);
    return fine;
}

static void slurm_s_trees_are_levels_of_switches(void)
{
    static const char *const texts[] = {
        "# comment\nSwitchName=a Nodes=c[01-20]\nSwitchName=b Nodes=c[21-40] # x\n"
        "SwitchName=c Nodes=d[01-20]\nSwitchName=d Nodes=d[21-40]\nSwitchName=p1 Switches=a,b\n"
        "SwitchName=p2 Switches=c,d\n",
        "- topology: t\n  cluster_default: true\n  tree:\n    switches:\n"
        "      - {switch: root, children: \"p[1-2]\"}\n      - {switch: p1, children: \"a,b\"}\n"
        "      - {switch: p2, children: \"c,d\"}\n      - {switch: a, nodes: \"c[01-20]\"}\n"
        "      - {switch: b, nodes: \"c[21-40]\"}\n      - {switch: c, nodes: \"d[01-20]\"}\n"
        "      - {switch: d, nodes: \"d[21-40]\"}\n- topology: flat\n  flat: true\n"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_auto(RhMachine) m = {.nics = -1};
        CU_ASSERT_TRUE(reads(&m, texts[i], NULL));
        CU_ASSERT_EQUAL(m.nodes, 80);
        CU_ASSERT_TRUE(m.has_fabric && m.tiers_count == 2);
        CU_ASSERT_TRUE(m.tiers[0].nodes == 20 && m.tiers[1].nodes == 40);
        CU_ASSERT_EQUAL(m.tiers[0].oversubscription, 0);
    }
}

static void slurm_s_blocks_are_domains(void)
{
    static const char *const texts[] = {
        "BlockName=r1 Nodes=g[01-18]\nBlockName=r2 Nodes=g[19-36]\nBlockSizes=18,36\n",
        "BlockName=r1 Nodes=g[01-18]\nBlockName=r2 Nodes=g[19-36]\n",
        ("- topology: gb\n  block:\n    block_sizes: [18, 36]\n    blocks:\n"
         "      - {block: r1, nodes: \"g[01-18]\"}\n      - {block: r2, nodes: \"g[19-36]\"}\n")};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_auto(RhMachine) m = {.nics = -1};
        CU_ASSERT_TRUE(reads(&m, texts[i], NULL));
        CU_ASSERT_TRUE(m.nodes == 36 && m.domain_nodes == 18 && !m.has_fabric);
    }
}

static void wrong_topologies_of_slurm_are_refused(void)
{
    static const struct {
        const char *text, *wrong;
    } rows[] = {
        {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "below itself"},
        {"SwitchName=a Switches=b\n", "is not in it"},
        {"SwitchName=a\n", "file:1:1:"},
        {"SwitchName=a Nodes=c[1-\n", "file:1:"},
        {"SwitchName= Nodes=c1\n", "a name must stand here"},
        {"- topology: t\n  flat: true\n", "has a tree or blocks"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(RhMachine) m = {.nics = -1};
        CU_ASSERT_FALSE(reads(&m, rows[i].text, rows[i].wrong));
    }
}

/* Four hosts of two NICs, each on a leaf of its own, with half as many uplinks. */
static void ibnetdiscover_tells_leaves_rails_and_oversubscription(void)
{
    g_autoptr(GString) text = g_string_new("vendid=0x2c9\nswitchguid=0x1(1)\n");
    for (int leaf = 0; leaf < 2; leaf++) {
        g_string_append_printf(text, "Switch\t40 \"S-%d\"\t# \"leaf%d\" base port 0 lid 2\n", leaf,
                               leaf);
        for (int host = 0; host < 4; host++)
            g_string_append_printf(text,
                                   "[%d]\t\"H-%d%d\"[1](1) \t# \"node%d mlx5_%d\" lid 4 4xHDR\n",
                                   host + 1, host, leaf, host, leaf);
        for (int up = 0; up < 2; up++)
            g_string_append_printf(text, "[%d]\t\"S-9\"[%d]\t# \"spine\" lid 9 4xHDR\n", 33 + up,
                                   up + 1);
    }
    g_string_append(text, "Ca\t1 \"H-00\"\t# \"node0 mlx5_0\"\n[1](1) \t\"S-0\"[1]\t# lid 5 lmc 0 "
                          "\"leaf0\" lid 2 4xHDR\n");
    g_auto(RhMachine) m = {.nics = -1};
    CU_ASSERT_TRUE(reads(&m, text->str, NULL));
    CU_ASSERT_TRUE(m.nodes == 4 && m.nics == 2);
    RH_CHECK_CLOSE(m.nic_bytes_per_s, 25e9, 1e-12);
    CU_ASSERT_EQUAL_FATAL(m.tiers_count, 1);
    CU_ASSERT_TRUE(m.tiers[0].nodes == 4 && m.tiers[0].rails);
    RH_CHECK_CLOSE(m.tiers[0].oversubscription, 2, 1e-12);
}

/* Two leaves of two hosts with one uplink each, and a host for storage with fewer links. */
static void iblinkinfo_tells_the_same(void)
{
    static const char text[] =
        "Switch: 0x01 leaf1:\n"
        "  1 1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> 5 1[  ] \"n0 HCA-1\" ( )\n"
        "  1 2[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> 6 1[  ] \"n1 HCA-1\" ( )\n"
        "  1 3[  ] ==(        Down/ Polling)==>           [  ] \"\" ( )\n"
        "  1 4[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> 9 1[  ] \"spine\" ( )\n"
        "  1 5[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> 4 1[  ] \"Mellanox Technologies "
        "Aggregation Node\" ( )\n"
        "Switch: 0x02 leaf2:\n"
        "  2 1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> 7 1[  ] \"n2 HCA-1\" ( )\n"
        "  2 2[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> 8 1[  ] \"n3 HCA-1\" ( )\n"
        "  2 4[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> 9 2[  ] \"spine\" ( )\n"
        "Switch: 0x09 spine:\n"
        "  9 1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> 1 4[  ] \"leaf1\" ( )\n";
    g_auto(RhMachine) m = {.nics = -1};
    CU_ASSERT_TRUE(reads(&m, text, NULL));
    CU_ASSERT_TRUE(m.nodes == 4 && m.nics == 1 && m.tiers_count == 1);
    RH_CHECK_CLOSE(m.nic_bytes_per_s, 12.5e9, 1e-12);
    CU_ASSERT_TRUE(m.tiers[0].nodes == 2 && !m.tiers[0].rails);
    RH_CHECK_CLOSE(m.tiers[0].oversubscription, 2, 1e-12);
}

#define XML_GPU(bus, links)                                                                        \
    "<pci busid=\"" bus "\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\" "               \
    "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" sm=\"90\">" links              \
    "</gpu></pci>"
#define XML_SWITCHED "<nvlink target=\"0000:07:00.0\" count=\"18\" tclass=\"0x068000\"/>"
#define XML_NET(dev)                                                                               \
    "<pci busid=\"9" dev "\" class=\"0x020700\"><nic><net name=\"m" dev "\" dev=\"" dev            \
    "\" speed=\"400000\" guid=\"0x" dev "\"/></nic></pci>"

static void nccl_s_topology_tells_gpus_links_and_nics(void)
{
    static const char text[] =
        "<system version=\"1\"><cpu numaid=\"0\" host_hash=\"0x1\"><pci busid=\"s1\">" XML_GPU(
            "g1", XML_SWITCHED) XML_NET("0") "</pci><pci busid=\"s2\">" XML_GPU("g2", XML_SWITCHED)
            XML_NET("1") "</pci></cpu><cpu numaid=\"1\" host_hash=\"0x1\">" XML_NET(
                "2") "</cpu></system>";
    g_auto(RhMachine) m = {.nics = -1};
    CU_ASSERT_TRUE(reads(&m, text, NULL));
    CU_ASSERT_TRUE(m.gpus == 2 && m.nvlinks == 18 && m.island_gpus == 2 && m.nodes == 0);
    CU_ASSERT_EQUAL(m.nics, 2); /* the third is below no GPU's switch */
    CU_ASSERT_STRING_EQUAL(m.gpu_name, "10de:2330");
    RH_CHECK_CLOSE(m.nic_bytes_per_s, 50e9, 1e-12);
    RH_CHECK_CLOSE(m.host_link_bytes_per_s, 64e9 * 128 / 130, 1e-12);
    g_autofree char *json = rh_machine_platform(&m, "2026-11", NULL, NULL);
    CU_ASSERT_TRUE(json && strstr(json, "\"device\": \"h100-sxm\""));
    g_auto(RhMachine) empty = {.nics = -1};
    CU_ASSERT_FALSE(reads(&empty, "<system version=\"1\"><cpu numaid=\"0\"/></system>", "no GPU"));
    CU_ASSERT_FALSE(reads(&empty, "<system version=\"1\"><cpu numaid=\"0\">", "file:1:"));
}

/* NVLinks between GPUs directly are a mesh; hosts in one file are trays of a domain. */
static void nccl_s_meshes_and_domains(void)
{
    static const char mesh[] = "<system version=\"1\"><cpu numaid=\"0\">" XML_GPU(
        "g1", "<nvlink target=\"g2\" count=\"2\" tclass=\"0x030200\"/>")
        XML_GPU("g2", "<nvlink target=\"g1\" count=\"2\" tclass=\"0x030200\"/>") "</cpu></system>";
    static const char trays[] = "<system version=\"2\"><cpu numaid=\"0\" host_hash=\"0x1\">" XML_GPU(
        "g1",
        XML_SWITCHED) "</cpu><cpu numaid=\"0\" host_hash=\"0x2\">" XML_GPU("g2",
                                                                           XML_SWITCHED) "</cpu></system>";
    g_auto(RhMachine) a = {.nics = -1}, b = {.nics = -1};
    CU_ASSERT_TRUE(reads(&a, mesh, NULL));
    CU_ASSERT_TRUE(a.joined[0][1] == 2 && a.joined[1][0] == 2 && a.nvlinks_most == 2);
    CU_ASSERT_TRUE(reads(&b, trays, NULL));
    CU_ASSERT_TRUE(b.gpus == 1 && b.nodes == 2 && b.domain_nodes == 2);
}

static void rocm_smi_tells_which_gpus_are_joined(void)
{
    static const char text[] =
        "==== ROCm System Management Interface ====\n"
        "==== Weight between two GPUs ====\n     GPU0  GPU1\nGPU0  0  15\nGPU1  15  0\n"
        "==== Link Type between two GPUs ====\n       GPU0   GPU1\nGPU0   0   XGMI\n"
        "GPU1   XGMI  0\n==== Product Info ====\nGPU[0]\t\t: Card Series: \tAMD Instinct MI300X\n"
        "GPU[1]\t\t: Card Series: \tAMD Instinct MI300X\n";
    g_auto(RhMachine) m = {.nics = -1};
    CU_ASSERT_TRUE(reads(&m, text, NULL));
    CU_ASSERT_TRUE(m.gpus == 2 && m.has_links && m.island_gpus == 2 && !m.uneven);
    CU_ASSERT_STRING_EQUAL(m.gpu_name, "AMD Instinct MI300X");
    g_auto(RhMachine) cut = {.nics = -1};
    CU_ASSERT_FALSE(reads(&cut, "==== Link Type between two GPUs ====\n GPU0 GPU1\nGPU0 0 XGMI\n",
                          "2 GPUs and 1 rows"));
}

static void a_tool_s_output_is_known_by_what_stands_in_it(void)
{
    CU_ASSERT_STRING_EQUAL(rh_machine_tool("SwitchName=a Nodes=b\n"), "Slurm's topology.conf");
    CU_ASSERT_STRING_EQUAL(rh_machine_tool("name\nNVIDIA L4\n"), "nvidia-smi, CSV");
    CU_ASSERT_PTR_NULL(rh_machine_tool("gpu[01-16]\n"));
    CU_ASSERT_PTR_NULL(rh_machine_tool("tp2,pp2\n"));
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
            {"short_lists_and_tables_are_read", short_lists_and_tables_are_read},
            {"a_known_gpu_makes_a_platform", a_known_gpu_makes_a_platform},
            {"trays_of_a_rack_are_one_node", trays_of_a_rack_are_one_node},
            {"slurm_s_trees_are_levels_of_switches", slurm_s_trees_are_levels_of_switches},
            {"slurm_s_blocks_are_domains", slurm_s_blocks_are_domains},
            {"wrong_topologies_of_slurm_are_refused", wrong_topologies_of_slurm_are_refused},
            {"ibnetdiscover_tells_leaves_rails_and_oversubscription",
             ibnetdiscover_tells_leaves_rails_and_oversubscription},
            {"iblinkinfo_tells_the_same", iblinkinfo_tells_the_same},
            {"nccl_s_topology_tells_gpus_links_and_nics",
             nccl_s_topology_tells_gpus_links_and_nics},
            {"nccl_s_meshes_and_domains", nccl_s_meshes_and_domains},
            {"rocm_smi_tells_which_gpus_are_joined", rocm_smi_tells_which_gpus_are_joined},
            {"a_tool_s_output_is_known_by_what_stands_in_it",
             a_tool_s_output_is_known_by_what_stands_in_it},
            {0}});
}

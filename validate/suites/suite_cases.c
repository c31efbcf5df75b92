#include "validate/suites/suite_cases.h"

#define STAR  "lab-star"
#define NODES "lab-2x4"
#define TREE  "lab-tree"

static const RhSuiteCase quick[] = {
    {"collective", STAR, "all-reduce ring 1MiB", NULL},
    {"collective", STAR, "all-reduce rabenseifner 512KiB", NULL},
    {"collective", NODES, "all-reduce hierarchical 1MiB", NULL},
    {"collective", NODES, "all-gather ring 1MiB", NULL},
    {"collective", TREE, "reduce-scatter ring 1MiB", NULL},
    {"collective", STAR, "all-to-all direct 512KiB", NULL},
    {"collective", TREE, "all-reduce tree 512KiB", NULL},
    {"pattern", STAR, "incast 256KiB", NULL},
    {"pattern", NODES, "neighbours 512KiB", NULL},
    {"pattern", TREE, "bisection 512KiB", NULL},
    {"pattern", NODES, "experts 256KiB", NULL},
    {"pattern", STAR, "kv-ring 256KiB", NULL},
    {"iteration", STAR, "dp8,zero0", NULL},
    {"iteration", STAR, "dp8,zero1", NULL},
    {"iteration", STAR, "dp8,zero0,codec=onebit", NULL},
    {"iteration", STAR, "dp8,zero3", NULL},
    {"iteration", STAR, "pp8,schedule=gpipe", NULL},
    {"iteration", STAR, "pp8", NULL},
    {"iteration", STAR, "pp4,dp2", NULL},
    {"iteration", NODES, "dp8,zero2", NULL},
    {"iteration", NODES, "tp4,pp2,sp=off", NULL},
    {"iteration", NODES, "pp4,dp2,vpp2,schedule=interleaved", NULL},
    {"iteration", STAR, "dp8,ep8,zero1", NULL},
    {"iteration", NODES, "tp2,dp4,ep4,etp1,zero1", NULL},
    {"iteration", TREE, "pp2,dp4,ep4,zero1", NULL},
    {"iteration", NODES, "cp2,dp4,zero1,kv=gather", NULL},
    {"iteration", NODES, "cp4,dp2,zero1,ulysses4", NULL},
    {"iteration", NODES, "dp8,zero3,shard4", NULL},
    {"iteration", NODES, "tp2,dp4,zero1,tpoverlap=on", NULL},
    {"iteration", TREE, "pp4,dp2", NULL},
    {"iteration", TREE, "pp4,dp2,order=tp-pp-dp", NULL},
    {"iteration", TREE, "pp2,dp4,zero0,mb2", NULL},
    {"iteration", TREE, "pp8,recompute=full", NULL},
    {"iteration", STAR, "cp4,dp2,zero0,slice=square,mb8", NULL},
    {"iteration", NODES, "cp4,dp2,zero0,slice=horizontal,halo=layer,mb8", NULL},
    {"iteration", STAR, "pp2,cp3,dp2,zero0,slice=horizontal,cpstages=1,mb4", NULL},
    {"iteration", STAR, "pp4,dp2,zero0,schedule=gems", NULL},
    {"service", STAR, "tp8 24 4 96", NULL},
    {"service", NODES, "tp4,replicas=2 24 4 128", NULL},
    {"service", STAR, "tp1,replicas=7/tp1 64 4 28", NULL},
    {"service", TREE, "tp1,replicas=4/tp1,replicas=4 96 6 16", NULL},
    {"service", NODES, "tp4/tp4 64 4 48", NULL},
    {"service", STAR, "tp2,replicas=3/tp2 64 4 48", NULL},
    {"service", STAR, "server=orca,dp8,ep8 32 4 256", NULL},
    {"service", NODES, "server=orca,dp8,ep8 32 4 256", NULL},
    {"layout", NODES, "dp8,zero1", NULL},
    {"layout", NODES, "tp2,dp4,zero1", NULL},
    {"layout", NODES, "tp4,dp2,zero1", NULL},
    {"layout", NODES, "pp2,dp4,zero1", NULL},
    {"layout", NODES, "pp4,dp2,zero1", NULL},
    {"layout", NODES, "pp8,dp1", NULL},
    {"layout", NODES, "tp2,pp2,dp2,zero1", NULL},
    {"layout", NODES, "tp2,pp2,dp2,zero1,order=tp-pp-dp", NULL},
    {"layout", NODES, "pp4,dp2,zero1,order=tp-pp-dp", NULL},
    {"layout", NODES, "tp4,pp2,dp1", NULL},
    {"layout", NODES, "pp2,dp4,zero1,mb2", NULL},
    {"layout", NODES, "tp2,pp4,dp1", NULL},
    {"fault", STAR, "straggler 256KiB", NULL},
    {"fault", STAR, "dp8,zero1", "link.nic/node3/0/tx=50%"},
    {"fault", STAR, "pp8", "link.nic/node3/0/tx=50%"},
    {"fault", STAR, "dp8,zero1", "link.nic/node3/0/tx=dies@0.5s link.nic/node3/0/rx=dies@0.5s"},
    {0}};

#define STAR16  "lab-star:16"
#define NODES16 "lab-2x4:4"
#define TREE16  "lab-tree:16"
#define COLLECTIVES(group, platform, bytes)                                                        \
    {group, platform, "all-reduce ring " bytes, NULL},                                             \
        {group, platform, "all-reduce tree " bytes, NULL},                                         \
        {group, platform, "all-reduce recursive-doubling " bytes, NULL},                           \
        {group, platform, "all-reduce rabenseifner " bytes, NULL},                                 \
        {group, platform, "reduce-scatter ring " bytes, NULL},                                     \
        {group, platform, "all-gather ring " bytes, NULL},                                         \
        {group, platform, "broadcast tree " bytes, NULL},                                          \
    {                                                                                              \
        group, platform, "all-to-all direct " bytes, NULL                                          \
    }
#define PATTERNS(platform, bytes)                                                                  \
    {"pattern", platform, "incast " bytes, NULL},                                                  \
        {"pattern", platform, "neighbours " bytes, NULL},                                          \
        {"pattern", platform, "bisection " bytes, NULL},                                           \
        {"pattern", platform, "kv-ring " bytes, NULL},                                             \
        {"pattern", platform, "experts " bytes, NULL},                                             \
        {"pattern", platform, "kv-incast " bytes, NULL},                                           \
    {                                                                                              \
        "pattern", platform, "decode " bytes, NULL                                                 \
    }
#define ITERATIONS(platform)                                                                       \
    {"iteration", platform, "dp16,zero0", NULL}, {"iteration", platform, "dp16,zero1", NULL},      \
        {"iteration", platform, "dp16,zero2", NULL}, {"iteration", platform, "dp16,zero3", NULL},  \
        {"iteration", platform, "pp8,dp2,schedule=gpipe", NULL},                                   \
        {"iteration", platform, "pp8,dp2", NULL}, {"iteration", platform, "pp4,dp4,zero1", NULL},  \
        {"iteration", platform, "pp4,dp4,zero2", NULL},                                            \
        {"iteration", platform, "pp2,dp8,zero3", NULL},                                            \
        {"iteration", platform, "pp4,dp4,vpp2,schedule=interleaved", NULL},                        \
        {"iteration", platform, "pp8,dp2,recompute=full,mb2", NULL},                               \
    {                                                                                              \
        "iteration", platform, "pp8,dp2,order=tp-pp-dp", NULL                                      \
    }

static const RhSuiteCase full[] = {
    COLLECTIVES("small collective", STAR16, "64KiB"),
    COLLECTIVES("collective", STAR16, "1MiB"),
    COLLECTIVES("collective", NODES16, "256KiB"),
    COLLECTIVES("collective", NODES16, "1MiB"),
    {"collective", NODES16, "all-reduce hierarchical 1MiB", NULL},
    {"collective", NODES16, "reduce-scatter hierarchical 1MiB", NULL},
    {"collective", NODES16, "all-gather hierarchical 1MiB", NULL},
    COLLECTIVES("collective", TREE16, "1MiB"),
    PATTERNS(STAR16, "256KiB"),
    PATTERNS(NODES16, "256KiB"),
    PATTERNS(TREE16, "256KiB"),
    ITERATIONS(STAR16),
    ITERATIONS(NODES16),
    {"iteration", NODES16, "tp2,dp8,zero1", NULL},
    {"iteration", NODES16, "tp4,dp4,zero1,sp=off", NULL},
    {"iteration", NODES16, "tp4,pp4", NULL},
    {"iteration", NODES16, "tp2,pp4,dp2,zero2", NULL},
    ITERATIONS(TREE16),
    {"service", STAR16, "tp1,replicas=15/tp1 64 4 30", NULL},
    {"service", NODES16, "tp4,replicas=2/tp4,replicas=2 64 4 64", NULL},
    {"service", TREE16, "tp2,replicas=6/tp2,replicas=2 64 4 96", NULL},
    {"service", STAR16, "dp16,ep16 32 4 256", NULL},
    {"layout", NODES16, "dp16,zero1", NULL},
    {"layout", NODES16, "dp16,zero3", NULL},
    {"layout", NODES16, "tp2,dp8,zero1", NULL},
    {"layout", NODES16, "tp4,dp4,zero1", NULL},
    {"layout", NODES16, "tp4,dp4,zero1,sp=off", NULL},
    {"layout", NODES16, "pp2,dp8,zero1", NULL},
    {"layout", NODES16, "pp2,dp8,zero1,order=tp-pp-dp", NULL},
    {"layout", NODES16, "pp4,dp4,zero1", NULL},
    {"layout", NODES16, "pp4,dp4,zero1,order=tp-pp-dp", NULL},
    {"layout", NODES16, "pp4,dp4,zero2", NULL},
    {"layout", NODES16, "pp8,dp2,zero1", NULL},
    {"layout", NODES16, "pp8,dp2,zero1,order=tp-pp-dp", NULL},
    {"layout", NODES16, "pp8,dp2,zero1,schedule=gpipe", NULL},
    {"layout", NODES16, "pp4,dp4,zero1,vpp2,schedule=interleaved", NULL},
    {"layout", NODES16, "pp4,dp4,zero1,mb2", NULL},
    {"layout", NODES16, "pp8,dp2,zero1,mb2", NULL},
    {"layout", NODES16, "tp2,pp2,dp4,zero1", NULL},
    {"layout", NODES16, "tp2,pp2,dp4,zero1,order=tp-pp-dp", NULL},
    {"layout", NODES16, "tp2,pp4,dp2,zero1", NULL},
    {"layout", NODES16, "tp2,pp8,dp1", NULL},
    {"layout", NODES16, "tp4,pp2,dp2,zero1", NULL},
    {"layout", NODES16, "tp4,pp2,dp2,zero1,mb2", NULL},
    {"layout", NODES16, "tp4,pp4,dp1", NULL},
    {"layout", NODES16, "tp4,pp4,dp1,recompute=full", NULL},
    {"fault", STAR16, "straggler 256KiB", NULL},
    {"fault", STAR16, "dp16,zero1", "link.nic/node3/0/tx=50%"},
    {"fault", TREE16, "pp8,dp2", "link.leaf/1/up=50%"},
    {0}};

/* Sixteen ranks at the lab's own rates are limited by two processors, not by its links: exchanges
 * took up to twice as long as the same bytes in a ring. At half of these rates the traffic is that
 * of mpi-quick. */
#define HALF_RATES "nic.bandwidth=50Mb/s nvlink.bandwidth=12.5MB/s"

const RhSuite rh_suites[] = {
    {"mpi-quick", "8 ranks, 61 cases, about four minutes", STAR, NULL, quick},
    {"mpi-full", "16 ranks, links at half rate, about half an hour", STAR16, HALF_RATES, full},
    {0}};

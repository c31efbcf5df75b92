#include "validate/suite_cases.h"

#define STAR  "lab-star"
#define NODES "lab-2x4"
#define TREE  "lab-tree"

static const RhSuiteCase quick[] = {{"collective", STAR, "all-reduce ring 1MiB"},
                                    {"collective", STAR, "all-reduce rabenseifner 512KiB"},
                                    {"collective", NODES, "all-reduce hierarchical 1MiB"},
                                    {"collective", NODES, "all-gather ring 1MiB"},
                                    {"collective", TREE, "reduce-scatter ring 1MiB"},
                                    {"collective", STAR, "all-to-all direct 512KiB"},
                                    {"collective", TREE, "all-reduce tree 512KiB"},
                                    {"pattern", STAR, "incast 256KiB"},
                                    {"pattern", NODES, "neighbours 512KiB"},
                                    {"pattern", TREE, "bisection 512KiB"},
                                    {"pattern", NODES, "experts 256KiB"},
                                    {"pattern", STAR, "kv-ring 256KiB"},
                                    {"iteration", STAR, "dp8,zero0"},
                                    {"iteration", STAR, "dp8,zero1"},
                                    {"iteration", STAR, "dp8,zero3"},
                                    {"iteration", STAR, "pp8,schedule=gpipe"},
                                    {"iteration", STAR, "pp8"},
                                    {"iteration", STAR, "pp4,dp2"},
                                    {"iteration", NODES, "dp8,zero2"},
                                    {"iteration", NODES, "tp2,dp4,zero1"},
                                    {"iteration", NODES, "tp4,pp2"},
                                    {"iteration", NODES, "tp4,pp2,sp=off"},
                                    {"iteration", NODES, "tp2,pp4"},
                                    {"iteration", NODES, "pp4,dp2,vpp2,schedule=interleaved"},
                                    {"iteration", TREE, "pp4,dp2"},
                                    {"iteration", TREE, "pp4,dp2,order=tp-pp-dp"},
                                    {"iteration", TREE, "pp2,dp4,zero0,mb2"},
                                    {"iteration", TREE, "pp8,recompute=full"},
                                    {"layout", NODES, "dp8,zero1"},
                                    {"layout", NODES, "tp2,dp4,zero1"},
                                    {"layout", NODES, "tp4,dp2,zero1"},
                                    {"layout", NODES, "pp2,dp4,zero1"},
                                    {"layout", NODES, "pp4,dp2,zero1"},
                                    {"layout", NODES, "pp8,dp1"},
                                    {"layout", NODES, "tp2,pp2,dp2,zero1"},
                                    {"layout", NODES, "tp2,pp2,dp2,zero1,order=tp-pp-dp"},
                                    {"layout", NODES, "pp4,dp2,zero1,order=tp-pp-dp"},
                                    {"layout", NODES, "tp4,pp2,dp1"},
                                    {"layout", NODES, "pp2,dp4,zero1,mb2"},
                                    {"layout", NODES, "tp2,pp4,dp1"},
                                    {0}};

#define STAR16  "lab-star:16"
#define NODES16 "lab-2x4:4"
#define TREE16  "lab-tree:16"
#define COLLECTIVES(group, platform, bytes)                                                        \
    {group, platform, "all-reduce ring " bytes}, {group, platform, "all-reduce tree " bytes},      \
        {group, platform, "all-reduce recursive-doubling " bytes},                                 \
        {group, platform, "all-reduce rabenseifner " bytes},                                       \
        {group, platform, "reduce-scatter ring " bytes},                                           \
        {group, platform, "all-gather ring " bytes}, {group, platform, "broadcast tree " bytes},   \
    {                                                                                              \
        "collective", platform, "all-to-all direct " bytes                                         \
    }
#define PATTERNS(platform, bytes)                                                                  \
    {"pattern", platform, "incast " bytes}, {"pattern", platform, "neighbours " bytes},            \
        {"pattern", platform, "bisection " bytes}, {"pattern", platform, "kv-ring " bytes},        \
        {"pattern", platform, "experts " bytes}, {"pattern", platform, "kv-incast " bytes},        \
    {                                                                                              \
        "pattern", platform, "decode " bytes                                                       \
    }
#define ITERATIONS(platform)                                                                       \
    {"iteration", platform, "dp16,zero0"}, {"iteration", platform, "dp16,zero1"},                  \
        {"iteration", platform, "dp16,zero2"}, {"iteration", platform, "dp16,zero3"},              \
        {"iteration", platform, "pp8,dp2,schedule=gpipe"}, {"iteration", platform, "pp8,dp2"},     \
        {"iteration", platform, "pp4,dp4,zero1"}, {"iteration", platform, "pp4,dp4,zero2"},        \
        {"iteration", platform, "pp2,dp8,zero3"},                                                  \
        {"iteration", platform, "pp4,dp4,vpp2,schedule=interleaved"},                              \
        {"iteration", platform, "pp8,dp2,recompute=full,mb2"},                                     \
    {                                                                                              \
        "iteration", platform, "pp8,dp2,order=tp-pp-dp"                                            \
    }

static const RhSuiteCase full[] = {COLLECTIVES("small collective", STAR16, "64KiB"),
                                   COLLECTIVES("collective", STAR16, "1MiB"),
                                   COLLECTIVES("collective", NODES16, "256KiB"),
                                   COLLECTIVES("collective", NODES16, "1MiB"),
                                   {"collective", NODES16, "all-reduce hierarchical 1MiB"},
                                   {"collective", NODES16, "reduce-scatter hierarchical 1MiB"},
                                   {"collective", NODES16, "all-gather hierarchical 1MiB"},
                                   COLLECTIVES("collective", TREE16, "1MiB"),
                                   PATTERNS(STAR16, "256KiB"),
                                   PATTERNS(NODES16, "256KiB"),
                                   PATTERNS(TREE16, "256KiB"),
                                   ITERATIONS(STAR16),
                                   ITERATIONS(NODES16),
                                   {"iteration", NODES16, "tp2,dp8,zero1"},
                                   {"iteration", NODES16, "tp4,dp4,zero1,sp=off"},
                                   {"iteration", NODES16, "tp4,pp4"},
                                   {"iteration", NODES16, "tp2,pp4,dp2,zero2"},
                                   ITERATIONS(TREE16),
                                   {"layout", NODES16, "dp16,zero1"},
                                   {"layout", NODES16, "dp16,zero3"},
                                   {"layout", NODES16, "tp2,dp8,zero1"},
                                   {"layout", NODES16, "tp4,dp4,zero1"},
                                   {"layout", NODES16, "tp4,dp4,zero1,sp=off"},
                                   {"layout", NODES16, "pp2,dp8,zero1"},
                                   {"layout", NODES16, "pp2,dp8,zero1,order=tp-pp-dp"},
                                   {"layout", NODES16, "pp4,dp4,zero1"},
                                   {"layout", NODES16, "pp4,dp4,zero1,order=tp-pp-dp"},
                                   {"layout", NODES16, "pp4,dp4,zero2"},
                                   {"layout", NODES16, "pp8,dp2,zero1"},
                                   {"layout", NODES16, "pp8,dp2,zero1,order=tp-pp-dp"},
                                   {"layout", NODES16, "pp8,dp2,zero1,schedule=gpipe"},
                                   {"layout", NODES16, "pp4,dp4,zero1,vpp2,schedule=interleaved"},
                                   {"layout", NODES16, "pp4,dp4,zero1,mb2"},
                                   {"layout", NODES16, "pp8,dp2,zero1,mb2"},
                                   {"layout", NODES16, "tp2,pp2,dp4,zero1"},
                                   {"layout", NODES16, "tp2,pp2,dp4,zero1,order=tp-pp-dp"},
                                   {"layout", NODES16, "tp2,pp4,dp2,zero1"},
                                   {"layout", NODES16, "tp2,pp8,dp1"},
                                   {"layout", NODES16, "tp4,pp2,dp2,zero1"},
                                   {"layout", NODES16, "tp4,pp2,dp2,zero1,mb2"},
                                   {"layout", NODES16, "tp4,pp4,dp1"},
                                   {"layout", NODES16, "tp4,pp4,dp1,recompute=full"},
                                   {0}};

const RhSuite rh_suites[] = {{"mpi-quick", "8 ranks, 40 cases, about four minutes", STAR, quick},
                             {"mpi-full", "16 ranks, about half an hour", STAR16, full},
                             {0}};

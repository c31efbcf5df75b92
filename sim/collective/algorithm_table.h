#pragma once
/* Table of collective algorithms: the suffix of RH_ALGO_ and the name of the row, the RhAlgorithm
 * rh_algorithm_NAME that its file defines (sim/collective/algorithm_interface.h). Add a new one as a file and
 * a line at the end: files and messages use names, caches use numbers. */
#define RH_ALGORITHMS(ROW)                                                                         \
    ROW(RING, ring)                                                                                \
    ROW(TREE, tree)                                                                                \
    ROW(RECURSIVE_DOUBLING, doubling)                                                              \
    ROW(RABENSEIFNER, rabenseifner)                                                                \
    ROW(HIERARCHICAL, hierarchical)                                                                \
    ROW(DIRECT, direct)                                                                            \
    ROW(MULTI_LEADER, multi_leader)                                                                \
    ROW(FORWARDING, forwarding)                                                                    \
    ROW(RING_LL, ring_ll)                                                                          \
    ROW(RING_LL128, ring_ll128)                                                                    \
    ROW(RING_SIMPLE, ring_simple)                                                                  \
    ROW(TREE_LL, tree_ll)                                                                          \
    ROW(TREE_LL128, tree_ll128)                                                                    \
    ROW(TREE_SIMPLE, tree_simple)                                                                  \
    ROW(NVLS, nvls)                                                                                \
    ROW(SHARP, sharp)                                                                              \
    ROW(CHAIN, chain)

#pragma once
/* The table of collective algorithms: what follows RH_ALGO_ in its number, and the name of its row,
 * the RhAlgorithm rh_algorithm_NAME that its file defines (sim/collective/algorithm.h). A new one
 * is its file and a line here, at the end: files and messages know algorithms by name, memos by
 * number. */
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
    ROW(NVLS, nvls)

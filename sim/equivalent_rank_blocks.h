#pragma once
/* Finds blocks of consecutive ranks on a node that are equivalent by construction, as
 * tensor-parallel groups are.
 *
 * Rotating every block by one place permutes the ranks. Where this maps the program and the
 * platform to themselves, the ranks of a block, their flows and the links at their places form
 * *orbits*. Only the member of each orbit at the first place has to be listed. */
#include <glib.h>
#include <stdint.h>

#include "platforms/platform.h"
#include "sim/program.h"

/* Returns the ranks per block, 1 where there are no blocks: the largest size that all used groups
 * with neighbouring members allow, provided that every other group contains one place of each of
 * its blocks, roles consist of whole blocks, and blocks lie on GPUs with one NIC each or one NIC
 * for all. Messages are not considered. */
int32_t rh_blocks_find(const RhProgram *p, const RhPlatform *platform, const int32_t *role_of_rank,
                       const bool *group_used);
/* Returns the ranks per block where the group contains one place of each block and only its own
 * traffic matters: the largest size that its strides allow. 1 where the role does not consist of
 * whole blocks. */
int32_t rh_blocks_beside(const RhProgram *p, const RhPlatform *platform, const RhGroup *group,
                         const RhRole *role);
/* Returns whether a group consists of whole blocks; otherwise it has one place of each. */
bool rh_blocks_whole(const RhGroup *group, int32_t block);
/* Returns the member that takes the place of `member` when every block of the group is rotated by
 * one. */
int32_t rh_blocks_turned(const RhGroup *group, int32_t block, int32_t member);
/* Returns the greatest common divisor; a when b is 0. */
int32_t rh_common_divisor(int32_t a, int32_t b);

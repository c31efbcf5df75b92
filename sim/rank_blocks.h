#pragma once
/* Ranks that stand alike by construction: blocks of them in a row on a node, as tensor groups are.
 *
 * Turning every block by one place takes ranks to ranks, and where that takes the program to itself
 * and the platform too, ranks of a block, their flows and the links at their places form *orbits*.
 * One of each is enough to list: what is at the first place. */
#include <glib.h>
#include <stdint.h>

#include "platforms/platform.h"
#include "sim/program.h"

/* Ranks of a block, 1 where there are none: as many as all used groups allow that hold neighbours,
 * if each of the others holds one place of its blocks, roles consist of whole blocks, and blocks
 * lie on GPUs with a NIC each or one for all. Messages are not looked at. */
int32_t rh_blocks_find(const RhProgram *p, const RhPlatform *platform, const int32_t *role_of_rank,
                       const bool *group_used);
/* Ranks of a block of which the group holds one place each, where its own traffic alone counts: as
 * many as its strides allow. 1 where the role does not consist of whole ones. */
int32_t rh_blocks_beside(const RhProgram *p, const RhPlatform *platform, const RhGroup *group,
                         const RhRole *role);
/* Does a group hold whole blocks? Else one place of each. */
bool rh_blocks_whole(const RhGroup *group, int32_t block);
/* The member that comes to stand where `member` of a group of whole blocks stood. */
int32_t rh_blocks_turned(const RhGroup *group, int32_t block, int32_t member);
/* The greatest; a, where b is 0. */
int32_t rh_common_divisor(int32_t a, int32_t b);

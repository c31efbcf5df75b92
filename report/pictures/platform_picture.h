#pragma once
/* Draws a platform: nodes, switches and tiers, every number with the letter of its tag. */
#include "platforms/platform.h"

/* Draws it as text of at most 79 columns; `sources` adds a line with each number's source. Caller
 * frees. */
char *rh_platform_text(const RhPlatform *p, bool sources);
char *rh_platform_svg(const RhPlatform *p);

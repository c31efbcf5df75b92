#pragma once
/* A platform as a picture: nodes, switches, tiers, every number with the letter of its tag. */
#include "platforms/platform.h"

/* At most 79 columns. With `sources`, each number's source as a line. Caller frees. */
char *rh_platform_text(const RhPlatform *p, bool sources);
char *rh_platform_svg(const RhPlatform *p);

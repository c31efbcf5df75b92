#pragma once
/* Platforms with protocols, for tests of what reads them. */
#include "platforms/platform.h"

/* A library's protocols on both kinds of links, of which few bytes and many take others. */
void add_protocols(RhPlatform *p);

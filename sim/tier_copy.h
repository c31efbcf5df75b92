#pragma once
/* Copies between tiers of memory: which links one crosses, and how fast it is alone. */
#include "platforms/platform.h"
#include "sim/program.h"

#define RH_COPY_LINKS_MAX 2

/* Links of a COPY on this GPU, in order; returns how many. Out of HBM and into it over the host
 * link, to the drives and from them over theirs, between HBM and drives over both. */
int rh_copy_route(const RhPlatform *platform, const RhTask *copy, int32_t gpu,
                  RhLink links[RH_COPY_LINKS_MAX]);
/* Of its slowest link. */
double rh_copy_bytes_per_s(const RhPlatform *platform, const RhTask *copy, int32_t gpu);
/* Has the platform all tiers that the program copies to and from? RH_ERROR_INPUT names what is
 * missing. */
bool rh_copies_possible(const RhProgram *p, const RhPlatform *platform, GError **error);

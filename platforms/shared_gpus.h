#pragma once
/* A platform as processes see it that share GPUs: each process has a place of its own, and the
 * places of one GPU are an island, joined by the GPU's memory and by its port to the others. */
#include "platforms/platform.h"

/* Can so many processes share each GPU of the platform? RH_ERROR_USAGE: why not. */
bool rh_platform_can_share(const RhPlatform *platform, const RhGpuClients *clients,
                           GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Makes every GPU clients->count places with an equal share of its memory, power and price; kernels
 * of a place are those of the whole GPU, which the others slow down (RhDevice.clients). Does nothing
 * where a process has a GPU to itself. Requires rh_platform_can_share. */
void rh_platform_share(RhPlatform *platform, const RhGpuClients *clients);

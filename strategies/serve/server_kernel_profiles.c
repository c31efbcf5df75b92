/* Profiles that a server brings for devices. */
#include <string.h>

#include "platforms/profile.h"
#include "strategies/serve/server_software.h"

const char *rh_server_profile(const RhServerProfiles *profiles, const char *device)
{
    for (int32_t i = 0; i < profiles->count; i++)
        if (strcmp(profiles->list[i].device, device) == 0)
            return profiles->list[i].profile;
    return NULL;
}

RhPlatform *rh_server_hardware(const RhServer *server, const RhPlatform *platform, GError **error)
{
    g_autoptr(RhPlatform) own = rh_platform_copy(platform);
    const char *profile = rh_server_profile(&server->profiles, platform->device->name);
    bool fine = !profile || own->kernels_profiled || rh_platform_apply_profile(own, profile, error);
    if (platform->profile)
        own->profile = platform->profile;
    return fine ? g_steal_pointer(&own) : NULL;
}

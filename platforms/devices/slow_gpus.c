#include "platforms/platform.h"

/* Place of this GPU in the ascending list, or where it would be inserted. */
static guint place_of_speed(const RhPlatform *p, int32_t gpu)
{
    guint low = 0, high = p->gpu_speeds->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(p->gpu_speeds, RhGpuSpeed, middle).gpu < gpu)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static RhGpuSpeed *speed_of(const RhPlatform *p, int32_t gpu)
{
    guint at = place_of_speed(p, gpu);
    RhGpuSpeed *found =
        at < p->gpu_speeds->len ? &g_array_index(p->gpu_speeds, RhGpuSpeed, at) : NULL;
    return found && found->gpu == gpu ? found : NULL;
}

double rh_platform_gpu_speed(const RhPlatform *p, int32_t gpu)
{
    const RhGpuSpeed *own = speed_of(p, gpu);
    return own ? own->speed : 1;
}

void rh_platform_gpu_slow(RhPlatform *p, int32_t gpu, double speed)
{
    g_return_if_fail(gpu >= 0 && gpu < rh_platform_gpus(p) && speed > 0);
    RhGpuSpeed added = {gpu, speed}, *own = speed_of(p, gpu);
    if (own)
        own->speed = speed;
    else
        g_array_insert_val(p->gpu_speeds, place_of_speed(p, gpu), added);
}

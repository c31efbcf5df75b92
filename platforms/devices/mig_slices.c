/* Slices and profiles of NVIDIA's MIG User Guide (docs.nvidia.com/datacenter/tesla/mig-user-guide,
 * "Supported MIG Profiles", read 2026-11): an instance has a share of SMs and one of the memory. */
#include "platforms/devices/mig_slices.h"

#include <glib.h>

/* Devices by the beginning of their names. */
static const struct {
    const char *begins;
    RhMigSlices slices;
} DEVICES[] = {{"a30", {4, 4}},  {"a100", {7, 8}},  {"a800", {7, 8}}, {"h100", {7, 8}},
               {"h20-", {7, 8}}, {"h200", {7, 8}},  {"h800", {7, 8}}, {"gh200", {7, 8}},
               {"b200", {7, 8}}, {"gb200", {7, 8}}, {"b300", {7, 8}}, {"gb300", {7, 8}}};

/* Profiles, the largest first; `count` fit on a device of so many compute slices. */
static const struct {
    int32_t of, count;
    RhMigSlices slices;
} PROFILES[] = {{7, 2, {3, 4}}, {7, 3, {2, 2}}, {7, 4, {1, 2}},
                {7, 7, {1, 1}}, {4, 2, {2, 2}}, {4, 4, {1, 1}}};

RhMigSlices rh_mig_slices_of(const char *device)
{
    for (size_t i = 0; i < G_N_ELEMENTS(DEVICES); i++)
        if (g_str_has_prefix(device, DEVICES[i].begins))
            return DEVICES[i].slices;
    return (RhMigSlices){0};
}

RhMigSlices rh_mig_instance(const RhMigSlices *whole, int32_t count)
{
    for (size_t i = 0; i < G_N_ELEMENTS(PROFILES); i++)
        if (PROFILES[i].of == whole->compute && count <= PROFILES[i].count)
            return PROFILES[i].slices;
    return (RhMigSlices){0};
}

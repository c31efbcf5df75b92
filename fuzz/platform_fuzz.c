/* rh_platform_load: one line as it is; a JSON text through a file in memory. Routes on what it
 * accepts cross known links. */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzzkit.h"
#include "platforms/platform.h"

static RhPlatform *load_text(const uint8_t *data, size_t size, GError **error)
{
    int file = memfd_create("platform.json", 0);
    FUZZ_CHECK(file >= 0 && write(file, data, size) == (ssize_t)size);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", file);
    RhPlatform *platform = rh_platform_load(path, error);
    close(file);
    return platform;
}

static void check_route(const RhPlatform *p, int32_t src, int32_t dst)
{
    RhLink links[RH_ROUTE_MAX];
    int count = rh_platform_route(p, src, dst, links);
    FUZZ_CHECK(count >= 0 && count <= RH_ROUTE_MAX && (count == 0) == (src == dst));
    for (int i = 0; i < count; i++) {
        FUZZ_CHECK(links[i] >= 0 && links[i] < rh_platform_links_count(p));
        double rate = rh_platform_link_bytes_per_s(p, links[i]);
        FUZZ_CHECK(isfinite(rate) && rate > 0);
        g_autofree char *name = rh_platform_link_name(p, links[i]);
        FUZZ_CHECK(rh_platform_link_by_name(p, name) == links[i]);
    }
    double latency_s = rh_platform_route_latency_s(p, src, dst);
    FUZZ_CHECK(isfinite(latency_s) && latency_s >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *line = g_strndup((const char *)data, size);
    bool json = *line == '{';
    if (!json && strchr(line, '/') && strspn(line, "/.~") > 0)
        return 0; /* a path: files of this machine are not ours to open */
    g_autoptr(RhPlatform) p = json ? load_text(data, size, &error) : rh_platform_load(line, &error);
    if (!p) {
        fuzz_check_error(&error);
        return 0;
    }
    int32_t gpus = rh_platform_gpus(p), middle = gpus / 2;
    FUZZ_CHECK(gpus > 0);
    check_route(p, 0, 0);
    check_route(p, 0, gpus - 1);
    check_route(p, gpus - 1, middle);
    check_route(p, middle, MIN(middle + 1, gpus - 1));
    return 0;
}

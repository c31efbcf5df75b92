/* Reads nodes of several devices in one platform: "devices" of its file. */
#include <math.h>

#include "base/error.h"
#include "platforms/catalogue.h"
#include "platforms/platform_private.h"

static void clear_other(void *data)
{
    rh_device_free(((RhOtherDevice *)data)->device);
}

GArray *rh_other_devices_new(const GArray *like)
{
    GArray *others = g_array_new(FALSE, FALSE, sizeof(RhOtherDevice));
    g_array_set_clear_func(others, clear_other);
    for (guint i = 0; like != NULL && i < like->len; i++) {
        RhOtherDevice other = g_array_index(like, RhOtherDevice, i);
        other.device = rh_device_copy(other.device);
        g_array_append_val(others, other);
    }
    return others;
}

int32_t rh_platform_devices_count(const RhPlatform *p)
{
    return 1 + (int32_t)p->others->len;
}

RhDevice *rh_platform_device(const RhPlatform *p, int32_t device)
{
    return device > 0 ? g_array_index(p->others, RhOtherDevice, device - 1).device : p->device;
}

int32_t rh_platform_device_of(const RhPlatform *p, int32_t gpu)
{
    int32_t device = 0, node = rh_platform_node_of(p, gpu);
    while (device < (int32_t)p->others->len &&
           node >= g_array_index(p->others, RhOtherDevice, device).first_node)
        device++;
    return device;
}

RhPlatform *rh_platform_with_devices(const RhPlatform *p, const RhPlatform *of)
{
    RhPlatform *copy = rh_platform_copy(p);
    rh_device_free(copy->device);
    g_array_unref(copy->others);
    copy->device = rh_device_copy(of->device);
    copy->others = rh_other_devices_new(of->others);
    return copy;
}

RhPlatform *rh_platform_of_device(const RhPlatform *p, int32_t device)
{
    RhPlatform *copy = rh_platform_copy(p);
    RhDevice *alone = rh_device_copy(rh_platform_device(p, device));
    rh_device_free(copy->device);
    copy->device = alone;
    g_array_set_size(copy->others, 0);
    return copy;
}

double rh_platform_least_kernel_s(const RhPlatform *p, const RhKernel *kernel)
{
    double least = rh_kernel_time_s(p->device, kernel);
    for (int32_t i = 1; i < rh_platform_devices_count(p); i++)
        least = fmin(least, rh_kernel_time_s(rh_platform_device(p, i), kernel));
    return least;
}

/* --- the file --- */

static RhDevice *read_device(RhJson *doc, const RhJsonNode *at, const char *name)
{
    GError *local = NULL;
    g_autofree char *path = rh_platform_path_of_device(doc, name);
    RhDevice *device = rh_device_load(path, &local);
    if (device != NULL)
        return device;
    g_auto(GStrv) lines = g_strsplit(local->message, "\n", 2);
    rh_json_problem(doc, at, "a name of `rehearse show devices`, or a file", "%s", lines[0]);
    g_error_free(local);
    return NULL;
}

void rh_platform_read_devices(RhJson *doc, const RhJsonNode *root, RhPlatform *p)
{
    const RhJsonNode *list = rh_json_array_or_null(doc, root, "devices");
    int64_t nodes = 0;
    if (list != NULL)
        g_array_set_size(p->others, 0);
    for (const RhJsonNode *n = rh_json_first(list); n != NULL; n = rh_json_next(n)) {
        int64_t here = rh_json_int(doc, n, "nodes", 1, RH_PLATFORM_GPUS_MAX);
        const char *name = rh_json_string(doc, n, "device");
        RhDevice *device = *name != 0 ? read_device(doc, n, name) : NULL;
        RhOtherDevice other = {(int32_t)MIN(nodes, INT32_MAX), device};
        nodes += here;
        if (device != NULL && !rh_platform_can_hold(device, p->collective_sms.value))
            rh_json_problem(doc, n, NULL, "collective.sms is %g, but %s has %d SMs",
                            p->collective_sms.value, device->name, device->sms_count);
        if (device != NULL && other.first_node > 0) {
            g_array_append_val(p->others, other);
        } else if (device != NULL) {
            rh_device_free(p->device);
            p->device = device;
        }
    }
    if (list != NULL && nodes == 0)
        rh_json_problem(doc, list, "[{\"nodes\": 2, \"device\": \"h100-sxm\"}, ...]",
                        "\"devices\" lists no nodes");
    if (list != NULL && rh_json_has(root, "nodes") && p->nodes_count != nodes)
        rh_json_problem(doc, list, NULL, "\"nodes\" says %d, \"devices\" lists %d", p->nodes_count,
                        (int)nodes);
    if (nodes > 0)
        p->nodes_count = (int32_t)MIN(nodes, RH_PLATFORM_GPUS_MAX);
}

char *rh_platform_devices_text(const RhPlatform *p)
{
    GString *text = g_string_new(p->device->name);
    for (guint i = 0; i < p->others->len; i++) {
        const RhOtherDevice *other = &g_array_index(p->others, RhOtherDevice, i);
        g_string_append_printf(text, "; of %s from node %d on", other->device->name,
                               other->first_node);
    }
    return g_string_free(text, FALSE);
}

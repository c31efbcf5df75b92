/* Chooses the surface of measured times for a kernel. */
#include <math.h>
#include <string.h>

#include "platforms/devices/device.h"

/* Nearest class by ratio: 64, 128, 192 or 256. */
static int head_class(int64_t head)
{
    return head <= 90 ? 0 : head <= 156 ? 1 : head <= 221 ? 2 : 3;
}

static RhDtype as_stored(RhDtype dtype)
{
    return dtype == RH_DTYPE_FP16 || dtype == RH_DTYPE_NONE ? RH_DTYPE_BF16 : dtype;
}

static void use_gemm(const RhSurface **by_dtype, const RhSurface *s, const char *linear,
                     bool *found)
{
    bool named = linear && strcmp(linear, s->format) == 0;
    bool wide = strcmp(s->format, "bf16") == 0;
    const RhSurface *before = by_dtype[s->dtype];
    if (before && (!named || strcmp(before->format, s->format) == 0))
        return; /* of several the first counts */
    if (!named && !wide)
        return;
    by_dtype[s->dtype] = s;
    if (s->dtype == RH_DTYPE_BF16)
        by_dtype[RH_DTYPE_FP16] = by_dtype[RH_DTYPE_NONE] = s;
    *found = *found || named;
}

/* Fills head sizes that have no surface of their own with the nearest that has one. */
static void fill_heads(const RhSurface **by_head)
{
    const RhSurface *own[RH_SURFACE_HEADS];
    memcpy(own, by_head, sizeof own);
    for (int i = 0; i < RH_SURFACE_HEADS; i++)
        for (int far = 1; !by_head[i] && far < RH_SURFACE_HEADS; far++) {
            int up = i + far, down = i - far;
            by_head[i] = up < RH_SURFACE_HEADS && own[up] ? own[up] : down >= 0 ? own[down] : NULL;
        }
}

bool rh_device_use_surfaces(RhDevice *d, const char *linear)
{
    bool found = linear == NULL || strcmp(linear, "bf16") == 0;
    bool ignored = false;
    RhSurfacesUsed *used = &d->used;
    *used = (RhSurfacesUsed){0};
    for (guint i = 0; d->surfaces && i < d->surfaces->len; i++) {
        const RhSurface *s = g_ptr_array_index(d->surfaces, i);
        RhDtype cache = s->operand_bytes < 2 ? RH_DTYPE_FP8 : RH_DTYPE_BF16;
        int head = head_class(s->head);
        used->any = true;
        if (s->kind == RH_SURFACE_GEMM)
            use_gemm(used->gemm, s, linear, &found);
        else if (s->kind == RH_SURFACE_EXPERTS)
            use_gemm(used->experts, s, linear, &ignored);
        else if (s->kind == RH_SURFACE_DECODE)
            used->decode[cache][head] = s;
        else if (s->kind == RH_SURFACE_PREFILL)
            used->prefill[cache][head] = s;
    }
    for (int t = 0; t < RH_DTYPE_LAST; t++) {
        fill_heads(used->decode[t]);
        fill_heads(used->prefill[t]);
    }
    return found;
}

static bool is_experts(const RhSurface *s, const char *format)
{
    return s->kind == RH_SURFACE_EXPERTS && strcmp(s->format, format) == 0;
}

void rh_device_take_experts(RhDevice *d, const RhDevice *from, const char *format)
{
    GPtrArray *taken = g_ptr_array_new_with_free_func((GDestroyNotify)rh_surface_unref);
    for (guint i = 0; from->surfaces && i < from->surfaces->len; i++) {
        RhSurface *s = g_ptr_array_index(from->surfaces, i);
        if (is_experts(s, format))
            g_ptr_array_add(taken, rh_surface_ref(s));
    }
    bool there = taken->len > 0;
    for (guint i = 0; d->surfaces && i < d->surfaces->len; i++) {
        RhSurface *s = g_ptr_array_index(d->surfaces, i);
        if (!there || !is_experts(s, format))
            g_ptr_array_add(taken, rh_surface_ref(s));
    }
    if (d->surfaces)
        g_ptr_array_unref(d->surfaces);
    d->surfaces = taken;
    d->used = (RhSurfacesUsed){0};
}

static bool is_of_library(const RhSurface *s, const char *format, const char *library)
{
    return is_experts(s, format) && strcmp(s->library, library) == 0;
}

bool rh_device_choose_experts(RhDevice *d, const char *format, const char *library)
{
    GPtrArray *chosen = g_ptr_array_new_with_free_func((GDestroyNotify)rh_surface_unref);
    bool there = false;
    for (guint i = 0; d->surfaces && i < d->surfaces->len; i++)
        there = there || is_of_library(g_ptr_array_index(d->surfaces, i), format, library);
    for (guint i = 0; d->surfaces && i < d->surfaces->len; i++) {
        RhSurface *s = g_ptr_array_index(d->surfaces, i);
        if (!there || !is_experts(s, format) || is_of_library(s, format, library))
            g_ptr_array_add(chosen, rh_surface_ref(s));
    }
    if (d->surfaces)
        g_ptr_array_unref(d->surfaces);
    d->surfaces = chosen;
    d->used = (RhSurfacesUsed){0};
    return there;
}

bool rh_device_casts_inside(const RhDevice *device, RhDtype dtype)
{
    g_return_val_if_fail(dtype < RH_DTYPE_LAST, false);
    const RhSurface *s = device->used.gemm[dtype];
    return s && s->casts_inside;
}

double rh_peer_reduce_s(const RhDevice *device, int32_t ranks, double bytes)
{
    return rh_peer_reduce_of_s(&device->peers, ranks, bytes);
}

const RhSurface *rh_device_surface(const RhDevice *device, const RhKernel *k)
{
    const RhSurfacesUsed *used = &device->used;
    if (k->cls == RH_KERNEL_GEMM && k->grouped)
        return k->flops > 0 ? used->experts[k->dtype] : NULL;
    if (k->cls == RH_KERNEL_GEMM)
        return k->batch <= 1 ? used->gemm[k->dtype] : NULL;
    if (k->cls != RH_KERNEL_ATTENTION || (k->m > 1 && !k->causal))
        return NULL;
    RhDtype cache = as_stored(k->kv_dtype ? (RhDtype)k->kv_dtype : (RhDtype)k->dtype);
    int head = head_class(k->k);
    bool latent = k->v_head > 0 && k->v_head != k->k;
    if (latent)
        return NULL;
    return k->m == 1 ? used->decode[cache][head] : used->prefill[cache][head];
}

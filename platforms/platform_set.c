/* `--set KEY=VALUE` on a loaded platform: a table of paths. */
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "platforms/platform.h"
#include "platforms/platform_private.h"
#include "platforms/profile.h"

typedef struct {
    const char *key;
    RhQuantity kind;
    bool device, zero_allowed;
    size_t offset;
} Setting;

#define P(key, kind, zero, field)                                                                  \
    {                                                                                              \
        key, RH_QUANTITY_##kind, false, zero, G_STRUCT_OFFSET(RhPlatform, field)                   \
    }
#define D(key, kind, zero, field)                                                                  \
    {                                                                                              \
        key, RH_QUANTITY_##kind, true, zero, G_STRUCT_OFFSET(RhDevice, field)                      \
    }
static const Setting SETTINGS[] = {
    P("nvlink.bandwidth", BYTES_PER_S, false, nvlink_bytes_per_s),
    P("nvlink.efficiency", FRAC, false, nvlink_efficiency_frac),
    P("nvlink.latency", S, true, nvlink_latency_s),
    P("nic.bandwidth", BYTES_PER_S, false, nic_bytes_per_s),
    P("nic.efficiency", FRAC, false, nic_efficiency_frac),
    P("nic.latency", S, true, nic_latency_s),
    P("host.bandwidth", BYTES_PER_S, false, host_bytes_per_s),
    P("collective.launch", S, true, collective_launch_s),
    P("messages.packet", BYTES, false, messages.packet_bytes),
    P("messages.header", BYTES, true, messages.header_bytes),
    P("messages.reaction", S, true, messages.reaction_s),
    P("messages.noise", S, true, messages.noise_s),
    P("messages.burst", BYTES, true, messages.burst_bytes),
    P("messages.window", BYTES, true, messages.window_bytes),
    P("messages.copy", BYTES_PER_S, true, messages.copy_bytes_per_s),
    P("price_per_gpu_hour", USD, true, price_usd_per_gpu_hour),
    D("device.hbm", BYTES, false, hbm_bytes),
    D("device.hbm_bandwidth", BYTES_PER_S, false, hbm_bytes_per_s),
    D("device.power", W, true, power_w),
    D("device.sustained_clock", FRAC, false, curves.sustained_clock_frac),
    D("device.kernel_floor", S, true, curves.kernel_floor_s),
    D("device.peak.fp32", FLOPS_PER_S, true, peak_flops_per_s[RH_DTYPE_FP32]),
    D("device.peak.tf32", FLOPS_PER_S, true, peak_flops_per_s[RH_DTYPE_TF32]),
    D("device.peak.fp16", FLOPS_PER_S, true, peak_flops_per_s[RH_DTYPE_FP16]),
    D("device.peak.bf16", FLOPS_PER_S, false, peak_flops_per_s[RH_DTYPE_BF16]),
    D("device.peak.fp8", FLOPS_PER_S, true, peak_flops_per_s[RH_DTYPE_FP8]),
    D("device.gemm.fp32", FRAC, true, curves.gemm_peak_frac[RH_DTYPE_FP32]),
    D("device.gemm.tf32", FRAC, true, curves.gemm_peak_frac[RH_DTYPE_TF32]),
    D("device.gemm.fp16", FRAC, true, curves.gemm_peak_frac[RH_DTYPE_FP16]),
    D("device.gemm.bf16", FRAC, false, curves.gemm_peak_frac[RH_DTYPE_BF16]),
    D("device.gemm.fp8", FRAC, false, curves.gemm_peak_frac[RH_DTYPE_FP8]),
    D("device.gemm.k_half", COUNT, true, curves.gemm_k_half),
    D("device.gemm.launch", S, true, curves.gemm_launch_s),
    D("device.gemm.memory", FRAC, false, curves.gemm_memory_frac),
    D("device.gemm.overlap", FRAC, true, curves.gemm_overlap_frac),
    D("device.gemm.wave_tail", FRAC, true, curves.gemm_wave_tail_frac),
    D("device.gemm.k_split", COUNT, false, curves.gemm_k_split),
    D("device.attention", FRAC, false, curves.attention_peak_frac),
    D("device.attention.backward", FRAC, false, curves.attention_backward_frac),
    D("device.attention.s_half", COUNT, true, curves.attention_s_half),
    D("device.attention.d_half", COUNT, true, curves.attention_d_half),
    D("device.memory", FRAC, false, curves.memory_peak_frac),
    D("device.memory.bytes_half", BYTES, true, curves.memory_bytes_half),
};
#define TILE_KEY "device.gemm.tile."
static const char *const COUNT_KEYS[] = {"nodes", "gpus_per_node", "nics_per_node",
                                         "collective.sms", NULL};
#define COUNT_KEYS_COUNT (G_N_ELEMENTS(COUNT_KEYS) - 1)

static bool parse_positive(const char *key, const char *value, RhQuantity kind, bool zero_allowed,
                           double *out, GError **error)
{
    double parsed = 0;
    g_autoptr(GError) inner = NULL;
    if (!rh_quantity_parse(value, kind, &parsed, &inner))
        return rh_fail(error, RH_ERROR_USAGE, "--set %s: %s", key, inner->message);
    if (parsed <= 0 && !zero_allowed)
        return rh_fail(error, RH_ERROR_USAGE, "--set %s=%s: must be above 0", key, value);
    *out = parsed;
    return true;
}

static RhFact fact_set_by_user(double value)
{
    return (RhFact){.value = value,
                    .tag = RH_TAG_ASSUMED,
                    .source = g_intern_string("set by the user"),
                    .date = g_intern_string("")};
}

static RhFact *fact_of(RhPlatform *p, const Setting *s)
{
    char *base = s->device ? (char *)p->device : (char *)p;
    return (RhFact *)(void *)(base + s->offset);
}

/* "device.gemm.tile.128x64": the rate of that tile, which the device must have. */
static bool find_tile(const RhPlatform *p, const char *key, Setting *found)
{
    if (!g_str_has_prefix(key, TILE_KEY))
        return false;
    for (int i = 0; i < p->device->curves.tiles_count; i++) {
        const RhGemmTile *t = &p->device->curves.tiles[i];
        g_autofree char *name = g_strdup_printf(TILE_KEY "%dx%d", t->m, t->n);
        if (!g_str_equal(name, key))
            continue;
        size_t offset = (size_t)((const char *)&t->rate_frac - (const char *)p->device);
        *found = (Setting){g_intern_string(name), RH_QUANTITY_FRAC, true, false, offset};
        return true;
    }
    return false;
}

static bool find_setting(const RhPlatform *p, const char *key, Setting *found)
{
    for (size_t i = 0; i < G_N_ELEMENTS(SETTINGS); i++)
        if (g_str_equal(SETTINGS[i].key, key)) {
            *found = SETTINGS[i];
            return true;
        }
    return find_tile(p, key, found);
}

RhFact *rh_platform_fact(RhPlatform *p, const char *key, RhQuantity *kind, bool *zero_allowed)
{
    Setting setting;
    if (!find_setting(p, key, &setting))
        return NULL;
    *kind = setting.kind;
    *zero_allowed = setting.zero_allowed;
    return fact_of(p, &setting);
}

static bool set_fact(RhPlatform *p, const Setting *s, const char *value, GError **error)
{
    double parsed = 0;
    if (!parse_positive(s->key, value, s->kind, s->zero_allowed, &parsed, error))
        return false;
    if (s->kind == RH_QUANTITY_FRAC && parsed > 1)
        return rh_fail(error, RH_ERROR_USAGE, "--set %s=%s: at most 1", s->key, value);
    *fact_of(p, s) = fact_set_by_user(parsed);
    if (s->device)
        rh_device_refresh(p->device);
    return true;
}

static bool set_count(RhPlatform *p, guint which, const char *value, GError **error)
{
    const char *key = COUNT_KEYS[which];
    int64_t number = 0, low = which == 3 ? 0 : 1, high = which == 0 ? 1 << 20 : 1024;
    g_autoptr(GError) inner = NULL;
    if (!rh_integer_parse(value, low, high, &number, &inner))
        return rh_fail(error, RH_ERROR_USAGE, "--set %s: %s", key, inner->message);
    int64_t gpus = which == 1 ? number : p->gpus_per_node;
    int64_t nics = which == 2 ? number : p->nics_per_node;
    if (nics > gpus)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--set %s=%s: %d NICs for %d GPUs: at most one NIC per GPU", key, value,
                       (int)nics, (int)gpus);
    if (which != 3 && p->link_changes->len > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--set %s must come before changes of single links, which it renumbers",
                       key);
    if (which == 3 && number >= p->device->sms_count)
        return rh_fail(error, RH_ERROR_USAGE, "--set %s=%s: the device has %d SMs", key, value,
                       p->device->sms_count);
    if (which == 0 && !rh_platform_set_nodes(p, number, &inner))
        return rh_fail(error, RH_ERROR_USAGE, "--set %s=%s: %s", key, value, inner->message);
    if (which == 0)
        return true;
    if (which == 1 && number * p->nodes_count > RH_PLATFORM_GPUS_MAX)
        return rh_fail(error, RH_ERROR_USAGE, "--set %s=%s: more than %d GPUs", key, value,
                       RH_PLATFORM_GPUS_MAX);
    int32_t *fields[] = {NULL, &p->gpus_per_node, &p->nics_per_node, &p->collective_sms};
    *fields[which] = (int32_t)number;
    return true;
}

/* "TIER.oversubscription", "TIER.hop_latency". *known is false when no tier has that name. */
static bool set_tier(RhPlatform *p, const char *key, const char *value, bool *known, GError **error)
{
    *known = true;
    for (int32_t t = 0; t < p->tiers_count; t++) {
        RhTier *tier = &p->tiers[t];
        size_t length = strlen(tier->name);
        if (strncmp(key, tier->name, length) != 0 || key[length] != '.')
            continue;
        const char *field = key + length + 1;
        double parsed = 0;
        if (g_str_equal(field, "hop_latency")) {
            if (!parse_positive(key, value, RH_QUANTITY_S, true, &parsed, error))
                return false;
            tier->hop_latency_s = fact_set_by_user(parsed);
            return true;
        }
        if (!g_str_equal(field, "oversubscription"))
            break;
        if (!parse_positive(key, value, RH_QUANTITY_COUNT, false, &parsed, error))
            return false;
        if (parsed < 1)
            return rh_fail(error, RH_ERROR_USAGE, "--set %s=%s: must be 1 or more", key, value);
        tier->oversubscription = fact_set_by_user(parsed);
        return true;
    }
    *known = false;
    return true;
}

static bool set_death(RhPlatform *p, RhLink link, const char *key, const char *when, GError **error)
{
    double t_s = 0;
    if (p->messages.sender == RH_SHARING_NONE)
        return rh_fail(error, RH_ERROR_USAGE,
                       "--set %s: links die on platforms with \"messages\" alone, not on %s", key,
                       p->name);
    if (!parse_positive(key, when, RH_QUANTITY_S, true, &t_s, error))
        return false;
    rh_platform_link_die(p, link, t_s);
    return true;
}

/* "link.leaf/0/rail1/up" scales one link: 0.5 or 50%; or it "dies@300ms". */
static bool set_link(RhPlatform *p, const char *key, const char *value, GError **error)
{
    const char *name = key + strlen("link.");
    RhLink link = rh_platform_link_by_name(p, name);
    if (link < 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s has no link \"%s\"\nnote: links are named like nvlink/node0/gpu0/up, "
                       "nic/node0/0/tx, TIER/GROUP/up or TIER/GROUP/railR/up",
                       p->name, name);
    if (g_str_has_prefix(value, "dies@"))
        return set_death(p, link, key, value + strlen("dies@"), error);
    double scale = 0;
    if (!parse_positive(key, value, RH_QUANTITY_FRAC, false, &scale, error))
        return false;
    rh_platform_link_scale(p, link, scale);
    return true;
}

static bool fail_unknown(const RhPlatform *p, const char *key, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (size_t i = 0; i < G_N_ELEMENTS(SETTINGS); i++)
        g_ptr_array_add(names, (void *)SETTINGS[i].key);
    for (size_t i = 0; i < COUNT_KEYS_COUNT; i++)
        g_ptr_array_add(names, (void *)COUNT_KEYS[i]);
    for (int i = 0; i < p->device->curves.tiles_count; i++) {
        const RhGemmTile *t = &p->device->curves.tiles[i];
        g_autofree char *tile = g_strdup_printf(TILE_KEY "%dx%d", t->m, t->n);
        g_ptr_array_add(names, (void *)g_intern_string(tile));
    }
    for (int32_t t = 0; t < p->tiers_count; t++) {
        g_autofree char *oversubscription =
            g_strconcat(p->tiers[t].name, ".oversubscription", NULL);
        g_autofree char *hop = g_strconcat(p->tiers[t].name, ".hop_latency", NULL);
        g_ptr_array_add(names, (void *)g_intern_string(oversubscription));
        g_ptr_array_add(names, (void *)g_intern_string(hop));
    }
    g_ptr_array_add(names, NULL);
    const char *near = rh_nearest_name(key, (const char *const *)names->pdata);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
    g_autofree char *help =
        near == NULL ? g_strdup("") : g_strdup_printf("\nhelp: a similar path exists: %s", near);
    return rh_fail(error, RH_ERROR_USAGE, "--set: no \"%s\" in a platform\nnote: %s, link.NAME%s",
                   key, all, help);
}

static bool set_any(RhPlatform *p, const char *key, const char *value, GError **error)
{
    Setting setting;
    if (find_setting(p, key, &setting))
        return set_fact(p, &setting, value, error);
    for (guint i = 0; i < COUNT_KEYS_COUNT; i++)
        if (g_str_equal(COUNT_KEYS[i], key))
            return set_count(p, i, value, error);
    if (g_str_has_prefix(key, "link."))
        return set_link(p, key, value, error);
    bool known = false;
    if (!set_tier(p, key, value, &known, error))
        return false;
    return known ? true : fail_unknown(p, key, error);
}

bool rh_platform_set(RhPlatform *platform, const char *key, const char *value, GError **error)
{
    g_return_val_if_fail(platform != NULL && key != NULL && value != NULL, false);
    if (!set_any(platform, key, value, error))
        return false;
    rh_platform_hash_add(platform, key, value);
    return true;
}

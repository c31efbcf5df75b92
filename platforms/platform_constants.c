#include "platforms/platform_constants.h"

#include <string.h>

#include "base/interned_strings.h"

/* Ranges that any machine of this decade and the next fits into, and that allow no infinite time.
 * Data-sheet peaks are for base clocks, which boost clocks exceed. */
static const RhRange times = {0, 100, true}, rates = {1e3, 1e16, false},
                     rates_or_none = {1e3, 1e16, true}, sizes = {0, 1e12, true},
                     shares = {1e-3, 1, false}, parts = {0, 1, true}, reached = {1e-3, 1.2, false},
                     reached_or_none = {1e-3, 1.2, true}, peaks = {1e6, 1e21, false},
                     peaks_or_none = {1e6, 1e21, true}, halves = {0, 1e6, true},
                     splits = {1, 1e9, false}, backwards = {1e-2, 2, false},
                     packets = {64, 1e9, false}, headers = {0, 1e6, true},
                     protocols = {0, 1.2, true}, copies = {0, 4, true},
                     memories = {1 << 20, 1LL << 50, false}, watts = {0, 1e6, true},
                     prices = {0, 1e6, true}, sizes_or_none = {0, 1e18, true},
                     sharers = {1, 1024, false}, held = {0, 4096, true}, overheads = {1, 10, false};
const RhRange rh_range_tile = {1e-3, 1, false}, rh_range_hop_s = {0, 100, true},
              rh_range_oversubscription = {1, 1e4, false}, rh_range_link_scale = {1e-6, 1e3, false};

#define P(key, need, kind, range, field)                                                           \
    {                                                                                              \
        key, key, RH_QUANTITY_##kind, &range, RH_FACT_##need, false,                               \
            G_STRUCT_OFFSET(RhPlatform, field)                                                     \
    }
#define D(key, place, need, kind, range, field)                                                    \
    {                                                                                              \
        key, place, RH_QUANTITY_##kind, &range, RH_FACT_##need, true,                              \
            G_STRUCT_OFFSET(RhDevice, field)                                                       \
    }
#define M(name, need, kind, range, field) P("messages." name, need, kind, range, messages.field)
#define PEAK(name, range, dtype)                                                                   \
    D("device.peak." name, "peak." name, OPTIONAL, FLOPS_PER_S, range,                             \
      peak_flops_per_s[RH_DTYPE_##dtype])
#define GEMM(name, range, dtype)                                                                   \
    D("device.gemm." name, "gemm.peak." name, OPTIONAL, FRAC, range,                               \
      curves.gemm_peak_frac[RH_DTYPE_##dtype])
#define STATE(name, state)                                                                         \
    D("device.power_states." name, "power_states." name, OPTIONAL, FRAC, shares,                   \
      curves.power_frac[RH_POWER_##state])
#define PROTOCOL(link, name, protocol)                                                             \
    P(#link "." name ".efficiency", WITH_SECTION, FRAC, protocols,                                 \
      link##_protocols[RH_PROTOCOL_##protocol].efficiency_frac),                                   \
        P(#link "." name ".latency", OPTIONAL, S, times,                                           \
          link##_protocols[RH_PROTOCOL_##protocol].latency_s),                                     \
        P(#link "." name ".launch", OPTIONAL, S, times,                                            \
          link##_protocols[RH_PROTOCOL_##protocol].launch_s)
static const RhFactRow rows[] = {
    P("nvlink.bandwidth", NEEDED, BYTES_PER_S, rates, nvlink_bytes_per_s),
    P("nvlink.efficiency", NEEDED, FRAC, shares, nvlink_efficiency_frac),
    P("nvlink.latency", NEEDED, S, times, nvlink_latency_s),
    PROTOCOL(nvlink, "ll", LL),
    PROTOCOL(nvlink, "ll128", LL128),
    PROTOCOL(nvlink, "simple", SIMPLE),
    PROTOCOL(nvlink, "nvls", NVLS),
    P("nvlink.copy", OPTIONAL, FRAC, copies, nvlink_copy_frac),
    P("nic.bandwidth", NEEDED, BYTES_PER_S, rates, nic_bytes_per_s),
    P("nic.efficiency", NEEDED, FRAC, shares, nic_efficiency_frac),
    P("nic.latency", NEEDED, S, times, nic_latency_s),
    PROTOCOL(nic, "ll", LL),
    PROTOCOL(nic, "ll128", LL128),
    PROTOCOL(nic, "simple", SIMPLE),
    P("nic.sharp.efficiency", OPTIONAL, FRAC, protocols,
      nic_protocols[RH_PROTOCOL_SHARP].efficiency_frac),
    P("host.bandwidth", NEEDED, BYTES_PER_S, rates, host_bytes_per_s),
    P("host.gpus_per_link", OPTIONAL, COUNT, sharers, host_gpus_per_link),
    P("host.memory_bandwidth", OPTIONAL, BYTES_PER_S, rates_or_none, host_memory_bytes_per_s),
    P("host.cores", OPTIONAL, COUNT, splits, host_cores),
    P("dpu.cores", OPTIONAL, COUNT, splits, dpu_cores),
    P("dpu.core_speed", OPTIONAL, FRAC, reached, dpu_core_frac),
    P("nvme.bandwidth", OPTIONAL, BYTES_PER_S, rates_or_none, nvme_bytes_per_s),
    P("host.memory", OPTIONAL, BYTES, sizes_or_none, host_bytes),
    P("nvme.capacity", OPTIONAL, BYTES, sizes_or_none, nvme_bytes),
    P("storage.bandwidth", OPTIONAL, BYTES_PER_S, rates_or_none, storage.bytes_per_s),
    P("storage.read_bandwidth", OPTIONAL, BYTES_PER_S, rates_or_none, storage.read_bytes_per_s),
    P("storage.servers", OPTIONAL, COUNT, splits, storage.servers),
    P("storage.server_bandwidth", OPTIONAL, BYTES_PER_S, rates_or_none, storage.server_bytes_per_s),
    P("storage.client_bandwidth", OPTIONAL, BYTES_PER_S, rates_or_none, storage.client_bytes_per_s),
    P("storage.network", OPTIONAL, BYTES_PER_S, rates_or_none, storage.network_bytes_per_s),
    P("islands.bandwidth", WITH_SECTION, BYTES_PER_S, rates, island_bytes_per_s),
    P("torus.bandwidth", WITH_SECTION, BYTES_PER_S, rates, torus_bytes_per_s),
    P("dragonfly.bandwidth", WITH_SECTION, BYTES_PER_S, rates, dragonfly_bytes_per_s),
    P("collective.launch", NEEDED, S, times, collective_launch_s),
    P("collective.sms", NEEDED, COUNT, held, collective_sms),
    M("packet", WITH_SECTION, BYTES, packets, packet_bytes),
    M("header", WITH_SECTION, BYTES, headers, header_bytes),
    M("reaction", WITH_SECTION, S, times, reaction_s),
    M("noise", WITH_SECTION, S, times, noise_s),
    M("burst", WITH_SECTION, BYTES, sizes, burst_bytes),
    M("window", OPTIONAL, BYTES, sizes, window_bytes),
    M("copy", WITH_SECTION, BYTES_PER_S, rates_or_none, copy_bytes_per_s),
    P("host.power", OPTIONAL, W, watts, host_power_w),
    P("host.idle_power", OPTIONAL, W, watts, host_idle_power_w),
    P("nic.power", OPTIONAL, W, watts, nic_power_w),
    P("switches.power", OPTIONAL, W, watts, switches_power_w),
    P("pue", OPTIONAL, COUNT, overheads, pue),
    P("price_per_gpu_hour", OPTIONAL, USD, prices, price_usd_per_gpu_hour),
    D("device.hbm", "hbm", DATASHEET, BYTES, memories, hbm_bytes),
    D("device.hbm_bandwidth", "hbm_bandwidth", DATASHEET, BYTES_PER_S, rates, hbm_bytes_per_s),
    D("device.cache", "cache", OPTIONAL, BYTES, sizes, cache_bytes),
    D("device.cache_bandwidth", "cache_bandwidth", OPTIONAL, BYTES_PER_S, rates_or_none,
      cache_bytes_per_s),
    D("device.power", "power", OPTIONAL, W, watts, power_w),
    D("device.power_limit", "power_limit", OPTIONAL, W, watts, power_limit_w),
    STATE("compute", COMPUTE),
    STATE("memory", MEMORY),
    STATE("communication", COMMUNICATION),
    STATE("idle", IDLE),
    D("device.sustained_clock", "sustained_clock", NEEDED, FRAC, shares,
      curves.sustained_clock_frac),
    D("device.kernel_floor", "kernel_floor", NEEDED, S, times, curves.kernel_floor_s),
    PEAK("fp32", peaks_or_none, FP32),
    PEAK("tf32", peaks_or_none, TF32),
    PEAK("fp16", peaks_or_none, FP16),
    D("device.peak.bf16", "peak.bf16", DATASHEET, FLOPS_PER_S, peaks,
      peak_flops_per_s[RH_DTYPE_BF16]),
    PEAK("fp8", peaks_or_none, FP8),
    PEAK("fp4", peaks_or_none, FP4),
    GEMM("fp32", reached_or_none, FP32),
    GEMM("tf32", reached_or_none, TF32),
    GEMM("fp16", reached_or_none, FP16),
    D("device.gemm.bf16", "gemm.peak.bf16", NEEDED, FRAC, reached,
      curves.gemm_peak_frac[RH_DTYPE_BF16]),
    GEMM("fp8", reached, FP8),
    GEMM("fp4", reached_or_none, FP4),
    D("device.gemm.k_half", "gemm.k_half", NEEDED, COUNT, halves, curves.gemm_k_half),
    D("device.gemm.launch", "gemm.launch", NEEDED, S, times, curves.gemm_launch_s),
    D("device.gemm.memory", "gemm.memory", NEEDED, FRAC, shares, curves.gemm_memory_frac),
    D("device.gemm.overlap", "gemm.overlap", NEEDED, FRAC, parts, curves.gemm_overlap_frac),
    D("device.gemm.wave_tail", "gemm.wave_tail", NEEDED, FRAC, parts, curves.gemm_wave_tail_frac),
    D("device.gemm.k_split", "gemm.k_split", NEEDED, COUNT, splits, curves.gemm_k_split),
    D("device.gemm.few_rows", "gemm.few_rows", OPTIONAL, FRAC, shares, curves.gemm_few_rows_frac),
    D("device.gemm.gradient", "gemm.gradient", OPTIONAL, FRAC, shares, curves.gemm_gradient_frac),
    D("device.attention", "attention.peak", NEEDED, FRAC, reached, curves.attention_peak_frac),
    D("device.attention.backward", "attention.backward", NEEDED, FRAC, backwards,
      curves.attention_backward_frac),
    D("device.attention.s_half", "attention.s_half", NEEDED, COUNT, halves,
      curves.attention_s_half),
    D("device.attention.d_half", "attention.d_half", NEEDED, COUNT, halves,
      curves.attention_d_half),
    D("device.attention.training_peak", "attention.training_peak", OPTIONAL, FRAC, reached,
      curves.attention_training_peak_frac),
    D("device.attention.training_s_half", "attention.training_s_half", OPTIONAL, COUNT, halves,
      curves.attention_training_s_half),
    D("device.attention.training_backward", "attention.training_backward", OPTIONAL, FRAC,
      backwards, curves.attention_training_backward_frac),
    D("device.attention.training_backward_s_half", "attention.training_backward_s_half", OPTIONAL,
      COUNT, halves, curves.attention_training_backward_s_half),
    D("device.attention.training_head", "attention.training_head", OPTIONAL, COUNT, halves,
      curves.attention_training_head),
    D("device.attention.fp8", "attention.fp8", OPTIONAL, FRAC, backwards,
      curves.attention_fp8_frac),
    D("device.attention.fp8_backward", "attention.fp8_backward", OPTIONAL, FRAC, backwards,
      curves.attention_fp8_backward_frac),
    D("device.scan", "scan.peak", OPTIONAL, FRAC, shares, curves.scan_frac),
    D("device.memory", "memory.peak", NEEDED, FRAC, shares, curves.memory_peak_frac),
    D("device.memory.training", "memory.training", OPTIONAL, FRAC, shares,
      curves.memory_training_frac),
    D("device.memory.bytes_half", "memory.bytes_half", NEEDED, BYTES, sizes,
      curves.memory_bytes_half),
};

#define DEVICE_PREFIX "device."

static char *tile_key(const RhGemmTile *t)
{
    return g_strdup_printf("gemm.tile.%dx%d", t->m, t->n);
}

bool rh_facts_of_generation(const RhFactRow *row)
{
    return row->device && row->offset >= G_STRUCT_OFFSET(RhDevice, curves);
}

const RhFactRow *rh_facts(size_t *count)
{
    *count = G_N_ELEMENTS(rows);
    return rows;
}

/* Finds "device.gemm.tile.128x64": the rate of that tile, which the device must have. */
static bool find_tile(const RhPlatform *p, const char *key, RhFactRow *found)
{
    if (!g_str_has_prefix(key, DEVICE_PREFIX))
        return false;
    for (int i = 0; i < p->device->curves.tiles_count; i++) {
        const RhGemmTile *t = &p->device->curves.tiles[i];
        g_autofree char *name = tile_key(t);
        if (strcmp(name, key + strlen(DEVICE_PREFIX)) != 0)
            continue;
        const char *interned = rh_intern(key);
        *found =
            (RhFactRow){.key = interned,
                        .place = interned,
                        .kind = RH_QUANTITY_FRAC,
                        .range = &rh_range_tile,
                        .device = true,
                        .offset = (size_t)((const char *)&t->rate_frac - (const char *)p->device)};
        return true;
    }
    return false;
}

bool rh_facts_find(const RhPlatform *p, const char *key, RhFactRow *found)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].key, key) == 0) {
            *found = rows[i];
            return true;
        }
    return find_tile(p, key, found);
}

bool rh_facts_allow(const char *key, double value)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].key, key) == 0)
            return rh_range_holds(rows[i].range, value);
    return true;
}

RhFact *rh_facts_at(RhPlatform *p, const RhFactRow *row)
{
    char *base = row->device ? (char *)p->device : (char *)p;
    return (RhFact *)(void *)(base + row->offset);
}

const RhFact *rh_facts_seen(const RhPlatform *p, const RhFactRow *row)
{
    const char *base = row->device ? (const char *)p->device : (const char *)p;
    return (const RhFact *)(const void *)(base + row->offset);
}

/* --- lists --- */

static void listed_clear(void *data)
{
    g_free(((RhListedFact *)data)->key);
}

static GArray *listed_new(void)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(RhListedFact));
    g_array_set_clear_func(out, listed_clear);
    return out;
}

GArray *rh_facts_of_tiles(const RhDevice *device)
{
    GArray *out = listed_new();
    for (int i = 0; i < device->curves.tiles_count; i++) {
        const RhGemmTile *t = &device->curves.tiles[i];
        RhListedFact tile = {.key = tile_key(t),
                             .kind = RH_QUANTITY_FRAC,
                             .range = &rh_range_tile,
                             .fact = &t->rate_frac};
        g_array_append_val(out, tile);
    }
    return out;
}

GArray *rh_facts_of_tiers(const RhPlatform *p)
{
    GArray *out = listed_new();
    for (int32_t t = 0; t < p->tiers_count; t++) {
        const RhSwitchLevel *tier = &p->tiers[t];
        RhListedFact hop = {.key = g_strconcat(tier->name, ".hop_latency", NULL),
                            .kind = RH_QUANTITY_S,
                            .range = &rh_range_hop_s,
                            .fact = &tier->hop_latency_s};
        RhListedFact shared = {.key = g_strconcat(tier->name, ".oversubscription", NULL),
                               .kind = RH_QUANTITY_COUNT,
                               .range = &rh_range_oversubscription,
                               .fact = &tier->oversubscription,
                               .without_effect = t + 1 == p->tiers_count};
        g_array_append_val(out, hop);
        g_array_append_val(out, shared);
    }
    return out;
}

const char *rh_facts_newest(const RhPlatform *p)
{
    const char *newest = "";
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *date = rh_facts_seen(p, &rows[i])->date;
        if (date && strcmp(date, newest) > 0)
            newest = date;
    }
    return newest;
}

/* --- files --- */

typedef struct {
    RhJson *doc;
    const RhJsonNode *root;
    GHashTable *sections; /* path to node, or NULL for a missing one, which is reported once */
} Reading;

/* Object that holds a path's last word: "gemm.peak" for "gemm.peak.bf16". */
static const RhJsonNode *section_of(const Reading *r, const char *place, RhFactRequirement need)
{
    const char *dot = strrchr(place, '.');
    if (!dot)
        return r->root;
    g_autofree char *path = g_strndup(place, (gsize)(dot - place));
    gpointer found = NULL;
    if (g_hash_table_lookup_extended(r->sections, path, NULL, &found))
        return found;
    const RhJsonNode *above = section_of(r, path, need);
    const char *name = strrchr(path, '.') ? strrchr(path, '.') + 1 : path;
    bool needed = need == RH_FACT_NEEDED || need == RH_FACT_DATASHEET;
    const RhJsonNode *node = !above   ? NULL
                             : needed ? rh_json_object(r->doc, above, name)
                                      : rh_json_object_or_null(r->doc, above, name);
    /* the section of an optional fact may be needed for another fact */
    if (node || needed)
        g_hash_table_insert(r->sections, g_strdup(path), (gpointer)(guintptr)node);
    return node;
}

void rh_facts_read(RhJson *doc, const RhJsonNode *root, bool device, bool derived, void *base)
{
    g_autoptr(GHashTable) sections = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const Reading r = {doc, root, sections};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const RhFactRow *row = &rows[i];
        if (row->device != device)
            continue;
        RhFactRequirement need =
            derived && row->need != RH_FACT_DATASHEET ? RH_FACT_OPTIONAL : row->need;
        const RhJsonNode *section = section_of(&r, row->place, need);
        const char *dot = strrchr(row->place, '.'), *name = dot ? dot + 1 : row->place;
        if (!section || (need == RH_FACT_OPTIONAL && !rh_json_has(section, name)))
            continue;
        *(RhFact *)(void *)((char *)base + row->offset) =
            rh_json_fact_within(doc, section, name, row->kind, row->range);
    }
}

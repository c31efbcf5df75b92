#include "platforms/device.h"

#include <string.h>

#include "base/error.h"
#include "platforms/catalogue.h"
#include "platforms/platform.h"

typedef struct {
    const char *key;
    RhQuantity kind;
    size_t offset; /* of the RhFact in RhDevice */
} FactField;

#define CURVE(key, kind, field)                                                                    \
    {                                                                                              \
        key, RH_QUANTITY_##kind, G_STRUCT_OFFSET(RhDevice, curves.field)                           \
    }

static const FactField GEMM_FIELDS[] = {
    CURVE("k_half", COUNT, gemm_k_half),           CURVE("launch", S, gemm_launch_s),
    CURVE("memory", FRAC, gemm_memory_frac),       CURVE("overlap", FRAC, gemm_overlap_frac),
    CURVE("wave_tail", FRAC, gemm_wave_tail_frac), CURVE("k_split", COUNT, gemm_k_split),
};
static const FactField ATTENTION_FIELDS[] = {
    CURVE("peak", FRAC, attention_peak_frac),
    CURVE("backward", FRAC, attention_backward_frac),
    CURVE("s_half", COUNT, attention_s_half),
    CURVE("d_half", COUNT, attention_d_half),
};
static const FactField MEMORY_FIELDS[] = {
    CURVE("peak", FRAC, memory_peak_frac),
    CURVE("bytes_half", BYTES, memory_bytes_half),
};
static const FactField TOP_FIELDS[] = {
    {"hbm", RH_QUANTITY_BYTES, G_STRUCT_OFFSET(RhDevice, hbm_bytes)},
    {"hbm_bandwidth", RH_QUANTITY_BYTES_PER_S, G_STRUCT_OFFSET(RhDevice, hbm_bytes_per_s)},
    {"power", RH_QUANTITY_W, G_STRUCT_OFFSET(RhDevice, power_w)},
    CURVE("sustained_clock", FRAC, sustained_clock_frac),
    CURVE("kernel_floor", S, kernel_floor_s),
};

static void read_facts(RhJson *doc, const RhJsonNode *object, RhDevice *d, const FactField *fields,
                       size_t count)
{
    for (size_t i = 0; object != NULL && i < count; i++)
        *(RhFact *)((char *)d + fields[i].offset) =
            rh_json_fact(doc, object, fields[i].key, fields[i].kind);
}

static void read_by_dtype(RhJson *doc, const RhJsonNode *parent, const char *key, RhQuantity kind,
                          RhFact facts[RH_DTYPE_LAST])
{
    const RhJsonNode *object = rh_json_object(doc, parent, key);
    for (int t = 1; object != NULL && t < RH_DTYPE_LAST; t++) {
        const char *name = rh_dtype_name((RhDtype)t);
        if (rh_json_has(object, name))
            facts[t] = rh_json_fact(doc, object, name, kind);
    }
    if (object != NULL && facts[RH_DTYPE_BF16].value <= 0)
        rh_json_problem(doc, object, NULL, "%s.bf16 is needed", key);
}

static void read_tiles(RhJson *doc, const RhJsonNode *gemm, RhDeviceCurves *c)
{
    const RhJsonNode *tiles = rh_json_array(doc, gemm, "tiles");
    int count = rh_json_count(tiles);
    if (tiles != NULL && (count < 1 || count > RH_TILES_MAX)) {
        rh_json_problem(doc, tiles, NULL, "%d tiles, expected 1 to %d", count, RH_TILES_MAX);
        rh_json_consume_all(doc, tiles);
        return;
    }
    const RhJsonNode *node = tiles == NULL ? NULL : rh_json_first(tiles);
    for (; node != NULL; node = rh_json_next(node)) {
        RhGemmTile *t = &c->tiles[c->tiles_count++];
        t->m = (int32_t)rh_json_int(doc, node, "m", 16, 1024);
        t->n = (int32_t)rh_json_int(doc, node, "n", 16, 1024);
        t->rate_frac = rh_json_fact(doc, node, "rate", RH_QUANTITY_FRAC);
        if ((t->m & (t->m - 1)) != 0 || (t->n & (t->n - 1)) != 0)
            rh_json_problem(doc, node, NULL, "tile %dx%d: sides must be powers of two", t->m, t->n);
        if (t->rate_frac.value <= 0)
            rh_json_problem(doc, node, NULL, "tile %dx%d: the rate must be above 0", t->m, t->n);
    }
}

static void read_curves(RhJson *doc, const RhJsonNode *root, RhDevice *d)
{
    const RhJsonNode *gemm = rh_json_object(doc, root, "gemm");
    if (gemm != NULL) {
        read_by_dtype(doc, gemm, "peak", RH_QUANTITY_FRAC, d->curves.gemm_peak_frac);
        read_tiles(doc, gemm, &d->curves);
        read_facts(doc, gemm, d, GEMM_FIELDS, G_N_ELEMENTS(GEMM_FIELDS));
        const RhJsonNode *correction = rh_json_object_or_null(doc, gemm, "correction");
        if (correction != NULL)
            rh_gemm_correction_read(doc, correction, &d->correction);
    }
    read_facts(doc, rh_json_object(doc, root, "attention"), d, ATTENTION_FIELDS,
               G_N_ELEMENTS(ATTENTION_FIELDS));
    read_facts(doc, rh_json_object(doc, root, "memory"), d, MEMORY_FIELDS,
               G_N_ELEMENTS(MEMORY_FIELDS));
}

/* Divisors of the cost model must not be zero. */
static void check_positive(RhJson *doc, const RhJsonNode *root, const RhDevice *d)
{
    const RhFact *divisors[] = {
        &d->hbm_bytes_per_s,
        &d->curves.gemm_memory_frac,
        &d->curves.gemm_k_split,
        &d->curves.attention_peak_frac,
        &d->curves.attention_backward_frac,
        &d->curves.memory_peak_frac,
        &d->curves.sustained_clock_frac,
    };
    for (size_t i = 0; i < G_N_ELEMENTS(divisors); i++)
        if (divisors[i]->source != NULL && divisors[i]->value <= 0) {
            rh_json_problem(doc, root, NULL, "bandwidths and efficiencies must be above 0");
            return;
        }
}

RhDevice *rh_device_parse(RhJson *doc, GError **error)
{
    g_return_val_if_fail(doc != NULL, NULL);
    g_autoptr(RhDevice) d = g_new0(RhDevice, 1);
    const RhJsonNode *root = rh_json_root(doc);
    d->name = g_intern_string(rh_json_string(doc, root, "name"));
    d->sms_count = (int32_t)rh_json_int(doc, root, "sms", 1, 4096);
    read_by_dtype(doc, root, "peak", RH_QUANTITY_FLOPS_PER_S, d->peak_flops_per_s);
    read_facts(doc, root, d, TOP_FIELDS, G_N_ELEMENTS(TOP_FIELDS));
    read_curves(doc, root, d);
    check_positive(doc, root, d);
    if (!rh_json_finish(doc, error))
        return NULL;
    d->hash = g_strdup(rh_json_hash(doc));
    rh_device_refresh(d);
    return g_steal_pointer(&d);
}

RhDevice *rh_device_load(const char *name, GError **error)
{
    g_return_val_if_fail(name != NULL, NULL);
    g_autofree char *path = rh_catalogue_path("devices", name);
    if (!rh_catalogue_is_path(name) && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        rh_catalogue_fail_unknown("device", name, rh_device_names(), error);
        return NULL;
    }
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    return doc == NULL ? NULL : rh_device_parse(doc, error);
}

RhDevice *rh_device_copy(const RhDevice *device)
{
    g_return_val_if_fail(device != NULL, NULL);
    RhDevice *copy = g_memdup2(device, sizeof *device);
    copy->hash = g_strdup(device->hash);
    return copy;
}

void rh_device_free(RhDevice *device)
{
    if (device == NULL)
        return;
    g_free(device->hash);
    g_free(device);
}

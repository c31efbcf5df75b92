#include "platforms/devices/device.h"

#include <string.h>

#include "base/catalogue_folders.h"
#include "base/error.h"
#include "base/interned_strings.h"
#include "platforms/catalogue.h"
#include "platforms/device_name_match.h"
#include "platforms/devices/generation.h"
#include "platforms/platform.h"
#include "platforms/platform_constants.h"

static void read_tiles(RhJson *doc, const RhJsonNode *gemm, RhDeviceCurves *c)
{
    const RhJsonNode *tiles = c->tiles_count > 0 ? rh_json_array_or_null(doc, gemm, "tiles")
                                                 : rh_json_array(doc, gemm, "tiles");
    int count = rh_json_count(tiles);
    if (tiles != NULL && (count < 1 || count > RH_TILES_MAX)) {
        rh_json_problem(doc, tiles, NULL, "%d tiles, expected 1 to %d", count, RH_TILES_MAX);
        rh_json_consume_all(doc, tiles);
        return;
    }
    if (tiles != NULL)
        c->tiles_count = 0;
    const RhJsonNode *node = tiles == NULL ? NULL : rh_json_first(tiles);
    /* tiles that were fitted to the device's own table cover few rows, too */
    if (node != NULL && !rh_json_has(gemm, "few_rows"))
        c->gemm_few_rows_frac = (RhFact){0};
    for (; node != NULL; node = rh_json_next(node)) {
        RhGemmTile *t = &c->tiles[c->tiles_count++];
        t->m = (int32_t)rh_json_int(doc, node, "m", 1, 1024);
        t->n = (int32_t)rh_json_int(doc, node, "n", 16, 1024);
        t->rate_frac = rh_json_fact_within(doc, node, "rate", RH_QUANTITY_FRAC, &rh_range_tile);
        if ((t->m & (t->m - 1)) != 0 || (t->n & (t->n - 1)) != 0)
            rh_json_problem(doc, node, NULL, "tile %dx%d: sides must be powers of two", t->m, t->n);
    }
}

static void read_shapes(RhJson *doc, const RhJsonNode *root, RhDeviceCurves *c)
{
    for (int kind = 0; kind < RH_CALIBRATED_RANGE_LAST; kind++) {
        const RhJsonNode *part = rh_json_object_or_null(
            doc, root, rh_calibrated_range_kind_name((RhCalibratedKind)kind));
        const RhJsonNode *shapes = part ? rh_json_object_or_null(doc, part, "shapes") : NULL;
        if (shapes)
            rh_calibrated_range_read(doc, shapes, (RhCalibratedKind)kind, &c->shapes[kind]);
    }
}

/* Reads the rest of "gemm". The rest may be absent; that "gemm" itself is missing was reported
 * before. */
static void read_gemm(RhJson *doc, const RhJsonNode *root, RhDevice *d)
{
    const RhJsonNode *gemm = rh_json_object_or_null(doc, root, "gemm");
    if (gemm == NULL)
        return;
    read_tiles(doc, gemm, &d->curves);
    const RhJsonNode *correction = rh_json_object_or_null(doc, gemm, "correction");
    if (correction != NULL)
        rh_gemm_correction_read(doc, correction, &d->correction);
}

/* Reads "generation": copies the constants of its reference, which the file then overrides; they
 * count for the device's hash, too. A reference device has none but its own. */
static bool read_generation(RhJson *doc, const RhJsonNode *root, RhDevice *d, GError **error)
{
    const char *name = rh_json_string_or(doc, root, "generation", NULL);
    const RhGeneration *g = name ? rh_generation_by_name(name) : NULL;
    d->generation = g ? g->name : NULL;
    if (name && !g) {
        g_autoptr(GString) known = g_string_new("generations: ");
        for (const RhGeneration *row = rh_generations; row->name; row++)
            g_string_append_printf(known, "%s%s", row == rh_generations ? "" : ", ", row->name);
        rh_json_problem(doc, root, known->str, "no generation is called \"%s\"", name);
    }
    if (!g || strcmp(g->reference, d->name) == 0)
        return true;
    g_autoptr(RhDevice) reference = rh_device_load(g->reference, error);
    if (!reference)
        return false;
    rh_generation_fill(g, reference, d);
    d->hash = g_strdup(reference->hash);
    return true;
}

static char *hash_over(const char *hash, const char *reference)
{
    g_autofree char *text = g_strconcat(hash, "\n", reference, NULL);
    return reference ? g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1) : g_strdup(hash);
}

/* Reads "names", what else the device is called, which platforms/device_name_match.h looks up. */
static void read_names(RhJson *doc, const RhJsonNode *root)
{
    const RhJsonNode *names = rh_json_array_or_null(doc, root, "names");
    for (const RhJsonNode *n = names ? rh_json_first(names) : NULL; n; n = rh_json_next(n))
        (void)rh_json_node_string(doc, n);
}

RhDevice *rh_device_parse(RhJson *doc, GError **error)
{
    g_return_val_if_fail(doc != NULL, NULL);
    g_autoptr(RhDevice) d = g_new0(RhDevice, 1);
    const RhJsonNode *root = rh_json_root(doc);
    RhFact unknown = {.source = rh_intern("unknown"), .date = rh_intern("")};
    d->power_w = d->power_limit_w = unknown;
    for (int state = 0; state < RH_POWER_LAST; state++)
        d->curves.power_frac[state] = unknown;
    d->name = rh_intern(rh_json_string(doc, root, "name"));
    d->sms_count = (int32_t)rh_json_int(doc, root, "sms", 1, 4096);
    const char *node = rh_json_string_or(doc, root, "node", NULL);
    read_names(doc, root);
    if (!read_generation(doc, root, d, error))
        return NULL;
    d->node = node ? rh_intern(node) : NULL;
    g_autofree char *reference = g_steal_pointer(&d->hash);
    rh_facts_read(doc, root, true, reference != NULL, d);
    read_gemm(doc, root, d);
    read_shapes(doc, root, &d->curves);
    if (!rh_json_finish(doc, error))
        return NULL;
    d->hash = hash_over(rh_json_hash(doc), reference);
    rh_device_refresh(d);
    return g_steal_pointer(&d);
}

RhDevice *rh_device_load(const char *name, GError **error)
{
    g_return_val_if_fail(name != NULL, NULL);
    g_autofree char *path = rh_catalogue_path("devices", name);
    if (!rh_data_is_path(name) && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        const char *own = rh_device_of_name(name, true, error);
        if (own == NULL)
            return NULL;
        g_free(path);
        path = rh_catalogue_path("devices", own);
    }
    g_autoptr(RhJson) doc = rh_json_load_described(path, "device", error);
    return doc == NULL ? NULL : rh_device_parse(doc, error);
}

RhDevice *rh_device_copy(const RhDevice *device)
{
    g_return_val_if_fail(device != NULL, NULL);
    RhDevice *copy = g_memdup2(device, sizeof *device);
    copy->hash = g_strdup(device->hash);
    if (copy->surfaces)
        g_ptr_array_ref(copy->surfaces);
    return copy;
}

void rh_device_free(RhDevice *device)
{
    if (device == NULL)
        return;
    if (device->surfaces)
        g_ptr_array_unref(device->surfaces);
    g_free(device->hash);
    g_free(device);
}

#include "strategies/search/funnel/layout_store.h"

#include <stddef.h>
#include <string.h>

#define KNOBS_BYTES offsetof(RhLayout, stage_layers) /* the lists are behind all knobs */

struct RhLayoutStore {
    GByteArray *knobs; /* KNOBS_BYTES of each */
    GArray *peaks;     /* double */
    GArray *layers;    /* int16_t: what layouts list, one behind the other */
    GHashTable *lists; /* 1 + the place of a layout that lists some -> where its lists begin */
};

RhLayoutStore *rh_layout_store_new(void)
{
    RhLayoutStore *kept = g_new(RhLayoutStore, 1);
    *kept = (RhLayoutStore){g_byte_array_new(), g_array_new(FALSE, FALSE, sizeof(double)),
                            g_array_new(FALSE, FALSE, sizeof(int16_t)),
                            g_hash_table_new(g_direct_hash, g_direct_equal)};
    return kept;
}

void rh_layout_store_free(RhLayoutStore *kept)
{
    if (!kept)
        return;
    g_byte_array_unref(kept->knobs);
    g_array_unref(kept->peaks);
    g_array_unref(kept->layers);
    g_hash_table_destroy(kept->lists);
    g_free(kept);
}

void rh_layout_store_add(RhLayoutStore *kept, const RhLayout *layout, double peak_bytes)
{
    guint stages = (guint)layout->stage_layers_count,
          again = (guint)MAX(layout->recomputed_layers_count, 0);
    g_byte_array_append(kept->knobs, (const guint8 *)layout, KNOBS_BYTES);
    g_array_append_val(kept->peaks, peak_bytes);
    if (stages + again == 0)
        return;
    g_hash_table_insert(kept->lists, GUINT_TO_POINTER(kept->peaks->len),
                        GUINT_TO_POINTER(kept->layers->len));
    g_array_append_vals(kept->layers, layout->stage_layers, stages);
    g_array_append_vals(kept->layers, layout->recomputed_layers, again);
}

int32_t rh_layout_store_count(const RhLayoutStore *kept)
{
    return (int32_t)kept->peaks->len;
}

RhLayout rh_layout_store_layout(const RhLayoutStore *kept, int32_t i)
{
    RhLayout l = {0};
    memcpy(&l, kept->knobs->data + (size_t)i * KNOBS_BYTES, KNOBS_BYTES);
    gsize stages = (gsize)l.stage_layers_count, again = (gsize)MAX(l.recomputed_layers_count, 0);
    if (stages + again > 0) {
        guint at = GPOINTER_TO_UINT(g_hash_table_lookup(kept->lists, GINT_TO_POINTER(i + 1)));
        const int16_t *layers = &g_array_index(kept->layers, int16_t, at);
        memcpy(l.stage_layers, layers, stages * sizeof *layers);
        memcpy(l.recomputed_layers, layers + stages, again * sizeof *layers);
    }
    return l;
}

double rh_layout_store_peak_bytes(const RhLayoutStore *kept, int32_t i)
{
    return g_array_index(kept->peaks, double, i);
}

#include "strategies/search/kept.h"

#include <stddef.h>
#include <string.h>

#define KNOBS_BYTES offsetof(RhLayout, stage_layers) /* the lists are behind all knobs */

struct RhKept {
    GByteArray *knobs;  /* KNOBS_BYTES of each */
    GArray *peaks;      /* double */
    GHashTable *listed; /* 1 + its place -> RhLayout, owned: where layers are listed */
};

RhKept *rh_kept_new(void)
{
    RhKept *kept = g_new(RhKept, 1);
    *kept = (RhKept){g_byte_array_new(), g_array_new(FALSE, FALSE, sizeof(double)),
                     g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free)};
    return kept;
}

void rh_kept_free(RhKept *kept)
{
    if (!kept)
        return;
    g_byte_array_unref(kept->knobs);
    g_array_unref(kept->peaks);
    g_hash_table_destroy(kept->listed);
    g_free(kept);
}

void rh_kept_add(RhKept *kept, const RhLayout *layout, double peak_bytes)
{
    g_byte_array_append(kept->knobs, (const guint8 *)layout, KNOBS_BYTES);
    g_array_append_val(kept->peaks, peak_bytes);
    if (layout->stage_layers_count > 0 || layout->again_layers_count > 0)
        g_hash_table_insert(kept->listed, GUINT_TO_POINTER(kept->peaks->len),
                            g_memdup2(layout, sizeof *layout));
}

int32_t rh_kept_count(const RhKept *kept)
{
    return (int32_t)kept->peaks->len;
}

RhLayout rh_kept_layout(const RhKept *kept, int32_t i)
{
    RhLayout l = {0};
    memcpy(&l, kept->knobs->data + (size_t)i * KNOBS_BYTES, KNOBS_BYTES);
    if (l.stage_layers_count > 0 || l.again_layers_count > 0)
        l = *(const RhLayout *)g_hash_table_lookup(kept->listed, GINT_TO_POINTER(i + 1));
    return l;
}

double rh_kept_peak_bytes(const RhKept *kept, int32_t i)
{
    return g_array_index(kept->peaks, double, i);
}

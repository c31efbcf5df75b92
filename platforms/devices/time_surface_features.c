/* Features of a kernel for the trees of a surface: sizes, their products, and the fill of the last
 * wave of tiles. */
#include <math.h>

#include "platforms/devices/time_surface.h"

static const struct {
    int rows, columns;
} tiles[] = {{64, 64}, {128, 64}, {64, 128}, {128, 128}, {256, 128}, {128, 256}};

static const char *const GEMM[] = {"m",       "n",       "k",       "m n",    "n k",
                                   "m k",     "m n k",   "64x64",   "128x64", "64x128",
                                   "128x128", "256x128", "128x256", NULL};
static const char *const ATTENTION[] = {"group",
                                        "streams",
                                        "keys",
                                        "group streams",
                                        "streams keys",
                                        "group keys",
                                        "group streams keys",
                                        "heads",
                                        "kv heads",
                                        "batch",
                                        "batch heads",
                                        NULL};
/* Features of experts: none, as tables time both products of a mixture together, and the share of
 * each is unknown. */
static const char *const EXPERTS[] = {NULL};

const char *const *rh_surface_features_names(RhSurfaceKind kind)
{
    return kind == RH_SURFACE_GEMM ? GEMM : kind == RH_SURFACE_EXPERTS ? EXPERTS : ATTENTION;
}

/* Returns the fraction of tile slots with work over all waves on all SMs: 0 to 1. */
static double fill(const RhKernel *k, int tile, double sms)
{
    double count = ceil((double)k->m / tiles[tile].rows) * ceil((double)k->n / tiles[tile].columns);
    return count / (sms * ceil(count / sms));
}

static float *put(float *x, double value)
{
    *x = (float)value;
    return x + 1;
}

void rh_surface_features(const RhSurface *s, const RhKernel *k, const double at[3], int sms,
                         float x[RH_FOREST_FEATURES_MAX])
{
    if (s->kind == RH_SURFACE_EXPERTS)
        return;
    for (int a = 0; a < 3; a++)
        x = put(x, at[a]);
    x = put(x, at[0] * at[1]);
    x = put(x, at[1] * at[2]);
    x = put(x, at[0] * at[2]);
    x = put(x, at[0] * at[1] * at[2]);
    if (s->kind == RH_SURFACE_GEMM) {
        for (size_t t = 0; t < G_N_ELEMENTS(tiles); t++)
            x = put(x, fill(k, (int)t, MAX(sms, 1)));
        return;
    }
    double heads = MAX(k->heads, 1), batch = (double)MAX(k->batch, 1);
    x = put(x, heads);
    x = put(x, MAX(k->kv_heads, 1));
    x = put(x, batch);
    put(x, batch * heads);
}

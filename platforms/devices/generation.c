#include "platforms/devices/generation.h"

#include <string.h>

#include "base/interned_strings.h"
#include "platforms/platform_constants.h"

/* Median over the matrices of 16 M elements and more, with 1 to 32 rows. */
#define FEW_ROWS_OF(system)                                                                        \
    "aiconfigurator 095f58a51, gemm bfloat16 of " system                                           \
    ", m of 1 to 32, three engines: bytes over time less the launch"
#define FEW_ROWS_UNKNOWN                                                                           \
    0.8, "round value among those of five generations with tables, 0.71 to 0.83"

/* Generations. Those of NVIDIA from Ampere on skip zeros (NVIDIA A100 Tensor Core GPU Architecture, V1.0,
 * 2020, and the data sheets since). One without measured tables of its own uses the reference whose matrix units are
 * driven in the same way: by a warp's instruction (mma.sync, mfma), or by a group of warps that the
 * hardware feeds (wgmma, tcgen05). Processes: docs.nvidia.com/deploy/mps, "Limitations" (16 clients before
 * Volta, 48 since); a TPU and a Gaudi are held by one process (docs.cloud.google.com/tpu, docs.habana.ai). */
const RhGeneration rh_generations[] = {
    {"pascal", "a100-sxm-80", "dgx-1", "vector units alone; no table of its own", FEW_ROWS_UNKNOWN,
     false, false, 16, false},
    {"volta", "a100-sxm-80", "dgx-1", "a warp's instruction, as Ampere; no table of its own",
     FEW_ROWS_UNKNOWN, false, false, RH_CLIENTS_MAX, false},
    {"turing", "a100-sxm-80", "dgx-a100", "a warp's instruction, as Ampere; no table of its own",
     FEW_ROWS_UNKNOWN, false, false, RH_CLIENTS_MAX, false},
    {"ampere", "a100-sxm-80", "dgx-a100", "fitted to an A100's tables", 0.71,
     FEW_ROWS_OF("a100_sxm"), false, true, RH_CLIENTS_MAX, false},
    {"ada", "a100-sxm-80", "dgx-a100", "a warp's instruction, as Ampere; no table of its own", 0.82,
     FEW_ROWS_OF("l40s"), false, true, RH_CLIENTS_MAX, false},
    {"hopper", "h100-sxm", "dgx-h100", "fitted to an H100's tables", 0.83, FEW_ROWS_OF("h100_sxm"),
     false, true, RH_CLIENTS_MAX, false},
    {"blackwell", "b200-sxm", "dgx-b200", "fitted to a B200's tables", 0.74,
     FEW_ROWS_OF("b200_sxm"), true, true, RH_CLIENTS_MAX, false},
    {"blackwell-rtx", "a100-sxm-80", "dgx-h100",
     "a warp's instruction, as Ampere; no table of its own", 0.82,
     FEW_ROWS_OF("rtx_pro_6000_server"), false, true, RH_CLIENTS_MAX, false},
    {"cdna", "a100-sxm-80", "frontier", "a wave's instruction, as Ampere; no table of its own",
     FEW_ROWS_UNKNOWN, false, false, 0, false},
    {"systolic", "h100-sxm", "dgx-h100", "large arrays fed by hardware; no table of its own",
     FEW_ROWS_UNKNOWN, false, false, 0, true},
    {"cpu", "a100-sxm-80", "frontera", "no table of its own", FEW_ROWS_UNKNOWN, false, false, 0,
     false},
    {0}};

const RhGeneration *rh_generation_by_name(const char *name)
{
    for (const RhGeneration *g = rh_generations; g->name; g++)
        if (strcmp(g->name, name) == 0)
            return g;
    return NULL;
}

/* Copies a fact of the reference to another device, with its source and tag adapted. */
static void adapt_fact(const RhGeneration *g, RhFact *fact)
{
    if (fact->tag == RH_TAG_NONE)
        return;
    g_autofree char *source =
        g_strdup_printf("%s, as %s has it: %s%s%s", g->name, g->reference, rh_tag_name(fact->tag),
                        *fact->source ? ", " : "", fact->source);
    *fact = (RhFact){.value = fact->value,
                     .tag = RH_TAG_ASSUMED,
                     .source = rh_intern(source),
                     .date = fact->date};
}

void rh_generation_fill(const RhGeneration *generation, const RhDevice *reference, RhDevice *device)
{
    size_t count = 0;
    const RhFactRow *rows = rh_facts(&count);
    device->curves = reference->curves;
    for (size_t i = 0; i < count; i++)
        if (rh_facts_of_generation(&rows[i]))
            adapt_fact(generation, (RhFact *)(void *)((char *)device + rows[i].offset));
    device->curves.gemm_few_rows_frac = (RhFact){.value = generation->few_rows_frac,
                                                 .tag = RH_TAG_ASSUMED,
                                                 .source = rh_intern(generation->few_rows_source),
                                                 .date = rh_intern("2026-11")};
    for (int32_t i = 0; i < device->curves.tiles_count; i++)
        adapt_fact(generation, &device->curves.tiles[i].rate_frac);
}

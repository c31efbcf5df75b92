#include "workloads/frozen_formats.h"

#include <stddef.h>
#include <string.h>

/* A scale for each 64 weights in 8 bits, and one in fp32 for each 256 of these: 4.127 bits. */
const RhFrozenFormat rh_frozen_format_nf4 = {
    .name = "nf4",
    .bytes = 0.5 + 1.0 / 64 + 4.0 / (64 * 256),
    .source = "Dettmers et al. 2023, arXiv 2305.14314, section 3: double quantization",
};

/* A scale in fp32 for each 64 weights: 4.5 bits. */
const RhFrozenFormat rh_frozen_format_nf4_single = {
    .name = "nf4-single",
    .bytes = 0.5 + 4.0 / 64,
    .source = "Dettmers et al. 2023, arXiv 2305.14314, section 3, without double quantization",
};

/* A scale of two bytes and a zero point of half a byte for each 128 weights. */
const RhFrozenFormat rh_frozen_format_int4 = {
    .name = "int4",
    .bytes = 0.5 + 2.5 / 128,
    .source = "Frantar et al. 2022, arXiv 2210.17323; groups of 128, bytes counted",
};

const RhFrozenFormat *rh_frozen_format_by_name(const char *name)
{
#define ADDRESS(row, name_) &rh_frozen_format_##row,
    static const RhFrozenFormat *const rows[] = {RH_FROZEN_FORMATS(ADDRESS)};
#undef ADDRESS
    for (size_t i = 0; name && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
    return NULL;
}

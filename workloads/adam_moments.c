#include "workloads/adam_moments.h"

#include <stddef.h>
#include <string.h>

const RhAdamMoments rh_adam_moments_fp32 = {
    .name = "fp32",
    .bytes = 2 * 4,
    .source = "Rajbhandari et al. 2020, arXiv 1910.02054, figure 1",
};

/* Masters stay fp32, and so do the gradients that micro-batches are summed in. */
const RhAdamMoments rh_adam_moments_bf16 = {
    .name = "bf16",
    .bytes = 2 * 2,
    .source = "DeepSeek-V3 technical report, arXiv 2412.19437, section 3.3.2",
};

/* A scale of 4 bytes for each block of 2,048. */
const RhAdamMoments rh_adam_moments_8bit = {
    .name = "8bit",
    .bytes = 2 * (1 + 4.0 / 2048),
    .source = "Dettmers et al. 2022, arXiv 2110.02861, section 2",
};

const RhAdamMoments *rh_adam_moments_by_name(const char *name)
{
#define ADDRESS(row, name_) &rh_adam_moments_##row,
    static const RhAdamMoments *const rows[] = {RH_ADAM_MOMENTS(ADDRESS)};
#undef ADDRESS
    for (size_t i = 0; name && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
    return NULL;
}

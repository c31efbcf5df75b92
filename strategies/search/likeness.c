#include "strategies/search/likeness.h"

/* "pictures" are no tokens; "mixture" has experts; "hybrid" mixes tokens by something that keeps a state, in some layers. */
static const char *kind_of(const RhModel *model)
{
    if (rh_model_sees_pictures(model))
        return "pictures";
    for (int32_t i = 0; i < model->kinds_count; i++)
        if (model->kinds[i].state_size > 0 || model->kinds[i].conv_size > 0)
            return "hybrid";
    return rh_model_experts_kind(model) ? "mixture" : "dense";
}

/* Is it someone's own, whose kernels nobody measured? Runs on the catalogue's own were judged, or on their
 * siblings. */
static bool is_assumed(const RhDevice *device)
{
    return device->curves.attention_peak_frac.tag == RH_TAG_ASSUMED &&
           !g_strv_contains(rh_device_names(), device->name);
}

RhLikeness rh_likeness_of(const RhCase *c)
{
    const RhStack *stack = c->stack;
    bool measurable = stack->kernel_gap_s.value > 0 &&
                      rh_platform_devices_count(c->platform) == 1 &&
                      c->platform->messages.sender == RH_SHARING_NONE;
    const char *generation = measurable ? c->platform->device->generation : NULL,
               *device = measurable ? c->platform->device->name : NULL;
    g_autofree char *kernels = rh_model_sees_pictures(c->model)
                                   ? g_strdup("convolutions")
                                   : g_strdup_printf("%s attention, %s norms",
                                                     stack->flash_attention ? "flash" : "unfused",
                                                     stack->fused_norms ? "fused" : "eager");
    return (RhLikeness){.stack = g_intern_string(stack->name),
                        .generation = g_intern_string(generation),
                        .kind = g_intern_string(kind_of(c->model)),
                        .device = g_intern_string(device),
                        .dtype = g_intern_string(rh_dtype_name(c->job.recipe->linear)),
                        .kernels = g_intern_string(kernels),
                        .gpus = c->job.gpus,
                        .assumed = is_assumed(c->platform->device),
                        .params = (double)rh_model_params(c->model)};
}

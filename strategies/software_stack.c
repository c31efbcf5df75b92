#include "strategies/software_stack.h"

#include <string.h>

#include "base/interned_strings.h"
#include "platforms/fabric/collective_library.h"
#include "platforms/fabric/nccl_protocol.h"

/* Scales a rate of the device to that of the stack's kernels; values given by the user stay. */
static void scale_rate(RhFact *rate, const RhFact *by)
{
    if (by->value > 0 && !rh_fact_is_users(rate))
        rate->value *= by->value;
}

static void scale_device(RhDevice *device, const RhStack *stack)
{
    RhDeviceCurves *curves = &device->curves;
    rh_device_use_training(device);
    scale_rate(&curves->attention_peak_frac, &stack->attention_frac);
    for (int i = 0; i < RH_DTYPE_LAST; i++)
        scale_rate(&curves->gemm_peak_frac[i], &stack->gemm_frac);
    scale_rate(&curves->gemm_peak_frac[RH_DTYPE_FP8], &stack->gemm_fp8_frac);
    if (stack->gemm_gradient_frac.value > 0 && !rh_fact_is_users(&curves->gemm_gradient_frac))
        curves->gemm_gradient_frac = stack->gemm_gradient_frac;
    rh_device_refresh(device);
}

RhPlatform *rh_stack_platform(const RhStack *stack, const RhPlatform *platform)
{
    RhPlatform *copy = rh_platform_copy(platform);
    if (!rh_fact_is_users(&platform->nvlink_efficiency_frac)) {
        copy->nvlink_efficiency_frac.value *= stack->nvlink_training_frac.value;
        rh_protocols_follow(copy, &copy->nvlink_efficiency_frac, stack->nvlink_training_frac.value);
    }
    if (stack->nic_training_frac.value > 0 && !rh_fact_is_users(&platform->nic_efficiency_frac)) {
        rh_protocols_follow(copy, &copy->nic_efficiency_frac,
                            stack->nic_training_frac.value / platform->nic_efficiency_frac.value);
        copy->nic_efficiency_frac = stack->nic_training_frac;
    }
    if (stack->library && !copy->library_given)
        rh_platform_set_library(copy, stack->library);
    for (int32_t i = 0; i < rh_platform_devices_count(copy); i++)
        scale_device(rh_platform_device(copy, i), stack);
    return copy;
}

const char *rh_stack_ignores(const RhStack *stack, const RhPlatform *platform, const char *key)
{
    g_autofree char *why = NULL;
    if (strcmp(key, "nic.efficiency") == 0 && stack->nic_training_frac.value > 0 &&
        !rh_fact_is_users(&platform->nic_efficiency_frac))
        why = g_strdup_printf("the stack %s brings its own, %.3g", stack->name,
                              stack->nic_training_frac.value);
    else if (strcmp(key, "host.bandwidth") == 0)
        why = g_strdup("nothing in a training step is copied to the host");
    else if (strcmp(key, "host.memory") == 0 || strcmp(key, "nvme.capacity") == 0)
        why = g_strdup("nothing in a training step is kept there");
    else if ((g_str_has_prefix(key, "islands.") && platform->island_gpus == 0) ||
             (g_str_has_prefix(key, "torus.") && platform->torus_count == 0) ||
             (g_str_has_prefix(key, "dragonfly.") && platform->dragonfly_nodes == 0))
        why = g_strdup_printf("%s has none", platform->name);
    else if (g_str_has_prefix(key, "messages.") && platform->messages.sender == RH_SHARING_NONE)
        why = g_strdup_printf("%s has no \"messages\", GPUs talk without a host's network stack",
                              platform->name);
    return why ? rh_intern(why) : NULL;
}

#include "strategies/stack.h"

#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "platforms/fabric/protocol.h"
#include "strategies/stack_file.h"

/* `rehearse calibrate --stack megatron --from calibrate/data/published-steps.csv` on 2026-11-22, again on the 23rd:
 * docs/theory/stacks.md has its errors and what each constant stands for. None of the Llama 3 paper's
 * rows nor Megatron-LM's SC21 table took part. STANDS: a value of an earlier fit, which is not in the
 * tree, that lies within the interval of this one. */
#define TRAINING_FIT                                                                               \
    "fit over 229 published steps (Aleph Alpha, dgxc, SimuMax; docs/theory/stacks.md)"
#define STANDS TRAINING_FIT ", in whose interval an older value stands"

/* Megatron-LM's pipelines (core_v0.15.3, megatron/core/pipeline_parallel/schedules.py). */
#define MEGATRON_SCHEDULES (1u << RH_PIPELINE_1F1B | 1u << RH_PIPELINE_INTERLEAVED)
/* Its ZeRO-2 and 3 are Megatron-FSDP, which lays a mesh of (data x context, tensor) over all ranks
 * and asserts that its groups are the job's (core_v0.15.3, mcore_fsdp_adapter.py): with stages they
 * are not. */
#define MEGATRON_ZERO_UNSTAGED (1u << 2 | 1u << 3)

#define FITTED(v, from, to, why)                                                                   \
    {                                                                                              \
        .value = (v), .tag = RH_TAG_FITTED, .source = why, .date = "2026-11", .low = (from),       \
        .high = (to)                                                                               \
    }
#define ASSUMED(v, why)                                                                            \
    {                                                                                              \
        .value = (v), .tag = RH_TAG_ASSUMED, .source = why, .date = "2026-11"                      \
    }

#define KERNEL_GAP_S FITTED(10.6e-6, 9.8e-6, 16.1e-6, STANDS ": 10.6 us per launched kernel")
#define NVLINK_TRAINING_FRAC                                                                       \
    FITTED(0.506, 0.495, 0.562,                                                                    \
           STANDS ": collectives in training reach half of what they do "                          \
                  "alone")
#define NIC_TRAINING_FRAC                                                                          \
    ASSUMED(0.59,                                                                                  \
            "gradient rings reach 0.59 of the NIC: an older fit that is not in the tree, within "  \
            "0.49 to 0.98, all that published rows tell of it (docs/theory/stacks.md)")
#define STRAGGLER_FRAC FITTED(0.005, 0, 0.042, STANDS ": 0.5 % per doubling of the nodes")
#define OPTIMIZER_BYTES                                                                            \
    ASSUMED(30, "Adam in fp32, counted: 7 x 4 B and the bf16 weight; published steps would have "  \
                "27 in its place, 16 to 61 (docs/theory/stacks.md)")
#define RESERVE_BYTES                                                                              \
    ASSUMED(2.5e9,                                                                                 \
            "context, NCCL and allocator; Aleph Alpha's out-of-memory runs ask for 5.75 GB, "      \
            "3.5 to 7.5, which is more than these (docs/theory/stacks.md)")

static const RhStack stacks[] = {
    {
        .name = "megatron",
        .framework = "megatron",
        .about =
            "Megatron-LM / NeMo: fused kernels, flash attention, overlapped gradient reduction",
        .flash_attention = true,
        .fused_norms = true,
        .fused_softmax = true,
        .fused_elementwise = true,
        .sequence_parallel = true,
        .tensor_overlap = true,
        .expert_parallel = true,
        .gradient_norm = true,
        .dummy_gradients =
            true, /* Transformer Engine's get_dummy_wgrad, since 2.3 (module/base.py) */
        .schedules = MEGATRON_SCHEDULES,
        .zero_unstaged = MEGATRON_ZERO_UNSTAGED,
        .kernel_gap_s = KERNEL_GAP_S,
        .nvlink_training_frac = NVLINK_TRAINING_FRAC,
        .nic_training_frac = NIC_TRAINING_FRAC,
        .straggler_frac = STRAGGLER_FRAC,
        .optimizer_bytes = OPTIMIZER_BYTES,
        .bucket_params = ASSUMED(40e6, "Megatron-LM DistributedDataParallelConfig: bucket_size "
                                       "max(40,000,000, 1,000,000 x dp) parameters"),
        .bucket_params_per_replica = 1e6,
        .reserve_bytes = RESERVE_BYTES,
        .passes = RH_PASSES_ASSUMED,
        .prefetch_layers = 1,
        .gradient_bytes = 4,
    },
    {
        .name = "megatron-2021",
        .framework = "megatron-2021",
        .about =
            "Megatron-LM of SC21: unfused attention with a fused softmax kernel, no sequence parallelism, stages' messages cut over tensor ranks",
        .flash_attention = false,
        .fused_norms = true,
        .fused_softmax = true,
        .fused_elementwise = true,
        .sequence_parallel = false,
        .scatters_messages = true, /* scatter_gather_tensors_in_pipeline, on by default */
        .expert_parallel = false,
        .even_stages = true,
        .gradient_norm = true,
        .schedules = MEGATRON_SCHEDULES,
        .zero_unstaged = MEGATRON_ZERO_UNSTAGED,
        .kernel_gap_s = KERNEL_GAP_S,
        .nvlink_training_frac = NVLINK_TRAINING_FRAC,
        .nic_training_frac = NIC_TRAINING_FRAC,
        .straggler_frac = STRAGGLER_FRAC,
        .optimizer_bytes = OPTIMIZER_BYTES,
        .bucket_params = ASSUMED(40e6, "as Megatron-LM today"),
        .bucket_params_per_replica = 1e6,
        .reserve_bytes = RESERVE_BYTES,
        .passes = RH_PASSES_ASSUMED,
        .prefetch_layers = 1,
        .gradient_bytes = 4,
    },
    {
        .name = "bare",
        .about = "no framework: kernels back to back, links at their measured bandwidth",
        .flash_attention = true,
        .fused_norms = true,
        .fused_softmax = true,
        .fused_elementwise = true,
        .sequence_parallel = true,
        .tensor_overlap = true,
        .expert_parallel = true,
        .second_shards = true,
        .kernel_gap_s = ASSUMED(0, "no framework"),
        .nvlink_training_frac = ASSUMED(1, "no framework"),
        .nic_training_frac = ASSUMED(0, "no framework: the platform's own efficiency"),
        .straggler_frac = ASSUMED(0, "no framework"),
        .optimizer_bytes =
            ASSUMED(28, "Adam in fp32: read gradient, master, m, v; write master, m, "
                        "v, and the bf16 weight (7 x 4 B)"),
        .bucket_params = ASSUMED(40e6, "as Megatron-LM"),
        .bucket_params_per_replica = 1e6,
        .reserve_bytes = ASSUMED(1e9, "CUDA context and library workspaces"),
        .passes = RH_PASSES_ASSUMED,
        .prefetch_layers = 1,
        .gradient_bytes = 4,
    },
    {
        .name = "lab",
        .about = "the network lab: kernels back to back, buckets small enough for small models",
        .flash_attention = true,
        .fused_norms = true,
        .fused_softmax = true,
        .fused_elementwise = true,
        .sequence_parallel = true,
        .tensor_overlap = true,
        .expert_parallel = true,
        .second_shards = true,
        .kernel_gap_s = ASSUMED(0, "timed waits"),
        .nvlink_training_frac = ASSUMED(1, "timed waits"),
        .nic_training_frac = ASSUMED(0, "the platform's own efficiency"),
        .straggler_frac = ASSUMED(0, "one machine"),
        .optimizer_bytes = ASSUMED(28, "as bare"),
        .bucket_params = ASSUMED(200e3, "about a layer of the lab's models"),
        .reserve_bytes = ASSUMED(1e6, "the lab's ranks are processes"),
        .passes = RH_PASSES_ASSUMED,
        .prefetch_layers = 1,
        .gradient_bytes = 4,
    },
};

/* A stack may be called as what people call its framework. */
static const struct {
    const char *alias, *name;
} aliases[] = {{"nemo", "megatron-bridge"}};

const RhStack *rh_stack_by_name(const char *name, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(aliases); i++)
        if (strcmp(aliases[i].alias, name) == 0)
            name = aliases[i].name;
    for (size_t i = 0; i < G_N_ELEMENTS(stacks); i++)
        if (strcmp(stacks[i].name, name) == 0)
            return &stacks[i];
    if (g_strv_contains(rh_stack_file_names(), name))
        return rh_stack_file(name, error);
    rh_fail_unknown(error, "stack", name, rh_stack_names());
    return NULL;
}

static const char *const *all_names(void)
{
    GPtrArray *names = g_ptr_array_new();
    for (size_t i = 0; i < G_N_ELEMENTS(stacks); i++)
        g_ptr_array_add(names, (void *)stacks[i].name);
    for (const char *const *n = rh_stack_file_names(); *n; n++)
        g_ptr_array_add(names, (void *)*n);
    g_ptr_array_add(names, NULL);
    return (const char *const *)g_ptr_array_free(names, FALSE);
}

const char *const *rh_stack_names(void)
{
    static const char *const *names;
    if (g_once_init_enter(&names))
        g_once_init_leave(&names, all_names());
    return names;
}

/* A rate of the device as the stack's kernels reach it; what the user said stands. */
static void scale(RhFact *rate, const RhFact *by)
{
    if (by->value > 0 && !rh_fact_is_users(rate))
        rate->value *= by->value;
}

static void scale_device(RhDevice *device, const RhStack *stack)
{
    RhDeviceCurves *curves = &device->curves;
    scale(&curves->attention_peak_frac, &stack->attention_frac);
    for (int i = 0; i < RH_DTYPE_LAST; i++)
        scale(&curves->gemm_peak_frac[i], &stack->gemm_frac);
    scale(&curves->gemm_peak_frac[RH_DTYPE_FP8], &stack->gemm_fp8_frac);
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

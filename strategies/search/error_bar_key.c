#include "strategies/search/error_bar_key.h"

#include "base/interned_strings.h"
#include "strategies/serve/scheduler.h"

/* Kind of a model: "pictures" has no tokens; "mixture" has experts; "hybrid" has layers whose mixer
 * keeps a state. */
static const char *kind_of(const RhModel *model)
{
    if (rh_model_sees_pictures(model))
        return "pictures";
    for (int32_t i = 0; i < model->kinds_count; i++)
        if (model->kinds[i].state_size > 0 || model->kinds[i].conv_kernel > 0)
            return "hybrid";
    return rh_model_experts_kind(model) ? "mixture" : "dense";
}

/* Is the device user-defined, without measured kernels? The catalogue's devices, or their siblings,
 * were evaluated. */
static bool is_assumed(const RhDevice *device)
{
    return device->curves.attention_peak_frac.tag == RH_TAG_ASSUMED &&
           !g_strv_contains(rh_device_names(), device->name);
}

/* Word for the kernels. Kernels that add gradients to the main ones themselves keep these in
 * buffers, which leaves less for an allocator to fragment. */
static char *kernels_of(const RhModel *model, const RhStack *stack)
{
    if (rh_model_sees_pictures(model))
        return g_strdup("convolutions");
    if (stack->flash_attention && stack->fused_norms && stack->dummy_gradients)
        return g_strdup("all kernels fused");
    return g_strdup_printf("%s attention, %s norms", stack->flash_attention ? "flash" : "unfused",
                           stack->fused_norms ? "fused" : "eager");
}

RhEvidenceKey rh_evidence_key_of(const RhProblem *c)
{
    const RhStack *stack = c->stack;
    bool measurable = c->job.preference == RH_PREFERENCE_NONE && stack->kernel_gap_s.value > 0 &&
                      rh_platform_devices_count(c->platform) == 1 &&
                      c->platform->messages.sender == RH_SHARING_NONE;
    const char *generation = measurable ? c->platform->device->generation : NULL,
               *device = measurable ? c->platform->device->name : NULL;
    g_autofree char *kernels = kernels_of(c->model, stack);
    return (RhEvidenceKey){.stack = rh_intern(stack->judged_as ? stack->judged_as : stack->name),
                           .holds_as = rh_intern(stack->holds_as),
                           .generation = rh_intern(generation),
                           .kind = rh_intern(kind_of(c->model)),
                           .device = rh_intern(device),
                           .dtype = rh_intern(rh_dtype_name(c->job.recipe->linear)),
                           .kernels = rh_intern(kernels),
                           .gpus = c->job.gpus,
                           .tokens = c->job.sequence,
                           .adapters = c->job.lora.rank > 0,
                           .assumed = is_assumed(c->platform->device),
                           .params = (double)rh_model_params(c->model)};
}

char *rh_evidence_key_untabled(const RhServing *s)
{
    const RhPlatform *p = s->platform;
    return p->profile || rh_server_profile(&s->server->profiles, p->device->name)
               ? NULL
               : g_strdup_printf("no table of kernels for %s and %s", p->device->name,
                                 s->server->name);
}

/* Reason why no evaluated row is like this deployment. Caller frees; NULL: some may be. */
static char *beyond_rows(const RhServing *s, const RhDeployment *d)
{
    const RhPlatform *p = s->platform;
    if (!rh_model_makes_tokens(s->model))
        return g_strdup("no service of a model that makes no tokens was measured");
    if (rh_platform_devices_count(p) > 1)
        return g_strdup("no service on GPUs of more than one kind was measured");
    char *untabled = rh_evidence_key_untabled(s);
    if (untabled)
        return untabled;
    for (int32_t i = 0; i < d->pools_count; i++) {
        if (d->pools[i].draft > 0)
            return g_strdup(
                "tokens are guessed, and no row that was measured says how many were right");
        if (d->pools[i].weights != RH_WEIGHTS_GPU)
            return g_strdup("no service with streamed weights was measured");
    }
    return NULL;
}

RhEvidenceKey rh_evidence_key_of_service(const RhServing *s, const RhDeployment *d, char **why_not)
{
    g_autofree char *why = beyond_rows(s, d);
    const RhDevice *device = s->platform->device;
    RhEvidenceKey like = {.stack = rh_intern(s->server->scheduler->name),
                          .generation = why ? NULL : rh_intern(device->generation),
                          .kind = rh_intern(kind_of(s->model)),
                          .device = rh_intern(device->name),
                          .dtype = rh_intern(rh_dtype_name(s->recipe->linear)),
                          .gpus = rh_deployment_gpus(d),
                          .apart = d->pools_count > 1,
                          .params = (double)rh_model_params(s->model)};
    if (why_not)
        *why_not = g_steal_pointer(&why);
    return like;
}

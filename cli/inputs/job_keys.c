#include "cli/inputs/job_keys.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"

static bool set_number(const char *key, const char *value, int64_t high, int64_t *out,
                       GError **error)
{
    g_autoptr(GError) local = NULL;
    if (rh_integer_parse(value, 1, high, out, &local))
        return true;
    return rh_fail(error, RH_ERROR_USAGE, "--set %s: %s", key, local->message);
}

static bool set_global_batch(RhJob *job, const char *value, GError **error)
{
    return set_number("global_batch", value, 1 << 28, &job->global_batch, error);
}

static bool set_sequence(RhJob *job, const char *value, GError **error)
{
    return set_number("sequence", value, 1 << 28, &job->sequence, error);
}

static bool set_gpus(RhJob *job, const char *value, GError **error)
{
    int64_t gpus = 0;
    if (!set_number("gpus", value, 1 << 22, &gpus, error))
        return false;
    job->gpus = (int32_t)gpus;
    return true;
}

static bool set_dtype(RhJob *job, const char *value, GError **error)
{
    job->recipe = rh_recipe_by_name(value);
    return job->recipe || rh_fail(error, RH_ERROR_USAGE, "--set dtype: \"%s\" is not one of %s",
                                  value, RH_RECIPE_CHOICES);
}

static bool set_moments(RhJob *job, const char *value, GError **error)
{
    job->moments = rh_adam_moments_by_name(value);
    return job->moments || rh_fail(error, RH_ERROR_USAGE, "--set moments: \"%s\" is not one of %s",
                                   value, RH_ADAM_MOMENTS_CHOICES);
}

static bool set_masters(RhJob *job, const char *value, GError **error)
{
    job->no_masters = strcmp(value, "none") == 0;
    return job->no_masters || strcmp(value, "fp32") == 0 ||
           rh_fail(error, RH_ERROR_USAGE, "--set masters: \"%s\" is not one of fp32|none", value);
}

static bool set_gradients(RhJob *job, const char *value, GError **error)
{
    job->gradient_bytes = strcmp(value, "bf16") == 0 ? 2 : strcmp(value, "fp32") == 0 ? 4 : 0;
    return job->gradient_bytes > 0 ||
           rh_fail(error, RH_ERROR_USAGE, "--set gradients: \"%s\" is not one of fp32|bf16", value);
}

static bool set_weights(RhJob *job, const char *value, GError **error)
{
    job->narrow_weights = strcmp(value, "narrow") == 0;
    return job->narrow_weights || strcmp(value, "wide") == 0 ||
           rh_fail(error, RH_ERROR_USAGE, "--set weights: \"%s\" is not one of wide|narrow", value);
}

static bool set_attention(RhJob *job, const char *value, GError **error)
{
    job->narrow_attention = strcmp(value, "fp8") == 0;
    return job->narrow_attention || strcmp(value, "wide") == 0 ||
           rh_fail(error, RH_ERROR_USAGE, "--set attention: \"%s\" is not one of wide|fp8", value);
}

static bool set_load(RhJob *job, const char *value, GError **error)
{
    return rh_expert_load_parse(value, &job->load, error);
}

/* Sets the capacity factor: the maximum tokens of an expert over the mean. */
static bool set_capacity(RhJob *job, const char *value, GError **error)
{
    char *end = NULL;
    double capacity = g_ascii_strtod(value, &end);
    if (end == value || *end != 0 || !(capacity > 0 && capacity <= 1e6))
        return rh_fail(error, RH_ERROR_USAGE,
                       "--set experts_capacity: \"%s\" is not a factor\n"
                       "help: 1.25 drops what an expert gets above 1.25 times the mean",
                       value);
    job->load.capacity = capacity;
    return true;
}

static bool set_documents(RhJob *job, const char *value, GError **error)
{
    return rh_documents_parse(value, &job->documents, error);
}

static bool set_packing(RhJob *job, const char *value, GError **error)
{
    job->documents.padded = strcmp(value, "off") == 0;
    return job->documents.padded || strcmp(value, "on") == 0 ||
           rh_fail(error, RH_ERROR_USAGE, "--set packing: \"%s\" is not one of on|off", value);
}

static bool set_lora_rank(RhJob *job, const char *value, GError **error)
{
    return rh_lora_parse(value, &job->lora, error);
}

static bool set_lora_modules(RhJob *job, const char *value, GError **error)
{
    return rh_lora_parse_modules(value, &job->lora, error);
}

static bool set_lora_base(RhJob *job, const char *value, GError **error)
{
    job->frozen = rh_frozen_format_by_name(value);
    return job->frozen || strcmp(value, "wide") == 0 ||
           rh_fail(error, RH_ERROR_USAGE, "--set lora.base: \"%s\" is not one of wide|%s", value,
                   RH_FROZEN_FORMAT_CHOICES);
}

static bool set_preference(RhJob *job, const char *value, GError **error)
{
    return rh_preference_by_name(value, &job->preference) ||
           rh_fail(error, RH_ERROR_USAGE, "--set preference: \"%s\" is not one of %s", value,
                   RH_PREFERENCE_CHOICES);
}

static bool set_clients(RhJob *job, const char *value, GError **error)
{
    int64_t count = 0;
    if (!set_number("clients", value, 1 << 10, &count, error))
        return false;
    job->clients.count = (int32_t)count;
    return true;
}

static bool set_sharing(RhJob *job, const char *value, GError **error)
{
    return rh_clients_kind_by_name(value, &job->clients.kind) ||
           rh_fail(error, RH_ERROR_USAGE, "--set sharing: \"%s\" is not one of %s", value,
                   RH_CLIENTS_CHOICES);
}

static bool set_loader_sample(RhJob *job, const char *value, GError **error)
{
    g_autoptr(GError) inner = NULL;
    double s = 0;
    if (!rh_quantity_parse(value, RH_QUANTITY_S, &s, &inner))
        return rh_fail(error, RH_ERROR_USAGE, "--set loader.sample: %s", inner->message);
    job->loader.sample_s = s;
    return (s >= 0 && s <= 1e3) ||
           rh_fail(error, RH_ERROR_USAGE, "--set loader.sample=%s: from 0 to 1,000 s", value);
}

#define WORKERS_MOST 4096

static bool set_loader_workers(RhJob *job, const char *value, GError **error)
{
    char *end;
    int64_t workers = g_ascii_strtoll(value, &end, 10);
    job->loader.workers = (int32_t)workers;
    return (end > value && !*end && workers >= 0 && workers <= WORKERS_MOST) ||
           rh_fail(error, RH_ERROR_USAGE,
                   "--set loader.workers=%s: a whole number from 0 (samples are loaded before each "
                   "step) to %d",
                   value, WORKERS_MOST);
}

static bool set_loader_place(RhJob *job, const char *value, GError **error)
{
    return rh_loader_place_by_name(value, &job->loader.place) ||
           rh_fail(error, RH_ERROR_USAGE, "--set loader.on: \"%s\" is not one of %s", value,
                   RH_LOADER_PLACES);
}

static const struct {
    const char *key;
    bool (*set)(RhJob *job, const char *value, GError **error);
} job_keys[] = {{"global_batch", set_global_batch},
                {"sequence", set_sequence},
                {"gpus", set_gpus},
                {"clients", set_clients},
                {"sharing", set_sharing},
                {"loader.sample", set_loader_sample},
                {"loader.workers", set_loader_workers},
                {"loader.on", set_loader_place},
                {"dtype", set_dtype},
                {"moments", set_moments},
                {"masters", set_masters},
                {"gradients", set_gradients},
                {"weights", set_weights},
                {"attention", set_attention},
                {"experts_load", set_load},
                {"experts_capacity", set_capacity},
                {"documents", set_documents},
                {"packing", set_packing},
                {"preference", set_preference},
                {"lora.rank", set_lora_rank},
                {"lora.modules", set_lora_modules},
                {"lora.base", set_lora_base}};

bool rh_job_set(RhJob *job, const char *key, const char *value, bool *known, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(job_keys); i++)
        if (strcmp(key, job_keys[i].key) == 0) {
            *known = true;
            return job_keys[i].set(job, value, error);
        }
    *known = false;
    return true;
}

const char *const *rh_job_keys(void)
{
    static const char *names[G_N_ELEMENTS(job_keys) + 1];
    for (size_t i = 0; i < G_N_ELEMENTS(job_keys); i++)
        names[i] = job_keys[i].key;
    return names;
}

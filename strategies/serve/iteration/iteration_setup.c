/* Makes the iterations of a pool: checks it, and sets its ranks' memory and its server's
 * kernels. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "platforms/profile.h"
#include "strategies/layer_partition.h"
#include "strategies/serve/iteration/iteration_private.h"
#include "strategies/serve/scheduler.h"

/* --- Memory --- */

/* Bytes per element of a linear layer's weights in memory: one of the two layouts that training
 * holds beside them, where they are narrow. */
static double linear_bytes(const RhRecipe *recipe)
{
    if (recipe->weight_alone_bytes > 0)
        return recipe->weight_alone_bytes;
    return recipe->weight_copy_bytes > 0 ? recipe->weight_copy_bytes / 2 : recipe->operand_bytes;
}

static double params_bytes(const RhIterations *it, const RhLayerKind *kind, RhBlock block)
{
    RhParams p = rh_block_params(it->model, kind, block, &it->shard);
    double wide = rh_dtype_bytes(it->shard.dtype);
    const RhRecipe *recipe = kind ? it->shard.recipe : NULL;
    bool experts = block == RH_BLOCK_FFN && kind && kind->experts > 0;
    bool narrow = recipe && (experts || !recipe->experts_alone);
    double linear = narrow ? linear_bytes(recipe) : wide;
    return (p.sharded + p.experts) * linear + p.replicated * wide;
}

/* Sums the cache's bytes per token; `whole`: as though layers with a window kept all tokens. */
static void sum_kept(RhIterations *it, bool whole)
{
    it->token_bytes = it->sequence_bytes = 0;
    for (int32_t k = 0; k < it->model->kinds_count; k++) {
        RhLayerKind kind = it->model->kinds[k];
        kind.window_tokens = whole ? 0 : kind.window_tokens;
        for (RhBlock block = RH_BLOCK_MIXER; block <= RH_BLOCK_FFN; block++) {
            RhCacheBytes kept = rh_block_cache_bytes(it->model, &kind, block, &it->shard);
            it->token_bytes += it->layers[k] * kept.token;
            it->sequence_bytes += it->layers[k] * kept.sequence;
        }
    }
}

/* Sums memory. Windows beside layers that keep all tokens have memory of their own, for the maximum
 * number of sequences, unless the server keeps all tokens there, too. Where all layers have a window (Mistral's first), sequences get blocks as
 * needed; tokens outside of the window are counted as kept. */
static void sum_memory(RhIterations *it)
{
    const RhModel *m = it->model;
    double embedding = params_bytes(it, NULL, RH_BLOCK_EMBEDDING),
           head = params_bytes(it, NULL, RH_BLOCK_HEAD);
    for (int32_t k = 0; k < m->kinds_count; k++)
        for (RhBlock block = RH_BLOCK_MIXER; block <= RH_BLOCK_FFN; block++)
            it->weight_bytes += it->layers[k] * params_bytes(it, &m->kinds[k], block);
    sum_kept(it, it->server->keeps_windows);
    if (it->token_bytes == 0)
        sum_kept(it, true);
    double drafter = it->pool.draft > 0 ? (double)it->pool.drafter / m->layers_count : 0;
    it->weight_bytes *= 1 + drafter;
    it->token_bytes *= 1 + drafter;
    it->sequence_bytes *= 1 + drafter;
    if (!it->makes_tokens) /* nothing of a request is kept when it is answered */
        it->token_bytes = it->sequence_bytes = 0;
    int32_t pp = it->pool.pp; /* stages are equal except for the ends, of which the larger counts */
    it->weight_bytes /= pp;
    it->token_bytes /= pp;
    it->sequence_bytes /= pp;
    it->weight_bytes += pp > 1               ? fmax(embedding, head)
                        : m->tied_embeddings ? embedding
                                             : embedding + head;
}

/* Rate at which a rank streams weights. A stream reaches a fraction of its link, which streams on
 * it share. Weights on drives are first read into host memory, at the rank's part of the node's
 * drives, and then copied: published rows of one, two and four GPUs on the same drives confirm this
 * (docs/theory/serving.md). */
static double weights_rate(const RhIterations *it, bool drives)
{
    const RhPlatform *p = it->platform;
    const RhServer *s = it->server;
    int32_t on_node = MIN(rh_pool_gpus(&it->pool), p->gpus_per_node);
    double link = p->host_bytes_per_s.value, sharers = fmax(p->host_gpus_per_link.value, 1);
    double copied_s = 1 / (link * (drives ? s->stream_nvme_frac : s->stream_host_frac).value),
           read_s = drives ? on_node / p->nvme_bytes_per_s.value : 0;
    return fmin(1 / (read_s + copied_s), link / fmin(sharers, on_node));
}

static void stream_weights(RhIterations *it)
{
    double layer = it->weight_bytes / it->model->layers_count;
    it->streamed_bytes = it->weight_bytes * (1 - it->pool.resident / 100.0);
    it->stream_s = it->streamed_bytes / weights_rate(it, it->pool.weights == RH_WEIGHTS_NVME);
    /* the current one, and the one that is loaded meanwhile */
    int32_t layers_at_once = it->pool.prefetch_off ? 1 : 2;
    it->weight_bytes += fmin(layers_at_once * layer, it->streamed_bytes) - it->streamed_bytes;
}

double rh_iterations_weights_s(const RhIterations *it)
{
    return it->weight_bytes / weights_rate(it, it->platform->nvme_bytes_per_s.value > 0);
}

double rh_iterations_streamed_bytes(const RhIterations *it)
{
    return it->streamed_bytes;
}

double rh_iterations_weight_bytes(const RhIterations *it)
{
    return it->weight_bytes;
}

double rh_iterations_token_bytes(const RhIterations *it)
{
    return it->token_bytes;
}

double rh_iterations_sequence_bytes(const RhIterations *it)
{
    return it->sequence_bytes;
}

const RhPlatform *rh_iterations_platform(const RhIterations *it)
{
    return it->platform;
}

/* --- checks --- */

/* Checks that ranks have equally many experts, or equal parts of them. */
static bool check_experts(const RhServing *s, const RhPool *pool, GError **error)
{
    if (pool->tp * pool->dp % pool->ep != 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "ep%d does not divide the %d ranks of a stage: experts are cut over all "
                       "(ep1), spread (ep%d), or cut over some and spread over the others",
                       pool->ep, pool->tp * pool->dp, pool->tp * pool->dp);
    if (pool->dp > 1 && !rh_model_experts_kind(s->model))
        return rh_fail(error, RH_ERROR_USAGE,
                       "dp%d: %s has no experts to share\nhelp: use replicas", pool->dp,
                       s->model->name);
    if (pool->ep > 1 && !rh_model_experts_kind(s->model))
        return rh_fail(error, RH_ERROR_USAGE, "ep%d: %s has no experts\nhelp: leave it out",
                       pool->ep, s->model->name);
    for (int k = 0; k < s->model->kinds_count; k++)
        if (s->model->kinds[k].experts % pool->ep != 0)
            return rh_fail(error, RH_ERROR_USAGE, "ep%d does not divide %d experts of a layer",
                           pool->ep, s->model->kinds[k].experts);
    return true;
}

static bool check_pool(const RhServing *s, const RhPool *pool, GError **error)
{
    const RhLayerKind *kind = rh_model_attention_kind(s->model);
    if (rh_pool_gpus(pool) > rh_platform_gpus(s->platform))
        return rh_fail(error, RH_ERROR_USAGE, "%d GPUs for a replica, and %s has %d",
                       rh_pool_gpus(pool), s->platform->name, rh_platform_gpus(s->platform));
    const char *lacks = rh_recipe_lacks_units(s->recipe, s->platform->device);
    if (lacks)
        return rh_fail(error, RH_ERROR_USAGE, "%s: %s has no units for %s", s->recipe->name,
                       s->platform->device->name, lacks);
    if (kind->heads > 0 && kind->heads % pool->tp != 0)
        return rh_fail(error, RH_ERROR_USAGE, "tp%d does not divide %d attention heads", pool->tp,
                       kind->heads);
    if (rh_platform_devices_count(s->platform) > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s has nodes of several devices: serving is planned on one",
                       s->platform->name);
    if (pool->pp > s->model->layers_count)
        return rh_fail(error, RH_ERROR_USAGE, "pp%d of %d layers", pool->pp,
                       s->model->layers_count);
    return true;
}

/* Checks a model that makes no tokens: its batches begin and end as one, and nothing of a request
 * is kept. */
static bool check_once(const RhServing *s, const RhPool *pool, GError **error)
{
    const struct {
        const char *key;
        bool given;
    } keys[] = {{"pp", pool->pp > 1},
                {"tp", pool->tp > 1 && rh_model_sees_pictures(s->model)},
                {"kv", pool->cache != RH_CACHE_AUTO},
                {"prefix", pool->prefix == RH_PREFIX_ON},
                {"draft", pool->draft > 0},
                {"blocks", pool->blocks > 0},
                {"host", pool->host > 0},
                {"nvme", pool->nvme > 0}};
    if (rh_model_makes_tokens(s->model))
        return (pool->passes <= 1 && pool->guidance == 0) ||
               rh_fail(error, RH_ERROR_USAGE,
                       "%s: %s makes tokens, a pass each\nhelp: leave it out",
                       pool->passes > 1 ? "passes" : "guidance", s->model->name);
    if (!s->server->scheduler->gathers)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s makes no tokens, and %s batches what makes one after another\n"
                       "help: server=triton, whose batches are passes over the model",
                       s->model->name, s->server->name);
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        if (keys[i].given)
            return rh_fail(error, RH_ERROR_USAGE,
                           "%s: %s makes no tokens: it is asked once%s\nhelp: leave it out",
                           keys[i].key, s->model->name,
                           i < 2 ? ", on a GPU or its tensor ranks" : ", and keeps nothing");
    return true;
}

/* The recipe as engines run it: on a device without units for bf16, products of 16 bits are made in
 * fp16, those with narrower weights too (vLLM casts a model of bfloat16 to float16 there:
 * vllm/config/model.py, from its pull request 1901 on). */
static RhRecipe served_recipe(const RhServing *s)
{
    RhRecipe recipe = *s->recipe;
    const RhFact *peaks = s->platform->device->peak_flops_per_s;
    if (recipe.linear == RH_DTYPE_BF16 && peaks[RH_DTYPE_FP16].value > peaks[RH_DTYPE_BF16].value)
        recipe.dtype = recipe.linear = RH_DTYPE_FP16;
    return recipe;
}

static RhShard shard_of(const RhServing *s, const RhPool *pool)
{
    const RhLayerKind *mixture = rh_model_experts_kind(s->model);
    RhCacheFormat cache =
        pool->cache != RH_CACHE_AUTO ? (RhCacheFormat)pool->cache : s->server->cache;
    return (RhShard){.tp = pool->tp,
                     .ep = pool->ep,
                     .etp = pool->ep > 1 || pool->dp > 1 ? rh_pool_expert_tensor(pool) : 0,
                     .sequence = 1,
                     .by_chance = true,
                     .fills_experts = s->server->fills_experts,
                     .experts_apart = s->server->experts_apart,
                     .shared_inside = mixture && mixture->experts == s->server->shared_inside,
                     .load = s->load,
                     .microbatch = 1,
                     .dtype = s->recipe->dtype,
                     .recipe = s->recipe,
                     .cache_bytes = cache == RH_CACHE_FP8 ? 1 : 0,
                     .flash = true,
                     .fused_norms = true,
                     .fused_softmax = true,
                     .fused_elementwise = true,
                     .fused_loss = true};
}

/* Name of linear layers' format in kernel tables. */
static const char *surface_format(const RhRecipe *recipe)
{
    static const struct {
        const RhRecipe *recipe;
        const char *format;
    } rows[] = {{&rh_recipe_fp8, "fp8"},
                {&rh_recipe_fp8_current, "fp8"},
                {&rh_recipe_fp8_block, "fp8_block"},
                {&rh_recipe_mxfp8, "fp8_block"},
                {&rh_recipe_nvfp4, "nvfp4"},
                {&rh_recipe_mxfp4_experts, "mxfp4"},
                {&rh_recipe_int4_weights, "int4"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].recipe == recipe)
            return rows[i].format;
    return NULL;
}

static bool is_blackwell(const RhDevice *device)
{
    return device->generation && strcmp(device->generation, "blackwell") == 0;
}

/* Largest sum over tensor ranks, in bytes, that includes the norm; below 0: none does. */
static double norms_bytes(const RhIterations *it)
{
    const RhServer *s = it->server;
    if (it->pool.tp <= 1 || !s->reduce_norms ||
        (s->reduce_norms_new && !is_blackwell(it->platform->device)))
        return -1;
    for (int32_t i = 0; i < s->norms_most_count; i++)
        if (s->norms_most[i].ranks == it->pool.tp)
            return s->norms_most[i].bytes;
    return s->norms_most_count > 0 ? -1 : HUGE_VAL;
}

static bool check_weights(const RhServing *s, const RhPool *pool, GError **error)
{
    if (pool->weights == RH_WEIGHTS_NVME && s->platform->nvme_bytes_per_s.value <= 0)
        return rh_fail(error, RH_ERROR_USAGE, "weights=nvme: nodes of %s have no drives",
                       s->platform->name);
    if (pool->weights != RH_WEIGHTS_GPU && pool->pp > 1)
        return rh_fail(error, RH_ERROR_USAGE,
                       "pp%d: weights are streamed for a batch, and several are under way",
                       pool->pp);
    if (pool->weights == RH_WEIGHTS_GPU && pool->prefetch_off)
        return rh_fail(error, RH_ERROR_USAGE, "prefetch=off: no weights are streamed");
    if (pool->weights == RH_WEIGHTS_GPU && pool->resident > 0)
        return rh_fail(error, RH_ERROR_USAGE, "resident=%d: all weights stay on the GPU",
                       pool->resident);
    return true;
}

static bool check_load(const RhServing *s, GError **error)
{
    if (!s->load)
        return true;
    if (s->load->capacity > 0)
        return rh_fail(error, RH_ERROR_USAGE,
                       "experts_capacity: servers drop no tokens\nhelp: leave it out");
    return rh_expert_load_fits(s->load, s->model, error);
}

static bool check_encoder(const RhServing *s, GError **error)
{
    return !rh_model_crosses(s->model) ||
           rh_fail(error, RH_ERROR_USAGE,
                   "%s has layers that look at an encoder's tokens, which are not served here\n"
                   "help: plan and simulate train it",
                   s->model->name);
}

static bool check_stages(const RhServing *s, const RhPool *pool, GError **error)
{
    const char *whole = rh_partition_whole(s->model, false);
    return pool->pp <= 1 || !whole ||
           rh_fail(error, RH_ERROR_USAGE, "pp=%d: %s %s\nnote: valid pp: 1", pool->pp,
                   s->model->name, whole);
}

/* Applies the profile of another software's grouped kernels to experts, if there is one. */
static bool apply_expert_profile(const RhServing *s, const RhPool *pool, RhPlatform *platform,
                                 GError **error)
{
    const RhServerProfiles *experts =
        pool->ep > 1 ? &s->server->experts_spread : &s->server->experts_cut;
    const char *format = surface_format(s->recipe),
               *others = rh_server_profile(experts, platform->device->name);
    if (!others || g_strcmp0(format, experts->format) != 0 || !rh_model_experts_kind(s->model))
        return true;
    g_autoptr(RhPlatform) other = rh_platform_copy(s->platform);
    if (!rh_platform_apply_profile(other, others, error))
        return false;
    rh_device_take_experts(platform->device, other->device, format);
    return true;
}

const char *const rh_expert_libraries[] = {"auto",     "trtllm-gen", "cutlass", "triton",
                                           "deepgemm", "marlin",     NULL};

/* Chooses the library of experts' grouped products that the deployment, or the server for the
 * format, names. */
static void choose_experts(const RhServing *s, const RhPool *pool, RhPlatform *platform)
{
    const RhServer *server = s->server;
    const char *format = surface_format(s->recipe), *library = NULL;
    if (pool->experts > 0)
        library = rh_expert_libraries[pool->experts];
    if (format && !library && pool->dp > 1)
        library = rh_server_profile(&server->experts_library_groups, format);
    if (format && !library)
        library = rh_server_profile(&server->experts_library, format);
    if (library)
        rh_device_choose_experts(platform->device, format ? format : "bf16", library);
}

RhIterations *rh_iterations_new(const RhServing *s, const RhPool *pool, GError **error)
{
    if (!check_encoder(s, error) || !check_stages(s, pool, error) || !check_once(s, pool, error) ||
        !check_pool(s, pool, error) || !check_experts(s, pool, error) ||
        !check_weights(s, pool, error) || !check_load(s, error))
        return NULL;
    g_autoptr(RhPlatform) platform = rh_server_hardware(s->server, s->platform, error);
    if (!platform || (!s->platform->profile && !apply_expert_profile(s, pool, platform, error)))
        return NULL;
    RhIterations *it = g_new0(RhIterations, 1);
    it->model = s->model;
    it->server = s->server;
    it->platform = g_steal_pointer(&platform);
    it->pool = *pool;
    it->makes_tokens = rh_model_makes_tokens(s->model);
    it->passes_s = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    it->recipe = served_recipe(s);
    if (it->recipe.cast_bytes > 0) /* read, and written in one layout */
        it->recipe.cast_bytes = rh_dtype_bytes(it->recipe.dtype) + it->recipe.operand_bytes;
    it->shard = shard_of(s, pool);
    it->shard.dtype = it->recipe.dtype;
    it->shard.recipe = &it->recipe;
    choose_experts(s, pool, it->platform);
    rh_device_use_surfaces(it->platform->device, surface_format(s->recipe));
    it->norms_bytes = norms_bytes(it);
    it->casts_inside = rh_device_casts_inside(it->platform->device, s->recipe->linear);
    for (int32_t l = 0; l < s->model->layers_count; l++)
        it->layers[s->model->kind_of_layer[l]]++;
    it->tokens_s = g_array_new(FALSE, FALSE, sizeof(double));
    it->exchanges_s = g_array_new(FALSE, FALSE, sizeof(double));
    it->logits_s = g_array_new(FALSE, FALSE, sizeof(double));
    it->decode_s = g_ptr_array_new_with_free_func(g_free);
    it->kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    sum_memory(it);
    if (pool->weights != RH_WEIGHTS_GPU)
        stream_weights(it);
    return it;
}

void rh_iterations_free(RhIterations *it)
{
    if (!it)
        return;
    rh_platform_free(it->platform);
    g_array_unref(it->tokens_s);
    g_array_unref(it->exchanges_s);
    g_array_unref(it->logits_s);
    g_ptr_array_unref(it->decode_s);
    g_hash_table_unref(it->passes_s);
    g_array_unref(it->kernels);
    g_free(it);
}

const RhPool *rh_iterations_pool(const RhIterations *it)
{
    return &it->pool;
}

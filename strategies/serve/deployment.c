#include "strategies/serve/deployment.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "base/text/nearest_names.h"
#include "strategies/serve/iteration/iteration.h"
#include "strategies/serve/server_software.h"
#include "strategies/serve/service/autoscaling.h"
#include "strategies/serve/service/router.h"

static const char *const cache_names[] = {"auto", "bf16", "fp8", NULL};
static const char *const switch_names[] = {"off", "on", NULL};
static const char *const prefetch_names[] = {"on", "off", NULL};
static const char *const order_names[] = {"fcfs", "lpm", NULL};
static const char *const prefix_names[] = {"auto", "off", "on", NULL};

static const char *const graphs_names[] = {"auto", "decode", "none", NULL};

#define DEGREE_MAX 1024
#define COUNT_MAX  (1 << 20)

static const char *const weights_names[] = {"gpu", "host", "nvme", NULL};

typedef struct {
    const char *key, *example, *about;
    int32_t low, high, otherwise;
    size_t offset;            /* offset in RhPool */
    const char *const *names; /* names of values; NULL: a number */
} PoolKey;

/* Keys of a pool; ends with NULL. */
static const PoolKey pool_keys[] = {
    {"tp", "tp4", "tensor parallel: each matrix over 4 GPUs", 1, DEGREE_MAX, 1,
     offsetof(RhPool, tp), NULL},
    {"pp", "pp2", "pipeline parallel: the layers over 2 stages", 1, DEGREE_MAX, 1,
     offsetof(RhPool, pp), NULL},
    {"ep", "ep8",
     "expert parallel: a mixture's experts over 8 GPUs of the server; cut over the others", 1,
     DEGREE_MAX, 1, offsetof(RhPool, ep), NULL},
    {"dp", "dp8",
     "attention data parallel: 8 groups of sequences in one server, which share experts", 1,
     DEGREE_MAX, 1, offsetof(RhPool, dp), NULL},
    {"replicas", "replicas=2", "servers beside one another, behind the router", 1, COUNT_MAX, 1,
     offsetof(RhPool, replicas), NULL},
    {"batch", "batch=256", "sequences of a server at once, at most (vLLM: max_num_seqs)", 0,
     COUNT_MAX, 0, offsetof(RhPool, batch), NULL},
    {"chunk", "chunk=8192", "tokens of an iteration, at most (vLLM: max_num_batched_tokens)", 0,
     COUNT_MAX, 0, offsetof(RhPool, chunk), NULL},
    {"kv", "kv=fp8", "format of cached keys and values; auto: the server's", 0, RH_CACHE_LAST - 1,
     RH_CACHE_AUTO, offsetof(RhPool, cache), cache_names},
    {"memory", "memory=90", "% of a GPU's memory, as the server counts it (gpu-memory-utilization)",
     0, 100, 0, offsetof(RhPool, memory), NULL},
    {"prefix", "prefix=off",
     "whether the cache remembers prompts for those that begin alike; auto: as the server", 0,
     RH_PREFIX_LAST - 1, RH_PREFIX_AUTO, offsetof(RhPool, prefix), prefix_names},
    {"stream", "stream=10",
     "tokens that a client is sent at once (stream_interval); 0: the server's", 0, 1 << 20, 0,
     offsetof(RhPool, stream), NULL},
    {"receive", "receive=10",
     "iterations from one look for new requests to the next (SGLang: scheduler-recv-interval)", 0,
     1 << 20, 0, offsetof(RhPool, receive), NULL},
    {"graphs", "graphs=decode",
     "iterations that CUDA graphs hold: auto (as the server), decode (none that reads prompts), "
     "none (vLLM: cudagraph_mode, enforce-eager)",
     0, RH_GRAPHS_LAST - 1, RH_GRAPHS_AUTO, offsetof(RhPool, graphs), graphs_names},
    {"captured", "captured=128",
     "sequences of the largest graph, for which memory is kept (SGLang: cuda-graph-max-bs)", 0,
     COUNT_MAX, 0, offsetof(RhPool, captured), NULL},
    {"experts", "experts=cutlass",
     "library of experts' products, where the server's table has several (moe_config.backend, "
     "moe-runner-backend)",
     0, 64, 0, offsetof(RhPool, experts), rh_expert_libraries},
    {"balance", "balance=60",
     "with dp: iterations that prompts wait at most until each group has one (TensorRT-LLM: "
     "enable_balance, timeout_iters)",
     0, COUNT_MAX, 0, offsetof(RhPool, balance), NULL},
    {"wait", "wait=20",
     "iterations that prompts wait at most for others (TensorRT-LLM: batch_wait_timeout_iters)", 0,
     COUNT_MAX, 0, offsetof(RhPool, wait), NULL},
    {"fill", "fill=90",
     "% of chunk from which on prompts do not wait (batch_wait_max_tokens_ratio)", 0, 100, 90,
     offsetof(RhPool, fill), NULL},
    {"order", "order=lpm",
     "who goes first: fcfs, or lpm, of whose prompt the cache has most (SGLang: schedule-policy)",
     0, RH_WAITING_LAST - 1, RH_WAITING_FCFS, offsetof(RhPool, order), order_names},
    {"draft", "draft=3", "speculative decoding: tokens guessed in an iteration, of each sequence",
     0, 64, 0, offsetof(RhPool, draft), NULL},
    {"accept", "accept=70", "% of guesses that are right, as measured; with draft", 0, 100, -1,
     offsetof(RhPool, accept), NULL},
    {"drafter", "drafter=1",
     "layers that guess, like the model's (MTP, EAGLE: 1); 0: n-grams of the text", 0, 1024, 1,
     offsetof(RhPool, drafter), NULL},
    {"blocks", "blocks=4096", "blocks of a server's cache, at most (vLLM: num_gpu_blocks_override)",
     0, 1 << 30, 0, offsetof(RhPool, blocks), NULL},
    {"weights", "weights=host",
     "where they lie: gpu; host or nvme, from where layers are streamed (ZeRO-Inference)", 0,
     RH_WEIGHTS_LAST - 1, RH_WEIGHTS_GPU, offsetof(RhPool, weights), weights_names},
    {"resident", "resident=40", "% of streamed weights that stay on the GPU", 0, 100, 0,
     offsetof(RhPool, resident), NULL},
    {"prefetch", "prefetch=off",
     "whether the next layer's weights come while one is computed, where they are streamed", 0, 1,
     0, offsetof(RhPool, prefetch_off), prefetch_names},
    {"window", "window=5",
     "ms that a batch waits to be full, from its first request on; of static batches", 0, 3600000,
     0, offsetof(RhPool, window), NULL},
    {"passes", "passes=50",
     "passes of the model for an answer: sampling steps of a model that draws pictures by diffusion",
     1, 100000, 1, offsetof(RhPool, passes), NULL},
    {"guidance", "guidance=on",
     "whether a pass is also made without the text (classifier-free guidance), in the same batch",
     0, 1, 0, offsetof(RhPool, guidance), switch_names},
    {"scale", "scale=ongoing",
     "whether replicas come and go with the load; ongoing: by requests under way (Ray Serve)", 0, 1,
     0, offsetof(RhPool, scale), rh_scaler_names},
    {"least", "least=2", "replicas that are there at all times, with scale", 1, COUNT_MAX, 1,
     offsetof(RhPool, least), NULL},
    {"target", "target=16", "requests of a replica, with scale (target_ongoing_requests)", 0,
     COUNT_MAX, 0, offsetof(RhPool, target), NULL},
    {"host", "host=256",
     "GiB of host memory that a server's cache puts prompts in which it has no room for", 0,
     1 << 20, 0, offsetof(RhPool, host), NULL},
    {"max_model_len", "max_model_len=16384",
     "tokens of a request at most, prompt and answer together (max_model_len; SGLang: "
     "context-length; TensorRT-LLM: max_seq_len): longer ones are refused, and vLLM does not start "
     "where its cache holds less; 0: not limited",
     0, 1 << 30, 0, offsetof(RhPool, max_model_len), NULL},
    {"nvme", "nvme=2048", "GiB of drives behind that (or in its place)", 0, 1 << 20, 0,
     offsetof(RhPool, nvme), NULL},
    {0}};

static int32_t *field_of(RhPool *pool, const PoolKey *key)
{
    return (int32_t *)(void *)((char *)pool + key->offset);
}

RhDeployment rh_deployment_default(void)
{
    RhDeployment d = {.server = rh_intern("vllm"), .router = rh_routers[0]->name, .pools_count = 1};
    for (int p = 0; p < RH_POOLS_MAX; p++)
        for (const PoolKey *key = pool_keys; key->key; key++)
            *field_of(&d.pools[p], key) = key->otherwise;
    return d;
}

static bool fail_key(const char *word, GError **error)
{
    static const char *keys[G_N_ELEMENTS(pool_keys) + 2] = {"server", "router"};
    for (size_t i = 0; pool_keys[i].key; i++)
        keys[i + 2] = pool_keys[i].key;
    const char *near = rh_near_name(word, keys);
    g_autofree char *list = g_strjoinv(" ", (char **)keys);
    return rh_fail(error, RH_ERROR_USAGE,
                   "unknown key of a deployment \"%s\"%s%s%s\nnote: keys: %s", word,
                   near ? "\nhelp: a key with a similar name exists: \"" : "", near ? near : "",
                   near ? "\"" : "", list);
}

static bool read_name(const PoolKey *key, const char *text, int32_t *value, GError **error)
{
    for (int32_t i = 0; key->names[i]; i++)
        if (strcmp(key->names[i], text) == 0) {
            *value = i;
            return true;
        }
    g_autofree char *legal = g_strjoinv(", ", (char **)key->names);
    return rh_fail(error, RH_ERROR_USAGE, "%s cannot be \"%s\"\nhelp: one of %s", key->key, text,
                   legal);
}

static bool read_value(const PoolKey *key, const char *text, int32_t *value, GError **error)
{
    char *end;
    errno = 0;
    gint64 number = g_ascii_strtoll(text, &end, 10);
    if (key->names)
        return read_name(key, text, value, error);
    if (!g_ascii_isdigit(*text) || *end || errno || number < key->low || number > key->high)
        return rh_fail(error, RH_ERROR_USAGE,
                       "%s cannot be \"%s\"\nhelp: a whole number from %d to %d, as in %s",
                       key->key, text, key->low, key->high, key->example);
    *value = (int32_t)number;
    return true;
}

/* Reads "server" and "router", which belong to the whole deployment; *taken is false for other
 * keys. */
static bool read_word(const char *key, const char *text, RhDeployment *d, bool *taken,
                      GError **error)
{
    bool server = strcmp(key, "server") == 0, router = strcmp(key, "router") == 0;
    *taken = server || router;
    if (!*taken)
        return true;
    const char *const *names = server ? rh_server_names() : rh_router_names();
    if (!g_strv_contains(names, text))
        return rh_fail_unknown(error, key, text, names);
    *(server ? &d->server : &d->router) = rh_intern(text);
    return true;
}

static bool read_item(char *item, RhDeployment *d, RhPool *pool, uint64_t *seen, GError **error)
{
    char *equals = strchr(item, '=');
    size_t length = equals ? (size_t)(equals - item) : strcspn(item, "0123456789");
    g_autofree char *word = g_strndup(item, length);
    const char *text = equals ? equals + 1 : item + length;
    bool taken;
    if (!read_word(word, text, d, &taken, error) || taken)
        return taken && !(error && *error);
    for (const PoolKey *key = pool_keys; key->key; key++) {
        if (strcmp(key->key, word) != 0)
            continue;
        uint64_t bit = UINT64_C(1) << (key - pool_keys);
        if (*seen & bit)
            return rh_fail(error, RH_ERROR_USAGE, "%s is given twice", word);
        *seen |= bit;
        return read_value(key, text, field_of(pool, key), error);
    }
    return fail_key(word, error);
}

static bool read_pool(const char *text, RhDeployment *d, RhPool *pool, GError **error)
{
    g_auto(GStrv) items = g_strsplit(text, ",", -1);
    uint64_t seen = 0;
    for (int i = 0; items[i]; i++) {
        if (!*g_strstrip(items[i]))
            return rh_fail(error, RH_ERROR_USAGE,
                           "a key is missing\nhelp: write a deployment as in "
                           "tp4,replicas=2,batch=256");
        if (!read_item(items[i], d, pool, &seen, error))
            return false;
    }
    return true;
}

bool rh_deployment_parse(const char *text, RhDeployment *deployment, GError **error)
{
    RhDeployment d = *deployment;
    g_auto(GStrv) pools = g_strsplit(text, "/", -1);
    guint count = g_strv_length(pools);
    if (count < 1 || count > RH_POOLS_MAX)
        return rh_fail(error, RH_ERROR_USAGE,
                       "a deployment has one pool, or two with a slash between them\n"
                       "help: tp4,replicas=2, or tp4,replicas=2/tp8 to read prompts on the first");
    d.pools_count = (int32_t)count;
    GError *local = NULL;
    for (guint i = 0; i < count; i++)
        if (!read_pool(pools[i], &d, &d.pools[i], &local)) {
            g_propagate_error(error, local);
            return false;
        }
    *deployment = d;
    return true;
}

static void put(GString *s, const char *key, bool equals, const char *value)
{
    bool first = s->len == 0 || s->str[s->len - 1] == '/';
    g_string_append_printf(s, "%s%s%s%s", first ? "" : ",", key, equals ? "=" : "", value);
}

char *rh_deployment_format(const RhDeployment *d)
{
    g_autoptr(GString) s = g_string_new(NULL);
    put(s, "server", true, d->server);
    if (g_strcmp0(d->router, rh_routers[0]->name) != 0)
        put(s, "router", true, d->router);
    for (int p = 0; p < d->pools_count; p++) {
        if (p > 0)
            g_string_append_c(s, '/');
        RhPool pool = d->pools[p];
        for (const PoolKey *key = pool_keys; key->key; key++) {
            int32_t value = *field_of(&pool, key);
            g_autofree char *number = g_strdup_printf("%d", value);
            bool degree = g_ascii_isdigit(key->example[strlen(key->key)]);
            if (value != key->otherwise || key == pool_keys)
                put(s, key->key, !degree, key->names ? key->names[value] : number);
        }
    }
    return g_string_free(g_steal_pointer(&s), FALSE);
}

int32_t rh_deployment_gpus(const RhDeployment *d)
{
    int32_t gpus = 0;
    for (int p = 0; p < d->pools_count; p++)
        gpus += rh_pool_gpus(&d->pools[p]) * d->pools[p].replicas;
    return gpus;
}

int32_t rh_deployment_first_gpu(const RhDeployment *d, int32_t replica)
{
    const RhPool *first = &d->pools[0], *second = &d->pools[1];
    int32_t inside = replica - first->replicas;
    return inside < 0 ? rh_pool_gpus(first) * replica
                      : rh_pool_gpus(first) * first->replicas + rh_pool_gpus(second) * inside;
}

/* Serving: iterations from kernels, runs from iterations, services from runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "strategies/serve/results/service_metrics.h"
#include "strategies/serve/service/router.h"
#include "tests/kit/serve_kit.h"
#include "tests/kit/train_kit.h"
#include "workloads/operator_costs.h"

/* --- Operators --- */

static double sum_of(const RhModel *m, RhPass pass, int64_t tokens, int64_t cached, bool core,
                     double (*figure)(const RhKernel *))
{
    RhShard shard = {.tp = 1,
                     .sequence = tokens,
                     .cached = cached,
                     .microbatch = 1,
                     .dtype = RH_DTYPE_BF16,
                     .flash = true,
                     .fused_norms = true,
                     .fused_elementwise = true};
    if (pass == RH_PASS_DECODE) {
        shard.microbatch = tokens;
        shard.sequence = cached;
    }
    g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(RhKernel));
    rh_block_kernels(m, &m->kinds[0], RH_BLOCK_MIXER, RH_PART_TENSOR, pass, &shard, kernels);
    double sum = 0;
    for (guint i = 0; i < kernels->len; i++) {
        const RhKernel *k = &g_array_index(kernels, RhKernel, i);
        sum += k->core == core ? figure(k) : 0;
    }
    return sum;
}

static double flops_of(const RhKernel *k)
{
    return k->flops;
}

static double bytes_of(const RhKernel *k)
{
    return k->bytes;
}

/* A prompt read in chunks has the pairs of one read at once. */
static void chunks_add_up(void)
{
    static const char *const models[] = {"llama-3.1-8b", "mistral-7b", "gpt-oss-20b"};
    for (size_t i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autoptr(RhModel) m = rh_model_load(models[i], NULL);
        double whole = sum_of(m, RH_PASS_PREFILL, 9000, 0, true, flops_of), chunks = 0;
        for (int64_t from = 0; from < 9000; from += 1000)
            chunks += sum_of(m, RH_PASS_PREFILL, 1000, from, true, flops_of);
        CU_ASSERT_DOUBLE_EQUAL(chunks / whole, 1, 1e-3);
    }
}

/* Work of a token does not depend on whether it is a prompt's. */
static void tokens_are_tokens(void)
{
    g_autoptr(RhModel) m = rh_model_load("llama-3.1-8b", NULL);
    CU_ASSERT_DOUBLE_EQUAL(sum_of(m, RH_PASS_PREFILL, 96, 0, false, bytes_of),
                           sum_of(m, RH_PASS_DECODE, 96, 4000, false, bytes_of), 1e-3);
}

/* 2 x 8 heads x 128 columns x 2 bytes x 32 layers. The last four as published: bytes a token in DeepSeek-V3,
 * Qwen2.5-72B and Llama-3.1-405B of arXiv 2505.09343, table 1.
 * Source: Zhao et al. 2025 (arXiv 2505.09343), table 1. */
static void caches_are_counted(void)
{
    static const struct {
        const char *model;
        int32_t tp;
        double bytes;
    } rows[] = {{"llama-3.1-8b", 1, 131072}, {"llama-3.1-8b", 2, 65536},
                {"llama-3.1-8b", 16, 16384}, /* a key-value head each, at least */
                {"deepseek-v3", 8, 70272},   {"deepseek-v3", 1, 70272},
                {"qwen2.5-72b", 1, 327680},  {"llama-3.1-405b", 1, 516096}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(RhModel) m = rh_model_load(rows[i].model, NULL);
        RhShard shard = {.tp = rows[i].tp, .sequence = 1, .microbatch = 1, .dtype = RH_DTYPE_BF16};
        double bytes = 0;
        for (int32_t l = 0; l < m->layers_count; l++)
            bytes += rh_block_cache_bytes(m, &m->kinds[m->kind_of_layer[l]], RH_BLOCK_MIXER, &shard)
                         .token;
        CU_ASSERT_DOUBLE_EQUAL(bytes, rows[i].bytes, 1e-6);
    }
}

/* A sequence of a model with scans has their states, whatever its length: the sum over its layers. */
static void states_are_counted(void)
{
    Setting s = setting_of("nemotron-3-nano-30b-a3b", "dgx-h100:1", "tp1");
    RhPool pool = s.deployment.pools[0];
    pool.batch = s.serving.server->batch;
    pool.chunk = s.serving.server->chunk;
    g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &pool, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(it);
    RhShard shard = {.tp = 1, .sequence = 1, .microbatch = 1, .dtype = RH_DTYPE_BF16};
    double bytes = 0;
    for (int32_t l = 0; l < s.model->layers_count; l++) {
        const RhLayerKind *kind = &s.model->kinds[s.model->kind_of_layer[l]];
        bytes += rh_block_cache_bytes(s.model, kind, RH_BLOCK_MIXER, &shard).sequence;
    }
    CU_ASSERT_TRUE(bytes > 1e6);
    RH_CHECK_CLOSE(rh_iterations_sequence_bytes(it), bytes, 1e-12);
    close_setting(&s);
}

/* --- Services --- */

static const char *const servers[] = {"vllm", "sglang", "trtllm", "orca", "static"};

/* Every request ends, tokens out are those asked for, and none comes before its time. */
static void everything_is_served(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(servers); i++) {
        g_autofree char *text = g_strdup_printf("server=%s,tp1,replicas=2,batch=16", servers[i]);
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", text);
        g_autoptr(RhRequests) requests = drawn(200, 20, 2000, 300);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        int64_t in = 0, out = 0;
        for (guint k = 0; k < r->served->len; k++) {
            const RhRequestRecord *q = at(r, k);
            CU_ASSERT_EQUAL(q->outcome, RH_SERVED_DONE);
            CU_ASSERT_TRUE(q->t_arrive_s < q->t_admit_s && q->t_admit_s < q->t_first_s &&
                           q->t_first_s < q->t_end_s);
            CU_ASSERT_TRUE(q->tbt_max_s * (q->output_tokens - 1) >=
                           (q->t_end_s - q->t_first_s) * (1 - 1e-9));
            in += q->input_tokens;
            out += q->output_tokens;
        }
        CU_ASSERT_EQUAL(r->tokens_in, in);
        CU_ASSERT_EQUAL(r->tokens_out, out);
        close_setting(&s);
    }
}

/* Requests of one moment enter one iteration of an idle server, as many as its batch and its tokens hold; batches of
 * `static` have no limit of tokens. */
static void a_moment_is_one_iteration(void)
{
    static const struct {
        const char *limits;
        int32_t together;
    } rows[] = {
        {"batch=64,chunk=8192", 64}, {"batch=16,chunk=8192", 16}, {"batch=64,chunk=1280", 10}};
    for (size_t i = 0; i < G_N_ELEMENTS(servers) * G_N_ELEMENTS(rows) - 1; i++) {
        const char *server = servers[i / G_N_ELEMENTS(rows)];
        g_autofree char *text =
            g_strdup_printf("server=%s,tp1,%s", server, rows[i % G_N_ELEMENTS(rows)].limits);
        Setting s = setting_of("llama-3.2-1b", "h100-sxm:1x1", text);
        int32_t together = rows[i % G_N_ELEMENTS(rows)].together;
        g_autoptr(RhRequests) requests = rh_requests_new("test");
        for (int32_t k = 0; k < 64; k++) {
            RhRequest q = {.t_s = 1, .input_tokens = 128, .output_tokens = 8, .session = -1};
            g_array_append_val(requests->list, q);
        }
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        g_autoptr(RhServiceResult) closed = serve(&s, requests, &(RhClient){.at_once = 64});
        for (int32_t k = 0; k < 64; k++) {
            CU_ASSERT_EQUAL(at(r, k)->t_admit_s == at(r, 0)->t_admit_s, k < together);
            CU_ASSERT_EQUAL(at(closed, k)->t_admit_s == at(closed, 0)->t_admit_s, k < together);
        }
        close_setting(&s);
    }
}

static int64_t gaps_of(const RhServiceResult *r)
{
    int64_t gaps = 0;
    for (int i = 0; i < RH_GAP_BINS; i++)
        gaps += r->gaps[i];
    return gaps;
}

/* Sequences are preempted and resumed where the cache is short; tokens are made once each. */
static void the_cache_runs_out(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1,batch=256");
    CU_ASSERT_TRUE_FATAL(rh_platform_set(s.platform, "device.hbm", "26GiB", NULL));
    g_autoptr(RhRequests) requests = drawn(100, 1000, 200, 900);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    int64_t out = 0, put_out = 0;
    for (guint k = 0; k < r->served->len; k++) {
        CU_ASSERT_EQUAL(at(r, k)->outcome, RH_SERVED_DONE);
        out += at(r, k)->output_tokens;
        put_out += at(r, k)->preempted_count;
    }
    CU_ASSERT_TRUE(put_out > 0);
    CU_ASSERT_TRUE(r->kv_peak_frac > 0.9 && r->kv_peak_frac <= 1);
    CU_ASSERT_EQUAL(r->tokens_out, out);
    CU_ASSERT_EQUAL(gaps_of(r), out - 100);
    close_setting(&s);
}

/* Sequences of a model all of whose layers have a window have blocks as they come. */
static void windows_take_room(void)
{
    Setting s = setting_of("mistral-7b", "dgx-h100:1", "tp1,batch=256");
    CU_ASSERT_TRUE_FATAL(rh_platform_set(s.platform, "device.hbm", "26GiB", NULL));
    g_autoptr(RhRequests) requests = drawn(100, 1000, 1000, 900);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    int64_t put_out = 0;
    for (guint k = 0; k < r->served->len; k++)
        put_out += at(r, k)->preempted_count;
    CU_ASSERT_TRUE(put_out > 0);
    CU_ASSERT_TRUE(r->kv_peak_frac > 0.9 && r->kv_peak_frac <= 1);
    close_setting(&s);
}

/* A run of iterations told by its closed form is what its iterations are, to rounding. */
static void runs_are_iterations(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(servers); i++) {
        g_autofree char *text = g_strdup_printf("server=%s,tp2,replicas=2,batch=64", servers[i]);
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", text);
        CU_ASSERT_TRUE_FATAL(rh_platform_set(s.platform, "device.hbm", "17GiB", NULL));
        g_autoptr(RhRequests) requests = drawn(120, 30, 1500, 700);
        g_autoptr(RhServiceResult) runs = serve(&s, requests, &(RhClient){0});
        g_autoptr(RhServiceResult) each = serve(&s, requests, &(RhClient){.each_iteration = true});
        CU_ASSERT_EQUAL(each->iterations_skipped, 0);
        CU_ASSERT_TRUE(runs->iterations_skipped > runs->iterations_stepped);
        CU_ASSERT_EQUAL(runs->iterations_skipped + runs->iterations_stepped,
                        each->iterations_stepped);
        for (guint k = 0; k < runs->served->len; k++) {
            CU_ASSERT_DOUBLE_EQUAL(at(runs, k)->t_first_s, at(each, k)->t_first_s, 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(at(runs, k)->t_end_s, at(each, k)->t_end_s, 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(at(runs, k)->tbt_max_s, at(each, k)->tbt_max_s, 1e-9);
        }
        close_setting(&s);
    }
}

/* The recorded work of replicas is complete, one item after another. */
static void works_are_kept(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1,replicas=2,batch=16");
    g_autoptr(RhRequests) requests = drawn(100, 20, 2000, 300);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){.timeline = true});
    double end_s[2] = {0, 0}, busy_s = 0;
    int64_t iterations = 0, read = 0;
    for (guint i = 0; i < r->works->len; i++) {
        const RhServiceWork *w = &g_array_index(r->works, RhServiceWork, i);
        CU_ASSERT_TRUE(w->t_begin_s >= end_s[w->replica] - 1e-12);
        CU_ASSERT_TRUE(w->prompts + w->continued > 0);
        end_s[w->replica] = w->t_end_s;
        busy_s += within_s(&r->window, w->t_begin_s, w->t_end_s);
        iterations += w->iterations;
        read += w->prompt_tokens;
    }
    CU_ASSERT_EQUAL(iterations, r->iterations_stepped + r->iterations_skipped);
    CU_ASSERT_EQUAL(read, r->tokens_in);
    RH_CHECK_CLOSE(busy_s, r->window.busy_frac * r->window.replica_s, 1e-9);
    RH_CHECK_CLOSE(r->window.replica_s, 2 * r->window.duration_s, 1e-9);
    close_setting(&s);
}

/* Narrow weights are held and read so, and multiplied as wide ones: a token of one sequence waits for
 * them, a long prompt does not. */
static void weights_alone_are_narrow(void)
{
    static const RhRecipe *const recipes[] = {
        &rh_recipe_bf16,           &rh_recipe_int8_weights,   &rh_recipe_int4_weights,
        &rh_recipe_sparse_weights, &rh_recipe_binary_weights, &rh_recipe_ternary_weights};
    double linear = 32 * 218103808.0, rest = 8030261248.0 - linear;
    double token_s[6], prompt_s[6];
    for (size_t i = 0; i < G_N_ELEMENTS(recipes); i++) {
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
        s.serving.recipe = recipes[i];
        g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(service);
        RhIterations *it = rh_service_iterations(service, 0);
        double each = i > 0 ? recipes[i]->weight_alone_bytes : 2;
        RH_CHECK_CLOSE(rh_iterations_weight_bytes(it), each * linear + 2 * rest, 1e-9);
        RhChunk chunk = {0, 8192};
        token_s[i] = rh_iteration_s(it, &(RhBatch){.decodes = 1, .contexts = 100});
        prompt_s[i] =
            rh_iteration_s(it, &(RhBatch){.chunks = &chunk, .chunks_count = 1, .ended = 1});
        close_setting(&s);
    }
    CU_ASSERT_TRUE(token_s[1] < 0.65 * token_s[0] && token_s[2] < 0.7 * token_s[1]);
    RH_CHECK_CLOSE(prompt_s[2], prompt_s[0], 0.01);
    RH_CHECK_CLOSE(recipes[3]->weight_alone_bytes, 2 * 9.0 / 16, 1e-14);
    CU_ASSERT_TRUE(token_s[3] < 0.75 * token_s[0]); /* 9/16 of layers' bytes, and the head */
    CU_ASSERT_TRUE(prompt_s[3] > 0.5 * prompt_s[0] && prompt_s[3] < 0.75 * prompt_s[0]);
    CU_ASSERT_TRUE(token_s[4] < token_s[5] && token_s[5] < token_s[2]);
    g_autoptr(GError) error = NULL;
    TrainKit k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 8, 1024);
    k.c.job.recipe = &rh_recipe_int4_weights;
    CU_ASSERT_FALSE(rh_train_job_legal(&k.c, &error));
    CU_ASSERT_PTR_NOT_NULL(error);
    train_kit_clear(&k);
}

/* Experts in 4 bits, all else in 16; on a device whose profile has a table of such experts they go by it, and a token
 * of few sequences is quicker than in 16 bits. */
static void experts_alone_are_narrow(void)
{
    static const RhRecipe *const recipes[] = {&rh_recipe_bf16, &rh_recipe_mxfp4_experts};
    const double experts =
        36.0 * 128 * 3 * 2880 * 2880; /* and biases, which are narrow with them */
    double bytes[2], token_s[2];
    for (size_t i = 0; i < G_N_ELEMENTS(recipes); i++) {
        Setting s = setting_of("gpt-oss-120b", "dgx-b200:1", "tp2");
        s.serving.recipe = recipes[i];
        g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(service);
        RhIterations *it = rh_service_iterations(service, 0);
        bytes[i] = rh_iterations_weight_bytes(it);
        token_s[i] = rh_iteration_s(it, &(RhBatch){.decodes = 32, .contexts = 32 * 1024});
        close_setting(&s);
    }
    RH_CHECK_CLOSE(bytes[0] - bytes[1], (2 - (0.5 + 1.0 / 32)) * experts / 2, 0.01);
    CU_ASSERT_TRUE(token_s[1] < 0.6 * token_s[0]);
}

/* Equal questions have equal bytes as answers. */
static void answers_repeat(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1,replicas=4,router=two-choices");
    g_autoptr(RhRequests) requests = drawn(300, 60, 1000, 200);
    g_autoptr(RhServiceResult) a = serve(&s, requests, &(RhClient){0});
    g_autoptr(RhServiceResult) b = serve(&s, requests, &(RhClient){0});
    CU_ASSERT_EQUAL(
        memcmp(a->served->data, b->served->data, sizeof(RhRequestRecord) * a->served->len), 0);
    close_setting(&s);
}

/* A closed loop has as many under way as there are clients. */
static void clients_take_turns(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    g_autoptr(RhRequests) requests = drawn(80, 1, 500, 100);
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){.at_once = 8});
    for (guint k = 0; k < r->served->len; k++) {
        int32_t under_way = 0;
        double t_s = at(r, k)->t_arrive_s;
        for (guint j = 0; j < r->served->len; j++)
            under_way += at(r, j)->t_arrive_s <= t_s && at(r, j)->t_end_s > t_s;
        CU_ASSERT_TRUE(under_way <= 8);
    }
    close_setting(&s);
}

/* Requests that come at once go to replicas in equal parts, whatever a router looks at. */
static void routers_deal_out(void)
{
    for (const char *const *router = rh_router_names(); *router; router++) {
        g_autofree char *text = g_strdup_printf("tp1,replicas=4,router=%s", *router);
        Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", text);
        RhRequestsPlan plan = {.arrival = RH_ARRIVAL_BURST,
                               .count = 400,
                               .input = {500, 500},
                               .output = {20, 20},
                               .seed = 1};
        g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
        int32_t of[4] = {0};
        for (guint k = 0; k < r->served->len; k++)
            of[at(r, k)->replica]++;
        for (int i = 0; i < 4; i++)
            CU_ASSERT_TRUE(abs(of[i] - 100) <= (strcmp(*router, "two-choices") == 0 ? 8 : 0));
        close_setting(&s);
    }
}

/* Requests of higher priority, if few, are served in a growing queue as if they were alone. */
static void priority_goes_first(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1,batch=4");
    double wait_s[2] = {0};
    int32_t of[2] = {0};
    g_autoptr(RhRequests) requests = drawn(200, 1000, 1000, 100);
    for (guint i = 0; i < requests->list->len; i += 10)
        g_array_index(requests->list, RhRequest, i).priority = 1;
    g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){0});
    for (guint i = 0; i < r->served->len; i++) {
        int32_t high = g_array_index(requests->list, RhRequest, i).priority;
        CU_ASSERT_EQUAL(at(r, i)->outcome, RH_SERVED_DONE);
        wait_s[high] += at(r, i)->t_admit_s - at(r, i)->t_arrive_s;
        of[high]++;
    }
    CU_ASSERT_TRUE(wait_s[1] / of[1] < 0.2 * wait_s[0] / of[0]);
    close_setting(&s);
}

/* Requests that never fit are refused, and all others served. */
static void too_long_is_refused(void)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    CU_ASSERT_TRUE_FATAL(rh_platform_set(s.platform, "device.hbm", "26GiB", NULL));
    g_autoptr(RhRequests) requests = rh_requests_new("test");
    static const int32_t lengths[][2] = {
        {100, 10},       {1000000, 10}, {100, G_MAXINT32}, {100, 10}, {G_MAXINT32, G_MAXINT32},
        {G_MAXINT32, 1}, {100, 10}};
    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        RhRequest request = {
            .input_tokens = lengths[i][0], .output_tokens = lengths[i][1], .session = -1};
        g_array_append_val(requests->list, request);
    }
    for (size_t k = 0; k < G_N_ELEMENTS(servers); k++) {
        s.serving.server = rh_server_by_name(servers[k], NULL);
        g_autoptr(RhServiceResult) r = serve(&s, requests, &(RhClient){.at_once = 1});
        for (guint i = 0; i < r->served->len; i++)
            CU_ASSERT_EQUAL(at(r, i)->outcome, lengths[i][0] == 100 && lengths[i][1] == 10
                                                   ? RH_SERVED_DONE
                                                   : RH_SERVED_REFUSED);
    }
    close_setting(&s);
    /* 1,024 positions are learned */
    Setting old = setting_of("gpt2", "dgx-h100:1", "tp1");
    g_autoptr(RhRequests) longer = drawn(20, 10, 1600, 100);
    g_autoptr(RhServiceResult) of = serve(&old, longer, &(RhClient){0});
    for (guint i = 0; i < of->served->len; i++)
        CU_ASSERT_EQUAL(at(of, i)->outcome == RH_SERVED_DONE,
                        at(of, i)->input_tokens + at(of, i)->output_tokens <= 1024);
    close_setting(&old);
}

/* Errors name what cannot be served, and a computation that exceeds its time. */
static void refusals_are_told(void)
{
    static const struct {
        const char *model, *platform;
        const RhRecipe *recipe;
    } wrong[] = {{"llama-3.1-8b", "dgx-h100:1", &rh_recipe_nvfp4},
                 {"llama-3.1-8b", "dgx-a100:1", &rh_recipe_fp8}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        Setting s = setting_of(wrong[i].model, wrong[i].platform, "tp1");
        g_autoptr(GError) error = NULL;
        s.serving.recipe = wrong[i].recipe;
        CU_ASSERT_PTR_NULL(rh_service_new(&s.serving, &s.deployment, &error));
        CU_ASSERT_PTR_NOT_NULL(error);
        close_setting(&s);
    }
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", "tp1");
    g_autoptr(GError) error = NULL;
    g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
    g_autoptr(RhRequests) requests = drawn(5000, 30, 500, 100);
    CU_ASSERT_PTR_NULL(rh_service_run(service, requests, &(RhClient){.timeout_s = 1e-6}, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
    close_setting(&s);
}

static const RhTest tests[] = {
    {"chunks of a prompt add up", chunks_add_up},
    {"tokens are tokens", tokens_are_tokens},
    {"caches are counted", caches_are_counted},
    {"states are counted", states_are_counted},
    {"everything is served", everything_is_served},
    {"a moment is one iteration", a_moment_is_one_iteration},
    {"the cache runs out", the_cache_runs_out},
    {"windows take room", windows_take_room},
    {"runs are iterations", runs_are_iterations},
    {"works are kept", works_are_kept},
    {"weights alone are narrow", weights_alone_are_narrow},
    {"experts alone are narrow", experts_alone_are_narrow},
    {"answers repeat", answers_repeat},
    {"clients take turns", clients_take_turns},
    {"routers deal out", routers_deal_out},
    {"priority goes first", priority_goes_first},
    {"too long is refused", too_long_is_refused},
    {"refusals are told", refusals_are_told},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("service", tests);
}

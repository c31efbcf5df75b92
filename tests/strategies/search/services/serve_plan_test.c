/* The best way to serve: bounds that bound, rates that are kept and broken where it is said. */
#include <math.h>

#include "base/error.h"
#include "base/interned_strings.h"
#include "strategies/search/services/serve_plan.h"
#include "strategies/serve/server_software.h"
#include "tests/kit/testkit.h"

typedef struct {
    RhModel *model;
    RhPlatform *platform;
    RhRequests *requests;
    RhServing serving;
} Kit;

static Kit kit_new(const char *server, RhLengthRange input, RhLengthRange output)
{
    Kit k = {.model = rh_model_load("llama-3.2-1b", NULL),
             .platform = rh_platform_load("dgx-h100", NULL)};
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_POISSON,
                           .rate_per_s = 1,
                           .count = 6000,
                           .input = input,
                           .output = output,
                           .seed = 3};
    k.requests = rh_requests_draw(&plan);
    k.serving = (RhServing){.model = k.model,
                            .recipe = rh_recipe_by_name("bf16"),
                            .platform = k.platform,
                            .server = rh_server_by_name(server, NULL)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(k.model);
    CU_ASSERT_PTR_NOT_NULL_FATAL(k.platform);
    CU_ASSERT_PTR_NOT_NULL_FATAL(k.serving.server);
    return k;
}

static void kit_clear(Kit *k)
{
    rh_model_free(k->model);
    rh_platform_free(k->platform);
    rh_requests_free(k->requests);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Kit, kit_clear)

static const RhPool one_gpu = {.tp = 1, .pp = 1, .batch = 64, .chunk = 2048};

static RhSlos levels(const char *ttft, const char *tpot)
{
    RhSlos slos = {0};
    CU_ASSERT_TRUE(!ttft || rh_slos_parse(&slos, RH_METRIC_TTFT, ttft, NULL));
    CU_ASSERT_TRUE(!tpot || rh_slos_parse(&slos, RH_METRIC_TPOT, tpot, NULL));
    return slos;
}

static RhDeployment deployment(const char *text)
{
    RhDeployment d = rh_deployment_default();
    CU_ASSERT_TRUE_FATAL(rh_deployment_parse(text, &d, NULL));
    return d;
}

/* One pool on so many GPUs, some of it given, asked in one process. */
static RhServePlanOptions asked_of(int32_t gpus, RhSlos slos, RhPool given)
{
    return (RhServePlanOptions){.slos = slos,
                                .gpus = gpus,
                                .mode = RH_SERVE_COLOCATED,
                                .fixed = {given, given},
                                .span_s = 20,
                                .jobs = 1};
}

/* All requests at once: what a service can do. With few answers at the end of the run its rate is a
 * little below what it could keep, so the bound is never reached; it is not far either. */
static void no_service_is_faster_than_its_bound(void)
{
    static const struct {
        const char *server, *deployment;
        RhLengthRange input, output;
    } rows[] = {{"vllm", "tp1", {820, 1024}, {103, 128}},
                {"vllm", "tp1,batch=16,chunk=512", {820, 1024}, {103, 128}},
                {"vllm", "tp2,replicas=2,batch=64,chunk=2048", {100, 200}, {200, 400}},
                {"vllm", "tp1,batch=1024,chunk=16384", {4000, 6000}, {8, 16}},
                {"vllm", "tp1,replicas=2,chunk=8192/tp1,batch=128", {820, 1024}, {103, 128}},
                {"vllm", "tp1,pp2,batch=64", {820, 1024}, {103, 128}},
                {"vllm", "tp1,batch=64,draft=3,accept=70", {820, 1024}, {103, 128}},
                {"sglang", "server=sglang,tp1", {820, 1024}, {103, 128}},
                {"trtllm", "server=trtllm,tp2,batch=64", {820, 1024}, {103, 128}}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(Kit) k = kit_new(rows[i].server, rows[i].input, rows[i].output);
        RhRequestsPlan burst = {.arrival = RH_ARRIVAL_BURST};
        RhDeployment d = deployment(rows[i].deployment);
        const RhSlos none = {0};
        const RhClient open = {0};
        g_autoptr(RhService) service = rh_service_new(&k.serving, &d, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(service);
        RhServeMeans means = rh_serve_means(k.requests, k.serving.server, &none);
        double bound = rh_serve_bound_per_s(service, &d, k.serving.server, &means, &none);
        rh_requests_arrive(k.requests, &burst);
        rh_requests_head(k.requests, 3000);
        g_autoptr(RhServiceResult) result = rh_service_run(service, k.requests, &open, NULL);
        double rate = 3000 / result->duration_s;
        if (rate > bound || rate < 0.4 * bound)
            printf("\n%s: %g/s of at most %g/s\n", rows[i].deployment, rate, bound);
        CU_ASSERT_TRUE(rate <= bound);
        CU_ASSERT_TRUE(rate >= 0.4 * bound);
    }
}

static RhServePlan *plan_of(const Kit *k, const RhServePlanOptions *options)
{
    g_autoptr(GError) error = NULL;
    RhServePlan *plan = rh_serve_plan(&k->serving, rh_intern("vllm"), k->requests, options, &error);
    if (error)
        printf("\n%s\n", error->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    return plan;
}

/* Does a service of so many replicas more, or fewer, keep the levels at the given rate? */
static bool keep(const Kit *k, const RhServePlanOptions *options, const RhServeEntry *e,
                 const int32_t *more, RhServeEntry *entry)
{
    RhDeployment d = e->deployment;
    for (int32_t p = 0; p < d.pools_count; p++)
        d.pools[p].replicas += more[p];
    *entry = (RhServeEntry){.deployment = d};
    g_autoptr(RhService) service = rh_service_new(&k->serving, &d, NULL);
    return service && rh_serve_keeps(service, k->requests, options, options->rate_per_s, entry) &&
           rh_serve_settle(service, k->requests, options, options->rate_per_s, entry);
}

static void a_rate_is_kept_and_a_higher_one_broken(void)
{
    g_auto(Kit) k = kit_new("vllm", (RhLengthRange){820, 1024}, (RhLengthRange){103, 128});
    RhServePlanOptions options =
        asked_of(2, levels("p99<300ms", "p99<4ms"), (RhPool){.tp = 1, .pp = 1});
    g_autoptr(RhServePlan) plan = plan_of(&k, &options);
    CU_ASSERT_EQUAL_FATAL(plan->entries->len, 1);
    const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, 0);
    CU_ASSERT_EQUAL(e->gpus, 2);
    CU_ASSERT_TRUE(e->rate_per_s <= e->bound_per_s);
    CU_ASSERT_TRUE(e->outcome.slos_kept_surely);
    CU_ASSERT_TRUE(e->broken_per_s > e->rate_per_s && e->broken_per_s <= 1.02 * e->rate_per_s);
    g_autoptr(RhService) service = rh_service_new(&k.serving, &e->deployment, NULL);
    RhServeEntry again = *e;
    CU_ASSERT_TRUE(rh_serve_keeps(service, k.requests, &options, e->rate_per_s, &again));
    bool keeps = rh_serve_keeps(service, k.requests, &options, e->broken_per_s, &again);
    CU_ASSERT_FALSE(keeps &&
                    rh_serve_settle(service, k.requests, &options, e->broken_per_s, &again));
    again = *e;
    options.allowances[1].tpot_frac = 9; /* of two pools */
    CU_ASSERT_TRUE(rh_serve_keeps(service, k.requests, &options, e->rate_per_s, &again));
    /* Were tokens so much slower, half of the answers would be too slow. */
    options.allowances[0].tpot_frac =
        1.01 * 4e-3 / e->outcome.metrics[RH_METRIC_TPOT].p50.value - 1;
    again = *e;
    again.broken_per_s = 0;
    CU_ASSERT_FALSE(rh_serve_keeps(service, k.requests, &options, e->rate_per_s, &again));
    CU_ASSERT_EQUAL(again.binding, 1);
}

/* A rate found with one draw alone is broken by many others; one confirmed by further draws is
 * broken by few. */
static void another_draw_keeps_the_rate(void)
{
    g_auto(Kit) k = kit_new("vllm", (RhLengthRange){820, 1024}, (RhLengthRange){103, 128});
    const RhRequestsPlan drawn = {.arrival = RH_ARRIVAL_POISSON,
                                  .rate_per_s = 1,
                                  .count = 2000,
                                  .input = {820, 1024},
                                  .output = {103, 128},
                                  .seed = 3};
    int kept[2] = {0};
    double rates[2];
    for (int asked = 0; asked < 2; asked++) {
        RhServePlanOptions options =
            asked_of(1, levels("p99<300ms", "p99<4ms"), (RhPool){.tp = 1, .pp = 1, .batch = 64});
        options.drawn = asked ? &drawn : NULL;
        g_autoptr(RhServePlan) plan = plan_of(&k, &options);
        CU_ASSERT_EQUAL_FATAL(plan->entries->len, 1);
        const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, 0);
        rates[asked] = e->rate_per_s;
        CU_ASSERT_TRUE(e->outcome.requests_count > 0);
        CU_ASSERT_TRUE(e->broken_per_s > e->rate_per_s && e->broken_per_s <= 1.02 * e->rate_per_s);
        g_autoptr(RhService) service = rh_service_new(&k.serving, &e->deployment, NULL);
        options.drawn = &drawn;
        for (int32_t i = 1; i <= 40; i++) {
            g_autoptr(RhRequests) other = rh_serve_draw(k.requests, &options, RH_SERVE_DRAWS + i);
            RhServeEntry entry = {0};
            kept[asked] += rh_serve_keeps_too(service, other, &options, e->rate_per_s, &entry);
        }
    }
    printf("kept by %d and %d of 40 draws, %g and %g/s\n", kept[0], kept[1], rates[0], rates[1]);
    CU_ASSERT_TRUE(rates[1] < rates[0]);
    CU_ASSERT_TRUE(kept[0] < kept[1]);
    CU_ASSERT_TRUE(kept[1] >= 35); /* 38 are expected; fewer come one time in 25 */
}

/* No other deployment of a kind keeps a higher rate once it is confirmed by further draws: the
 * first by one draw alone is lucky. A rate is found to 1 %, so less is left there. */
static void none_of_a_kind_keeps_more_than_its_best(void)
{
    double gained = 0;
    for (uint64_t seed = 8; seed <= 9; seed++) {
        g_auto(Kit) k = kit_new("vllm", (RhLengthRange){200, 4000}, (RhLengthRange){16, 256});
        const RhRequestsPlan drawn = {.arrival = RH_ARRIVAL_GAMMA,
                                      .burstiness = 0.3,
                                      .rate_per_s = 1,
                                      .count = 700,
                                      .input = {200, 4000},
                                      .output = {16, 256},
                                      .seed = seed};
        rh_requests_free(k.requests);
        k.requests = rh_requests_draw(&drawn);
        RhServePlanOptions options =
            asked_of(1, levels("p99<300ms", "p99<6ms"), (RhPool){.tp = 1, .pp = 1, .batch = 64});
        options.drawn = &drawn;
        g_autoptr(RhServePlan) plan = plan_of(&k, &options);
        CU_ASSERT_EQUAL_FATAL(plan->entries->len, 1);
        double best = g_array_index(plan->entries, RhServeEntry, 0).rate_per_s, others = 0;
        g_autoptr(GArray) space = rh_serve_space(&k.serving, rh_intern("vllm"), &options);
        for (guint i = 0; i < space->len; i++) {
            options.fixed[0].chunk = g_array_index(space, RhDeployment, i).pools[0].chunk;
            g_autoptr(RhServePlan) alone = plan_of(&k, &options);
            if (alone->entries->len > 0)
                others = fmax(others, g_array_index(alone->entries, RhServeEntry, 0).rate_per_s);
        }
        printf("seed %d: %g/s, each by itself at most %g/s\n", (int)seed, best, others);
        CU_ASSERT_TRUE(best >= others / 1.025);
        gained += others;
    }
    CU_ASSERT_TRUE(gained > 0);
}

static double best_rate(const Kit *k, int32_t gpus, const char *tpot)
{
    RhServePlanOptions options =
        asked_of(gpus, levels("p99<500ms", tpot), (RhPool){.batch = 64, .chunk = 2048});
    g_autoptr(RhServePlan) plan = plan_of(k, &options);
    return plan->entries->len ? g_array_index(plan->entries, RhServeEntry, 0).rate_per_s : 0;
}

static void more_gpus_and_wider_levels_never_lower_the_rate(void)
{
    g_auto(Kit) k = kit_new("vllm", (RhLengthRange){820, 1024}, (RhLengthRange){103, 128});
    double one = best_rate(&k, 1, "p99<4ms"), two = best_rate(&k, 2, "p99<4ms"),
           wider = best_rate(&k, 1, "p99<8ms");
    CU_ASSERT_TRUE(one > 0);
    CU_ASSERT_TRUE(two >= one);
    CU_ASSERT_TRUE(wider >= one);
    CU_ASSERT_EQUAL(best_rate(&k, 1, "p99<100us"), 0); /* no iteration is so short */
}

static void the_fewest_gpus_keep_a_given_rate(void)
{
    g_auto(Kit) k = kit_new("vllm", (RhLengthRange){820, 1024}, (RhLengthRange){103, 128});
    RhServePlanOptions options = asked_of(8, levels("p99<500ms", NULL), one_gpu);
    options.rate_per_s = 150;
    options.most = true;
    g_autoptr(RhServePlan) plan = plan_of(&k, &options);
    CU_ASSERT_EQUAL_FATAL(plan->entries->len, 1);
    const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, 0);
    CU_ASSERT_TRUE(e->gpus > 1 && e->gpus < 8);
    RhServeEntry entry;
    CU_ASSERT_FALSE(keep(&k, &options, e, (const int32_t[]){-1, 0}, &entry));
    /* and what they keep at most */
    CU_ASSERT_TRUE_FATAL(e->rate_most_per_s >= 150 && e->rate_most_per_s <= e->bound_per_s);
    options.rate_per_s = e->rate_most_per_s;
    CU_ASSERT_TRUE(keep(&k, &options, e, (const int32_t[]){0, 0}, &entry));
    options.rate_per_s *= 1.05;
    CU_ASSERT_FALSE(keep(&k, &options, e, (const int32_t[]){0, 0}, &entry));
}

/* An answer equals the result of serve-simulate for the same requests, whether the rate was found
 * or given, and whether few replicas were tried one after another or many from a slice of them. */
static void an_answer_passes_its_own_check(void)
{
    static const struct {
        double rate_per_s;
        int32_t gpus;
        RhServeMode mode;
    } rows[] = {{0, 2, RH_SERVE_COLOCATED},
                {100, 8, RH_SERVE_COLOCATED},
                {1500, 128, RH_SERVE_COLOCATED},
                {300, 64, RH_SERVE_DISAGGREGATED}};
    g_auto(Kit) k = kit_new("vllm", (RhLengthRange){820, 1024}, (RhLengthRange){103, 128});
    g_autoptr(RhPlatform) many = rh_platform_load("dgx-h100:16", NULL);
    k.serving.platform = many;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i += RH_TRIES(1, 2)) {
        RhServePlanOptions options =
            asked_of(rows[i].gpus, levels("p99<500ms", "p99<20ms"), one_gpu);
        options.rate_per_s = rows[i].rate_per_s;
        options.mode = rows[i].mode;
        g_autoptr(RhServePlan) plan = plan_of(&k, &options);
        CU_ASSERT_EQUAL_FATAL(plan->entries->len, 1);
        const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, 0);
        CU_ASSERT_TRUE(e->gpus <= rows[i].gpus);
        g_autoptr(RhService) service = rh_service_new(&k.serving, &e->deployment, NULL);
        g_autoptr(RhRequests) list = rh_requests_new(k.requests->format);
        double stretch = rh_requests_rate_per_s(k.requests) / e->rate_per_s;
        g_array_append_vals(list->list, k.requests->list->data, k.requests->list->len);
        for (guint q = 0; q < list->list->len; q++)
            g_array_index(list->list, RhRequest, q).t_s *= stretch;
        g_autoptr(RhServiceResult) r = rh_service_run(service, list, &(RhClient){0}, NULL);
        RhServiceMetrics o = rh_service_metrics(r, &options.slos);
        CU_ASSERT_TRUE(o.slos_kept_surely && !o.overloaded);
        CU_ASSERT_EQUAL(o.tokens_per_s, e->outcome.tokens_per_s);
        CU_ASSERT_EQUAL(o.goodput_per_s, e->outcome.goodput_per_s);
        CU_ASSERT_EQUAL(o.metrics[RH_METRIC_TPOT].p99.value,
                        e->outcome.metrics[RH_METRIC_TPOT].p99.value);
        RhServeEntry entry;
        const int32_t less = -MAX(1, e->deployment.pools[0].replicas / 10);
        CU_ASSERT_FALSE(rows[i].rate_per_s > 0 &&
                        keep(&k, &options, e, (const int32_t[]){less, 0}, &entry));
        CU_ASSERT_FALSE(e->deployment.pools_count > 1 &&
                        keep(&k, &options, e, (const int32_t[]){0, -1}, &entry));
    }
}

/* Each of two pools is as small as possible: prompts bind one, tokens the other. */
static void pools_are_sized_apart(void)
{
    g_auto(Kit) k = kit_new("vllm", (RhLengthRange){820, 1024}, (RhLengthRange){103, 128});
    g_autoptr(RhPlatform) many = rh_platform_load("dgx-h100:16", NULL);
    k.serving.platform = many;
    RhServePlanOptions options =
        asked_of(64, levels("p99<500ms", "p99<8ms"), (RhPool){.tp = 1, .pp = 1, .chunk = 2048});
    options.rate_per_s = 1200;
    options.span_s = 5;
    options.mode = RH_SERVE_DISAGGREGATED;
    g_autoptr(RhServePlan) plan = plan_of(&k, &options);
    CU_ASSERT_EQUAL_FATAL(plan->entries->len, 1);
    const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, 0);
    RhServeEntry entry;
    for (int32_t p = 0; p < 2; p++) {
        const int32_t one[] = {-(p == 0), -(p == 1)};
        CU_ASSERT_FALSE(keep(&k, &options, e, one, &entry));
    }
}

/* Plans of many replicas skip kinds that cannot do with as few GPUs, and confirm by further draws
 * on a part of the replicas; a tenth fewer still break the levels. */
static void many_are_sized_from_a_part(void)
{
    g_auto(Kit) k = kit_new("vllm", (RhLengthRange){820, 1024}, (RhLengthRange){103, 128});
    const RhRequestsPlan drawn = {.arrival = RH_ARRIVAL_POISSON,
                                  .rate_per_s = 1,
                                  .count = 5000,
                                  .input = {820, 1024},
                                  .output = {103, 128},
                                  .seed = 3};
    g_autoptr(RhPlatform) many = rh_platform_load("dgx-h100:64", NULL);
    rh_requests_free(k.requests);
    k.requests = rh_requests_draw(&drawn);
    k.serving.platform = many;
    RhServePlanOptions options =
        asked_of(512, levels("p99<500ms", "p99<20ms"), (RhPool){.batch = 4, .chunk = 2048});
    options.rate_per_s = 2500;
    options.drawn = &drawn;
    options.span_s = 2;
    g_autoptr(RhServePlan) plan = plan_of(&k, &options);
    CU_ASSERT_TRUE_FATAL(plan->entries->len > 0);
    const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, 0);
    RhServeEntry entry;
    const int32_t replicas = e->deployment.pools[0].replicas;
    printf("%d replicas, draws of %d; %d kinds left alone\n", replicas, e->part,
           plan->larger_count);
    CU_ASSERT_TRUE(replicas > RH_SERVE_PART);
    CU_ASSERT_TRUE(e->part > 0 && e->part < replicas);
    CU_ASSERT_TRUE(plan->larger_count > plan->legal_count / 2);
    CU_ASSERT_FALSE(keep(&k, &options, e, (const int32_t[]){-replicas / 10, 0}, &entry));
}

/* A plan that tried one replica fewer says which level that broke. */
static void what_a_replica_fewer_breaks_is_told(void)
{
    g_auto(Kit) k = kit_new("vllm", (RhLengthRange){820, 1024}, (RhLengthRange){103, 128});
    RhServePlanOptions options = asked_of(8, levels("p99<300ms", "p99<20ms"), one_gpu);
    int tried = 0;
    for (double rate = 40; rate <= 120; rate += 20) {
        options.rate_per_s = rate;
        g_autoptr(RhServePlan) plan = plan_of(&k, &options);
        CU_ASSERT_EQUAL_FATAL(plan->entries->len, 1);
        const RhServeEntry *e = &g_array_index(plan->entries, RhServeEntry, 0);
        CU_ASSERT_EQUAL(e->broken_per_s, 0);
        CU_ASSERT_TRUE(e->fewer_broke || (e->binding == -1 && !e->cache_full));
        if (!e->fewer_broke)
            continue;
        tried++;
        RhServeEntry entry;
        CU_ASSERT_FALSE(keep(&k, &options, e, (const int32_t[]){-1, 0}, &entry));
        CU_ASSERT_EQUAL(e->binding, entry.binding);
        CU_ASSERT_EQUAL(e->cache_full, entry.cache_full);
    }
    CU_ASSERT_TRUE(tried > 0);
}

/* 380 of 380 within say no more than that 99 % may be (Wilson).
 * Source: Wilson 1927, his interval of a share. */
static void few_requests_tell_nothing(void)
{
    g_auto(Kit) k = kit_new("vllm", (RhLengthRange){10, 10}, (RhLengthRange){2, 2});
    RhServePlanOptions options = {
        .slos = levels("p99<5s", NULL), .gpus = 1, .mode = RH_SERVE_COLOCATED, .jobs = 1};
    g_autoptr(GError) error = NULL;
    double least = rh_serve_requests_least(&options.slos);
    CU_ASSERT_TRUE(least > 380 && least < 410);
    rh_requests_head(k.requests, (int64_t)least - 1);
    CU_ASSERT_PTR_NULL(rh_serve_plan(&k.serving, "vllm", k.requests, &options, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
}

/* Batches and windows of a model that is asked once: no burst is faster than the bound, and what is found keeps its
 * level, of which a higher rate is not sure. */
static void models_asked_once_have_batches_and_windows(void)
{
    g_autoptr(RhModel) model = rh_model_load("bert-base", NULL);
    g_autoptr(RhPlatform) platform = rh_platform_load("dgx-a100", NULL);
    RhRequestsPlan plan = {.arrival = RH_ARRIVAL_POISSON,
                           .rate_per_s = 1,
                           .count = 20000,
                           .input = {64, 128},
                           .once = true,
                           .seed = 3};
    g_autoptr(RhRequests) requests = rh_requests_draw(&plan);
    RhServing serving = {model, rh_recipe_by_name("fp16"), platform,
                         rh_server_by_name("triton", NULL), NULL};
    RhServePlanOptions o = {.gpus = 1, .mode = RH_SERVE_COLOCATED, .span_s = 5, .jobs = 2};
    CU_ASSERT_TRUE(rh_slos_parse(&o.slos, RH_METRIC_E2E, "p99<20ms", NULL));
    g_autoptr(RhServePlan) found = rh_serve_plan(&serving, rh_intern("triton"), requests, &o, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    CU_ASSERT_EQUAL_FATAL(found->entries->len, 1);
    const RhServeEntry *e = &g_array_index(found->entries, RhServeEntry, 0);
    CU_ASSERT_TRUE(e->rate_per_s > 100 && e->rate_per_s <= e->bound_per_s);
    CU_ASSERT_TRUE(e->broken_per_s <= 0 || e->broken_per_s <= 1.02 * e->rate_per_s);
    CU_ASSERT_TRUE(e->deployment.pools[0].batch > 1);
    CU_ASSERT_TRUE(e->outcome.metrics[RH_METRIC_E2E].p99.value < 0.02);
}

/* A prompt takes longer in an empty server than is allowed: nothing is played, and it is said by how much. */
static void levels_out_of_reach_are_told_at_once(void)
{
    g_auto(Kit) k = kit_new("vllm", (RhLengthRange){4000, 4096}, (RhLengthRange){64, 64});
    RhServePlanOptions o = {.gpus = 1, .mode = RH_SERVE_COLOCATED, .jobs = 2};
    o.slos = levels("p99<1ms", NULL);
    g_autoptr(RhServePlan) plan = plan_of(&k, &o);
    CU_ASSERT_EQUAL(plan->entries->len, 0);
    CU_ASSERT_EQUAL(plan->runs_count, 0);
    CU_ASSERT_EQUAL(plan->unkept.level, 0);
    const RhClient open = {0};
    RhRequestsPlan burst = {.arrival = RH_ARRIVAL_BURST};
    rh_requests_arrive(k.requests, &burst);
    rh_requests_head(k.requests, 1);
    RhDeployment d = plan->unkept.deployment;
    d.pools[0].chunk = 16384;
    g_autoptr(RhService) service = rh_service_new(&k.serving, &d, NULL);
    g_autoptr(RhServiceResult) result = rh_service_run(service, k.requests, &open, NULL);
    const RhRequestRecord *one = &g_array_index(result->served, RhRequestRecord, 0);
    CU_ASSERT_TRUE(plan->unkept.least_s <= (one->t_first_s - one->t_arrive_s) * 1.03);
    CU_ASSERT_TRUE(plan->unkept.least_s > (one->t_first_s - one->t_arrive_s) * 0.9);
}

/* Requests refused before a simulation are those that the service refuses: by the largest cache and
 * by any other. */
static void prompts_too_long_are_counted(void)
{
    static const char *const deployments[] = {"tp1", "tp1,blocks=250", "tp1,blocks=250/tp1",
                                              "tp1/tp1,blocks=255",
                                              "tp1,blocks=258,draft=3,accept=70"};
    const RhClient open = {0};
    g_auto(Kit) k = kit_new("vllm", (RhLengthRange){3900, 4100}, (RhLengthRange){1, 64});
    rh_requests_head(k.requests, 200);
    for (size_t i = 0; i < G_N_ELEMENTS(deployments); i++) {
        RhDeployment d = deployment(deployments[i]);
        g_autoptr(RhService) service = rh_service_new(&k.serving, &d, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(service);
        g_autoptr(RhServiceResult) result = rh_service_run(service, k.requests, &open, NULL);
        int32_t refused = 0;
        for (guint r = 0; r < result->served->len; r++)
            refused +=
                g_array_index(result->served, RhRequestRecord, r).outcome == RH_SERVED_REFUSED;
        CU_ASSERT_EQUAL(rh_service_too_long(service, k.requests), refused);
        CU_ASSERT_EQUAL(refused > 0, i > 0);
    }
    RhServePlanOptions o = {.gpus = 1, .mode = RH_SERVE_COLOCATED, .jobs = 2, .rate_per_s = 1};
    o.fixed[0].blocks = 250;
    o.slos = levels("p90<1000s", NULL);
    g_autoptr(RhServePlan) plan = plan_of(&k, &o);
    CU_ASSERT_EQUAL(plan->largest_cache.all, 200);
    CU_ASSERT_EQUAL(plan->largest_cache.tokens, 4000);
    CU_ASSERT_TRUE(plan->largest_cache.longest > 4000);
    CU_ASSERT_TRUE(plan->largest_cache.count > 0 && plan->largest_cache.count <= 200);
}

/* The first six have many runs of what the others, and the command line, run once, or more than a hundred replicas. */
static const RhTest tests[] = {
    {"many are sized from a part", many_are_sized_from_a_part},
    {"another draw keeps the rate", another_draw_keeps_the_rate},
    {"none of a kind keeps more than its best", none_of_a_kind_keeps_more_than_its_best},
    {"models asked once have batches and windows", models_asked_once_have_batches_and_windows},
    {"a rate is kept and a higher one broken", a_rate_is_kept_and_a_higher_one_broken},
    {"more GPUs and wider levels never lower the rate",
     more_gpus_and_wider_levels_never_lower_the_rate},
    {"prompts too long are counted", prompts_too_long_are_counted},
    {"no service is faster than its bound", no_service_is_faster_than_its_bound},
    {"the fewest GPUs keep a given rate", the_fewest_gpus_keep_a_given_rate},
    {"what a replica fewer breaks is told", what_a_replica_fewer_breaks_is_told},
    {"an answer passes its own check", an_answer_passes_its_own_check},
    {"pools are sized apart", pools_are_sized_apart},
    {"few requests tell nothing", few_requests_tell_nothing},
    {"levels out of reach are told at once", levels_out_of_reach_are_told_at_once},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("serve_plan", tests + RH_TRIES(0, 6));
}

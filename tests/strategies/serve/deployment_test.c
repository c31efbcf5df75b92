/* Deployments as text, the servers there are, and the memory of each. */
#include <string.h>

#include "platforms/profile.h"
#include "tests/kit/serve_kit.h"

/* --- Deployments --- */

static void deployments_are_text(void)
{
    static const char *const texts[] = {
        "server=vllm,tp4", "server=sglang,tp2,replicas=3,batch=64,chunk=2048,kv=fp8",
        "server=trtllm,router=kv,tp4,replicas=2/tp8,batch=512",
        "server=trtllm,tp1,ep8,dp8,stream=10,receive=30,graphs=none,captured=64,experts=cutlass,balance=60,wait=20,fill=80"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        RhDeployment d = rh_deployment_default();
        CU_ASSERT_TRUE_FATAL(rh_deployment_parse(texts[i], &d, NULL));
        g_autofree char *back = rh_deployment_format(&d);
        CU_ASSERT_STRING_EQUAL(back, texts[i]);
    }
    /* of the name itself, not of where it stands: other processes have copies */
    RhDeployment same = rh_deployment_default();
    g_autofree char *least = g_strdup(same.router);
    same.router = least;
    g_autofree char *silent = rh_deployment_format(&same);
    CU_ASSERT_PTR_NULL(strstr(silent, "router"));
    static const struct {
        const char *text, *says;
    } wrong[] = {{"", "one pool"},
                 {"tp4,,", "a key is missing"},
                 {"tp4,tp8", "tp is given twice"},
                 {"tp0", "tp cannot be \"0\""},
                 {"tp=99999999999999999999", "tp cannot be"},
                 {"replica=2", "replicas"},
                 {"server=vlm", "there is no server \"vlm\""},
                 {"kv=int3", "kv cannot be"},
                 {"tp1/tp2/tp3", "two with a slash"}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        RhDeployment d = rh_deployment_default();
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_deployment_parse(wrong[i].text, &d, &error));
        CU_ASSERT_PTR_NOT_NULL_FATAL(error);
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, wrong[i].says));
    }
}

static void every_server_is_read(void)
{
    for (const char *const *name = rh_server_names(); *name; name++) {
        g_autoptr(GError) error = NULL;
        g_autofree RhServer *server = rh_server_load(*name, &error);
        if (error)
            printf("\n%s\n", error->message);
        CU_ASSERT_PTR_NOT_NULL(server);
    }
}

/* Profiles that a server names for a device exist, and contain its kernels and its all-reduce. */
static void profiles_are_whole(void)
{
    for (const char *const *name = rh_server_names(); *name; name++) {
        const RhServer *server = rh_server_by_name(*name, NULL);
        for (int32_t i = 0; i < server->profiles.count; i++) {
            g_autofree char *spec = g_strdup_printf("%s:8x1", server->profiles.list[i].device);
            g_autoptr(GError) error = NULL;
            g_autoptr(RhPlatform) p = rh_platform_load(spec, &error);
            CU_ASSERT_PTR_NOT_NULL_FATAL(p);
            CU_ASSERT_TRUE_FATAL(
                rh_platform_apply_profile(p, server->profiles.list[i].profile, &error));
            CU_ASSERT_TRUE(rh_device_use_surfaces(p->device, NULL));
            RhKernel gemm = {.cls = RH_KERNEL_GEMM,
                             .dtype = RH_DTYPE_BF16,
                             .batch = 1,
                             .m = 16,
                             .n = 8192,
                             .k = 8192};
            CU_ASSERT_PTR_NOT_NULL(rh_device_surface(p->device, &gemm));
            for (int32_t ranks = 2; ranks <= 8; ranks *= 2)
                CU_ASSERT_TRUE(rh_peer_reduce_s(p->device, ranks, 65536) < 1e-3);
        }
    }
}

static const char *table_of(const char *deployment, bool experts)
{
    RhKernel product = {.cls = RH_KERNEL_GEMM,
                        .dtype = experts ? RH_DTYPE_FP8 : RH_DTYPE_BF16,
                        .grouped = experts,
                        .batch = experts ? 32 : 1,
                        .m = 1,
                        .n = 768,
                        .k = 3072,
                        .flops = 2.0 * (experts ? 32 : 1) * 768 * 3072};
    Setting s = setting_of("minimax-m2.5", "dgx-h200:1", deployment);
    s.serving.recipe = rh_recipe_by_name("fp8-block");
    g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(it);
    const RhSurface *surface = rh_device_surface(rh_iterations_platform(it)->device, &product);
    CU_ASSERT_PTR_NOT_NULL_FATAL(surface);
    const char *source = surface->source; /* interned */
    close_setting(&s);
    return source;
}

/* vLLM 0.15 and 0.16 on Hopper multiply experts with TensorRT-LLM's kernels; later ones only where experts are
 * spread. */
static void experts_go_by_the_software_that_has_them(void)
{
    static const struct {
        const char *deployment, *experts, *others;
    } rows[] = {{"server=vllm-0.12,tp4", "vllm", "vllm"},
                {"server=vllm-0.16,tp4", "trtllm", "vllm"},
                {"server=vllm,tp4", "vllm", "vllm"},
                {"server=vllm,tp4,ep4", "trtllm", "vllm"},
                {"server=sglang,tp4,ep4", "sglang", "sglang"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(table_of(rows[i].deployment, true), rows[i].experts));
        CU_ASSERT_PTR_NOT_NULL(strstr(table_of(rows[i].deployment, false), rows[i].others));
    }
}

static const char *library_of(const char *deployment, const RhRecipe *recipe)
{
    RhKernel product = {.cls = RH_KERNEL_GEMM,
                        .dtype = (uint8_t)recipe->linear,
                        .grouped = true,
                        .batch = 32,
                        .m = 1,
                        .n = 512,
                        .k = 7168,
                        .flops = 2.0 * 32 * 512 * 7168};
    Setting s = setting_of("deepseek-v3", "dgx-b200:1", deployment);
    s.serving.recipe = recipe;
    g_autoptr(RhIterations) it = rh_iterations_new(&s.serving, &s.deployment.pools[0], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(it);
    const RhSurface *surface = rh_device_surface(rh_iterations_platform(it)->device, &product);
    CU_ASSERT_PTR_NOT_NULL_FATAL(surface);
    const char *library = surface->library; /* interned */
    close_setting(&s);
    return library;
}

/* One software has several libraries for experts: its own choice, or that of a launch flag. */
static void experts_go_by_the_library_that_is_named(void)
{
    static const struct {
        const char *deployment, *nvfp4, *blocks;
    } rows[] = {{"server=trtllm,tp8", "cutlass", "deepgemm"},
                {"server=trtllm-stream10,tp8", "trtllm-gen", "trtllm-gen"},
                {"server=trtllm-stream10,tp1,dp8,ep8", "cutlass", "deepgemm"},
                {"server=vllm,tp8", "trtllm-gen", "trtllm-gen"},
                {"server=vllm-triton-experts,tp8", "trtllm-gen", "triton"},
                {"server=sglang,tp8", "trtllm-gen", "trtllm-gen"}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        CU_ASSERT_STRING_EQUAL(library_of(rows[i].deployment, &rh_recipe_nvfp4), rows[i].nvfp4);
        CU_ASSERT_STRING_EQUAL(library_of(rows[i].deployment, &rh_recipe_fp8_block),
                               rows[i].blocks);
    }
}

/* --- Memory --- */

static RhKvBudget room_on(const char *deployment)
{
    Setting s = setting_of("llama-3.1-8b", "dgx-h100:1", deployment);
    g_autoptr(RhService) service = rh_service_new(&s.serving, &s.deployment, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(service);
    RhKvBudget room = rh_service_kv_budget(service, 0);
    close_setting(&s);
    return room;
}

/* A fraction is of all there is, of what was free before, or of what is left at last. */
static void memory_is_of_what_it_says(void)
{
    RhKvBudget all = room_on("server=vllm,memory=80"), free = room_on("server=sglang,memory=80"),
               rest = room_on("server=trtllm,memory=80");
    RH_CHECK_CLOSE(all.cache_bytes + all.weight_bytes + all.activation_bytes + all.reserve_bytes,
                   0.8 * all.capacity_bytes, 1e-12);
    RH_CHECK_CLOSE(free.cache_bytes + free.weight_bytes,
                   0.8 * (free.capacity_bytes - free.reserve_bytes), 1e-12);
    RH_CHECK_CLOSE(rest.cache_bytes,
                   0.8 * (rest.capacity_bytes - rest.weight_bytes - rest.activation_bytes -
                          rest.reserve_bytes),
                   1e-12);
}

/* Logits of 512 more sequences over 128,256 words, 14.5 bytes each; ranks bring their buffers. */
static void activations_are_counted(void)
{
    RhKvBudget some = room_on("batch=512"), more = room_on("batch=1024"),
               ranks = room_on("tp2,batch=1024");
    RH_CHECK_CLOSE(more.activation_bytes - some.activation_bytes, 14.5 * 512 * 128256, 1e-12);
    RH_CHECK_CLOSE(ranks.activation_bytes, more.activation_bytes, 1e-12);
    CU_ASSERT_TRUE(ranks.reserve_bytes > more.reserve_bytes);
    CU_ASSERT_EQUAL(more.tokens, (int64_t)more.blocks * 16);
}

/* The stage that draws tokens has room for the logits of every sequence, though an iteration has
 * fewer tokens. */
static void logits_lie_where_tokens_are_drawn(void)
{
    RhKvBudget few = room_on("server=trtllm-0.14,batch=2048,chunk=1024"),
               most = room_on("server=trtllm-0.14,batch=4096,chunk=1024"),
               filled = room_on("batch=1024,chunk=1024"),
               over_budget = room_on("batch=2048,chunk=1024");
    RH_CHECK_CLOSE(most.activation_bytes - few.activation_bytes, 24.0 * 2048 * 128256, 1e-12);
    CU_ASSERT_EQUAL(over_budget.activation_bytes, filled.activation_bytes);
}

static const RhTest tests[] = {
    {"deployments are text", deployments_are_text},
    {"every server is read", every_server_is_read},
    {"profiles are whole", profiles_are_whole},
    {"experts go by the software that has them", experts_go_by_the_software_that_has_them},
    {"experts go by the library that is named", experts_go_by_the_library_that_is_named},
    {"experts go by the software that has them", experts_go_by_the_software_that_has_them},
    {"experts go by the library that is named", experts_go_by_the_library_that_is_named},
    {"memory is of what it says", memory_is_of_what_it_says},
    {"activations are counted", activations_are_counted},
    {"logits lie where tokens are drawn", logits_lie_where_tokens_are_drawn},
    {NULL, NULL},
};

int main(void)
{
    return rh_test_main("deployment", tests);
}

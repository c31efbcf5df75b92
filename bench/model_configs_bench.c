/* One question asked of every config.json in a folder, as many at once as there are cores: is there an
 * answer for each, and how soon?
 *   model_configs_bench [FOLDER]     shared/data/model-configs beside the tree by default */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_job.h"
#include "sim/engine/workers/process_pool.h"

#define WORST 5

typedef struct {
    char *name;     /* owned */
    double seconds; /* of processors, the rehearsals' among them */
    char *failure;  /* owned; NULL: there is an answer */
} Asked;

static void asked_clear(gpointer data)
{
    Asked *a = data;
    g_free(a->name);
    g_free(a->failure);
}

/* An answer is a layout, or what would have to change. */
static char *failure_of(const RhPlan *plan, const GError *error)
{
    if (!plan)
        return g_strdup(error->message);
    if (plan->entries->len > 0)
        return plan->proved ? NULL : g_strdup("not proved");
    return plan->changes->len > 0 ? NULL : g_strdup("neither a layout nor a change");
}

/* "" when there is an answer; the caller frees. */
static char *ask(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) model = rh_model_load(path, &error);
    g_autoptr(RhPlatform) bare = model ? rh_platform_load("dgx-h100:32", &error) : NULL;
    if (!bare)
        return g_strdup(error->message);
    const RhStack *stack = rh_stack_by_name("megatron", NULL);
    g_autoptr(RhPlatform) platform = rh_stack_platform(stack, bare);
    RhJob job = {.global_batch = 256, .sequence = 4096, .gpus = 256, .recipe = &rh_recipe_bf16};
    RhProblem c = {model, platform, stack, job};
    RhPlanOptions o = {.gap_frac = 0.002, .jobs = 1};
    g_autoptr(RhPlan) plan = rh_plan(&c, &o, &error);
    char *failure = failure_of(plan, error);
    return failure ? failure : g_strdup("");
}

typedef struct {
    GPtrArray *paths; /* of the files */
    GArray *all;      /* Asked: what was answered */
} Round;

/* In a process of its own: seconds, then what failed. */
static GByteArray *perform(int32_t item, void *user, GError **error)
{
    (void)error;
    g_autofree char *failure = ask(((const Round *)user)->paths->pdata[item]);
    double seconds = bench_used_s(RUSAGE_SELF) + bench_used_s(RUSAGE_CHILDREN);
    GByteArray *bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)&seconds, sizeof seconds);
    return g_byte_array_append(bytes, (const guint8 *)failure, (guint)strlen(failure) + 1);
}

static gint longest_first(gconstpointer x, gconstpointer y)
{
    double a = ((const Asked *)x)->seconds, b = ((const Asked *)y)->seconds;
    return (a < b) - (a > b);
}

static void answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    Round *round = user;
    Asked a = {.name = g_path_get_basename(round->paths->pdata[item])};
    const char *failure = error ? error->message : (const char *)bytes->data + sizeof a.seconds;
    if (bytes)
        memcpy(&a.seconds, bytes->data, sizeof a.seconds);
    a.failure = *failure ? g_strdup(failure) : NULL;
    g_array_append_val(round->all, a);
}

static GArray *ask_all(const char *folder)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(Asked));
    g_array_set_clear_func(all, asked_clear);
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));)
        if (g_str_has_suffix(name, ".json"))
            g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
    rh_process_pool_run(&(RhProcessPool){.count = (int32_t)paths->len,
                                         .jobs = (int32_t)g_get_num_processors(),
                                         .perform = perform,
                                         .answer = answer,
                                         .user = &(Round){paths, all}});
    return all;
}

int main(int argc, char **argv)
{
    g_autofree char *beside =
        g_build_filename(RH_DATA_DIR, "..", "shared", "data", "model-configs", NULL);
    const char *folder = argc > 1 ? argv[1] : beside;
    double start = bench_now_s();
    g_autoptr(GArray) all = ask_all(folder);
    double failures = 0, used = 0;
    if (all->len == 0) {
        printf("no config.json in %s: skipped\n", folder);
        return 0;
    }
    g_array_sort(all, longest_first);
    for (guint i = 0; i < all->len; i++) {
        failures += g_array_index(all, Asked, i).failure != NULL;
        used += g_array_index(all, Asked, i).seconds;
    }
    bench_line("configs on dgx-h100:32, batch 256, 4,096 tokens", all->len, "", "");
    bench_line("  without an answer", failures, "", "0");
    bench_line("  wall clock, all of them, on all cores", bench_now_s() - start, "s", "<= 60");
    bench_line("  processors, all of them", used, "s", "");
    for (guint i = 0; i < MIN(all->len, WORST); i++) {
        const Asked *a = &g_array_index(all, Asked, i);
        g_autofree char *what = g_strdup_printf("  %s", a->name);
        bench_line(what, a->seconds, "s", "");
    }
    for (guint i = 0; i < all->len; i++) {
        const Asked *a = &g_array_index(all, Asked, i);
        if (a->failure)
            printf("%s: %s\n", a->name, a->failure);
    }
    return failures > 0;
}

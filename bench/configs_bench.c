/* One question asked of every config.json in a folder: is there an answer for each, and how soon?
 *   configs_bench [FOLDER]     shared/data/model-configs beside the tree by default */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_kit.h"

#define WORST 5

typedef struct {
    char *name; /* owned */
    double seconds;
    char *failure; /* owned; NULL: there is an answer */
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

static Asked ask(const char *path)
{
    double start = bench_now_s();
    Asked a = {.name = g_path_get_basename(path)};
    g_autoptr(GError) error = NULL;
    g_autoptr(RhModel) model = rh_model_load(path, &error);
    g_autoptr(RhPlatform) bare = model ? rh_platform_load("dgx-h100:32", &error) : NULL;
    const RhStack *stack = rh_stack_by_name("megatron");
    g_autoptr(RhPlatform) platform = bare ? rh_stack_platform(stack, bare) : NULL;
    if (platform) {
        RhJob job = {.global_batch = 256, .sequence = 4096, .gpus = 256, .recipe = &rh_recipe_bf16};
        RhCase c = {model, platform, stack, job};
        RhPlanOptions o = {.gap_frac = 0.002};
        g_autoptr(RhPlan) plan = rh_plan(&c, &o, &error);
        a.failure = failure_of(plan, error);
    } else {
        a.failure = g_strdup(error->message);
    }
    a.seconds = bench_now_s() - start;
    return a;
}

static gint longest_first(gconstpointer x, gconstpointer y)
{
    double a = ((const Asked *)x)->seconds, b = ((const Asked *)y)->seconds;
    return (a < b) - (a > b);
}

static GArray *ask_all(const char *folder)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(Asked));
    g_array_set_clear_func(all, asked_clear);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));)
        if (g_str_has_suffix(name, ".json")) {
            g_autofree char *path = g_build_filename(folder, name, NULL);
            Asked a = ask(path);
            g_array_append_val(all, a);
        }
    return all;
}

int main(int argc, char **argv)
{
    g_autofree char *beside =
        g_build_filename(RH_DATA_DIR, "..", "shared", "data", "model-configs", NULL);
    const char *folder = argc > 1 ? argv[1] : beside;
    double start = bench_now_s();
    g_autoptr(GArray) all = ask_all(folder);
    double failures = 0;
    if (all->len == 0) {
        printf("no config.json in %s: skipped\n", folder);
        return 0;
    }
    g_array_sort(all, longest_first);
    for (guint i = 0; i < all->len; i++)
        failures += g_array_index(all, Asked, i).failure != NULL;
    bench_line("configs on dgx-h100:32, batch 256, 4,096 tokens", all->len, "", "");
    bench_line("  without an answer", failures, "", "0");
    bench_line("  wall clock, all of them", bench_now_s() - start, "s", "<= 60");
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

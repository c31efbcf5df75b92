/* What a default plan leaves on the table: on jobs of mixed size, the quickest layout that fits as surely as the first
 * row, out of the whole space of the stack's framework (validate/plan_regret_search.h): around the row by one change and by two,
 * and drawn at random. Arguments: names of jobs, of those below; none: all. */
#include <stdlib.h>

#include "bench/bench_job.h"
#include "validate/plan_regret_search.h"

typedef struct {
    const char *name, *model, *platform, *stack;
    int32_t gpus;
    int64_t batch, sequence;
    const RhRecipe *recipe;
} RegretJob;

static const RegretJob jobs[] = {
    {"8b-32", "llama-3.1-8b", "dgx-h100:4", "megatron", 32, 256, 8192, &rh_recipe_bf16},
    {"70b-64", "llama-3.1-70b", "dgx-h100:8", "megatron", 64, 512, 4096, &rh_recipe_bf16},
    {"70b-64-fp8", "llama-3.1-70b", "dgx-h100:8", "megatron-bridge", 64, 128, 8192, &rh_recipe_fp8},
    {"mixtral-8x7b-64", "mixtral-8x7b", "dgx-h100:8", "megatron", 64, 256, 4096, &rh_recipe_bf16},
    {"qwen3-30b-32", "qwen3-30b-a3b", "dgx-h100:4", "megatron", 32, 256, 4096, &rh_recipe_bf16},
    {"175b-256", "gpt3-175b", "dgx-a100:32", "megatron", 256, 512, 2048, &rh_recipe_bf16},
    {"13b-32", "llama-2-13b", "dgx-a100:4", "torchtitan", 32, 256, 4096, &rh_recipe_bf16},
    {"8b-64k", "llama-3.1-8b", "dgx-h100:8", "megatron", 64, 64, 65536, &rh_recipe_bf16},
    {"340b-256", "nemotron-4-340b", "dgx-h100:32", "megatron", 256, 256, 4096, &rh_recipe_bf16},
    {"405b-16k", "llama-3.1-405b", "llama3-roce", "llama3", 16384, 2048, 8192, &rh_recipe_bf16},
};

static void say_found(const RhRegret *r, const char *what)
{
    g_autofree char *layout = rh_layout_format(&r->best);
    if (r->best_s < r->row_s)
        printf("  %-22s %8.4g s, %.1f %% quicker: %s\n", what, r->best_s,
               100 * (1 - r->best_s / r->row_s), layout);
    else
        printf("  %-22s none\n", what);
    fflush(stdout);
}

/* False: something is quicker than the first row, or there is none. */
static bool run_job(const RegretJob *job)
{
    RhPlanOptions o = {.gap_frac = 0.002, .best_alone = true};
    g_autoptr(GError) error = NULL;
    BenchJob b = bench_job(job->model, job->platform, job->batch, job->sequence, job->gpus);
    rh_platform_free(b.platform);
    b.c.stack = rh_stack_by_name(job->stack, NULL);
    b.c.platform = b.platform = rh_stack_platform(b.c.stack, b.bare);
    b.c.job.recipe = job->recipe;
    printf("%s: plan -w %s -p %s --gpus %d --global-batch %" G_GINT64_FORMAT
           " --seq %" G_GINT64_FORMAT " --dtype %s --stack %s\n",
           job->name, job->model, job->platform, job->gpus, job->batch, job->sequence,
           job->recipe->name, job->stack);
    fflush(stdout); /* a child that is forked next has a copy of what is not written yet */
    g_autoptr(RhPlan) plan = rh_plan(&b.c, &o, &error);
    if (!plan || plan->entries->len == 0) {
        printf("  no plan: %s\n", error ? error->message : "nothing fits");
        bench_job_clear(&b);
        return false;
    }
    double began_s = bench_now_s();
    g_auto(RhRegret) r = rh_regret_new(&b.c, plan, o.gap_frac);
    g_autofree char *row = rh_layout_format(&r.row);
    printf("  %-22s %8.4g s, planned in %.1f s: %s\n", "first row", r.row_s, plan->wall_s, row);
    rh_regret_search_around(&r);
    rh_regret_judge(&r);
    say_found(&r, "by one change");
    rh_regret_search_around(&r);
    rh_regret_judge(&r);
    say_found(&r, "by two changes");
    rh_regret_search_drawn(&r, 1000, 1);
    rh_regret_judge(&r);
    say_found(&r, "with 1,000 drawn");
    printf("  %u layouts, of which %" G_GINT64_FORMAT " fit as surely and %" G_GINT64_FORMAT
           " were rehearsed, in %.1f s\n",
           r.layouts->len, r.fit_count, r.rehearsed_count, bench_now_s() - began_s);
    bench_line("  regret", 100 * rh_regret_behind_frac(&r), "%", "0");
    bool good = r.best_s >= r.row_s;
    bench_job_clear(&b);
    return good;
}

int main(int argc, char **argv)
{
    int asked = 0, good = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++) {
        bool wanted = argc == 1;
        for (int k = 1; k < argc; k++)
            wanted |= strcmp(argv[k], jobs[i].name) == 0;
        asked += wanted;
        good += wanted && run_job(&jobs[i]);
    }
    printf("%d of %d jobs: nothing beats the first row\n", good, asked);
    return asked > 0 ? 0 : 1;
}

/* Cost trees of runs: every term is a sum over tasks. */
#include "strategies/search/rehearsals/run_metrics.h"

#include "report/report.h"
#include "strategies/search/bounds/bound_cache.h"
#include "tests/kit/engine_kit.h"
#include "tests/kit/train_kit.h"

static const char *const job[2] = {"llama-3.2-1b", "h100-sxm:8x1"};

static RhRehearsal *account(const TrainKit *k, const char *layout, const RhRun *run)
{
    RhLayout l = train_layout(k, layout);
    RhRehearsal *r = rh_run_metrics_new(&k->c, &l);
    rh_run_metrics_run(&k->c, r, run);
    return r;
}

/* --- programs by hand --- */

static void add_kernel(RhProgram *p, RhPhase phase, double seconds, double flops)
{
    RhTask task = kit_task(RH_TASK_KERNEL, RH_LANE_COMPUTE);
    RhKernel kernel = {.cls = RH_KERNEL_OPTIMIZER, .dtype = RH_DTYPE_FP32, .flops = flops};
    task.phase = (uint8_t)phase;
    task.label = rh_program_label(p, "kernel");
    task.bundle = rh_program_add_bundle(p, &kernel, 1);
    g_array_index(p->bundles, RhBundle, task.bundle).seconds = seconds;
    rh_program_add_task(p, task, NULL, 0);
}

/* Six ranks run a kernel of each phase there is, k ms each and k GFLOP; two others only the first
 * ones. */
static RhProgram *kernels_of_all_phases(void)
{
    static const RhStride most = {1, 6}, two = {1, 2};
    RhProgram *p = rh_program_new(8);
    rh_program_begin_role(p, "most", 0, &most, 1);
    for (int phase = 0; phase < RH_PHASE_LAST; phase++)
        add_kernel(p, (RhPhase)phase, 1e-3 * (phase + 1), 1e9 * (phase + 1));
    rh_program_end_role(p);
    rh_program_begin_role(p, "two", 6, &two, 1);
    add_kernel(p, RH_PHASE_NONE, 1e-3, 1e9);
    rh_program_end_role(p);
    return p;
}

static void every_phase_has_its_own_term(void)
{
    g_auto(TrainKit) k = train_kit(job[0], job[1], "bare", 8, 2048);
    g_autoptr(RhProgram) p = kernels_of_all_phases();
    g_autoptr(RhRun) run = kit_run(p, k.platform, (RhEngineOptions){0});
    g_autoptr(RhRehearsal) r = account(&k, "tp1,dp8", run);
    const RhCost *compute = rh_cost_find(r->costs, rh_wait_name(RH_WAIT_COMPUTE));
    CU_ASSERT_EQUAL_FATAL(compute->children->len, RH_PHASE_LAST);
    for (int phase = 0; phase < RH_PHASE_LAST; phase++) {
        const RhCost *term = rh_cost_find(compute, rh_phase_name((RhPhase)phase));
        double ranks = phase == RH_PHASE_NONE ? 8 : 6;
        CU_ASSERT_PTR_NOT_NULL_FATAL(term);
        RH_CHECK_CLOSE(term->value_s, 1e-3 * (phase + 1) * ranks / 8, 1e-9);
    }
    CU_ASSERT_TRUE(rh_cost_check(r->costs, 1e-9));
    double flops = 1e9 * (6 * RH_PHASE_LAST * (RH_PHASE_LAST + 1) / 2 + 2) / 8;
    double peak = k.platform->device->peak_flops_per_s[RH_DTYPE_BF16].value;
    RH_CHECK_CLOSE(r->hfu_frac * r->step_time_s * peak, flops, 1e-9);
}

static void a_phase_that_no_report_knows_is_reported(void)
{
    static const char *const none[] = {NULL};
    g_auto(TrainKit) k = train_kit(job[0], job[1], "bare", 8, 2048);
    g_autoptr(RhProgram) p = kernels_of_all_phases();
    g_autoptr(RhRun) run = kit_run(p, k.platform, (RhEngineOptions){0});
    g_autoptr(RhRehearsal) r = account(&k, "tp1,dp8", run);
    RhQuestion q = {.version = "0",
                    .c = &k.c,
                    .argv = none,
                    .sets = none,
                    .hardware = k.bare,
                    .workload_spec = job[0],
                    .platform_spec = job[1]};
    RhReportStyle style = {.verbosity = 1};
    g_autofree char *text = rh_report_run_text(&q, r, run, &style);
    g_autofree char *json = rh_report_run_json(&q, r);
    static const struct {
        const char *line, *value, *node;
    } odd[] = {{"\n      none ", " 1.00 ms ", "\"name\": \"none\""},
               {"\n      gradient ", " 3.75 ms ", "\"name\": \"gradient\""},
               {"\n      parameter ", " 5.25 ms ", "\"name\": \"parameter\""}};
    for (size_t i = 0; i < G_N_ELEMENTS(odd); i++) {
        const char *line = strstr(text, odd[i].line);
        CU_ASSERT_PTR_NOT_NULL_FATAL(line);
        size_t length = strcspn(line + 1, "\n");
        CU_ASSERT_PTR_NOT_NULL(g_strstr_len(line, (gssize)length, odd[i].value));
        CU_ASSERT_PTR_NOT_NULL(strstr(json, odd[i].node));
    }
}

/* --- sums --- */

static const RhCost *worst_off(const RhCost *term)
{
    for (guint i = 0; i < term->children->len; i++) {
        const RhCost *found = worst_off(term->children->pdata[i]);
        if (found)
            return found;
    }
    return rh_cost_check(term, 1e-9) ? NULL : term;
}

static void check_sums(const TrainKit *k, const char *layout, RhEngineOptions options)
{
    RhLayout l = train_layout(k, layout);
    g_autoptr(RhProgram) p = rh_train_build(&k->c, &l, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    g_autoptr(RhRun) run = kit_run(p, k->platform, options);
    g_autoptr(RhRehearsal) r = account(k, layout, run);
    const RhCost *off = worst_off(r->costs);
    if (off)
        fprintf(stderr, "    %s, jitter %g: the parts of \"%s\" are not its %.12g s\n", layout,
                options.jitter_frac, off->name, off->value_s);
    CU_ASSERT_PTR_NULL(off);
    for (guint i = 0; i < run->performers->len; i++) {
        const RhPerformer *performer = &g_array_index(run->performers, RhPerformer, i);
        double kernels_s = 0;
        for (int phase = 0; phase < RH_PHASE_LAST; phase++)
            kernels_s += performer->kernel_s[phase];
        RH_CHECK_CLOSE(kernels_s, performer->wait_s[RH_WAIT_COMPUTE], 1e-9);
        CU_ASSERT_TRUE(performer->kernel_s[RH_PHASE_NONE] == 0);
    }
}

static const char *const layouts[] = {"tp2,pp2,dp2,recompute=full",  "tp1,dp8,zero3",
                                      "tp1,pp4,dp2,schedule=gpipe",  "tp4,pp2,dp1,vpp2,sp=on",
                                      "tp8,recompute=selective",     "tp2,cp2,pp2,dp1,sp=on",
                                      "cp4,dp2,zero3,recompute=full"};
/* A stack that runs them. */
static const char *const split_backward[] = {"tp1,pp4,dp2,schedule=zb-h1",
                                             "cp2,pp2,dp2,schedule=zb-h1,zero2"};

static void the_terms_of_a_step_sum_to_it(void)
{
    g_auto(TrainKit) k = train_kit(job[0], job[1], "megatron", 16, 2048);
    train_kit_runs_all(&k);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        check_sums(&k, layouts[i], (RhEngineOptions){0});
        check_sums(&k, layouts[i], (RhEngineOptions){.steps = 3});
        check_sums(&k, layouts[i], (RhEngineOptions){.jitter_frac = 0.05});
        check_sums(&k, layouts[i], (RhEngineOptions){.jitter_frac = 0.05, .steps = 2});
        check_sums(&k, layouts[i],
                   (RhEngineOptions){.unfolded = true, .jitter_frac = 0.05, .seed = 3, .steps = 2});
    }
    g_auto(TrainKit) bare = train_kit(job[0], job[1], "bare", 16, 2048);
    for (size_t i = 0; i < G_N_ELEMENTS(split_backward); i++)
        check_sums(&bare, split_backward[i], (RhEngineOptions){0});
}

static void a_wrong_child_is_found(void)
{
    g_auto(TrainKit) k = train_kit(job[0], job[1], "bare", 8, 2048);
    g_autoptr(RhProgram) p = kernels_of_all_phases();
    g_autoptr(RhRun) run = kit_run(p, k.platform, (RhEngineOptions){0});
    RhPerformer *most = &g_array_index(run->performers, RhPerformer, 0);
    most->kernel_s[RH_PHASE_GRADIENT] *= 1 + 1e-6;
    g_autoptr(RhRehearsal) kernel = account(&k, "tp1,dp8", run);
    CU_ASSERT_FALSE(rh_cost_check(kernel->costs, 1e-9));
    most->kernel_s[RH_PHASE_GRADIENT] /= 1 + 1e-6;
    g_autoptr(RhRehearsal) right = account(&k, "tp1,dp8", run);
    CU_ASSERT_TRUE(rh_cost_check(right->costs, 1e-9));
    most->wait_s[RH_WAIT_DP] += 1e-6;
    g_autoptr(RhRehearsal) wait = account(&k, "tp1,dp8", run);
    CU_ASSERT_FALSE(rh_cost_check(wait->costs, 1e-9));
}

/* An MFU is of the peak of the format that linear layers run in, where there are such units. */
static void an_mfu_names_its_peak(void)
{
    static const struct {
        const char *platform, *dtype;
        RhDtype peak;
    } jobs[] = {{"h100-sxm:8x1", "bf16", RH_DTYPE_BF16},
                {"h100-sxm:8x1", "fp8", RH_DTYPE_FP8},
                {"b200-sxm:8x1", "nvfp4", RH_DTYPE_FP4}};
    for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++) {
        g_auto(TrainKit) k = train_kit(job[0], jobs[i].platform, "megatron", 8, 2048);
        k.c.job.recipe = rh_recipe_by_name(jobs[i].dtype);
        RhLayout l = train_layout(&k, "tp1,dp8");
        const RhFact *peaks = k.platform->device->peak_flops_per_s;
        g_autoptr(RhRehearsal) r = rh_rehearse_quick(&k.c, &l);
        CU_ASSERT_EQUAL(r->mfu_dtype, jobs[i].peak);
        RH_CHECK_CLOSE(r->mfu_frac * peaks[r->mfu_dtype].value,
                       r->mfu_bf16_frac * peaks[RH_DTYPE_BF16].value, 1e-9);
        RH_CHECK_CLOSE(r->mfu_frac * peaks[r->mfu_dtype].value, r->model_flops_per_s_per_gpu, 1e-9);
    }
}

/* A bar is that of steps whose kernels and formats were measured: of others it is wider, never narrower. */
static void a_bar_widens_beyond_what_was_measured(void)
{
    g_auto(TrainKit) near = train_kit("llama-3.1-70b", "h100-sxm:8x8", "megatron", 64, 8192);
    g_auto(TrainKit) far = train_kit("llama-3.1-70b", "h100-sxm:8x8", "megatron", 64, 131072);
    RhLayout l = train_layout(&near, "tp8,pp8,mb1,recompute=full"),
             m = train_layout(&far, "tp8,pp8,mb1,recompute=full,sp=on");
    g_autoptr(RhRehearsal) as_measured = rh_run_metrics_new(&near.c, &l);
    g_autoptr(RhRehearsal) extrapolated = rh_run_metrics_new(&far.c, &m);
    CU_ASSERT_EQUAL(as_measured->extrapolated_frac, 0);
    CU_ASSERT_EQUAL(as_measured->error_frac, as_measured->bar->error_frac);
    CU_ASSERT_TRUE(extrapolated->extrapolated_frac >= RH_EXTRAPOLATED_TOLD_FRAC);
    CU_ASSERT_TRUE(extrapolated->longs && !as_measured->longs);
    CU_ASSERT_TRUE(extrapolated->longs->steps >= 8);
    CU_ASSERT_TRUE(extrapolated->longs->error_frac > extrapolated->bar->error_frac);
    RH_CHECK_CLOSE(extrapolated->error_frac,
                   hypot(extrapolated->longs->error_frac,
                         RH_EXTRAPOLATED_ERROR_FRAC * extrapolated->extrapolated_frac),
                   1e-12);
    far.c.job.recipe = rh_recipe_by_name("tf32");
    g_autoptr(RhRehearsal) unmeasured = rh_run_metrics_new(&far.c, &m);
    CU_ASSERT_TRUE(unmeasured->format_unmeasured && !extrapolated->format_unmeasured);
    CU_ASSERT_TRUE(unmeasured->error_frac > extrapolated->error_frac);
}

/* --- bounds --- */

/* Checks that a bound's kernels are those of the rehearsal. */
static void check_bound(const TrainKit *k, const char *layout)
{
    g_autoptr(RhBoundCache) cache = rh_bound_new(&k->c);
    RhLayout l = train_layout(k, layout);
    g_autoptr(RhProgram) p = rh_train_build(&k->c, &l, NULL);
    g_autoptr(RhRun) run = kit_run(p, k->platform, (RhEngineOptions){0});
    g_autoptr(RhRehearsal) r = account(k, layout, run);
    g_autoptr(RhRehearsal) quick = rh_run_metrics_new(&k->c, &l);
    rh_run_metrics_bound(&k->c, quick, rh_segment_graph_s(cache, &l));
    CU_ASSERT_TRUE(rh_cost_check(quick->costs, 1e-9));
    RH_CHECK_CLOSE(quick->hfu_frac * quick->step_time_s, r->hfu_frac * r->step_time_s, 1e-9);
    for (int phase = 0; phase < RH_PHASE_LAST; phase++) {
        const RhCost *ran = rh_cost_find(r->costs, rh_phase_name((RhPhase)phase));
        const RhCost *said = rh_cost_find(quick->costs, rh_phase_name((RhPhase)phase));
        CU_ASSERT_EQUAL(ran == NULL, said == NULL);
        if (ran && said)
            RH_CHECK_CLOSE(ran->value_s, said->value_s, 1e-9);
    }
}

static void a_bound_has_the_rehearsals_kernels(void)
{
    g_auto(TrainKit) k = train_kit(job[0], job[1], "megatron", 16, 2048);
    train_kit_runs_all(&k);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++)
        check_bound(&k, layouts[i]);
    g_auto(TrainKit) bare = train_kit(job[0], job[1], "bare", 16, 2048);
    for (size_t i = 0; i < G_N_ELEMENTS(split_backward); i++)
        check_bound(&bare, split_backward[i]);
}

int main(void)
{
    return rh_test_main(
        "run_metrics",
        (RhTest[]){
            {"every_phase_has_its_own_term", every_phase_has_its_own_term},
            {"a_phase_that_no_report_knows_is_reported", a_phase_that_no_report_knows_is_reported},
            {"the_terms_of_a_step_sum_to_it", the_terms_of_a_step_sum_to_it},
            {"a_wrong_child_is_found", a_wrong_child_is_found},
            {"a_bar_widens_beyond_what_was_measured", a_bar_widens_beyond_what_was_measured},
            {"an_mfu_names_its_peak", an_mfu_names_its_peak},
            {"a_bound_has_the_rehearsals_kernels", a_bound_has_the_rehearsals_kernels},
            {0}});
}

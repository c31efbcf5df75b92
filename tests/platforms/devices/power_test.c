/* Energy from what devices did: closed forms by hand. */
#include "platforms/devices/power.h"

#include <math.h>

#include "sim/run_cost_tree.h"
#include "strategies/search/rehearsals/rehearse.h"
#include "strategies/search/rehearsals/run_metrics.h"
#include "tests/kit/engine_kit.h"
#include "tests/kit/train_kit.h"

/* A platform whose every watt is known: states of 100, 60, 40 and 10 % of 500 W. */
static RhPlatform *known(const char *spec)
{
    static const double fracs[RH_POWER_LAST] = {1, 0.6, 0.4, 0.1};
    RhPlatform *p = kit_platform(spec);
    p->device->power_w.value = 500;
    p->device->power_limit_w.value = 0;
    for (int state = 0; state < RH_POWER_LAST; state++)
        p->device->curves.power_frac[state].value = fracs[state];
    p->host_power_w.value = 1000;
    p->nic_power_w.value = 20;
    p->switches_power_w.value = 30;
    p->pue.value = 0;
    return p;
}

static const RhPowerTimes mixed = {{2, 3, 5, 10}};

static void a_sum_over_states_and_machines(void)
{
    g_autoptr(RhPlatform) p = known("h100-sxm:4x2,ib:400Gb/s,nics:2");
    RhEnergy e = rh_energy_of(p, 8, &mixed);
    RH_CHECK_CLOSE(e.device_j[RH_POWER_COMPUTE], 8 * 2 * 500.0, 1e-12);
    RH_CHECK_CLOSE(e.device_j[RH_POWER_MEMORY], 8 * 3 * 300.0, 1e-12);
    RH_CHECK_CLOSE(e.device_j[RH_POWER_COMMUNICATION], 8 * 5 * 200.0, 1e-12);
    RH_CHECK_CLOSE(e.device_j[RH_POWER_IDLE], 8 * 10 * 50.0, 1e-12);
    RH_CHECK_CLOSE(e.host_j, 2 * 1000 * 20.0, 1e-12);
    RH_CHECK_CLOSE(e.nic_j, 4 * 20 * 20.0, 1e-12);
    RH_CHECK_CLOSE(e.switches_j, 4 * 30 * 20.0, 1e-12);
    RH_CHECK_CLOSE(e.total_j, 8000 + 7200 + 8000 + 4000 + 40000 + 1600 + 2400, 1e-12);
    RH_CHECK_CLOSE(rh_energy_node_w(p, 8, &e, 20), (e.total_j - 2400) / 20 / 2, 1e-12);
    RhPowerTimes again = rh_power_times_of(p, 8, &e);
    for (int state = 0; state < RH_POWER_LAST; state++)
        RH_CHECK_CLOSE(again.state_s[state], mixed.state_s[state], 1e-12);
}

/* 20 s, of which devices draw 1000, 900, 1000 and 500 J: 170 W of 50 to 500. */
static void a_host_draws_more_the_more_its_devices_do(void)
{
    g_autoptr(RhPlatform) p = known("h100-sxm:4x2,ib:400Gb/s");
    p->host_idle_power_w = (RhFact){.value = 400}; /* of no tag: nobody said it */
    RH_CHECK_CLOSE(rh_energy_of(p, 8, &mixed).host_j, 2 * 1000 * 20.0, 1e-12);
    p->host_idle_power_w.tag = RH_TAG_ASSUMED;
    double share = (170.0 - 50) / (500 - 50);
    RH_CHECK_CLOSE(rh_energy_of(p, 8, &mixed).host_j, 2 * (400 + 600 * share) * 20, 1e-12);
    RH_CHECK_CLOSE(rh_energy_of(p, 8, &(RhPowerTimes){{2, 0, 0, 0}}).host_j, 2 * 1000 * 2, 1e-12);
    RH_CHECK_CLOSE(rh_energy_of(p, 8, &(RhPowerTimes){{0, 0, 0, 2}}).host_j, 2 * 400 * 2, 1e-12);
    p->host_idle_power_w.value = 0;
    RH_CHECK_CLOSE(rh_energy_of(p, 8, &mixed).host_j, 2 * 1000 * share * 20, 1e-12);
}

/* A job on one GPU has its share of the node's host and NICs: eight such jobs draw what one on all
 * eight draws, whatever the host does when its devices rest. */
static void parts_of_a_node_sum_to_the_node(void)
{
    g_autoptr(RhPlatform) p = known("h100-sxm:8x1,ib:400Gb/s,nics:8");
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            p->host_idle_power_w = (RhFact){.value = 400, .tag = RH_TAG_ASSUMED};
        RhEnergy whole = rh_energy_of(p, 8, &mixed);
        for (int32_t gpus = 1; gpus < 8; gpus++) {
            RhEnergy part = rh_energy_of(p, gpus, &mixed);
            RH_CHECK_CLOSE(part.host_j, whole.host_j * gpus / 8, 1e-12);
            RH_CHECK_CLOSE(part.nic_j, whole.nic_j * gpus / 8, 1e-12);
            RH_CHECK_CLOSE(part.total_j, whole.total_j * gpus / 8, 1e-12);
            RH_CHECK_CLOSE(rh_energy_node_w(p, gpus, &part, 20), rh_energy_node_w(p, 8, &whole, 20),
                           1e-12);
        }
    }
}

static void the_building_multiplies_all(void)
{
    g_autoptr(RhPlatform) p = known("h100-sxm:4x2,ib:400Gb/s");
    RhEnergy plain = rh_energy_of(p, 8, &mixed);
    p->pue.value = 1.25;
    RhEnergy built = rh_energy_of(p, 8, &mixed);
    RH_CHECK_CLOSE(built.total_j, 1.25 * plain.total_j, 1e-12);
    RH_CHECK_CLOSE(rh_energy_node_w(p, 8, &built, 20), rh_energy_node_w(p, 8, &plain, 20), 1e-12);
}

static void one_node_crosses_no_switch(void)
{
    g_autoptr(RhPlatform) p = known("h100-sxm:4x2,ib:400Gb/s");
    CU_ASSERT_EQUAL(rh_energy_of(p, 4, &mixed).switches_j, 0);
    RH_CHECK_CLOSE(rh_energy_of(p, 4, &mixed).host_j, 1000 * 20.0, 1e-12);
    RH_CHECK_CLOSE(rh_energy_of(p, 5, &mixed).host_j, 1.25 * 1000 * 20, 1e-12);
    CU_ASSERT_TRUE(rh_energy_of(p, 5, &mixed).switches_j > 0);
}

static void a_limit_caps_what_passes_it_alone(void)
{
    g_autoptr(RhPlatform) p = known("h100-sxm:4x1");
    p->device->power_limit_w.value = 250;
    CU_ASSERT_EQUAL(rh_device_state_w(p->device, RH_POWER_COMPUTE), 250);
    CU_ASSERT_EQUAL(rh_device_state_w(p->device, RH_POWER_MEMORY), 250);
    CU_ASSERT_EQUAL(rh_device_state_w(p->device, RH_POWER_COMMUNICATION), 200);
    CU_ASSERT_EQUAL(rh_device_state_w(p->device, RH_POWER_IDLE), 50);
}

static void what_is_unknown_counts_in_full_or_not_at_all(void)
{
    g_autoptr(RhPlatform) p = known("h100-sxm:4x2,ib:400Gb/s");
    p->device->curves.power_frac[RH_POWER_IDLE].value = 0; /* then the board's power */
    CU_ASSERT_EQUAL(rh_device_state_w(p->device, RH_POWER_IDLE), 500);
    p->host_power_w.value = 0;
    CU_ASSERT_EQUAL(rh_energy_of(p, 8, &mixed).host_j, 0);
    p->device->power_w.value = 0;
    CU_ASSERT_EQUAL(rh_energy_of(p, 8, &mixed).total_j, 0);
}

static void a_generation_shares_its_states(void)
{
    g_autoptr(RhDevice) h200 = rh_device_load("h200-sxm", NULL);
    g_autoptr(RhDevice) h100 = rh_device_load("h100-sxm", NULL);
    for (int state = 0; state < RH_POWER_LAST; state++) {
        const RhFact *own = &h200->curves.power_frac[state];
        CU_ASSERT_EQUAL(own->value, h100->curves.power_frac[state].value);
        CU_ASSERT_EQUAL(own->tag, RH_TAG_ASSUMED);
        CU_ASSERT_TRUE(own->value > 0);
    }
}

/* --- programs --- */

/* Every rank runs one kernel; `kernel` NULL: the time is given. */
static RhProgram *of_one_kernel(int32_t ranks, const RhKernel *kernel, double seconds)
{
    RhStride all = {1, ranks};
    RhProgram *p = rh_program_new(ranks);
    RhTask task = kit_task(RH_TASK_KERNEL, RH_LANE_COMPUTE);
    rh_program_begin_role(p, "all", 0, &all, 1);
    task.label = rh_program_label(p, "kernel");
    task.bundle = kernel ? rh_program_add_bundle(p, kernel, 1) : rh_program_add_wait(p, seconds);
    rh_program_add_task(p, task, NULL, 0);
    rh_program_end_role(p);
    return p;
}

static const RhKernel product = {.cls = RH_KERNEL_GEMM,
                                 .dtype = RH_DTYPE_BF16,
                                 .batch = 1,
                                 .m = 8192,
                                 .n = 8192,
                                 .k = 8192,
                                 .flops = 2.0 * 8192 * 8192 * 8192,
                                 .bytes = 3.0 * 2 * 8192 * 8192};
static const RhKernel stream = {.cls = RH_KERNEL_NORM, .dtype = RH_DTYPE_BF16, .bytes = 1e9};

static void a_kernel_draws_what_bounds_it(void)
{
    static const struct {
        const RhKernel *kernel;
        RhPowerState state;
    } cases[] = {{&product, RH_POWER_COMPUTE}, {&stream, RH_POWER_MEMORY}};
    g_autoptr(RhPlatform) platform = known("h100-sxm:4x1");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(RhProgram) p = of_one_kernel(4, cases[i].kernel, 0);
        g_autoptr(RhRun) run = kit_run(p, platform, (RhEngineOptions){0});
        RhPowerTimes times = rh_run_power_times(run);
        double took_s = rh_kernel_time_s(platform->device, cases[i].kernel);
        RhEnergy e = rh_energy_of(platform, 4, &times);
        RH_CHECK_CLOSE(times.state_s[cases[i].state], took_s, 1e-9);
        RH_CHECK_CLOSE(e.device_j[cases[i].state],
                       4 * took_s * rh_device_state_w(platform->device, cases[i].state), 1e-9);
        RH_CHECK_CLOSE(e.total_j, e.device_j[cases[i].state] + (1000 + 4 * 20) * took_s, 1e-6);
    }
}

static void a_time_that_was_given_is_arithmetic(void)
{
    g_autoptr(RhPlatform) platform = known("h100-sxm:4x1");
    g_autoptr(RhProgram) p = of_one_kernel(4, NULL, 2);
    g_autoptr(RhRun) run = kit_run(p, platform, (RhEngineOptions){0});
    RhPowerTimes times = rh_run_power_times(run);
    RH_CHECK_CLOSE(rh_energy_of(platform, 4, &times).total_j, 4 * 2 * 500 + 2 * 1080, 1e-9);
}

/* --- steps --- */

static void states_sum_to_the_step(void)
{
    static const char *const layouts[] = {"tp8,mb1", "tp2,pp2,dp2,mb1", "dp8,mb1,zero3"};
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "h100-sxm:8x1", "megatron", 16, 2048);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhLayout l = rh_train_default(&k.c);
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(layouts[i], &l, NULL));
        rh_train_complete(&k.c, &l);
        l = rh_train_canonical(&k.c, &l);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        g_autoptr(RhRun) run =
            kit_run(p, k.platform, (RhEngineOptions){.sm_sharing_disabled = true});
        RhPowerTimes times = rh_run_power_times(run);
        double sum_s = 0;
        for (int state = 0; state < RH_POWER_LAST; state++) {
            CU_ASSERT_TRUE(times.state_s[state] >= 0);
            sum_s += times.state_s[state];
        }
        RH_CHECK_CLOSE(sum_s, run->step_time_s, 1e-9);
        g_autoptr(RhRehearsal) r = rh_run_metrics_new(&k.c, &l);
        rh_run_metrics_run(&k.c, r, run);
        double most_j = 8 * 700 * r->step_time_s,
               host_w = k.platform->host_power_w.value + 8 * k.platform->nic_power_w.value;
        CU_ASSERT_TRUE(r->energy.total_j < most_j + host_w * r->step_time_s);
        CU_ASSERT_TRUE(r->energy.total_j > 0.17 * 8 * 700 * r->step_time_s);
        g_autoptr(RhRehearsal) bound = rh_rehearse_quick(&k.c, &l);
        RH_CHECK_CLOSE(bound->energy.device_j[RH_POWER_COMPUTE],
                       r->energy.device_j[RH_POWER_COMPUTE], 1e-6);
    }
}

/* Kernels that spread draw what even ones do, in each state, however many steps are told of. */
static void jitter_changes_no_state(void)
{
    static const double hardly = 1e-6, some = 0.05;
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:2", "megatron", 64, 2048);
    g_autoptr(RhProgram) p = train_build(&k, "tp2");
    g_autoptr(RhRun) even = kit_run(p, k.platform, (RhEngineOptions){0});
    g_autoptr(RhRun) each =
        kit_run(p, k.platform, (RhEngineOptions){.unfolded = true, .jitter_frac = some, .seed = 1});
    RhPowerTimes plain = rh_run_power_times(even), drawn = rh_run_power_times(each);
    for (int32_t steps = 1; steps <= 3; steps += 2) {
        g_autoptr(RhRun) near =
            kit_run(p, k.platform, (RhEngineOptions){.jitter_frac = hardly, .steps = steps});
        g_autoptr(RhRun) spread =
            kit_run(p, k.platform, (RhEngineOptions){.jitter_frac = some, .steps = steps});
        RhPowerTimes times = rh_run_power_times(near), folded = rh_run_power_times(spread);
        for (int state = 0; state < RH_POWER_IDLE; state++)
            RH_CHECK_CLOSE(times.state_s[state], plain.state_s[state], 0.001);
        double plain_j = rh_energy_of(k.platform, 16, &plain).total_j;
        double drawn_j = rh_energy_of(k.platform, 16, &drawn).total_j;
        RH_CHECK_CLOSE(rh_energy_of(k.platform, 16, &times).total_j, plain_j, 0.001);
        RH_CHECK_CLOSE(rh_energy_of(k.platform, 16, &folded).total_j, drawn_j, 0.02);
    }
}

/* --- measured runs --- */

/* MLPerf Training v4.0, Llama-2-70B LoRA, mlcommons/training_results_v4.0 at 6fe95437, smc-dc-power/results: layout and
 * batch as the logs name their configuration (SMCH100_1x8x4xtp4pp1cp1, 8x8x1xtp4pp1cp2, 64x8x1xtp4pp1cp2), tensor
 * communication overlapped. Means over ten runs and all nodes, switches apart: power while the first block of steps
 * runs; a step, batch over the throughput that the log tracks; power from run_start to run_stop, its length, and what
 * of it is neither steps nor evaluations. */
typedef struct {
    const char *platform, *layout;
    int64_t batch;
    double step_w, step_s, run_w, run_s, waiting_s;
} LoraRun;
static const LoraRun lora_runs[] = {
    {"dgx-h100:1", "tp4,dp2,mb1,zero1,tpoverlap=on", 8, 7032, 3.840, 6954, 1687.9, 19.4},
    {"dgx-h100:8", "tp4,cp2,dp8,mb1,zero1,tpoverlap=on", 8, 6148, 0.650, 5708, 318.2, 27.1},
    {"dgx-h100:64", "tp4,cp2,dp64,mb1,zero1,tpoverlap=on", 64, 5986, 0.710, 4985, 117.2, 26.2}};

static double idle_node_w(const RhPlatform *p)
{
    RhPowerTimes second = {.state_s[RH_POWER_IDLE] = 1};
    RhEnergy e = rh_energy_of(p, rh_platform_gpus(p), &second);
    return rh_energy_node_w(p, rh_platform_gpus(p), &e, 1);
}

/* Power of a node, in steps and over the whole run. Source: MLPerf Training v4.1, power logs of
 * llama2_70b_lora. */
static void lora_runs_draw_what_was_measured(void)
{
    double last_w = HUGE_VAL;
    for (size_t i = 0; i < G_N_ELEMENTS(lora_runs); i++) {
        const LoraRun *m = &lora_runs[i];
        g_auto(TrainKit) k = train_kit("llama-2-70b", m->platform, "megatron", m->batch, 8192);
        k.c.job.lora = (RhLora){16, 0};
        k.c.job.recipe = &rh_recipe_fp8;
        RhLayout l = train_layout(&k, m->layout);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        g_autoptr(RhRun) run = kit_run(p, k.platform, (RhEngineOptions){0});
        g_autoptr(RhRehearsal) r = rh_run_metrics_new(&k.c, &l);
        rh_run_metrics_run(&k.c, r, run);
        double step_w = rh_energy_node_w(k.platform, k.c.job.gpus, &r->energy, r->step_time_s);
        double idle_w = idle_node_w(k.platform);
        double run_w = ((m->run_s - m->waiting_s) * step_w + m->waiting_s * idle_w) / m->run_s;
        RH_CHECK_CLOSE(step_w, m->step_w, 0.11);
        RH_CHECK_CLOSE(step_w * r->step_time_s, m->step_w * m->step_s, 0.08);
        RH_CHECK_CLOSE(idle_w, 2600, 0.01); /* 2,544 to 2,620 W while a run waits */
        RH_CHECK_CLOSE(run_w, m->run_w, 0.15);
        CU_ASSERT_TRUE(run_w < last_w);
        last_w = run_w;
    }
}

int main(void)
{
    return rh_test_main(
        "power",
        (RhTest[]){{"a_sum_over_states_and_machines", a_sum_over_states_and_machines},
                   {"a_host_draws_more_the_more_its_devices_do",
                    a_host_draws_more_the_more_its_devices_do},
                   {"parts_of_a_node_sum_to_the_node", parts_of_a_node_sum_to_the_node},
                   {"the_building_multiplies_all", the_building_multiplies_all},
                   {"one_node_crosses_no_switch", one_node_crosses_no_switch},
                   {"a_limit_caps_what_passes_it_alone", a_limit_caps_what_passes_it_alone},
                   {"what_is_unknown_counts_in_full_or_not_at_all",
                    what_is_unknown_counts_in_full_or_not_at_all},
                   {"a_generation_shares_its_states", a_generation_shares_its_states},
                   {"a_kernel_draws_what_bounds_it", a_kernel_draws_what_bounds_it},
                   {"a_time_that_was_given_is_arithmetic", a_time_that_was_given_is_arithmetic},
                   {"states_sum_to_the_step", states_sum_to_the_step},
                   {"jitter_changes_no_state", jitter_changes_no_state},
                   {"lora_runs_draw_what_was_measured", lora_runs_draw_what_was_measured},
                   {0}});
}

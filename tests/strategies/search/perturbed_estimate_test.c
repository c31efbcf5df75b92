/* Changed cases of a rehearsed layout: their effect on the objective, against the changed case
 * rehearsed. */
#include "strategies/search/perturbed_estimate.h"

#include <glib/gstdio.h>
#include <math.h>

#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static RhRehearsal *rehearse(const RhProblem *c, const RhLayout *l)
{
    GError *error = NULL;
    RhRehearsal *r = rh_rehearse(c, l, &(RhEngineOptions){0}, NULL, NULL, &error);
    g_assert_no_error(error);
    return r;
}

static RhUnperturbed before_of(const TrainKit *k, const RhLayout *l, RhObjective objective)
{
    g_autoptr(RhRehearsal) r = rehearse(&k->c, l);
    RhUnperturbed b = {0};
    CU_ASSERT_TRUE_FATAL(rh_unperturbed(&k->c, objective, l, r->step_time_s, &r->energy, &b, NULL));
    return b;
}

/* How much more the objective comes to with KEY=VALUE: said and rehearsed. */
static void both_ways(const TrainKit *k, const RhUnperturbed *b, const char *key, const char *value,
                      double *said, double *rehearsed)
{
    g_autoptr(RhPlatform) changed = rh_platform_copy(k->platform);
    RhProblem c = k->c;
    CU_ASSERT_TRUE_FATAL(rh_platform_set(changed, key, value, NULL));
    c.platform = changed;
    g_autoptr(RhRehearsal) before = rehearse(&k->c, &b->layout);
    g_autoptr(RhRehearsal) after = rehearse(&c, &b->layout);
    *said = rh_perturbed_value(b, &c) / b->value - 1;
    *rehearsed =
        rh_objective_value(b->objective, after) / rh_objective_value(b->objective, before) - 1;
}

static void nothing_changed_moves_nothing(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "megatron", 64, 2048);
    RhLayout l = train_layout(&k, "tp2,pp2,mb1");
    k.platform->price_usd_per_gpu_hour.value = 3;
    for (int o = 0; o < RH_OBJECTIVE_LAST; o++) {
        RhUnperturbed b = before_of(&k, &l, (RhObjective)o);
        RH_CHECK_CLOSE(rh_perturbed_value(&b, &k.c), b.value, 1e-9);
        rh_unperturbed_clear(&b);
    }
}

static void powers_move_energy_exactly(void)
{
    static const char *const changes[][2] = {{"device.power", "800W"},
                                             {"device.power_states.idle", "0.3"},
                                             {"device.power_states.communication", "0.7"},
                                             {"nic.power", "60W"},
                                             {"host.power", "3kW"},
                                             {"pue", "1.4"}};
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "megatron", 64, 2048);
    RhLayout l = train_layout(&k, "tp2,pp2,mb1");
    RhUnperturbed b = before_of(&k, &l, RH_OBJECTIVE_ENERGY);
    for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
        double said, rehearsed;
        both_ways(&k, &b, changes[i][0], changes[i][1], &said, &rehearsed);
        CU_ASSERT_TRUE(fabs(rehearsed) > 1e-4);
        CU_ASSERT_DOUBLE_EQUAL(said, rehearsed, 1e-8);
    }
    rh_unperturbed_clear(&b);
}

/* Rates change the step, and with it how long what is idle draws power. */
static void rates_move_energy_as_rehearsed(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "megatron", 64, 2048);
    RhLayout l = train_layout(&k, "tp2,pp2,mb1");
    RhUnperturbed b = before_of(&k, &l, RH_OBJECTIVE_ENERGY);
    double said, rehearsed;
    both_ways(&k, &b, "device.peak.bf16", "800TFLOP/s", &said, &rehearsed);
    CU_ASSERT_TRUE(rehearsed > 0.05);
    CU_ASSERT_DOUBLE_EQUAL(said, rehearsed, 0.1 * rehearsed);
    rh_unperturbed_clear(&b);
}

static void money_goes_by_price_and_step(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "megatron", 64, 2048);
    RhLayout l = train_layout(&k, "tp2,pp2,mb1");
    k.platform->price_usd_per_gpu_hour.value = 3;
    RhUnperturbed b = before_of(&k, &l, RH_OBJECTIVE_COST);
    RH_CHECK_CLOSE(b.value, b.step_s * 16 * 3 / 3600, 1e-12);
    g_autoptr(RhPlatform) dearer = rh_platform_copy(k.platform);
    RhProblem c = k.c;
    dearer->price_usd_per_gpu_hour.value = 4.5;
    c.platform = dearer;
    RH_CHECK_CLOSE(rh_perturbed_value(&b, &c), 1.5 * b.value, 1e-9);
    rh_unperturbed_clear(&b);
}

/* Stages on an H100 and an A100 node: lower bounds put every kernel on the quicker one, so a change of the other
 * would be none. */
static void both_devices_count(void)
{
    static const char text[] =
        "{\"name\": \"mixed\", \"derives\": \"dgx-h100\", \"devices\": [{\"nodes\": 1, "
        "\"device\": \"h100-sxm\"}, {\"nodes\": 1, \"device\": \"a100-sxm-80\"}]}";
    static const char *const changes[][2] = {{"device.peak.bf16", "890TFLOP/s"},
                                             {"device.peak.bf16", "1088TFLOP/s"},
                                             {"device.a100-sxm-80.peak.bf16", "281TFLOP/s"},
                                             {"device.a100-sxm-80.peak.bf16", "343TFLOP/s"},
                                             {"device.a100-sxm-80.hbm_bandwidth", "1.8TB/s"}};
    g_autofree char *folder = g_dir_make_tmp("rehearse-moved-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "mixed.json", NULL);
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, -1, NULL));
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", path, "bare", 64, 2048);
    g_unlink(path);
    g_rmdir(folder);
    RhLayout l = train_layout(&k, "tp2,pp2,mb1,partition=work");
    RhUnperturbed b = before_of(&k, &l, RH_OBJECTIVE_TIME);
    for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
        double said, rehearsed;
        both_ways(&k, &b, changes[i][0], changes[i][1], &said, &rehearsed);
        CU_ASSERT_TRUE(fabs(rehearsed) > 1e-4);
        CU_ASSERT_DOUBLE_EQUAL(said, rehearsed, 0.003);
    }
    rh_unperturbed_clear(&b);
}

int main(void)
{
    return rh_test_main(
        "perturb", (RhTest[]){{"nothing_changed_moves_nothing", nothing_changed_moves_nothing},
                              {"powers_move_energy_exactly", powers_move_energy_exactly},
                              {"rates_move_energy_as_rehearsed", rates_move_energy_as_rehearsed},
                              {"money_goes_by_price_and_step", money_goes_by_price_and_step},
                              {"both_devices_count", both_devices_count},
                              {0}});
}

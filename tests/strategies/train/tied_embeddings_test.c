/* Tied embeddings on a pipeline: who exchanges how much, what it costs, and what both stages hold. */
#include <math.h>

#include "sim/collective/collective.h"
#include "strategies/train/memory/memory.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static const struct {
    const char *layout;
    double tp, shares; /* of the gradients */
} exchanging[] = {{"tp2,pp4,dp4,zero0", 2, 1},      {"tp2,pp4,dp4,zero1,order=tp-pp-dp", 2, 1},
                  {"tp1,pp2,dp16,zero2", 1, 16},    {"tp1,pp2,dp8,cp2,zero3", 1, 16},
                  {"tp4,pp2,vpp2,dp4,zero0", 4, 1}, {"tp8,pp4,dp1", 8, 1}};

/* Checks each sum of tied gradients in the program, and returns their number. */
static int32_t check_exchanges(const TrainKit *k, const RhProgram *p, const RhLayout *l,
                               double bytes)
{
    int32_t found = 0;
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, (int32_t)i);
        if (task->kind != RH_TASK_COLLECTIVE ||
            g_strcmp0(p->labels->pdata[task->label], "sum tied embeddings' gradients") != 0)
            continue;
        g_autofree int32_t *gpus =
            rh_group_gpus(p, task->group, rh_program_role(p, task->role)->first_rank);
        g_autoptr(RhSchedule) steps = rh_schedule_of_task(p, task, k->c.platform, gpus, NULL);
        CU_ASSERT_EQUAL(task->op, RH_OP_ALL_REDUCE);
        CU_ASSERT_TRUE(task->role == 0 || task->role == l->pp - 1);
        CU_ASSERT_EQUAL(rh_program_group(p, task->group)->size, 2);
        RH_CHECK_CLOSE(task->bytes, bytes, 1e-12);
        /* 2 (k - 1) / k of the bytes among k = 2 */
        RH_CHECK_CLOSE(rh_schedule_wire_bytes(steps), bytes, 1e-12);
        found++;
    }
    return found;
}

/* Megatron-LM pads the vocabulary to 128 t. */
static void first_and_last_stage_sum_their_matrix(void)
{
    for (int tied = 0; tied < 2; tied++) {
        g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:4", "megatron", 64, 4096);
        train_kit_runs_all(&k);
        k.model->tied_embeddings = tied;
        for (size_t i = 0; i < G_N_ELEMENTS(exchanging); i++) {
            RhLayout l = train_layout(&k, exchanging[i].layout);
            double t = exchanging[i].tp, rows = 128 * ceil((double)k.model->vocab / (128 * t));
            g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
            CU_ASSERT_TRUE(rh_program_check(p, NULL));
            CU_ASSERT_EQUAL(check_exchanges(&k, p, &l,
                                            k.c.stack->gradient_bytes * rows *
                                                (double)k.model->hidden / exchanging[i].shares),
                            2 * tied);
        }
    }
}

static void a_stage_with_both_ends_has_nobody_to_exchange_with(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 32, 2048);
    train_kit_runs_all(&k);
    CU_ASSERT_TRUE(k.model->tied_embeddings);
    static const char *const layouts[] = {"tp2,pp1,dp4", "pp4,dp2,schedule=zb-v"};
    for (size_t n = 0; n < G_N_ELEMENTS(layouts); n++) {
        RhLayout l = train_layout(&k, layouts[n]);
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
        CU_ASSERT_EQUAL(check_exchanges(&k, p, &l, 0), 0);
        for (guint i = 0; i < p->groups->len; i++)
            CU_ASSERT_STRING_NOT_EQUAL(p->labels->pdata[rh_program_group(p, (int32_t)i)->label],
                                       "tied");
    }
}

/* The first stage has the last gradients, and waits for nobody: a tied model's step is longer by the
 * exchange, which has the network for itself. Both directions of a link carry the matrix at once, so
 * it is the latencies, and its bytes once. */
static void the_exchange_is_what_a_tied_step_takes_longer(void)
{
    static const struct {
        const char *platform, *layout;
        bool inside;       /* a node */
        double neighbours; /* that share a NIC */
    } rows[] = {{"h100-sxm:1x2,ib:200Gb/s", "pp2,dp1", false, 1},
                {"h100-sxm:1x8,ib:200Gb/s", "pp4,dp2,zero0", false, 1},
                {"h100-sxm:4x4,nvlink:100GB/s,ib:400Gb/s,nics:4", "tp4,pp2,dp2", false, 1},
                {"h100-sxm:4x4,nvlink:100GB/s,ib:400Gb/s,nics:1", "tp4,pp2,dp2", false, 4},
                {"h100-sxm:2x4,nvlink:100GB/s,ib:400Gb/s", "pp2,dp4,order=tp-pp-dp", true, 1}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(TrainKit) k = train_kit("llama-3.2-1b", rows[i].platform, "bare", 32, 512);
        RhLayout l = train_layout(&k, rows[i].layout);
        double matrix =
            k.c.stack->gradient_bytes * (double)(k.model->vocab * k.model->hidden) / l.tp;
        const RhPlatform *p = k.c.platform;
        double rate = rows[i].inside ? p->nvlink_bytes_per_s.value * p->nvlink_efficiency_frac.value
                                     : p->nic_bytes_per_s.value * p->nic_efficiency_frac.value;
        double moving = matrix * rows[i].neighbours / rate;
        double tied = train_step_s(&k.c, &l, false), segment = train_segment_s(&k.c, &l);
        k.model->tied_embeddings = false;
        double longer = tied - train_step_s(&k.c, &l, false);
        CU_ASSERT_TRUE(longer > moving && longer < 1.005 * moving + 50e-6);
        RH_CHECK_CLOSE(segment - train_segment_s(&k.c, &l), longer, 1e-6);
    }
}

/* Both stages hold the matrix, its gradients and its optimizer's state, tied or not. */
static void both_stages_hold_the_matrix(void)
{
    static const char *const layouts[] = {"pp2,dp4,zero0", "tp2,pp2,dp2,zero1", "pp4,dp2"};
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        RhTrainMemory memory[2];
        for (int tied = 0; tied < 2; tied++) {
            g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "megatron", 32, 2048);
            k.model->tied_embeddings = tied;
            RhLayout l = train_layout(&k, layouts[i]);
            memory[tied] = rh_train_memory(&k.c, &l);
            g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, NULL);
            double peak = rh_ledger_walk(p, memory[tied].stage, RH_MEMORY_TIER_HBM).peak_bytes;
            RH_CHECK_CLOSE(memory[tied].peak_bytes, peak, 1e-12);
        }
        CU_ASSERT_EQUAL(memory[0].peak_bytes, memory[1].peak_bytes);
    }
}

int main(void)
{
    return rh_test_main(
        "tied_embeddings",
        (RhTest[]){{"first_and_last_stage_sum_their_matrix", first_and_last_stage_sum_their_matrix},
                   {"a_stage_with_both_ends_has_nobody_to_exchange_with",
                    a_stage_with_both_ends_has_nobody_to_exchange_with},
                   {"the_exchange_is_what_a_tied_step_takes_longer",
                    the_exchange_is_what_a_tied_step_takes_longer},
                   {"both_stages_hold_the_matrix", both_stages_hold_the_matrix},
                   {0}});
}

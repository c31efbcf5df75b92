/* Buckets of gradients: by parameters, by bytes, and by time. */
#include "strategies/software_stack_file.h"
#include "strategies/train/block_cost.h"
#include "strategies/train/parallelism/gradient_buckets.h"
#include "strategies/train/program/layer_ops.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

#define MIB 1048576.0

/* Bytes of the exchanges of role 0's gradients, in order. The caller frees them. */
static GArray *exchanges(const TrainKit *k, const RhLayout *l)
{
    g_autoptr(RhProgram) p = rh_train_build(&k->c, l, NULL);
    GArray *bytes = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < p->tasks->len; i++) {
        const RhTask *task = rh_program_task(p, (int32_t)i);
        if (task->kind == RH_TASK_COLLECTIVE && task->lane == RH_LANE_DP)
            g_array_append_val(bytes, task->bytes);
    }
    return bytes;
}

/* Checks the exchanges against the layers, last one first: a bucket is closed as soon as `closes`
 * says so of its bytes, the seconds since the one before, and its place. */
typedef bool (*Closes)(double bytes, double open_s, guint place);

static void check_exchanges(const TrainKit *k, const RhLayout *l, double width, Closes closes)
{
    g_autoptr(RhModelCost) cost = rh_model_cost_new(&k->c, l);
    g_autoptr(RhStageProgram) stage = rh_stage_program_new(cost, l, 0);
    g_autoptr(GArray) sent = exchanges(k, l);
    double bytes = 0, open_s = 0;
    guint place = 0;
    for (guint i = stage->items->len; i-- > 0;) {
        const RhStageLayer *layer = rh_stage_program_layer(stage, (int32_t)i);
        bytes += width * layer->params.of[RH_PARAMS_COMMON];
        open_s += rh_layer_backward_s(cost, layer->kind);
        if ((!closes(bytes, open_s, place) && i > 0) || bytes <= 0)
            continue;
        CU_ASSERT_TRUE_FATAL(place < sent->len);
        RH_CHECK_CLOSE(g_array_index(sent, double, place), bytes, 1e-12);
        place++;
        bytes = open_s = 0;
    }
    CU_ASSERT_EQUAL(place, sent->len);
}

static bool closes_ddp(double bytes, double open_s, guint place)
{
    (void)open_s;
    return bytes >= (place == 0 ? 1 : 25) * MIB;
}

/* Source: pytorch/pytorch d57ae6c4, torch/lib/c10d/reducer.hpp: buckets of 25 MiB, the first of 1 MiB. */
static void ddp_closes_by_bytes(void)
{
    g_auto(TrainKit) k = train_kit("resnet-50", "summit:8", "convnets", 3072, 1);
    RhLayout l = train_layout(&k, "dp48,mb64,zero0");
    check_exchanges(&k, &l, 4, closes_ddp);
    train_kit_runs_all(&k);
    k.stack->gradient_bytes = 2; /* as many bytes are twice the parameters */
    double narrow = rh_bucket_params(&k.c, &l, RH_PARAMS_COMMON);
    k.stack->gradient_bytes = 4;
    CU_ASSERT_EQUAL(rh_bucket_params(&k.c, &l, RH_PARAMS_COMMON), 25 * MIB / 4);
    CU_ASSERT_EQUAL(narrow, 25 * MIB / 2);
}

static bool closes_horovod(double bytes, double open_s, guint place)
{
    (void)place;
    return bytes >= 64 * MIB || open_s >= 5e-3;
}

/* Source: horovod/horovod 356ff698, docs/tensor-fusion.rst: 64 MiB at most, what is ready after 5 ms. */
static void horovod_closes_by_time(void)
{
    g_auto(TrainKit) k = train_kit("resnet-50", "summit:2", "horovod", 768, 1);
    RhLayout l = train_layout(&k, "dp12,mb64,zero0");
    check_exchanges(&k, &l, 4, closes_horovod);
    RH_CHECK_CLOSE(train_step_s(&k.c, &l, false), train_step_s(&k.c, &l, true), 1e-9);
    CU_ASSERT_TRUE(train_segment_s(&k.c, &l) <= train_step_s(&k.c, &l, false) * (1 + 1e-9));
    train_kit_runs_all(&k);
    g_autoptr(GArray) many = exchanges(&k, &l);
    CU_ASSERT_TRUE(rh_stack_choose(k.stack, "bucket_cycle", "10s", NULL));
    g_autoptr(GArray) few = exchanges(&k, &l);
    CU_ASSERT_TRUE(many->len > few->len);
    CU_ASSERT_EQUAL(few->len, 2); /* 97.5 MiB by the fused buffer alone */
}

/* Megatron's floor grows with the replicas, unless a size is given. */
static void a_size_that_is_set_binds(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:64", "megatron", 512, 1024);
    RhLayout l = train_layout(&k, "dp512,mb1,zero0");
    train_kit_runs_all(&k);
    CU_ASSERT_EQUAL(rh_bucket_params(&k.c, &l, RH_PARAMS_COMMON), 512e6);
    CU_ASSERT_TRUE(rh_stack_set(k.stack, "bucket_params", "1000000", NULL)); /* the fact alone */
    CU_ASSERT_EQUAL(rh_bucket_params(&k.c, &l, RH_PARAMS_COMMON), 512e6);
    CU_ASSERT_TRUE(rh_stack_choose(k.stack, "bucket_params", "1000000", NULL));
    CU_ASSERT_EQUAL(rh_bucket_params(&k.c, &l, RH_PARAMS_COMMON), 1e6);
    CU_ASSERT_TRUE(rh_stack_choose(k.stack, "bucket", "8MiB", NULL));
    CU_ASSERT_EQUAL(rh_bucket_params(&k.c, &l, RH_PARAMS_COMMON), 2 * MIB);
    CU_ASSERT_TRUE(rh_stack_choose(k.stack, "bucket_params", "3000000", NULL));
    CU_ASSERT_EQUAL(rh_bucket_params(&k.c, &l, RH_PARAMS_COMMON), 3e6);
    CU_ASSERT_FALSE(rh_stack_choose(k.stack, "bucket", "8", NULL));
}

/* DeepSpeed's file gives a number: Megatron's floor, of the stack it derives from, is gone. */
static void a_file_replaces_the_rule_it_derives_from(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:128", "deepspeed", 1024, 1024);
    RhLayout l = train_layout(&k, "dp1024,mb1,zero1");
    CU_ASSERT_EQUAL(rh_bucket_params(&k.c, &l, RH_PARAMS_COMMON), 5e8);
}

int main(void)
{
    return rh_test_main("gradient_buckets",
                        (RhTest[]){{"ddp_closes_by_bytes", ddp_closes_by_bytes},
                                   {"horovod_closes_by_time", horovod_closes_by_time},
                                   {"a_size_that_is_set_binds", a_size_that_is_set_binds},
                                   {"a_file_replaces_the_rule_it_derives_from",
                                    a_file_replaces_the_rule_it_derives_from},
                                   {0}});
}

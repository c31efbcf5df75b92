/* Steps and memory of training beside what papers print of them. Nothing was fitted to these runs. */
#include <math.h>

#include "tests/kit/train_kit.h"

typedef struct {
    const char *model, *platform, *layout;
    int64_t batch;
    double measured_s;
} Step;

/* Checks that each rehearsed step is near the measured one. */
static void check_steps(const char *stack, int64_t sequence, const Step *steps, size_t count,
                        double within_frac)
{
    for (size_t i = 0; i < MIN(count, (size_t)RH_TRIES(count, 1)); i++) {
        g_auto(TrainKit) k =
            train_kit(steps[i].model, steps[i].platform, stack, steps[i].batch, sequence);
        RhLayout l = train_layout(&k, steps[i].layout);
        RH_CHECK_CLOSE(train_step_s(&k.c, &l, false), steps[i].measured_s, within_frac);
    }
}

/* A step of GPTs with sequence parallelism and the core of attention run again.
 * Source: Korthikanti et al. 2022 (arXiv 2205.05198), tables 3 and 5. */
static void sequence_parallel_steps_take_the_seconds_of_their_paper(void)
{
    static const Step steps[] = {
        {"gpt3-175b", "dgx-a100:8", "tp8,pp8,vpp3,sp=on,recompute=selective,mb1", 64, 13.75},
        {"gpt-530b", "dgx-a100:35", "tp8,pp35,vpp3,sp=on,recompute=selective,mb1", 280, 37.83},
        {"gpt-1t", "dgx-a100:64", "tp8,pp64,sp=on,recompute=selective,mb1", 512, 71.49}};
    check_steps("megatron", 2048, steps, G_N_ELEMENTS(steps), 0.08);
}

/* A step of GPTs with all layers run again and without sequence parallelism, on the software before
 * it. Source: Korthikanti et al. 2022 (arXiv 2205.05198), tables 3 and 5. */
static void recomputed_steps_take_the_seconds_of_their_paper(void)
{
    static const Step steps[] = {
        {"gpt3-175b", "dgx-a100:8", "tp8,pp8,vpp3,sp=off,recompute=full,mb1", 64, 18.13},
        {"gpt-530b", "dgx-a100:35", "tp8,pp35,vpp3,sp=off,recompute=full,mb1", 280, 49.05},
        {"gpt-1t", "dgx-a100:64", "tp8,pp64,sp=off,recompute=full,mb1", 512, 94.42}};
    check_steps("megatron-2021", 2048, steps, G_N_ELEMENTS(steps), 0.1);
}

/* A step of Nemotron-4 340B on 1,536 to 6,144 H100s: eight tensor ranks, twelve stages of eight chunks.
 * Source: Nemotron-4 340B report (arXiv 2406.11704), section 2.2 and table 2. */
static void nemotron_steps_take_the_seconds_of_their_report(void)
{
    static const Step steps[] = {
        {"nemotron-4-340b", "dgx-h100:192", "tp8,pp12,vpp8,dp16,zero1,mb1", 768, 10.3},
        {"nemotron-4-340b", "dgx-h100:384", "tp8,pp12,vpp8,dp32,zero1,mb1", 1536, 10.3},
        {"nemotron-4-340b", "dgx-h100:768", "tp8,pp12,vpp8,dp64,zero1,mb1", 2304, 8.0}};
    check_steps("megatron", 4096, steps, G_N_ELEMENTS(steps), 0.05);
}

/* Runs of GPTs on a pipeline alone, and the GB that were printed of them. */
static const struct {
    int32_t layers, hidden, heads, stages, microbatch;
    double one_gb, h1_gb, h2_gb; /* with 1F1B, ZB-H1 and ZB-H2; 0: not printed */
} PIPELINES[] = {{30, 4096, 32, 8, 3, 39, 42, 70},
                 {46, 5120, 40, 16, 1, 32, 33, 51},
                 {62, 6144, 48, 32, 1, 43, 0, 74}};

/* Predicted GB of a row; the first and the last stage have a layer less than the others. */
static double pipeline_gb(size_t row, const char *schedule)
{
    int32_t p = PIPELINES[row].stages;
    g_autofree char *platform = g_strdup_printf("dgx-a100:%d", p / 8);
    g_auto(TrainKit) k =
        train_kit("gpt-7.5b", platform, "megatron-2021", 4 * PIPELINES[row].microbatch * p, 1024);
    g_autoptr(RhModel) m = rh_model_gpt("gpt", PIPELINES[row].layers, PIPELINES[row].hidden,
                                        PIPELINES[row].heads, 0, 51200, 1024);
    k.c.model = m;
    train_kit_runs_all(&k);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "tp1,pp%d,mb%d,zero0,schedule=%s,stages=", p, PIPELINES[row].microbatch,
                    schedule);
    int32_t most = (PIPELINES[row].layers + 2) / p;
    for (int32_t i = 0; i < p; i++)
        g_string_append_printf(text, "%s%d", i > 0 ? "-" : "", most - (i == 0 || i == p - 1));
    RhLayout l = train_layout(&k, text->str);
    return rh_train_memory(&k.c, &l).peak_bytes / 1e9;
}

/* The peak of each schedule, with a reserve of the device's that the paper may not count.
 * Source: Qi et al. 2024 (arXiv 2401.10241), tables 3 and 4. */
static void pipelines_take_the_memory_of_their_paper(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(PIPELINES); i++) {
        RH_CHECK_CLOSE(pipeline_gb(i, "1f1b"), PIPELINES[i].one_gb, 0.15);
        RH_CHECK_CLOSE(pipeline_gb(i, "zb-h2"), PIPELINES[i].h2_gb, 0.15);
        if (PIPELINES[i].h1_gb > 0)
            RH_CHECK_CLOSE(pipeline_gb(i, "zb-h1"), PIPELINES[i].h1_gb, 0.15);
    }
}

/* ZB-H2 keeps nearly twice the micro-batches of 1F1B: so many GB more, of which each was rounded to one.
 * Source: Qi et al. 2024 (arXiv 2401.10241), tables 3 and 4. */
static void zero_bubbles_cost_the_memory_of_their_paper(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(PIPELINES); i++)
        CU_ASSERT_DOUBLE_EQUAL(pipeline_gb(i, "zb-h2") - pipeline_gb(i, "1f1b"),
                               PIPELINES[i].h2_gb - PIPELINES[i].one_gb, 1.5);
}

int main(void)
{
    static const RhTest tests[] = {
        {"sequence_parallel_steps_take_the_seconds_of_their_paper",
         sequence_parallel_steps_take_the_seconds_of_their_paper},
        {"recomputed_steps_take_the_seconds_of_their_paper",
         recomputed_steps_take_the_seconds_of_their_paper},
        {"nemotron_steps_take_the_seconds_of_their_report",
         nemotron_steps_take_the_seconds_of_their_report},
        {"pipelines_take_the_memory_of_their_paper", pipelines_take_the_memory_of_their_paper},
        {"zero_bubbles_cost_the_memory_of_their_paper",
         zero_bubbles_cost_the_memory_of_their_paper},
        {0},
    };
    return rh_test_main("published_steps", tests);
}

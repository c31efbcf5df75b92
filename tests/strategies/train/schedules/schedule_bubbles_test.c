/* Bubbles of the schedules, as published: pipelines of timed waits. */
#include <string.h>

#include "sim/engine/workers/isolated_run.h"
#include "strategies/train/pipeline_schedule_properties.h"
#include "strategies/train/program/program_build.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

/* A stage's passes take so long a micro-batch, spread over v chunks, and a pair of two chunks. */
typedef struct {
    RhPipelineKind kind;
    int32_t p, v, m;
    const double *pass_s;
    double pair_s;
} Waits;

static const double plain_s[RH_SLOT_PASSES] = {1, 2, 1, 1};

typedef struct {
    const Waits *of;
    const RhPipelineSchedule *schedule;
    RhProgram *program;
    int32_t stage, label;
    int32_t bundles[RH_SLOT_PASSES], pair;
    int32_t *send[2], *recv[2]; /* [backward][model chunk * m + micro-batch]; -1: on one stage */
} Pipeline;

static int32_t chunk_of(const Pipeline *l, const RhSlot *slot)
{
    return rh_pipeline_model_chunk(l->schedule, l->of->p, l->stage, slot->chunk);
}

/* The message of a slot, in or out; -1 where there is none. */
static int32_t add_message(Pipeline *l, const RhSlot *slot, bool in, int32_t after)
{
    bool back = rh_slot_goes_back(slot->pass);
    int32_t g = chunk_of(l, slot), other = back == in ? g + 1 : g - 1;
    if (slot->pass == RH_SLOT_BACKWARD_WEIGHT || other < 0 || other >= l->of->p * l->of->v)
        return -1;
    int32_t stage = rh_pipeline_stage(l->schedule, l->of->p, other);
    if (stage == l->stage)
        return -1;
    RhLane lane = (in ? rh_train_receive_lane : rh_train_send_lane)(l->schedule, slot);
    RhTask t = {.kind = in ? RH_TASK_RECV : RH_TASK_SEND,
                .lane = (uint8_t)lane,
                .label = l->label,
                .layer = -1,
                .group = -1,
                .peer_task = -1,
                .bundle = -1,
                .peer_delta = stage - l->stage,
                .bytes = 8};
    int32_t task = rh_program_add_task(l->program, t, &after, in ? 0 : 1);
    return (in ? l->recv : l->send)[back][g * l->of->m + slot->microbatch] = task;
}

static int32_t add_wait(Pipeline *l, int32_t bundle, const int32_t *preds, int32_t count)
{
    RhTask t = {.kind = RH_TASK_KERNEL,
                .lane = RH_LANE_COMPUTE,
                .label = l->label,
                .layer = -1,
                .group = -1,
                .peer_task = -1,
                .bundle = bundle};
    return rh_program_add_task(l->program, t, preds, count);
}

/* A slot, or a pair, whose outputs leave together. */
static void add_slots(Pipeline *l, const RhSlot *slots)
{
    int32_t ins[2], count = 0, pair = slots->beside > 0;
    for (int32_t i = 0; i <= pair; i++) {
        int32_t in = add_message(l, &slots[i], true, -1);
        if (in >= 0)
            ins[count++] = in;
    }
    int32_t work = add_wait(l, pair ? l->pair : l->bundles[slots->pass], ins, count);
    for (int32_t i = 0; i <= pair; i++)
        add_message(l, &slots[i], false, work);
}

static void add_stage(Pipeline *l)
{
    const Waits *w = l->of;
    int64_t total = rh_pipeline_slots_count(l->schedule, w->v, w->m);
    g_autofree RhSlot *slots = g_new(RhSlot, total);
    RhStride one = {1, 1};
    l->schedule->order(w->p, w->v, w->m, l->stage, slots);
    rh_program_begin_role(l->program, "stage", l->stage, &one, 1);
    for (int64_t i = 0; i < total; i += 1 + slots[i].beside)
        add_slots(l, &slots[i]);
    rh_program_end_role(l->program);
}

static RhProgram *waits_only(const Waits *w)
{
    int32_t cells = w->p * w->v * w->m;
    g_autofree int32_t *ends = g_new(int32_t, 4 * cells);
    Pipeline l = {.of = w,
                  .schedule = rh_pipeline_schedule(w->kind),
                  .program = rh_program_new(w->p),
                  .send = {ends, ends + cells},
                  .recv = {ends + 2 * cells, ends + 3 * cells}};
    l.label = rh_program_label(l.program, "wait");
    memset(ends, -1, sizeof *ends * 4 * (size_t)cells);
    for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
        l.bundles[pass] = rh_program_add_wait(l.program, w->pass_s[pass] / w->v);
    l.pair = rh_program_add_wait(l.program, w->pair_s);
    for (; l.stage < w->p; l.stage++)
        add_stage(&l);
    for (int32_t cell = 0; cell + w->m < cells; cell++)
        if (l.send[0][cell] >= 0) {
            rh_program_match(l.program, l.send[0][cell], l.recv[0][cell + w->m]);
            rh_program_match(l.program, l.send[1][cell + w->m], l.recv[1][cell]);
        }
    return l.program;
}

/* Returns the bubble that a schedule's row states at these costs. */
static double bubble_frac(RhPipelineKind kind, int32_t p, int32_t v, int32_t m)
{
    return rh_pipeline_schedule(kind)->bubble_frac(p, v, m, plain_s);
}

/* Narayanan et al. 2021, section 2.2: the bubble is (p-1)/m of the work, (p-1)/(vm) interleaved.
 * Source: Narayanan et al. 2021 (arXiv 2104.04473), section 2.2. */
static void the_bubble_is_as_published(void)
{
    for (int kind = RH_PIPELINE_NONE + 1; kind < RH_PIPELINE_LAST; kind++) {
        const RhPipelineSchedule *schedule = rh_pipeline_schedule((RhPipelineKind)kind);
        CU_ASSERT_TRUE(schedule->bubble && schedule->bubble_frac);
    }
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    static const int32_t cases[][3] = {{4, 1, 8}, {8, 1, 8}, {4, 2, 8}, {4, 4, 16}, {8, 2, 16}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int32_t p = cases[i][0], v = cases[i][1], m = cases[i][2];
        RhPipelineKind kind = v > 1 ? RH_PIPELINE_INTERLEAVED : RH_PIPELINE_1F1B;
        g_autoptr(RhProgram) program = waits_only(&(Waits){kind, p, v, m, plain_s, 0});
        RhEngineOptions options = {0};
        g_autoptr(RhRun) run = rh_rehearse_isolated(program, k.platform, &options, NULL);
        double work = m * 3.0;
        RH_CHECK_CLOSE(run->step_time_s, work * (1 + (p - 1.0) / (v * m)), 1e-3);
        RH_CHECK_CLOSE(bubble_frac(kind, p, v, m), (p - 1.0) / (v * m), 1e-12);
        if (v == 1) {
            g_autoptr(RhProgram) gpipe =
                waits_only(&(Waits){RH_PIPELINE_GPIPE, p, 1, m, plain_s, 0});
            g_autoptr(RhRun) same = rh_rehearse_isolated(gpipe, k.platform, &options, NULL);
            RH_CHECK_CLOSE(same->step_time_s, run->step_time_s, 1e-3);
            RH_CHECK_CLOSE(bubble_frac(RH_PIPELINE_GPIPE, p, 1, m), (p - 1.0) / m, 1e-12);
        }
    }
}

/* Qi et al. 2024, table 2: with passes of one second the bubble of ZB-H1 is p - 1 seconds, a third
 * of 1F1B's; and it keeps no more than 1F1B's first stage does.
 * Source: Qi et al. 2024 (arXiv 2401.10241), table 2. */
static void zero_bubble_leaves_a_third_of_the_bubble(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    static const int32_t cases[][2] = {{2, 2}, {4, 4}, {4, 13}, {8, 8}, {8, 20}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int32_t p = cases[i][0], m = cases[i][1];
        g_autoptr(RhProgram) program = waits_only(&(Waits){RH_PIPELINE_ZB_H1, p, 1, m, plain_s, 0});
        RhEngineOptions options = {0};
        g_autoptr(RhRun) run = rh_rehearse_isolated(program, k.platform, &options, NULL);
        RH_CHECK_CLOSE(run->step_time_s, 3.0 * m + p - 1, 1e-3);
        RH_CHECK_CLOSE(bubble_frac(RH_PIPELINE_ZB_H1, p, 1, m), (p - 1) / (3.0 * m), 1e-12);
        g_autoptr(RhPipelineProfile) shape =
            rh_pipeline_profile_new(rh_pipeline_schedule(RH_PIPELINE_ZB_H1), p, 1, m, false);
        for (guint f = 0; f < shape->runs->len; f++)
            CU_ASSERT_TRUE(g_array_index(shape->runs, RhInFlightRun, f).kept <= p);
    }
}

/* Most micro-batches of chunks that a stage keeps. */
static int32_t kept_most(RhPipelineKind kind, int32_t p, int32_t v, int32_t m)
{
    g_autoptr(RhPipelineProfile) shape =
        rh_pipeline_profile_new(rh_pipeline_schedule(kind), p, v, m, false);
    int32_t most = 0;
    for (guint f = 0, begin = 0, sum = 0; f < shape->runs->len; f++) {
        RhInFlightRun run = g_array_index(shape->runs, RhInFlightRun, f);
        sum += ((guint)run.end - begin) * (guint)run.kept;
        most = MAX(most, (int32_t)sum);
        begin = run.end == v ? 0 : (guint)run.end;
        sum = run.end == v ? 0 : sum;
    }
    return most;
}

/* Qi et al. 2024, table 2 and section 6: where passes are equal, stages of ZB-H2 and ZB-V start a
 * forward (of a chunk) apart and then never wait; H2 keeps 2 p - 1 micro-batches, V p of them, in halves.
 * Source: Qi et al. 2024 (arXiv 2401.10241), table 2 and section 6. */
static void zero_bubble_stages_never_wait_once_they_began(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    static const struct {
        RhPipelineKind kind;
        int32_t v, p, m, kept;
    } rows[] = {{RH_PIPELINE_ZB_H2, 1, 2, 3, 3},  {RH_PIPELINE_ZB_H2, 1, 4, 7, 7},
                {RH_PIPELINE_ZB_H2, 1, 4, 16, 7}, {RH_PIPELINE_ZB_H2, 1, 8, 24, 15},
                {RH_PIPELINE_ZB_V, 2, 2, 4, 4},   {RH_PIPELINE_ZB_V, 2, 3, 7, 6},
                {RH_PIPELINE_ZB_V, 2, 4, 8, 8},   {RH_PIPELINE_ZB_V, 2, 8, 24, 16}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        int32_t p = rows[i].p, m = rows[i].m, v = rows[i].v;
        double apart_s = 1.0 / v;
        g_autoptr(RhProgram) program = waits_only(&(Waits){rows[i].kind, p, v, m, plain_s, 0});
        CU_ASSERT_TRUE(rh_program_check(program, NULL));
        RhEngineOptions options = {0};
        g_autoptr(RhRun) run = rh_rehearse_isolated(program, k.platform, &options, NULL);
        RH_CHECK_CLOSE(run->step_time_s, 3.0 * m + (p - 1) * apart_s, 1e-4);
        CU_ASSERT_EQUAL(run->performers->len, (guint)p);
        for (guint s = 0; s < run->performers->len; s++) {
            const RhPerformer *stage = &g_array_index(run->performers, RhPerformer, s);
            double idle_s =
                stage->wait_s[RH_WAIT_BUBBLE] + stage->wait_s[RH_WAIT_PIPELINE_TRANSFER];
            CU_ASSERT_DOUBLE_EQUAL(idle_s, stage->role * apart_s, 1e-3);
            CU_ASSERT_DOUBLE_EQUAL(stage->wait_s[RH_WAIT_END], (p - 1 - stage->role) * apart_s,
                                   1e-3);
        }
        RH_CHECK_CLOSE(bubble_frac(rows[i].kind, p, v, m), (p - 1) / (3.0 * v * m), 1e-12);
        CU_ASSERT_EQUAL(kept_most(rows[i].kind, p, v, m), rows[i].kept);
    }
}

/* Bubbles of unequal passes are those that the rows state. */
static void unequal_halves_of_backward_leave_what_is_said(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    static const double costs_s[][RH_SLOT_PASSES] = {
        {1, 2, 1.2, 0.8}, {1, 2, 1.5, 0.5}, {1, 2.4, 1.6, 0.8}, {2, 3.6, 2, 1.6}};
    static const RhPipelineKind kinds[] = {RH_PIPELINE_ZB_H1, RH_PIPELINE_ZB_H2, RH_PIPELINE_ZB_V};
    for (size_t i = 0; i < G_N_ELEMENTS(costs_s); i++)
        for (size_t n = 0; n < G_N_ELEMENTS(kinds); n++) {
            int32_t p = 4, m = 12, v = rh_pipeline_kind_chunks(kinds[n]);
            g_autoptr(RhProgram) program = waits_only(&(Waits){kinds[n], p, v, m, costs_s[i], 0});
            RhEngineOptions options = {0};
            g_autoptr(RhRun) run = rh_rehearse_isolated(program, k.platform, &options, NULL);
            double work = m * (costs_s[i][RH_SLOT_FORWARD] + costs_s[i][RH_SLOT_BACKWARD_DATA] +
                               costs_s[i][RH_SLOT_BACKWARD_WEIGHT]);
            double said = rh_pipeline_schedule(kinds[n])->bubble_frac(p, v, m, costs_s[i]);
            RH_CHECK_CLOSE(run->step_time_s, work * (1 + said), 1e-4);
        }
}

/* The report's table (arXiv 2412.19437, section 3.2.1; for DualPipeV the repository's): with F&B a pair, B
 * a whole backward and W its half for the weights, stages idle (PP/2 - 1) (F&B + B - 3 W); PP chunks a
 * direction, 2 p here. They keep PP + 1 micro-batches. The last stage has the most pairs, and its step is
 * the longest.
 * Source: DeepSeek-V3 report (arXiv 2412.19437), section 3.2.1; deepseek-ai/DualPipe, README. */
static void dualpipe_idles_as_published(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:1", "bare", 32, 2048);
    static const double chunk_s[RH_SLOT_PASSES] = {2, 4, 2, 2}, pairs_s[] = {2, 2.5, 3};
    static const int32_t cases[][2] = {{2, 4}, {2, 7}, {4, 12}, {8, 20}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        for (size_t n = 0; n < G_N_ELEMENTS(pairs_s); n++) {
            int32_t p = cases[i][0], m = cases[i][1], pairs = 2 * (m - p) - 1;
            g_autoptr(RhProgram) program =
                waits_only(&(Waits){RH_PIPELINE_DUALPIPE_V, p, 2, m, chunk_s, pairs_s[n]});
            CU_ASSERT_TRUE(rh_program_check(program, NULL));
            RhEngineOptions options = {0};
            g_autoptr(RhRun) run = rh_rehearse_isolated(program, k.platform, &options, NULL);
            double work = pairs * pairs_s[n] + (2 * m - pairs) * 3.0;
            double idle = (p - 1) * (pairs_s[n] + 2 - 3);
            RH_CHECK_CLOSE(run->step_time_s, work + idle, 1e-4);
            CU_ASSERT_EQUAL(kept_most(RH_PIPELINE_DUALPIPE_V, p, 2, m), 2 * p + 1);
        }
    /* pairs that hide nothing */
    RH_CHECK_CLOSE(bubble_frac(RH_PIPELINE_DUALPIPE_V, 4, 2, 12), 3 * (3.0 + 2 - 3) / (2 * 12 * 3),
                   1e-12);
}

/* Nine gains of GEMS over layers run one after another (2 m p (F + B)), of equal stages, with a backward
 * of two forwards and free messages: the order of MPI4DL's own code, replayed. With m they near
 * 3 p / (2 p + 1).
 * Source: github.com/OSU-Nowlab/MPI4DL 998d9ad, src/torchgems/gems_master.py. */
static void gems_gains_what_its_order_does(void)
{
    static const struct {
        int32_t p, m;
        double gain;
    } rows[] = {{4, 1, 24.0 / 21},      {4, 2, 48.0 / 39},  {4, 64, 1536.0 / 1155},
                {5, 1, 30.0 / 26},      {5, 2, 60.0 / 48},  {8, 1, 48.0 / 41},
                {8, 64, 3072.0 / 2183}, {16, 1, 96.0 / 81}, {16, 64, 6144.0 / 4239}};
    static const double said[] = {1.143, 1.231, 1.330, 1.154, 1.250, 1.171, 1.407, 1.185, 1.449};
    static const double pass_s[RH_SLOT_PASSES] = {2, 4, 2, 2}; /* two chunks a stage */
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "bare", 32, 2048);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        int32_t p = rows[i].p, m = rows[i].m;
        g_autoptr(RhProgram) program = waits_only(&(Waits){RH_PIPELINE_GEMS, p, 2, m, pass_s, 0});
        CU_ASSERT_TRUE(rh_program_check(program, NULL));
        RhEngineOptions options = {0};
        g_autoptr(RhRun) run = rh_rehearse_isolated(program, k.platform, &options, NULL);
        double one_by_one = 2.0 * m * p * 3;
        RH_CHECK_CLOSE(one_by_one / run->step_time_s, rows[i].gain, 1e-4);
        RH_CHECK_CLOSE(one_by_one / run->step_time_s, said[i], 5e-4);
        RH_CHECK_CLOSE(run->step_time_s, 6 * m * (1 + bubble_frac(RH_PIPELINE_GEMS, p, 2, m)),
                       1e-4);
        CU_ASSERT_EQUAL(kept_most(RH_PIPELINE_GEMS, p, 2, m), 1);
    }
    double long_run = 3 / (1 + bubble_frac(RH_PIPELINE_GEMS, 4, 2, 1 << 20)) / 3 * 4;
    RH_CHECK_CLOSE(long_run, 12.0 / 9, 1e-5);
}

/* The second copy is the first in opposite order, and its row says so to whom asks for layers. */
static void copies_are_said_alike(void)
{
    for (int kind = RH_PIPELINE_NONE + 1; kind < RH_PIPELINE_LAST; kind++) {
        const RhPipelineSchedule *s = rh_pipeline_schedule((RhPipelineKind)kind);
        CU_ASSERT_EQUAL(rh_pipeline_kind_copies((RhPipelineKind)kind), s->mirrors ? 2 : 1);
        CU_ASSERT_TRUE(!s->mirrors || s->turns);
    }
    const RhPipelineSchedule *gems = rh_pipeline_schedule(RH_PIPELINE_GEMS);
    for (int32_t p = 2; p < 7; p++)
        for (int32_t part = 0; part < p; part++) {
            CU_ASSERT_EQUAL(rh_pipeline_stage(gems, p, part), part);
            CU_ASSERT_EQUAL(rh_pipeline_stage(gems, p, p + part), p - 1 - part);
        }
    CU_ASSERT_EQUAL(rh_pipeline_receiver(gems, 4, 2, RH_SLOT_FORWARD, 3), -1);
    CU_ASSERT_EQUAL(rh_pipeline_receiver(gems, 4, 2, RH_SLOT_BACKWARD, 4), -1);
    CU_ASSERT_EQUAL(rh_pipeline_receiver(gems, 4, 2, RH_SLOT_FORWARD, 4), 5);
}

int main(void)
{
    return rh_test_main(
        "schedule_bubbles",
        (RhTest[]){
            {"the_bubble_is_as_published", the_bubble_is_as_published},
            {"zero_bubble_leaves_a_third_of_the_bubble", zero_bubble_leaves_a_third_of_the_bubble},
            {"zero_bubble_stages_never_wait_once_they_began",
             zero_bubble_stages_never_wait_once_they_began},
            {"unequal_halves_of_backward_leave_what_is_said",
             unequal_halves_of_backward_leave_what_is_said},
            {"dualpipe_idles_as_published", dualpipe_idles_as_published},
            {"gems_gains_what_its_order_does", gems_gains_what_its_order_does},
            {"copies_are_said_alike", copies_are_said_alike},
            {0}});
}

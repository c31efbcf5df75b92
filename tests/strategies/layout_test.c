#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "strategies/knobs.h"
#include "strategies/layer_partition.h"
#include "strategies/train/pipeline_schedule_properties.h"
#include "tests/kit/testkit.h"
#include "tests/kit/train_kit.h"

static void the_text_form_round_trips(void)
{
    RhLayout a = rh_layout_default(), b = rh_layout_default();
    CU_ASSERT_TRUE(rh_layout_parse(
        "tp8, pp=16,dp64,vpp2,mb4,zero3,recompute=full,sp=off,order=tp-pp-dp", &a, NULL));
    g_autofree char *text = rh_layout_format(&a);
    CU_ASSERT_TRUE(rh_layout_parse(text, &b, NULL));
    CU_ASSERT_TRUE(rh_layout_equal(&a, &b));
    CU_ASSERT_EQUAL(a.schedule, RH_PIPELINE_INTERLEAVED); /* vpp says so */
    CU_ASSERT_EQUAL(a.pp, 16);
}

static void uneven_stages_have_a_text(void)
{
    static const char *const texts[][2] = {{"stages=14-15-16-15", "stages=14-15-16-15"},
                                           {"stages=15-16-16-15", "stages=15-16-16-15"},
                                           {"stages=15-16-16-16-15", "stages=15-16x3-15"},
                                           {"stages=0-1x126-0", "stages=0-1x126-0"},
                                           {"stages=2x2-2x1", "stages=2x3"},
                                           {"stages=1-2,sp=on", "stages=1-2"}};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        RhLayout a = rh_layout_default(), b = rh_layout_default();
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(texts[i][0], &a, NULL));
        g_autofree char *text = rh_layout_format(&a);
        CU_ASSERT_TRUE(g_str_has_suffix(text, texts[i][1]));
        CU_ASSERT_TRUE(rh_layout_parse(text, &b, NULL));
        CU_ASSERT_TRUE(rh_layout_equal(&a, &b));
    }
    RhLayout l = rh_layout_default();
    CU_ASSERT_TRUE(rh_layout_parse("stages=0-1x126-0", &l, NULL));
    CU_ASSERT_EQUAL(l.stage_layers_count, 128);
    CU_ASSERT_EQUAL(l.stage_layers[1] + l.stage_layers[126] + l.stage_layers[127], 2);
    CU_ASSERT_TRUE(rh_layout_parse("stages=even", &l, NULL));
    CU_ASSERT_EQUAL(l.stage_layers_count, 0);
}

static void wrong_stages_are_refused_with_their_place(void)
{
    static const struct {
        const char *text, *place;
    } wrong[] = {{"tp2,stages=", "character 12 "},
                 {"tp2,stages=1--2", "character 14 "},
                 {"tp2,stages=1-2-", "character 16 "},
                 {"tp2,stages=1-x2", "character 14 "},
                 {"tp2,stages=3-2x0", "character 14 "},
                 {"tp2,stages=3-2x", "character 14 "},
                 {"tp2,stages=3-40000", "character 14 "},
                 {"tp2,stages=3-1x256", "character 14 "},
                 {"tp2,stages=-1", "character 12 "},
                 {"tp2,stages=1 - 2", "character 12 "},
                 {"tp2,stages=1-odd", "character 14 "},
                 {"tp2,stages=1-2x3x4", "character 14 "},
                 {"tp2,stages=1-99999999999999999999999", "character 14 "}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        RhLayout l = rh_layout_default(), before = l;
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_layout_parse(wrong[i].text, &l, &error));
        CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, wrong[i].place));
        CU_ASSERT_TRUE(rh_layout_equal(&l, &before));
    }
}

static void a_dp_still_to_be_derived_is_left_out(void)
{
    RhLayout a = rh_layout_default(), b = rh_layout_default();
    CU_ASSERT_TRUE(rh_layout_parse("tp2,pp4", &a, NULL));
    g_autofree char *text = rh_layout_format(&a), *title = rh_layout_title(&a);
    CU_ASSERT_TRUE(rh_layout_parse(text, &b, NULL));
    CU_ASSERT_TRUE(rh_layout_equal(&a, &b));
    CU_ASSERT_TRUE(g_str_has_prefix(text, "tp2,pp4,cp1,"));
    CU_ASSERT_TRUE(g_str_has_prefix(title, "tp2 pp4, "));
}

static void wrong_keys_and_values_are_refused(void)
{
    static const char *const wrong[] = {
        "tq8",           "tp",       "tp0",      "tp-1",          "tp8x", "zero4", "recompute=some",
        "schedule=none", "sp=maybe", "order=pp", "tp99999999999", "=",    "8",     "tp8;pp2"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        RhLayout l = rh_layout_default(), before = l;
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_layout_parse(wrong[i], &l, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        CU_ASSERT_TRUE(rh_layout_equal(&l, &before));
    }
}

static void empty_and_repeated_keys_are_refused_with_their_place(void)
{
    static const struct {
        const char *text, *place;
    } wrong[] = {{"", "empty"},
                 {" ", "empty"},
                 {"tp2,", "character 5 "},
                 {",tp2", "character 1 "},
                 {"tp2,,pp2", "character 5 "},
                 {",", "character 1 "},
                 {"tp2, tp4", "character 6 "},
                 {"sp=on,mb2,sp=on", "character 11 "}};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        RhLayout l = rh_layout_default();
        g_autoptr(GError) error = NULL;
        CU_ASSERT_FALSE(rh_layout_parse(wrong[i].text, &l, &error));
        CU_ASSERT_TRUE_FATAL(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, wrong[i].place));
    }
}

static void a_layout_is_read_from_a_file(void)
{
    static const struct {
        const char *text, *place; /* NULL: it is right */
    } files[] = {{"# best so far\ntp2, # two\npp4,mb2,\n\nrecompute=full\n", NULL},
                 {"tp2\npp4, tp4\n", ":2:6: "},
                 {"tp2\n ,pp4\n", ":2:2: "},
                 {"# nothing\n\n", "no layout"}};
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "layout_test.XXXXXX", NULL);
    int fd = g_mkstemp(path);
    g_close(fd, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        RhLayout l = rh_layout_default();
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE(g_file_set_contents(path, files[i].text, -1, NULL));
        CU_ASSERT_EQUAL(rh_layout_load(path, &l, &error), !files[i].place);
        bool as_written = l.tp == 2 && l.pp == 4 && l.microbatch == 2;
        CU_ASSERT_TRUE(files[i].place ? g_error_matches(error, RH_ERROR, RH_ERROR_INPUT) &&
                                            strstr(error->message, files[i].place) != NULL
                                      : as_written);
    }
    g_remove(path);
}

/* Returns a stage's number of chunks: that of the schedule, or the given one. */
static int32_t chunks_of(RhPipelineKind kind, int32_t given)
{
    int32_t only = rh_pipeline_kind_chunks(kind);
    return only == RH_CHUNKS_ANY ? given : only;
}

static void every_slot_runs_once_and_forward_comes_first(void)
{
    static const int32_t cases[][3] = {{1, 1, 4},  {4, 1, 8}, {4, 1, 2}, {4, 2, 8},
                                       {8, 3, 16}, {2, 5, 4}, {4, 2, 4}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        for (int kind = RH_PIPELINE_GPIPE; kind < RH_PIPELINE_LAST; kind++) {
            int32_t p = cases[i][0], v = chunks_of((RhPipelineKind)kind, cases[i][1]),
                    m = cases[i][2];
            const RhPipelineSchedule *schedule = rh_pipeline_schedule((RhPipelineKind)kind);
            int64_t total = rh_pipeline_slots_count(schedule, v, m);
            g_autofree RhSlot *slots = g_new(RhSlot, total);
            if (m < schedule->rounds_least * p)
                continue;
            for (int32_t stage = 0; stage < p; stage++) {
                g_autofree int *seen = g_new0(int, m *v);
                int32_t inflight = 0, most = 0;
                schedule->order(p, v, m, stage, slots);
                for (int64_t s = 0; s < total; s++) {
                    int *cell = &seen[slots[s].chunk * m + slots[s].microbatch];
                    CU_ASSERT_EQUAL(*cell, slots[s].pass == RH_SLOT_FORWARD           ? 0
                                           : slots[s].pass == RH_SLOT_BACKWARD_WEIGHT ? 2
                                                                                      : 1);
                    (*cell)++;
                    inflight +=
                        (slots[s].pass == RH_SLOT_FORWARD) - (int)rh_slot_ends(slots[s].pass);
                    most = MAX(most, inflight);
                }
                CU_ASSERT_EQUAL(inflight, 0);
                if (kind == RH_PIPELINE_1F1B)
                    CU_ASSERT_EQUAL(most, MIN(m, p - stage));
                if (kind == RH_PIPELINE_ZB_H2)
                    CU_ASSERT_TRUE(most <= MIN(m, 2 * p - 1));
                if (kind == RH_PIPELINE_ZB_V)
                    CU_ASSERT_TRUE(most <= MIN(2 * m, 2 * p));
                if (kind == RH_PIPELINE_DUALPIPE_V ||
                    kind == RH_PIPELINE_DUALPIPE) /* PP + 1 of the report, PP of its stages */
                    CU_ASSERT_EQUAL(most, 2 * p + 1);
                if (kind == RH_PIPELINE_GPIPE)
                    CU_ASSERT_EQUAL(most, m);
                if (kind == RH_PIPELINE_INTERLEAVED)
                    CU_ASSERT_EQUAL(most, MIN(m * v, (p - stage - 1) * 2 + (v - 1) * p + 1));
            }
        }
}

static void chunks_hold_every_layer_once(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-405b", "dgx-h100:128", "megatron", 1024, 8192);
    static const char *const texts[] = {"tp8,pp16,vpp8", "tp8,pp16",      "tp8,pp4,vpp32",
                                        "tp8,pp32,vpp3", "tp8,pp2,vpp63", "tp8,pp1"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        RhLayout l = train_layout(&k, texts[i]);
        int32_t layers[256], sum = 0, least = 1000, most = 0;
        rh_partition_layers(&k.c, &l, layers);
        for (int32_t g = 0; g < l.pp * l.vpp; g++) {
            sum += layers[g];
            least = MIN(least, layers[g]);
            most = MAX(most, layers[g]);
        }
        CU_ASSERT_EQUAL(sum, 126);
        CU_ASSERT_TRUE(most - least <= 1);
    }
}

/* The heaviest chunk of any split of the layers, by trying them all: L layers of weight 1, the first
 * chunk with `first` besides and the last with `last`. */
static double lightest_of_all(int32_t layers, int32_t chunks, double first, double last)
{
    double best = 1e300;
    if (chunks == 1)
        return layers + first + last;
    for (int32_t k = 1; k <= layers - (chunks - 1); k++) {
        double others = lightest_of_all(layers - k, chunks - 1, 0, last);
        best = fmin(best, fmax(k + first, others));
    }
    return best;
}

/* Returns the weight of a model's embedding or head relative to one of its layers. */
static double beside_a_layer(const TrainKit *k, RhPartition by, RhBlock block)
{
    RhShard whole = {.tp = 1,
                     .microbatch = 1,
                     .sequence = k->c.job.sequence,
                     .flash = true,
                     .dtype = RH_DTYPE_BF16};
    const RhModel *m = k->c.model;
    double of[3];
    RhBlock blocks[] = {block, RH_BLOCK_MIXER, RH_BLOCK_FFN};
    for (int i = 0; i < 3; i++) {
        const RhLayerKind *kind = i > 0 ? &m->kinds[0] : NULL;
        RhParams p = rh_block_params(m, kind, blocks[i], &whole);
        RhFlops f = rh_block_flops(m, kind, blocks[i], &whole);
        of[i] = by == RH_PARTITION_WORK ? f.weights + f.pairs : p.sharded + p.replicated;
    }
    return of[0] / (of[1] + of[2]);
}

/* The heaviest chunk is as light as the best of all splits, and every layer is held once. */
static void partitions_keep_the_heaviest_chunk_light(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.2-1b", "dgx-h100:2", "megatron", 64, 2048);
    static const char *const texts[] = {"pp2", "pp3", "pp4", "pp5", "pp4,vpp2", "pp16", "pp1"};
    for (RhPartition by = RH_PARTITION_PARAMETERS; by <= RH_PARTITION_WORK; by++) {
        double first = beside_a_layer(&k, by, RH_BLOCK_EMBEDDING),
               last = beside_a_layer(&k, by, RH_BLOCK_HEAD);
        CU_ASSERT_TRUE(last > 1); /* else the test says little */
        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
            RhLayout l = rh_layout_default();
            CU_ASSERT_TRUE(rh_layout_parse(texts[i], &l, NULL));
            l.partition = by;
            int32_t layers[32], chunks = l.pp * l.vpp, sum = 0;
            double most = 0;
            rh_partition_layers(&k.c, &l, layers);
            for (int32_t g = 0; g < chunks; g++) {
                CU_ASSERT_TRUE(layers[g] > 0);
                sum += layers[g];
                most = MAX(most, layers[g] + (g ? 0 : first) + (g == chunks - 1 ? last : 0));
            }
            CU_ASSERT_EQUAL(sum, k.c.model->layers_count);
            double best = lightest_of_all(k.c.model->layers_count, chunks, first, last);
            RH_CHECK_CLOSE(most, best, 1e-9);
        }
    }
}

static void illegal_layouts_say_why(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-70b", "dgx-h100:8", "megatron", 512, 8192);
    static const char *const wrong[] = {
        "tp6,pp1,dp1",       "tp16,pp4,dp1",      "tp8,pp8,dp2",
        "tp8,pp4,dp2,mb7",   "tp1,pp64,dp1,vpp2", "tp8,pp4,dp2,vpp2,schedule=1f1b",
        "tp1,pp1,dp64,vpp2", "tp4,pp2,dp8,cp2",   "tp8,pp8,dp1,vpp2,mb128",
        "tp8,pp2,dp4,zero2"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        RhLayout l = rh_layout_default();
        g_autoptr(GError) error = NULL;
        CU_ASSERT_TRUE(rh_layout_parse(wrong[i], &l, NULL));
        CU_ASSERT_FALSE(rh_train_legal(&k.c, &l, &error));
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_USAGE));
    }
}

static void knobs_without_effect_are_canonical(void)
{
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 8, 2048);
    train_kit_runs_all(&k);
    RhLayout l = train_layout(&k, "tp1,pp8,dp1,zero3,sp=on,order=tp-pp-dp,schedule=gpipe");
    CU_ASSERT_FALSE(l.sequence_parallel);
    CU_ASSERT_EQUAL(l.zero, 0);
    CU_ASSERT_EQUAL(l.order, RH_ORDER_TP_DP_PP);
    CU_ASSERT_EQUAL(l.schedule, RH_PIPELINE_GPIPE);
    l = train_layout(&k, "tp8,pp1,schedule=gpipe");
    CU_ASSERT_EQUAL(l.schedule, RH_PIPELINE_1F1B);
}

/* Only the ends of long schedules are walked: the profile equals that of a whole walk. */
static void the_shape_of_a_long_schedule_is_whole(void)
{
    static const int32_t cases[][3] = {{8, 1, 30001}, {4, 3, 20000}, {16, 2, 8000}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        for (int kind = RH_PIPELINE_GPIPE; kind < RH_PIPELINE_LAST; kind++) {
            int32_t p = cases[i][0], v = chunks_of((RhPipelineKind)kind, cases[i][1]);
            int32_t m = cases[i][2] / p * p;
            const RhPipelineSchedule *schedule = rh_pipeline_schedule((RhPipelineKind)kind);
            int64_t total = rh_pipeline_slots_count(schedule, v, m), at = 0;
            g_autoptr(RhPipelineProfile) shape = rh_pipeline_profile_new(schedule, p, v, m, false);
            g_autofree RhSlot *slots = g_new(RhSlot, total);
            g_autofree int32_t *done = g_new0(int32_t, (gsize)v * RH_SLOT_PASSES);
            int32_t inflight = 0, most = 0, claimed = 0, counted = 0;
            schedule->order(p, v, m, 1, slots);
            for (bool before = true; at < total; at++) {
                RhSlotKind slot = rh_slot_kind_next(&slots[at], m, done);
                before = before && !(slot.last && rh_slot_ends(slot.pass));
                counted += before;
                inflight += (slot.pass == RH_SLOT_FORWARD) - (int)rh_slot_ends(slot.pass);
                most = MAX(most, inflight);
            }
            for (int32_t k = 0; k < v * RH_SLOT_PASSES; k++)
                counted -= shape->before_last[v * RH_SLOT_PASSES + k];
            CU_ASSERT_EQUAL(counted, 0);
            for (int32_t k = shape->candidates_first[1]; k < shape->candidates_first[2]; k++) {
                RhPeakCandidate moment = g_array_index(shape->candidates, RhPeakCandidate, k);
                const RhInFlightRun *runs =
                    &g_array_index(shape->runs, RhInFlightRun, moment.runs_first);
                int32_t sum = 0;
                for (int32_t r = 0, begin = 0; r < moment.runs_count; begin = runs[r++].end)
                    sum += (runs[r].end - begin) * runs[r].kept;
                claimed = MAX(claimed, sum);
            }
            /* a slot that ends a micro-batch still has it while it runs */
            CU_ASSERT_TRUE(claimed >= most && claimed <= most + 1);
            CU_ASSERT_EQUAL(shape->m, m);
        }
}

/* Every value of every knob has a text that parses back to it. */
static void every_value_of_every_knob_round_trips(void)
{
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        int32_t last = MIN(knob->high, knob->low + 8);
        for (int32_t value = knob->low; value <= last && !knob->list; value++) {
            RhLayout a = rh_layout_default(), b = rh_layout_default();
            rh_knob_store(knob, &a, value);
            g_autofree char *text = rh_layout_format(&a), *title = rh_layout_title(&a);
            CU_ASSERT_TRUE_FATAL(rh_layout_parse(text, &b, NULL));
            CU_ASSERT_EQUAL(rh_knob_value(knob, &b), value);
            CU_ASSERT_TRUE(rh_layout_equal(&a, &b));
            CU_ASSERT_TRUE(*title != 0);
            rh_knob_store(knob, &b, value + 1);
            CU_ASSERT_EQUAL(rh_layout_equal(&a, &b), rh_knob_is_switch(knob) && value == 1);
        }
    }
}

static void every_knob_is_explained(void)
{
    RhLayout l = rh_layout_default();
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE_FATAL(rh_layout_parse("nothing=1", &l, &error));
    for (const RhKnob *knob = rh_knobs; knob->key; knob++) {
        g_autofree char *word = g_strdup_printf(" %s", knob->key);
        CU_ASSERT_PTR_NOT_NULL(strstr(error->message, word));
        CU_ASSERT_PTR_EQUAL(rh_knob_find(knob->key, strlen(knob->key)), knob);
        CU_ASSERT_FALSE(g_ascii_isdigit(knob->key[strlen(knob->key) - 1]));
        CU_ASSERT_PTR_NOT_NULL_FATAL(knob->about);
        CU_ASSERT_TRUE(rh_layout_parse(knob->example, &l, NULL));
        CU_ASSERT_TRUE(g_str_has_prefix(knob->example, knob->key));
    }
}

static void families_are_told_by_how_the_model_is_cut(void)
{
    static const char *const cases[][2] = {{"tp8,pp4,dp2,zero1", "tensor/pipeline"},
                                           {"pp4,dp4,zero1", "tensor/pipeline"},
                                           {"dp16,zero3", "fsdp"},
                                           {"tp8,dp2,zero3", "hybrid"},
                                           {"tp2,cp4,dp2,zero3", "context"},
                                           {"tp2,pp2,cp2,ep8,dp8", "expert"},
                                           {"dp16,zero1", "data"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        RhLayout l = rh_layout_default();
        CU_ASSERT_TRUE(rh_layout_parse(cases[i][0], &l, NULL));
        CU_ASSERT_STRING_EQUAL(rh_layout_family(&l), cases[i][1]);
    }
}

/* A partition has a title where there are stages to balance, and is not the even one. */
static void partitions_have_titles_where_they_matter(void)
{
    const RhKnob *knob = rh_knobs;
    while (!g_str_equal(knob->key, "partition"))
        knob++;
    for (int32_t pp = 1; pp <= 4; pp *= 2)
        for (int k = 0; k < 2; k++) {
            RhLayout l = {.pp = pp, .partition = k ? RH_PARTITION_WORK : RH_PARTITION_EVEN};
            g_autofree char *title = knob->title(knob, &l);
            CU_ASSERT_EQUAL(title != NULL, k == 1 && pp > 1);
        }
}

/* A change counts wherever it stands among the words. */
static void a_change_keeps_what_it_says(void)
{
    static const struct {
        const char *change;
        bool sequence_parallel;
    } cases[] = {{"tp2", true}, {"tp2,sp=off", false}, {"sp=off,tp2", false}};
    g_auto(TrainKit) k = train_kit("llama-3.1-8b", "dgx-h100:1", "megatron", 64, 4096);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        RhLayout l = train_layout(&k, "dp8,sp=off");
        CU_ASSERT_TRUE(rh_train_change(&k.c, &l, cases[i].change, NULL));
        CU_ASSERT_EQUAL(l.sequence_parallel, cases[i].sequence_parallel);
        CU_ASSERT_EQUAL(l.tp, 2);
    }
}

int main(void)
{
    return rh_test_main(
        "layout",
        (RhTest[]){
            {"the_shape_of_a_long_schedule_is_whole", the_shape_of_a_long_schedule_is_whole},
            {"every_value_of_every_knob_round_trips", every_value_of_every_knob_round_trips},
            {"every_knob_is_explained", every_knob_is_explained},
            {"families_are_told_by_how_the_model_is_cut",
             families_are_told_by_how_the_model_is_cut},
            {"the_text_form_round_trips", the_text_form_round_trips},
            {"a_dp_still_to_be_derived_is_left_out", a_dp_still_to_be_derived_is_left_out},
            {"uneven_stages_have_a_text", uneven_stages_have_a_text},
            {"wrong_stages_are_refused_with_their_place",
             wrong_stages_are_refused_with_their_place},
            {"wrong_keys_and_values_are_refused", wrong_keys_and_values_are_refused},
            {"empty_and_repeated_keys_are_refused_with_their_place",
             empty_and_repeated_keys_are_refused_with_their_place},
            {"a_layout_is_read_from_a_file", a_layout_is_read_from_a_file},
            {"every_slot_runs_once_and_forward_comes_first",
             every_slot_runs_once_and_forward_comes_first},
            {"chunks_hold_every_layer_once", chunks_hold_every_layer_once},
            {"partitions_keep_the_heaviest_chunk_light", partitions_keep_the_heaviest_chunk_light},
            {"partitions_have_titles_where_they_matter", partitions_have_titles_where_they_matter},
            {"a_change_keeps_what_it_says", a_change_keeps_what_it_says},
            {"illegal_layouts_say_why", illegal_layouts_say_why},
            {"knobs_without_effect_are_canonical", knobs_without_effect_are_canonical},
            {0}});
}

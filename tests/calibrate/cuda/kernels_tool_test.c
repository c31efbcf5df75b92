/* rehearse-kernels without a GPU: grid, order, statistics, files, options, orders. */
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/kernel_server_protocol.h"
#include "calibrate/measure/options.h"
#include "calibrate/measure/progress.h"
#include "calibrate/measure/sample_files.h"
#include "calibrate/measure/shape_grid.h"
#include "tests/kit/testkit.h"

/* --- Statistics --- */

/* Probability that `count` fair coins show at most `k` heads, by Pascal's triangle. */
static double coins_at_most(size_t count, size_t k)
{
    double row[128] = {1};
    for (size_t n = 1; n <= count; n++)
        for (size_t i = n; i > 0; i--)
            row[i] += row[i - 1];
    double sum = 0;
    for (size_t i = 0; i <= k; i++)
        sum += row[i];
    return sum / pow(2, (double)count);
}

static void interval_is_the_narrowest_that_covers(void)
{
    for (size_t count = RK_REPETITIONS_MIN; count <= 100; count++) {
        size_t low, high;
        rk_median_interval(count, &low, &high);
        CU_ASSERT_EQUAL(high, count - 1 - low);
        CU_ASSERT_TRUE(coins_at_most(count, low) <= 0.025);
        CU_ASSERT_TRUE(coins_at_most(count, low + 1) > 0.025);
    }
}

/* Hahn and Meeker, Statistical Intervals: of 20 values the 6th and 15th.
 * Source: Hahn and Meeker 1991, tables of distribution-free intervals. */
static void interval_of_tables(void)
{
    size_t low, high;
    rk_median_interval(20, &low, &high);
    CU_ASSERT_EQUAL(low, 5);
    CU_ASSERT_EQUAL(high, 14);
    rk_median_interval(3, &low, &high); /* too few: the extremes */
    CU_ASSERT_EQUAL(low, 0);
    CU_ASSERT_EQUAL(high, 2);
}

static void median_ignores_order_and_outliers(void)
{
    double values[] = {5, 1, 1000, 4, 3, 2, 6};
    RkMedian median = rk_median(values, 7);
    CU_ASSERT_EQUAL(median.median, 4);
    CU_ASSERT_EQUAL(median.low, 1);
    CU_ASSERT_EQUAL(median.high, 1000);
    double even[] = {4, 1, 3, 2};
    CU_ASSERT_EQUAL(rk_median(even, 4).median, 2.5);
    CU_ASSERT_EQUAL(rk_median(even, 0).count, 0);
}

static void enough_is_a_narrow_interval(void)
{
    RkMedian median = {.median = 100, .low = 99, .high = 101, .count = 10};
    CU_ASSERT_TRUE(rk_median_known(&median, 0.02));
    median.high = 101.1;
    CU_ASSERT_FALSE(rk_median_known(&median, 0.02));
    median = (RkMedian){100, 100, 100, RK_REPETITIONS_MIN - 1};
    CU_ASSERT_FALSE(rk_median_known(&median, 0.02));
}

/* --- The grid --- */

static RkSamples whole_grid(void)
{
    RkGridOptions options = rk_grid_defaults();
    options.gpus = 8; /* with one there are no collectives */
    RkSamples samples = {0};
    CU_ASSERT_TRUE_FATAL(rk_grid(&options, &samples));
    return samples;
}

static bool holds(const RkSamples *samples, RkSample wanted)
{
    for (size_t i = 0; i < samples->count; i++)
        if (rk_sample_same_shape(&samples->items[i], &wanted))
            return true;
    return false;
}

static RkSample gemm(RhDtype dtype, int64_t m, int64_t n, int64_t k)
{
    return (RkSample){.cls = RK_GEMM, .dtype = dtype, .batch = 1, .m = m, .n = n, .k = k};
}

static void grid_has_both_sides_of_tile_boundaries(void)
{
    RkSamples samples = whole_grid();
    for (int64_t edge = 64; edge <= 4096; edge *= 4) {
        CU_ASSERT_TRUE(holds(&samples, gemm(RH_DTYPE_BF16, edge, 4096, 4096)));
        CU_ASSERT_TRUE(holds(&samples, gemm(RH_DTYPE_BF16, edge + 1, 4096, 4096)));
        CU_ASSERT_TRUE(holds(&samples, gemm(RH_DTYPE_BF16, 4096, edge + 8, 4096)));
    }
    rk_samples_clear(&samples);
}

static void grid_has_m_from_1_to_32768(void)
{
    RkSamples samples = whole_grid();
    for (int64_t m = 1; m <= 32768; m *= 2)
        CU_ASSERT_TRUE(holds(&samples, gemm(RH_DTYPE_BF16, m, 4096, 4096)));
    rk_samples_clear(&samples);
}

/* qkv, out, up, down and head of Llama-3.1-70B over 8 ranks, by hand. */
static void grid_has_the_shapes_of_models(void)
{
    static const int64_t SHAPES[][2] = {
        {1280, 8192}, {8192, 1024}, {7168, 8192}, {8192, 3584}, {16128, 8192}};
    RkSamples samples = whole_grid();
    for (size_t i = 0; i < G_N_ELEMENTS(SHAPES); i++)
        CU_ASSERT_TRUE(holds(&samples, gemm(RH_DTYPE_BF16, 4096, SHAPES[i][0], SHAPES[i][1])));
    CU_ASSERT_TRUE(
        holds(&samples, gemm(RH_DTYPE_BF16, 4096, 50304, 768))); /* gpt2, padded vocabulary */
    rk_samples_clear(&samples);
}

static void grid_has_every_class_and_dtype(void)
{
    bool classes[RK_CLASS_LAST] = {false}, dtypes[RH_DTYPE_LAST] = {false};
    RkSamples samples = whole_grid();
    size_t bf16 = 0;
    for (size_t i = 0; i < samples.count; i++) {
        classes[samples.items[i].cls] = true;
        dtypes[samples.items[i].dtype] = true;
        bf16 += samples.items[i].dtype == RH_DTYPE_BF16;
    }
    for (int i = 1; i < RK_RUN_LAST; i++)
        CU_ASSERT_TRUE(classes[i]);
    for (int i = 1; i < RH_DTYPE_LAST; i++)
        CU_ASSERT_EQUAL(dtypes[i], i != RH_DTYPE_FP4);
    CU_ASSERT_TRUE(bf16 > samples.count * 3 / 4);
    rk_samples_clear(&samples);
}

static void grid_repeats_nothing_and_costs_something(void)
{
    RkSamples samples = whole_grid();
    for (size_t i = 0; i < samples.count; i++) {
        const RkSample *s = &samples.items[i];
        for (size_t j = 0; j < i; j++)
            if (rk_sample_same_shape(s, &samples.items[j]))
                CU_FAIL("a shape stands twice");
        bool launch = s->cls >= RK_EMPTY && s->cls <= RK_GRAPH_LAUNCH;
        CU_ASSERT_TRUE(launch || s->bytes > 0);
        CU_ASSERT_TRUE(s->dtype != RH_DTYPE_FP8 ||
                       (s->m % 16 == 0 && s->n % 16 == 0 && s->k % 16 == 0));
    }
    rk_samples_clear(&samples);
}

static void grid_obeys_its_options(void)
{
    RkGridOptions options = rk_grid_defaults();
    RkSamples samples = {0};
    memset(options.classes, 0, sizeof options.classes);
    options.classes[RK_GEMM] = true;
    options.bytes_max = 1e8;
    CU_ASSERT_TRUE_FATAL(rk_grid(&options, &samples));
    CU_ASSERT_TRUE(samples.count > 100);
    for (size_t i = 0; i < samples.count; i++)
        CU_ASSERT_TRUE(samples.items[i].cls == RK_GEMM && samples.items[i].bytes <= 1e8);
    rk_samples_clear(&samples);
}

/* --- The order --- */

static void interleaving_keeps_every_share(void)
{
    RkSamples samples = {0};
    for (int64_t i = 0; i < 40; i++)
        rk_samples_add(&samples, (RkSample){.cls = RK_GEMM, .dtype = RH_DTYPE_BF16, .m = i});
    for (int64_t i = 0; i < 10; i++)
        rk_samples_add(&samples, (RkSample){.cls = RK_NORM, .dtype = RH_DTYPE_BF16, .m = i});
    for (int64_t i = 0; i < 5; i++)
        rk_samples_add(&samples,
                       (RkSample){.cls = RK_ADD, .dtype = RH_DTYPE_BF16, .tier = 1, .m = i});
    CU_ASSERT_TRUE_FATAL(rk_grid_interleave(&samples));
    double norms = 0;
    int64_t last = -1;
    for (size_t i = 0; i < 50; i++) {
        norms += samples.items[i].cls == RK_NORM;
        CU_ASSERT_TRUE(fabs(norms - (double)(i + 1) / 5) <= 1); /* 10 of 50, in any prefix */
        CU_ASSERT_NOT_EQUAL(samples.items[i].cls, RK_ADD);      /* a later tier */
        if (samples.items[i].cls == RK_GEMM) {
            CU_ASSERT_EQUAL(samples.items[i].m, last + 1); /* order within a stream is kept */
            last = samples.items[i].m;
        }
    }
    CU_ASSERT_EQUAL(samples.items[50].cls, RK_ADD);
    rk_samples_clear(&samples);
}

/* A quarter of the grid has already seen every class of the first tier. */
static void a_short_budget_sees_all_classes(void)
{
    bool seen[RK_CLASS_LAST] = {false};
    RkSamples samples = whole_grid();
    for (size_t i = 0; i < samples.count / 4; i++)
        seen[samples.items[i].cls] = true;
    for (int i = 1; i < RK_RUN_LAST; i++)
        CU_ASSERT_TRUE(seen[i]);
    rk_samples_clear(&samples);
}

/* --- Samples --- */

static void traffic_and_work_by_hand(void)
{
    RkSample s = gemm(RH_DTYPE_BF16, 2, 3, 5);
    rk_sample_measure_up(&s);
    CU_ASSERT_EQUAL(s.flops, 60);
    CU_ASSERT_EQUAL(s.bytes, 2 * (10 + 15 + 6));
    s.cls = RK_GEMM_NT; /* its result is read and written in fp32 */
    rk_sample_measure_up(&s);
    CU_ASSERT_EQUAL(s.bytes, 2 * (10 + 15) + 8 * 6);
    s = (RkSample){.cls = RK_ATTENTION,
                   .dtype = RH_DTYPE_BF16,
                   .causal = true,
                   .batch = 2,
                   .m = 8,
                   .n = 8,
                   .heads = 4,
                   .kv_heads = 2,
                   .k = 16};
    rk_sample_measure_up(&s);
    CU_ASSERT_EQUAL(s.flops, 4.0 * 2 * 4 * 8 * 8 * 16 / 2);
    CU_ASSERT_EQUAL(s.bytes, 2 * 2 * (2 * 8 * 4 + 2 * 8 * 2) * 16 + 4 * 2 * 8 * 4);
    double forward = s.flops;
    s.cls = RK_ATTENTION_BACKWARD;
    rk_sample_measure_up(&s);
    CU_ASSERT_EQUAL(s.flops, 2.5 * forward);
    s = (RkSample){.cls = RK_OPTIMIZER, .dtype = RH_DTYPE_FP32, .m = 3, .n = 8};
    rk_sample_measure_up(&s);
    CU_ASSERT_EQUAL(s.bytes, 30 * 24);
}

static void shapes_follow_from_bytes(void)
{
    for (int cls = RK_SOFTMAX; cls <= RK_PERMUTE; cls++) {
        RkSample s = {.cls = (RkClass)cls, .dtype = RH_DTYPE_BF16, .bytes = 1e9};
        CU_ASSERT_TRUE_FATAL(rk_sample_shape_from_bytes(&s));
        CU_ASSERT_TRUE(s.m > 1);
        rk_sample_measure_up(&s);
        RH_CHECK_CLOSE(s.bytes, 1e9, 1e-3);
    }
    RkSample nothing = {.cls = RK_NORM, .dtype = RH_DTYPE_BF16};
    CU_ASSERT_FALSE(rk_sample_shape_from_bytes(&nothing));
}

static void names_go_both_ways(void)
{
    for (int cls = 1; cls < RK_CLASS_LAST; cls++)
        CU_ASSERT_EQUAL(rk_class_by_name(rk_class_name((RkClass)cls)), (RkClass)cls);
    for (int cls = 1; cls < RK_CLASS_LAST; cls++) {
        RhKernelClass kernel = rh_kernel_class_by_name(rk_class_name((RkClass)cls));
        CU_ASSERT_EQUAL(rk_class_kernel((RkClass)cls),
                        cls == RK_GEMM_NN || cls == RK_GEMM_NT ? RH_KERNEL_GEMM : kernel);
    }
    for (int dtype = 1; dtype < RH_DTYPE_LAST; dtype++)
        CU_ASSERT_EQUAL(rh_dtype_by_name(rh_dtype_name((RhDtype)dtype)), (RhDtype)dtype);
    CU_ASSERT_EQUAL(rk_class_by_name("cross-entropy"), RK_CROSS_ENTROPY);
    CU_ASSERT_EQUAL(rk_class_by_name("gem"), RK_CLASS_NONE);
    CU_ASSERT_EQUAL(rk_class_by_name("none"), RK_CLASS_NONE);
}

/* --- Files --- */

#define LIST_HEAD                                                                                  \
    "# rehearse.kernels/1\nkernel,dtype,batch,m,n,k,heads,kv_heads,causal,bytes,flops,count\n"

static bool read_text(const char *text, RkList *list, char why[256])
{
    FILE *file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    rewind(file);
    bool ok = rk_list_read(file, "a.csv", list, why, 256);
    fclose(file);
    return ok;
}

static void list_is_read(void)
{
    RkList list = {0};
    char why[256];
    CU_ASSERT_TRUE_FATAL(read_text(LIST_HEAD "gemm,bf16,1,4096,6144,4096,0,0,0,1.5e8,2.06e+11,2\n"
                                             "# between\n"
                                             "attention-backward,bf16,1,64,64,128,32,8,1,1,2,1\r\n"
                                             "norm,fp32,0,0,0,0,0,0,0,67117056.5,0,64",
                                   &list, why));
    CU_ASSERT_EQUAL_FATAL(list.count, 3);
    RkSample first = gemm(RH_DTYPE_BF16, 4096, 6144, 4096);
    CU_ASSERT_TRUE(rk_sample_same_shape(&list.items[0].sample, &first));
    RH_CHECK_CLOSE(list.items[0].sample.bytes, 1.5e8, 1e-15);
    RH_CHECK_CLOSE(list.items[0].sample.flops, 2.06e11, 1e-15);
    CU_ASSERT_EQUAL(list.items[0].count, 2);
    CU_ASSERT_EQUAL(list.items[1].sample.cls, RK_ATTENTION_BACKWARD);
    CU_ASSERT_TRUE(list.items[1].sample.causal);
    CU_ASSERT_EQUAL(list.items[2].sample.m, 0); /* the row is named as it was listed */
    CU_ASSERT_TRUE(list.items[2].shape.m > 0 && list.items[2].shape.n > 0);
    RH_CHECK_CLOSE(list.items[2].sample.bytes, 67117056.5, 1e-15);
    rk_list_clear(&list);
}

typedef struct {
    const char *text, *why;
} WrongList;

static void list_errors_name_the_line(void)
{
    static const WrongList CASES[] = {
        {"", "a.csv:1: the first line must be \"# rehearse.kernels/1\""},
        {"kernel\n", "a.csv:1: the first line must be"},
        {"# rehearse.kernels/1\n", "a.csv:1: the header is missing"},
        {"# rehearse.kernels/1\nkernel,dtype\n", "a.csv:2: the header must be"},
        {LIST_HEAD, "a.csv:2: the list holds no kernel"},
        {LIST_HEAD "gemm,bf16,1,1,1\n", "a.csv:3: 12 columns are wanted"},
        {LIST_HEAD "gemm,bf16,1,1,1,1,0,0,0,1,1,1,1\n", "a.csv:3: 12 columns are wanted"},
        {LIST_HEAD "# x\ngem,bf16,1,1,1,1,0,0,0,1,1,1\n", "a.csv:4: column 1, \"gem\": no kernel"},
        {LIST_HEAD "launch,bf16,1,1,1,1,0,0,0,1,1,1\n", "a.csv:3: column 1, \"launch\""},
        {LIST_HEAD "gemm,bf17,1,1,1,1,0,0,0,1,1,1\n", "a.csv:3: column 2, \"bf17\": no dtype"},
        {LIST_HEAD "gemm,bf16,1,-4,1,1,0,0,0,1,1,1\n", "a.csv:3: column 4, \"-4\": not a whole"},
        {LIST_HEAD "gemm,bf16,1,4x,1,1,0,0,0,1,1,1\n", "a.csv:3: column 4, \"4x\": not a whole"},
        {LIST_HEAD "gemm,bf16,1,4,1,1,0,0,2,1,1,1\n", "a.csv:3: column 9, \"2\": not a whole"},
        {LIST_HEAD "gemm,bf16,1,4,1,1,0,0,0,nan,1,1\n", "a.csv:3: column 10, \"nan\": not a num"},
        {LIST_HEAD "gemm,bf16,1,4,1,1,0,0,0,1e999,1,1\n", "a.csv:3: column 10, \"1e999\""},
        {LIST_HEAD "norm,bf16,0,0,0,0,0,0,0,1e39,0,1\n", "a.csv:3: column 10, \"1e39\": not a num"},
        {LIST_HEAD "gemm,bf16,1,4,1,1,0,0,0,1,1,0\n", "a.csv:3: column 12, \"0\": a kernel runs"},
        {LIST_HEAD "gemm,bf16,1,0,1,1,0,0,0,1,1,1\n", "a.csv:3: neither the shape nor"},
        {LIST_HEAD "norm,bf16,0,0,0,0,0,0,0,0,0,1\n", "a.csv:3: neither the shape nor"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(CASES); i++) {
        RkList list = {0};
        char why[256];
        CU_ASSERT_FALSE(read_text(CASES[i].text, &list, why));
        if (strncmp(why, CASES[i].why, strlen(CASES[i].why)) != 0)
            fprintf(stderr, "wanted %s\ngot    %s\n", CASES[i].why, why);
        CU_ASSERT_EQUAL(strncmp(why, CASES[i].why, strlen(CASES[i].why)), 0);
    }
}

static void long_lines_are_refused(void)
{
    g_autofree char *text = g_strdup_printf(LIST_HEAD "%2000s\n", "x");
    RkList list = {0};
    char why[256];
    CU_ASSERT_FALSE(read_text(text, &list, why));
    CU_ASSERT_TRUE(g_str_has_prefix(why, "a.csv:3: the line is longer"));
}

static void grid_is_a_list(void)
{
    RkGridOptions options = rk_grid_defaults();
    RkSamples samples = {0};
    char *text = NULL, why[256];
    size_t size = 0;
    for (int i = RK_COPY_DEVICE; i < RK_CLASS_LAST; i++)
        options.classes[i] = false;
    CU_ASSERT_TRUE_FATAL(rk_grid(&options, &samples));
    FILE *file = open_memstream(&text, &size);
    CU_ASSERT_TRUE(rk_raw_write_grid(file, &samples));
    fclose(file);
    RkList list = {0};
    CU_ASSERT_TRUE_FATAL(read_text(text, &list, why));
    CU_ASSERT_EQUAL_FATAL(list.count, samples.count);
    for (size_t i = 0; i < list.count; i++) {
        CU_ASSERT_TRUE(rk_sample_same_shape(&list.items[i].sample, &samples.items[i]));
        RH_CHECK_CLOSE(list.items[i].sample.bytes, samples.items[i].bytes, 1e-14);
        RH_CHECK_CLOSE(list.items[i].sample.flops, samples.items[i].flops, 1e-14);
    }
    rk_list_clear(&list);
    rk_samples_clear(&samples);
    free(text);
}

static void raw_rows_are_as_agreed(void)
{
    char *text = NULL;
    size_t size = 0;
    RkRawHead head = {.device = "A GPU\nof mine", .sms = 132, .sm_major = 9, .nccl = "absent"};
    RkRawRow row = {.sample = gemm(RH_DTYPE_BF16, 16, 32, 64),
                    .seconds = {1.5e-6, 1.25e-6, 2e-6, 9},
                    .library = "cublasLt 13.1.0",
                    .sm_mhz = 1980};
    rk_sample_measure_up(&row.sample);
    FILE *file = open_memstream(&text, &size);
    CU_ASSERT_TRUE(rk_raw_write_head(file, &head));
    CU_ASSERT_TRUE(rk_raw_write_row(file, &row));
    CU_ASSERT_TRUE(rk_raw_write_whole(file, "sequence", 7, &row));
    CU_ASSERT_TRUE(rk_raw_write_end(file, false));
    fclose(file);
    CU_ASSERT_STRING_EQUAL(
        text, "# rehearse.raw/1\n# device=A GPU of mine\n# sms=132\n# sm_major=9\n# sm_minor=0\n"
              "# nccl=absent\n"
              "kernel,dtype,batch,m,n,k,heads,kv_heads,causal,bytes,flops,library,repetitions,"
              "seconds,low_s,high_s,sm_mhz,watts\n"
              "gemm,bf16,1,16,32,64,0,0,0,7168,65536,cublasLt 13.1.0,9,1.5e-06,1.25e-06,2e-06,"
              "1980,0\n"
              "sequence,bf16,0,0,7,0,0,0,0,0,0,cublasLt 13.1.0,9,1.5e-06,1.25e-06,2e-06,1980,0\n"
              "# complete=no\n");
    free(text);
}

/* --- Command line and progress --- */

static bool parse(const char *line, RkOptions *out, char why[256])
{
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    static GStrv kept; /* options borrow from argv */
    g_strfreev(kept);
    kept = g_strdupv(argv);
    return rk_options_parse((int)g_strv_length(kept), kept, out, why, 256);
}

static void options_are_parsed(void)
{
    RkOptions o;
    char why[256];
    CU_ASSERT_TRUE_FATAL(parse("x --run gemm,copy,attention --budget 1.5m -o f --seed 7", &o, why));
    CU_ASSERT_TRUE(o.classes[RK_GEMM] && o.classes[RK_GEMM_NT] && o.classes[RK_COPY_BOTH_PINNED] &&
                   o.classes[RK_ATTENTION] && o.classes[RK_ATTENTION_BACKWARD]);
    CU_ASSERT_FALSE(o.classes[RK_GROUPED_GEMM] || o.classes[RK_SUSTAINED_GEMM] ||
                    o.classes[RK_NORM]);
    CU_ASSERT_EQUAL(o.budget_s, 90);
    CU_ASSERT_EQUAL(o.seed, 7);
    CU_ASSERT_STRING_EQUAL(o.out_file, "f");
    CU_ASSERT_TRUE(parse("x --list l.csv --device 3", &o, why));
    CU_ASSERT_TRUE(o.task == RK_DO_LIST && o.device == 3 && o.classes[RK_NCCL_SEND_RECV]);
    CU_ASSERT_TRUE(parse("x --serve l.csv", &o, why) && o.task == RK_DO_SERVE);
    CU_ASSERT_TRUE(parse("x --grid", &o, why) && o.task == RK_DO_GRID);
    CU_ASSERT_TRUE(o.budget_s < 300); /* a whole run stays under five minutes */
}

static void wrong_options_are_refused(void)
{
    static const char *const LINES[] = {
        "x --run",       "x --run ,",      "x --run gemm,what", "x --budget 0", "x --budget 5h",
        "x --budget -5", "x --device one", "x --seed -1",       "x grid",       "x --budgets 5m"};
    for (size_t i = 0; i < G_N_ELEMENTS(LINES); i++) {
        RkOptions o;
        char why[256] = "";
        CU_ASSERT_FALSE(parse(LINES[i], &o, why));
        CU_ASSERT_TRUE(why[0] != '\0');
    }
}

static void progress_counts_down(void)
{
    char line[160];
    RkProgress progress = {.done = 50, .total = 200, .elapsed_s = 30, .budget_s = 270, .now = "x"};
    CU_ASSERT_EQUAL(rk_progress_remaining_s(&progress), 90);
    rk_progress_line(&progress, line, sizeof line);
    CU_ASSERT_STRING_EQUAL(line, "[#####...............]  25 %  50/200  1:30 left  x");
    progress.elapsed_s = 240; /* the budget ends it first */
    CU_ASSERT_EQUAL(rk_progress_remaining_s(&progress), 30);
    progress.done = 200;
    rk_progress_line(&progress, line, sizeof line);
    CU_ASSERT_TRUE(g_str_has_prefix(line, "[####################] 100 %  200/200  0:00 left"));
}

static void orders_are_parsed(void)
{
    RkOrder order = {0};
    char why[256] = "";
    CU_ASSERT_TRUE_FATAL(rk_order_parse("0 0 3  11\n", 12, &order, why, sizeof why));
    CU_ASSERT_EQUAL_FATAL(order.count, 4);
    CU_ASSERT_TRUE(order.lines[0] == 0 && order.lines[2] == 3 && order.lines[3] == 11);
    static const char *const WRONG[] = {
        "12", "0 -1", "0 x", "1x", "", " \n", "99999999999999999999"};
    for (size_t i = 0; i < G_N_ELEMENTS(WRONG); i++) {
        why[0] = '\0';
        CU_ASSERT_FALSE(rk_order_parse(WRONG[i], 12, &order, why, sizeof why));
        CU_ASSERT_TRUE(g_str_has_prefix(why, "order: "));
    }
    g_autoptr(GString) many = g_string_new("");
    for (int i = 0; i < 1000; i++)
        g_string_append_printf(many, "%d ", i);
    CU_ASSERT_TRUE(rk_order_parse(many->str, 1000, &order, why, sizeof why));
    CU_ASSERT_TRUE(order.count == 1000 && order.lines[999] == 999);
    rk_order_clear(&order);
}

int main(void)
{
    static const RhTest TESTS[] = {
        {"the interval of a median is the narrowest that covers it",
         interval_is_the_narrowest_that_covers},
        {"it is that of the tables", interval_of_tables},
        {"a median ignores order and outliers", median_ignores_order_and_outliers},
        {"enough is a narrow interval", enough_is_a_narrow_interval},
        {"the grid has both sides of tile boundaries", grid_has_both_sides_of_tile_boundaries},
        {"the grid has m from 1 to 32,768", grid_has_m_from_1_to_32768},
        {"the grid has the shapes of models", grid_has_the_shapes_of_models},
        {"the grid has every class and dtype", grid_has_every_class_and_dtype},
        {"the grid repeats nothing", grid_repeats_nothing_and_costs_something},
        {"the grid obeys its options", grid_obeys_its_options},
        {"interleaving keeps every share in every prefix", interleaving_keeps_every_share},
        {"a short budget sees all classes", a_short_budget_sees_all_classes},
        {"traffic and work are as by hand", traffic_and_work_by_hand},
        {"shapes follow from bytes", shapes_follow_from_bytes},
        {"names go both ways", names_go_both_ways},
        {"a list is read", list_is_read},
        {"errors of a list name the line", list_errors_name_the_line},
        {"long lines are refused", long_lines_are_refused},
        {"the printed grid is a list", grid_is_a_list},
        {"raw rows are as agreed", raw_rows_are_as_agreed},
        {"options are parsed", options_are_parsed},
        {"wrong options are refused", wrong_options_are_refused},
        {"progress counts down", progress_counts_down},
        {"orders are parsed", orders_are_parsed},
        {NULL, NULL},
    };
    return rh_test_main("kernels_tool", TESTS);
}

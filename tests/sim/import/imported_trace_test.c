/* Programs that others made: GOAL and Chakra traces become programs that take the time they say. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/engine/workers/isolated_run.h"
#include "sim/import/chakra_node.h"
#include "sim/import/imported_trace.h"
#include "sim/uncontended_critical_path.h"
#include "tests/kit/program_kit.h"
#include "tests/kit/train_kit.h"

#define BOX "h100-sxm:8x1,nvlink:450GB/s"

/* --- reading --- */

static RhImportedTrace *goal(const char *text)
{
    GError *error = NULL;
    RhImportedTrace *f = rh_goal_parse("x.goal", text, &error);
    g_assert_no_error(error);
    g_assert_true(rh_imported_trace_close(f, &error));
    return f;
}

static double step_of(const RhProgram *p, const RhPlatform *platform)
{
    GError *error = NULL;
    RhEngineOptions options = {.steps = 1};
    g_autoptr(RhRun) run = rh_rehearse_isolated(p, platform, &options, &error);
    g_assert_no_error(error);
    double step_s = run->step_time_s, path_s = 0;
    CU_ASSERT_TRUE(rh_critical_path_s(p, platform, &path_s, NULL));
    CU_ASSERT_TRUE(path_s <= step_s * (1 + 1e-9));
    return step_s;
}

static double foreign_step(RhImportedTrace *f, const RhPlatform *platform)
{
    GError *error = NULL;
    g_autoptr(RhProgram) p = rh_imported_trace_program(f, platform, &error);
    g_assert_no_error(error);
    return step_of(p, platform);
}

static double goal_step(const char *text)
{
    g_autoptr(RhPlatform) platform = kit_platform(BOX);
    g_autoptr(RhImportedTrace) f = goal(text);
    return foreign_step(f, platform);
}

/* Checks the whole message with which a text is refused. */
static void refused(const char *text, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhPlatform) platform = kit_platform(BOX);
    g_autoptr(RhImportedTrace) f = rh_goal_parse("x.goal", text, &error);
    if (f && rh_imported_trace_close(f, &error)) {
        g_autoptr(RhProgram) p = rh_imported_trace_program(f, platform, &error);
        CU_ASSERT_PTR_NULL(p);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    CU_ASSERT_STRING_EQUAL(error->message, message);
}

/* --- GOAL --- */

static double message_s(const RhPlatform *p, double bytes)
{
    return rh_platform_route_latency_s(p, 0, 1) + bytes / rh_platform_link_bytes_per_s(p, 0);
}

static void a_message_takes_latency_and_bytes(void)
{
    g_autoptr(RhPlatform) p = kit_platform(BOX);
    double step_s = goal_step("num_ranks 2 rank 0 { a: calc 1000000 b: send 1000000b to 1 tag 7\n"
                              "b requires a } rank 1 { r: recv 1000000b from 0 tag 7 }");
    RH_CHECK_CLOSE(step_s, 1e-3 + message_s(p, 1e6), 1e-6);
}

static void calculations_of_a_processor_take_turns(void)
{
    RH_CHECK_CLOSE(goal_step("num_ranks 1 rank 0 { calc 1000 calc 2000 }"), 3e-6, 1e-9);
    RH_CHECK_CLOSE(goal_step("num_ranks 1 rank 0 { calc 1000 calc 2000 cpu 1 }"), 2e-6, 1e-9);
}

static void irequires_waits_for_the_beginning(void)
{
#define WORK "num_ranks 1 rank 0 { a: calc 1000 b: calc 5000 cpu 1 c: calc 7000 cpu 2 b requires a "
    RH_CHECK_CLOSE(goal_step(WORK "c irequires b }"), 8e-6, 1e-9);
    RH_CHECK_CLOSE(goal_step(WORK "c requires b }"), 13e-6, 1e-9);
}

/* Everyone sends to the right before receiving from the left: small messages do not wait. */
static void a_ring_of_sends_moves_while_messages_are_small(void)
{
    for (int large = 0; large < 2; large++) {
        g_autoptr(GString) text = g_string_new("num_ranks 8\n");
        for (int r = 0; r < 8; r++)
            g_string_append_printf(text,
                                   "rank %d {\ns: send %db to %d tag 1\nr: recv %db from %d tag 1\n"
                                   "r requires s\n}\n",
                                   r, large ? 65536 : 65535, (r + 1) % 8, large ? 65536 : 65535,
                                   (r + 7) % 8);
        g_autoptr(RhPlatform) p = kit_platform(BOX);
        g_autoptr(RhImportedTrace) f = goal(text->str);
        g_autoptr(GError) error = NULL;
        g_autoptr(RhProgram) program = rh_imported_trace_program(f, p, &error);
        if (large)
            CU_ASSERT_TRUE(error && strstr(error->message, "wait for each other"));
        if (!large && program)
            RH_CHECK_CLOSE(step_of(program, p), message_s(p, 65535), 1e-6);
        CU_ASSERT_EQUAL((program != NULL), (large == 0));
    }
}

static void more_predecessors_than_a_task_has_are_joined(void)
{
    g_autoptr(GString) text = g_string_new("num_ranks 1 rank 0 { z: calc 1000\n");
    for (int i = 0; i < 700; i++)
        g_string_append_printf(text, "a%d: calc 10 cpu %d\nz requires a%d\n", i, i % 7 + 1, i);
    g_string_append(text, "}");
    RH_CHECK_CLOSE(goal_step(text->str), 1e-6 + 100 * 10e-9, 1e-9);
}

static int32_t marks_for(int predecessors)
{
    g_autoptr(GString) text = g_string_new("num_ranks 1 rank 0 { z: calc 1000\n");
    for (int i = 0; i < predecessors; i++)
        g_string_append_printf(text, "a%d: calc 10 cpu 1\nz requires a%d\n", i, i);
    g_string_append(text, "}");
    g_autoptr(RhPlatform) p = kit_platform(BOX);
    g_autoptr(RhImportedTrace) f = goal(text->str);
    g_autoptr(GError) error = NULL;
    g_autoptr(RhProgram) program = rh_imported_trace_program(f, p, &error);
    g_assert_no_error(error);
    int32_t marks = 0;
    for (guint i = 0; i < program->tasks->len; i++)
        marks += g_array_index(program->tasks, RhTask, i).kind == RH_TASK_MARK;
    return marks;
}

static void as_many_predecessors_as_a_task_has_need_no_mark(void)
{
    CU_ASSERT_EQUAL(marks_for(UINT8_MAX), 0);
    CU_ASSERT_EQUAL(marks_for(UINT8_MAX + 1), 1);
}

/* Messages beyond the streams queue behind other messages, never on the lane of compute. */
static void more_at_once_than_streams_is_told(void)
{
    g_autoptr(GString) text = g_string_new("num_ranks 2\n");
    for (int r = 0; r < 2; r++) {
        g_string_append_printf(text, "rank %d {\n", r);
        for (int i = 0; i < 200; i++)
            g_string_append_printf(text, "%s 100000b %s %d tag %d\n", r ? "recv" : "send",
                                   r ? "from" : "to", 1 - r, i);
        g_string_append(text, "}\n");
    }
    g_autoptr(RhPlatform) p = kit_platform(BOX);
    g_autoptr(RhImportedTrace) f = goal(text->str);
    double step_s = foreign_step(f, p);
    CU_ASSERT_TRUE(f->queued > 0);
    CU_ASSERT_TRUE(step_s >= 200 * 1e5 / rh_platform_link_bytes_per_s(p, 0));
    g_autoptr(RhProgram) program = rh_imported_trace_program(f, p, NULL);
    for (guint i = 0; i < program->tasks->len; i++)
        CU_ASSERT_NOT_EQUAL(g_array_index(program->tasks, RhTask, i).lane, RH_LANE_COMPUTE);
}

static void wrong_texts_say_where_and_what(void)
{
    refused("num_ranks 2 rank 0 { send 8b to 1 } rank 1 { }",
            "x.goal:1:22: a send that rank 1 does not receive");
    refused("num_ranks 2 rank 0 { } rank 1 {\n  recv 8b from 0 tag 3 }",
            "x.goal:2:3: a receive that rank 0 does not send to");
    refused("num_ranks 2 rank 0 { send 8b to 1 } rank 1 { recv 7b from 0 }",
            "x.goal:1:46: a receive of 7 bytes, 8 are sent by rank 0, \"send\" of line 1");
    refused("num_ranks 2 rank 0 { send 8b to 2 } rank 1 { }",
            "x.goal:1:22: this talks to rank 2, and there are ranks 0 to 1\n"
            "help: every rank has a trace: PREFIX.0, PREFIX.1 and so on");
    refused("num_ranks 2 rank 0 { }", "x.goal: rank 1 is missing: num_ranks says 2\n"
                                      "help: a rank without work is \"rank 1 { }\"");
    refused("num_ranks 1 rank 0 { a: calc 1 b: calc 2 a requires b b requires a }",
            "x.goal:1:25: operations wait for each other: rank 0, \"calc\" of line 1, which waits "
            "for rank 0, \"calc\" of line 1, which waits for rank 0, \"calc\" of line 1");
    refused("num_ranks 1 rank 0 { a: calc 1 a: calc 2 }",
            "x.goal:1:32: this label stands twice in its rank, \"a:\" given");
    refused("num_ranks 1 rank 0 { a requires b }",
            "x.goal:1:22: a label of this rank must stand here, \"a\" given");
    refused("num_ranks 9 rank 0 { } rank 1 { } rank 2 { } rank 3 { } rank 4 { } rank 5 { }\n"
            "rank 6 { } rank 7 { } rank 8 { }",
            "x.goal: the program has 9 ranks, h100-sxm:8x1,nvlink:450GB/s has 8 GPUs");
}

/* --- there and back --- */

/* A program written as GOAL takes the same step, except for what GOAL lacks: kernels slowed by
 * communication and SMs booked by launches, a percent for steps that hide communication and nothing
 * otherwise. */
static void a_program_written_as_goal_takes_the_same_step(void)
{
    static const struct {
        const char *layout;
        double within;
    } rows[] = {{"tp1,pp2,dp1,mb1,zero0", 1e-4},
                {"tp1,pp1,dp2,mb1,zero0", 0.01},
                {"tp2,pp2,dp2,mb1,zero1", 0.01},
                {"tp1,pp4,dp2,mb1,zero1,schedule=zb-h1", 0.01}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        TrainKit k =
            train_kit("llama-3.2-1b", "h100-sxm:4x2,nvlink:450GB/s,ib:400Gb/s", "bare", 16, 1024);
        RhLayout l = rh_train_default(&k.c);
        CU_ASSERT_TRUE_FATAL(rh_layout_parse(rows[i].layout, &l, NULL));
        k.c.job.gpus = l.tp * l.pp * l.dp;
        l = rh_train_canonical(&k.c, &l);
        g_autoptr(GError) error = NULL;
        g_autoptr(RhProgram) p = rh_train_build(&k.c, &l, &error);
        g_assert_no_error(error);
        g_autofree char *text = rh_program_to_goal(p, k.platform, &error);
        g_assert_no_error(error);
        g_autoptr(RhImportedTrace) f = goal(text);
        double wrote = step_of(p, k.platform), read = foreign_step(f, k.platform);
        CU_ASSERT_TRUE(fabs(read / wrote - 1) <= rows[i].within);
        if (fabs(read / wrote - 1) > rows[i].within)
            g_printerr("%s: %.9g s written, %.9g s read\n", rows[i].layout, wrote, read);
        train_kit_clear(&k);
    }
}

/* --- Chakra --- */

/* Protobuf's bytes, by hand. */
static void put_varint(GByteArray *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        guint8 byte = (guint8)(value | 0x80);
        g_byte_array_append(out, &byte, 1);
    }
    guint8 last = (guint8)value;
    g_byte_array_append(out, &last, 1);
}

static void put_number(GByteArray *out, uint32_t field, uint64_t value)
{
    put_varint(out, field << 3);
    put_varint(out, value);
}

static void put_bytes(GByteArray *out, uint32_t field, const void *bytes, size_t length)
{
    if (field)
        put_varint(out, field << 3 | 2);
    put_varint(out, length);
    g_byte_array_append(out, bytes, (guint)length);
}

static void put_attribute(GByteArray *node, const char *name, uint64_t value)
{
    g_autoptr(GByteArray) a = g_byte_array_new();
    put_bytes(a, 1, name, strlen(name));
    put_number(a, 9, value);
    put_bytes(node, 10, a->data, a->len);
}

/* Work of 100 us, then an all-reduce of 1 MiB of all ranks. */
static GByteArray *all_reduce_trace(void)
{
    GByteArray *out = g_byte_array_new();
    g_autoptr(GByteArray) meta = g_byte_array_new(), work = g_byte_array_new();
    g_autoptr(GByteArray) sum = g_byte_array_new(), deps = g_byte_array_new();
    put_bytes(meta, 1, "0.0.4", 5);
    put_bytes(out, 0, meta->data, meta->len);
    put_number(work, 1, 5);
    put_bytes(work, 2, "work", 4);
    put_number(work, 3, 4);
    put_number(work, 7, 100);
    put_bytes(out, 0, work->data, work->len);
    put_number(sum, 1, 6);
    put_bytes(sum, 2, "sum", 3);
    put_number(sum, 3, 7);
    put_varint(deps, 5);
    put_bytes(sum, 5, deps->data, deps->len);
    put_attribute(sum, "comm_type", 0);
    put_attribute(sum, "comm_size", 1 << 20);
    put_bytes(out, 0, sum->data, sum->len);
    return out;
}

static const char *const json_trace =
    "[{\"id\": 5, \"name\": \"work\", \"type\": \"COMP_NODE\", \"duration_micros\": 100},\n"
    " {\"id\": 6, \"name\": \"sum\", \"type\": \"COMM_COLL_NODE\", \"data_deps\": [5],\n"
    "  \"attr\": [{\"name\": \"comm_type\", \"int64Val\": \"0\"},\n"
    "           {\"name\": \"comm_size\", \"int64Val\": \"1048576\"}]}]";

static RhImportedTrace *chakra(const GByteArray *bytes, const char *json, int ranks)
{
    RhImportedTrace *f = rh_imported_trace_new("Chakra", HUGE_VAL);
    GError *error = NULL;
    for (int r = 0; r < ranks; r++) {
        g_autofree char *name = g_strdup_printf("x.%d", r);
        g_ptr_array_add(f->files, g_strdup(name));
        RhJson *doc = json ? rh_json_parse(name, json, strlen(json), &error) : NULL;
        if (doc)
            g_ptr_array_add(f->docs, doc);
        bool read = doc ? rh_chakra_add_json(f, doc, &error)
                        : rh_chakra_add_bytes(f, name, bytes->data, bytes->len, &error);
        g_assert_no_error(error);
        g_assert_true(read);
    }
    g_assert_true(rh_imported_trace_close(f, &error));
    return f;
}

static void a_trace_s_collective_takes_our_time(void)
{
    g_autoptr(RhPlatform) p = kit_platform(BOX);
    g_autoptr(GByteArray) bytes = all_reduce_trace();
    g_autoptr(RhImportedTrace) wire = chakra(bytes, NULL, 8), json = chakra(NULL, json_trace, 8);
    g_autoptr(RhProgram) ours =
        kit_one_collective(8, 8, 1, RH_OP_ALL_REDUCE, RH_ALGO_RING, 1 << 20);
    double wanted = 100e-6 + step_of(ours, p);
    RH_CHECK_CLOSE(foreign_step(wire, p), wanted, 1e-6);
    RH_CHECK_CLOSE(foreign_step(json, p), wanted, 1e-6);
}

/* Everything that can be cut off is refused, and nothing is read beyond the end. */
static void cut_off_traces_are_refused_or_shorter(void)
{
    g_autoptr(GByteArray) bytes = all_reduce_trace();
    for (guint length = 0; length < bytes->len; length++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhImportedTrace) f = rh_imported_trace_new("Chakra", HUGE_VAL);
        g_autofree guint8 *part = g_memdup2(bytes->data, length + (length == 0));
        g_ptr_array_add(f->files, g_strdup("x.et"));
        bool read = rh_chakra_add_bytes(f, "x.et", part, length, &error);
        CU_ASSERT_TRUE(read || strstr(error->message, "x.et") != NULL);
        CU_ASSERT_TRUE(!read || f->ops->len < 2);
    }
}

#define SUM(id, name, deps)                                                                        \
    "{\"id\": " id ", \"name\": \"" name "\", \"type\": \"COMM_COLL_NODE\", \"data_deps\": [" deps \
    "], \"attr\": [{\"name\": \"comm_type\", \"int64Val\": \"0\"}, {\"name\": \"comm_size\", "     \
    "\"int64Val\": \"64\"}]}"

/* Two ranks call two sums in opposite order: the error names all four calls, each behind the one that waits for it. */
static void collectives_that_wait_for_each_other_are_named(void)
{
    static const char *const texts[] = {
        "[" SUM("1", "a0", "") ", " SUM("2", "b0", "1") "]",
        "[" SUM("1", "a1", "2") ", " SUM("2", "b1", "") "]",
    };
    g_autoptr(RhPlatform) p = kit_platform(BOX);
    g_autoptr(RhImportedTrace) f = rh_imported_trace_new("Chakra", HUGE_VAL);
    g_autoptr(GError) error = NULL;
    for (size_t r = 0; r < G_N_ELEMENTS(texts); r++) {
        RhJson *doc = rh_json_parse("x", texts[r], strlen(texts[r]), &error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
        g_ptr_array_add(f->files, g_strdup_printf("x.%zu", r));
        g_ptr_array_add(f->docs, doc);
        CU_ASSERT_TRUE_FATAL(rh_chakra_add_json(f, doc, &error));
    }
    CU_ASSERT_TRUE_FATAL(rh_imported_trace_close(f, &error));
    g_autoptr(RhProgram) program = rh_imported_trace_program(f, p, &error);
    CU_ASSERT_PTR_NULL(program);
    CU_ASSERT_PTR_NOT_NULL_FATAL(error);
    const char *at = error->message;
    static const char *const names[] = {"\"a0\"", "\"a1\"", "\"b1\"", "\"b0\"", "\"a0\""};
    for (size_t i = 0; i < G_N_ELEMENTS(names) && at; i++)
        at = strstr(at, names[i]);
    CU_ASSERT_PTR_NOT_NULL(at);
}

/* Ranks that are negative, or too large to be whole numbers, are unknown ones (-1). */
static void ranks_that_are_no_numbers_are_unknown(void)
{
    static const double numbers[] = {-3, 1e16, 1e300};
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        RhChakraNode node = rh_chakra_node();
        rh_chakra_attribute(&node, "comm_src", 5, NULL);
        CU_ASSERT_EQUAL(node.src, 5);
        rh_chakra_attribute(&node, "comm_src", numbers[i], NULL);
        CU_ASSERT_EQUAL(node.src, -1);
    }
}

/* Control dependencies that close a ring are those of call stacks. */
static void callers_are_not_waited_for(void)
{
    g_autoptr(RhPlatform) p = kit_platform(BOX);
    g_autoptr(RhImportedTrace) f = chakra(
        NULL,
        "[{\"id\": 1, \"type\": \"COMP_NODE\", \"duration_micros\": 3, \"is_cpu_op\": true,\n"
        "  \"data_deps\": [2], \"ctrl_deps\": [77]},\n"
        " {\"id\": 2, \"type\": \"COMP_NODE\", \"duration_micros\": 4, \"ctrl_deps\": [1]}]",
        1);
    CU_ASSERT_EQUAL(f->left_out, 2);
    RH_CHECK_CLOSE(foreign_step(f, p), 7e-6, 1e-9);
}

/* --- groups --- */

static void check_spans(const int32_t *members, int32_t count, int32_t ranks, bool possible)
{
    RhStride spans[RH_STRIDES_MAX] = {{0}};
    int32_t periods[RH_STRIDES_MAX] = {0};
    int32_t n = rh_imported_trace_spans(members, count, ranks, spans, periods);
    CU_ASSERT_EQUAL((n >= 0), possible);
    if (n < 0)
        return;
    g_autoptr(RhProgram) p = rh_program_new(ranks);
    int32_t group = rh_program_add_group(p, "x", spans, n);
    for (int32_t k = 0; k < n; k++)
        rh_program_space_group(p, group, k, periods[k]);
    g_autofree int32_t *all = g_new(int32_t, count);
    for (int32_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(rh_group_members(rh_program_group(p, group), members[i], all), i);
        CU_ASSERT_EQUAL(memcmp(all, members, sizeof(int32_t) * (size_t)count), 0);
    }
}

static void members_in_boxes_are_patterns(void)
{
    check_spans((int32_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 8, 8, true);
    check_spans((int32_t[]){4, 5, 6, 7}, 4, 8, true);
    check_spans((int32_t[]){1, 3, 5, 7}, 4, 8, true);
    check_spans((int32_t[]){0, 1, 4, 5}, 4, 8, true);
    check_spans((int32_t[]){0, 6}, 2, 8, true);
    check_spans((int32_t[]){1, 2}, 2, 4, false);
    check_spans((int32_t[]){0, 1, 3}, 3, 8, false);
}

int main(void)
{
    static const RhTest tests[] = {
        {"a message takes latency and bytes", a_message_takes_latency_and_bytes},
        {"calculations of a processor take turns", calculations_of_a_processor_take_turns},
        {"irequires waits for the beginning", irequires_waits_for_the_beginning},
        {"a ring of sends moves while messages are small",
         a_ring_of_sends_moves_while_messages_are_small},
        {"more predecessors than a task has are joined",
         more_predecessors_than_a_task_has_are_joined},
        {"as many predecessors as a task has need no mark",
         as_many_predecessors_as_a_task_has_need_no_mark},
        {"more at once than streams is told", more_at_once_than_streams_is_told},
        {"wrong texts say where and what", wrong_texts_say_where_and_what},
        {"a program written as GOAL takes the same step",
         a_program_written_as_goal_takes_the_same_step},
        {"a trace's collective takes our time", a_trace_s_collective_takes_our_time},
        {"cut off traces are refused or shorter", cut_off_traces_are_refused_or_shorter},
        {"collectives that wait for each other are named",
         collectives_that_wait_for_each_other_are_named},
        {"ranks that are no numbers are unknown", ranks_that_are_no_numbers_are_unknown},
        {"callers are not waited for", callers_are_not_waited_for},
        {"members in boxes are patterns", members_in_boxes_are_patterns},
        {0}};
    return rh_test_main("imported_trace", tests);
}

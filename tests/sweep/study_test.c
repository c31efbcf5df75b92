/* Studies: combinations, filters, keys and mistakes. */
#include "sweep/study.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/kit/testkit.h"

static RhStudyOption option_of(const char *command, const char *option)
{
    static const char *const values[] = {"platform", "seq", "gpus", "strategy", NULL};
    (void)command;
    if (strcmp(option, "quick") == 0)
        return RH_STUDY_OPTION_FLAG;
    if (strcmp(option, "json") == 0)
        return RH_STUDY_OPTION_REFUSED;
    return g_strv_contains(values, option) ? RH_STUDY_OPTION_VALUE : RH_STUDY_OPTION_NONE;
}

static bool check(const char *command, char **words, GError **error)
{
    (void)command;
    for (; *words; words++)
        if (strcmp(*words, "--seq=wrong") == 0)
            return rh_fail(error, RH_ERROR_USAGE, "--seq: \"wrong\" is no number");
    return true;
}

static RhStudy *load(const char *body, const char *version, GError **error)
{
    static const char *const commands[] = {"plan", "simulate", NULL};
    RhStudyRules rules = {
        .commands = commands, .option = option_of, .check = check, .version = version};
    g_autofree char *path = g_strdup_printf("%s/study-%d.json", g_get_tmp_dir(), getpid());
    g_autofree char *text =
        g_strdup_printf("{\"schema\": \"rehearse.study/1\", \"command\": \"plan\", %s}", body);
    CU_ASSERT_TRUE(g_file_set_contents(path, text, -1, NULL));
    RhStudy *study = rh_study_load(path, &rules, error);
    g_unlink(path);
    return study;
}

/* The words of all items, an item a line. */
static char *words_of(const char *body)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhStudy) study = load(body, "1", &error);
    GString *out = g_string_new(NULL);
    if (error)
        printf("%s\n", error->message);
    for (guint i = 0; study && i < study->items->len; i++) {
        const RhStudyItem *item = g_ptr_array_index(study->items, i);
        g_autofree char *line = g_strjoinv(" ", item->words);
        g_string_append_printf(out, "%s\n", line);
    }
    return g_string_free(out, FALSE);
}

static void expect(const char *body, const char *words)
{
    g_autofree char *got = words_of(body);
    CU_ASSERT_STRING_EQUAL(got, words);
}

static void objects_are_crossed_and_members_advance_together(void)
{
    expect("\"axes\": [{\"platform\": [\"a\", \"b\"], \"gpus\": [8, 16]}, {\"seq\": [1, 2]}]",
           "--platform=a --gpus=8 --seq=1\n--platform=a --gpus=8 --seq=2\n"
           "--platform=b --gpus=16 --seq=1\n--platform=b --gpus=16 --seq=2\n");
}

static void names_in_values_are_replaced(void)
{
    expect("\"options\": {\"strategy\": \"tp{tp},pp{pp}\"}, \"axes\": [{\"tp\": [1, 2]}, {\"pp\": "
           "[4]}]",
           "--strategy=tp1,pp4\n--strategy=tp2,pp4\n");
}

static void flags_are_on_or_left_out(void)
{
    expect("\"axes\": [{\"quick\": [true, false]}, {\"gpus\": [null, 1.5]}]",
           "--quick\n--quick --gpus=1.5\n\n--gpus=1.5\n");
}

static void ranges_multiply_or_add(void)
{
    expect("\"axes\": [{\"gpus\": {\"from\": 1, \"to\": 8, \"times\": 2}}]",
           "--gpus=1\n--gpus=2\n--gpus=4\n--gpus=8\n");
    expect("\"axes\": [{\"gpus\": {\"from\": 0.1, \"to\": 0.3, \"plus\": 0.1}}]",
           "--gpus=0.1\n--gpus=0.2\n--gpus=0.3\n");
}

static void filters_leave_out(void)
{
    expect("\"axes\": [{\"gpus\": [1, 2, 4]}, {\"seq\": [\"1k\", \"4k\"]}], \"where\": [\"gpus * "
           "1024 <= seq\"], \"except\": [{\"gpus\": 2, \"seq\": \"4k\"}]",
           "--gpus=1 --seq=1k\n--gpus=1 --seq=4k\n--gpus=4 --seq=4k\n");
}

static void names_with_dashes_are_filtered_by(void)
{
    expect("\"axes\": [{\"max-batch\": [1, 2]}], \"options\": {\"seq\": \"{max-batch}\"}, "
           "\"where\": [\"max_batch - 1\"]",
           "--seq=2\n");
}

static void a_question_asked_twice_is_one(void)
{
    expect("\"axes\": [{\"seq\": [1, 2, 1, 1, 2, 1]}]", "--seq=1\n--seq=2\n");
}

static char *key_of(const char *body, const char *version)
{
    g_autoptr(RhStudy) study = load(body, version, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(study);
    return g_strdup(((const RhStudyItem *)g_ptr_array_index(study->items, 0))->key);
}

/* A key is of all that decides the answer: also of a file that a value names. */
static void keys_follow_all_inputs(void)
{
    g_autofree char *path = g_strdup_printf("%s/platform-%d.json", g_get_tmp_dir(), getpid());
    g_autofree char *body = g_strdup_printf("\"axes\": [{\"platform\": [\"%s:8\"]}]", path);
    g_autofree char *none = key_of(body, "1");
    CU_ASSERT_TRUE(g_file_set_contents(path, "one", -1, NULL));
    g_autofree char *one = key_of(body, "1"), *same = key_of(body, "1"), *newer = key_of(body, "2");
    CU_ASSERT_TRUE(g_file_set_contents(path, "two", -1, NULL));
    g_autofree char *two = key_of(body, "1");
    g_unlink(path);
    CU_ASSERT_STRING_EQUAL(one, same);
    CU_ASSERT_STRING_NOT_EQUAL(one, none);
    CU_ASSERT_STRING_NOT_EQUAL(one, two);
    CU_ASSERT_STRING_NOT_EQUAL(one, newer);
}

static void mistakes_are_told_with_their_place(void)
{
    static const struct {
        const char *body, *words;
    } rows[] = {
        {"\"axes\": [{\"sequence\": [1]}]", "has no option --sequence"},
        {"\"options\": {\"sq\": 1}, \"axes\": [{\"seq\": [1]}]", "no option --sq"},
        {"\"options\": {\"seq\": 1}, \"axes\": [{\"seq\": [1]}]", "is an axis as well"},
        {"\"options\": {\"json\": true}, \"axes\": [{\"seq\": [1]}]", "not a study's to say"},
        {"\"options\": {\"strategy\": \"tp{t}\"}, \"axes\": [{\"seq\": [1]}]",
         "no axis is called \"t\""},
        {"\"axes\": [{\"seq\": [1, 2], \"gpus\": [1]}]", "1 values, but \"seq\" beside it has 2"},
        {"\"axes\": [{\"seq\": [1]}, {\"seq\": [2]}]", "stands twice"},
        {"\"axes\": [{\"seq\": []}]", "without values"},
        {"\"axes\": [{\"seq\": [1]}], \"where\": [\"seq > gpus\"]", "no axis of whole numbers"},
        {"\"axes\": [{\"seq\": [1]}], \"where\": [\"seq > 1\"]", "no combination is left"},
        {"\"axes\": [{\"seq\": [\"wrong\"]}]", "is no number"},
        {"\"axes\": [{\"seq\": [1]}], \"filter\": []", "unknown key"},
        {"\"axes\": [{\"seq\": {\"from\": 1, \"to\": 2}}]", "a range needs"},
        {"\"axes\": [{\"seq\": {\"from\": 1, \"to\": 2000, \"plus\": 1}}, {\"gpus\": {\"from\": 1, "
         "\"to\": 2000, \"plus\": 1}}]",
         "combinations"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhStudy) study = load(rows[i].body, "1", &error);
        CU_ASSERT_PTR_NULL(study);
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        bool said = error && rh_test_says(error->message, rows[i].words) &&
                    strstr(error->message, ".json:1:");
        CU_ASSERT_TRUE(said);
        if (!said)
            printf("%s\n", error ? error->message : "no error");
    }
}

int main(void)
{
    return rh_test_main(
        "study",
        (RhTest[]){{"objects_are_crossed_and_members_advance_together",
                    objects_are_crossed_and_members_advance_together},
                   {"names_in_values_are_replaced", names_in_values_are_replaced},
                   {"flags_are_on_or_left_out", flags_are_on_or_left_out},
                   {"ranges_multiply_or_add", ranges_multiply_or_add},
                   {"filters_leave_out", filters_leave_out},
                   {"names_with_dashes_are_filtered_by", names_with_dashes_are_filtered_by},
                   {"a_question_asked_twice_is_one", a_question_asked_twice_is_one},
                   {"keys_follow_all_inputs", keys_follow_all_inputs},
                   {"mistakes_are_told_with_their_place", mistakes_are_told_with_their_place},
                   {0}});
}

#define _GNU_SOURCE /* O_TMPFILE */
/* Files and the writer: what base/json/json.h promises on the way out. */
#include "base/json/json.h"

#include <fcntl.h>
#include <float.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json/json_internal.h"
#include "tests/kit/json_kit.h"
#include "tests/kit/testkit.h"

/* --- helpers --- */

/* --- files --- */

static char *scratch(const char *name)
{
    g_autofree char *folder = g_dir_make_tmp("rehearse-json-XXXXXX", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    return g_build_filename(folder, name, NULL);
}

static void clear(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_unlink(path);
    CU_ASSERT_EQUAL(g_rmdir(folder), 0); /* nothing else was left there */
}

static void files_that_cannot_be_read_are_io_errors(void)
{
    const char *paths[] = {"/nonexistent/x.json", "/"};
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhJson) doc = rh_json_load(paths[i], &error);
        CU_ASSERT_PTR_NULL(doc);
        CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_IO));
    }
}

static void endless_files_are_refused(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhJson) doc = rh_json_load("/dev/zero", &error);
    CU_ASSERT_PTR_NULL(doc);
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
    has(error->message, "larger than 64 MiB");
}

static void files_are_written_whole_and_read_back(void)
{
    g_autofree char *path = scratch("a.json");
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE(rh_file_write(path, "{\"a\": 1}", 8, &error));
    CU_ASSERT_TRUE(rh_file_write(path, "{\"a\": 2}", 8, &error));
    g_autoptr(RhJson) doc = rh_json_load(path, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
    CU_ASSERT_EQUAL(rh_json_int(doc, rh_json_root(doc), "a", 0, 9), 2);
    clear(path);
}

static void a_failed_write_leaves_the_folder_as_it_was(void)
{
    g_autofree char *path = scratch("folder");
    g_autoptr(GError) error = NULL;
    CU_ASSERT_EQUAL_FATAL(g_mkdir(path, 0700), 0);
    CU_ASSERT_FALSE(rh_file_write(path, "x", 1, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_IO));
    g_clear_error(&error);
    CU_ASSERT_EQUAL(g_rmdir(path), 0);
    clear(path);
    CU_ASSERT_FALSE(rh_file_write("/nonexistent/x", "x", 1, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_IO));
}

static void devices_and_links_are_written_through(void)
{
    struct stat info;
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE(rh_file_write("/dev/null", "x", 1, &error));
    CU_ASSERT_FALSE(rh_file_write("/dev/full", "x", 1, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_IO));
    g_clear_error(&error);
    CU_ASSERT_TRUE(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode));
    g_autofree char *link = scratch("link");
    g_autofree char *target = g_strconcat(link, ".target", NULL);
    CU_ASSERT_TRUE(rh_file_write(target, "old", 3, &error));
    CU_ASSERT_EQUAL_FATAL(symlink(target, link), 0);
    CU_ASSERT_TRUE(rh_file_write(link, "new", 3, &error));
    CU_ASSERT_TRUE(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
    g_autofree char *text = NULL;
    CU_ASSERT_TRUE(g_file_get_contents(target, &text, NULL, NULL));
    CU_ASSERT_STRING_EQUAL(text, "new");
    g_unlink(target);
    clear(link);
}

/* Files in the folder besides `name`. */
static int others_in(const char *folder, const char *name)
{
    int count = 0;
    GDir *dir = g_dir_open(folder, 0, NULL);
    for (const char *entry; dir && (entry = g_dir_read_name(dir));)
        count += strcmp(entry, name) != 0;
    if (dir)
        g_dir_close(dir);
    return count;
}

static bool write_anyhow(const char *path, const char *text, size_t length)
{
    return rh_file_write(path, text, length, NULL);
}

/* Writes as on file systems without unnamed files (O_TMPFILE). */
static bool write_beside(const char *path, const char *text, size_t length)
{
    return rh_file_write_beside(path, text, length, -1);
}

typedef bool (*WriteFunc)(const char *path, const char *text, size_t length);

#define TEXT_BYTES (1 << 20)

/* A process that writes the file over and over, full of one letter. */
static pid_t begin_writing(const char *path, WriteFunc write_file, char letter)
{
    static char text[TEXT_BYTES];
    pid_t child = fork();
    if (child == 0) {
        memset(text, letter, sizeof text);
        while (write_file(path, text, sizeof text))
            ;
        _exit(1);
    }
    return child;
}

/* Writes the file over and over until it is killed. */
static void write_until_killed(const char *path, WriteFunc write_file, int after_us)
{
    pid_t child = begin_writing(path, write_file, 'x');
    g_usleep((gulong)after_us);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void of_a_killed_writer_nothing_is_left(void)
{
    g_autofree char *folder = g_dir_make_tmp("rh-killed-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "out.json", NULL);
    g_autofree char *part = g_build_filename(folder, ".out.json.rehearse-part", NULL);
    int nameless = open(folder, O_TMPFILE | O_WRONLY, 0600);
    if (nameless < 0) {
        printf("    no files without names here: not tested\n");
        g_rmdir(folder);
        return;
    }
    close(nameless);
    for (int i = 0; i < 40; i++) {
        write_until_killed(path, write_anyhow, 2000 + 173 * i);
        CU_ASSERT_EQUAL(others_in(folder, "out.json"), g_file_test(part, G_FILE_TEST_EXISTS));
    }
    CU_ASSERT_TRUE(g_file_set_contents(part, "stale", -1, NULL));
    CU_ASSERT_TRUE(rh_file_write(path, "new", 3, NULL));
    CU_ASSERT_EQUAL(others_in(folder, "out.json"), 0);
    g_unlink(path);
    CU_ASSERT_EQUAL(g_rmdir(folder), 0);
}

static void of_a_killed_writer_without_nameless_files_one_name_is_left(void)
{
    g_autofree char *folder = g_dir_make_tmp("rh-killed-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "out.json", NULL);
    g_autofree char *part = g_build_filename(folder, ".out.json.rehearse-part", NULL);
    int left = 0;
    for (int i = 0; i < 40; i++) {
        write_until_killed(path, write_beside, 2000 + 173 * i);
        bool parted = g_file_test(part, G_FILE_TEST_EXISTS);
        CU_ASSERT_EQUAL(others_in(folder, "out.json"), parted);
        left += parted;
    }
    CU_ASSERT_TRUE(left > 0); /* else nothing was tried */
    CU_ASSERT_TRUE(write_beside(path, "new", 3));
    CU_ASSERT_EQUAL(others_in(folder, "out.json"), 0);
    g_autofree char *text = NULL;
    CU_ASSERT_TRUE(g_file_get_contents(path, &text, NULL, NULL));
    CU_ASSERT_STRING_EQUAL(text, "new");
    CU_ASSERT_FALSE(write_beside("/nonexistent/x", "x", 1));
    CU_ASSERT_EQUAL(g_mkdir(part, 0700), 0); /* what is not ours to take away */
    CU_ASSERT_FALSE(write_beside(path, "x", 1));
    g_rmdir(part);
    g_unlink(path);
    CU_ASSERT_EQUAL(g_rmdir(folder), 0);
}

/* Two at once, one of them killed now and then: whoever reads sees one writer's file, whole. */
static void writers_of_one_file_do_not_mix(void)
{
    g_autofree char *folder = g_dir_make_tmp("rh-both-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "out.json", NULL);
    pid_t stays = begin_writing(path, write_beside, 'a');
    int seen = 0;
    for (int i = 0; i < 10; i++) {
        pid_t goes = begin_writing(path, write_beside, 'b');
        for (int k = 0; k < 10; k++) {
            g_autofree char *text = NULL;
            gsize length = 0;
            g_usleep(1500);
            if (!g_file_get_contents(path, &text, &length, NULL))
                continue;
            seen++;
            CU_ASSERT_EQUAL(length, TEXT_BYTES);
            CU_ASSERT_EQUAL(strspn(text, (char[]){text[0], 0}), length);
        }
        kill(goes, SIGKILL);
        waitpid(goes, NULL, 0);
    }
    CU_ASSERT_TRUE(seen > 0);
    CU_ASSERT_EQUAL(waitpid(stays, NULL, WNOHANG), 0); /* still at it */
    kill(stays, SIGKILL);
    waitpid(stays, NULL, 0);
    CU_ASSERT_TRUE(write_beside(path, "new", 3));
    CU_ASSERT_EQUAL(others_in(folder, "out.json"), 0);
    g_unlink(path);
    CU_ASSERT_EQUAL(g_rmdir(folder), 0);
}

/* --- writing --- */

static void the_writer_nests_and_indents(void)
{
    for (int pretty = 0; pretty < 2; pretty++) {
        g_autoptr(RhJsonWriter) w = rh_json_writer_new(pretty);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "s", "a\"b\\c\n\t\x01ä");
        rh_json_begin_array(w, "a");
        rh_json_put_int(w, NULL, INT64_MIN);
        rh_json_put_bool(w, NULL, true);
        rh_json_put_null(w, NULL);
        rh_json_put_string(w, NULL, NULL);
        rh_json_end_array(w);
        rh_json_begin_object(w, "e");
        rh_json_end_object(w);
        rh_json_end_object(w);
        g_autofree char *text = rh_json_writer_steal(w);
        CU_ASSERT_STRING_EQUAL(
            text, pretty ? "{\n  \"s\": \"a\\\"b\\\\c\\n\\t\\u0001ä\",\n  \"a\": [\n"
                           "    -9223372036854775808,\n    true,\n    null,\n    null\n  ],\n"
                           "  \"e\": {}\n}\n"
                         : "{\"s\":\"a\\\"b\\\\c\\n\\t\\u0001ä\",\"a\":[-9223372036854775808,true,"
                           "null,null],\"e\":{}}\n");
        g_autoptr(RhJson) doc = parse(text);
        CU_ASSERT_EQUAL(rh_json_kind(rh_json_first(rh_json_root(doc))), RH_JSON_TEXT);
    }
}

static char *number(double value, bool exact)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(false);
    if (exact)
        rh_json_put_exact(w, NULL, value);
    else
        rh_json_put_number(w, NULL, value);
    g_autofree char *text = rh_json_writer_steal(w);
    return g_strndup(text, strlen(text) - 1);
}

static void numbers_are_written_the_same_everywhere(void)
{
    const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0, "0"},
                 {1, "1"},
                 {-7, "-7"},
                 {0.1, "0.1"},
                 {1.0 / 3, "0.333333333"},
                 {70553706496.0, "70553706496"},
                 {1e15, "1e+15"},
                 {1e-9, "1e-09"},
                 {123456.789012345, "123456.789"},
                 {DBL_MAX, "1.79769313e+308"}};
    const char *german = setlocale(LC_ALL, "de_DE.UTF-8"); /* NULL where it is not installed */
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = number(cases[i].value, false);
        CU_ASSERT_STRING_EQUAL(text, cases[i].text);
    }
    g_autoptr(RhJson) doc = parse("{\"x\": 1.5, \"q\": 2.5}");
    CU_ASSERT_EQUAL(rh_json_number(doc, rh_json_root(doc), "x", 0, 9), 1.5);
    rh_json_quantity(doc, rh_json_root(doc), "q", RH_QUANTITY_S);
    g_autofree char *message = finish(doc);
    has(message, "q: \"2.5\" is not a time");
    if (german)
        setlocale(LC_ALL, "C");
}

static void exact_numbers_come_back_bit_for_bit(void)
{
    const double values[] = {0.1,     1.0 / 3,  -0.0,    5e-324, DBL_MIN, DBL_MAX,
                             -2.5e-7, 1 / 49.0, 0x1p-52, 1e22,   M_PI,    9007199254740993.0};
    for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
        g_autofree char *text = number(values[i], true);
        g_autoptr(RhJson) doc = parse(text);
        double back = rh_json_node_number(doc, rh_json_root(doc), -DBL_MAX, DBL_MAX);
        CU_ASSERT_EQUAL(memcmp(&back, &values[i], sizeof(back)), 0);
    }
    g_autofree char *tenth = number(0.1, true);
    CU_ASSERT_STRING_EQUAL(tenth, "0.1");
}

int main(void)
{
    return rh_test_main(
        "json_write",
        (RhTest[]){
            {"files_that_cannot_be_read_are_io_errors", files_that_cannot_be_read_are_io_errors},
            {"endless_files_are_refused", endless_files_are_refused},
            {"files_are_written_whole_and_read_back", files_are_written_whole_and_read_back},
            {"a_failed_write_leaves_the_folder_as_it_was",
             a_failed_write_leaves_the_folder_as_it_was},
            {"devices_and_links_are_written_through", devices_and_links_are_written_through},
            {"of_a_killed_writer_nothing_is_left", of_a_killed_writer_nothing_is_left},
            {"of_a_killed_writer_without_nameless_files_one_name_is_left",
             of_a_killed_writer_without_nameless_files_one_name_is_left},
            {"writers_of_one_file_do_not_mix", writers_of_one_file_do_not_mix},
            {"the_writer_nests_and_indents", the_writer_nests_and_indents},
            {"numbers_are_written_the_same_everywhere", numbers_are_written_the_same_everywhere},
            {"exact_numbers_come_back_bit_for_bit", exact_numbers_come_back_bit_for_bit},
            {0}});
}

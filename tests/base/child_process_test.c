/* Programs that we start, and files of the moment: gone when we are, however that happens. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/cleanup_supervisor.h"
#include "base/error.h"
#include "tests/kit/testkit.h"

#define WAIT_US 8000000

static void both_streams_and_the_status_come_back(void)
{
    const char *const argv[] = {"sh", "-c", "echo one; echo two >&2; exit 7", NULL};
    g_autofree char *out = NULL;
    g_autofree char *err = NULL;
    int status = 0;
    CU_ASSERT_TRUE_FATAL(rh_child_run(argv, 0, &out, &err, &status, NULL));
    CU_ASSERT_STRING_EQUAL(out, "one\n");
    CU_ASSERT_STRING_EQUAL(err, "two\n");
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void what_is_not_there_cannot_be_started(void)
{
    const char *const argv[] = {"/nosuch/program", NULL};
    g_autoptr(GError) error = NULL;
    int status = 0;
    CU_ASSERT_FALSE(rh_child_run(argv, 0, NULL, NULL, &status, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_IO));
}

static bool lives(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return false;
    const char *state = strrchr(text, ')');
    return state && state[1] && state[2] != 'Z'; /* who starts orphans reaps them, or not */
}

static bool gone_in_time(pid_t pid)
{
    for (int64_t t_end_us = g_get_monotonic_time() + WAIT_US; lives(pid); g_usleep(10000))
        if (g_get_monotonic_time() > t_end_us)
            return false;
    return true;
}

/* Two numbers that a script wrote into a file, once they are there. */
static bool read_pids(const char *path, pid_t pids[2])
{
    for (int64_t t_end_us = g_get_monotonic_time() + WAIT_US; g_get_monotonic_time() < t_end_us;
         g_usleep(10000)) {
        g_autofree char *text = NULL;
        int both[2];
        if (g_file_get_contents(path, &text, NULL, NULL) &&
            sscanf(text, "%d %d\n", &both[0], &both[1]) == 2 && strchr(text, '\n')) {
            pids[0] = both[0];
            pids[1] = both[1];
            return true;
        }
    }
    return false;
}

/* A shell and what it started, deaf to requests. */
static char *long_script(const char *path)
{
    return g_strdup_printf("trap '' TERM; sleep 1000 & echo $$ $! >'%s'; wait; sleep 1000", path);
}

static void a_program_and_its_own_end_in_time(void)
{
    g_autofree char *path = rh_temp_file("rehearse-test-XXXXXX", NULL);
    g_autofree char *script = long_script(path);
    const char *const argv[] = {"sh", "-c", script, NULL};
    g_autoptr(GError) error = NULL;
    pid_t pids[2] = {0};
    int status = 0;
    CU_ASSERT_FALSE(rh_child_run(argv, 0.3, NULL, NULL, &status, &error));
    CU_ASSERT_TRUE(g_error_matches(error, RH_ERROR, RH_ERROR_NO_ANSWER));
    CU_ASSERT_TRUE_FATAL(read_pids(path, pids));
    CU_ASSERT_TRUE(gone_in_time(pids[0]) && gone_in_time(pids[1]));
    rh_temp_remove(path);
    CU_ASSERT_FALSE(g_file_test(path, G_FILE_TEST_EXISTS));
}

/* Simulates `rehearse calibrate --run` being ended by a signal. */
static void be_ended(int signal_number)
{
    g_autofree char *told = rh_temp_file("rehearse-told-XXXXXX", NULL);
    g_autofree char *where = rh_temp_file("rehearse-where-XXXXXX", NULL);
    pid_t pids[2] = {0}, rehearse = fork();
    if (rehearse == 0) {
        g_autofree char *folder = rh_temp_folder("rehearse-moment-XXXXXX", NULL);
        g_autofree char *inner = g_build_filename(folder, "file", NULL);
        g_autofree char *script = long_script(told);
        const char *const argv[] = {"sh", "-c", script, NULL};
        int status;
        g_file_set_contents(inner, "x", -1, NULL);
        g_file_set_contents(where, folder, -1, NULL);
        bool ran = rh_child_run(argv, 0, NULL, NULL, &status, NULL);
        _exit(!ran);
    }
    CU_ASSERT_TRUE_FATAL(rehearse > 0 && read_pids(told, pids));
    kill(rehearse, signal_number);
    waitpid(rehearse, NULL, 0);
    CU_ASSERT_TRUE(gone_in_time(pids[0]) && gone_in_time(pids[1]));
    g_autofree char *folder = NULL;
    CU_ASSERT_TRUE_FATAL(g_file_get_contents(where, &folder, NULL, NULL));
    int64_t t_end_us = g_get_monotonic_time() + WAIT_US;
    while (g_file_test(folder, G_FILE_TEST_EXISTS) && g_get_monotonic_time() < t_end_us)
        g_usleep(10000);
    CU_ASSERT_FALSE(g_file_test(folder, G_FILE_TEST_EXISTS));
    rh_temp_remove(told);
    rh_temp_remove(where);
}

static void nothing_outlives_us(void)
{
    static const int signals[] = {SIGTERM, SIGHUP, SIGKILL, SIGXFSZ};
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
        be_ended(signals[i]);
}

int main(void)
{
    int failed = rh_test_main(
        "child",
        (RhTest[]){{"both_streams_and_the_status_come_back", both_streams_and_the_status_come_back},
                   {"what_is_not_there_cannot_be_started", what_is_not_there_cannot_be_started},
                   {"a_program_and_its_own_end_in_time", a_program_and_its_own_end_in_time},
                   {"nothing_outlives_us", nothing_outlives_us},
                   {0}});
    rh_supervisor_end();
    return failed;
}

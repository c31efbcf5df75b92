#define _GNU_SOURCE /* pipe2, nftw */
#include "base/cleanup_supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define WORD_MAX   4096 /* bytes of a record: writes of up to so many are atomic */
#define GRACE_MS   2000
#define LOOK_MS    20
#define FILES_OPEN 16 /* of a walk through a folder */
#define FDS_MOST   4096

/* The one supervisor of this process. Records sent to it end in NUL: '+' or '-', 'g' or 'p', the
 * group's number or the path. */
static struct {
    pid_t owner, pid; /* pid 0: none yet */
    int pipe;
} warden;

/* --- cleaning up --- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    remove(path);
    return 0;
}

static void remove_all(const char *path)
{
    nftw(path, remove_entry, FILES_OPEN, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void nap_ms(long ms)
{
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&span, NULL);
}

/* A group whose leader is our child is gone when that has been reaped. */
void rh_supervisor_end_group(pid_t group)
{
    if (group <= 1 || kill(-group, SIGTERM) != 0)
        return;
    for (int waited_ms = 0; waited_ms < GRACE_MS; waited_ms += LOOK_MS) {
        waitpid(group, NULL, WNOHANG);
        if (kill(-group, 0) != 0)
            return;
        nap_ms(LOOK_MS);
    }
    kill(-group, SIGKILL);
}

static void take_record(GPtrArray *records, const char *record)
{
    if (record[0] == '+') {
        g_ptr_array_add(records, g_strdup(record + 1));
        return;
    }
    for (guint i = 0; i < records->len; i++)
        if (strcmp(g_ptr_array_index(records, i), record + 1) == 0) {
            g_ptr_array_remove_index(records, i);
            return;
        }
}

static void read_records(int pipe, GPtrArray *records)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char chunk[WORD_MAX];
    for (;;) {
        ssize_t got = read(pipe, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        g_string_append_len(text, chunk, got);
        for (char *end; (end = memchr(text->str, 0, text->len)) != NULL;) {
            take_record(records, text->str);
            g_string_erase(text, 0, end - text->str + 1);
        }
    }
}

/* Runs the supervisor in its own session, so that signals to a terminal's processes do not end it
 * first. */
G_GNUC_NORETURN static void keep_watch(int pipe)
{
    g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func(g_free);
    setsid();
    prctl(PR_SET_NAME, "rehearse-warden");
    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        signal(signal_number, signal_number == SIGCHLD ? SIG_DFL : SIG_IGN);
    int nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < FDS_MOST; fd++) /* pipes whose other end waits for their closing */
        if (fd <= 2 && nowhere >= 0)
            dup2(nowhere, fd);
        else if (fd != pipe)
            close(fd);
    read_records(pipe, records);
    for (guint i = 0; i < records->len; i++) {
        const char *record = g_ptr_array_index(records, i);
        if (record[0] == 'g')
            rh_supervisor_end_group((pid_t)strtol(record + 1, NULL, 10));
    }
    for (guint i = 0; i < records->len; i++) {
        const char *record = g_ptr_array_index(records, i);
        if (record[0] == 'p')
            remove_all(record + 1);
    }
    _exit(0);
}

/* --- records --- */

void rh_supervisor_begin(void)
{
    int ends[2];
    if (warden.pid && warden.owner == getpid())
        return;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    fflush(NULL);
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[1]);
        keep_watch(ends[0]);
    }
    close(ends[0]);
    if (pid < 0) { /* works without a supervisor rather than fail */
        close(ends[1]);
        return;
    }
    warden.owner = self;
    warden.pid = pid;
    warden.pipe = ends[1];
}

static void send_record(char sign, char kind, const char *text)
{
    char record[WORD_MAX];
    int length = snprintf(record, sizeof record, "%c%c%s", sign, kind, text);
    if (!warden.pid || length < 0 || length >= WORD_MAX)
        return;
    while (write(warden.pipe, record, (size_t)length + 1) < 0 && errno == EINTR)
        ;
}

static void tell_group(char sign, pid_t group)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)group);
    send_record(sign, 'g', number);
}

void rh_supervisor_watch(pid_t group)
{
    tell_group('+', group);
}

void rh_supervisor_forget(pid_t group)
{
    tell_group('-', group);
}

void rh_supervisor_end(void)
{
    if (!warden.pid || warden.owner != getpid())
        return;
    close(warden.pipe);
    while (waitpid(warden.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    warden.pid = 0;
}

/* --- temporary files --- */

char *rh_temp_file(const char *pattern, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autofree char *path = NULL;
    rh_supervisor_begin();
    int file = g_file_open_tmp(pattern, &path, &local);
    if (file < 0) {
        rh_fail(error, RH_ERROR_IO, "%s", local->message);
        return NULL;
    }
    send_record('+', 'p', path);
    close(file);
    return g_steal_pointer(&path);
}

char *rh_temp_folder(const char *pattern, GError **error)
{
    g_autoptr(GError) local = NULL;
    rh_supervisor_begin();
    char *path = g_dir_make_tmp(pattern, &local);
    if (path)
        send_record('+', 'p', path);
    else
        rh_fail(error, RH_ERROR_IO, "%s", local->message);
    return path;
}

void rh_temp_remove(const char *path)
{
    if (!path)
        return;
    remove_all(path);
    send_record('-', 'p', path);
}

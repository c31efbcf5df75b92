#define _GNU_SOURCE /* pipe2 */
#include "base/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup_supervisor.h"
#include "base/error.h"

#define LOOK_MS 20 /* longest delay until the child's end is noticed */

enum { OUT, ERR, FAILURE, STREAMS }; /* the last one reports why it could not be started */

typedef struct {
    int ends[STREAMS][2]; /* -1: none */
    GString *texts[STREAMS];
    pid_t pid;
    int64_t t_end_us; /* 0: none */
    bool late;
} Child;

static bool open_streams(Child *c, const bool wanted[STREAMS], GError **error)
{
    for (int i = 0; i < STREAMS; i++)
        c->ends[i][0] = c->ends[i][1] = -1;
    for (int i = 0; i < STREAMS; i++)
        if (wanted[i] && pipe2(c->ends[i], O_CLOEXEC) != 0)
            return rh_fail(error, RH_ERROR_IO, "cannot make a pipe: %s", g_strerror(errno));
    return true;
}

static void close_ends(Child *c, int which)
{
    for (int i = 0; i < STREAMS; i++) {
        if (c->ends[i][which] >= 0)
            close(c->ends[i][which]);
        c->ends[i][which] = -1;
    }
}

/* Replaces the child by the command, up to exec. */
G_GNUC_NORETURN static void exec_command(Child *c, const char *const *argv, pid_t parent)
{
    sigset_t none;
    setpgid(0, 0);
    rh_supervisor_watch(getpid());
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    int out = c->ends[OUT][1] >= 0 ? c->ends[OUT][1] : open("/dev/null", O_WRONLY);
    dup2(out, STDOUT_FILENO);
    if (c->ends[ERR][1] >= 0)
        dup2(c->ends[ERR][1], STDERR_FILENO);
    execvp(argv[0], (char *const *)argv);
    int why = errno;
    ssize_t told = write(c->ends[FAILURE][1], &why, sizeof why);
    _exit(told < 0 ? 126 : 127);
}

static bool start_child(Child *c, const char *const *argv, GError **error)
{
    rh_supervisor_begin();
    fflush(NULL);
    pid_t self = getpid();
    c->pid = fork();
    if (c->pid == 0)
        exec_command(c, argv, self);
    close_ends(c, 1);
    if (c->pid < 0)
        return rh_fail(error, RH_ERROR_IO, "cannot start %s: %s", argv[0], g_strerror(errno));
    setpgid(c->pid, c->pid); /* in both processes, whichever is first */
    return true;
}

/* Milliseconds to wait at most. */
static int patience_ms(const Child *c, bool streams_open)
{
    if (!c->t_end_us)
        return streams_open ? -1 : LOOK_MS;
    int64_t left_ms = (c->t_end_us - g_get_monotonic_time()) / 1000 + 1;
    return (int)CLAMP(left_ms, 0, streams_open ? G_MAXINT / 2 : LOOK_MS);
}

static void read_stream(Child *c, int which)
{
    char chunk[65536];
    ssize_t got = read(c->ends[which][0], chunk, sizeof chunk);
    if (got < 0 && errno == EINTR)
        return;
    if (got > 0) {
        g_string_append_len(c->texts[which], chunk, got);
        return;
    }
    close(c->ends[which][0]);
    c->ends[which][0] = -1;
}

static bool is_open(const Child *c)
{
    for (int i = 0; i < STREAMS; i++)
        if (c->ends[i][0] >= 0)
            return true;
    return false;
}

static void look_at_clock(Child *c)
{
    if (!c->t_end_us || c->late || g_get_monotonic_time() < c->t_end_us)
        return;
    c->late = true;
    c->t_end_us = 0;
    rh_supervisor_end_group(c->pid);
    close_ends(c, 0); /* other processes that hold them do not matter */
}

/* Reads the child until its streams are closed and it has ended. */
static void read_until_end(Child *c, int *status)
{
    for (;;) {
        bool open = is_open(c);
        struct pollfd fds[STREAMS];
        for (int i = 0; i < STREAMS; i++)
            fds[i] = (struct pollfd){.fd = c->ends[i][0], .events = POLLIN};
        if (!open && waitpid(c->pid, status, WNOHANG) != 0) /* ECHILD: the timeout has reaped it */
            return;
        if (poll(fds, STREAMS, patience_ms(c, open)) > 0)
            for (int i = 0; i < STREAMS; i++)
                if (fds[i].revents)
                    read_stream(c, i);
        look_at_clock(c);
    }
}

bool rh_child_run(const char *const *argv, double timeout_s, char **out, char **err, int *status,
                  GError **error)
{
    Child c = {.pid = -1};
    const bool wanted[STREAMS] = {out != NULL, err != NULL, true};
    bool started = open_streams(&c, wanted, error);
    if (timeout_s > 0)
        c.t_end_us = g_get_monotonic_time() + (int64_t)(1e6 * fmin(timeout_s, 1e9));
    for (int i = 0; i < STREAMS; i++)
        c.texts[i] = g_string_new(NULL);
    started = started && start_child(&c, argv, error);
    *status = 0;
    if (started) {
        read_until_end(&c, status);
        rh_supervisor_forget(c.pid);
    }
    close_ends(&c, 0);
    close_ends(&c, 1);
    int why = 0;
    if (c.texts[FAILURE]->len == sizeof why)
        memcpy(&why, c.texts[FAILURE]->str, sizeof why);
    bool fine = started && !why && !c.late;
    if (why)
        rh_fail(error, RH_ERROR_IO, "%s cannot be started: %s", argv[0], g_strerror(why));
    else if (c.late)
        rh_fail(error, RH_ERROR_NO_ANSWER, "%s was ended after %g s", argv[0], timeout_s);
    if (fine && out)
        *out = g_string_free(g_steal_pointer(&c.texts[OUT]), FALSE);
    if (fine && err)
        *err = g_string_free(g_steal_pointer(&c.texts[ERR]), FALSE);
    for (int i = 0; i < STREAMS; i++)
        if (c.texts[i])
            g_string_free(c.texts[i], TRUE);
    return fine;
}

#include "sim/engine/engine.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "sim/engine/exec.h"
#include "sim/run.h"

/* One rehearsal in this very process: SimGrid allows one engine per process, so only children come
 * here. */
static RhRun *rehearse(const RhProgram *p, const RhPlatform *platform,
                       const RhEngineOptions *options, GError **error)
{
    bool message_level = platform->messages.sender != RH_SHARING_NONE;
    g_autoptr(RhTraffic) traffic = rh_traffic_new(p, platform, error);
    if (!traffic)
        return NULL;
    g_autoptr(RhFold) fold = rh_fold_new(traffic, options->unfolded || message_level, error);
    if (!fold)
        return NULL;
    g_autoptr(RhQuotient) quotient = rh_quotient_new(traffic, fold);
    RhExecInput input = {traffic, fold, quotient, options};
    return rh_exec_run(&input, error);
}

/* --- children --- */

typedef struct {
    RhBuildFunc build; /* NULL: `program` is performed */
    void *user;
    const RhProgram *program;
    const RhPlatform *platform;
    const RhEngineOptions *options;
    int64_t t_start_us; /* of the call: what the time-out counts from */
} Job;

typedef struct {
    int32_t item;
    pid_t pid; /* 0 = free */
    int pipe;
    bool timed_out;
    GByteArray *bytes;
} Worker;

enum { ANSWER_RUN = 'R', ANSWER_ERROR = 'E' };

static void write_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            _exit(1);
        bytes += written;
        length -= (size_t)written;
    }
}

static void answer(int fd, const RhRun *run, const GError *error)
{
    uint8_t kind = run ? ANSWER_RUN : ANSWER_ERROR;
    write_all(fd, &kind, 1);
    if (run) {
        g_autoptr(GByteArray) bytes = rh_run_pack(run);
        write_all(fd, bytes->data, bytes->len);
        return;
    }
    int32_t code = error && error->domain == RH_ERROR ? error->code : RH_ERROR_INTERNAL;
    const char *text = error ? error->message : "the rehearsal failed without saying why";
    write_all(fd, (const uint8_t *)&code, sizeof code);
    write_all(fd, (const uint8_t *)text, strlen(text));
}

static void perform_item(const Job *job, int32_t item, int fd)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RhProgram) built = job->build ? job->build(item, job->user, &error) : NULL;
    const RhProgram *p = job->build ? built : job->program;
    g_autoptr(RhRun) run = p ? rehearse(p, job->platform, job->options, &error) : NULL;
    answer(fd, run, error);
}

static bool start_worker(Worker *worker, const Job *job, int32_t item, GError **error)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        return rh_fail(error, RH_ERROR_IO, "cannot make a pipe: %s", g_strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        perform_item(job, item, ends[1]);
        _exit(0);
    }
    int fork_errno = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return rh_fail(error, RH_ERROR_IO, "cannot start a worker process: %s",
                       g_strerror(fork_errno));
    }
    *worker = (Worker){.item = item, .pid = pid, .pipe = ends[0], .bytes = g_byte_array_new()};
    return true;
}

/* False at the end of what the child writes. */
static bool read_some(Worker *worker)
{
    uint8_t buffer[65536];
    ssize_t count = read(worker->pipe, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR)
        return true;
    if (count <= 0)
        return false;
    g_byte_array_append(worker->bytes, buffer, (guint)count);
    return true;
}

static RhRun *read_answer(const Worker *worker, GError **error)
{
    const GByteArray *bytes = worker->bytes;
    if (bytes->len > 1 && bytes->data[0] == ANSWER_RUN) {
        RhRun *run = rh_run_unpack(bytes->data + 1, bytes->len - 1);
        if (run)
            return run;
    } else if (bytes->len > sizeof(int32_t) && bytes->data[0] == ANSWER_ERROR) {
        int32_t code;
        memcpy(&code, bytes->data + 1, sizeof code);
        g_autofree char *text =
            g_strndup((const char *)bytes->data + 1 + sizeof code, bytes->len - 1 - sizeof code);
        g_set_error_literal(error, RH_ERROR, code, text);
        return NULL;
    }
    rh_fail(error, RH_ERROR_INTERNAL, "the rehearsal's answer broke off");
    return NULL;
}

/* Waits for the child and reads its answer; frees the worker. */
static RhRun *end_worker(Worker *worker, const RhEngineOptions *options, GError **error)
{
    int status = 0;
    close(worker->pipe);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    RhRun *run = NULL;
    if (worker->timed_out)
        rh_fail(error, RH_ERROR_NO_ANSWER,
                "no answer within --timeout: the rehearsal took longer than %g s",
                options->timeout_s);
    else if (WIFSIGNALED(status))
        rh_fail(error, RH_ERROR_INTERNAL, "the rehearsal crashed: signal %d", WTERMSIG(status));
    else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        rh_fail(error, RH_ERROR_INTERNAL, "the rehearsal crashed: exit status %d",
                WEXITSTATUS(status));
    else
        run = read_answer(worker, error);
    g_byte_array_unref(worker->bytes);
    worker->pid = 0;
    return run;
}

/* Milliseconds until the worker's time is up; -1 = never. */
static int time_left_ms(const Worker *worker, const Job *job)
{
    if (job->options->timeout_s <= 0 || worker->timed_out)
        return -1;
    double left_s =
        job->options->timeout_s - (double)(g_get_monotonic_time() - job->t_start_us) * 1e-6;
    return left_s <= 0 ? 0 : (int)MIN(left_s * 1e3 + 1, 1e9);
}

static void kill_if_late(Worker *worker, const Job *job)
{
    if (worker->pid && time_left_ms(worker, job) == 0) {
        worker->timed_out = true;
        kill(worker->pid, SIGKILL);
    }
}

/* Reads from all workers until one has ended; returns it. */
static Worker *next_ended(Worker *workers, int32_t count, const Job *job)
{
    g_autofree struct pollfd *fds = g_new0(struct pollfd, count + 1);
    for (;;) {
        int wait_ms = -1;
        for (int32_t i = 0; i < count; i++) {
            kill_if_late(&workers[i], job);
            fds[i] = (struct pollfd){.fd = workers[i].pid ? workers[i].pipe : -1, .events = POLLIN};
            int left_ms = workers[i].pid ? time_left_ms(&workers[i], job) : -1;
            if (left_ms >= 0 && (wait_ms < 0 || left_ms < wait_ms))
                wait_ms = left_ms;
        }
        if (poll(fds, (nfds_t)count, wait_ms) < 0)
            continue;
        for (int32_t i = 0; i < count; i++)
            if (fds[i].revents && !read_some(&workers[i]))
                return &workers[i];
    }
}

RhRun *rh_engine_run(const RhProgram *p, const RhPlatform *platform, const RhEngineOptions *options,
                     GError **error)
{
    g_return_val_if_fail(p && platform && options, NULL);
    Job job = {.program = p,
               .platform = platform,
               .options = options,
               .t_start_us = g_get_monotonic_time()};
    Worker worker = {0};
    if (!start_worker(&worker, &job, 0, error))
        return NULL;
    return end_worker(next_ended(&worker, 1, &job), options, error);
}

void rh_engine_run_many(int32_t count, int32_t jobs, RhBuildFunc build, const RhPlatform *platform,
                        const RhEngineOptions *options, void *user, RhRun **out, char **errors,
                        void (*progress)(int32_t done, void *user))
{
    g_return_if_fail(build && platform && options && out && errors);
    Job job = {.build = build,
               .user = user,
               .platform = platform,
               .options = options,
               .t_start_us = g_get_monotonic_time()};
    jobs = CLAMP(jobs, 1, MAX(count, 1));
    g_autofree Worker *workers = g_new0(Worker, jobs);
    int32_t started = 0, done = 0;
    while (done < count) {
        for (int32_t w = 0; w < jobs; w++) {
            while (!workers[w].pid && started < count) {
                g_autoptr(GError) error = NULL;
                int32_t item = started++;
                out[item] = NULL;
                errors[item] = NULL;
                if (!start_worker(&workers[w], &job, item, &error)) {
                    errors[item] = g_strdup(error->message);
                    done++;
                }
            }
        }
        if (done == count)
            break;
        g_autoptr(GError) error = NULL;
        Worker *ended = next_ended(workers, jobs, &job);
        int32_t item = ended->item;
        out[item] = end_worker(ended, options, &error);
        errors[item] = error ? g_strdup(error->message) : NULL;
        done++;
        if (progress)
            progress(done, user);
    }
}

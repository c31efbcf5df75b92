#define _GNU_SOURCE /* memfd_create */
#include "sim/engine/workers/process_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/error.h"
#include "sim/engine/workers/multi_machine_pool.h"

#define LAST_WORDS_MAX 2000   /* bytes of a crashed child's standard error that are shown */
#define TRIES_MAX      2      /* of an item whose child was lost */
#define PATIENCE_US    200000 /* before a fork that failed is tried again */
#define REQUESTS_MAX   4      /* failed forks in a row while no child is at work */
#define WORD_EVERY_MS  1000   /* interval of progress messages while nothing ends */

typedef struct {
    int32_t item;
    pid_t pid;       /* 0: free */
    int pipe, words; /* its answer; its standard error, -1: not captured */
    bool late;
    bool beside; /* others were at work meanwhile */
    GByteArray *bytes;
} Worker;

typedef struct {
    const RhProcessPool *what;
    RhDeadline deadline;
    Worker *workers;
    int32_t workers_count;
    int32_t jobs;     /* workers that the machine has resources for */
    int32_t refusals; /* failed forks in a row while no child was at work */
    int32_t count;    /* of items so far */
    bool open;        /* more items may come */
    uint8_t *tries;   /* per item */
    GArray *waiting;  /* int32_t: items to do, the next one last */
} Pool;

enum { ANSWER_BYTES = 'B', ANSWER_ERROR = 'E' };

static void pool_clear(Pool *pool)
{
    g_array_unref(pool->waiting);
    g_free(pool->workers);
    g_free(pool->tries);
}

/* Grows the pool for so many items and workers, and queues the items behind the others. */
static void pool_grow(Pool *pool, int32_t count, int32_t jobs)
{
    int32_t workers = MAX(jobs, pool->workers_count);
    pool->tries = g_renew(uint8_t, pool->tries, count + 1);
    pool->workers = g_renew(Worker, pool->workers, workers + 1);
    memset(pool->tries + pool->count, 0, (size_t)(count - pool->count) + 1);
    memset(pool->workers + pool->workers_count, 0,
           (size_t)(workers - pool->workers_count + 1) * sizeof(Worker));
    for (; pool->count < count; pool->count++)
        g_array_prepend_val(pool->waiting, pool->count);
    pool->workers_count = workers;
    pool->jobs = jobs;
}

static int32_t busy_workers(const Pool *pool)
{
    int32_t count = 0;
    for (int32_t i = 0; i < pool->workers_count; i++)
        count += pool->workers[i].pid != 0;
    return count;
}

/* --- in the child --- */

static void write_all(int fd, const void *data, size_t length)
{
    for (const uint8_t *bytes = data; length > 0;) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            _exit(1);
        bytes += written;
        length -= (size_t)written;
    }
}

static void perform(const RhProcessPool *what, int32_t item, int fd)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GByteArray) bytes = what->perform(item, what->user, &error);
    uint8_t kind = bytes ? ANSWER_BYTES : ANSWER_ERROR;
    write_all(fd, &kind, 1);
    if (bytes) {
        write_all(fd, bytes->data, bytes->len);
        return;
    }
    int32_t code = error && error->domain == RH_ERROR ? error->code : RH_ERROR_INTERNAL;
    const char *text = error ? error->message : "a worker failed without saying why";
    write_all(fd, &code, sizeof code);
    write_all(fd, text, strlen(text));
}

/* Frees, in a child, the parent's state of all workers. */
static void forget(Pool *pool)
{
    for (int32_t i = 0; i < pool->workers_count; i++)
        if (pool->workers[i].pid)
            g_byte_array_unref(pool->workers[i].bytes);
    pool_clear(pool);
}

/* --- starting --- */

/* Sets the error for the resource that a failed system call ran out of; returns false. */
static bool fail_for_want(GError **error, int why)
{
    const char *want = why == EMFILE || why == ENFILE ? "open files (`ulimit -n`)"
                       : why == ENOMEM                ? "memory"
                       : why == EAGAIN                ? "processes (`ulimit -u`)"
                                                      : NULL;
    if (!want)
        return rh_fail(error, RH_ERROR_IO, "cannot start a worker process: %s", g_strerror(why));
    return rh_fail(error, RH_ERROR_REFUSED,
                   "no answer: the machine lends no more %s, and a simulation runs in a process of "
                   "its own",
                   want);
}

/* Gives the child the null device as standard output: any code there that flushes all streams, as
 * SimGrid does, would print again what the caller has buffered. */
static void leave_output(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        dup2(nowhere, STDOUT_FILENO);
}

static bool start_worker(Pool *pool, Worker *worker, int32_t item, GError **error)
{
    int ends[2];
    if (pipe(ends) != 0)
        return fail_for_want(error, errno);
    int words = memfd_create("rehearse-words", MFD_CLOEXEC);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        close(ends[0]);
        rh_rank_pool_forget();
        if (words >= 0)
            dup2(words, STDERR_FILENO);
        leave_output();
        const RhProcessPool *what = pool->what;
        forget(pool);
        perform(what, item, ends[1]);
        _exit(0);
    }
    int why = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        if (words >= 0)
            close(words);
        return fail_for_want(error, why);
    }
    bool beside = busy_workers(pool) > 0;
    for (int32_t i = 0; i < pool->workers_count; i++)
        pool->workers[i].beside = true;
    *worker = (Worker){.item = item,
                       .pid = pid,
                       .pipe = ends[0],
                       .words = words,
                       .beside = beside,
                       .bytes = g_byte_array_new()};
    return true;
}

/* --- ending --- */

/* Last part of what the child wrote to its standard error; caller frees. */
static char *last_words(const Worker *worker)
{
    char text[LAST_WORDS_MAX + 1];
    off_t end = worker->words >= 0 ? lseek(worker->words, 0, SEEK_END) : 0;
    off_t from = MAX(0, end - LAST_WORDS_MAX);
    ssize_t length = end > 0 ? pread(worker->words, text, LAST_WORDS_MAX, from) : 0;
    text[MAX(0, length)] = '\0';
    return g_strstrip(g_utf8_make_valid(text, -1));
}

static bool is_out_of_memory(const char *words)
{
    return strstr(words, "failed to allocate") || strstr(words, "bad_alloc");
}

static bool fail_for_memory(GError **error, const char *how)
{
    return rh_fail(error, RH_ERROR_NO_ANSWER,
                   "no answer: %s\nhelp: fewer simulations at once need less memory", how);
}

/* Reads an answer that is an error; returns false. */
static bool read_error(const GByteArray *bytes, GError **error)
{
    int32_t code;
    if (bytes->len <= 1 + sizeof code || bytes->data[0] != ANSWER_ERROR)
        return rh_fail(error, RH_ERROR_INTERNAL, "the simulation's answer broke off");
    memcpy(&code, bytes->data + 1, sizeof code);
    g_autofree char *text =
        g_strndup((const char *)bytes->data + 1 + sizeof code, bytes->len - 1 - sizeof code);
    g_set_error_literal(error, RH_ERROR, code, text);
    return false;
}

/* Did the child end well? *lost: another try may succeed. */
static bool check_exit(const Pool *pool, const Worker *worker, int status, bool *lost,
                       GError **error)
{
    *lost = false;
    if (worker->late)
        return rh_fail(error, RH_ERROR_NO_ANSWER,
                       "no answer in time: the simulation was given %g s", pool->what->timeout_s);
    bool signaled = WIFSIGNALED(status), exited = WIFEXITED(status) && WEXITSTATUS(status) != 0;
    if (!signaled && !exited)
        return worker->bytes->len > 1 && worker->bytes->data[0] == ANSWER_BYTES
                   ? true
                   : read_error(worker->bytes, error);
    g_autofree char *words = last_words(worker);
    *lost = true;
    if (is_out_of_memory(words))
        return fail_for_memory(error, "memory ran out in a simulation, twice");
    if (signaled && WTERMSIG(status) == SIGKILL)
        return fail_for_memory(error, "the simulation's process was killed, twice: the machine may "
                                      "be out of memory");
    *lost = false;
    return rh_fail(error, RH_ERROR_INTERNAL, "the simulation crashed: %s %d%s%s",
                   signaled ? "signal" : "exit status",
                   signaled ? WTERMSIG(status) : WEXITSTATUS(status), *words ? "\nnote: " : "",
                   words);
}

/* Is the item to be tried again? It is when the child was refused a process of its own while others
 * had some: fewer then run at once. */
static bool is_retried(Pool *pool, const Worker *worker, bool lost, const GError *error)
{
    if (lost)
        return ++pool->tries[worker->item] < TRIES_MAX;
    if (!g_error_matches(error, RH_ERROR, RH_ERROR_REFUSED) || !worker->beside)
        return false;
    pool->jobs = CLAMP(pool->jobs - 1, 1, MAX(1, busy_workers(pool)));
    return true;
}

/* Waits for the child and passes its answer on, or requeues the item. True when it was answered. */
static bool end_worker(Pool *pool, Worker *worker)
{
    int status = 0;
    bool lost;
    g_autoptr(GError) error = NULL;
    g_autoptr(GByteArray) bytes = worker->bytes;
    close(worker->pipe);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    bool fine = check_exit(pool, worker, status, &lost, &error);
    if (worker->words >= 0)
        close(worker->words);
    worker->pid = 0;
    if (is_retried(pool, worker, lost, error)) {
        g_array_append_val(pool->waiting, worker->item);
        return false;
    }
    if (fine)
        g_byte_array_remove_index(bytes, 0);
    pool->what->answer(worker->item, fine ? bytes : NULL, error, pool->what->user);
    return true;
}

/* --- while children run --- */

/* Reads some of the child's output; false at its end. */
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

/* Milliseconds until the timeout; -1: never. */
static int time_left_ms(const Pool *pool)
{
    double left_s = rh_deadline_left_s(pool->deadline);
    if (isinf(left_s))
        return -1;
    return left_s <= 0 ? 0 : (int)fmin(left_s * 1000 + 1, 1000000000);
}

/* Milliseconds to wait for workers, limited by the next progress message. */
static int until_next_word_ms(const Pool *pool, int wait_ms)
{
    if (!pool->what->waiting)
        return wait_ms;
    return wait_ms < 0 ? WORD_EVERY_MS : MIN(wait_ms, WORD_EVERY_MS);
}

static void kill_all(Pool *pool)
{
    for (int32_t i = 0; i < pool->workers_count; i++) {
        Worker *worker = &pool->workers[i];
        if (!worker->pid || worker->late)
            continue;
        worker->late = true;
        kill(worker->pid, SIGKILL);
    }
}

/* Adds items that have arrived. */
static void add_new_items(Pool *pool)
{
    int32_t count = pool->count, jobs = pool->jobs;
    pool->open = pool->what->more(&count, &jobs, pool->what->user);
    pool_grow(pool, count, rh_rank_pool_jobs(jobs));
}

/* Reads from all workers until one has ended, which it returns, or more items have come: NULL. */
static Worker *next_ended(Pool *pool)
{
    int32_t count = pool->workers_count;
    g_autofree struct pollfd *fds = g_new0(struct pollfd, count + 1);
    for (;;) {
        int wait_ms = time_left_ms(pool);
        if (wait_ms == 0) {
            kill_all(pool);
            wait_ms = -1;
        }
        for (int32_t i = 0; i < count; i++)
            fds[i] = (struct pollfd){.fd = pool->workers[i].pid ? pool->workers[i].pipe : -1,
                                     .events = POLLIN};
        fds[count] = (struct pollfd){.fd = pool->open ? pool->what->more_fd : -1, .events = POLLIN};
        int some = poll(fds, (nfds_t)count + 1, until_next_word_ms(pool, wait_ms));
        if (some == 0 && pool->what->waiting)
            pool->what->waiting(pool->what->user);
        if (some <= 0)
            continue;
        for (int32_t i = 0; i < count; i++)
            if (fds[i].revents && !read_some(&pool->workers[i]))
                return &pool->workers[i];
        if (fds[count].revents) {
            add_new_items(pool);
            return NULL;
        }
    }
}

/* Starts the next item. True when it is settled without a worker. */
static bool start_next(Pool *pool)
{
    int32_t item = g_array_index(pool->waiting, int32_t, pool->waiting->len - 1);
    g_autoptr(GError) error = NULL;
    Worker *worker = pool->workers;
    while (worker->pid)
        worker++;
    if (time_left_ms(pool) == 0)
        rh_fail(&error, RH_ERROR_NO_ANSWER, "no answer in time: the simulation was given %g s",
                pool->what->timeout_s);
    else if (start_worker(pool, worker, item, &error)) {
        pool->refusals = 0;
        g_array_set_size(pool->waiting, pool->waiting->len - 1);
        return false;
    } else if (busy_workers(pool) > 0) { /* tried again when a running one has ended */
        pool->jobs = busy_workers(pool);
        return false;
    } else if (++pool->refusals < REQUESTS_MAX) {
        g_usleep(PATIENCE_US);
        return false;
    }
    g_array_set_size(pool->waiting, pool->waiting->len - 1);
    pool->what->answer(item, NULL, error, pool->what->user);
    return true;
}

static void run_here(const RhProcessPool *what)
{
    Pool pool = {.what = what,
                 .deadline = rh_deadline_in(what->timeout_s),
                 .open = what->more != NULL,
                 .waiting = g_array_new(FALSE, FALSE, sizeof(int32_t))};
    pool_grow(&pool, what->count, rh_rank_pool_jobs(what->jobs));
    for (int32_t answered = 0; answered < pool.count || pool.open;) {
        while (pool.waiting->len > 0 && busy_workers(&pool) < pool.jobs)
            answered += start_next(&pool);
        Worker *ended = busy_workers(&pool) > 0 || pool.open ? next_ended(&pool) : NULL;
        if (ended)
            answered += end_worker(&pool, ended);
    }
    pool_clear(&pool);
}

/* --- for a rank --- */

/* One item of a pool, as a pool of its own. */
typedef struct {
    const RhProcessPool *what, *single;
    int32_t item;
} Single;

static GByteArray *perform_single(int32_t first, void *user, GError **error)
{
    const Single *s = user;
    return s->what->perform(s->item + first, s->what->user, error);
}

static void answer_single(int32_t first, const GByteArray *bytes, const GError *error, void *user)
{
    const Single *s = user;
    s->single->answer(first, bytes, error, s->single->user);
}

static void run_single(const RhProcessPool *single, int32_t item, void *user)
{
    Single s = {user, single, item};
    RhProcessPool pool = *single;
    pool.perform = perform_single;
    pool.answer = answer_single;
    pool.user = &s;
    run_here(&pool);
}

void rh_process_pool_run(const RhProcessPool *what)
{
    g_return_if_fail(what && what->perform && what->answer && (what->jobs > 0 || what->more));
    if (what->of_ranks && rh_rank_pool_is_on())
        rh_rank_pool_run(what, run_single, (void *)what);
    else
        run_here(what);
}

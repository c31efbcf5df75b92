#define _GNU_SOURCE /* memfd_create */
#include "sweep/item_workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "sweep/journal.h"

#define ITEMS_OF_WORKER 500  /* then another takes its place, so that no leak adds up */
#define WORD_EVERY_MS   1000 /* between calls of waiting() */
#define LAST_WORDS_MAX  2000 /* bytes of a lost worker's standard error that are kept */
#define IDLE            (-1)

/* Answer of a worker. */
typedef struct {
    int32_t item, status;
    double seconds;
} Reply;

typedef struct {
    pid_t pid; /* 0: none */
    int socket, words;
    int32_t item, done; /* the item at hand, or IDLE; items that it has done */
    int64_t t_start_us;
    bool late;
} Worker;

typedef struct {
    const RhItemPool *what;
    Worker *workers;
    GArray *again;      /* int32_t: items whose workers were killed */
    GHashTable *killed; /* set of items that were in `again` */
    bool ending;        /* no further item is given out */
    bool asked_later;   /* next() said so, and more_fd has not been readable since */
} Pool;

/* --- in a worker --- */

static bool read_all(int socket, void *data, size_t length)
{
    ssize_t got;
    do
        got = recv(socket, data, length, MSG_WAITALL);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)length;
}

static bool write_all(int socket, const void *data, size_t length)
{
    ssize_t sent;
    do
        sent = send(socket, data, length, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)length;
}

/* Signals by which a sweep is asked to leave are its own to judge: a worker ends its item first. */
static void ignore_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
        signal(signals[i], SIG_IGN);
}

G_GNUC_NORETURN static void work(const Pool *pool, int socket, int words)
{
    int output = memfd_create("rehearse-output", MFD_CLOEXEC);
    int32_t item;
    ignore_signals();
    dup2(words, STDERR_FILENO);
    if (output >= 0)
        dup2(output, STDOUT_FILENO);
    while (read_all(socket, &item, sizeof item)) {
        int64_t t_start_us = g_get_monotonic_time();
        Reply reply = {.item = item, .status = pool->what->perform(item, pool->what->user)};
        reply.seconds = 1e-6 * (double)(g_get_monotonic_time() - t_start_us);
        if (!write_all(socket, &reply, sizeof reply))
            break;
    }
    _exit(0);
}

/* --- in the caller --- */

static bool start_worker(Pool *pool, Worker *worker, GError **error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return rh_fail(error, RH_ERROR_REFUSED, "no worker could be started: %s",
                       g_strerror(errno));
    int words = memfd_create("rehearse-words", MFD_CLOEXEC);
    fflush(NULL);
    pid_t pid = words >= 0 ? fork() : -1;
    if (pid == 0) {
        close(ends[0]);
        for (int32_t i = 0; i < pool->what->jobs; i++) /* else it would not see its caller go */
            if (pool->workers[i].pid)
                close(pool->workers[i].socket);
        work(pool, ends[1], words);
    }
    int why = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        if (words >= 0)
            close(words);
        return rh_fail(error, RH_ERROR_REFUSED,
                       "no worker could be started: %s\nhelp: fewer at a "
                       "time: -j 1",
                       g_strerror(why));
    }
    *worker = (Worker){.pid = pid, .socket = ends[0], .words = words, .item = IDLE};
    return true;
}

/* Waits for a worker that has left or leaves now. */
static int reap(Worker *worker)
{
    int status = 0;
    close(worker->socket);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(worker->words);
    worker->pid = 0;
    return status;
}

static char *last_words(const Worker *worker)
{
    char text[LAST_WORDS_MAX + 1];
    off_t end = lseek(worker->words, 0, SEEK_END);
    ssize_t length = pread(worker->words, text, LAST_WORDS_MAX, MAX(0, end - LAST_WORDS_MAX));
    text[MAX(0, length)] = '\0';
    return g_strstrip(g_utf8_make_valid(text, -1));
}

/* How a worker was lost: the status of its item, and why, which the caller frees. */
static char *loss_of(const Pool *pool, const Worker *worker, int status, int32_t *code)
{
    g_autofree char *words = last_words(worker);
    if (worker->late) {
        *code = RH_JOURNAL_LATE;
        return g_strdup_printf("no answer within %g s", pool->what->timeout_s);
    }
    if (WIFSIGNALED(status)) {
        *code = RH_JOURNAL_KILLED + WTERMSIG(status);
        return g_strdup_printf("its process was ended by signal %d%s%s", WTERMSIG(status),
                               *words ? ": " : "", words);
    }
    *code = MAX(WEXITSTATUS(status), 2); /* also 1 is no answer here */
    return *words ? g_strdup(words)
                  : g_strdup_printf("its process left with status %d", WEXITSTATUS(status));
}

/* Takes the loss of a worker: its item is given out once more when somebody killed it. */
static void take_loss(Pool *pool, Worker *worker)
{
    RhItemOutcome end = {.seconds = 1e-6 * (double)(g_get_monotonic_time() - worker->t_start_us),
                         .lost = true};
    int32_t item = worker->item;
    Worker gone = *worker;
    gone.words = dup(worker->words); /* its last words are read when it is gone */
    int status = reap(worker);
    g_autofree char *why = loss_of(pool, &gone, status, &end.status);
    close(gone.words);
    if (item == IDLE)
        return;
    bool killed = !gone.late && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (killed && g_hash_table_add(pool->killed, GINT_TO_POINTER(item))) {
        g_array_append_val(pool->again, item);
        return;
    }
    end.error = why;
    pool->ending |= !pool->what->ended(item, &end, pool->what->user);
}

static void take_reply(Pool *pool, Worker *worker)
{
    Reply reply;
    if (!read_all(worker->socket, &reply, sizeof reply)) {
        take_loss(pool, worker);
        return;
    }
    g_autofree char *words = last_words(worker);
    RhItemOutcome end = {.status = reply.status, .seconds = reply.seconds, .error = words};
    worker->item = IDLE;
    if (++worker->done >= ITEMS_OF_WORKER)
        reap(worker);
    pool->ending |= !pool->what->ended(reply.item, &end, pool->what->user);
}

static RhNextItemStatus next_item(Pool *pool, int32_t *item)
{
    if (pool->ending || pool->what->stopped(pool->what->user)) {
        pool->ending = true;
        return RH_NEXT_NONE;
    }
    if (pool->again->len > 0) {
        *item = g_array_index(pool->again, int32_t, pool->again->len - 1);
        g_array_set_size(pool->again, pool->again->len - 1);
        return RH_NEXT_ITEM;
    }
    return pool->asked_later ? RH_NEXT_LATER : pool->what->next(item, pool->what->user);
}

/* Gives items to idle workers; *more: others may come. */
static bool give_items(Pool *pool, bool *more, GError **error)
{
    *more = false;
    for (int32_t i = 0; i < pool->what->jobs; i++) {
        Worker *worker = &pool->workers[i];
        int32_t item;
        if (worker->pid && worker->item != IDLE)
            continue;
        RhNextItemStatus next = next_item(pool, &item);
        if (next == RH_NEXT_ITEM && !worker->pid && !start_worker(pool, worker, error))
            return false;
        *more |= next != RH_NEXT_NONE;
        pool->asked_later |= next == RH_NEXT_LATER;
        if (next != RH_NEXT_ITEM)
            break;
        worker->item = item;
        worker->t_start_us = g_get_monotonic_time();
        rh_ignore_failure(ftruncate(worker->words, 0) == 0);
        lseek(worker->words, 0, SEEK_SET);
        /* a worker that is gone is found so by poll() */
        rh_ignore_failure(write_all(worker->socket, &item, sizeof item));
    }
    return true;
}

/* Ends workers past the time limit; returns the milliseconds until the next one is, or a second. */
static int end_late(Pool *pool)
{
    int64_t t_now_us = g_get_monotonic_time(), wait_ms = WORD_EVERY_MS;
    for (int32_t i = 0; i < pool->what->jobs && pool->what->timeout_s > 0; i++) {
        Worker *worker = &pool->workers[i];
        if (!worker->pid || worker->item == IDLE || worker->late)
            continue;
        int64_t left_us = worker->t_start_us + (int64_t)(pool->what->timeout_s * 1e6) - t_now_us;
        worker->late = left_us <= 0;
        if (worker->late)
            kill(worker->pid, SIGKILL);
        else
            wait_ms = MIN(wait_ms, left_us / 1000 + 1);
    }
    return (int)wait_ms;
}

/* Waits until a worker has answered, or somebody has more items. */
static void wait_for_workers(Pool *pool)
{
    int32_t jobs = pool->what->jobs;
    g_autofree struct pollfd *fds = g_new0(struct pollfd, jobs + 1);
    for (int32_t i = 0; i < jobs; i++)
        fds[i] = (struct pollfd){.fd = pool->workers[i].pid ? pool->workers[i].socket : -1,
                                 .events = POLLIN};
    fds[jobs] =
        (struct pollfd){.fd = pool->asked_later ? pool->what->more_fd : -1, .events = POLLIN};
    int some = poll(fds, (nfds_t)jobs + 1, end_late(pool));
    if (some == 0)
        pool->what->waiting(pool->what->user);
    if (some <= 0)
        return;
    for (int32_t i = 0; i < jobs; i++)
        if (fds[i].revents)
            take_reply(pool, &pool->workers[i]);
    pool->asked_later &= !fds[jobs].revents;
}

static int32_t busy_workers(const Pool *pool)
{
    int32_t count = 0;
    for (int32_t i = 0; i < pool->what->jobs; i++)
        count += pool->workers[i].pid && pool->workers[i].item != IDLE;
    return count;
}

bool rh_item_pool_run(const RhItemPool *what, GError **error)
{
    g_return_val_if_fail(what->jobs > 0, false);
    Pool pool = {.what = what,
                 .workers = g_new0(Worker, what->jobs),
                 .again = g_array_new(FALSE, FALSE, sizeof(int32_t)),
                 .killed = g_hash_table_new(NULL, NULL)};
    bool fine = true;
    for (;;) {
        bool more = false;
        fine = fine && give_items(&pool, &more, error);
        if (busy_workers(&pool) == 0 && (!fine || !more))
            break;
        wait_for_workers(&pool);
    }
    for (int32_t i = 0; i < what->jobs; i++)
        if (pool.workers[i].pid)
            reap(&pool.workers[i]);
    g_free(pool.workers);
    g_array_unref(pool.again);
    g_hash_table_unref(pool.killed);
    return fine;
}

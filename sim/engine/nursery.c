#include "sim/engine/nursery.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

struct RhNursery {
    RhNurseryWork work;
    pid_t pid;  /* 0: none, or lost */
    int socket; /* to the other process */
};

/* What the caller asks for; notes and news follow. Without gaps, as it is sent as it lies in memory. */
typedef struct {
    int32_t count, jobs;
    double timeout_s;
    uint32_t news_bytes;
    int32_t waits; /* 1: wants to hear each second */
} Request;
G_STATIC_ASSERT(sizeof(Request) == 4 * sizeof(int32_t) + sizeof(double));

typedef enum { SAYS_BYTES, SAYS_ERROR, SAYS_WAITING } Word;

/* What the nursery says; bytes or the error's text follow. */
typedef struct {
    Word word;
    int32_t item, code;
    uint32_t length;
} Reply;

/* --- both ends --- */

/* False where the other end is gone. */
static bool send_all(int fd, const void *data, size_t length)
{
    for (const uint8_t *bytes = data; length > 0;) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, void *data, size_t length)
{
    for (uint8_t *bytes = data; length > 0;) {
        ssize_t received = recv(fd, bytes, length, 0);
        if (received < 0 && errno == EINTR)
            continue;
        if (received <= 0)
            return false;
        bytes += received;
        length -= (size_t)received;
    }
    return true;
}

/* Items of one call, where their workers are forked. */
typedef struct {
    const RhNursery *nursery;
    const uint8_t *notes;
    const RhWorkers *caller; /* NULL in the nursery */
} Call;

static GByteArray *perform(int32_t item, void *user, GError **error)
{
    const Call *call = user;
    const RhNurseryWork *work = &call->nursery->work;
    return work->perform(call->notes + (size_t)item * work->note_bytes, work->user, error);
}

/* --- in the nursery --- */

static void reply(const Call *call, Reply head, const void *bytes)
{
    int fd = call->nursery->socket;
    if (!send_all(fd, &head, sizeof head) || !send_all(fd, bytes, head.length))
        _exit(1);
}

static void reply_answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    if (bytes)
        reply(user, (Reply){SAYS_BYTES, item, 0, bytes->len}, bytes->data);
    else
        reply(user, (Reply){SAYS_ERROR, item, error->code, (uint32_t)strlen(error->message)},
              error->message);
}

static void reply_waiting(void *user)
{
    reply(user, (Reply){.word = SAYS_WAITING}, NULL);
}

static void serve(const RhNursery *nursery)
{
    const RhNurseryWork *work = &nursery->work;
    Request request;
    while (receive_all(nursery->socket, &request, sizeof request)) {
        size_t length = (size_t)request.count * work->note_bytes;
        g_autofree uint8_t *notes = g_malloc(length), *news = g_malloc(request.news_bytes + 1);
        if (!receive_all(nursery->socket, notes, length) ||
            !receive_all(nursery->socket, news, request.news_bytes))
            return;
        if (work->hear)
            work->hear(news, request.news_bytes, work->user);
        Call call = {nursery, notes, NULL};
        rh_workers_run(&(RhWorkers){.count = request.count,
                                    .jobs = request.jobs,
                                    .timeout_s = request.timeout_s,
                                    .perform = perform,
                                    .answer = reply_answer,
                                    .waiting = request.waits ? reply_waiting : NULL,
                                    .user = &call});
    }
}

/* --- in the caller --- */

RhNursery *rh_nursery_new(const RhNurseryWork *work)
{
    RhNursery *nursery = g_new0(RhNursery, 1);
    int ends[2];
    nursery->work = *work;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return nursery;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        close(ends[0]);
        nursery->socket = ends[1];
        if (work->begin && !work->begin(work->user))
            _exit(1);
        serve(nursery);
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return nursery;
    }
    nursery->pid = pid;
    nursery->socket = ends[0];
    return nursery;
}

static void part(RhNursery *nursery)
{
    if (nursery->pid == 0)
        return;
    shutdown(nursery->socket, SHUT_RDWR); /* the end of its requests, whoever else has the socket */
    close(nursery->socket);
    while (waitpid(nursery->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    nursery->pid = 0;
}

void rh_nursery_free(RhNursery *nursery)
{
    if (!nursery)
        return;
    part(nursery);
    g_free(nursery);
}

static bool ask(const RhNursery *nursery, const RhWorkers *workers, const void *notes,
                const GByteArray *news)
{
    Request request = {.count = workers->count,
                       .jobs = workers->jobs,
                       .timeout_s = workers->timeout_s,
                       .news_bytes = news ? news->len : 0,
                       .waits = workers->waiting != NULL};
    return nursery->pid != 0 && send_all(nursery->socket, &request, sizeof request) &&
           send_all(nursery->socket, notes, (size_t)workers->count * nursery->work.note_bytes) &&
           (request.news_bytes == 0 || send_all(nursery->socket, news->data, news->len));
}

/* The next thing that the nursery says; false: it is gone. */
static bool take_reply(const RhNursery *nursery, const RhWorkers *workers, bool *answered)
{
    Reply head;
    if (!receive_all(nursery->socket, &head, sizeof head))
        return false;
    if (head.word == SAYS_WAITING) {
        workers->waiting(workers->user);
        return true;
    }
    g_autoptr(GByteArray) bytes = g_byte_array_sized_new(head.length + 1);
    g_byte_array_set_size(bytes, head.length);
    if (!receive_all(nursery->socket, bytes->data, head.length))
        return false;
    g_autoptr(GError) error = NULL;
    if (head.word == SAYS_ERROR) {
        g_autofree char *text = g_strndup((const char *)bytes->data, bytes->len);
        g_set_error_literal(&error, RH_ERROR, head.code, text);
    }
    answered[head.item] = true;
    workers->answer(head.item, error ? NULL : bytes, error, workers->user);
    return true;
}

/* --- without a nursery --- */

static void hand_on(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    const RhWorkers *caller = ((const Call *)user)->caller;
    caller->answer(item, bytes, error, caller->user);
}

static void hand_on_waiting(void *user)
{
    const RhWorkers *caller = ((const Call *)user)->caller;
    if (caller->waiting)
        caller->waiting(caller->user);
}

/* One item that got no answer, in a worker of the caller's own. */
typedef struct {
    Call call;
    int32_t item;
} Left;

static GByteArray *perform_left(int32_t item, void *user, GError **error)
{
    (void)item;
    Left *left = user;
    return perform(left->item, &left->call, error);
}

static void hand_on_left(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    (void)item;
    Left *left = user;
    hand_on(left->item, bytes, error, &left->call);
}

static void wait_left(void *user)
{
    hand_on_waiting(&((Left *)user)->call);
}

static void run_left(const RhNursery *nursery, const RhWorkers *workers, const void *notes,
                     const bool *answered)
{
    for (int32_t item = 0; item < workers->count; item++) {
        Left left = {{nursery, notes, workers}, item};
        if (!answered[item])
            rh_workers_run(&(RhWorkers){.count = 1,
                                        .jobs = 1,
                                        .timeout_s = workers->timeout_s,
                                        .perform = perform_left,
                                        .answer = hand_on_left,
                                        .waiting = wait_left,
                                        .user = &left});
    }
}

void rh_nursery_run(RhNursery *nursery, const RhWorkers *workers, const void *notes,
                    const GByteArray *news)
{
    g_return_if_fail(nursery && workers && workers->jobs > 0);
    g_autofree bool *answered = g_new0(bool, workers->count + 1);
    if (nursery->pid == 0) {
        Call call = {nursery, notes, workers};
        rh_workers_run(&(RhWorkers){.count = workers->count,
                                    .jobs = workers->jobs,
                                    .timeout_s = workers->timeout_s,
                                    .perform = perform,
                                    .answer = hand_on,
                                    .waiting = hand_on_waiting,
                                    .user = &call});
        return;
    }
    bool there = ask(nursery, workers, notes, news);
    for (int32_t left = workers->count; left > 0 && there;) {
        there = take_reply(nursery, workers, answered);
        left = 0;
        for (int32_t item = 0; item < workers->count; item++)
            left += !answered[item];
    }
    if (!there) {
        part(nursery);
        run_left(nursery, workers, notes, answered);
    }
}

#include "sim/engine/workers/fork_server.h"

#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "sim/engine/workers/multi_machine_pool.h"

struct RhForkServer {
    RhForkServerWork work;
    pid_t pid;     /* 0: none, or lost */
    int socket;    /* to the other process */
    int32_t begun; /* items of the next call that were begun */
};

/* Request of the caller, followed by notes and messages. Without padding, since it is sent as it
 * lies in memory. */
typedef struct {
    int32_t count, jobs;
    double timeout_s;
    uint32_t news_bytes;
    uint16_t waits; /* 1: the caller wants a message each second */
    uint16_t more;  /* 1: further requests of this call follow; until then replies are held back */
} Request;
G_STATIC_ASSERT(sizeof(Request) == 4 * sizeof(int32_t) + sizeof(double));

typedef enum { SAYS_BYTES, SAYS_ERROR, SAYS_WAITING } Word;

/* Reply of the fork server, followed by bytes or the error's text. */
typedef struct {
    Word word;
    int32_t item, code;
    uint32_t length;
} Reply;

/* --- both processes --- */

/* Returns free memory to the system before a fork: it would be copied, page by page, as soon as
 * either process writes to it. */
static void give_free_pages_back(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Sends all bytes; false where the other end is closed. */
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

/* Items of one call. */
typedef struct {
    const RhForkServer *server;
    const uint8_t *notes;
    const RhProcessPool *caller; /* NULL in the fork server */
    /* set in the fork server only: */
    GByteArray *all;  /* notes */
    GByteArray *held; /* replies that are held back until the caller listens */
    bool listens, waits;
} Call;

static GByteArray *perform(int32_t item, void *user, GError **error)
{
    const Call *call = user;
    const RhForkServerWork *work = &call->server->work;
    return work->perform(call->notes + (size_t)item * work->note_bytes, work->user, error);
}

/* --- in the fork server --- */

static void send_reply(const Call *call, Reply head, const void *bytes)
{
    g_byte_array_append(call->held, (const guint8 *)&head, sizeof head);
    if (head.length > 0)
        g_byte_array_append(call->held, bytes, head.length);
    if (!call->listens)
        return;
    if (!send_all(call->server->socket, call->held->data, call->held->len))
        _exit(1);
    g_byte_array_set_size(call->held, 0);
}

static void reply_answer(int32_t item, const GByteArray *bytes, const GError *error, void *user)
{
    if (bytes)
        send_reply(user, (Reply){SAYS_BYTES, item, 0, bytes->len}, bytes->data);
    else
        send_reply(user, (Reply){SAYS_ERROR, item, error->code, (uint32_t)strlen(error->message)},
                   error->message);
}

static void reply_waiting(void *user)
{
    const Call *call = user;
    if (call->waits && call->listens)
        send_reply(user, (Reply){.word = SAYS_WAITING}, NULL);
}

/* Reads a request and appends its notes. False: the caller has closed the socket. */
static bool take_request(Call *call, Request *request)
{
    const RhForkServer *server = call->server;
    if (!receive_all(server->socket, request, sizeof *request))
        return false;
    size_t had = call->all->len, length = (size_t)request->count * server->work.note_bytes;
    g_autofree uint8_t *news = g_malloc(request->news_bytes + 1);
    g_byte_array_set_size(call->all, (guint)(had + length));
    call->notes = call->all->data;
    call->listens = !request->more;
    call->waits = request->waits;
    if (!receive_all(server->socket, call->all->data + had, length) ||
        !receive_all(server->socket, news, request->news_bytes))
        return false;
    if (server->work.hear)
        server->work.hear(news, request->news_bytes, server->work.user);
    give_free_pages_back();
    return true;
}

static bool next_request(int32_t *count, int32_t *jobs, void *user)
{
    Call *call = user;
    Request request;
    if (!take_request(call, &request))
        _exit(1);
    *count += request.count;
    *jobs = request.jobs;
    if (call->listens && !send_all(call->server->socket, call->held->data, call->held->len))
        _exit(1);
    if (call->listens)
        g_byte_array_set_size(call->held, 0);
    return request.more;
}

/* Serves one call. False: the caller has closed the socket. */
static bool serve_call(const RhForkServer *server)
{
    g_autoptr(GByteArray) notes = g_byte_array_new(), held = g_byte_array_new();
    Call call = {.server = server, .all = notes, .held = held};
    Request request;
    if (!take_request(&call, &request))
        return false;
    rh_process_pool_run(&(RhProcessPool){.count = request.count,
                                         .jobs = request.jobs,
                                         .timeout_s = request.timeout_s,
                                         .perform = perform,
                                         .answer = reply_answer,
                                         .waiting = reply_waiting,
                                         .more = request.more ? next_request : NULL,
                                         .more_fd = server->socket,
                                         .user = &call});
    return true;
}

/* --- in the calling process --- */

RhForkServer *rh_fork_server_new(const RhForkServerWork *work)
{
    RhForkServer *server = g_new0(RhForkServer, 1);
    int ends[2];
    server->work = *work;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return server;
    give_free_pages_back();
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        close(ends[0]);
        rh_rank_pool_forget();
        server->socket = ends[1];
        if (work->begin && !work->begin(work->user))
            _exit(1);
        while (serve_call(server))
            ;
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return server;
    }
    server->pid = pid;
    server->socket = ends[0];
    return server;
}

static void part(RhForkServer *server)
{
    if (server->pid == 0)
        return;
    shutdown(server->socket, SHUT_RDWR); /* ends its requests, whichever process also holds the
                                           * socket */
    server->begun = 0;
    close(server->socket);
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    server->pid = 0;
}

void rh_fork_server_free(RhForkServer *server)
{
    if (!server)
        return;
    part(server);
    g_free(server);
}

static bool send_request(const RhForkServer *server, Request request, const void *notes,
                         const GByteArray *news)
{
    request.news_bytes = news ? news->len : 0;
    return server->pid != 0 && send_all(server->socket, &request, sizeof request) &&
           send_all(server->socket, notes, (size_t)request.count * server->work.note_bytes) &&
           (request.news_bytes == 0 || send_all(server->socket, news->data, news->len));
}

/* Asks for all items that were not begun before. */
static bool ask_rest(const RhForkServer *server, const RhProcessPool *workers, const void *notes,
                     const GByteArray *news)
{
    Request request = {.count = workers->count - server->begun,
                       .jobs = workers->jobs,
                       .timeout_s = workers->timeout_s,
                       .waits = workers->waiting != NULL};
    return send_request(server, request,
                        (const uint8_t *)notes + (size_t)server->begun * server->work.note_bytes,
                        news);
}

/* Reads the fork server's next reply; false: it is gone, or cannot fork. */
static bool take_reply(const RhForkServer *server, const RhProcessPool *workers, bool *answered)
{
    Reply head;
    if (!receive_all(server->socket, &head, sizeof head))
        return false;
    if (head.word == SAYS_WAITING) {
        workers->waiting(workers->user);
        return true;
    }
    g_autoptr(GByteArray) bytes = g_byte_array_sized_new(head.length + 1);
    g_byte_array_set_size(bytes, head.length);
    if (!receive_all(server->socket, bytes->data, head.length))
        return false;
    if (head.word == SAYS_ERROR && head.code == RH_ERROR_REFUSED)
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

/* --- without a fork server --- */

/* Items of a call that got no reply, for worker processes of the caller. */
typedef struct {
    Call call;
    const int32_t *items;
} Left;

static GByteArray *perform_left(int32_t place, void *user, GError **error)
{
    Left *left = user;
    return perform(left->items[place], &left->call, error);
}

static void hand_on_left(int32_t place, const GByteArray *bytes, const GError *error, void *user)
{
    const Left *left = user;
    const RhProcessPool *caller = left->call.caller;
    caller->answer(left->items[place], bytes, error, caller->user);
}

static void wait_left(void *user)
{
    const RhProcessPool *caller = ((const Left *)user)->call.caller;
    if (caller->waiting)
        caller->waiting(caller->user);
}

static void run_left(const RhForkServer *server, const RhProcessPool *workers, int32_t jobs,
                     const void *notes, const bool *answered)
{
    g_autofree int32_t *items = g_new(int32_t, workers->count + 1);
    Left left = {{.server = server, .notes = notes, .caller = workers}, items};
    int32_t count = 0;
    for (int32_t item = 0; item < workers->count; item++)
        if (!answered[item])
            items[count++] = item;
    rh_process_pool_run(&(RhProcessPool){.count = count,
                                         .jobs = jobs,
                                         .timeout_s = workers->timeout_s,
                                         .perform = perform_left,
                                         .answer = hand_on_left,
                                         .waiting = wait_left,
                                         .user = &left});
}

/* Tells what workers must learn, without an item. */
static void tell_news(RhForkServer *server, const GByteArray *news)
{
    if (server->pid != 0 && !send_request(server, (Request){.jobs = 1}, NULL, news))
        part(server);
}

void rh_fork_server_begin(RhForkServer *server, int32_t jobs, double timeout_s, const void *note,
                          const GByteArray *news)
{
    g_return_if_fail(server && jobs >= 0);
    Request request = {.count = 1, .jobs = jobs, .timeout_s = timeout_s, .more = 1};
    if (rh_rank_pool_is_on()) { /* items are handed out when all are known */
        tell_news(server, news);
        return;
    }
    if (send_request(server, request, note, news))
        server->begun++;
    else
        part(server);
}

void rh_fork_server_forget(RhForkServer *server)
{
    if (server && server->begun > 0)
        part(server);
}

static void run_here(RhForkServer *server, const RhProcessPool *workers, const void *notes,
                     const GByteArray *news)
{
    g_autofree bool *answered = g_new0(bool, workers->count + 1);
    if (server->pid == 0) {
        run_left(server, workers, workers->jobs, notes, answered);
        return;
    }
    bool there = ask_rest(server, workers, notes, news);
    server->begun = 0;
    for (int32_t left = workers->count; left > 0 && there;) {
        there = take_reply(server, workers, answered);
        left = 0;
        for (int32_t item = 0; item < workers->count; item++)
            left += !answered[item];
    }
    if (!there) {
        part(server);
        run_left(server, workers, 1, notes, answered);
    }
}

/* --- for a rank --- */

/* Items of a call, of which some are performed here. */
typedef struct {
    RhForkServer *server;
    const uint8_t *notes;
} Noted;

static void run_single(const RhProcessPool *single, int32_t item, void *user)
{
    const Noted *noted = user;
    run_here(noted->server, single, noted->notes + (size_t)item * noted->server->work.note_bytes,
             NULL);
}

void rh_fork_server_run(RhForkServer *server, const RhProcessPool *workers, const void *notes,
                        const GByteArray *news)
{
    g_return_if_fail(server && workers && workers->jobs > 0 && workers->count >= server->begun);
    Noted noted = {server, notes};
    if (!workers->of_ranks || !rh_rank_pool_is_on()) {
        run_here(server, workers, notes, news);
        return;
    }
    tell_news(server, news);
    rh_rank_pool_run(workers, run_single, &noted);
}

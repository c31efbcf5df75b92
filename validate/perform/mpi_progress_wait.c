#define _GNU_SOURCE
#include "validate/perform/mpi_progress_wait.h"

#include <fcntl.h>
#include <glib.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "validate/perform/clock_sync.h"

#define NAP_S      50e-6 /* between two polls */
#define LONGEST_S  1e-3  /* maximum sleep besides sockets: a connection may be new */
#define EVENTS_MAX 64

/* Two epoll sets: the first is level-triggered, since readable data stays until it is read; the
 * second reports only that a full socket has space again, since a socket is nearly always writable. */
struct RhWake {
    bool sockets;
    int readable, writable; /* epoll sets */
};

RhWake *rh_wake_new(bool sockets)
{
    RhWake *w = g_new0(RhWake, 1);
    w->readable = w->writable = -1;
    if (sockets) {
        w->readable = epoll_create1(EPOLL_CLOEXEC);
        w->writable = epoll_create1(EPOLL_CLOEXEC);
        w->sockets = w->readable >= 0 && w->writable >= 0;
    }
    return w;
}

void rh_wake_free(RhWake *w)
{
    if (!w)
        return;
    if (w->readable >= 0)
        close(w->readable);
    if (w->writable >= 0)
        close(w->writable);
    g_free(w);
}

/* Is it a connected TCP socket? */
static bool carries_messages(int fd)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    int type = 0;
    socklen_t type_size = sizeof type;
    return getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
           (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 && type == SOCK_STREAM;
}

void rh_wake_refresh(RhWake *w)
{
    g_autoptr(GDir) open = w->sockets ? g_dir_open("/proc/self/fd", 0, NULL) : NULL;
    for (const char *name; open && (name = g_dir_read_name(open));) {
        int fd = (int)strtol(name, NULL, 10);
        struct epoll_event in = {.events = EPOLLIN}, out = {.events = EPOLLOUT | EPOLLET};
        if (!carries_messages(fd)) /* including descriptors that are no sockets */
            continue;
        epoll_ctl(w->readable, EPOLL_CTL_ADD, fd, &in); /* fails for known ones */
        epoll_ctl(w->writable, EPOLL_CTL_ADD, fd, &out);
    }
}

bool rh_wake_wait(RhWake *w, double seconds)
{
    if (!w->sockets) {
        if (seconds > 0)
            rh_clock_nap(fmin(seconds, NAP_S));
        return true;
    }
    struct pollfd sets[] = {{.fd = w->readable, .events = POLLIN},
                            {.fd = w->writable, .events = POLLIN}};
    struct timespec longest = {0, (long)(1e9 * fmax(0, fmin(seconds, LONGEST_S)))};
    struct epoll_event events[EVENTS_MAX];
    if (ppoll(sets, G_N_ELEMENTS(sets), &longest, NULL) <= 0)
        return seconds >= LONGEST_S;
    if (sets[1].revents)
        epoll_wait(w->writable, events, EVENTS_MAX, 0); /* reported once */
    return true;
}

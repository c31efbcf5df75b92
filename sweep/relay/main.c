#define _GNU_SOURCE /* ppoll */
/* rehearse-mpi: runs `rehearse` on every rank of an MPI job, and relays what these say to each other.
 *
 *     mpirun -n 17 rehearse-mpi sweep study.json --resume
 *
 * The first rank's `rehearse` hands items out, those of the others ask for them. MPI is here alone:
 * `rehearse` needs none to start, forks as it likes, and when one crashes or is killed, its rank says
 * so and stays in the job, which MPI would end otherwise. Messages are relayed one by one, each from
 * one rank to another: no rank has to make progress for others while it works. */
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sweep/coordinator_message.h"

#define TAG         7
#define ALIVE_S     5.0        /* between words of a rank that is at work */
#define LOOK_NS     200000     /* while an answer is awaited: MPI would wait at full speed */
#define PATIENCE_NS 100000000  /* while a rank works */
#define LENGTH_MAX  2000000000 /* bytes of a message, whose count MPI has as an int */

static pid_t child; /* the rank's `rehearse` */

static void pass_signal(int number)
{
    if (child > 0)
        kill(child, number);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The path of `rehearse`: what the environment names, or beside this program, or on the path. */
static const char *program(void)
{
    static char path[4096];
    const char *named = getenv("REHEARSE_PROGRAM");
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 16);
    if (named && *named)
        return named;
    if (length <= 0)
        return "rehearse";
    path[length] = '\0';
    char *name = strrchr(path, '/');
    strcpy(name ? name + 1 : path, "rehearse");
    return access(path, X_OK) == 0 ? path : "rehearse";
}

/* Forks the rank's `rehearse` before MPI has begun, which forbids forks where memory is registered
 * with a network; it begins when it is told its role. Returns this end of its socket, or -1. */
static int fork_child(char **words)
{
    int ends[2];
    char number[16];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return -1;
    child = fork();
    if (child != 0) {
        close(ends[1]);
        return child > 0 ? ends[0] : -1;
    }
    close(ends[0]);
    struct pollfd begun = {.fd = ends[1], .events = POLLIN};
    while (poll(&begun, 1, -1) < 0 && errno == EINTR)
        ;
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv(RH_COORDINATOR_SOCKET, number, 1);
    words[0] = (char *)"rehearse";
    execvp(program(), words);
    fprintf(stderr, "error: %s: %s\n", program(), strerror(errno));
    _exit(127);
}

/* Sends a message with the bytes behind it to where it belongs, as one. */
static void send_on(const RhCoordinatorMessage *message, const void *bytes, int own)
{
    RhCoordinatorMessage sent = *message;
    size_t length = sizeof sent + (size_t)message->length;
    int to = own == 0 ? message->rank : 0;
    char *whole = malloc(length);
    if (!whole)
        abort();
    sent.rank = own == 0 ? 0 : own;
    memcpy(whole, &sent, sizeof sent);
    if (message->length > 0)
        memcpy(whole + sizeof sent, bytes, (size_t)message->length);
    MPI_Send(whole, (int)length, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    free(whole);
}

static void send_word(RhCoordinatorMessageKind kind, int to, int own)
{
    RhCoordinatorMessage word = {.kind = kind, .rank = to};
    send_on(&word, NULL, own);
}

/* Passes on what the own `rehearse` says. Returns the kind of the message; RH_MESSAGE_NONE: it is
 * gone. */
static RhCoordinatorMessageKind pass_word(int socket, int own)
{
    RhCoordinatorMessage message;
    if (!rh_coordinator_message_read(socket, &message) || message.length > LENGTH_MAX)
        return RH_MESSAGE_NONE;
    char *bytes = malloc((size_t)message.length + 1);
    if (!bytes)
        abort();
    bool whole = rh_coordinator_bytes_read(socket, bytes, message.length);
    if (whole)
        send_on(&message, bytes, own);
    free(bytes);
    return whole ? (RhCoordinatorMessageKind)message.kind : RH_MESSAGE_NONE;
}

/* Reads one message of another rank and hands it to the own `rehearse`; socket -1: to nobody.
 * Returns its kind; RH_MESSAGE_NONE: nothing has come. */
static RhCoordinatorMessageKind take_one(int socket)
{
    int here = 0, length = 0;
    MPI_Status status;
    RhCoordinatorMessage message;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &here, &status);
    if (!here)
        return RH_MESSAGE_NONE;
    MPI_Get_count(&status, MPI_BYTE, &length);
    char *whole = malloc((size_t)length);
    if (!whole)
        abort();
    MPI_Recv(whole, length, MPI_BYTE, status.MPI_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memcpy(&message, whole, sizeof message);
    message.rank = status.MPI_SOURCE;
    memcpy(whole, &message, sizeof message);
    if (socket >= 0 && message.kind != RH_MESSAGE_OVER) /* who is gone is noticed by the socket */
        rh_coordinator_bytes_write(socket, whole, (uint64_t)length);
    free(whole);
    return (RhCoordinatorMessageKind)message.kind;
}

/* Relays until the own `rehearse` is gone, or the coordinator is: true. */
static bool relay(int socket, int own)
{
    double t_spoke_s = now_s();
    bool awaiting = own == 0;
    for (;;) {
        struct pollfd fd = {.fd = socket, .events = POLLIN};
        struct timespec wait = {.tv_nsec = awaiting ? LOOK_NS : PATIENCE_NS};
        RhCoordinatorMessageKind kind = RH_MESSAGE_NONE;
        if (ppoll(&fd, 1, &wait, NULL) > 0) {
            kind = pass_word(socket, own);
            if (kind == RH_MESSAGE_NONE)
                return false;
            awaiting = own == 0 || kind == RH_MESSAGE_ASK;
        }
        while ((kind = take_one(socket)) != RH_MESSAGE_NONE) {
            awaiting = own == 0 || kind == RH_MESSAGE_BYTES;
            if (kind == RH_MESSAGE_OVER)
                return true;
        }
        if (own > 0 && now_s() - t_spoke_s > ALIVE_S) {
            send_word(RH_MESSAGE_ALIVE, 0, own);
            t_spoke_s = now_s();
        }
    }
}

/* Waits until the own `rehearse` has left, and then for the coordinator, which may have something to
 * say to this rank yet. */
static int leave(int socket, int own, int ranks, bool over)
{
    int status = 0;
    const struct timespec wait = {.tv_nsec = PATIENCE_NS};
    shutdown(socket, SHUT_RDWR);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    for (int i = 1; own == 0 && i < ranks; i++)
        send_word(RH_MESSAGE_OVER, i, own);
    if (own > 0 && !over)
        send_word(RH_MESSAGE_GONE, 0, own);
    while (own > 0 && !over) {
        RhCoordinatorMessageKind kind = take_one(-1);
        over = kind == RH_MESSAGE_OVER;
        if (kind == RH_MESSAGE_NONE)
            nanosleep(&wait, NULL);
    }
    MPI_Finalize();
    if (own > 0) /* mpirun would end the others */
        return 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    static const int passed[] = {SIGTERM, SIGUSR1, SIGUSR2};
    int own, ranks;
    int socket = argc > 1 ? fork_child(argv) : -1;
    if (socket < 0) {
        fprintf(
            stderr, "error: rehearse-mpi: %s\n",
            argc > 1
                ? strerror(errno)
                : "mpirun -n 17 rehearse-mpi sweep STUDY.json ..., or plan, serve-plan, capacity");
        return 2;
    }
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        signal(passed[i], pass_signal);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    RhCoordinatorMessage role = {.kind = RH_MESSAGE_ROLE, .rank = own, .item = ranks};
    rh_coordinator_message_write(socket, &role);
    bool over = relay(socket, own);
    return leave(socket, own, ranks, over);
}

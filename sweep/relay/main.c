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
#define ALIVE_S     5.0       /* between words of a rank that is at work */
#define LOOK_NS     200000    /* while an answer is awaited: MPI would wait at full speed */
#define PATIENCE_NS 100000000 /* while a rank works */

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

/* Sends what came from the own `rehearse` where it belongs. */
static void send_on(const RhCoordinatorMessage *message, int own)
{
    RhCoordinatorMessage sent = *message;
    int to = own == 0 ? message->rank : 0;
    sent.rank = own == 0 ? 0 : own;
    MPI_Send(&sent, (int)sizeof sent, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
}

/* Reads what other ranks have sent; false: nothing has come. */
static bool take_one(int socket)
{
    int here = 0;
    MPI_Status status;
    RhCoordinatorMessage message;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &here, &status);
    if (!here)
        return false;
    MPI_Recv(&message, (int)sizeof message, MPI_BYTE, status.MPI_SOURCE, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    message.rank = status.MPI_SOURCE;
    rh_coordinator_message_write(socket,
                                 &message); /* a child that is gone is noticed by its socket */
    return true;
}

static void relay(int socket, int own)
{
    double t_spoke_s = now_s();
    bool awaiting = own == 0;
    for (;;) {
        struct pollfd fd = {.fd = socket, .events = POLLIN};
        struct timespec wait = {.tv_nsec = awaiting ? LOOK_NS : PATIENCE_NS};
        RhCoordinatorMessage message;
        int some = ppoll(&fd, 1, &wait, NULL);
        if (some > 0 && !rh_coordinator_message_read(socket, &message))
            return;
        if (some > 0) {
            send_on(&message, own);
            awaiting = own == 0 || message.kind == RH_MESSAGE_ASK;
        }
        while (take_one(socket))
            awaiting = own == 0;
        if (own > 0 && now_s() - t_spoke_s > ALIVE_S) {
            message = (RhCoordinatorMessage){.kind = RH_MESSAGE_ALIVE};
            send_on(&message, own);
            t_spoke_s = now_s();
        }
    }
}

/* Ends together with the coordinator, whose rank ends when all others have said that they have left. */
static int leave(int own)
{
    int status = 0;
    RhCoordinatorMessage gone = {.kind = RH_MESSAGE_GONE};
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (own > 0)
        send_on(&gone, own);
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
        fprintf(stderr, "error: rehearse-mpi: %s\n",
                argc > 1 ? strerror(errno) : "mpirun -n 17 rehearse-mpi sweep STUDY.json ...");
        return 2;
    }
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        signal(passed[i], pass_signal);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    RhCoordinatorMessage role = {.kind = RH_MESSAGE_ROLE, .rank = own, .item = ranks};
    rh_coordinator_message_write(socket, &role);
    relay(socket, own);
    return leave(own);
}

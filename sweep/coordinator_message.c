#include "sweep/coordinator_message.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

bool rh_coordinator_message_read(int socket, RhCoordinatorMessage *message)
{
    ssize_t got;
    do
        got = recv(socket, message, sizeof *message, MSG_WAITALL);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *message;
}

bool rh_coordinator_message_write(int socket, const RhCoordinatorMessage *message)
{
    ssize_t sent;
    do
        sent = send(socket, message, sizeof *message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *message;
}

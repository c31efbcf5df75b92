#include "sweep/coordinator_message.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

bool rh_coordinator_bytes_read(int socket, void *bytes, uint64_t length)
{
    for (char *at = bytes; length > 0;) {
        ssize_t got = recv(socket, at, length, MSG_WAITALL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        length -= (uint64_t)got;
    }
    return true;
}

bool rh_coordinator_bytes_write(int socket, const void *bytes, uint64_t length)
{
    for (const char *at = bytes; length > 0;) {
        ssize_t sent = send(socket, at, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        length -= (uint64_t)sent;
    }
    return true;
}

bool rh_coordinator_message_read(int socket, RhCoordinatorMessage *message)
{
    return rh_coordinator_bytes_read(socket, message, sizeof *message);
}

bool rh_coordinator_message_write(int socket, const RhCoordinatorMessage *message)
{
    return rh_coordinator_bytes_write(socket, message, sizeof *message);
}

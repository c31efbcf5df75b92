#pragma once
/* A platform as a network that the lab can build (validate/lab/lab): one host per rank, a switch
 * per node, NIC and tier, and every link's rate. */
#include "platforms/platform.h"

#define RH_LAB_HOSTS_MAX 64

/* The lab's text; caller frees. RH_ERROR_INPUT when the platform has rails, or more hosts than
 * RH_LAB_HOSTS_MAX, or no message-level network (only that is slow enough to build). */
char *rh_lab_topology(const RhPlatform *p, GError **error) G_GNUC_WARN_UNUSED_RESULT;

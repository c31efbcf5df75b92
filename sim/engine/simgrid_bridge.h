#pragma once
/* SimGrid behind a C face: a clock, one alarm, and fluid flows that share links max-min fairly.
 *
 * The platform is a list of links and a list of routes; a route crosses each of its links
 * `weight` times, that is, its flow takes weight times its rate from the link (SimGrid adds the
 * shares of a repeated link up). No latencies: callers wait them on the alarm. One engine lives per
 * process and cannot be made again, hence no handle. Nothing here outlives the process. */
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t link, weight;
} RhBridgeHop;

typedef struct {
    int32_t links_count;
    const double *units_per_s; /* capacity of each link */
    int32_t routes_count;
    const int32_t *hops_first; /* routes_count + 1 entries into hops */
    const RhBridgeHop *hops;
} RhBridgePlatform;

typedef struct {
    void (*flow_done)(int32_t flow, void *user);
    void (*alarm)(void *user);
    void *user;
} RhBridgeCallbacks;

/* Has this process had its engine? */
bool rh_bridge_started(void);
/* What starting it begins with, whatever the platform: once, in this process or in one that it is forked from. NULL, or
 * as rh_bridge_start(), which does it where nobody did. */
const char *rh_bridge_prepare(void);
/* Starts the engine and builds the platform; once per process. NULL, or why it failed (static
 * text). Signal handlers stay the caller's; SimGrid runs in the C locale. */
const char *rh_bridge_start(const RhBridgePlatform *platform, RhBridgeCallbacks callbacks);
double rh_bridge_clock_s(void);
/* From the alarm: until when no flow ends, unless one starts; the clock where one has ended just
 * now, HUGE_VAL without flows. */
double rh_bridge_quiet_until_s(void);
/* Replaces the alarm by one at t_s (not before the clock). */
void rh_bridge_alarm(double t_s);
/* `units` > 0 over a route; flow_done(flow) tells its end. */
void rh_bridge_flow(int32_t route, uint64_t units, int32_t flow);
/* Takes a flow under way off its links; its end is not told. */
void rh_bridge_cancel(int32_t flow);
/* Until nothing is left to happen, or rh_bridge_stop. NULL, or why it failed (static text). */
const char *rh_bridge_run(void);
/* From a callback: rh_bridge_run returns when all that happens at this instant has happened. */
void rh_bridge_stop(void);
/* Was it memory that the last failure lacked? */
bool rh_bridge_lacked_memory(void);

#ifdef __cplusplus
}
#endif

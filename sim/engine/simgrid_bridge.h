#pragma once
/* C interface to SimGrid: a clock, one alarm, and fluid flows that share links max-min fairly.
 *
 * The platform is a list of links and a list of routes; a route crosses each of its links `weight`
 * times, that is, its flow takes weight times its rate from the link (SimGrid adds up the shares of
 * a repeated link). There are no latencies: callers wait for them on the alarm. One engine lives
 * per process and cannot be made again, hence no handle. */
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

/* Returns whether this process has started its engine. */
bool rh_bridge_started(void);
/* Does the part of the start that no platform affects, once, in this process or in one that it is
 * forked from; rh_bridge_start does it if nobody did. Returns NULL, or why it failed (static text).
 */
const char *rh_bridge_prepare(void);
/* Starts the engine and builds the platform; once per process. Returns NULL, or why it failed
 * (static text). Signal handlers stay the caller's; SimGrid runs in the C locale. */
const char *rh_bridge_start(const RhBridgePlatform *platform, RhBridgeCallbacks callbacks);
double rh_bridge_clock_s(void);
/* Returns, from within the alarm, the time until which no flow ends unless one starts: the clock
 * where one has just ended, HUGE_VAL without flows. */
double rh_bridge_quiet_until_s(void);
/* Replaces the alarm by one at t_s (not before the clock). */
void rh_bridge_alarm(double t_s);
/* Starts a flow of `units` > 0 over a route; flow_done(flow) reports its end. */
void rh_bridge_flow(int32_t route, uint64_t units, int32_t flow);
/* Cancels a flow in progress; its end is not reported. */
void rh_bridge_cancel(int32_t flow);
/* Runs until nothing is left to happen, or until rh_bridge_stop. Returns NULL, or why it failed
 * (static text). */
const char *rh_bridge_run(void);
/* Makes rh_bridge_run return after everything that happens at this instant; call it in a callback.
 */
void rh_bridge_stop(void);
/* Returns whether the last failure was for lack of memory. */
bool rh_bridge_lacked_memory(void);

#ifdef __cplusplus
}
#endif

#pragma once
/* The same timers and flows on SimGrid alone, without programs, lanes or dependencies: what the
 * engine is measured against. */
#ifdef __cplusplus
extern "C" {
#endif

/* `chains` pairs of hosts with a link of their own; each runs `rounds` times: a timer for the
 * kernel, a timer for the latency, one flow. Returns the wall-clock seconds of the run. Once per
 * process. */
double bench_bare_loop_s(int chains, int rounds, double kernel_s, double latency_s, double bytes);

#ifdef __cplusplus
}
#endif

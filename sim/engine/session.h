#pragma once
/* A session: a fabric on which programs are performed, one after another or at once.
 *
 *     RhSession *s = rh_session_open(platform, &options);
 *     int32_t a = rh_session_admit(s, program, gpus, "a", &error), b = ...;
 *     bool fine =
 *         rh_session_submit(s, (RhSubmission){.job = a, .steps = 3}, &error) &&
 *         rh_session_submit(s, (RhSubmission){.job = b, .t_start_s = 0.5, .steps = 1}, &error);
 *     while (rh_session_run(s, HUGE_VAL, &event, &error) && event.kind)
 *         ...                              event.job has ended: report it, submit it again
 *     rh_session_close(s);
 *
 * Programs are admitted with their placement before the first run, because all of them together
 * decide which ranks behave alike (symmetry_fold.h); then each can be submitted any number of times. Links
 * carry the flows of all running programs, and GPUs hold the memory of their programs. Two programs
 * may use the same GPU, but not at the same time, unless one of them has no kernels: that is work of the hosts. One session lives per process; isolated_run.h
 * helps. */
#include "sim/engine/engine.h"

typedef struct RhSession RhSession;

typedef enum {
    RH_EVENT_NONE,
    RH_EVENT_STEP,   /* a step of the job has ended, and another has begun */
    RH_EVENT_ENDED,  /* the job's last step has ended */
    RH_EVENT_SENT,   /* a session message has arrived */
    RH_EVENT_CUTOFF, /* the step is certain to take longer than options.cutoff_s */
} RhEventKind;

typedef struct {
    RhEventKind kind;
    int32_t job;
    double t_s;
    int32_t who; /* the message's identifier */
} RhSessionEvent;

typedef struct {
    int32_t job;
    double t_start_s; /* not before the clock */
    int32_t steps;    /* back to back; 0: until cancelled */
    bool tell_steps;  /* report RH_EVENT_STEP as well */
} RhSubmission;

/* Opens a session. Borrows the platform; copies the options and ignores their timeout_s and steps.
 */
RhSession *rh_session_open(const RhPlatform *platform, const RhEngineOptions *options);
void rh_session_close(RhSession *session); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhSession, rh_session_close)

/* Admits a program and returns the job's number, or -1. Borrows the program; gpu_of_rank (copied;
 * NULL: the program's own map) places its ranks. RH_ERROR_INPUT: a GPU that the platform lacks or
 * that two ranks use, or a program after the first run. */
int32_t rh_session_admit(RhSession *session, const RhProgram *program, const int32_t *gpu_of_rank,
                         const char *name, GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Starts a job. RH_ERROR_INPUT: it is running already, or the start is in the past. */
bool rh_session_submit(RhSession *session, RhSubmission submission,
                       GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Stops a job; does nothing when it is not running. */
void rh_session_cancel(RhSession *session, int32_t job);
/* A message that the caller sends at any time, in addition to those of programs. */
typedef struct {
    int32_t job, send; /* an admitted job; a send task of its program, whose role has one rank */
    double bytes;      /* instead of the task's own */
    int32_t who;       /* the caller's identifier, at least 0 */
} RhSessionMessage;
/* Sends a message now over the route of that send, whose program need not be running; RH_EVENT_SENT
 * reports its arrival. RH_ERROR_USAGE on platforms that simulate packets. */
bool rh_session_post(RhSession *session, RhSessionMessage message,
                     GError **error) G_GNUC_WARN_UNUSED_RESULT;
/* Runs until an event to report, until_s, or until nothing is left to happen; in the latter two
 * cases the event is of kind NONE. Fails like rh_engine_run; after that the session can only be
 * closed. */
bool rh_session_run(RhSession *session, double until_s, RhSessionEvent *event,
                    GError **error) G_GNUC_WARN_UNUSED_RESULT;
double rh_session_clock_s(const RhSession *session);

/* Returns the results of a job since it was admitted, in numbers of its own program, over its
 * finished steps; events are those of the whole session. Caller frees; NULL before the first step
 * has ended. */
RhRun *rh_session_report(RhSession *session, int32_t job);
/* Returns the lower bound of the current step once it exceeds options.cutoff_s; else 0. */
double rh_session_least_s(const RhSession *session);
/* Returns the bytes that the programs on a GPU hold now: the peak of a running one, afterwards what
 * it leaves allocated; nothing once it is cancelled. */
double rh_session_gpu_bytes(const RhSession *session, int32_t gpu);

/* Contention between jobs on a link, or on several equivalent ones. */
typedef struct {
    char *name;         /* owned */
    int32_t alike;      /* number of equivalent links, this one included */
    double bytes_per_s; /* bandwidth of the link */
    int64_t met;        /* flows that began while another job's was moving there */
    double *bytes;      /* per job, total on one link; owned */
} RhSessionLink;
/* Returns the links on which flows of several jobs met, most frequent first: RhSessionLink, free
 * with g_array_unref. */
GArray *rh_session_collective_calls(RhSession *session);

/* Resets the counts; from now on kernels of folded runs have the jitter of options.jitter_frac. */
void rh_session_begin_jitter(RhSession *session);

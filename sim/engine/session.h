#pragma once
/* A session: a fabric on which programs are performed, one after another or at once.
 *
 *     RhSession *s = rh_session_open(platform, &options);
 *     int32_t a = rh_session_admit(s, program, gpus, "a", &error), b = ...;
 *     rh_session_submit(s, (RhSubmission){.job = a, .steps = 3}, &error);
 *     rh_session_submit(s, (RhSubmission){.job = b, .t_start_s = 0.5, .steps = 1}, &error);
 *     while (rh_session_run(s, HUGE_VAL, &event, &error) && event.kind)
 *         ...                              event.job has ended: report it, submit it again
 *     rh_session_close(s);
 *
 * Programs are admitted with their places before the first run, because all of them together decide
 * which ranks behave alike (fold.h); then each is submitted as often as one likes. Links carry the
 * flows of all programs under way, and GPUs hold what their programs keep. Two programs may have
 * the same GPU, not at the same time. One session lives per process; isolated_run.h helps. */
#include "sim/engine/engine.h"

typedef struct RhSession RhSession;

typedef enum {
    RH_EVENT_NONE,
    RH_EVENT_STEP,   /* a step of the job has ended, and another has begun */
    RH_EVENT_ENDED,  /* its last one has */
    RH_EVENT_SENT,   /* a parcel has arrived */
    RH_EVENT_ENOUGH, /* the step is known to take longer than options.enough_s */
} RhEventKind;

typedef struct {
    RhEventKind kind;
    int32_t job;
    double t_s;
    int32_t who; /* of a parcel */
} RhSessionEvent;

typedef struct {
    int32_t job;
    double t_start_s; /* not before the clock */
    int32_t steps;    /* back to back; 0: until cancelled */
    bool tell_steps;  /* RH_EVENT_STEP, too */
} RhSubmission;

/* Borrows the platform; copies the options, of which timeout_s and steps are not its own. */
RhSession *rh_session_open(const RhPlatform *platform, const RhEngineOptions *options);
void rh_session_close(RhSession *session); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RhSession, rh_session_close)

/* The job's number, or -1. Borrows the program; gpu_of_rank (copied; NULL: as the program says)
 * places its ranks. RH_ERROR_INPUT: a GPU that the platform lacks or that two ranks have, a program
 * after the first run. */
int32_t rh_session_admit(RhSession *session, const RhProgram *program, const int32_t *gpu_of_rank,
                         const char *name, GError **error);
/* RH_ERROR_INPUT: under way already, or in the past. */
bool rh_session_submit(RhSession *session, RhSubmission submission, GError **error);
/* Drops what is under way; fine when nothing is. */
void rh_session_cancel(RhSession *session, int32_t job);
/* A message that a policy sends when it likes, beside programs that say when. */
typedef struct {
    int32_t job, send; /* one that was admitted; a send of its program, whose role is of one rank */
    double bytes;      /* in place of the task's own */
    int32_t who;       /* the policy's; at least 0 */
} RhSessionMessage;
/* Leaves now, on the way of that send, whose program need not be under way; RH_EVENT_SENT is told when it
 * has arrived. RH_ERROR_USAGE where the platform's ranks talk by packets. */
bool rh_session_post(RhSession *session, RhSessionMessage parcel, GError **error);
/* Until something that was to be told happens, or until_s, or nothing is left: the latter two are
 * an event of kind NONE. Fails like rh_engine_run; after that the session can only be closed. */
bool rh_session_run(RhSession *session, double until_s, RhSessionEvent *event, GError **error);
double rh_session_clock_s(const RhSession *session);

/* What the job did since it was admitted, in numbers of its own program; its steps that have ended
 * count, events are those of the whole session. Caller frees; NULL before the first step has. */
RhRun *rh_session_report(RhSession *session, int32_t job);
/* What the step under way takes at least, where that is more than options.enough_s; else 0. */
double rh_session_least_s(const RhSession *session);
/* Bytes that the programs on a GPU keep there now: the peak of one under way, afterwards what it
 * leaves; nothing once it is cancelled. */
double rh_session_gpu_bytes(const RhSession *session, int32_t gpu);

/* Where jobs met: a link, or one of several alike. */
typedef struct {
    char *name;         /* owned */
    int32_t alike;      /* links that fare the same, this one included */
    double bytes_per_s; /* of the link */
    int64_t met;        /* how often a flow began while another job's was moving there */
    double *bytes;      /* per job, on one link, all in all; owned */
} RhSessionLink;
/* The links on which flows of several jobs met, the most often first: RhSessionLink, free with
 * g_array_unref. */
GArray *rh_session_collective_calls(RhSession *session);

/* Counts begin anew, and from now on kernels of folded runs spread as options.jitter_frac says. */
void rh_session_begin_jitter(RhSession *session);

#pragma once
/* State shared by the files of the executor. Private to them. */
#include <gsl/gsl_rng.h>

#include "base/garray_access.h"
#include "sim/engine/exec/exec.h"
#include "sim/engine/jitter_expected_delay.h"
#include "sim/engine/timers.h"
#include "sim/map64.h"
#include "sim/role_task_graph.h"

typedef enum {
    RH_STATE_WAITING,
    RH_STATE_ARRIVED, /* predecessors done; members or peer missing */
    RH_STATE_RUNNING,
    RH_STATE_DONE,
} RhTaskState;

/* Cause of a task's readiness: its last predecessor to finish, and the duration of that. */
typedef struct {
    int32_t task; /* -1: the start of the step */
    double duration_s;
} RhCause;

typedef struct {
    int32_t performer, task;
    RhCause cause;
} RhReadyTask;

/* Queue of ready tasks, first in, first out; it is empty again before the clock advances. */
typedef struct {
    RhReadyTask *all; /* entries start at `head` */
    uint32_t head, count, room;
} RhReadyQueue;

typedef struct {
    int32_t task; /* -1 = idle */
    bool stretches;
    double t_start_s, t_last_s;
    double nominal_s, left_s; /* without stretch */
    double late_s;            /* part of these that waits for slower ranks (jitter) */
} RhRunning;

typedef struct {
    const RhRoleTable *role;
    int32_t job;
    int32_t role_index, rank, ranks_count;
    int32_t tasks_left;
    uint16_t *waiting;   /* predecessors left, per task */
    uint8_t *state;      /* RhTaskState, per task */
    double *remaining_s; /* per task: lower bound from its start to the step's end; or NULL */
    RhRunning *running;  /* per lane */
    uint32_t stretching; /* bit set of lanes with a kernel that held SMs slow down */
    int32_t holders;     /* number of communications that hold SMs */
    double speed;        /* speed of kernels: 1 while no SMs are held */
    double own_speed;    /* speed of its GPU: 1 unless it is a slow one */
    double sms;          /* SMs of its device */
    double t_compute_end_s, t_end_s;
    RhCause last; /* the task that ended last */
    double wait_s[RH_WAIT_LAST], lane_busy_s[RH_LANE_LAST];
    double kernel_s[RH_PHASE_LAST], kernel_flops;
    RhBoundTimes bounds; /* parts of the compute lane's kernel time, stretch included */
    gsl_rng *rng;        /* NULL without jitter */
} RhActor;

/* One round of a collective with its times on idle links. */
typedef struct {
    RhTrafficRound what;
    double latency_s, move_s; /* over all repetitions */
} RhCommRound;

/* Rounds, links and times of a message, or of one kind of collective in one group; made at its
 * first use. */
typedef struct {
    int32_t rounds_first, rounds_end; /* into comm_rounds */
    int32_t links_first, links_end;   /* into comm_links: all links that it uses */
    double total_s;                   /* on idle links */
    bool disjoint;                    /* flows of one round share no link */
    int64_t performed_whole;
    int32_t owner; /* whose flows: a collective call, or a sender's colour */
    int32_t job;
} RhCommPlan;

/* Latest plan, and latest round of plans, that has a link: their number from 1; 0: none. */
typedef struct {
    int32_t plan, round;
} RhLinkLatest;

/* A collective or a message in progress. */
typedef struct {
    int32_t plan;
    int32_t call;        /* -1: a message */
    int32_t colours[2];  /* a message's sender and receiver */
    int32_t tasks[2];    /* a message's send and receive; a copy and -1 */
    int32_t ordinal;     /* a collective's */
    int32_t round;       /* current round, into comm_rounds */
    int32_t flows;       /* list of live flows */
    int32_t fluid_count; /* number of these on SimGrid */
    bool whole;          /* all its links are idle: one timer for all rounds */
    bool moving, timed;  /* moving: latency is over; timed: a timer is armed */
    bool holds;          /* SMs */
    /* 1 + sender's identifier of a session message; 0: a program's message */
    int32_t message;
    bool live;                 /* in progress, i.e. not in the free list */
    double t_start_s, t_end_s; /* t_end_s only if `whole` */
} RhActivity;

typedef struct {
    int32_t class, activity, next;
    bool fluid; /* on SimGrid; else a timer at its uncontended rate */
    bool ended;
    double t_end_s;
} RhActiveFlow;

/* A finished collective or message in its job's time; kept only with a timeline. */
typedef struct {
    int32_t plan;
    double t_start_s, t_end_s;
} RhLinkTransfer;

/* A flow to be started on SimGrid. */
typedef struct {
    int32_t route, flow;
    uint64_t units;
} RhSend;

/* Live flows on a link; a collective with one timer for all rounds is listed as ~activity. */
typedef struct {
    int32_t *ids;
    int32_t count, room;
} RhOccupants;

typedef struct RhExec RhExec;

/* One job: a program with a range of actors and collective calls. */
typedef struct {
    int32_t actors_first, actors_end;
    int32_t calls_first, calls_end;
    bool under_way, tells_steps;
    int32_t steps_left; /* including the current one */
    int64_t tasks_left;
    double t_step_s, t_origin_s;        /* start of this step, and of the first one */
    double bytes_total, bytes_as_flows; /* bytes put on links, and the part in SimGrid flows */
    GArray *step_times;                 /* double */
    GArray *timeline;                   /* RhTaskInterval */
} RhExecJob;

/* Table of functions that move bytes between ranks. The executor passes tasks to arrive(); the
 * transport completes them (rh_exec_complete). Its timers are the slots from x->transport_slot on.
 */
typedef struct {
    int32_t (*slots)(const RhExec *x);          /* initial number of timers */
    void (*open)(RhExec *x);                    /* called once, when all actors exist */
    void (*begin_step)(RhExec *x, int32_t job); /* may be NULL */
    void (*cancel)(RhExec *x, int32_t job);     /* drops the job's transfers */
    /* Returns the delay in seconds from the end of a kernel to communication that waited for it;
     * NULL: none. */
    double (*reaction_s)(const RhExec *x);
    void (*arrive)(RhExec *x, int32_t actor, int32_t task);
    void (*post)(RhExec *x, const RhSessionMessage *message); /* NULL: not supported */
    void (*due)(RhExec *x, int32_t slot);                     /* slot 0 is the transport's first */
    void (*account)(RhExec *x); /* brings counts up to date; may be NULL */
    void (*forget)(RhExec *x);  /* resets its counts */
    /* Returns the bytes of a job on a quotient link. */
    double (*link_bytes)(const RhExec *x, int32_t job, int32_t link);
    /* Returns how often a flow began on the link while another job's was moving. */
    int64_t (*link_met)(const RhExec *x, int32_t link);
    void (*close)(RhExec *x);
    /* copies go through arrive() and share links; else they take their uncontended time */
    bool shares_copies;
    bool links_die; /* links may fail if the platform says so; a run may then never end */
} RhTransport;
extern const RhTransport rh_transport_fluid;   /* max-min shared flows: exec_fluid.c */
extern const RhTransport rh_transport_packets; /* store and forward: exec_packet_messages.c */

typedef struct RhPacketLinks RhPacketLinks;
typedef struct RhExecMessages RhExecMessages;

struct RhExec {
    const RhTransport *transport;
    int32_t transport_slot;
    const RhProgram *program;
    const RhPlatform *platform;
    const RhTraffic *traffic;
    const RhFold *fold;
    const RhFoldedNetwork *quotient;
    const RhEngineOptions *options;
    double t_s, t_alarm_s;
    bool ahead;     /* ahead of SimGrid's clock; new flows wait in `sends` */
    bool stops;     /* stop after this instant */
    double least_s; /* lower bound of the step at which it was stopped; else 0 */
    GArray *sends;  /* RhSend */
    RhExecJob *jobs;
    int32_t jobs_count, jobs_slot, stop_slot; /* timers: starts of jobs; end of a run */
    GArray *settled;                          /* int32_t: jobs whose tasks are all done */
    /* RhSessionEvent, not yet reported, from events_head on */
    GArray *events;
    uint32_t events_head;
    RhRoleTable *roles;
    RhRoleTable **roles_on; /* per device of the platform; the first is `roles` */
    RhJitter *jitter;       /* folded runs; NULL when off */
    RhActor *actors;
    int32_t actors_count;
    uint16_t **arrived; /* per collective call and ordinal: colours that have arrived */
    RhReadyQueue ready;
    RhTimers timers;
    RhActivity *activities;   /* slot in timers: transport_slot + activity */
    int32_t *free_activities; /* a stack */
    int32_t free_count, activities_room;
    GArray *comm_plans, *comm_rounds, *comm_links; /* RhCommPlan, RhCommRound, int32_t */
    RhMap64 *comm_plan_of;
    GArray *flows; /* RhActiveFlow */
    int32_t free_flow;
    GArray *moves;            /* RhLinkTransfer; NULL: the transport keeps none */
    RhOccupants *occupants;   /* per quotient link */
    RhLinkLatest *link_plans; /* per quotient link */
    double *link_bytes;       /* per job and quotient link: bytes on one real link */
    int64_t *met;             /* per quotient link: flows that began beside another job's */
    double units_per_byte;
    int32_t lanes;   /* rh_program_lanes */
    double sms_held; /* SMs held by one communication */
    int64_t events_count;
    RhExecMessages *messages; /* packet transport only */
    RhPacketLinks *packets;   /* packet transport only */
};

static inline const RhTask *rh_actor_task(const RhExec *x, const RhActor *actor, int32_t task)
{
    return rh_program_task(x->program, actor->role->tasks_first + task);
}

/* Returns the colour at the other end of a message; -1 when there is none. */
static inline int32_t rh_exec_peer(const RhExec *x, const RhActor *actor, const RhTask *task)
{
    int32_t rank = actor->rank + task->peer_delta;
    return rank >= 0 && rank < x->program->ranks_count ? x->fold->colour_of_rank[rank] : -1;
}

static inline void rh_exec_make_ready(RhExec *x, RhReadyTask ready)
{
    RhReadyQueue *queue = &x->ready;
    if (queue->count == queue->room) {
        queue->room = queue->room ? 2 * queue->room : 64;
        queue->all = g_renew(RhReadyTask, queue->all, queue->room);
    }
    queue->all[queue->count++] = ready;
}

/* exec_jobs.c */
void rh_exec_begin_job(RhExec *x, int32_t job);
/* Queues an event; the run stops after this instant. */
void rh_exec_tell(RhExec *x, RhEventKind kind, int32_t job, int32_t who);
void rh_exec_settle(RhExec *x); /* ends the steps of jobs whose tasks are all done */
/* exec_create.c */
uint16_t **rh_exec_new_arrivals(const RhExec *x); /* zeros, per collective call and ordinal */
/* remaining_path.c */
/* Fills in the actors' remaining_s. */
void rh_exec_find_remaining_paths(RhExec *x);
/* exec.c */
void rh_exec_start_ready(RhExec *x);
void rh_exec_drain(RhExec *x); /* fires timers that are due */
void rh_exec_send(RhExec *x, RhSend send);
void rh_exec_on_alarm(void *user);
void rh_exec_on_flow_done(int32_t flow, void *user);
void rh_exec_complete(RhExec *x, int32_t actor, int32_t task, double t_start_s);
/* Completes a task that moved bytes only for its last `moved_s`; before, it waited for another. */
void rh_exec_complete_moved(RhExec *x, int32_t actor, int32_t task, double t_start_s,
                            double moved_s);
void rh_exec_set_holders(RhExec *x, int32_t actor, int32_t change);
/* exec_comm_plans.c */
int32_t rh_exec_comm_collective(RhExec *x, int32_t call, int32_t kind);
int32_t rh_exec_comm_message(RhExec *x, int32_t sender, int32_t pattern, double bytes);
void rh_exec_comm_account(RhExec *x, const RhCommPlan *plan, const RhCommRound *round,
                          double times);
/* Range of flow classes that move in a round: first to end - 1. */
typedef struct {
    int32_t first, end;
} RhClassRange;
RhClassRange rh_exec_classes(const RhExec *x, const RhCommPlan *plan, int32_t pattern);
/* link_history.c */
/* Records an activity that ends now. */
void rh_exec_note_transfer(RhExec *x, const RhActivity *activity);
/* Appends RhRun.link_loads of these quotient links; nothing where no transfers were recorded. */
void rh_exec_link_loads(const RhExec *x, int32_t job, const int32_t *links, int32_t count,
                        double span_s, GArray *loads);
/* exec_flow.c */
bool rh_exec_links_idle(const RhExec *x, const RhCommPlan *plan);
void rh_exec_occupy_whole(RhExec *x, int32_t activity);
void rh_exec_leave_whole(RhExec *x, int32_t activity);
/* Starts a flow, as a timer when its links are idle: then *t_end_s is raised to its end. */
void rh_exec_flow_start(RhExec *x, int32_t activity, int32_t class, double bytes, double *t_end_s);
/* Registers a flow on a timer that began at t_start_s. */
void rh_exec_flow_resume(RhExec *x, int32_t activity, int32_t class, double bytes,
                         double t_start_s);
void rh_exec_flow_leave(RhExec *x, int32_t flow);
void rh_exec_flows_end(RhExec *x, int32_t activity);
/* exec_fluid.c */
/* replaces the single timer by the current round's flows */
void rh_exec_materialise(RhExec *x, int32_t activity);
void rh_exec_flow_done(RhExec *x, int32_t flow);
/* exec_report.c */
void rh_exec_charge(const RhExec *x, RhActor *actor, double gap_s, RhCause cause);
bool rh_exec_fail_stuck(const RhExec *x, GError **error);

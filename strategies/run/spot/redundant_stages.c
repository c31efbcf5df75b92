#include "strategies/run/spot/redundant_stages.h"

#include <math.h>

#include "base/heap.h"

/* Kinds of events; of one moment, in this order. */
typedef enum { NODE_JOINS, NODE_LEAVES, NODE_READY, ALL_MET, SOME_MET, STEP_ENDS } Kind;

typedef struct {
    int64_t t_ms, number;
    Kind kind;
    int64_t about; /* a node; the number of the meeting, or of the one before the step */
} Event;

static inline bool is_earlier(const Event *a, const Event *b)
{
    if (a->t_ms != b->t_ms)
        return a->t_ms < b->t_ms;
    return a->kind != b->kind ? a->kind < b->kind : a->number < b->number;
}

RH_HEAP(event_heap, Event, is_earlier)

typedef struct {
    int32_t pipeline, stage;
} Place;

typedef struct {
    int32_t id;
    bool is_ready, runs;
    Place places[2]; /* the second one of a lost node */
    int32_t places_count;
} Node;

typedef enum { STOPPED, MEETING, RUNNING } Status;

typedef struct {
    const RhRedundantStages *p;
    RhRedundantResult out;
    Status status;
    GArray *events;  /* Event */
    GArray *nodes;   /* Node, in the order in which they joined */
    GArray *meeting; /* int32_t: those that meet */
    int64_t number;
    int64_t t_ms;
    int64_t called, meetings; /* meetings that were begun, and held */
    int32_t pipelines, waiting;
    int64_t step_ms;
    int64_t lost_at_ms, lost_at_step;      /* first loss since the last meeting; -1: none */
    bool lengthened;                       /* the step that it struck */
    int64_t counted_ms;                    /* until which node_ms counts */
    int64_t safe_step;                     /* of the last checkpoint ... */
    int64_t safe_alone_ms, safe_slower_ms; /* ... and the times until it */
} Stages;

static void tell(const Stages *s, const char *what, int64_t a, int64_t b)
{
    if (s->p->told)
        s->p->told(s->t_ms, what, a, b, s->p->user);
}

static void add_event(Stages *s, int64_t t_ms, Kind kind, int64_t about)
{
    event_heap_push(s->events, (Event){t_ms, s->number++, kind, about});
}

static Node *node_at(const Stages *s, guint i)
{
    return &g_array_index(s->nodes, Node, i);
}

static Node *node_of(const Stages *s, int64_t id)
{
    for (guint i = 0; i < s->nodes->len; i++)
        if (node_at(s, i)->id == id)
            return node_at(s, i);
    return NULL;
}

/* Finds a node from the place of the last one found on, as they are asked for in order. */
static Node *node_after(const Stages *s, int64_t id, guint *at)
{
    for (guint i = 0; i < s->nodes->len; i++) {
        guint j = *at + i < s->nodes->len ? *at + i : *at + i - s->nodes->len;
        if (node_at(s, j)->id != id)
            continue;
        *at = j;
        return node_at(s, j);
    }
    return NULL;
}

/* All that are up meet; `kind` says how long that takes. */
static void meet(Stages *s, Kind kind)
{
    s->status = MEETING;
    g_array_set_size(s->meeting, 0);
    for (guint i = 0; i < s->nodes->len; i++)
        if (node_at(s, i)->is_ready)
            g_array_append_val(s->meeting, node_at(s, i)->id);
    s->called++;
    add_event(s, s->t_ms + (kind == ALL_MET ? s->p->global_ms : s->p->local_ms), kind, s->called);
}

static void fail_fatally(Stages *s, int64_t id)
{
    tell(s, "fatal", id, 0);
    s->out.fatal_count++;
    if (s->p->checkpoint_steps > 0) {
        s->out.lost_ms += s->out.alone_ms - s->safe_alone_ms + s->out.slower_ms - s->safe_slower_ms;
        s->out.steps_count = s->safe_step;
        s->out.alone_ms = s->safe_alone_ms;
        s->out.slower_ms = s->safe_slower_ms;
    }
    meet(s, ALL_MET);
}

static bool holds(const Node *node, Place place)
{
    for (int32_t i = 0; i < node->places_count; i++)
        if (node->places[i].pipeline == place.pipeline && node->places[i].stage == place.stage)
            return true;
    return false;
}

/* The node in front of a lost one takes its stage; returns false if it already holds two. Where no pipeline is
 * laid out, nobody is in front of the first stage. */
static bool take_over(Stages *s, Place lost)
{
    if (s->pipelines == 0 && lost.stage == 0)
        return true;
    Place before = {lost.pipeline, (lost.stage + s->p->stages - 1) % s->p->stages};
    for (guint i = 0; i < s->nodes->len; i++) {
        Node *node = node_at(s, i);
        if (!holds(node, before))
            continue;
        if (node->places_count > 1)
            return false;
        node->places[node->places_count++] = lost;
        break;
    }
    return true;
}

static void count_nodes(Stages *s, int64_t t_ms)
{
    s->out.node_ms += (double)(t_ms - s->counted_ms) * s->nodes->len;
    s->counted_ms = t_ms;
}

static void leave(Stages *s, int64_t id)
{
    Node *found = node_of(s, id);
    if (!found)
        return;
    Node gone = *found;
    count_nodes(s, s->t_ms);
    g_array_remove_index(s->nodes, (guint)(found - node_at(s, 0)));
    s->out.lost_count++;
    if (gone.runs && (gone.places_count > 1 || !take_over(s, gone.places[0]))) {
        fail_fatally(s, id);
        return;
    }
    if (s->status == RUNNING && s->lost_at_ms < 0) {
        s->lost_at_ms = s->t_ms;
        s->lost_at_step = s->out.steps_count;
        s->lengthened = false;
        s->step_ms = (int64_t)((double)s->step_ms * s->p->slower);
    }
}

static void join(Stages *s, int64_t id)
{
    Node node = {.id = (int32_t)id};
    count_nodes(s, s->t_ms);
    g_array_append_val(s->nodes, node);
    add_event(s, s->t_ms + s->p->creation_ms, NODE_READY, id);
}

static void make_ready(Stages *s, int64_t id)
{
    Node *node = node_of(s, id);
    if (!node)
        return; /* it left before */
    node->is_ready = true;
    node->runs = false;
    if (s->status == STOPPED)
        meet(s, ALL_MET);
    else if (s->status == MEETING)
        g_array_append_val(s->meeting, node->id);
    else
        s->waiting++;
}

/* Gives those that met their places, pipeline by pipeline; the others wait. */
static void lay_out(Stages *s)
{
    int32_t stages = s->p->stages;
    s->pipelines = MIN((int32_t)s->meeting->len / stages, s->p->pipelines_most);
    s->waiting = 0;
    guint at = 0;
    for (guint i = 0; i < s->meeting->len; i++) {
        Node *node = node_after(s, g_array_index(s->meeting, int32_t, i), &at);
        node->runs = (int32_t)i < s->pipelines * stages;
        node->places_count = node->runs ? 1 : 0;
        node->places[0] = (Place){(int32_t)i / stages, (int32_t)i % stages};
        s->waiting += !node->runs;
    }
}

/* Are nodes worth a new layout: to relieve those that hold two stages, or for another pipeline? */
static bool should_meet(const Stages *s)
{
    int32_t overloaded = 0, stages = s->p->stages;
    for (guint i = 0; i < s->nodes->len; i++)
        overloaded += node_at(s, i)->runs && node_at(s, i)->places_count > 1;
    int32_t active = s->pipelines * stages - overloaded;
    if (overloaded > 0 && (s->waiting >= overloaded || 2.0 * overloaded / active > s->p->risk_frac))
        return true;
    return MIN((active + s->waiting) / stages, s->p->pipelines_most) > s->pipelines;
}

/* Counts steps that ended, the last one now, each as long as the others. */
static void count_steps(Stages *s, int64_t count, int64_t each_ms)
{
    int64_t alone_ms = s->p->step_ms[s->pipelines - 1], every = s->p->checkpoint_steps;
    int64_t slower_ms = s->lost_at_ms >= 0 ? MAX(MIN(each_ms, s->step_ms) - alone_ms, 0) : 0;
    s->out.meeting_ms += count * (each_ms - alone_ms - slower_ms);
    s->out.steps_count += count;
    s->out.alone_ms += count * alone_ms;
    s->out.slower_ms += count * slower_ms;
    int64_t after = every > 0 ? s->out.steps_count % every : count;
    if (after < count) {
        s->safe_step = s->out.steps_count - after;
        s->safe_alone_ms = s->out.alone_ms - after * alone_ms;
        s->safe_slower_ms = s->out.slower_ms - after * slower_ms;
    }
}

/* Steps until something happens are all alike: only the last one of them is an event. */
static void begin_step(Stages *s)
{
    int64_t next_ms = s->events->len > 0 ? g_array_index(s->events, Event, 0).t_ms : INT64_MAX;
    if (s->p->until_ms > 0)
        next_ms = MIN(next_ms, s->p->until_ms);
    int64_t whole =
        MIN((next_ms - s->t_ms - 1) / s->step_ms, s->p->steps_most - 1 - s->out.steps_count);
    bool is_struck = s->lost_at_ms >= 0 && s->lost_at_step == s->out.steps_count;
    if (whole > 0 && !is_struck && s->out.last_ms == s->t_ms) {
        count_steps(s, whole, s->step_ms);
        s->t_ms += whole * s->step_ms;
        s->out.last_ms = s->t_ms;
    }
    add_event(s, s->t_ms + s->step_ms, STEP_ENDS, s->meetings);
}

static void end_meeting(Stages *s, Kind kind, int64_t called)
{
    if (s->p->meets_once && called != s->called)
        return;
    guint at = 0;
    for (guint i = 0; i < s->meeting->len; i++)
        if (!node_after(s, g_array_index(s->meeting, int32_t, i), &at)) {
            tell(s, "again", g_array_index(s->meeting, int32_t, i), 0);
            meet(s, kind);
            return;
        }
    lay_out(s);
    s->lost_at_ms = -1;
    s->lengthened = false;
    s->meetings++;
    tell(s, "met", s->meeting->len, s->pipelines);
    g_array_set_size(s->meeting, 0);
    s->status = s->pipelines > 0 ? RUNNING : STOPPED;
    if (s->pipelines == 0)
        return;
    s->step_ms = s->p->step_ms[s->pipelines - 1];
    begin_step(s);
    if (s->out.first_ms < 0)
        s->out.first_ms = s->out.last_ms = s->t_ms;
}

static void end_step(Stages *s, int64_t meeting)
{
    if (meeting != s->meetings || (s->p->meets_once && s->status != RUNNING))
        return; /* the nodes met in between: it was not finished */
    bool was_struck = s->lost_at_ms >= 0 && s->lost_at_step == s->out.steps_count;
    if (was_struck && !s->lengthened) {
        int64_t more_ms = (int64_t)((double)(s->t_ms - s->lost_at_ms) * (s->p->slower - 1));
        add_event(s, s->t_ms + more_ms, STEP_ENDS, meeting);
        s->lengthened = true;
        return;
    }
    count_steps(s, 1, s->t_ms - s->out.last_ms);
    s->out.last_ms = s->t_ms;
    if (should_meet(s)) {
        tell(s, "reconfigure", s->out.steps_count, 0);
        meet(s, SOME_MET);
    } else {
        begin_step(s);
    }
}

static void happen(Stages *s, const Event *e)
{
    switch (e->kind) {
    case NODE_JOINS:
        join(s, e->about);
        break;
    case NODE_LEAVES:
        leave(s, e->about);
        break;
    case NODE_READY:
        make_ready(s, e->about);
        break;
    case ALL_MET:
    case SOME_MET:
        end_meeting(s, e->kind, e->about);
        break;
    case STEP_ENDS:
        end_step(s, e->about);
        break;
    }
}

RhRedundantResult rh_redundant_stages(const RhRedundantStages *p)
{
    Stages s = {.p = p,
                .out = {.first_ms = -1},
                .events = g_array_new(FALSE, FALSE, sizeof(Event)),
                .nodes = g_array_new(FALSE, FALSE, sizeof(Node)),
                .meeting = g_array_new(FALSE, FALSE, sizeof(int32_t)),
                .lost_at_ms = -1};
    for (int32_t i = 0; i < p->events_count; i++)
        add_event(&s, (int64_t)llround(p->events[i].t_s * 1000),
                  p->events[i].joins ? NODE_JOINS : NODE_LEAVES, p->events[i].node);
    while (s.events->len > 0 && s.out.steps_count < p->steps_most) {
        Event e = event_heap_remove(s.events, 0);
        if (p->until_ms > 0 && e.t_ms > p->until_ms)
            break;
        s.t_ms = e.t_ms;
        happen(&s, &e);
    }
    s.out.meetings_count = s.meetings;
    g_array_unref(s.events);
    g_array_unref(s.nodes);
    g_array_unref(s.meeting);
    return s.out;
}

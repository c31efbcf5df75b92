#include "validate/perform/pingpong_measure.h"

#include <math.h>

#define BYTES_MAX    (1 << 20)
#define TRIPS_MAX    31
#define REACTIONS    100
#define KERNEL_S     0.5e-3
#define SLOW_B_PER_S 12.5e6 /* the lab's links: larger messages make fewer trips */

/* Sizes from 4 B on, by factors of four and then of two; 0 after the last. */
static int32_t next_size(int32_t bytes)
{
    int32_t next = bytes < 4 ? 4 : bytes * (bytes < 1024 ? 4 : 2);
    return next <= BYTES_MAX ? next : 0;
}

static int32_t trips_of(int32_t bytes)
{
    return (int32_t)CLAMP(0.2 * SLOW_B_PER_S / bytes, 5, TRIPS_MAX);
}

#define CHAINS 2
/* Lanes of the chains: sends, receives. */
static const RhLane lanes[CHAINS][2] = {{RH_LANE_SEND_NEXT, RH_LANE_RECV_PREV},
                                        {RH_LANE_EP, RH_LANE_CP}};

static int32_t add_end(RhProgram *p, int chain, bool sends, int32_t delta, int32_t bytes,
                       int32_t before)
{
    RhTask task = {.kind = sends ? RH_TASK_SEND : RH_TASK_RECV,
                   .lane = lanes[chain][sends ? 0 : 1],
                   .layer = -1,
                   .microbatch = -1,
                   .label = rh_program_label(p, sends ? "send" : "receive"),
                   .bundle = -1,
                   .group = -1,
                   .peer_task = -1,
                   .peer_delta = delta,
                   .bytes = bytes};
    return rh_program_add_task(p, task, &before, 1);
}

/* Adds a chain: size after size, trip by trip; the leader sends first. Returns the last task. */
static int32_t add_chain(RhProgram *p, bool leads, int32_t delta, GArray *ends)
{
    int32_t last = -1;
    for (int32_t bytes = next_size(0); bytes; bytes = next_size(bytes))
        for (int32_t i = 0; i < 2 * trips_of(bytes); i++) {
            last = add_end(p, 0, (i % 2 == 0) == leads, delta, bytes, last);
            g_array_append_val(ends, last);
        }
    return last;
}

/* Adds trips with a kernel before each send, whose end the host must notice. */
static void add_reactions(RhProgram *p, bool leads, int32_t delta, int32_t last, GArray *ends)
{
    for (int32_t i = 0; i < 2 * REACTIONS; i++) {
        bool sends = (i % 2 == 0) == leads;
        if (sends) {
            RhTask kernel = {.kind = RH_TASK_KERNEL,
                             .lane = RH_LANE_COMPUTE,
                             .layer = -1,
                             .microbatch = -1,
                             .label = rh_program_label(p, "kernel"),
                             .bundle = rh_program_add_wait(p, KERNEL_S),
                             .group = -1,
                             .peer_task = -1};
            last = rh_program_add_task(p, kernel, &last, 1);
        }
        last = add_end(p, 1, sends, delta, 4, last);
        g_array_append_val(ends, last);
    }
}

/* Adds half of the ranks: the lower half is one role and leads, the upper half another. */
static void add_half(RhProgram *p, int32_t ranks, bool lower, GArray *ends[CHAINS])
{
    RhStride half = {1, ranks / 2};
    int32_t delta = lower ? ranks / 2 : -ranks / 2;
    rh_program_begin_role(p, lower ? "lower" : "upper", lower ? 0 : ranks / 2, &half, 1);
    int32_t last = add_chain(p, lower, delta, ends[0]);
    add_reactions(p, lower, delta, last, ends[1]);
    rh_program_end_role(p);
}

static void match_chain(RhProgram *p, const GArray *leader, const GArray *follower)
{
    for (guint i = 0; i < leader->len; i++) {
        int32_t a = g_array_index(leader, int32_t, i), b = g_array_index(follower, int32_t, i);
        rh_program_match(p, i % 2 == 0 ? a : b, i % 2 == 0 ? b : a);
    }
}

RhProgram *rh_pingpong_program(int32_t ranks)
{
    RhProgram *p = rh_program_new(ranks);
    GArray *ends[2][CHAINS];
    for (int i = 0; i < 2 * CHAINS; i++)
        ends[i / CHAINS][i % CHAINS] = g_array_new(FALSE, FALSE, sizeof(int32_t));
    add_half(p, ranks, true, ends[0]);
    add_half(p, ranks, false, ends[1]);
    match_chain(p, ends[0][0], ends[1][0]);
    match_chain(p, ends[0][1], ends[1][1]);
    for (int i = 0; i < 2 * CHAINS; i++)
        g_array_unref(ends[i / CHAINS][i % CHAINS]);
    return p;
}

/* Intervals of one rank, by task; NULL where none. */
static const RhTaskInterval **spans_of(const RhProgram *p, const GArray *spans, int32_t rank)
{
    const RhTaskInterval **of_task = g_new0(const RhTaskInterval *, p->tasks->len + 1);
    for (guint i = 0; i < spans->len; i++) {
        const RhTaskInterval *span = &g_array_index(spans, RhTaskInterval, i);
        if (span->performer == rank)
            of_task[span->task] = span;
    }
    return of_task;
}

static bool write_row(FILE *out, const char *kind, int32_t rank, const RhTask *t, double seconds)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    return fprintf(out, "%s,%d,%d,%.0f,%s\n", kind, rank, rank + t->peer_delta, t->bytes,
                   g_ascii_formatd(text, sizeof text, "%.9g", seconds)) > 0;
}

/* Writes half trips of the first chain, and reactions of the last. */
static bool write_rank(const RhProgram *p, const RhTaskInterval **span, int32_t rank, FILE *out)
{
    const RhRole *role = rh_program_role(p, rank < p->ranks_count / 2 ? 0 : 1);
    int32_t before = -1; /* the previous receive */
    bool written = true;
    for (int32_t i = role->tasks_first; i < role->tasks_first + role->tasks_count; i++) {
        const RhTask *t = rh_program_task(p, i);
        if (!span[i])
            continue;
        if (t->lane == lanes[0][1] && role == rh_program_role(p, 0)) {
            if (before >= 0 && rh_program_task(p, before)->bytes == t->bytes)
                written &=
                    write_row(out, "trip", rank, t, (span[i]->t_end_s - span[before]->t_end_s) / 2);
            before = i;
        } else if (t->lane == lanes[1][0] && span[i - 1]) {
            written &= write_row(out, "reaction", rank, t,
                                 fmax(0, span[i]->t_start_s - span[i - 1]->t_end_s));
        }
    }
    return written;
}

bool rh_pingpong_rows(const RhProgram *p, const GArray *spans, FILE *out)
{
    bool written = true;
    for (int32_t rank = 0; rank < p->ranks_count; rank++) {
        g_autofree const RhTaskInterval **of_task = spans_of(p, spans, rank);
        written &= write_rank(p, of_task, rank, out);
    }
    return written;
}

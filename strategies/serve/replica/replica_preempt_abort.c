/* Ends sequences early: preempted for lack of cache, given up by their clients, or lost with their
 * server. */
#include "strategies/serve/replica/replica_private.h"
#include "strategies/serve/scheduler.h"

static RhEnding *ending(const RhReplica *r, guint i)
{
    return &g_array_index(r->endings, RhEnding, i);
}

static RhLatest *wave_at(const RhReplica *r, guint i)
{
    return &g_array_index(r->waves, RhLatest, i);
}

/* --- preemption --- */

/* The sequence that was admitted last; -1: there is none. */
static int32_t latest_admitted(RhReplica *r)
{
    while (r->admitted->len > 0) {
        RhAdmitted *entry = &g_array_index(r->admitted, RhAdmitted, r->admitted->len - 1);
        if (rh_replica_sequence(r, entry->sequence)->admission == entry->admission)
            return entry->sequence;
        g_array_set_size(r->admitted, r->admitted->len - 1);
    }
    return -1;
}

/* Removes a sequence from the wave of those that had their latest token at t_s. */
static void forget_wave(RhReplica *r, double t_s)
{
    guint i = r->waves->len - 1;
    while (i > 0 && wave_at(r, i)->t_s > t_s)
        i--;
    if (--wave_at(r, i)->count == 0)
        g_array_remove_index(r->waves, i);
}

/* Stops continuing a sequence that has so many tokens in the cache. */
static void stop_continuing(RhReplica *r, int32_t sequence, int32_t tokens)
{
    RhSequence *s = rh_replica_sequence(r, sequence);
    s->tbt_max_s = rh_replica_longest_gap_s(r, s);
    s->t_joined_s = MAX(s->t_joined_s, wave_at(r, 0)->t_s);
    for (guint i = 0; i < r->endings->len; i++)
        if (ending(r, i)->sequence == sequence) {
            s->made = s->output - (int32_t)(ending(r, i)->last - r->steps);
            rh_replica_drop_ending(r, i);
            break;
        }
    rh_replica_remember(r, sequence, tokens);
    rh_replica_part(r, sequence);
    forget_wave(r, s->t_joined_s);
}

/* Preempts a sequence. It is recomputed later: its output so far becomes part of its prompt. */
static void preempt(RhReplica *r, int32_t sequence)
{
    RhSequence *s = rh_replica_sequence(r, sequence);
    int32_t blocks = rh_replica_held_blocks(r, s);
    int32_t tokens = s->continued ? (int32_t)(s->base + r->steps) : s->read;
    if (s->continued) {
        stop_continuing(r, sequence, tokens);
        s->prompt = s->input + s->made;
    } else {
        rh_replica_stop_reading(r, sequence);
    }
    rh_replica_leave(r, sequence, blocks);
    rh_replica_let_go(r, sequence, blocks, tokens);
    s->read = 0;
    s->looked_up = 0;
    s->fetched = false;
    s->was_out = true;
    rh_replica_served(r, sequence)->preempted_count++;
    r->counts.preempted++;
    g_queue_push_head(&r->waiting, GINT_TO_POINTER(sequence));
}

/* Preempts in vain a sequence that has ended without the plan knowing, if the last such one was
 * admitted after the given one. */
static bool preempt_ended(RhReplica *r, int32_t sequence)
{
    guint last = 0;
    for (guint i = 1; i < r->late->len; i++)
        if (g_array_index(r->late, RhEndedSequence, i).admission >
            g_array_index(r->late, RhEndedSequence, last).admission)
            last = i;
    if (r->late->len == 0 || g_array_index(r->late, RhEndedSequence, last).admission <
                                 rh_replica_sequence(r, sequence)->admission)
        return false;
    r->late_blocks -= g_array_index(r->late, RhEndedSequence, last).blocks;
    g_array_remove_index_fast(r->late, last);
    return true;
}

void rh_replica_make_room(RhReplica *r)
{
    r->put_out = false;
    while (rh_replica_free_blocks(r) < 0) {
        int32_t sequence = latest_admitted(r);
        if (!preempt_ended(r, sequence))
            preempt(r, sequence);
        r->put_out = true;
    }
}

/* --- timeouts and failures --- */

/* Index of the request's sequence that has not ended; -1: there is none. */
static int32_t sequence_of_request(const RhReplica *r, int32_t request)
{
    for (const GList *l = r->waiting.head; l; l = l->next)
        if (rh_replica_sequence(r, GPOINTER_TO_INT(l->data))->request == request)
            return GPOINTER_TO_INT(l->data);
    for (int32_t i = 0, sequence; (sequence = rh_replica_reading(r, i)) >= 0; i++)
        if (rh_replica_sequence(r, sequence)->request == request)
            return sequence;
    for (guint i = 0; i < r->endings->len; i++)
        if (rh_replica_sequence(r, ending(r, i)->sequence)->request == request)
            return ending(r, i)->sequence;
    return -1;
}

static void leave_cache(RhReplica *r, int32_t sequence)
{
    RhSequence *s = rh_replica_sequence(r, sequence);
    int32_t blocks = rh_replica_held_blocks(r, s);
    if (s->continued)
        stop_continuing(r, sequence, (int32_t)(s->base + r->steps));
    else
        rh_replica_stop_reading(r, sequence);
    rh_replica_leave(r, sequence, blocks);
    rh_replica_let_go(r, RH_FREED_NOBODY, blocks, 0);
}

static void drop_sequence(RhReplica *r, int32_t sequence)
{
    RhSequence *s = rh_replica_sequence(r, sequence);
    if (s->admission > 0)
        leave_cache(r, sequence);
    else
        g_queue_remove(&r->waiting, GINT_TO_POINTER(sequence));
    g_clear_pointer(&s->units, g_ptr_array_unref);
    r->promised -= rh_replica_whole_blocks(r, s->request);
    rh_replica_served(r, sequence)->lost_tokens += s->made;
}

void rh_replica_forget(RhReplica *r, int32_t request)
{
    r->coming--;
    r->promised -= rh_replica_whole_blocks(r, request);
}

bool rh_replica_drop(RhReplica *r, int32_t request)
{
    int32_t sequence = sequence_of_request(r, request);
    if (sequence < 0)
        return false;
    if (r->busy)
        g_array_append_val(r->leaving, request);
    else
        drop_sequence(r, sequence);
    return true;
}

void rh_replica_drop_leaving(RhReplica *r)
{
    for (guint i = 0; i < r->leaving->len; i++) {
        int32_t sequence = sequence_of_request(r, g_array_index(r->leaving, int32_t, i));
        if (sequence >= 0) /* otherwise it has ended with the iteration */
            drop_sequence(r, sequence);
    }
    g_array_set_size(r->leaving, 0);
}

/* Breaks off at a failure: earlier iterations of the run count, the one under way does not;
 * sequences only end with the last of a run. */
static void break_off(RhReplica *r, double t_s)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(int32_t));
    rh_replica_cut(r, t_s);
    r->run.steps--;
    if (r->run.steps > 0)
        rh_replica_end(r, r->t_begin_s + rh_run_s(&r->run, r->run.steps), none);
    g_assert(none->len == 0);
    r->busy = false;
    rh_replica_drop_leaving(r);
}

static gint came_before(gconstpointer a, gconstpointer b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

void rh_replica_fail(RhReplica *r, double t_s, GArray *dropped)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(int32_t));
    if (r->busy)
        break_off(r, t_s);
    for (const GList *l = r->waiting.head; l; l = l->next) {
        int32_t sequence = GPOINTER_TO_INT(l->data);
        g_array_append_val(all, sequence);
    }
    g_array_append_vals(all, r->reading->data, r->reading->len);
    for (guint i = 0; i < r->endings->len; i++)
        g_array_append_val(all, ending(r, i)->sequence);
    g_array_sort(all, came_before);
    for (guint i = 0; i < all->len; i++) {
        int32_t sequence = g_array_index(all, int32_t, i);
        drop_sequence(r, sequence);
        g_array_append_val(dropped, rh_replica_sequence(r, sequence)->request);
    }
    rh_replica_forget_late(r);
    rh_replica_end_memory(r);
    rh_replica_begin_memory(r);
    rh_replica_note(r, t_s);
}

int32_t rh_replica_streamed_tokens(const RhReplica *r, int32_t request, double t_s)
{
    int32_t sequence = sequence_of_request(r, request);
    const RhSequence *s = sequence >= 0 ? rh_replica_sequence(r, sequence) : NULL;
    if (!s || !s->continued)
        return s && !s->fetched ? s->made : 0;
    int32_t left = 0, given = 0;
    for (guint i = 0; i < r->endings->len; i++)
        if (ending(r, i)->sequence == sequence)
            left = (int32_t)(ending(r, i)->last - r->steps);
    if (r->busy && r->continues) {
        int32_t steps = rh_replica_steps_until(r, t_s);
        bool over = r->t_begin_s + rh_run_s(&r->run, steps) <= t_s;
        given = rh_replica_accepted(r, steps - !over);
    }
    return MIN(s->output - left + given, s->output);
}

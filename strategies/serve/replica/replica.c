/* Sequences and blocks of a replica: who waits and who is admitted. Iterations are in
 * replica_run.c, early ends of sequences in replica_preempt_abort.c. */
#include <math.h>

#include "base/heap.h"
#include "strategies/serve/iteration/speculation.h"
#include "strategies/serve/replica/replica_private.h"
#include "strategies/serve/scheduler.h"

RhReplica *rh_replica_new(const RhReplicaSpec *spec)
{
    RhReplica *r = g_new0(RhReplica, 1);
    r->spec = *spec;
    r->reserves = spec->server->scheduler->reserves;
    r->sequences = g_array_new(FALSE, TRUE, sizeof(RhSequence));
    g_queue_init(&r->waiting);
    r->reading = g_array_new(FALSE, FALSE, sizeof(int32_t));
    r->endings = g_array_new(FALSE, FALSE, sizeof(RhEnding));
    r->admitted = g_array_new(FALSE, FALSE, sizeof(RhAdmitted));
    r->planned = g_array_new(FALSE, FALSE, sizeof(RhPlanned));
    r->chunks = g_array_new(FALSE, FALSE, sizeof(RhChunk));
    r->waves = g_array_new(FALSE, FALSE, sizeof(RhLatest));
    r->longest = g_array_new(FALSE, FALSE, sizeof(RhLongestGap));
    r->late = g_array_new(FALSE, FALSE, sizeof(RhEndedSequence));
    r->leaving = g_array_new(FALSE, FALSE, sizeof(int32_t));
    r->crossing = g_new0(int32_t, spec->server->block_tokens);
    r->given = rh_pool_accepted(&spec->pool);
    rh_replica_begin_memory(r);
    return r;
}

void rh_replica_free(RhReplica *r)
{
    if (!r)
        return;
    for (guint i = 0; i < r->sequences->len; i++)
        if (rh_replica_sequence(r, (int32_t)i)->units)
            g_ptr_array_unref(rh_replica_sequence(r, (int32_t)i)->units);
    GArray *arrays[] = {r->sequences, r->reading, r->endings, r->admitted, r->planned,
                        r->chunks,    r->waves,   r->longest, r->late,     r->leaving};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    g_queue_clear(&r->waiting);
    rh_replica_end_memory(r);
    g_free(r->crossing);
    g_free(r);
}

/* --- Blocks --- */

int32_t rh_replica_accepted(const RhReplica *r, int32_t iterations)
{
    return (int32_t)(rh_accepted_by(r->given, r->rounds + iterations) -
                     rh_accepted_by(r->given, r->rounds));
}

int32_t rh_replica_next_blocks(const RhReplica *r)
{
    int32_t blocks = 0;
    for (int32_t j = 0; !r->reserves && j < rh_replica_accepted(r, 1); j++)
        blocks += r->crossing[(r->steps + j) % r->spec.server->block_tokens];
    return blocks;
}

/* Free blocks. Those of continued sequences come first. */
int32_t rh_replica_free_blocks(const RhReplica *r)
{
    return r->spec.blocks - r->used_blocks - r->late_blocks - rh_replica_next_blocks(r);
}

int32_t rh_replica_held_blocks(const RhReplica *r, const RhSequence *s)
{
    return s->continued && !r->reserves ? rh_replica_blocks_of(r, (int32_t)(s->base + r->steps))
                                        : s->blocks;
}

void rh_replica_use(RhReplica *r, int32_t blocks)
{
    r->used_blocks += blocks;
    r->peak_blocks = MAX(r->peak_blocks, r->used_blocks);
    if (r->prefixes)
        rh_prefix_cache_shrink(r->prefixes, (r->spec.blocks - r->used_blocks) / r->unit_blocks);
    if (r->freed)
        rh_free_queue_shrink(r->freed, r->spec.blocks - r->used_blocks);
}

static int32_t place_of(const RhReplica *r, int64_t base)
{
    int64_t each = r->spec.server->block_tokens;
    return (int32_t)(((-base % each) + each) % each);
}

/* --- arrival and waiting --- */

static int32_t output_of(const RhReplica *r, const RhRequestRecord *served)
{
    return r->spec.prompts_only ? 1 : served->output_tokens;
}

int64_t rh_replica_whole_blocks(const RhReplica *r, int32_t request)
{
    const RhRequestRecord *served = &g_array_index(r->spec.served, RhRequestRecord, request);
    int64_t tokens = (int64_t)served->input_tokens + output_of(r, served) + r->spec.pool.draft;
    return tokens > r->spec.longest ? (int64_t)r->spec.blocks + 1
                                    : rh_server_blocks_of(r->spec.server, tokens);
}

static int32_t priority_of(const RhReplica *r, int32_t sequence)
{
    int32_t request = rh_replica_sequence(r, sequence)->request;
    return g_array_index(r->spec.requests->list, RhRequest, request).priority;
}

/* Inserts a sequence behind all of at least its priority. */
static void wait_in_line(RhReplica *r, int32_t sequence)
{
    GList *before = r->waiting.tail;
    while (before && priority_of(r, GPOINTER_TO_INT(before->data)) < priority_of(r, sequence))
        before = before->prev;
    if (before)
        g_queue_insert_after(&r->waiting, before, GINT_TO_POINTER(sequence));
    else
        g_queue_push_head(&r->waiting, GINT_TO_POINTER(sequence));
}

/* Length of the queue above which SGLang returns to the order of arrival (its
 * schedule_policy.py). */
#define LPM_WAITING_MAX 128

static gint goes_first(gconstpointer a, gconstpointer b, gpointer replica)
{
    const RhReplica *r = replica;
    int32_t x = GPOINTER_TO_INT(a), y = GPOINTER_TO_INT(b);
    int32_t by_priority = priority_of(r, y) - priority_of(r, x);
    return by_priority ? by_priority
                       : rh_replica_sequence(r, y)->read - rh_replica_sequence(r, x)->read;
}

void rh_replica_order_waiting(RhReplica *r)
{
    if (r->spec.pool.order != RH_WAITING_LPM || !r->prefixes || r->waiting.length > LPM_WAITING_MAX)
        return;
    for (GList *l = r->waiting.head; l; l = l->next)
        rh_replica_look_up(r, rh_replica_sequence(r, GPOINTER_TO_INT(l->data)));
    g_queue_sort(&r->waiting, goes_first, r); /* stable */
}

void rh_replica_expect(RhReplica *r, int32_t request)
{
    r->coming++;
    r->promised += rh_replica_whole_blocks(r, request);
}

bool rh_replica_take(RhReplica *r, int32_t request, bool read, double t_s)
{
    const RhRequestRecord *served = &g_array_index(r->spec.served, RhRequestRecord, request);
    int32_t output = output_of(r, served);
    int64_t blocks = rh_replica_whole_blocks(r, request);
    RhSequence s = {.request = request,
                    .t_taken_s = t_s,
                    .input = served->input_tokens,
                    .output = output,
                    .prompt = served->input_tokens,
                    .read = read ? served->input_tokens : 0,
                    .fetched = read,
                    .group = rh_replica_group(r),
                    .made = read ? 1 : 0};
    r->coming--;
    if (blocks > r->spec.blocks) {
        r->promised -= blocks;
        return false;
    }
    g_array_append_val(r->sequences, s);
    wait_in_line(r, (int32_t)r->sequences->len - 1);
    rh_replica_note(r, t_s);
    return true;
}

int32_t rh_replica_waiting(RhReplica *r)
{
    if (g_queue_is_empty(&r->waiting) || r->held)
        return -1;
    int32_t sequence = GPOINTER_TO_INT(g_queue_peek_head(&r->waiting));
    if (rh_replica_sequence(r, sequence)->t_taken_s > r->t_seen_s)
        return -1;
    if (r->running < r->spec.pool.batch)
        rh_replica_look_up(r, rh_replica_sequence(r, sequence));
    return sequence;
}

bool rh_replica_gathers(const RhReplica *r)
{
    double window_s = r->spec.pool.window / 1000.0, first_s = HUGE_VAL;
    if (window_s <= 0 || (int32_t)r->waiting.length >= r->spec.pool.batch)
        return false;
    for (const GList *l = r->waiting.head; l; l = l->next)
        first_s = fmin(first_s, rh_replica_sequence(r, GPOINTER_TO_INT(l->data))->t_taken_s);
    return r->t_begin_s < first_s + window_s;
}

int32_t rh_replica_outstanding(const RhReplica *r)
{
    return (int32_t)g_queue_get_length((GQueue *)&r->waiting) + r->running + r->coming;
}

int64_t rh_replica_promised_blocks(const RhReplica *r)
{
    return r->promised;
}

/* --- admission --- */

int32_t rh_replica_reading(const RhReplica *r, int32_t i)
{
    return i < (int32_t)r->reading->len ? g_array_index(r->reading, int32_t, i) : -1;
}

int32_t rh_replica_running(const RhReplica *r)
{
    return r->running;
}

int32_t rh_replica_continued(const RhReplica *r)
{
    return (int32_t)r->endings->len;
}

int32_t rh_replica_verified(const RhReplica *r)
{
    return rh_replica_continued(r) * rh_pool_verified(&r->spec.pool);
}

int32_t rh_replica_unread(const RhReplica *r, int32_t sequence)
{
    const RhSequence *s = rh_replica_sequence(r, sequence);
    return s->prompt - s->read;
}

const RhPool *rh_replica_pool(const RhReplica *r)
{
    return &r->spec.pool;
}

/* Blocks that a sequence gets when it is admitted. */
static int32_t blocks_at_first(const RhReplica *r, const RhSequence *s)
{
    int32_t tokens = r->reserves ? s->input + s->output : s->fetched ? s->prompt : s->read;
    return rh_replica_blocks_of(r, tokens);
}

static int32_t blocks_wanted(const RhReplica *r, const RhSequence *s, int32_t tokens)
{
    if (r->reserves)
        return rh_replica_blocks_of(r, s->input + s->output);
    if (s->fetched)
        return rh_replica_blocks_of(r, s->read + 1);
    return rh_replica_blocks_of(r, r->spec.server->whole_prompts ? s->prompt : s->read + tokens);
}

/* Limit on the answer's length that SGLang assumes (CLIP_MAX_NEW_TOKENS of its
 * schedule_policy.py). */
#define ANSWER_MOST_TOKENS 4096

/* Further blocks that must be free for a sequence to be admitted, without being held. A sequence
 * that runs alone needs none, or it would never run. */
static int32_t blocks_expected(const RhReplica *r, const RhSequence *s)
{
    const RhFact *share = &r->spec.server->answer_frac;
    if (!share->source || r->reserves || r->running == 0)
        return 0;
    int64_t yet = r->lasts - r->steps * (int64_t)r->endings->len;
    for (guint i = 0; i < r->reading->len; i++)
        yet += rh_replica_sequence(r, g_array_index(r->reading, int32_t, i))->output;
    double tokens = MIN(s->output - s->made, ANSWER_MOST_TOKENS) + share->value * (double)yet;
    return rh_replica_blocks_of(r, (int32_t)fmin(tokens, INT32_MAX));
}

/* Blocks among these that other sequences hold for it. */
static int32_t blocks_held(const RhReplica *r, const RhSequence *s)
{
    return r->prefixes && !s->fetched ? ((int32_t)s->units->len - s->idle) * r->unit_blocks : 0;
}

/* Delays the first token of a prompt that another replica has read: it is sent when this one admits
 * the sequence. */
static void delay_first_token(RhReplica *r, int32_t i)
{
    double waited_s = r->t_begin_s - rh_replica_sequence(r, i)->t_taken_s;
    rh_replica_served(r, i)->t_first_s += waited_s;
    rh_replica_served(r, i)->t_slot_s += waited_s;
}

bool rh_replica_admit(RhReplica *r, int32_t tokens)
{
    int32_t i = rh_replica_waiting(r);
    if (i < 0 || r->running + (int32_t)r->late->len >= r->spec.pool.batch ||
        (r->put_out && r->spec.server->scheduler->closes_door))
        return false;
    RhSequence *s = rh_replica_sequence(r, i);
    int32_t held = blocks_held(r, s);
    if (blocks_wanted(r, s, tokens) - held + blocks_expected(r, s) > rh_replica_free_blocks(r))
        return false;
    g_queue_pop_head(&r->waiting);
    rh_replica_hold_found(r, s);
    s->blocks = blocks_at_first(r, s);
    rh_replica_use(r, s->blocks - held);
    s->admission = ++r->admissions;
    RhAdmitted entry = {s->admission, i};
    g_array_append_val(r->admitted, entry);
    r->running++;
    RhRequestRecord *served = rh_replica_served(r, i);
    if (isnan(served->t_admit_s)) {
        served->t_admit_s = r->t_begin_s;
        served->found_tokens = s->fetched ? 0 : s->read;
    }
    if (s->fetched) {
        delay_first_token(r, i);
        rh_replica_join(r, i, r->t_begin_s);
    } else {
        g_array_append_val(r->reading, i);
    }
    return true;
}

bool rh_replica_chunk(RhReplica *r, int32_t sequence, int32_t tokens)
{
    RhSequence *s = rh_replica_sequence(r, sequence);
    int32_t more = r->reserves ? 0 : rh_replica_blocks_of(r, s->read + tokens) - s->blocks;
    if (more > rh_replica_free_blocks(r))
        return false;
    s->blocks += more;
    rh_replica_use(r, more);
    RhPlanned planned = {sequence, tokens};
    RhChunk chunk = {s->read, tokens};
    g_array_append_val(r->planned, planned);
    g_array_append_val(r->chunks, chunk);
    return true;
}

void rh_replica_stop_reading(RhReplica *r, int32_t sequence)
{
    for (guint i = 0; i < r->reading->len; i++)
        if (g_array_index(r->reading, int32_t, i) == sequence) {
            g_array_remove_index(r->reading, i);
            return;
        }
}

/* --- continued sequences: a heap of ends --- */

static inline bool ends_before(const RhEnding *a, const RhEnding *b)
{
    return a->last < b->last || (a->last == b->last && a->sequence < b->sequence);
}

RH_HEAP(ending_heap, RhEnding, ends_before)

RhEnding rh_replica_first_ending(const RhReplica *r)
{
    return g_array_index(r->endings, RhEnding, 0);
}

void rh_replica_drop_ending(RhReplica *r, guint i)
{
    r->lasts -= ending_heap_remove(r->endings, i).last;
}

void rh_replica_join(RhReplica *r, int32_t sequence, double t_s)
{
    RhSequence *s = rh_replica_sequence(r, sequence);
    s->continued = true;
    s->base = s->prompt - r->steps;
    s->joined = r->steps;
    s->t_joined_s = t_s;
    r->stored += s->prompt;
    r->crossing[place_of(r, s->base)]++;
    RhEnding e = {r->steps + s->output - s->made, sequence};
    r->lasts += e.last;
    ending_heap_push(r->endings, e);
    RhLatest wave = {t_s, 1}, *last = r->waves->len > 0
                                          ? &g_array_index(r->waves, RhLatest, r->waves->len - 1)
                                          : NULL;
    if (last && last->t_s >= t_s)
        last->count++;
    else
        g_array_append_val(r->waves, wave);
}

void rh_replica_part(RhReplica *r, int32_t sequence)
{
    RhSequence *s = rh_replica_sequence(r, sequence);
    s->continued = false;
    r->stored -= s->base + r->steps;
    r->crossing[place_of(r, s->base)]--;
}

void rh_replica_leave(RhReplica *r, int32_t sequence, int32_t blocks)
{
    RhSequence *s = rh_replica_sequence(r, sequence);
    int32_t idle = s->shared > 0 ? rh_prefix_cache_release(r->prefixes, s->units) : 0;
    r->used_blocks -= blocks - (s->shared - idle) * r->unit_blocks;
    g_clear_pointer(&s->units, g_ptr_array_unref);
    r->running--;
    s->shared = 0;
    s->blocks = 0;
    s->admission = 0;
}

void rh_replica_forget_late(RhReplica *r)
{
    g_array_set_size(r->late, 0);
    r->late_blocks = 0;
}

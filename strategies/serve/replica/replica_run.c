/* Iterations of a replica: their time, and the state after them. */
#include <math.h>

#include "base/garray_access.h"
#include "strategies/serve/replica/replica_private.h"
#include "strategies/serve/scheduler.h"

/* Iterations for which the cache has blocks for each continued sequence. */
static int32_t steps_with_room(const RhReplica *r, int32_t most)
{
    int32_t each = r->spec.server->block_tokens, continued = rh_replica_continued(r);
    if (r->reserves || continued == 0)
        return most;
    int64_t room = rh_replica_free_blocks(r) + rh_replica_next_blocks(r), whole = room / continued;
    if (whole * each >= most)
        return most;
    int64_t steps = whole * each, left = room - whole * continued;
    while (steps < most && left >= r->crossing[(r->steps + steps) % each])
        left -= r->crossing[(r->steps + steps++) % each];
    return (int32_t)steps;
}

/* Fewest iterations that give so many tokens, at most `most`. */
static int32_t rounds_for(const RhReplica *r, int64_t tokens, int32_t most)
{
    int32_t low = 1, high = most;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (rh_replica_accepted(r, middle) >= tokens)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int32_t ended_prompts(const RhReplica *r)
{
    int32_t ended = 0;
    for (guint i = 0; i < r->planned->len; i++) {
        const RhPlanned *p = &g_array_index(r->planned, RhPlanned, i);
        ended += rh_replica_unread(r, p->sequence) == p->tokens;
    }
    return ended;
}

/* Did the last waiting sequence arrive after this iteration was planned? */
static bool comes_unseen(const RhReplica *r)
{
    const GList *last = r->waiting.tail;
    return last && rh_replica_sequence(r, GPOINTER_TO_INT(last->data))->t_taken_s > r->t_seen_s;
}

static int32_t receive_of(const RhReplica *r)
{
    return rh_server_receive(r->spec.server, &r->spec.pool);
}

static void plan_time(RhReplica *r)
{
    int32_t continued = r->continues ? rh_replica_continued(r) : 0;
    RhBatch batch = {.decodes = continued,
                     .contexts = continued > 0 ? r->stored + continued : 0,
                     .chunks = RH_ELEMENTS(r->chunks, RhChunk),
                     .chunks_count = (int32_t)r->chunks->len,
                     .ended = ended_prompts(r)};
    if (r->chunks->len > 0) {
        r->run = (RhDecodeRun){rh_iteration_s(r->spec.iterations, &batch), 0, 1};
        return;
    }
    int64_t until = rh_replica_first_ending(r).last - r->steps;
    r->run = rh_iteration_run(r->spec.iterations, continued, batch.contexts);
    if (comes_unseen(r))
        r->run.steps = MIN(r->run.steps, receive_of(r) - r->unlooked);
    r->run.steps = MIN(r->run.steps, rh_replica_held_steps(r));
    if (r->late->len > 0 && r->waiting.length > 0)
        r->run.steps = 1;
    int32_t rounds = rounds_for(r, until, r->run.steps), tokens = rh_replica_accepted(r, rounds);
    int32_t room = steps_with_room(r, tokens);
    if (room < tokens) {
        rounds = rounds_for(r, room, rounds);
        rounds -= rh_replica_accepted(r, rounds) > room;
    }
    r->run.steps = r->spec.each_iteration ? 1 : MAX(rounds, 1);
}

/* Delays the iteration until keys and values are loaded; each layer's are loaded while earlier
 * layers are computed. */
static void wait_for_loads(RhReplica *r)
{
    if (r->load_s <= 0)
        return;
    r->run.steps = 1;
    r->run.first_s = fmax(r->run.first_s, r->load_s);
    r->counts.load_s += r->load_s;
}

static void plan_iteration(RhReplica *r)
{
    r->continues = r->spec.server->scheduler->plan(r) && rh_replica_continued(r) > 0;
    r->busy = r->continues || r->planned->len > 0;
}

/* Does this plan look for new requests? A plan after an iteration that read prompts does; of others
 * every `receive`-th. Nothing arrived in iterations that a run skipped, so only its last one
 * counts. */
static bool looks_for_requests(RhReplica *r)
{
    bool read = r->planned->len > 0;
    r->unlooked = read ? 0 : (r->unlooked + r->run.steps) % receive_of(r);
    return r->unlooked == 0;
}

double rh_replica_begin(RhReplica *r, double t_s)
{
    bool looked = looks_for_requests(r);
    g_array_set_size(r->planned, 0);
    g_array_set_size(r->chunks, 0);
    r->t_begin_s = t_s;
    r->load_s = r->late_s = 0;
    bool ahead = r->spec.server->ahead && t_s <= r->t_ended_s;
    if (!ahead)
        rh_replica_forget_late(r);
    rh_replica_make_room(r);
    rh_replica_order_waiting(r);
    if (looked)
        r->t_seen_s = ahead ? r->t_ahead_s : t_s;
    rh_replica_hold_prompts(r);
    plan_iteration(r);
    if (!r->busy && (ahead || !looked)) { /* nothing runs, so nothing is planned ahead */
        rh_replica_forget_late(r);
        r->t_seen_s = t_s;
        r->unlooked = 0;
        plan_iteration(r);
    }
    rh_replica_note(r, t_s);
    if (!r->busy)
        return 0;
    plan_time(r);
    rh_replica_forget_late(r);
    wait_for_loads(r);
    return rh_run_s(&r->run, r->run.steps);
}

int32_t rh_replica_steps_until(const RhReplica *r, double t_s)
{
    int32_t low = 1, high = r->run.steps;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (r->t_begin_s + rh_run_s(&r->run, middle) >= t_s)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

double rh_replica_cut(RhReplica *r, double t_s)
{
    r->run.steps = rh_replica_steps_until(r, t_s);
    return rh_run_s(&r->run, r->run.steps);
}

double rh_replica_latest_s(const RhReplica *r)
{
    return r->t_begin_s + rh_run_s(&r->run, r->run.steps - 1);
}

void rh_replica_asks(const RhReplica *r, int32_t *tokens, int32_t *sequences)
{
    int32_t verified = r->continues ? rh_replica_verified(r) : 0;
    *tokens = verified;
    *sequences = verified + ended_prompts(r);
    for (guint i = 0; i < r->planned->len; i++)
        *tokens += g_array_index(r->planned, RhPlanned, i).tokens;
}

void rh_replica_prolong(RhReplica *r, double late_s)
{
    r->late_s += late_s;
}

/* --- Gaps between tokens --- */

static void count_gap(RhReplica *r, double gap_s, int64_t times)
{
    if (r->spec.gaps && times > 0)
        r->spec.gaps[rh_gap_bin(gap_s)] += times;
}

static void keep_longest(RhReplica *r, int64_t step, double gap_s, double t_s)
{
    while (r->longest->len > 0 &&
           g_array_index(r->longest, RhLongestGap, r->longest->len - 1).gap_s <= gap_s)
        g_array_set_size(r->longest, r->longest->len - 1);
    RhLongestGap entry = {step, gap_s, t_s};
    g_array_append_val(r->longest, entry);
}

/* Counts the gaps of a run: its first step ends the wait since each wave's last token; later ones
 * take as long as their iterations. */
static void count_gaps(RhReplica *r)
{
    int32_t steps = r->run.steps, continued = rh_replica_continued(r);
    double t_s = r->t_begin_s + r->run.first_s + (steps == 1 ? r->late_s : 0);
    const RhLatest *waves = RH_ELEMENTS(r->waves, RhLatest);
    for (guint i = 0; i < r->waves->len; i++)
        count_gap(r, t_s - waves[i].t_s, waves[i].count);
    keep_longest(r, r->steps + 1, t_s - waves[0].t_s, t_s);
    for (int32_t j = 1; j < steps; j++)
        count_gap(r, r->run.first_s + j * r->run.growth_s + (j == steps - 1 ? r->late_s : 0),
                  continued);
    if (steps > 1)
        keep_longest(r, r->steps + rh_replica_accepted(r, steps),
                     r->run.first_s + (steps - 1) * r->run.growth_s + r->late_s,
                     r->t_begin_s + rh_run_s(&r->run, steps) + r->late_s);
}

double rh_replica_longest_gap_s(const RhReplica *r, const RhSequence *s)
{
    const RhLongestGap *all = RH_ELEMENTS(r->longest, RhLongestGap);
    guint low = 0, high = r->longest->len;
    while (low < high) { /* the first after it joined */
        guint middle = low + (high - low) / 2;
        if (all[middle].step > s->joined)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == r->longest->len)
        return s->tbt_max_s;
    double gap_s = fmin(all[low].gap_s, all[low].t_s - s->t_joined_s);
    if (low + 1 < r->longest->len)
        gap_s = fmax(gap_s, all[low + 1].gap_s);
    return fmax(s->tbt_max_s, gap_s);
}

/* --- The end of an iteration --- */

static void finish_sequence(RhReplica *r, int32_t i, int32_t blocks, double t_s, GArray *ended)
{
    RhSequence *s = rh_replica_sequence(r, i);
    RhRequestRecord *served = rh_replica_served(r, i);
    const RhServer *server = r->spec.server;
    rh_replica_remember(r, i, s->input + s->made - 1); /* its last token is not in the cache */
    if (server->ahead) {
        RhEndedSequence late = {s->admission, blocks};
        g_array_append_val(r->late, late);
        r->late_blocks += blocks;
    }
    rh_replica_leave(r, i, blocks);
    rh_replica_let_go(r, RH_FREED_NOBODY, blocks, 0);
    r->promised -= rh_replica_whole_blocks(r, s->request);
    g_array_append_val(ended, s->request);
    served->replica = r->spec.number;
    if (served->outcome != RH_SERVED_UNFINISHED) { /* the client no longer waits */
        served->lost_tokens += s->made;
        return;
    }
    if (r->spec.prompts_only && served->output_tokens > 1)
        return;
    served->outcome = RH_SERVED_DONE;
    served->t_end_s = t_s + server->first_s.value;
    served->tbt_max_s = s->made > 1 ? rh_replica_longest_gap_s(r, s) : 0;
    int32_t first = MIN(rh_server_first_tokens(server, &r->spec.pool), served->output_tokens);
    if (first > 1) /* the client's first message has so many */
        served->t_first_s +=
            (served->t_end_s - served->t_first_s) * (first - 1) / MAX(served->output_tokens - 1, 1);
}

static void end_prompt(RhReplica *r, int32_t i, double t_s, GArray *ended)
{
    RhSequence *s = rh_replica_sequence(r, i);
    RhRequestRecord *served = rh_replica_served(r, i);
    rh_replica_stop_reading(r, i);
    if (s->made == 0) {
        served->t_first_s = t_s + r->spec.server->first_s.value;
        served->t_stall_s = fmax(t_s - served->t_admit_s - s->own_s, 0);
    } else { /* it was preempted after its last token */
        s->tbt_max_s = fmax(s->tbt_max_s, t_s - s->t_joined_s);
        count_gap(r, t_s - s->t_joined_s, 1);
        served->t_out_s += t_s - s->t_joined_s;
    }
    s->made++;
    r->counts.tokens_out++;
    if (s->made == s->output)
        finish_sequence(r, i, s->blocks, t_s, ended);
    else
        rh_replica_join(r, i, t_s);
}

static void end_chunks(RhReplica *r, double t_s, GArray *ended)
{
    for (guint c = 0; c < r->planned->len; c++) {
        RhPlanned p = g_array_index(r->planned, RhPlanned, c);
        RhSequence *s = rh_replica_sequence(r, p.sequence);
        s->read += p.tokens;
        s->own_s += t_s - r->t_begin_s;
        r->counts.tokens_in += p.tokens;
        rh_replica_served(r, p.sequence)->read_tokens += p.tokens;
        rh_replica_remember(r, p.sequence, s->read);
        if (s->read == s->prompt)
            end_prompt(r, p.sequence, t_s, ended);
    }
}

static void take_blocks(RhReplica *r, int32_t tokens)
{
    int32_t each = r->spec.server->block_tokens;
    int32_t blocks = rh_replica_continued(r) * (tokens / each);
    for (int32_t j = 0; j < tokens % each; j++)
        blocks += r->crossing[(r->steps + j) % each];
    if (!r->reserves)
        rh_replica_use(r, blocks);
}

/* Ends sequences that have all their tokens. Returns how many more tokens they were given than they
 * wanted. */
static int64_t end_answers(RhReplica *r, double t_s, GArray *ended)
{
    int64_t beyond = 0;
    while (rh_replica_continued(r) > 0 && rh_replica_first_ending(r).last <= r->steps) {
        RhEnding first = rh_replica_first_ending(r);
        RhSequence *s = rh_replica_sequence(r, first.sequence);
        beyond += r->steps - first.last;
        s->made = s->output;
        rh_replica_drop_ending(r, 0);
        int32_t blocks = rh_replica_held_blocks(r, s);
        rh_replica_part(r, first.sequence);
        finish_sequence(r, first.sequence, blocks, t_s, ended);
    }
    return beyond;
}

static void end_steps(RhReplica *r, double t_s, GArray *ended)
{
    int32_t tokens = rh_replica_accepted(r, r->run.steps);
    int64_t continued = rh_replica_continued(r);
    count_gaps(r);
    take_blocks(r, tokens);
    if (r->spec.history)
        rh_service_history_ramp(r->spec.history, r->spec.number, t_s, rh_replica_cached_frac(r));
    r->steps += tokens;
    r->rounds += r->run.steps;
    r->stored += continued * tokens;
    int64_t beyond = end_answers(r, t_s, ended);
    r->counts.tokens_out += continued * tokens - beyond;
    count_gap(r, 0,
              continued * (tokens - r->run.steps) - beyond); /* of tokens that come together */
    g_array_set_size(r->waves, 0);
    RhLatest wave = {t_s, rh_replica_continued(r)};
    if (wave.count > 0)
        g_array_append_val(r->waves, wave);
}

static int32_t count_ends(const RhReplica *r)
{
    int32_t ends = 0;
    for (guint c = 0; c < r->planned->len; c++) {
        RhPlanned p = g_array_index(r->planned, RhPlanned, c);
        const RhSequence *s = rh_replica_sequence(r, p.sequence);
        ends += s->read == s->prompt;
    }
    return ends;
}

static void keep_work(const RhReplica *r, double t_s, int32_t continued, int32_t prompt_tokens)
{
    RhServiceWork work = {.t_begin_s = r->t_begin_s,
                          .t_end_s = t_s,
                          .late_s = r->late_s,
                          .replica = r->spec.number,
                          .iterations = r->run.steps,
                          .prompts = (int32_t)r->planned->len,
                          .prompt_tokens = prompt_tokens,
                          .prompts_ended = count_ends(r),
                          .continued = continued,
                          .waiting = (int32_t)r->waiting.length,
                          .blocks = r->used_blocks};
    g_array_append_val(r->spec.works, work);
}

void rh_replica_end(RhReplica *r, double t_s, GArray *ended)
{
    int32_t continued = r->continues ? rh_replica_continued(r) : 0;
    int64_t read_before = r->counts.tokens_in;
    r->t_ended_s = t_s;
    r->t_ahead_s = r->t_begin_s + rh_run_s(&r->run, r->run.steps - 1);
    r->counts.iterations_stepped++;
    r->counts.iterations_skipped += r->run.steps - 1;
    if (r->continues)
        end_steps(r, t_s, ended);
    end_chunks(r, t_s, ended);
    if (r->spec.works)
        keep_work(r, t_s, continued, (int32_t)(r->counts.tokens_in - read_before));
    r->busy = false;
    rh_replica_drop_leaving(r);
    rh_replica_note(r, t_s);
}

bool rh_replica_busy(const RhReplica *r)
{
    return r->busy;
}

bool rh_replica_reads(const RhReplica *r)
{
    return r->planned->len > 0;
}

double rh_replica_begun_s(const RhReplica *r)
{
    return r->t_begin_s;
}

RhReplicaCounts rh_replica_counts(const RhReplica *r)
{
    RhReplicaCounts counts = r->counts;
    counts.kv_peak_frac = r->spec.blocks > 0 ? (double)r->peak_blocks / r->spec.blocks : 0;
    counts.blocks_held = r->used_blocks;
    counts.blocks_promised = r->promised;
    return counts;
}

#include "strategies/train/pipeline_schedule_properties.h"

#include "strategies/train/schedule_critical_path.h"

#include <string.h>

/* --- memory: candidates for the peak --- */

static RhInFlightRun run_at(const GArray *runs, int32_t i)
{
    return g_array_index(runs, RhInFlightRun, i);
}

/* Adds one micro-batch of the chunk, or removes one: its run is split, and joined to neighbours
 * with equal counts. */
static void change_kept(GArray *runs, int32_t chunk, int32_t by)
{
    int32_t i = 0;
    while (run_at(runs, i).end <= chunk)
        i++;
    int32_t begin = i > 0 ? run_at(runs, i - 1).end : 0, from = i, count = 0;
    RhInFlightRun old = run_at(runs, i), fresh[3];
    RhInFlightRun changed = {chunk + 1, old.kept + by};
    if (begin < chunk)
        fresh[count++] = (RhInFlightRun){chunk, old.kept};
    else if (i > 0 && run_at(runs, i - 1).kept == changed.kept)
        from--;
    bool joins = chunk + 1 == old.end && i + 1 < (int32_t)runs->len &&
                 run_at(runs, i + 1).kept == changed.kept;
    if (!joins)
        fresh[count++] = changed;
    if (chunk + 1 < old.end)
        fresh[count++] = old;
    g_array_remove_range(runs, (guint)from, (guint)(i - from + 1));
    g_array_insert_vals(runs, (guint)from, fresh, (guint)count);
}

/* Does `a` have at least as many micro-batches of every chunk? Both end with the last one. */
static bool covers(const RhInFlightRun *a, const RhInFlightRun *b, int32_t v)
{
    for (int32_t end = 0; end < v; end = MIN(a->end, b->end)) {
        a += a->end == end;
        b += b->end == end;
        if (a->kept < b->kept)
            return false;
    }
    return true;
}

/* Does `a` have at least as much of every chunk's gradients? */
static bool covers_gradients(const RhPipelineProfile *s, int32_t a, const uint8_t *b)
{
    for (int32_t c = 0; s->gradients && c < s->v; c++)
        if (g_array_index(s->gradients, uint8_t, a + c) < b[c])
            return false;
    return true;
}

static bool covered_gradients(const RhPipelineProfile *s, int32_t a, const uint8_t *b)
{
    for (int32_t c = 0; s->gradients && c < s->v; c++)
        if (g_array_index(s->gradients, uint8_t, a + c) > b[c])
            return false;
    return true;
}

/* State of a stage while its memory is noted. */
typedef struct {
    GArray *runs;       /* RhInFlightRun */
    uint8_t *gradients; /* RhGradients of its chunks */
    int32_t *first;     /* candidates: the first one of each chunk and pass, or -1 */
} Now;

static void keep_now(RhPipelineProfile *s, RhPeakCandidate *candidate, const Now *now)
{
    candidate->runs_first = (int32_t)s->runs->len;
    candidate->runs_count = (int32_t)now->runs->len;
    g_array_append_vals(s->runs, now->runs->data, now->runs->len);
    if (!s->gradients)
        return;
    candidate->gradients_first = (int32_t)s->gradients->len;
    g_array_append_vals(s->gradients, now->gradients, (guint)s->v);
}

/* Keeps the candidate unless another of its kind has at least as much of every chunk. */
static void note_candidate(RhPipelineProfile *s, const RhSlot *slot, int32_t beside, const Now *now)
{
    const RhInFlightRun *kept = &g_array_index(now->runs, RhInFlightRun, 0);
    int32_t *at = &now->first[slot->chunk * RH_SLOT_PASSES + (int32_t)slot->pass];
    while (*at >= 0) {
        RhPeakCandidate *have = &g_array_index(s->candidates, RhPeakCandidate, *at);
        const RhInFlightRun *old = &g_array_index(s->runs, RhInFlightRun, have->runs_first);
        at = &have->next;
        if (have->beside != beside)
            continue;
        if (covers(old, kept, s->v) && covers_gradients(s, have->gradients_first, now->gradients))
            return;
        if (covers(kept, old, s->v) &&
            covered_gradients(s, have->gradients_first, now->gradients)) {
            keep_now(s, have, now);
            return;
        }
    }
    RhPeakCandidate candidate = {
        .chunk = slot->chunk, .pass = slot->pass, .beside = beside, .next = -1};
    keep_now(s, &candidate, now);
    *at = (int32_t)s->candidates->len;
    g_array_append_val(s->candidates, candidate);
}

/* Notes the slots of a stage that run at once, and their effect on gradients. */
static void note_slots(RhPipelineProfile *s, const RhSlot *slots, int32_t count, int32_t *done,
                       Now *now)
{
    RhSlotKind kinds[3];
    for (int32_t k = 0; k < count; k++) {
        kinds[k] = rh_slot_kind_next(&slots[k], s->m, done);
        if (kinds[k].first && rh_slot_ends(kinds[k].pass))
            now->gradients[kinds[k].chunk] = RH_GRADIENTS_SUMMED;
    }
    for (int32_t k = 0; k < count; k++) {
        if (slots[k].pass == RH_SLOT_FORWARD)
            change_kept(now->runs, slots[k].chunk, 1);
        if (k == 0) /* slots beside a forward are part of its candidate */
            note_candidate(s, slots, slots->beside ? slots[1].chunk : -1, now);
        if (rh_slot_ends(slots[k].pass))
            change_kept(now->runs, slots[k].chunk, -1);
    }
    for (int32_t k = 0; k < count; k++)
        if (kinds[k].last && rh_slot_ends(kinds[k].pass))
            now->gradients[kinds[k].chunk] = RH_GRADIENTS_REDUCED;
}

static void note_stage_memory(RhPipelineProfile *s, const RhSlot *slots)
{
    size_t kinds = (size_t)s->v * RH_SLOT_PASSES;
    g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(RhInFlightRun));
    g_autofree uint8_t *gradients = g_new0(uint8_t, s->v);
    g_autofree int32_t *first = g_new(int32_t, kinds), *done = g_new0(int32_t, kinds);
    RhInFlightRun nothing = {s->v, 0};
    Now now = {runs, gradients, first};
    g_array_append_val(runs, nothing);
    memset(first, -1, kinds * sizeof *first);
    for (int64_t i = 0; i < s->slots_count; i += 1 + slots[i].beside)
        note_slots(s, &slots[i], 1 + slots[i].beside, done, &now);
}

/* --- slots before the first gradients are whole --- */

static void count_slots(int32_t *counts, const RhSlot *slots, int64_t from, int64_t end)
{
    for (int64_t i = from; i < end; i++)
        counts[slots[i].chunk * RH_SLOT_PASSES + (int32_t)slots[i].pass]++;
}

static void note_before_last(RhPipelineProfile *s, int32_t stage, const RhSlot *slots)
{
    g_autofree int32_t *done = g_new0(int32_t, (gsize)s->v * RH_SLOT_PASSES);
    int32_t *before = s->before_last + (int64_t)stage * s->v * RH_SLOT_PASSES;
    int64_t first = 0; /* first of the slots that run at once */
    for (int64_t i = 0; i < s->slots_count; i++) {
        RhSlotKind kind = rh_slot_kind_next(&slots[i], s->m, done);
        if (i > first + slots[first].beside) {
            count_slots(before, slots, first, i);
            first = i;
        }
        if (kind.last && rh_slot_ends(kind.pass))
            return;
    }
}

static void note_behind_back(RhPipelineProfile *s, int32_t stage, const RhSlot *slots)
{
    int32_t *behind = s->behind_back + (int64_t)stage * s->v * RH_SLOT_PASSES;
    int64_t i = s->slots_count - 1;
    while (i > 0 && !rh_slot_goes_back(slots[i].pass))
        i--;
    s->back_chunk[stage] = slots[i].chunk;
    count_slots(behind, slots, i + 1, s->slots_count);
    if (i > 0 && slots[i - 1].beside) /* its gradients may be sent first */
        count_slots(behind, slots, i - 1, i);
}

static void note_pairs(RhPipelineProfile *s, int32_t stage, const RhSlot *slots)
{
    int32_t *alone = s->alone + (int64_t)stage * s->v * RH_SLOT_PASSES;
    int32_t *pairs = s->pairs + (int64_t)stage * s->v * s->v;
    for (int64_t i = 0; i < s->slots_count; i += 1 + slots[i].beside)
        if (slots[i].beside)
            pairs[slots[i].chunk * s->v + slots[i + 1].chunk]++;
        else
            count_slots(alone, slots, i, i + 1);
}

/* Number of micro-batches that are walked. For a schedule that becomes periodic: both ends and some
 * of the middle; for pairs, which are counted, all unless they are many. */
static int32_t walked(const RhPipelineSchedule *schedule, int32_t p, int32_t v, int32_t m)
{
    bool is_long = p * rh_pipeline_slots_count(schedule, v, m) > RH_PATH_SLOTS_MAX;
    return schedule->settles && (is_long || !schedule->pairs) ? MIN(m, 4 * p + m % p) : m;
}

/* Adds the middle that was not walked: every pass of every chunk, once per micro-batch. */
static void add_middle(RhPipelineProfile *s, int32_t more)
{
    bool splits = s->schedule->splits_backward;
    for (int32_t cell = 0; cell < s->p * s->v; cell++)
        for (int pass = 0; pass < RH_SLOT_PASSES; pass++)
            if (pass == RH_SLOT_FORWARD || splits == (pass != RH_SLOT_BACKWARD))
                s->before_last[cell * RH_SLOT_PASSES + pass] += more;
}

static RhPipelineProfile *shape_alloc(const RhPipelineSchedule *schedule, int32_t p, int32_t v,
                                      int32_t m)
{
    RhPipelineProfile *s = g_new0(RhPipelineProfile, 1);
    gsize entries = (gsize)p * (gsize)v * RH_SLOT_PASSES;
    *s = (RhPipelineProfile){.schedule = schedule, .p = p, .v = v, .m = m};
    s->candidates = g_array_new(FALSE, FALSE, sizeof(RhPeakCandidate));
    s->runs = g_array_new(FALSE, FALSE, sizeof(RhInFlightRun));
    s->candidates_first = g_new0(int32_t, p + 1);
    s->before_last = g_new0(int32_t, entries);
    s->behind_back = g_new0(int32_t, entries);
    s->back_chunk = g_new0(int32_t, p);
    return s;
}

RhPipelineProfile *rh_pipeline_profile_walked(const RhPipelineSchedule *schedule, int32_t p,
                                              int32_t v, int32_t m, int32_t walk, bool frees)
{
    RhPipelineProfile *s = shape_alloc(schedule, p, v, walk);
    s->slots_count = rh_pipeline_slots_count(schedule, v, s->m);
    if (frees)
        s->gradients = g_array_new(FALSE, FALSE, sizeof(uint8_t));
    if (schedule->pairs && s->m == m) {
        s->alone = g_new0(int32_t, (gsize)p * (gsize)v * RH_SLOT_PASSES);
        s->pairs = g_new0(int32_t, (gsize)p * (gsize)v * (gsize)v);
    }
    g_autofree RhSlot *slots = g_new(RhSlot, s->slots_count);
    for (int32_t stage = 0; stage < p; stage++) {
        schedule->order(p, v, s->m, stage, slots);
        note_stage_memory(s, slots);
        s->candidates_first[stage + 1] = (int32_t)s->candidates->len;
        note_before_last(s, stage, slots);
        note_behind_back(s, stage, slots);
        if (s->pairs)
            note_pairs(s, stage, slots);
    }
    add_middle(s, m - s->m);
    s->m = m;
    s->slots_count = rh_pipeline_slots_count(schedule, v, m);
    return s;
}

RhPipelineProfile *rh_pipeline_profile_new(const RhPipelineSchedule *schedule, int32_t p, int32_t v,
                                           int32_t m, bool frees)
{
    return rh_pipeline_profile_walked(schedule, p, v, m, walked(schedule, p, v, m), frees);
}

void rh_pipeline_profile_free(RhPipelineProfile *s)
{
    if (!s)
        return;
    g_array_unref(s->candidates);
    g_array_unref(s->runs);
    g_clear_pointer(&s->gradients, g_array_unref);
    g_free(s->candidates_first);
    g_free(s->before_last);
    g_free(s->behind_back);
    g_free(s->back_chunk);
    g_free(s->alone);
    g_free(s->pairs);
    g_free(s);
}

#include "validate/perform/payload.h"

#include <math.h>
#include <string.h>

/* Returns member m's contribution to word i of chunk c. */
static uint32_t input_word(int32_t m, int32_t c, int32_t i)
{
    uint32_t mixed = ((uint32_t)m * 2654435761U) ^ ((uint32_t)c * 2246822519U);
    return mixed * 3266489917U + (uint32_t)i * 668265263U;
}

/* Do members temporarily hold chunks from others for others? */
static bool passes_on(const RhSchedule *s)
{
    return s->op == RH_OP_ALL_TO_ALL && s->algo == RH_ALGO_FORWARDING;
}

/* Slot of a chunk. An all-to-all numbers its chunks source * members + destination; a member has
 * one row and one column of them, or slots for all where it forwards some. In a shift it has its
 * own chunk and the one before. */
static int32_t slot_of(const RhPayload *p, int32_t chunk)
{
    int32_t n = p->schedule->members;
    if (p->schedule->op == RH_OP_SHIFT)
        return chunk != p->own;
    if (p->schedule->op != RH_OP_ALL_TO_ALL || passes_on(p->schedule))
        return chunk;
    return chunk / n == p->own ? chunk % n : n + chunk / n;
}

static int32_t before(const RhSchedule *s, int32_t member)
{
    return (member + s->members - 1) % s->members;
}

static int32_t slots_count(const RhSchedule *s)
{
    if (s->op == RH_OP_SHIFT)
        return 2;
    return s->op == RH_OP_ALL_TO_ALL && !passes_on(s) ? 2 * s->members : s->chunks_count;
}

static bool has_chunk(const RhPayload *p, int32_t chunk)
{
    int32_t n = p->schedule->members;
    if (p->schedule->op == RH_OP_SHIFT)
        return chunk == p->own || chunk == before(p->schedule, p->own);
    return p->schedule->op != RH_OP_ALL_TO_ALL || chunk / n == p->own || chunk % n == p->own;
}

static uint32_t *chunk_at(const RhPayload *p, int32_t chunk)
{
    return p->words + (int64_t)slot_of(p, chunk) * p->chunk_words;
}

static bool starts_with(const RhSchedule *s, int32_t member, int32_t chunk)
{
    switch (s->op) {
    case RH_OP_ALL_GATHER:
        return s->owner[chunk] == member;
    case RH_OP_BROADCAST:
        return member == 0;
    case RH_OP_ALL_TO_ALL:
        return chunk / s->members == member;
    case RH_OP_SHIFT:
        return chunk == member;
    case RH_OP_NONE:
    case RH_OP_ALL_REDUCE:
    case RH_OP_REDUCE_SCATTER:
    case RH_OP_BARRIER:
    case RH_OP_LAST:
    default:
        return true;
    }
}

/* The member whose words the chunk ends with; -1: the sum of all; -2: it does not matter. */
static int32_t wanted_of(const RhSchedule *s, int32_t member, int32_t chunk)
{
    switch (s->op) {
    case RH_OP_ALL_REDUCE:
        return -1;
    case RH_OP_REDUCE_SCATTER:
        return s->owner[chunk] == member ? -1 : -2;
    case RH_OP_ALL_GATHER:
        return s->owner[chunk];
    case RH_OP_BROADCAST:
        return 0;
    case RH_OP_ALL_TO_ALL:
        return chunk % s->members == member ? chunk / s->members : -2;
    case RH_OP_SHIFT:
        return chunk == before(s, member) ? chunk : -2;
    case RH_OP_NONE:
    case RH_OP_BARRIER:
    case RH_OP_LAST:
    default:
        return -2;
    }
}

static uint32_t wanted_word(const RhSchedule *s, int32_t of, int32_t chunk, int32_t i)
{
    uint32_t sum = 0;
    if (of >= 0)
        return input_word(of, chunk, i);
    for (int32_t m = 0; m < s->members; m++)
        sum += input_word(m, chunk, i);
    return sum;
}

static int32_t words_in(double bytes)
{
    return (int32_t)fmax(1, ceil(bytes / sizeof(uint32_t)));
}

/* Words of a chunk: chunks are equal, so that any flow gives their size, or the slots fit the
 * largest. */
static int32_t words_of_chunk(const RhSchedule *s)
{
    double most = 0;
    for (int32_t c = 0; s->chunk_bytes && c < s->chunks_count; c++)
        most = fmax(most, s->chunk_bytes[c]);
    if (most > 0)
        return words_in(most);
    for (guint i = 0; i < s->flows->len; i++) {
        const RhFlow *flow = &g_array_index(s->flows, RhFlow, i);
        if (flow->chunk_count > 0 && flow->bytes > 0)
            return words_in(flow->bytes / flow->chunk_count);
    }
    return 0;
}

/* Words of this chunk. Empty chunks are not sent. */
static int32_t chunk_words(const RhPayload *p, int32_t chunk)
{
    const double *uneven = p->schedule->chunk_bytes;
    if (!uneven)
        return p->chunk_words;
    return uneven[chunk] > 0 ? words_in(uneven[chunk]) : 0;
}

void rh_payload_begin(RhPayload *p, const RhSchedule *s, int32_t own)
{
    p->schedule = s;
    p->own = own;
    p->chunk_words = words_of_chunk(s);
    int64_t words = p->chunk_words * (int64_t)slots_count(s);
    if (words > p->room) {
        g_free(p->words);
        p->words = g_malloc(sizeof(uint32_t) * (size_t)words);
        p->room = words;
    }
    for (int32_t c = 0; p->chunk_words > 0 && c < s->chunks_count; c++) {
        if (!has_chunk(p, c) || !starts_with(s, own, c))
            continue;
        uint32_t *at = chunk_at(p, c);
        for (int32_t i = 0; i < chunk_words(p, c); i++)
            at[i] = input_word(own, c, i);
    }
}

void rh_payload_clear(RhPayload *p)
{
    g_clear_pointer(&p->words, g_free);
    p->room = 0;
}

int64_t rh_payload_flow_words(const RhPayload *p, const RhFlow *flow)
{
    return (int64_t)flow->chunk_count * chunk_words(p, flow->chunk_first);
}

/* First chunk of the flow in this repetition; the others follow it. */
static int32_t first_chunk(const RhFlow *flow, int32_t repeat)
{
    int64_t step = flow->chunk_first - flow->wrap_first + (int64_t)repeat * flow->chunk_shift;
    int64_t count = MAX(flow->wrap_count, 1), at = step % count;
    return flow->wrap_first + (int32_t)(at < 0 ? at + count : at);
}

void rh_payload_take(const RhPayload *p, const RhFlow *flow, int32_t repeat, uint32_t *out)
{
    if (flow->chunk_count > 0)
        memcpy(out, chunk_at(p, first_chunk(flow, repeat)),
               sizeof(uint32_t) * (size_t)rh_payload_flow_words(p, flow));
}

void rh_payload_put(RhPayload *p, const RhFlow *flow, int32_t repeat, const uint32_t *in)
{
    if (flow->chunk_count == 0)
        return;
    uint32_t *at = chunk_at(p, first_chunk(flow, repeat));
    int64_t words = rh_payload_flow_words(p, flow);
    if (!flow->reduce)
        memcpy(at, in, sizeof(uint32_t) * (size_t)words);
    for (int64_t i = 0; flow->reduce && i < words; i++)
        at[i] += in[i];
}

RhPayloadCheck rh_payload_check(const RhPayload *p, bool all)
{
    RhPayloadCheck check = {0};
    for (int32_t c = 0; c < p->schedule->chunks_count; c++) {
        int32_t of = wanted_of(p->schedule, p->own, c), words = chunk_words(p, c);
        int32_t stride = all ? 1 : MAX(1, words - 1); /* the first word and the last */
        for (int32_t i = 0; of > -2 && i < words; i += stride, check.checked_count++)
            check.wrong_count += chunk_at(p, c)[i] != wanted_word(p->schedule, of, c, i);
    }
    return check;
}

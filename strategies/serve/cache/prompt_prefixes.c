#include "strategies/serve/cache/prompt_prefixes.h"

/* Minimum tokens of a unit in which sessions' prompts are named: the block size of all servers but
 * SGLang. */
#define SESSION_TOKENS_MIN 16

struct RhPromptPrefixes {
    const RhRequests *requests;
    int32_t unit;       /* tokens per unit */
    int32_t *begins;    /* by request: the first request of its session that its prompt extends */
    int64_t units_said; /* units of sessions' prompts that were part of the previous turn, except
                         * its last token */
    int64_t *first;     /* by request: index of its first name; one more at the end */
    GArray *names;      /* uint64_t, where the trace has hashes */
};

/* SplitMix64's finaliser (Steele, Lea and Flood 2014). */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static uint64_t chained(uint64_t before, uint64_t next)
{
    return mixed(before + UINT64_C(0x9E3779B97F4A7C15) + mixed(next));
}

static const RhRequest *request_of(const RhPromptPrefixes *p, int32_t request)
{
    return &g_array_index(p->requests->list, RhRequest, request);
}

/* Names each unit by all of the trace's blocks up to its end. */
static void name_blocks(RhPromptPrefixes *p)
{
    int32_t step = p->unit / p->requests->block_tokens;
    for (guint i = 0; i < p->requests->list->len; i++) {
        const RhRequest *q = request_of(p, (int32_t)i);
        uint64_t name = 0;
        p->first[i] = p->names->len;
        for (int32_t k = 0; k < q->blocks_count; k++) {
            name = chained(name, g_array_index(p->requests->blocks, uint64_t, q->blocks_first + k));
            if ((k + 1) % step == 0)
                g_array_append_val(p->names, name);
        }
    }
    p->first[p->requests->list->len] = p->names->len;
}

static void find_beginnings(RhPromptPrefixes *p)
{
    g_autoptr(GHashTable) latest = g_hash_table_new(NULL, NULL); /* session + 1 -> request + 1 */
    for (guint i = 0; i < p->requests->list->len; i++) {
        const RhRequest *q = request_of(p, (int32_t)i);
        gpointer session = GINT_TO_POINTER(q->session + 1);
        int32_t before = GPOINTER_TO_INT(g_hash_table_lookup(latest, session)) - 1;
        p->begins[i] = (int32_t)i;
        if (q->session < 0)
            continue;
        const RhRequest *turn = before >= 0 ? request_of(p, before) : NULL;
        int64_t said = turn ? (int64_t)turn->input_tokens + turn->output_tokens : INT64_MAX;
        if (q->input_tokens >= said) {
            p->begins[i] = p->begins[before];
            p->units_said += (said - 1) / p->unit;
        }
        g_hash_table_insert(latest, session, GINT_TO_POINTER((int32_t)i + 1));
    }
}

static int32_t common_multiple(int32_t a, int32_t b)
{
    int64_t x = a, y = b;
    while (y > 0) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return (int32_t)MIN(a / x * b, G_MAXINT32);
}

static bool has_sessions(const RhRequests *requests)
{
    for (guint i = 0; i < requests->list->len; i++)
        if (g_array_index(requests->list, RhRequest, i).session >= 0)
            return true;
    return false;
}

RhPromptPrefixes *rh_prompt_prefixes_new(const RhRequests *requests, int32_t block_tokens)
{
    bool hashed = requests->block_tokens > 0 && requests->blocks->len > 0;
    if (!hashed && !has_sessions(requests))
        return NULL;
    RhPromptPrefixes *p = g_new0(RhPromptPrefixes, 1);
    p->requests = requests;
    p->unit = common_multiple(block_tokens, hashed ? requests->block_tokens : SESSION_TOKENS_MIN);
    if (hashed) {
        p->names = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        p->first = g_new(int64_t, requests->list->len + 1);
        name_blocks(p);
    } else {
        p->begins = g_new(int32_t, requests->list->len);
        find_beginnings(p);
    }
    return p;
}

void rh_prompt_prefixes_free(RhPromptPrefixes *p)
{
    if (!p)
        return;
    if (p->names)
        g_array_unref(p->names);
    g_free(p->first);
    g_free(p->begins);
    g_free(p);
}

int32_t rh_prompt_prefixes_unit_tokens(const RhPromptPrefixes *p)
{
    return p->unit;
}

int32_t rh_prompt_prefixes_units(const RhPromptPrefixes *p, int32_t request, int32_t tokens)
{
    const RhRequest *q = request_of(p, request);
    if (p->names) /* a last block that is not full does not count */
        return (int32_t)MIN(p->first[request + 1] - p->first[request],
                            MIN(tokens, q->input_tokens) / p->unit);
    return q->session >= 0 ? tokens / p->unit : 0;
}

uint64_t rh_prompt_prefixes_name(const RhPromptPrefixes *p, int32_t request, int32_t unit)
{
    if (p->names)
        return g_array_index(p->names, uint64_t, p->first[request] + unit);
    return chained((uint64_t)p->begins[request] + 1, (uint64_t)unit);
}

/* Number of units of hashed prompts that occurred earlier, counted from the first unit on. */
static int64_t count_seen(const RhPromptPrefixes *p)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    int64_t units = 0;
    for (guint i = 0; i < p->requests->list->len; i++) {
        int32_t tokens = request_of(p, (int32_t)i)->input_tokens;
        int32_t all = rh_prompt_prefixes_units(p, (int32_t)i, tokens),
                most = rh_prompt_prefixes_units(p, (int32_t)i, tokens - 1), found = 0;
        for (int32_t k = 0; k < all; k++) {
            uint64_t name = rh_prompt_prefixes_name(p, (int32_t)i, k);
            bool there = g_hash_table_contains(seen, &name);
            found += there && k == found && k < most;
            if (!there)
                g_hash_table_add(seen, g_memdup2(&name, sizeof name));
        }
        units += found;
    }
    return units;
}

int64_t rh_prompt_prefixes_found_most(const RhPromptPrefixes *p)
{
    return p->unit * (p->names ? count_seen(p) : p->units_said);
}

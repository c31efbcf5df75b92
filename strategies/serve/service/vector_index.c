#include "strategies/serve/service/vector_index.h"

#include <math.h>

#include "base/json/json.h"

#define COUNT_MAX (1 << 20)

static void read_tiers(RhJson *doc, const RhJsonNode *root, RhVectorIndex *out)
{
    const RhJsonNode *list = rh_json_object(doc, root, "tiers");
    const RhRange some = {1e-12, 1e15, false};
    for (const RhJsonNode *at = rh_json_first(list); at; at = rh_json_next(at)) {
        if (out->tiers_count == RH_INDEX_TIERS_MAX) {
            rh_json_problem(doc, at, NULL, "more than %d tiers", RH_INDEX_TIERS_MAX);
            return;
        }
        const char *key = rh_json_key(at);
        const RhJsonNode *tier = rh_json_object(doc, list, key);
        RhIndexTier *t = &out->tiers[out->tiers_count++];
        t->name = g_intern_string(key);
        t->latency_s = rh_json_fact_within(doc, tier, "latency", RH_QUANTITY_S, &some);
        t->bytes_per_s =
            rh_json_fact_within(doc, tier, "bandwidth", RH_QUANTITY_BYTES_PER_S, &some);
        if (rh_json_has(tier, "shared"))
            t->shared_bytes_per_s =
                rh_json_fact_within(doc, tier, "shared", RH_QUANTITY_BYTES_PER_S, &some);
        if (rh_json_has(tier, "reads_per_s"))
            t->reads_per_s =
                rh_json_fact_within(doc, tier, "reads_per_s", RH_QUANTITY_COUNT, &some);
    }
}

static int32_t tier_of(RhJson *doc, const RhJsonNode *part, const RhVectorIndex *out)
{
    const char *name = rh_json_word(doc, part, "tier");
    for (int32_t i = 0; i < out->tiers_count; i++)
        if (g_strcmp0(out->tiers[i].name, name) == 0)
            return i;
    rh_json_problem(doc, rh_json_member(part, "tier"), "\"tiers\" names them", "no tier \"%s\"",
                    name);
    return 0;
}

static void read_parts(RhJson *doc, const RhJsonNode *root, RhVectorIndex *out)
{
    const RhJsonNode *list = rh_json_array(doc, root, "parts");
    if (list && rh_json_count(list) == 0)
        rh_json_problem(doc, list, NULL, "an index has a part at least");
    for (const RhJsonNode *at = rh_json_first(list); at; at = rh_json_next(at)) {
        if (out->parts_count == RH_INDEX_PARTS_MAX) {
            rh_json_problem(doc, at, NULL, "more than %d parts", RH_INDEX_PARTS_MAX);
            return;
        }
        out->parts[out->parts_count++] = (RhIndexPart){
            .name = rh_json_word(doc, at, "name"),
            .tier = tier_of(doc, at, out),
            .bytes_stored = rh_json_quantity_or(doc, at, "size", RH_QUANTITY_BYTES, 0),
            .hops = (int32_t)rh_json_int(doc, at, "hops", 1, COUNT_MAX),
            .reads = (int32_t)rh_json_int_or(doc, at, "reads", 1, COUNT_MAX, 1),
            .at_once = (int32_t)rh_json_int_or(doc, at, "at_once", 1, COUNT_MAX, 1),
            .read_bytes = rh_json_quantity(doc, at, "bytes", RH_QUANTITY_BYTES),
            .compute_s = rh_json_quantity_or(doc, at, "compute", RH_QUANTITY_S, 0)};
    }
}

static void read_efforts(RhJson *doc, const RhJsonNode *root, RhVectorIndex *out)
{
    const RhJsonNode *list = rh_json_array_or_null(doc, root, "effort");
    double queries = 0, hops = 0;
    for (const RhJsonNode *at = rh_json_first(list); at; at = rh_json_next(at)) {
        if (out->efforts_count == RH_INDEX_EFFORTS_MAX || rh_json_count(at) != 2) {
            rh_json_problem(doc, at, "[[0.5, 0.2], [1, 1]]", "not a pair of shares, or too many");
            return;
        }
        double share = rh_json_node_number(doc, rh_json_at(at, 0), queries, 1);
        double part = rh_json_node_number(doc, rh_json_at(at, 1), hops, 1);
        out->efforts[out->efforts_count].queries_frac = queries = share;
        out->efforts[out->efforts_count++].hops_frac = hops = part;
    }
    if (list && (queries < 1 || hops < 1))
        rh_json_problem(doc, list, "[..., [1, 1]]", "the last pair is of all queries and all hops");
    const char *stop = rh_json_string_or(doc, root, "stop", "fixed");
    out->stops_early = g_strcmp0(stop, "early") == 0;
    if (!out->stops_early && g_strcmp0(stop, "fixed") != 0)
        rh_json_problem(doc, rh_json_member(root, "stop"), "fixed or early", "\"%s\"", stop);
    if (out->stops_early && !list)
        rh_json_problem(doc, rh_json_member(root, "stop"), "\"effort\": [[0.5, 0.2], [1, 1]]",
                        "where queries stop is not said");
}

static RhVectorIndex *read_index(RhJson *doc, GError **error)
{
    g_autofree RhVectorIndex *out = g_new0(RhVectorIndex, 1);
    const RhJsonNode *root = rh_json_root(doc);
    out->name = rh_json_word(doc, root, "name");
    out->source = rh_json_word(doc, root, "source");
    out->vectors = rh_json_int(doc, root, "vectors", 1, (int64_t)1 << 50);
    out->threads = (int32_t)rh_json_int_or(doc, root, "threads", 1, COUNT_MAX, 1);
    read_tiers(doc, root, out);
    read_parts(doc, root, out);
    read_efforts(doc, root, out);
    return rh_json_finish(doc, error) ? g_steal_pointer(&out) : NULL;
}

RhVectorIndex *rh_vector_index_load(const char *path, GError **error)
{
    g_autoptr(RhJson) doc = rh_json_load(path, error);
    return doc ? read_index(doc, error) : NULL;
}

RhVectorIndex *rh_vector_index_parse(const char *name, const char *text, size_t length,
                                     GError **error)
{
    g_autoptr(RhJson) doc = rh_json_parse(name, text, length, error);
    return doc ? read_index(doc, error) : NULL;
}

/* --- time --- */

double rh_vector_index_effort(const RhVectorIndex *index, double u)
{
    for (int32_t i = 0; index->stops_early && i < index->efforts_count; i++)
        if (u <= index->efforts[i].queries_frac)
            return index->efforts[i].hops_frac;
    return 1;
}

/* A thread waits for the latency of each batch of reads in flight, then for their bytes, and compares; together
 * threads read no more than the tier gives. */
static double part_s(const RhVectorIndex *index, const RhIndexPart *p, double hops, int32_t busy)
{
    const RhIndexTier *tier = &index->tiers[p->tier];
    double bytes = p->reads * p->read_bytes, batches = ceil((double)p->reads / p->at_once);
    double alone_s = batches * tier->latency_s.value + bytes / tier->bytes_per_s.value;
    double shared_s = 0;
    if (tier->shared_bytes_per_s.value > 0)
        shared_s = busy * bytes / tier->shared_bytes_per_s.value;
    if (tier->reads_per_s.value > 0)
        shared_s = fmax(shared_s, busy * p->reads / tier->reads_per_s.value);
    return hops * (fmax(alone_s, shared_s) + p->reads * p->compute_s);
}

double rh_vector_index_search_s(const RhVectorIndex *index, double hops_frac, int32_t busy)
{
    double s = 0;
    for (int32_t i = 0; i < index->parts_count; i++)
        s += part_s(index, &index->parts[i], ceil(hops_frac * index->parts[i].hops), busy);
    return s;
}

double rh_vector_index_tier_bytes(const RhVectorIndex *index, int32_t tier)
{
    double bytes = 0;
    for (int32_t i = 0; i < index->parts_count; i++)
        bytes += index->parts[i].tier == tier ? index->parts[i].bytes_stored : 0;
    return bytes;
}

double rh_vector_index_most_per_s(const RhVectorIndex *index)
{
    double mean_s = 0, before = 0;
    if (!index->stops_early)
        return index->threads / rh_vector_index_search_s(index, 1, index->threads);
    for (int32_t i = 0; i < index->efforts_count; i++) {
        mean_s += (index->efforts[i].queries_frac - before) *
                  rh_vector_index_search_s(index, index->efforts[i].hops_frac, index->threads);
        before = index->efforts[i].queries_frac;
    }
    return index->threads / mean_s;
}

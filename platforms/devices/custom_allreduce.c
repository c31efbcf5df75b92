#include "platforms/devices/custom_allreduce.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define BYTES_MOST 1e15
#define US_MOST    1e12
#define RANKS_MOST 1024

double rh_peer_curve_s(const RhPeerCurve *c, double bytes)
{
    int i = 0;
    if (bytes <= c->bytes[0] || c->count < 2)
        return c->seconds[0];
    while (i + 2 < c->count && c->bytes[i + 1] < bytes)
        i++;
    double slope = (c->seconds[i + 1] - c->seconds[i]) / (c->bytes[i + 1] - c->bytes[i]);
    return c->seconds[i] + slope * (bytes - c->bytes[i]);
}

double rh_peer_reduce_of_s(const RhPeerReduce *peers, int32_t ranks, double bytes)
{
    if (ranks <= 1)
        return 0;
    for (int i = 0; i < peers->curves_count; i++) {
        const RhPeerCurve *c = &peers->curves[i];
        if (c->ranks == ranks)
            return rh_peer_curve_s(c, bytes);
        if (c->ranks < ranks)
            continue;
        if (i == 0)
            return HUGE_VAL;
        const RhPeerCurve *below = c - 1;
        double share = (double)(ranks - below->ranks) / (c->ranks - below->ranks);
        double low_s = rh_peer_curve_s(below, bytes), high_s = rh_peer_curve_s(c, bytes);
        return low_s + share * (high_s - low_s);
    }
    return HUGE_VAL;
}

/* --- files --- */

static int read_numbers(RhJson *doc, const RhJsonNode *node, const char *key, double most,
                        double scale, double *out)
{
    const RhJsonNode *list = rh_json_array(doc, node, key);
    int count = rh_json_count(list), i = 0;
    if (list && (count < 2 || count > RH_PEER_KNOTS_MAX)) {
        rh_json_problem(doc, list, NULL, "%d knots, expected 2 to %d", count, RH_PEER_KNOTS_MAX);
        rh_json_consume_all(doc, list);
        return 0;
    }
    for (const RhJsonNode *n = list ? rh_json_first(list) : NULL; n; n = rh_json_next(n), i++) {
        out[i] = scale * rh_json_node_number(doc, n, 0, most);
        if (i > 0 && out[i] < out[i - 1])
            rh_json_problem(doc, n, NULL, "\"%s\" ascends", key);
    }
    return count;
}

static void read_curve(RhJson *doc, const RhJsonNode *node, RhPeerReduce *peers)
{
    RhPeerCurve *c = &peers->curves[peers->curves_count++];
    c->ranks = (int32_t)rh_json_int(doc, node, "ranks", 2, RANKS_MOST);
    c->count = read_numbers(doc, node, "bytes", BYTES_MOST, 1, c->bytes);
    int times = read_numbers(doc, node, "us", US_MOST, 1e-6, c->seconds);
    if (times != c->count)
        rh_json_problem(doc, node, NULL, "%d times for %d sizes", times, c->count);
    for (int i = 1; i < c->count; i++)
        if (c->bytes[i] <= c->bytes[i - 1])
            rh_json_problem(doc, node, NULL, "two sizes of a curve are equal");
    if (peers->curves_count > 1 && c->ranks <= c[-1].ranks)
        rh_json_problem(doc, node, NULL, "curves ascend with their ranks");
}

void rh_peer_reduce_read(RhJson *doc, const RhJsonNode *node, RhPeerReduce *peers)
{
    RhPeerReduce read = {.source = rh_json_string(doc, node, "source"),
                         .date = rh_json_string_or(doc, node, "date", "")};
    read.error_mean_frac = rh_json_number(doc, node, "error_mean", 0, 1e3);
    if (strcmp(rh_json_string(doc, node, "tag"), "fitted") != 0)
        rh_json_problem(doc, node, NULL, "the tag of such curves is fitted");
    const RhJsonNode *curves = rh_json_array(doc, node, "curves");
    if (curves && rh_json_count(curves) > RH_PEER_CURVES_MAX) {
        rh_json_problem(doc, curves, NULL, "more than %d curves", RH_PEER_CURVES_MAX);
        rh_json_consume_all(doc, curves);
        return;
    }
    for (const RhJsonNode *n = curves ? rh_json_first(curves) : NULL; n; n = rh_json_next(n))
        read_curve(doc, n, &read);
    *peers = read;
}

void rh_peer_reduce_write(RhJsonWriter *w, const char *key, const RhPeerReduce *peers)
{
    rh_json_begin_object(w, key);
    rh_json_put_string(w, "tag", "fitted");
    rh_json_put_string(w, "source", peers->source);
    rh_json_put_string(w, "date", peers->date);
    rh_json_put_number(w, "error_mean", peers->error_mean_frac);
    rh_json_begin_array(w, "curves");
    for (int i = 0; i < peers->curves_count; i++) {
        const RhPeerCurve *c = &peers->curves[i];
        rh_json_begin_object(w, NULL);
        rh_json_put_int(w, "ranks", c->ranks);
        rh_json_begin_array(w, "bytes");
        for (int k = 0; k < c->count; k++)
            rh_json_put_number(w, NULL, c->bytes[k]);
        rh_json_end_array(w);
        rh_json_begin_array(w, "us");
        for (int k = 0; k < c->count; k++)
            rh_json_put_number(w, NULL, round(1e9 * c->seconds[k]) / 1e3);
        rh_json_end_array(w);
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
}

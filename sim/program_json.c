/* Programs as JSON, rehearse.program/1. Compact, objects with keys but for four tables of rows:
 *
 *   {"schema": "rehearse.program/1", "ranks": 16, "kernel_gap_s": 1e-05, "gap_source": "...",
 *    "labels": ["stage 0", ...],   every text used below, in order of first use; may be left out
 *    "kernels": [[class, dtype, causal, heads, kv_heads, batch, m, n, k, flops, bytes, v_head,
 *                 again],
 *                ...],
 *    "bundles": [[first kernel, kernels, seconds], ...],   seconds -1: from the device
 *    "volumes": [[share, ...],   of uneven all-to-alls; may be left out
 *                {"experts": 256, "chosen": 8, "groups": 8, "groups_chosen": 4}, ...],   of tokens
 *    "groups": [{"label": "tp", "spans": [[stride, extent, period], ...],
 *                "origin": rank}, ...],
 *    "roles": [{"label": "stage 0", "first_rank": 0, "spans": [[1, 8], ...],
 *               "tasks": [{"kind": "kernel", "phase": "forward", "label": "mixer", "layer": 0,
 *                          "microbatch": 0, "bundle": 0, "preds": [3]},
 *                         {"kind": "collective", "lane": "tp", "op": "all-reduce",
 *                          "algorithm": "ring", "group": 0, "bytes": 16777216, ...},
 *                         {"kind": "copy", "lane": "copy-out", "to": "host", ...},
 *                         {"kind": "send", "lane": "send-next", "peer_task": 712,
 *                          "peer_delta": 8, "bytes": 16777216, ...}, ...],
 *               "memory": [[before task, use, bytes, tier], ...]}, ...],
 *    "gpu_of_rank": [0, 1, ...]}   left out: the identity
 *
 * Tasks are numbered from 0 within their role, in `preds` and in memory rows (where the number of
 * tasks means the end); `peer_task` is in another role and counts over the whole program, role
 * after role. Numbers keep every bit. A key left out has its default: lane compute, phase none,
 * -1 for layer, microbatch, bundle, group, volumes and peer_task, hbm for `from` and `to`, 0 for the rest; a
 * memory row without a tier is on hbm, a span without a period begins again when its extent is full, and
 * a group without an origin counts its spans from rank 0. */
#include <string.h>

#include "base/error.h"
#include "base/garray_access.h"
#include "base/text/nearest_names.h"
#include "sim/program.h"

#define SCHEMA      "rehearse.program/1"
#define RANKS_MAX   (1 << 24)
#define INDEX_MAX   (1 << 30)
#define SIDE_MAX    ((int64_t)1 << 40)
#define SECONDS_MAX 1e9
#define BYTES_MAX   1e21
#define FLOPS_MAX   1e30
#define SHARE_MAX   1e6
#define NAMES_MAX   RH_LANES_MAX

typedef const char *(*NameOf)(int value);

static const char *class_name(int v)
{
    return rh_kernel_class_name((RhKernelClass)v);
}
static const char *dtype_name(int v)
{
    return rh_dtype_name((RhDtype)v);
}
static const char *kind_name(int v)
{
    return rh_task_kind_name((RhTaskKind)v);
}
static const char *lane_name(int v)
{
    return rh_lane_name(v);
}
static const char *phase_name(int v)
{
    return rh_phase_name((RhPhase)v);
}
static const char *op_name(int v)
{
    return rh_op_name((RhOp)v);
}
static const char *algo_name(int v)
{
    return rh_algo_name((RhAlgo)v);
}
static const char *use_name(int v)
{
    return rh_memory_name((RhMemoryUse)v);
}
static const char *tier_name(int v)
{
    return rh_memory_tier_name((RhMemoryTier)v);
}

/* --- writing --- */

/* Writes spans. `periods` may be NULL: there are none. */
static void put_spans(RhJsonWriter *w, const RhStride *spans, const int32_t *periods, int32_t count)
{
    rh_json_begin_array(w, "spans");
    for (int32_t i = 0; i < count; i++) {
        rh_json_begin_array(w, NULL);
        rh_json_put_int(w, NULL, spans[i].stride);
        rh_json_put_int(w, NULL, spans[i].extent);
        if (periods && periods[i] > 0)
            rh_json_put_int(w, NULL, periods[i]);
        rh_json_end_array(w);
    }
    rh_json_end_array(w);
}

static const char *label_of(const RhProgram *p, int32_t label)
{
    return p->labels->pdata[label];
}

static void put_kernels(RhJsonWriter *w, const RhProgram *p)
{
    rh_json_begin_array(w, "kernels");
    for (guint i = 0; i < p->kernels->len; i++) {
        const RhKernel *k = &g_array_index(p->kernels, RhKernel, i);
        const int64_t counts[] = {k->heads, k->kv_heads, k->batch, k->m, k->n, k->k};
        rh_json_begin_array(w, NULL);
        rh_json_put_string(w, NULL, class_name(k->cls));
        rh_json_put_string(w, NULL, dtype_name(k->dtype));
        rh_json_put_bool(w, NULL, k->causal);
        for (size_t c = 0; c < G_N_ELEMENTS(counts); c++)
            rh_json_put_int(w, NULL, counts[c]);
        rh_json_put_exact(w, NULL, k->flops);
        rh_json_put_exact(w, NULL, k->bytes);
        if (k->v_head > 0 || k->again)
            rh_json_put_int(w, NULL, k->v_head);
        if (k->again)
            rh_json_put_bool(w, NULL, true);
        rh_json_end_array(w);
    }
    rh_json_end_array(w);
    rh_json_begin_array(w, "bundles");
    for (guint i = 0; i < p->bundles->len; i++) {
        const RhBundle *b = &g_array_index(p->bundles, RhBundle, i);
        rh_json_begin_array(w, NULL);
        rh_json_put_int(w, NULL, b->first);
        rh_json_put_int(w, NULL, b->count);
        rh_json_put_exact(w, NULL, b->seconds);
        rh_json_end_array(w);
    }
    rh_json_end_array(w);
}

static void put_index(RhJsonWriter *w, const char *key, int32_t value, int32_t unset)
{
    if (value != unset)
        rh_json_put_int(w, key, value);
}

static void put_enum(RhJsonWriter *w, const char *key, NameOf name, int value)
{
    if (value != 0)
        rh_json_put_string(w, key, name(value));
}

static void put_task(RhJsonWriter *w, const RhProgram *p, const RhTask *t)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "kind", kind_name(t->kind));
    put_enum(w, "lane", lane_name, t->lane);
    put_enum(w, "phase", phase_name, t->phase);
    rh_json_put_string(w, "label", label_of(p, t->label));
    put_index(w, "layer", t->layer, -1);
    put_index(w, "microbatch", t->microbatch, -1);
    put_index(w, "bundle", t->bundle, -1);
    put_index(w, "group", t->group, -1);
    put_enum(w, "op", op_name, t->op);
    put_enum(w, "algorithm", algo_name, t->algo);
    put_index(w, "volumes", t->volumes - 1, -1);
    put_enum(w, "from", tier_name, t->from);
    put_enum(w, "to", tier_name, t->to);
    put_index(w, "peer_task", t->peer_task, -1);
    put_index(w, "peer_delta", t->peer_delta, 0);
    if (t->bytes != 0)
        rh_json_put_exact(w, "bytes", t->bytes);
    if (t->preds_count > 0) {
        rh_json_begin_array(w, "preds");
        for (int32_t i = 0; i < t->preds_count; i++)
            rh_json_put_int(w, NULL,
                            g_array_index(p->preds, int32_t, t->preds_first + i) -
                                rh_program_role(p, t->role)->tasks_first);
        rh_json_end_array(w);
    }
    rh_json_end_object(w);
}

static void put_role(RhJsonWriter *w, const RhProgram *p, const RhRole *r)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "label", label_of(p, r->label));
    rh_json_put_int(w, "first_rank", r->first_rank);
    put_spans(w, r->spans, NULL, r->spans_count);
    rh_json_begin_array(w, "tasks");
    for (int32_t i = r->tasks_first; i < r->tasks_first + r->tasks_count; i++)
        put_task(w, p, rh_program_task(p, i));
    rh_json_end_array(w);
    rh_json_begin_array(w, "memory");
    for (int32_t i = r->memory_first; i < r->memory_first + r->memory_count; i++) {
        const RhMemoryEvent *e = &g_array_index(p->memory, RhMemoryEvent, i);
        rh_json_begin_array(w, NULL);
        rh_json_put_int(w, NULL, e->at_task - r->tasks_first);
        rh_json_put_string(w, NULL, use_name(e->use));
        rh_json_put_exact(w, NULL, e->bytes);
        if (e->tier != RH_MEMORY_TIER_HBM)
            rh_json_put_string(w, NULL, tier_name(e->tier));
        rh_json_end_array(w);
    }
    rh_json_end_array(w);
    rh_json_end_object(w);
}

static void put_routing(RhJsonWriter *w, const RhRouting *r)
{
    rh_json_begin_object(w, NULL);
    rh_json_put_int(w, "experts", r->experts);
    rh_json_put_int(w, "chosen", r->chosen);
    rh_json_put_int(w, "groups", r->groups);
    rh_json_put_int(w, "groups_chosen", r->groups_chosen);
    if (r->nvlink_frac > 0)
        rh_json_put_exact(w, "nvlink", r->nvlink_frac);
    if (r->nic_frac > 0)
        rh_json_put_exact(w, "nic", r->nic_frac);
    rh_json_end_object(w);
}

static void put_volumes(RhJsonWriter *w, const RhProgram *p)
{
    if (p->volumes->len == 0)
        return;
    rh_json_begin_array(w, "volumes");
    for (guint i = 0; i < p->volumes->len; i++) {
        const RhVolumes *v = &g_array_index(p->volumes, RhVolumes, i);
        if (v->routing.experts > 0) {
            put_routing(w, &v->routing);
            continue;
        }
        rh_json_begin_array(w, NULL);
        for (int32_t k = v->first; k < v->first + v->count; k++)
            rh_json_put_exact(w, NULL, g_array_index(p->shares, double, k));
        rh_json_end_array(w);
    }
    rh_json_end_array(w);
}

char *rh_program_to_json(const RhProgram *p)
{
    g_autoptr(RhJsonWriter) w = rh_json_writer_new(false);
    rh_json_begin_object(w, NULL);
    rh_json_put_string(w, "schema", SCHEMA);
    rh_json_put_int(w, "ranks", p->ranks_count);
    rh_json_put_exact(w, "kernel_gap_s", p->kernel_gap_s);
    rh_json_put_string(w, "gap_source", p->gap_source);
    rh_json_begin_array(w, "labels");
    for (guint i = 0; i < p->labels->len; i++)
        rh_json_put_string(w, NULL, label_of(p, (int32_t)i));
    rh_json_end_array(w);
    put_kernels(w, p);
    put_volumes(w, p);
    rh_json_begin_array(w, "groups");
    for (guint i = 0; i < p->groups->len; i++) {
        const RhGroup *g = rh_program_group(p, (int32_t)i);
        rh_json_begin_object(w, NULL);
        rh_json_put_string(w, "label", label_of(p, g->label));
        put_spans(w, g->spans, g->periods, g->spans_count);
        if (g->origin > 0)
            rh_json_put_int(w, "origin", g->origin);
        if (g->lap > 0) {
            rh_json_put_int(w, "lap", g->lap);
            rh_json_put_int(w, "held", g->held);
        }
        rh_json_end_object(w);
    }
    rh_json_end_array(w);
    rh_json_begin_array(w, "roles");
    for (guint i = 0; i < p->roles->len; i++)
        put_role(w, p, rh_program_role(p, (int32_t)i));
    rh_json_end_array(w);
    if (p->gpu_of_rank) {
        rh_json_begin_array(w, "gpu_of_rank");
        for (int32_t i = 0; i < p->ranks_count; i++)
            rh_json_put_int(w, NULL, p->gpu_of_rank[i]);
        rh_json_end_array(w);
    }
    rh_json_end_object(w);
    return rh_json_writer_steal(w);
}

/* --- reading --- */

static int enum_of(RhJson *doc, const RhJsonNode *node, const char *text, NameOf name, int last)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    for (int v = 0; v < last; v++) {
        names[v] = name(v);
        if (strcmp(names[v], text) == 0)
            return v;
    }
    const char *near = rh_near_name(text, names);
    g_autofree char *help = near ? g_strdup_printf("the nearest name is \"%s\"", near) : NULL;
    rh_json_problem(doc, node, help, "\"%s\" is not a known name here", text);
    return 0;
}

static int enum_key(RhJson *doc, const RhJsonNode *object, const char *key, NameOf name, int last)
{
    return enum_of(doc, object, rh_json_string_or(doc, object, key, name(0)), name, last);
}

/* Returns a row's next element; a problem when the row is too short, or too long for `row_ends`. */
static const RhJsonNode *next_cell(RhJson *doc, const RhJsonNode *row, const RhJsonNode **next)
{
    const RhJsonNode *here = *next;
    if (!here)
        rh_json_problem(doc, row, NULL, "this row is too short");
    else
        *next = rh_json_next(here);
    return here;
}

static void row_ends(RhJson *doc, const RhJsonNode *next)
{
    if (next)
        rh_json_problem(doc, next, NULL, "this row is too long");
}

static int64_t cell_int(RhJson *doc, const RhJsonNode *row, const RhJsonNode **next, int64_t low,
                        int64_t high)
{
    const RhJsonNode *node = next_cell(doc, row, next);
    return node ? rh_json_node_int(doc, node, low, high) : low;
}

static double cell_number(RhJson *doc, const RhJsonNode *row, const RhJsonNode **next, double low,
                          double high)
{
    const RhJsonNode *node = next_cell(doc, row, next);
    return node ? rh_json_node_number(doc, node, low, high) : 0;
}

static int cell_enum(RhJson *doc, const RhJsonNode *row, const RhJsonNode **next, NameOf name,
                     int last)
{
    const RhJsonNode *node = next_cell(doc, row, next);
    return node ? enum_of(doc, node, rh_json_node_string(doc, node), name, last) : 0;
}

static void read_kernels(RhJson *doc, const RhJsonNode *root, RhProgram *p)
{
    for (const RhJsonNode *row = rh_json_first(rh_json_array(doc, root, "kernels")); row;
         row = rh_json_next(row)) {
        const RhJsonNode *at = rh_json_first(row);
        RhKernel k = {0};
        k.cls = (uint8_t)cell_enum(doc, row, &at, class_name, RH_KERNEL_LAST);
        k.dtype = (uint8_t)cell_enum(doc, row, &at, dtype_name, RH_DTYPE_LAST);
        const RhJsonNode *causal = next_cell(doc, row, &at);
        k.causal = causal && rh_json_node_bool(doc, causal);
        k.heads = (int32_t)cell_int(doc, row, &at, 0, INT32_MAX);
        k.kv_heads = (int32_t)cell_int(doc, row, &at, 0, INT32_MAX);
        k.batch = cell_int(doc, row, &at, 0, SIDE_MAX);
        k.m = cell_int(doc, row, &at, 0, SIDE_MAX);
        k.n = cell_int(doc, row, &at, 0, SIDE_MAX);
        k.k = cell_int(doc, row, &at, 0, SIDE_MAX);
        k.flops = cell_number(doc, row, &at, 0, FLOPS_MAX);
        k.bytes = cell_number(doc, row, &at, 0, BYTES_MAX);
        k.v_head = at ? (int32_t)cell_int(doc, row, &at, 0, INT32_MAX) : 0;
        const RhJsonNode *again = at ? next_cell(doc, row, &at) : NULL;
        k.again = again && rh_json_node_bool(doc, again);
        row_ends(doc, at);
        g_array_append_val(p->kernels, k);
    }
    for (const RhJsonNode *row = rh_json_first(rh_json_array(doc, root, "bundles")); row;
         row = rh_json_next(row)) {
        const RhJsonNode *at = rh_json_first(row);
        RhBundle b;
        b.first = (int32_t)cell_int(doc, row, &at, 0, INT32_MAX);
        b.count = (int32_t)cell_int(doc, row, &at, 0, INT32_MAX);
        b.seconds = cell_number(doc, row, &at, -1, SECONDS_MAX);
        row_ends(doc, at);
        g_array_append_val(p->bundles, b);
    }
}

/* Reads a routing as a row of its own, so that tasks can refer to it by number. */
static void read_routing(RhJson *doc, const RhJsonNode *row, RhProgram *p)
{
    RhVolumes v = {
        .first = (int32_t)p->shares->len,
        .routing = {
            (int32_t)rh_json_int(doc, row, "experts", 1, RH_ROUTING_EXPERTS_MAX),
            (int32_t)rh_json_int(doc, row, "chosen", 1, RH_ROUTING_EXPERTS_MAX),
            (int32_t)rh_json_int_or(doc, row, "groups", 1, RH_ROUTING_EXPERTS_MAX, 1),
            (int32_t)rh_json_int_or(doc, row, "groups_chosen", 1, RH_ROUTING_EXPERTS_MAX, 1),
            rh_json_number_or(doc, row, "nvlink", 0, 2, 0),
            rh_json_number_or(doc, row, "nic", 0, 2, 0)}};
    g_array_append_val(p->volumes, v);
}

static void read_volumes(RhJson *doc, const RhJsonNode *root, RhProgram *p)
{
    g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(double));
    for (const RhJsonNode *row = rh_json_first(rh_json_array_or_null(doc, root, "volumes")); row;
         row = rh_json_next(row)) {
        if (rh_json_kind(row) == RH_JSON_OBJECT) {
            read_routing(doc, row, p);
            continue;
        }
        g_array_set_size(shares, 0);
        for (const RhJsonNode *at = rh_json_first(row); at; at = rh_json_next(at)) {
            double share = rh_json_node_number(doc, at, 0, SHARE_MAX);
            g_array_append_val(shares, share);
        }
        rh_program_add_volumes(p, RH_ELEMENTS(shares, double), (int32_t)shares->len);
    }
}

/* Reads spans. `periods` may be NULL: there can be none. */
static int32_t read_spans(RhJson *doc, const RhJsonNode *object, int32_t ranks,
                          RhStride spans[RH_STRIDES_MAX], int32_t *periods)
{
    int32_t count = 0;
    int64_t size = 1;
    const RhJsonNode *list = rh_json_array(doc, object, "spans");
    for (const RhJsonNode *row = rh_json_first(list); row; row = rh_json_next(row)) {
        const RhJsonNode *at = rh_json_first(row);
        RhStride span;
        span.stride = (int32_t)cell_int(doc, row, &at, 1, ranks);
        span.extent = (int32_t)cell_int(doc, row, &at, 1, ranks);
        int32_t period = periods && at ? (int32_t)cell_int(doc, row, &at, 1, ranks) : 0;
        row_ends(doc, at);
        size *= span.extent;
        if (count == RH_STRIDES_MAX || size > ranks) {
            rh_json_problem(doc, row, NULL, "more than %d spans, or more members than ranks",
                            RH_STRIDES_MAX);
            return count;
        }
        if (periods)
            periods[count] = period;
        spans[count++] = span;
    }
    return count;
}

/* Reads a task. `first`: the role's first task. */
static void read_task(RhJson *doc, const RhJsonNode *node, RhProgram *p, int32_t first)
{
    RhTask t = {0};
    t.kind =
        (uint8_t)enum_of(doc, node, rh_json_string(doc, node, "kind"), kind_name, RH_TASK_LAST);
    t.lane = (uint8_t)enum_key(doc, node, "lane", lane_name, RH_LANES_MAX);
    t.phase = (uint8_t)enum_key(doc, node, "phase", phase_name, RH_PHASE_LAST);
    t.op = (uint8_t)enum_key(doc, node, "op", op_name, RH_OP_LAST);
    t.algo = (uint8_t)enum_key(doc, node, "algorithm", algo_name, RH_ALGO_LAST);
    t.from = (uint8_t)enum_key(doc, node, "from", tier_name, RH_MEMORY_TIER_LAST);
    t.to = (uint8_t)enum_key(doc, node, "to", tier_name, RH_MEMORY_TIER_LAST);
    t.volumes = 1 + (int32_t)rh_json_int_or(doc, node, "volumes", -1, INDEX_MAX, -1);
    t.label = rh_program_label(p, rh_json_string_or(doc, node, "label", ""));
    t.layer = (int16_t)rh_json_int_or(doc, node, "layer", -1, INT16_MAX, -1);
    t.microbatch = (int32_t)rh_json_int_or(doc, node, "microbatch", -1, INT32_MAX, -1);
    t.bundle = (int32_t)rh_json_int_or(doc, node, "bundle", -1, INT32_MAX, -1);
    t.group = (int32_t)rh_json_int_or(doc, node, "group", -1, INT32_MAX, -1);
    t.peer_task = (int32_t)rh_json_int_or(doc, node, "peer_task", -1, INT32_MAX, -1);
    t.peer_delta = (int32_t)rh_json_int_or(doc, node, "peer_delta", -INT32_MAX, INT32_MAX, 0);
    t.bytes = rh_json_number_or(doc, node, "bytes", 0, BYTES_MAX, 0);
    int32_t preds[UINT8_MAX], count = 0;
    const RhJsonNode *list = rh_json_array_or_null(doc, node, "preds");
    for (const RhJsonNode *pred = rh_json_first(list); pred; pred = rh_json_next(pred)) {
        if (count == UINT8_MAX) {
            rh_json_problem(doc, pred, NULL, "more than %d predecessors", UINT8_MAX);
            break;
        }
        preds[count++] = first + (int32_t)rh_json_node_int(doc, pred, 0, INDEX_MAX);
    }
    rh_program_add_task(p, t, preds, count);
}

static void read_role(RhJson *doc, const RhJsonNode *node, RhProgram *p)
{
    RhStride spans[RH_STRIDES_MAX] = {{0}};
    int32_t first_rank = (int32_t)rh_json_int(doc, node, "first_rank", 0, p->ranks_count - 1);
    int32_t count = read_spans(doc, node, p->ranks_count, spans, NULL);
    rh_program_begin_role(p, rh_json_string_or(doc, node, "label", ""), first_rank, spans, count);
    int32_t first = (int32_t)p->tasks->len;
    for (const RhJsonNode *t = rh_json_first(rh_json_array(doc, node, "tasks")); t;
         t = rh_json_next(t))
        read_task(doc, t, p, first);
    for (const RhJsonNode *row = rh_json_first(rh_json_array_or_null(doc, node, "memory")); row;
         row = rh_json_next(row)) {
        const RhJsonNode *at = rh_json_first(row);
        RhMemoryEvent e;
        e.at_task = first + (int32_t)cell_int(doc, row, &at, 0, INDEX_MAX);
        e.use = (uint8_t)cell_enum(doc, row, &at, use_name, RH_MEMORY_LAST);
        e.bytes = cell_number(doc, row, &at, -BYTES_MAX, BYTES_MAX);
        e.tier = at ? (uint8_t)cell_enum(doc, row, &at, tier_name, RH_MEMORY_TIER_LAST)
                    : RH_MEMORY_TIER_HBM;
        row_ends(doc, at);
        g_array_append_val(p->memory, e);
    }
    rh_program_end_role(p);
}

static void read_placement(RhJson *doc, const RhJsonNode *root, RhProgram *p)
{
    const RhJsonNode *list = rh_json_array_or_null(doc, root, "gpu_of_rank");
    if (!list)
        return;
    if (rh_json_count(list) != p->ranks_count) {
        rh_json_problem(doc, list, NULL, "gpu_of_rank must name one GPU for each of the %d ranks",
                        p->ranks_count);
        return;
    }
    p->gpu_of_rank = g_new(int32_t, p->ranks_count);
    g_autofree bool *taken = g_new0(bool, RANKS_MAX);
    int32_t i = 0;
    for (const RhJsonNode *gpu = rh_json_first(list); gpu; gpu = rh_json_next(gpu)) {
        int32_t which = p->gpu_of_rank[i++] = (int32_t)rh_json_node_int(doc, gpu, 0, RANKS_MAX - 1);
        if (taken[which]) {
            rh_json_problem(doc, gpu, NULL, "two ranks are on GPU %d, one of them is rank %d",
                            which, i - 1);
            return;
        }
        taken[which] = true;
    }
}

RhProgram *rh_program_from_json(RhJson *doc, GError **error)
{
    const RhJsonNode *root = rh_json_root(doc);
    const char *schema = rh_json_string(doc, root, "schema");
    if (strcmp(schema, SCHEMA) != 0)
        rh_json_problem(doc, root, "programs of this version say \"" SCHEMA "\"",
                        "unknown schema \"%s\"", schema);
    g_autoptr(RhProgram) p = rh_program_new((int32_t)rh_json_int(doc, root, "ranks", 1, RANKS_MAX));
    p->kernel_gap_s = rh_json_number_or(doc, root, "kernel_gap_s", 0, SECONDS_MAX, 0);
    p->gap_source = rh_json_string_or(doc, root, "gap_source", "");
    for (const RhJsonNode *label = rh_json_first(rh_json_array_or_null(doc, root, "labels")); label;
         label = rh_json_next(label))
        rh_program_label(p, rh_json_node_string(doc, label));
    read_kernels(doc, root, p);
    read_volumes(doc, root, p);
    for (const RhJsonNode *g = rh_json_first(rh_json_array(doc, root, "groups")); g;
         g = rh_json_next(g)) {
        RhStride spans[RH_STRIDES_MAX] = {{0}};
        int32_t periods[RH_STRIDES_MAX] = {0};
        int32_t count = read_spans(doc, g, p->ranks_count, spans, periods);
        int32_t index =
            rh_program_add_group(p, rh_json_string_or(doc, g, "label", ""), spans, count);
        for (int32_t k = 0; k < count; k++)
            rh_program_space_group(p, index, k, periods[k]);
        rh_program_shift_group(p, index,
                               (int32_t)rh_json_int_or(doc, g, "origin", 0, p->ranks_count - 1, 0));
        int32_t lap = (int32_t)rh_json_int_or(doc, g, "lap", 0, p->ranks_count, 0);
        rh_program_lap_group(p, index, lap, (int32_t)rh_json_int_or(doc, g, "held", 0, lap, lap));
    }
    for (const RhJsonNode *r = rh_json_first(rh_json_array(doc, root, "roles")); r;
         r = rh_json_next(r))
        read_role(doc, r, p);
    read_placement(doc, root, p);
    if (!rh_json_finish(doc, error))
        return NULL;
    if (!rh_program_check(p, error)) {
        g_prefix_error(error, "%s: ", rh_json_name(doc));
        return NULL;
    }
    return g_steal_pointer(&p);
}

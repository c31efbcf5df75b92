#include "cli/show/show_workload.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text_table.h"
#include "report/format.h"
#include "workloads/model.h"
#include "workloads/operator_costs.h"

static bool list_workloads(GError **error)
{
    g_autoptr(RhTable) table = rh_table_new("<<>>>>");
    rh_table_rowf(table, "name|family|parameters|layers|hidden|positions");
    for (const char *const *name = rh_model_names(); *name; name++) {
        g_autoptr(RhModel) m = rh_model_load(*name, error);
        if (!m)
            return false;
        g_autofree char *params = rh_text_params((double)rh_model_params(m));
        bool pictures = rh_model_sees_pictures(m); /* their width changes from step to step */
        g_autofree char *positions = pictures ? g_strdup("-") : rh_text_count(m->positions);
        g_autofree char *hidden =
            pictures ? g_strdup("-") : g_strdup_printf("%" G_GINT64_FORMAT, m->hidden);
        rh_table_rowf(table, "%s|%s|%s|%d|%s|%s", *name, m->family, params, m->layers_count, hidden,
                      positions);
    }
    g_autoptr(GString) out = g_string_new(NULL);
    rh_table_append(table, out, "");
    g_string_append(out, "\nany config.json of these families works too: -w FILE or FOLDER\n"
                         "next: rehearse show workloads llama-3.1-70b\n");
    fputs(out->str, stdout);
    return true;
}

/* "8192 x 28672 x 8192" for a GEMM, "64 heads, 8 kv, s 8192" for attention. */
static char *shape_of(const RhKernel *k)
{
    if (k->cls == RH_KERNEL_GEMM) {
        g_autofree char *batch =
            k->batch > 1 ? g_strdup_printf("%" G_GINT64_FORMAT " of ", k->batch) : g_strdup("");
        return g_strdup_printf("%s%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT,
                               batch, k->m, k->n, k->k);
    }
    if (k->cls == RH_KERNEL_SCAN)
        return g_strdup_printf("%d heads of %" G_GINT64_FORMAT " x %d, chunks %" G_GINT64_FORMAT,
                               k->heads, k->k, k->v_head, k->n);
    if (k->cls == RH_KERNEL_ATTENTION) {
        g_autofree char *shared =
            k->kv_heads != k->heads ? g_strdup_printf(", %d kv", k->kv_heads) : g_strdup("");
        return g_strdup_printf("s %" G_GINT64_FORMAT ", %d heads of %" G_GINT64_FORMAT "%s", k->m,
                               k->heads, k->k, shared);
    }
    return g_strdup("");
}

typedef struct {
    const RhModel *model;
    RhShard shard;
    RhTable *table;
    double flops, bytes;
} Operators;

/* Forward kernels of one block below its name, norms first. */
static void add_block(Operators *o, const char *name, const RhLayerKind *kind, RhBlock block,
                      double times)
{
    g_autoptr(GArray) kernels = g_array_new(FALSE, TRUE, sizeof(RhKernel));
    rh_block_kernels(o->model, kind, block, RH_PART_SEQUENCE, RH_PASS_FORWARD, &o->shard, kernels);
    rh_block_kernels(o->model, kind, block, RH_PART_TENSOR, RH_PASS_FORWARD, &o->shard, kernels);
    rh_table_rowf(o->table, "%s|||", name);
    for (guint i = 0; i < kernels->len; i++) {
        const RhKernel *k = &g_array_index(kernels, RhKernel, i);
        g_autofree char *shape = shape_of(k);
        g_autofree char *flops = k->flops > 0 ? rh_text_large(k->flops) : g_strdup("-");
        g_autofree char *bytes = rh_quantity_format(k->bytes, RH_QUANTITY_BYTES, 3);
        rh_table_rowf(o->table, "  %s|%s|%s|%s", rh_kernel_class_name((RhKernelClass)k->cls), shape,
                      flops, bytes);
        o->flops += times * k->flops;
        o->bytes += times * k->bytes;
    }
}

/* A block of `count` layers alike; nothing where they have none. */
static void add_layers(Operators *o, const RhOperator *op, const RhLayerKind *kind, RhBlock block,
                       int32_t count)
{
    g_autofree char *name = g_strdup_printf("%s x %d", rh_operator_name(op), count);
    if (op)
        add_block(o, name, kind, block, count);
}

static int32_t layers_of_kind(const RhModel *m, int kind)
{
    int32_t count = 0;
    for (int32_t i = 0; i < m->layers_count; i++)
        count += m->kind_of_layer[i] == kind;
    return count;
}

static void append_operators(GString *out, const RhModel *m, int64_t sequence)
{
    g_autoptr(RhTable) table = rh_table_new("<<>>");
    Operators o = {.model = m,
                   .table = table,
                   .shard = {.tp = 1,
                             .sequence = sequence,
                             .microbatch = 1,
                             .dtype = RH_DTYPE_BF16,
                             .flash = true,
                             .fused_norms = true,
                             .fused_softmax = true,
                             .fused_elementwise = true}};
    rh_table_rowf(table, "kernel|shape|FLOP|bytes");
    add_block(&o, "embedding", NULL, RH_BLOCK_EMBEDDING, 1);
    for (int kind = 0; kind < m->kinds_count; kind++) {
        int32_t count = layers_of_kind(m, kind);
        add_layers(&o, m->kinds[kind].mixer, &m->kinds[kind], RH_BLOCK_MIXER, count);
        add_layers(&o, m->kinds[kind].ffn, &m->kinds[kind], RH_BLOCK_FFN, count);
    }
    add_block(&o, "head", NULL, RH_BLOCK_HEAD, 1);
    g_autofree char *flops = rh_text_large(o.flops);
    g_autofree char *bytes = rh_quantity_format(o.bytes, RH_QUANTITY_BYTES, 3);
    rh_table_rowf(table, "all||%s|%s", flops, bytes);
    rh_table_append(table, out, "  ");
}

static bool apply_sets(const RhArguments *a, RhModel *m, GError **error)
{
    for (guint i = 0; i < a->sets->len; i++) {
        g_auto(GStrv) parts = g_strsplit(g_ptr_array_index(a->sets, i), "=", 2);
        if (!parts[0] || !parts[1])
            return rh_fail(error, RH_ERROR_USAGE, "--set needs KEY=VALUE, \"%s\" given",
                           (const char *)g_ptr_array_index(a->sets, i));
        if (!rh_model_set(m, parts[0], parts[1], error))
            return false;
    }
    return true;
}

/* Which layers have experts, where not all have. */
static void append_where(GString *out, const RhModel *m)
{
    int32_t count = 0, first = -1;
    for (int32_t i = 0; i < m->layers_count; i++)
        if (m->kinds[m->kind_of_layer[i]].experts > 0) {
            first = first < 0 ? i : first;
            count++;
        }
    if (first > 0 && first + count == m->layers_count)
        g_string_append_printf(out, "; the first %d layers dense", first);
    else if (count < m->layers_count)
        g_string_append_printf(out, "; in %d of %d layers", count, m->layers_count);
}

/* Nothing for a model without. */
static void append_experts(GString *out, const RhModel *m)
{
    const RhLayerKind *k = rh_model_experts_kind(m);
    if (!k)
        return;
    g_string_append_printf(out, "%d experts of width %" G_GINT64_FORMAT ", %d a token%s",
                           k->experts, k->ffn_width, k->experts_per_token,
                           k->shared_width > 0 ? " and a shared one" : "");
    append_where(out, m);
    g_string_append_c(out, '\n');
}

/* Nothing for a model without. */
static void append_encoder(GString *out, const RhModel *m, int64_t sequence)
{
    int32_t layers = 0,
            crossing = 0; /* the encoder's; those that look at it, one of each of a decoder's */
    for (int32_t i = 0; i < m->layers_count; i++) {
        layers += m->kinds[m->kind_of_layer[i]].encodes;
        crossing += m->kinds[m->kind_of_layer[i]].cross_width > 0;
    }
    if (m->encoder)
        g_string_append_printf(
            out, "%d of them an encoder's, on %" G_GINT64_FORMAT " tokens; %s a decoder's %d\n",
            layers, rh_model_encoder_tokens(m, sequence),
            crossing == m->layers_count - layers ? "the others" : "two for each of", crossing);
}

/* A multiply-add is 2 FLOP here and 1 in most tables of such nets: both are told. */
static void show_pictures(const RhModel *m)
{
    double training = rh_model_flops_per_token(m, 1);
    g_autofree char *large = rh_text_params((double)rh_model_params(m));
    g_autofree char *params = rh_text_count(rh_model_params(m));
    g_autofree char *flops = rh_text_large(training),
                    *forward = rh_text_large(rh_model_forward_flops_per_token(m, 1) / 2);
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_printf(out, "%s: %s parameters (%s), family %s\n", m->name, large, params, m->family);
    g_string_append_printf(
        out, "%d layers on pictures of %d x %d x %d, %" G_GINT64_FORMAT " classes\n",
        m->layers_count, m->picture.height, m->picture.width, m->picture.channels, m->vocab);
    g_string_append_printf(out,
                           "%sFLOP a picture, forward and backward (%sMAC forward)\n\n"
                           "forward of one picture on one GPU, bf16\n",
                           flops, forward);
    append_operators(out, m, 1);
    fputs(out->str, stdout);
}

static bool show_workload(const RhArguments *a, const char *name, GError **error)
{
    g_autoptr(RhModel) m = rh_model_load(name, error);
    if (!m || !apply_sets(a, m, error))
        return false;
    if (rh_model_sees_pictures(m)) {
        show_pictures(m);
        return true;
    }
    int64_t sequence = a->sequence ? a->sequence : MIN(m->positions, 8192);
    const RhLayerKind *k = rh_model_attention_kind(m), *ffn = rh_model_ffn_kind(m);
    g_autofree char *large = rh_text_params((double)rh_model_params(m));
    g_autofree char *params = rh_text_count(rh_model_params(m));
    g_autofree char *flops = rh_text_large(rh_model_flops_per_token(m, sequence));
    g_autofree char *vocab = rh_text_count(m->vocab);
    g_autofree char *tokens = rh_text_count(sequence);
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_printf(out, "%s: %s parameters (%s), family %s\n", m->name, large, params, m->family);
    g_string_append_printf(out,
                           "%d layers, hidden %" G_GINT64_FORMAT ", %d heads of %d, %d key-value "
                           "heads",
                           m->layers_count, m->hidden, k->heads, k->head_size, k->kv_heads);
    if (ffn->ffn_width > 0)
        g_string_append_printf(out, ", FFN %" G_GINT64_FORMAT "%s", ffn->ffn_width,
                               ffn->ffn_gated ? " gated" : "");
    g_string_append_c(out, '\n');
    append_encoder(out, m, sequence);
    append_experts(out, m);
    g_string_append_printf(out, "vocabulary %s, embeddings %s\n", vocab,
                           m->tied_embeddings ? "tied" : "not tied");
    g_string_append_printf(
        out,
        "%sFLOP per token, forward and backward, in samples of %s tokens (no\n"
        "recomputation; causal attention counted once)\n\n"
        "forward of one sample of %s tokens on one GPU, bf16; GEMMs: m x n x k\n",
        flops, tokens, tokens);
    append_operators(out, m, sequence);
    fputs(out->str, stdout);
    return true;
}

GPtrArray *rh_show_workloads_items(const RhArguments *a, const char *name, GError **error)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func((GDestroyNotify)rh_model_free);
    const char *one[] = {name, NULL};
    for (const char *const *n = name ? one : rh_model_names(); *n; n++) {
        RhModel *m = rh_model_load(*n, error);
        if (!m)
            return NULL;
        g_ptr_array_add(items, m);
        if (name && !apply_sets(a, m, error))
            return NULL;
    }
    return g_steal_pointer(&items);
}

bool rh_show_workloads(const RhArguments *a, const char *name, GError **error)
{
    return name ? show_workload(a, name, error) : list_workloads(error);
}

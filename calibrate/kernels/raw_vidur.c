/* Reads vidur's tables of a layer's operators (profiling/compute, mlp.csv): a line holds the times
 * of all of them, for a number of tokens on one of so many tensor ranks, in fp16 as PyTorch ran
 * them. Only GEMMs are used. Kernels bound by memory are not: they were vLLM's own of 2024, whose
 * efficiency differs between kernels (norms 0.32 of an A100's rate, activations 0.5, sums 0.9), and
 * say nothing of the device. */
#include <math.h>

#include "calibrate/kernels/raw_table_row.h"

#define MS 1e-3
/* Shortest times used. Times are whole microseconds (means of them have more digits): for shorter
 * ones rounding is too coarse. */
#define SECONDS_LEAST 20e-6

const char *const rh_raw_vidur_needs[] = {"time_stats.mlp_up_proj.median",
                                          "n_head",
                                          "n_kv_head",
                                          "n_embd",
                                          "n_expanded_embd",
                                          "use_gated_mlp",
                                          "num_tokens",
                                          "num_tensor_parallel_workers",
                                          NULL};

/* Sizes on one rank: tokens, columns of the model, of its queries, of its keys or values, and of
 * its MLP. */
typedef struct {
    double tokens, hidden, queries, keys, ffn;
    bool gated;
} Layer;

static RhKernel add_gemm(const Layer *l, double n, double k)
{
    return rh_raw_gemm(RH_DTYPE_FP16, l->tokens, n, k);
}

static RhKernel add_qkv(const Layer *l)
{
    return add_gemm(l, l->queries + 2 * l->keys, l->hidden);
}
static RhKernel projection(const Layer *l)
{
    return add_gemm(l, l->hidden, l->queries);
}
static RhKernel add_up(const Layer *l)
{
    return add_gemm(l, (l->gated ? 2 : 1) * l->ffn, l->hidden);
}
static RhKernel add_down(const Layer *l)
{
    return add_gemm(l, l->hidden, l->ffn);
}

static const struct {
    const char *column;
    RhKernel (*kernel)(const Layer *l);
} products[] = {
    {"time_stats.attn_pre_proj.median", add_qkv},
    {"time_stats.attn_post_proj.median", projection},
    {"time_stats.mlp_up_proj.median", add_up},
    {"time_stats.mlp_down_proj.median", add_down},
};

static bool read_layer(const RhRawReading *r, Layer *l)
{
    double heads = 0, kv_heads = 0, ranks = 0, ffn = 0;
    if (!rh_raw_take_whole(r, "num_tokens", 1, &l->tokens) ||
        !rh_raw_take_whole(r, "n_embd", 1, &l->hidden) ||
        !rh_raw_take_whole(r, "n_expanded_embd", 1, &ffn) ||
        !rh_raw_take_whole(r, "n_head", 1, &heads) ||
        !rh_raw_take_whole(r, "n_kv_head", 1, &kv_heads) ||
        !rh_raw_take_whole(r, "num_tensor_parallel_workers", 1, &ranks))
        return false;
    const char *gated = r->row->cells[rh_csv_column(r->csv, "use_gated_mlp")];
    l->queries = l->hidden / ranks;
    l->keys =
        l->hidden / heads * fmax(kv_heads / ranks, 1); /* with more ranks than heads each has one */
    l->ffn = ffn / ranks;
    l->gated = g_ascii_strcasecmp(gated, "true") == 0;
    return true;
}

bool rh_raw_vidur_read(const RhRawReading *r)
{
    Layer layer = {0};
    if (!read_layer(r, &layer))
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(products); i++) {
        double ms = 0;
        int32_t column = rh_csv_column(r->csv, products[i].column);
        if (column < 0 || !*r->row->cells[column]) /* the model does not have it */
            continue;
        if (!rh_raw_take(r, products[i].column, 0, &ms))
            return false;
        RhKernel kernel = products[i].kernel(&layer);
        if (MS * ms < SECONDS_LEAST)
            rh_raw_leave_out(r, "GEMMs of less than 20 us, told in whole microseconds");
        else
            rh_raw_add(r, "gemm", &kernel, MS * ms);
    }
    return true;
}

/* Published tables: which one a file is, what its rows become, what is wrong with it. Rows are those
 * of aiconfigurator 095f58a51, apex_plus 8769096 and vidur 7d47513. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/kernels/raw_samples.h"
#include "calibrate/links/measured.h"
#include "tests/kit/testkit.h"

#define GEMM_HEADER "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
#define GEMM        "TRTLLM,1.3.0rc20,NVIDIA H100 80GB HBM3,gemm,torch_flow,"
#define ATTENTION_HEADER                                                                           \
    "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads," \
    "head_dim,window_size,beam_width,attn_dtype,kv_cache_dtype,step,latency\n"
#define ATTENTION "VLLM,0.24.0,NVIDIA H200,context_attention,fa3,"
#define NCCL_HEADER                                                                                \
    "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n"
#define NCCL  "TRTLLM,2.29.2,NVIDIA H100 80GB HBM3,all_gather,NCCL,"
#define APEX  "gpu,num_nodes,num_gpus_per_node,dtype,size(kb),time(us)\n"
#define VIDUR "time_stats.all_reduce.median,rank,num_workers,size,collective,devices_per_node\n"

static void gemms_of_a_table_are_raw_samples(void)
{
    g_autoptr(RhRaw) raw = rh_raw_parse(
        "gemm_perf.csv",
        GEMM_HEADER GEMM "bfloat16,4353,65536,51200,39.301023\n" GEMM
                         "fp8,4353,65536,51200,20.1\n" GEMM "bfloat16,4353,32,51200,0.1\n",
        NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(raw);
    CU_ASSERT_TRUE_FATAL(raw->rows->len == 1 && raw->unknown_count == 2 && !raw->cut);
    const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, 0);
    CU_ASSERT_STRING_EQUAL(raw->device, "NVIDIA H100 80GB HBM3");
    CU_ASSERT_STRING_EQUAL(raw->library_versions, "TRTLLM 1.3.0rc20");
    CU_ASSERT_TRUE(row->kernel.cls == RH_KERNEL_GEMM && row->kernel.dtype == RH_DTYPE_BF16);
    CU_ASSERT_TRUE(row->kernel.m == 4353 && row->kernel.n == 65536 && row->kernel.k == 51200);
    CU_ASSERT_EQUAL(row->kernel.bytes, 2 * (4353.0 * 51200 + 51200.0 * 65536 + 4353.0 * 65536));
    RH_CHECK_CLOSE(row->seconds, 39.301023e-3, 1e-12);
    CU_ASSERT_EQUAL(row->line, 2);
}

/* Llama-2-70B on four ranks: a line holds the four products of a layer; one of 12 us, told in whole ones, says too
 * little. */
static void products_of_a_layer_are_raw_samples(void)
{
    g_autoptr(RhRaw) raw = rh_raw_parse("mlp.csv",
                                        "time_stats.attn_pre_proj.median,time_stats.attn_post_proj."
                                        "median,time_stats.mlp_up_proj.median,time_stats.mlp_down_"
                                        "proj.median,n_head,n_kv_head,n_embd,n_expanded_embd,use_"
                                        "gated_mlp,num_tokens,num_tensor_parallel_workers\n"
                                        "0.111,0.012,0.551,0.246,64,8,8192,28672,True,168,4\n",
                                        NULL);
    CU_ASSERT_TRUE_FATAL(raw && raw->rows->len == 3 && raw->unknown_count == 1 && !raw->cut);
    static const int64_t sizes[3][2] = {{2048 + 2 * 256, 8192}, {2 * 7168, 8192}, {8192, 7168}};
    static const double seconds[] = {111e-6, 551e-6, 246e-6};
    for (guint i = 0; i < 3; i++) {
        const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, i);
        CU_ASSERT_TRUE(row->kernel.cls == RH_KERNEL_GEMM && row->kernel.dtype == RH_DTYPE_FP16);
        CU_ASSERT_TRUE(row->kernel.m == 168 && row->kernel.n == sizes[i][0] &&
                       row->kernel.k == sizes[i][1]);
        RH_CHECK_CLOSE(row->seconds, seconds[i], 1e-12);
    }
}

static void attention_of_training_is_taken_without_its_cache(void)
{
    g_autoptr(RhRaw) raw = rh_raw_parse("context.csv",
                                        ATTENTION_HEADER ATTENTION
                                        "2,4096,32,8,128,0,1,bfloat16,bfloat16,0,0.512\n" ATTENTION
                                        "2,4096,32,8,128,1024,1,bfloat16,bfloat16,0,0.3\n" ATTENTION
                                        "2,512,32,8,128,0,1,bfloat16,bfloat16,0,0.3\n" ATTENTION
                                        "2,4096,32,8,128,0,1,bfloat16,fp8,0,0.3\n",
                                        NULL);
    CU_ASSERT_TRUE_FATAL(raw && raw->rows->len == 1 && raw->unknown_count == 3);
    const RhRawRow *row = &g_array_index(raw->rows, RhRawRow, 0);
    CU_ASSERT_TRUE(row->kernel.cls == RH_KERNEL_ATTENTION && row->kernel.causal);
    CU_ASSERT_TRUE(row->kernel.batch == 2 && row->kernel.n == 4096 && row->kernel.kv_heads == 8);
    CU_ASSERT_EQUAL(row->kernel.bytes, 4.0 * 2 * 4096 * 128 * 40);
    RH_CHECK_CLOSE(row->seconds, 0.5e-3, 1e-12);
}

static void collectives_of_tables_have_their_place_and_bytes(void)
{
    static const struct {
        const char *name, *text;
        RhTimed first;
        guint rows;
    } files[] = {
        {"nccl_perf.csv",
         NCCL_HEADER NCCL "half,8,268435456,1.4015\n" NCCL "int8,8,512,0.01\n",
         {RH_OP_ALL_GATHER, false, 8, 1, 536870912, 1.4015e-3, 2},
         2},
        {"x/all_reduce.csv",
         APEX "H100,1,8,half,128,21.0\nH100,1,8,half,0,14.0\n",
         {RH_OP_ALL_REDUCE, false, 8, 1, 131072, 21e-6, 2},
         1},
        {"x/sendrecv.csv",
         APEX "H100,2,1,half,2,7.0\n",
         {RH_OP_SHIFT, false, 2, 2, 2048, 7e-6, 2},
         1},
        {"all_reduce.csv",
         VIDUR "0.038,0,16,2048,all_reduce,8\n",
         {RH_OP_ALL_REDUCE, false, 16, 2, 2048, 38e-6, 2},
         1},
        {"custom.csv",
         "version,device,op_name,allreduce_dtype,num_gpus,message_size,latency,backend\n"
         "0.24.0,H,all_reduce,bfloat16,2,128,0.004,vllm_graph\n"
         "0.24.0,H,all_reduce,bfloat16,2,128,0.02,vllm_eager\n",
         {RH_OP_ALL_REDUCE, false, 2, 1, 256, 4e-6, 2},
         1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        const RhTimed *due = &files[i].first;
        g_autoptr(RhMeasured) log = rh_measured_parse(files[i].name, files[i].text, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(log);
        CU_ASSERT_EQUAL_FATAL(log->rows->len, files[i].rows);
        const RhTimed *row = &g_array_index(log->rows, RhTimed, 0);
        CU_ASSERT_TRUE(row->op == due->op && row->ranks == due->ranks && row->nodes == due->nodes);
        CU_ASSERT_TRUE(row->bytes == due->bytes && row->line == due->line);
        RH_CHECK_CLOSE(row->seconds, due->seconds, 1e-12);
    }
}

static void wrong_tables_are_refused_with_their_cell(void)
{
    static const struct {
        const char *text, *where;
        bool kernels;
    } wrong[] = {
        {GEMM_HEADER GEMM "bfloat16,0,64,64,1\n", "t.csv:2:65: ", true},
        {GEMM_HEADER GEMM "bfloat16,64.5,64,64,1\n", "t.csv:2:65: ", true},
        {GEMM_HEADER GEMM "bfloat16,64,64,64,\n", "t.csv:2:74: ", true},
        {GEMM_HEADER GEMM "bfloat16,64,64,64,1\nT,1,NVIDIA H200,gemm,x,bfloat16,64,64,64,1\n",
         "t.csv:3:5: ", true},
        {ATTENTION_HEADER ATTENTION "2,x,32,8,128,0,1,bfloat16,bfloat16,0,0.5\n",
         "t.csv:2:49: ", true},
        {"device,batch_size,isl,num_heads,num_key_value_heads,head_dim,step\nx,1,1,1,1,1,1\n",
         "t.csv:1:1: ", false},
        {NCCL_HEADER NCCL "half,0,512,1\n", "t.csv:2:58: ", false},
        {NCCL_HEADER NCCL "half,8,512,-1\n", "t.csv:2:64: ", false},
        {APEX "H100,1,8,half,128,21.0\n", "t.csv:1:1: ", false},
        {VIDUR "0.038,0,12,2048,all_reduce,8\n", "t.csv:2:9: ", false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(RhRaw) raw = NULL;
        g_autoptr(RhMeasured) log = NULL;
        CU_ASSERT_EQUAL(rh_raw_begins(wrong[i].text), wrong[i].kernels);
        if (wrong[i].kernels)
            raw = rh_raw_parse("t.csv", wrong[i].text, &error);
        else
            log = rh_measured_parse("t.csv", wrong[i].text, &error);
        CU_ASSERT_TRUE(!raw && !log && g_error_matches(error, RH_ERROR, RH_ERROR_INPUT));
        CU_ASSERT_TRUE(error && g_str_has_prefix(error->message, wrong[i].where));
    }
}

int main(void)
{
    static const RhTest tests[] = {
        {"gemms of a table are raw samples", gemms_of_a_table_are_raw_samples},
        {"products of a layer are raw samples", products_of_a_layer_are_raw_samples},
        {"attention of training is taken without its cache",
         attention_of_training_is_taken_without_its_cache},
        {"collectives of tables have their place and bytes",
         collectives_of_tables_have_their_place_and_bytes},
        {"wrong tables are refused with their cell", wrong_tables_are_refused_with_their_cell},
        {NULL, NULL}};
    return rh_test_main("published_tables", tests);
}

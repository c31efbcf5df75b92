#!/usr/bin/env bash
# platforms/data/compare-tables on tables whose ratios are known: tests/compare_tables_test.sh SCRIPT
set -uo pipefail
script=$1
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
failed=0

# shellcheck source=tests/want.sh
. "$(dirname "$0")/want.sh"

header=framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency
one() { printf 'X,1,GPU,gemm,library,%s,%s\n' "$1" "$2"; }
{
    echo $header
    one bfloat16 16,4096,4096,0.1
    one bfloat16 32,4096,4096,0.2
    one bfloat16 64,4096,4096,0.4
    one fp8 64,4096,4096,0.2
} >"$scratch/first.csv"
{
    echo $header
    one bfloat16 64,4096,4096,0.8 # another order
    one bfloat16 16,4096,4096,0.18
    one bfloat16 32,4096,4096,0.44
    one bfloat16 128,4096,4096,1
} >"$scratch/second.csv"
# Ratios 1.8, 2, 2.2: 10, 0 and 10 % about 2.
same='3 in both, the second 2.000 times the first in the median; about that, in %: median 10.0, mean 6.7, p90 10.0'
want 0 "$same" "$script" bfloat16 "$scratch/first.csv" "$scratch/second.csv"
gzip "$scratch/second.csv"
want 0 "$same" "$script" bfloat16 "$scratch/first.csv" "$scratch/second.csv.gz"
want 3 'no fp8 product is in both' "$script" fp8 "$scratch/first.csv" "$scratch/second.csv.gz"
want 2 'compare-tables TYPE TABLE OTHER' "$script" bfloat16 "$scratch/first.csv"

# Llama-2's sizes, halved: 4096 x 2048 out of attention; what takes less than 20 us does not count.
name=time_stats.
{
    echo "${name}attn_pre_proj.median,${name}attn_post_proj.median,${name}mlp_up_proj.median,${name}mlp_down_proj.median,n_head,n_kv_head,n_embd,n_expanded_embd,use_gated_mlp,num_tokens,num_tensor_parallel_workers"
    echo 0.2,0.06,0.4,0.019,32,32,4096,11008,True,16,2
} >"$scratch/mlp.csv"
{
    echo $header
    one bfloat16 16,6144,4096,0.1
    one bfloat16 16,4096,2048,0.03
    one bfloat16 16,11008,4096,0.2
    one bfloat16 16,4096,5504,0.1
} >"$scratch/third.csv"
want 0 '3 in both, the second 2.000 times' "$script" bfloat16 "$scratch/third.csv" "$scratch/mlp.csv"
exit $failed

#!/usr/bin/env bash
# A cluster's links from the log that nccl-tests leave, its profile in use, and what is refused.
cp "$CASES/../data/nccl-a100-2x8.log" .
log=nccl-a100-2x8.log
rehearse calibrate -p dgx-a100-40:2 --from "$log" -o links.json
echo "exit $?"
rehearse check links.json
gzip -k "$log"
rehearse calibrate -p dgx-a100-40:2 --from "$log.gz" | head -n 1
for platform in dgx-a100-40 dgx-h100:2 lab-star; do
    rehearse calibrate -p "$platform" --from "$log" 2>&1
    echo "exit $?"
done
sed 's/85.58   12.25   22.97/85.58   12.25   2x.97/' "$log" >wrong.log
rehearse calibrate -p dgx-a100-40:2 --from wrong.log 2>&1
echo "exit $?"
grep -v Rank "$log" >hosts.log
rehearse calibrate -p dgx-a100-40:2 --from hosts.log 2>&1
echo "exit $?"
rehearse calibrate --from "$log" 2>&1
echo "exit $?"
rehearse calibrate -p dgx-a100-40:2 --from "$log" "$CASES/../data/synthetic-kernels.raw.csv" 2>&1
echo "exit $?"
# Published tables: of collectives, and of a GPU's operators.
{
    echo framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency
    awk 'BEGIN {
        for (ranks = 2; ranks <= 8; ranks *= 2)
            for (size = 256; size <= 2 ^ 28; size *= 4)
                printf "TRTLLM,2.29.2,NVIDIA H100 80GB HBM3,all_gather,NCCL,half,%d,%d,%.3g\n", ranks, size,
                    1e3 * (6e-6 + (ranks - 1) * (8e-7 + 2 * size / ranks / 2.5e11)) }'
} >nccl_perf.csv
rehearse calibrate -p dgx-h100 --from nccl_perf.csv
sed '3s/,0\.[0-9]*$/,fast/' nccl_perf.csv >wrong.csv
rehearse calibrate -p dgx-h100 --from wrong.csv 2>&1
echo "exit $?"
{
    echo framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency
    echo 'TRTLLM,1.3.0rc20,NVIDIA H200,gemm,torch_flow,bfloat16,4353,65536,51200,39.301023'
} >gemm_perf.csv
rehearse calibrate --from gemm_perf.csv 2>&1
echo "exit $?"
# Copies, and messages of MPI.
rehearse calibrate -p dgx-h100 --from "$CASES/../../fuzz/corpus/link_benchmark_logs/nvbandwidth"
rehearse calibrate -p dgx-h100:2 --from "$CASES/../../fuzz/corpus/link_benchmark_logs/osu" 2>&1
echo "exit $?"
# A file counts once, and words that belong to other files are not passed over.
for words in "--from ./$log" '--only a100' '--stack megatron' '--budget 5m' '--server vllm-0.12'; do
    # shellcheck disable=SC2086 # words
    rehearse calibrate -p dgx-a100-40:2 --from "$log" $words 2>&1
    echo "exit $?"
done

#!/usr/bin/env bash
# What somebody starts, beside the best deployment; and two pools, which are refused.
echo 'vllm serve meta-llama/Llama-3.2-1B --tensor-parallel-size 2 --max-num-seqs 16' >server.sh
job=(-p 'h100-sxm:2x1,nvlink:450GB/s' --find-rate --lengths 'in=1000,out=100' --count 400 --ttft 'p90<9s')
rehearse serve-plan --from server.sh "${job[@]}" -q | grep -oE '^(yours|best: server|what changes)[^,]*'
rehearse serve-plan "${job[@]}" || echo "exit $?"

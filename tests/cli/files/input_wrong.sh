#!/usr/bin/env bash
# Inputs that are not there, or ask for what there is not.
try() {
    echo "\$ rehearse $*"
    rehearse "$@" 2>&1
    echo "exit $?"
}
batch=(--global-batch 64 --seq 8192)
try plan -w llama-3.1-8c -p dgx-h100 "${batch[@]}"
try plan -w llama3-8b -p dgx-h100 "${batch[@]}"
try plan -w Llama_3.1_70B -p dgx-h100 "${batch[@]}"
try plan -w zzz -p dgx-h100 "${batch[@]}"
try show workloads qwen2-7b
try plan -w llama-3.1-8b -p dgx-h10 "${batch[@]}"
try plan -w llama-3.1-8b -p zzz "${batch[@]}"
try plan -w llama-3.1-8b -p dgx-h100:many "${batch[@]}"
try plan -w nosuch.json -p dgx-h100 "${batch[@]}"
try plan -w llama-3.1-8b -p dgx-h100:1 --gpus 16 "${batch[@]}"
try plan -w llama-3.1-8b -p h100-sxm:8x1,ib:400Gb/s --gpus 16 "${batch[@]}"
try plan -w llama-3.1-8b -p dgx-h100 --stack megatorn "${batch[@]}"
try plan -w llama-3.1-70b -p dgx-h100:8 --fix tp=6 "${batch[@]}"
try simulate -w llama-3.1-8b -p dgx-h100 -s tp3 "${batch[@]}"
try simulate -w llama-3.1-8b -p dgx-h100 -s tpp3 "${batch[@]}"
try simulate -w llama-3.1-8b -p dgx-h100 -s recompute=most "${batch[@]}"
try simulate -w llama-3.1-8b -p dgx-h100 -s 'nosuch.json#2' "${batch[@]}"
try plan -w llama-3.1-8b -p dgx-h100:1 --stack megatron-2021 --fix sp=on "${batch[@]}"
try simulate -w llama-3.1-8b -p dgx-h100:1 --stack megatron-2021 -s tp8,sp=on "${batch[@]}"
try calibrate --server vllm-0.12 --from "$CASES/inputs/tiny-llama.json"
# What this program wrote itself, in the place of a model, a platform or a neighbour: one line, not one for each key.
rehearse simulate -w llama-3.1-8b -p dgx-h100:1 --global-batch 8 --seq 1024 -s tp8 -q -o answer.json >/dev/null
try simulate -w answer.json -p dgx-h100:1 --global-batch 8 --seq 1024 -s tp8
try simulate -w llama-3.1-8b -p answer.json --global-batch 8 --seq 1024 -s tp8
try simulate -w llama-3.1-8b -p dgx-h100:2 --gpus 8 --global-batch 8 --seq 1024 -s tp8 --beside answer.json
# Numbers are decimal, in tables too.
printf 'model,gpu,gpus,seq,global_batch,precision,measured_iteration_s\nllama-3.1-8b,h100-sxm,8,1024,64,bf16,0x10\n' >hexadecimal.csv
try validate --cases hexadecimal.csv
echo '[]' >empty.0.json
try simulate --program empty.0.json -p dgx-h100:1

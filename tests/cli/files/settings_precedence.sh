#!/usr/bin/env bash
# What the user says wins over the stack; a network of TCP takes no stack that was fitted to GPUs.
cp "$CASES/../../validate/data/lab-gpt.json" .
job=(-w lab-gpt.json -p lab-star --global-batch 16 --seq 256 -s "dp8,zero0")
try() {
    echo "\$ $*"
    "$@" 2>&1 | grep -E '^([0-9.]+ m?s/step|note: ranks|warning)|"stack"'
}
try rehearse simulate "${job[@]}"
try rehearse simulate "${job[@]}" --stack bare
try rehearse simulate "${job[@]}" --stack megatron
try rehearse simulate "${job[@]}" --stack megatron --set nic.efficiency=100%
try rehearse simulate "${job[@]}" --json
gpus=(-w llama-3.1-8b -p "h100-sxm:1x8,ib:400Gb/s" --global-batch 16 --seq 4096 -s dp8)
try rehearse simulate "${gpus[@]}"
try rehearse simulate "${gpus[@]}" --set nic.efficiency=59%
try rehearse simulate "${gpus[@]}" --set nic.efficiency=30%
try rehearse simulate "${gpus[@]}" --set ib=200Gb/s
echo 'said short:'
rehearse plan -w "$CASES/inputs/tiny-llama.json" -p dgx-h100:1 --global-batch 32 --seq 1k --top 1 -q --json | grep '"sequence_tokens"'
rehearse plan -w "$CASES/inputs/tiny-llama.json" -p dgx-h100:1 --global-batch 32 --seq 1.5k 2>&1
rehearse serve-simulate -w llama-3.2-1b -p h100-sxm:1x1 -s tp1 --lengths in=16,out=2 --rate 5 --count 20 -q | grep '^requests'
rehearse serve-simulate -w llama-3.2-1b -p h100-sxm:1x1 -s tp1 --lengths in=16,out=2 --rate 0x10 2>&1
rehearse capacity -w "$CASES/inputs/tiny-llama.json" -p dgx-h100 --gpus 8 --tokens 1B --seq 1k --budget 3M --price 2USD -q | head -n 1

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

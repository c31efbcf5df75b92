#!/usr/bin/env bash
# Adapters beside frozen weights: what is trained, and what is refused.
job=(-w llama-3.1-8b -p dgx-h100:1 --global-batch 16 --seq 4096 -q)
try() {
    echo "\$ rehearse simulate ... $*"
    rehearse simulate "${job[@]}" "$@" 2>&1 | sed -nE '/^(tp|error|note|help)/p; /% MFU/p; /^peak memory/,/^energy/{/^energy/!p;}'
}
try -s tp2,dp4
try -s tp2,dp4 --set lora.rank=16
try -s tp2,dp4 --set lora.modules=linear_qkv+linear_proj
try -s tp2,dp4 --set lora=16
try -s tp2,dp4 --set lora.rank=some
try -s tp2,dp4 --set lora.modules=linear_router
try -s dp8,zero3 --set lora.rank=16
# Frozen weights in 4 bits, on each GPU and shared out; weights without masters.
try -s dp8 --set lora.rank=16 --set lora.base=nf4
try -s dp8,zero3 --set lora.rank=16 --set lora.base=nf4
try -s dp8 --set lora.base=nf4
try -s dp8 --set lora.rank=16 --set lora.base=fp5
try -s dp8 --set lora.rank=16 --dtype int4-weights
try -s dp8,zero3 --set masters=none --set moments=8bit --set gradients=bf16
try -s dp8,zero3 --set masters=bf16
rehearse plan "${job[@]}" --set lora.rank=16 --set lora.base=nf4 --emit deepspeed 2>&1 | grep -E '^(error|note|help)'
for model in mixtral-8x7b deepseek-v3.2; do
    echo "$ rehearse simulate -w $model ... -s ep8 --set lora.rank=16"
    rehearse simulate -w "$model" "${job[@]:2}" -s ep8 --set lora.rank=16 2>&1 |
        sed -nE '/^(tp|error|note|help)/p; /% MFU/p; /^peak memory/,/^energy/{/^energy/!p;}'
done
rehearse plan "${job[@]}" --set lora.rank=16 --fix tp=2 --emit megatron 2>&1 | grep -E '^(error|note|help)'
# Bars are of steps that train all weights.
for rank in 0 16; do rehearse plan "${job[@]}" --fix tp=2 --set lora.rank=$rank | sed -n '/^error bar/,/^[a-z]*: /p' | head -n 3; done
# What to do is said in words of the command.
rehearse simulate -w llama-3.1-8b -p dgx-h100:1 --global-batch 8 --seq 4096 -q --stack deepspeed -s codec=onebit 2>&1
rehearse plan -w llama-3.1-8b -p dgx-h100:1 --global-batch 8 --seq 4096 -q --stack deepspeed --fix codec=onebit --fix zero=1 2>&1 || true

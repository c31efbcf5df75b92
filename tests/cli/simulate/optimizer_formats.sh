#!/usr/bin/env bash
# Formats of the optimizer's moments and of main gradients.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024)
memory() { tr '\n' ' ' | grep -oE '(gradients|optimizer) [0-9.]+' | tr '\n' ' '; }
for set in moments=fp32 moments=bf16 moments=8bit gradients=bf16; do
    echo "$set: $(rehearse simulate "${job[@]}" -s tp2,pp2,dp2 --set "$set" | memory)"
done
rehearse simulate "${job[@]}" -s tp2 --set moments=fp8 2>&1
rehearse simulate "${job[@]}" -s tp2 --set gradients=8bit 2>&1
rehearse plan "${job[@]}" --fix zero=1 --set moments=bf16 --set job.gradients=bf16 --emit megatron |
    grep -oE -e '--(use-precision|exp-avg|main-grads|grad-reduce).*'
rehearse plan "${job[@]}" --fix zero=1 --set moments=8bit --emit megatron >plan.txt 2>said.txt || echo "exit $?"
cat said.txt

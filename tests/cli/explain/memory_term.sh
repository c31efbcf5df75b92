#!/usr/bin/env bash
# What a stage's memory is made of, when, and what would lower it; every change is what --what-if says.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 -q)
rehearse simulate "${job[@]}" -s tp2,pp2,mb4 -o run.json >/dev/null
rehearse explain run.json --term memory | tee term.txt
sed -n '/--what-if/,/steps are/p' term.txt | grep -oE '^  [a-z]+=[a-z0-9]+ +[0-9.]+' | while read -r change gib; do
    rehearse explain run.json --what-if "$change" | grep -q "memory of a GPU: $gib and" && echo "$change as promised"
done
rehearse explain run.json --term memory --json | sed -n '/"memory_term"/,/"activations"/p' | head -n 24
echo 'mixture, latent attention, sharded twice over:'
rehearse simulate -w deepseek-v2 -p dgx-h100:16 --global-batch 512 --seq 4096 -s pp8,ep8,mb1,zero1 -o run.json -q 2>/dev/null >/dev/null
rehearse explain run.json --term memory 2>/dev/null | sed -n '/^what fills stage/,/workspace/p'
echo 'an interleaved pipeline, and one without chunks:'
rehearse simulate "${job[@]}" -s tp2,pp2,vpp2,mb4 -o run.json >/dev/null
rehearse explain run.json --term memory | grep '^  vpp='
rehearse explain run.json --what-if vpp=1 | grep -o 'memory of a GPU: [0-9.]*'
echo 'context ranks that keep 2,048 tokens:'
rehearse simulate -w tiny-llama.json -p two-nodes.json --global-batch 4 --seq 8192 -q -s tp2,mb1 -o run.json >/dev/null
rehearse explain run.json --term memory | grep -oE '^  cp=4 +[0-9.]+'
rehearse explain run.json --what-if cp=4 | grep -o 'memory of a GPU: [0-9.]*'

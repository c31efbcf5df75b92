#!/usr/bin/env bash
# All that the framework can be told: tensor collectives in steps, modules, context ranks; what is fixed twice is either.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 4096)
rehearse plan "${job[@]}" --top 3 --whole
rehearse plan "${job[@]}" --top 9 --whole --fix recompute=layernorm --fix recompute=layernorm+mlp --json |
    grep '"recompute"' | sort -u
rehearse plan "${job[@]}" --top 1 --whole --fix cp=2 --json | grep '"cp"'
rehearse plan "${job[@]}" --top 1 --whole --fix tpoverlap=on --json | grep '"tpoverlap"'

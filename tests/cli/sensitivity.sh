#!/usr/bin/env bash
# What a tenth of each constant does to the step, and which of the plans then wins.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 --stack bare -q)
rehearse plan "${job[@]}" --limit 'mb<=4' --top 4 -o plan.json >/dev/null
rehearse explain plan.json --sensitivity
# Arithmetic alone: a tenth less of the peak is a ninth more of what it bounds, a tenth more a eleventh less.
rehearse simulate "${job[@]}" --gpus 1 -s 'tp1,mb4' -o one.json >/dev/null
rehearse explain one.json --sensitivity | head -n 4
# The same by --what-if, rehearsed.
rehearse explain one.json --what-if device.peak.bf16=890.46TFLOP/s | head -n 1
rehearse explain plan.json --sensitivity --json | grep -A 8 '"sensitivity"' | head -n 9
rehearse explain plan.json --sensitivity --vs 2 2>&1
echo "exit $?"
echo 'two plans that tie:'
first=$(grep -m 1 -oE '"step_time_s": [0-9.]+' plan.json)
awk -v first="$first" '/"step_time_s"/ { n++; if (n > 1 && n < 5) sub(/"step_time_s": [0-9.]+/, first) } { print }' plan.json >tie.json
rehearse explain tie.json --sensitivity 2>/dev/null | grep -E 'constants|#'

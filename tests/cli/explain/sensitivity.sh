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
rehearse explain plan.json --sensitivity --json | grep -A 10 '"sensitivity"' | head -n 11
# Where another plan is said to win it does when rehearsed, and not a fifth before.
rehearse plan "${job[@]}" --fix pp=1 --fix zero=1 --fix recompute=none --fix mb=4 --top 3 -o links.json >/dev/null
rehearse explain links.json --sensitivity | sed -n '/^values at/,$p'
for rate in 16GB/s 11GB/s; do
    for rank in 1 2; do
        rehearse explain "links.json#$rank" --what-if "nic.bandwidth=$rate" --json | sed -n '/"versus"/,$s/^    "step_time_s": \(.*\),/\1/p'
    done | sort -gc 2>/dev/null && echo "at $rate #1 wins" || echo "at $rate #2 wins"
done
rehearse explain one.json --what-if stack.kernel_gap=5us | head -n 1
rehearse explain one.json --what-if stack.kernel_gap=5 2>&1
rehearse explain one.json --what-if stack.gap=5us 2>&1
rehearse explain plan.json --sensitivity --vs 2 2>&1
echo "exit $?"
echo 'two plans that tie:'
first=$(grep -m 1 -oE '"step_time_s": [0-9.]+' plan.json)
awk -v first="$first" '/"step_time_s"/ { n++; if (n > 1 && n < 5) sub(/"step_time_s": [0-9.]+/, first) } { print }' plan.json >tie.json
rehearse explain tie.json --sensitivity 2>/dev/null | grep -E 'constants|#'
# What leaves a switch is shared by four: a constant like any other, and the same by --what-if.
rehearse simulate -w tiny-llama.json -p 'h100-sxm:8x8,nvlink:450GB/s,ib:200Gb/s,leaf:2,oversub:4' --global-batch 128 --seq 1024 \
    --stack bare -s 'dp64,mb2' -q -o shared.json >/dev/null
rehearse explain shared.json --sensitivity | grep -E 'oversub|hop_latency'
rehearse explain shared.json --what-if leaf.oversubscription=4.4 | head -n 1
# By energy: powers count, and the plan that took least is the first.
rehearse plan "${job[@]}" --limit 'mb<=4' --top 4 --objective energy -o energy.json >/dev/null
rehearse explain energy.json --sensitivity | sed -n '1p;/power/p;/^  change/,/assumed/p'
rehearse explain energy.json --what-if device.power=770W | head -n 1
rehearse explain energy.json --sensitivity --json | grep -E '"sensitivity_of"'
rehearse explain energy.json --what-if nvlink.bandwidth=40GB/s | tail -n 2
sed 's/"objective": "energy"/"objective": "beauty"/' energy.json >beauty.json
rehearse explain beauty.json 2>&1 | head -n 1
rehearse plan "${job[@]}" --limit 'mb<=4' --top 4 --objective memory -o memory.json >/dev/null
rehearse explain memory.json --sensitivity | head -n 1
rehearse plan "${job[@]}" --limit 'mb<=4' --top 4 --objective cost --set price_per_gpu_hour=2USD -o cost.json >/dev/null
rehearse explain cost.json --sensitivity | sed -n '1p;/price/p'
# Of two devices both.
printf '{"name": "mixed", "derives": "dgx-h100", "devices": [{"nodes": 1, "device": "h100-sxm"}, {"nodes": 1, "device": "a100-sxm-80"}]}' >mixed.json
rehearse simulate -w tiny-llama.json -p mixed.json --global-batch 64 --seq 1024 --stack bare -s tp8,pp2,mb1,partition=work -q -o mixed-run.json >/dev/null
rehearse explain mixed-run.json --sensitivity 2>/dev/null | grep -E 'peak.bf16|^  change|slower$'
rehearse explain mixed-run.json --what-if device.a100-sxm-80.peak.bf16=280.8TFLOP/s | head -n 1
rehearse explain mixed-run.json --what-if device.a100-sxm-80.peak.bf17=1TFLOP/s 2>&1
rehearse explain mixed-run.json --what-if device.a100.peak=1TFLOP/s 2>&1 | sed -n '2s/.*tile/.../p'

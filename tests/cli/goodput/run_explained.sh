#!/usr/bin/env bash
# What would pay of a run, a job that shrinks to layouts of its own, and storage of the platform.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 --tokens 20B -q)
rehearse run "${job[@]}" --step-time 1s --mtbf 1d --set price_per_gpu_hour=2USD --checkpoint every=1h,storage=100MB/s \
    -o run.json >run.txt
rehearse explain run.json
rehearse explain run.json --json -o changes.json | sed -n '/"changes"/,/}/p'
rehearse check changes.json
rehearse explain run.json --term compute || echo "exit $?"
rehearse run "${job[@]}" -s tp4,mb1 --mtbf 1d --policy shrink --elastic even -o shrunk.json |
    sed -n '/^nodes left/,/^$/p'
sed -n '/"sizes"/,/step_time/p' shrunk.json
rehearse run "${job[@]}" -s tp2 --mtbf 1h --checkpoint async --set storage.bandwidth=10GB/s \
    --set storage.client_bandwidth=2GB/s | sed -n '/^checkpoint/,/^goodput/p'
rehearse run "${job[@]}" -s tp2 --set storage.servers=0 || echo "exit $?"

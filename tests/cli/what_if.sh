#!/usr/bin/env bash
# What a change of any input does: steps, what a token takes, and which layout then wins.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
rehearse plan -w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 --fix 'mb=4' \
    --set price=2USD --top 2 -o plan.json -q >/dev/null
ask() {
    echo "== $*"
    rehearse explain plan.json -q "$@" 2>&1 | grep -vE '^  [a-zA-Z ]+ [0-9. +-]+$'
}
ask --what-if price=3USD
ask --what-if nic.bandwidth=10Gb/s
ask --what-if nic.bandwidth=10Gb/s --replan
ask --what-if nodes=4 --what-if global_batch=256
ask --what-if sequence=2048
ask --what-if device.power=350W
ask --what-if layers=16
ask --what-if tp2
ask --what-if device.hbm=12GiB
ask --what-if device.hbm=1GiB --replan
ask --replan
rehearse explain plan.json -q --what-if nic.bandwidth=10Gb/s --json | grep -E '^    "(replanned|winner)"'

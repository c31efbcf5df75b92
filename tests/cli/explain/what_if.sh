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
ask --what-if batch=128
ask --what-if zzz=128
ask --what-if sequence=2048
ask --what-if device.power=350W
ask --what-if layers=16
ask --what-if stack=torchtitan --what-if workload=llama-3.2-1b
ask --what-if platform=h100-sxm:1x4
ask --what-if tp2
ask --what-if shard=4
ask --what-if sp=on
ask --what-if device.hbm=12GiB
ask --what-if device.hbm=8.2GiB
ask --what-if device.hbm=1GiB --replan
ask --replan
rehearse explain plan.json -q --what-if nic.bandwidth=10Gb/s --json | grep -E '^    "(replanned|winner)"'
# Where the layout has no place after the change, what wins then stands for it, and that is said.
rehearse simulate -w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 -s tp4,pp2,mb4 -o run.json -q >/dev/null
ask_run() {
    echo "== $*"
    rehearse explain run.json -q "$@" 2>&1 | grep -vE '^  [a-zA-Z ]+ [0-9. +-]+$'
}
ask_run --what-if nodes=1
ask_run --what-if nodes=1 --replan
ask_run --what-if price=2USD
ask_run --what-if mb=2
ask_run --what-if weights=narrow
rehearse explain run.json -q --what-if nodes=1 --json | grep -E '^    "(legal|reason|replanned|winner)"'
# A key has one value; a layout that has no place teaches how to ask.
ask --what-if tp=2 --what-if tp4
ask --what-if nic.bandwidth=10Gb/s --what-if nic.bandwidth=20Gb/s
ask --what-if zero=1 --what-if tp=2 | tail -n 2
ask --what-if pp=3
ask --what-if nodes
ask --what-if =4
# Another platform by its bare name has as many nodes as the job needs; with a size it is taken whole.
rehearse simulate -w tiny-llama.json -p dgx-h100:2 --global-batch 64 --seq 1024 -s tp2,mb2 -o two.json -q >/dev/null
for platform in dgx-a100 dgx-a100:1 dgx-a100:4; do
    echo "== $platform"
    rehearse explain two.json -q --what-if platform=$platform | grep -E '^changed|changed: '
done
# One slow GPU, which no bound sees: what the file ranked is performed, too. (A name with a '#' is a file's, where there is one.)
rehearse plan -w llama-3.1-8b -p dgx-h100:2 --global-batch 128 --seq 8192 -q -o 'of#2.json' >/dev/null
rehearse explain 'of#2.json#1' -q --what-if gpu.5.speed=0.7 | sed -n '1,2p;/^best now/,$p'
rehearse explain 'of#2.json' | head -n 1

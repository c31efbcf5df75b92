#!/usr/bin/env bash
# No page of ours is wider than 80 columns (drawings of platforms are drawn within them, too); of a plan
# all but its first line, which is the answer and one line whatever it says.
wide() {
    rehearse "$@" | sed -nE "s/^.{81,}\$/$* is wide: &/p"
}
commands=$(rehearse completions bash | grep -oE 'plan simulate [a-z -]*help' | head -n 1)
for command in $commands; do
    wide help "$command"
done
for topic in platforms devices workloads strategies stacks; do
    wide show "$topic"
done
for name in $(rehearse show stacks | grep -oE '^[a-z][a-z0-9-]*  ' | sort -u); do
    wide show stacks "$name"
done
for name in $(rehearse show workloads | sed -nE '2,/^$/s/^([a-z0-9][^ ]*) .*/\1/p'); do
    wide show workloads "$name"
done
for name in $(rehearse show devices | sed -nE '2,/^$/s/^([a-z0-9][^ ]*) .*/\1/p'); do
    wide show devices "$name" -v
done
wide_plan() {
    rehearse plan "$@" -q | sed -nE "1d; /^alone: /d; s/^.{81,}\$/plan is wide: &/p; s/^   left out.*/&/p"
}
wide_plan -w llama-3.1-8b -p dgx-h100:2 --global-batch 64 --seq 8192
wide_plan -w qwen3-30b-a3b -p dgx-h100:2 --global-batch 64 --seq 4096
echo '{"workload": "llama-3.2-1b", "layout": "tp1,zero3,mb1", "nodes": "1,3,5,7",
 "global_batch": 32, "sequence": 4096}' >other.json
wide_plan -w "$CASES/inputs/tiny-llama.json" -p h100-sxm:4x12,nvlink:450GB/s,ib:100Gb/s,leaf:4,oversub:4 \
    --gpus 16 --global-batch 32 --seq 4096 --beside other.json --on 0,2,4,6
echo "commands: $(wc -w <<<"$commands")"

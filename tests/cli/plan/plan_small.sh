#!/usr/bin/env bash
# A job that fits on one node, from plan to explanation; files by their endings.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024)
rehearse plan "${job[@]}" --top 3 -o plan.json -o plan.csv -o plan.md
echo "exit $?"
cut -d, -f1-13 plan.csv
grep -c '^| [123] |' plan.md
rehearse explain plan.json#1
rehearse explain plan.json --vs 2
rehearse explain plan.json --why-not tp8,pp2
rehearse explain plan.json --why-not tp3 2>&1
rehearse explain plan.json --what-if nic.bandwidth=100Gb/s | head -n 1
rehearse explain plan.json --what-if nodes=4 --what-if mb=2 | head -n 1
rehearse explain plan.json --what-if gpus=8 | head -n 1
rehearse explain plan.json --what-if nodes=3 | grep -A1 "^batch"
rehearse explain plan.json --what-if ib=100Gb/s | head -n 1
rehearse explain plan.json --what-if seq=512 --what-if global-batch=64 | head -n 1
rehearse compare plan.json#1 plan.json#3 | head -n 2
rehearse explain plan.json --term '' 2>&1 | head -n 1
rehearse plan "${job[@]}" --stack torchtitan --top 1 -o titan.json >titan.txt
rehearse explain titan.json --why-not tp2,zero=1 | head -n 4
rehearse explain titan.json --why-not tp2,zero=1 --json | grep '"refused"'
# The examples of the help are answered.
rehearse help explain | sed -n '/^examples/,/^$/p' | sed -e :a -e '/\\$/{N;s/\\\n *//;ta' -e '}' | sed -n 's/^ *rehearse //p' |
    while read -r line; do
        bash -c "rehearse $line" >answer 2>&1
        echo "exit $?, $(($(wc -l <answer) > 2)) answer: rehearse $line"
    done
rehearse plan -w "$CASES/inputs/tiny-llama.json" -p dgx-h100:1 --global-batch 32 --seq 128 --fix cp=1 --fix recompute=none --top 1 | grep -A3 '^not searched' # what was asked for is not missing

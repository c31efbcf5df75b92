#!/usr/bin/env bash
# explain and compare as JSON: one document, the same bytes every time, every question.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024)
rehearse plan "${job[@]}" --top 2 -o plan.json >plan.txt
keys() { sed -n 's/^  "\([a-z_]*\)":.*/\1/p' | tr '\n' ' '; echo; }
rehearse explain plan.json#2 --json >one.json
rehearse explain plan.json#2 --json -q --color always >two.json
cmp one.json two.json && echo same
sed -n '1,2p;4,8p;/"costs"/,/^  ],/p' one.json | sed '/"memory"/,$d'
keys <one.json
rehearse explain plan.json --json --term data | sed -n '/^  "term"/,$p'
rehearse explain plan.json --json --vs 2 | sed -n '/^  "versus"/,/"layout"/p;/^    "terms"/,$p'
rehearse explain plan.json --json --why-not tp3 | sed -n '/^  "versus"/,$p'
rehearse explain plan.json --json --what-if nic.bandwidth=100Gb/s --what-if mb=1 |
    sed -n '/^  "versus"/,/"step_time_s"/p'
rehearse simulate "${job[@]}" -s tp2,pp2 --set layers=4 -o run.json >run.txt
rehearse compare plan.json#1 run.json --json >one.json
rehearse compare plan.json#1 run.json --json >two.json
cmp one.json two.json && echo same
grep -v '"version"' one.json
rehearse compare a.trace.json.gz b.run.json.gz --json 2>&1
echo "exit $?"
echo 'rows whose step was extrapolated from fewer micro-batches, the first performed whole:'
rehearse plan -w llama-3.1-8b -p dgx-h100:1 --global-batch 512 --seq 8192 --fix pp=4 --fix tp=2 --top 3 -q --json | grep '^      "told_by_fewer"'

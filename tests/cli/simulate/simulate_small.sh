#!/usr/bin/env bash
# One layout in detail, from text, a file and a plan; folded and unfolded.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" "$CASES/inputs/layout.txt" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024)
rehearse simulate "${job[@]}" -s tp2,pp2,mb1 -o run.json --trace run.trace.json.gz
echo "exit $?"
gzip -t run.trace.json.gz && echo trace is gzip
rehearse simulate "${job[@]}" -s layout.txt --json -o run.program.json -o run.goal >from-file.json
rehearse check run.program.json from-file.json
head -n 1 run.goal
rehearse simulate "${job[@]}" -s run.json --json | sed -n '/"layout"/,/}/p'
rehearse explain run.json --term tp
rehearse explain run.json --term backward | head -n 12
rehearse simulate -w llama-3.2-1b -p dgx-h100:1 --global-batch 16 --seq 2048 --stack bare \
    -s pp4,dp2,schedule=zb-h1 -o halves.json >halves.txt
rehearse explain halves.json --term pp | sed -n '/with stages of equal work/,/^$/p'

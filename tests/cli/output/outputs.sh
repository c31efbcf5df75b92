#!/usr/bin/env bash
# What -o may name: never an input; a link is followed, also where it points at nothing yet; a pipe
# without a reader is an error and not a wait.
cp "$CASES/inputs/tiny-llama.json" in.json
cp "$CASES/inputs/two-nodes.json" .
job=(-w in.json -p two-nodes.json --global-batch 32 --seq 1024)
try() {
    echo "\$ rehearse $*"
    timeout 20 rehearse "$@" 2>&1
    echo "exit $?"
}
try plan "${job[@]}" -o in.json
try simulate "${job[@]}" -s tp4 -o ./two-nodes.json
cp in.json config.json
try simulate -w . -p two-nodes.json --global-batch 32 --seq 1024 -s tp4 --trace config.json
cmp in.json config.json && echo 'inputs are whole'
ln -s later.json link.json
rehearse simulate "${job[@]}" -s tp4 -o link.json | head -n 1
ln -s later.trace.json.gz link.trace.json.gz
rehearse simulate "${job[@]}" -s tp4 -o link.trace.json.gz >/dev/null
test -L link.trace.json.gz && gzip -t later.trace.json.gz && echo "as of a timeline"
test -L link.json && test -s later.json && echo 'the link was followed'
mkfifo pipe.json
rehearse simulate "${job[@]}" -s tp4 -o pipe.json >/dev/null 2>stderr
echo "exit $?"
cat stderr
# The answer stands whatever becomes of its files, of every command.
rehearse plan "${job[@]}" --top 2 -o plan.json >/dev/null
levels=(--lengths 'in=1000,out=20' --count 402 --ttft 'p99<9s')
tell() {
    rehearse "$@" -o pipe.json 2>/dev/null >answer
    echo "$1: exit $?, $(($(wc -l <answer) > 2)) answer"
}
tell plan "${job[@]}" --top 2
tell explain plan.json
tell compare plan.json#1 plan.json#2
tell capacity -w in.json -p two-nodes.json --tokens 1B --gpus 8 --global-batch 32 --seq 1024
tell capacity -w llama-3.2-1b -p h100-sxm:1x1 -s tp1,batch=16 --rate 2/s "${levels[@]}"
tell serve-plan -w llama-3.2-1b -p h100-sxm:1x1 -s tp1,batch=16 --find-rate "${levels[@]}"
tell serve-simulate -w llama-3.2-1b -p h100-sxm:1x1 -s tp1 --rate 1/s "${levels[@]}"
tell validate --cases "$CASES/inputs/runs.csv" --only SimuMax
for steps in 1 3; do
    rehearse simulate "${job[@]}" -s tp4 --steps "$steps" --json | grep -E '"(communication_bytes|energy_j)"'
done

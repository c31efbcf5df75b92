#!/usr/bin/env bash
# Post-training by reinforcement: the answer, the same bytes for a seed, and what is refused.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json -q)
small=(--prompts 32 --samples 8 --lengths 'in=100,out=300,sigma=0.7,max=1k')
try() {
    printf '$ rehearse rl-plan ... %s\n' "$*"
    rehearse rl-plan "${job[@]}" "$@" 2>&1
    echo "exit $?"
}
try "${small[@]}"
try "${small[@]}" --placement async --ahead 0.5 --train-gpus 4 -s tp2 --generate tp1,batch=64 \
    --served-log-probs --algorithm ppo --minibatch 64 --transport pipelined --set price_per_gpu_hour=2USD
for t in engine delta; do
    try "${small[@]}" --placement one-off --train-gpus 4 --transport $t --sent fp8 -v |
        sed -n '/^  weights:/,/^[^ ]/p' | sed '$d'
done
try "${small[@]}" --algorithm dapo --begin 1.5 --useful 60% --placement one-off --train-gpus 4 | sed -n '2,/^job/p'
try "${small[@]}" --turns 3 --tool-wait 500ms --tool-tokens 50 --reward 100ms --sandboxes 16 --placement apart --train-gpus 4 |
    sed -n '/  a step/,/^#/p'
try "${small[@]}" --placement one-off --train-gpus 4 --mtbf 2min --restart 10s | sed -n '/  with a failure/,/^job/p'
try "${small[@]}" --placement one-off --grow-to 900 --steps 200 | sed -n '/^growth/,/^bottleneck/p'
try "${small[@]}" --grow-to 900
try "${small[@]}" --grow-to 2k --steps 200 --placement one-off --train-gpus 4
try "${small[@]}" --restart 10s
try "${small[@]}" --mtbf 1s --restart 10s
try "${small[@]}" --turns 3 --begin 2
try "${small[@]}" --tool-wait 2s
try "${small[@]}" --begin 0.5
try "${small[@]}" --begin 2 --placement async
try "${small[@]}" --useful 1%
try "${small[@]}" --transport delta --changed 200%
rehearse rl-plan "${job[@]}" "${small[@]}" --json -j 1 >a.json
rehearse rl-plan "${job[@]}" "${small[@]}" -j 2 -o b.json >text.txt
sed 's/"-j", "[12]", //; s/"--json", //' a.json >c.json
cmp c.json b.json && echo 'the same bytes'
rehearse rl-plan "${job[@]}" "${small[@]}" --placement one-off -o page.html -o page.json >page.txt
sed -n 's/^<h1 [^>]*>\(.*\)<.h1>.*/\1/p' page.html
sed -n '/<svg/,/<.svg>/s/^<text class="t".*>\(.*\)<.text>/\1/p' page.html
grep -c '<svg' page.html
sed -n '/id="data">/,/<\/script>/p' page.html | sed 's/^<script[^>]*>//; s/<.script>//; s/\\u003c/</g' |
    sed '$d' | cmp - page.json && echo 'what page.json holds'
for p in colocated one-off async apart; do
    split=(--train-gpus 4)
    [ $p = colocated ] && split=()
    try "${small[@]}" --placement $p --minibatch 64 "${split[@]}" --emit verl |
        sed -n '/^# verl/,$p; /^error:/,$p'
done
try "${small[@]}" --placement one-off --train-gpus 2 --emit verl | sed -n '/^error:/,$p'
for p in colocated one-off async; do
    split=(--train-gpus 4)
    [ $p = colocated ] && split=()
    try "${small[@]}" --placement $p "${split[@]}" --emit nemo-rl | sed -n '/^# nemo-rl/,$p; /^error:/,$p'
    try "${small[@]}" --placement $p "${split[@]}" -s zero3 --algorithm dapo --useful 80% --emit openrlhf |
        sed -n '/^# openrlhf/,$p; /^error:/,$p'
done
try "${small[@]}" --placement async --train-gpus 4 --minibatch 64 --ahead 2 --emit areal | sed -n '/^# areal/,$p; /^error:/,$p'
try "${small[@]}" --placement async --train-gpus 4 --ahead 0.5 --emit areal | sed -n '/^# areal/,$p; /^error:/,$p'
try "${small[@]}" --placement async --train-gpus 4 -s tp1,pp2 --emit openrlhf | sed -n '/^# openrlhf/,$p; /^error:/,$p'
for f in verl nemo-rl areal openrlhf; do
    try "${small[@]}" --placement one-off --train-gpus 4 -s zero3 --generate tp1 --begin 1.5 --emit $f | sed -n '/^error:/,$p'
done
try "${small[@]}" --placement colocated --minibatch 64 --served-log-probs --emit nemo-rl | sed -n '/^# nemo/,$p; /^error:/,$p'
printf 'input_tokens,output_tokens\n100,200\n50,900\n' >lengths.csv
try --prompts 8 --samples 4 --requests lengths.csv --placement apart --train-gpus 4 | sed -n '/  generation/,/^job/p'
printf 'input_tokens,output_tokens\n100,200\n50,none\n' >broken.csv
try --prompts 8 --requests broken.csv
try "${small[@]}" --requests lengths.csv
try --prompts 8
try --prompts 8 --lengths in=100
try --prompts 8 --lengths in=100,out=2k,max=1k
try --prompts 8 --lengths in=100,out=300,tail=2
try "${small[@]}" --algorithm grop
try "${small[@]}" --placement beside
try "${small[@]}" --placement one-off --ahead 3
try "${small[@]}" --transport handover
try "${small[@]}" --train-gpus 8
try "${small[@]}" --minibatch 1000
try "${small[@]}" --generate tp1,replicas=2
try "${small[@]}" -s tp3 --train-gpus 4
try "${small[@]}" --sandboxes 4
try "${small[@]}" --changed 1%
try "${small[@]}" -s tp=
rehearse rl-plan -w llama-3.1-405b -p two-nodes.json -q "${small[@]}" 2>&1
echo "exit $?"

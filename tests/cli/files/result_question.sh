#!/usr/bin/env bash
# A layout of a result stands for the question that it answered: simulate, run and memory take it alone.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
rehearse plan -w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 --set price=2USD --top 2 -o plan.json \
    -q >/dev/null
step() { # of a command's JSON: everything but the words that were typed
    "$@" --json -q | sed '/"argv"/,/\]/d'
}
ask=(-w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 --set price=2USD)
step rehearse simulate "${ask[@]}" -s plan.json#2 >asked
[ -s asked ] || echo 'nothing was answered'
step rehearse simulate plan.json#2 | cmp - asked && echo 'an operand asks the same'
step rehearse simulate -s plan.json#2 | cmp - asked && echo '-s asks the same'
step rehearse run plan.json#2 --tokens 1B --mtbf 1d >ran
step rehearse run "${ask[@]}" -s plan.json#2 --tokens 1B --mtbf 1d | cmp - ran && echo 'run asks the same'
# What is given goes first; beside another model or platform the layout alone is taken.
rehearse simulate plan.json#2 --global-batch 128 -q | grep -o '128 x 1,024 tokens a step'
rehearse simulate plan.json#2 -p two-nodes.json 2>&1 | head -n 1
# From another folder, files are found beside the result.
mkdir elsewhere
(cd elsewhere && rehearse simulate ../plan.json#2 -q | head -n 1 | grep -c 's/step')
for wrong in 'plan.json#2 -s tp2' 'plan.json#99' 'tp2' 'none.json#1' 'two-nodes.json#1' 'plan.json#1 plan.json#2'; do
    echo "== simulate $wrong"
    read -ra words <<<"$wrong"
    rehearse simulate "${words[@]}" 2>&1
    echo "status $?"
done

#!/usr/bin/env bash
# A kept answer as a page: of a run the very bytes of simulate -o x.html; of any rank of a plan, with its
# pictures; of other answers what they hold. What is no answer, and what has no such picture, is refused.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024)
heading() {
    sed -n 's/^<h1 [^>]*>\(.*\)<.h1>.*/\1/p' "$1"
}
rehearse simulate "${job[@]}" -s tp2,pp2,mb2 -o run.json -o run.html -o run-gantt.svg >run.txt
rehearse report run.json -o again.html -o again-gantt.svg
cmp run.html again.html && cmp run-gantt.svg again-gantt.svg && echo 'the same page, the same picture'

rehearse plan "${job[@]}" --top 3 -q -o plan.json >plan.txt
rehearse report plan.json#2 -o second.html -o memory.svg
heading second.html
grep -o '^#[0-9]' second.html | tr '\n' ' '
grep -c '^#2.*(below)$\|^<pre.*#2.*(below)$' second.html
grep -c '<svg' second.html
sed -n '/<script type="application\/json" id="data">/,/<\/script>/p' second.html |
    sed 's/^<script[^>]*>//; s/<\/script>//; s/\\u003c/</g' | sed '$d' | cmp - plan.json && echo 'what plan.json holds'

rehearse capacity -w tiny-llama.json -p two-nodes.json --tokens 20B --seq 1024 --gpus 4..8 --global-batch 64 -q -o capacity.json >capacity.txt
rehearse report capacity.json -o capacity.html && heading capacity.html
try() {
    "$REHEARSE" report "$@" 2>&1
    echo "exit $?"
}
try capacity.json -o first.html -o gantt.svg
[ -e first.html ] || echo 'no file before that is known'
try plan.json#9 -o x.html
try tiny-llama.json -o x.html
try plan.json
try plan.json -o plan.json
try capacity.json#99 -o x.html
try missing.json -o x.html
sed 's|rehearse.plan/1|rehearse.plan/2|' plan.json >later.json
try later.json -o x.html
# An input that changed since, and one that is gone.
sed -i 's/"num_hidden_layers": *[0-9]*/"num_hidden_layers": 6/' tiny-llama.json
try run.json -o changed.html
rm two-nodes.json
try run.json -o gone.html | head -n 1
[ -e x.html ] || [ -e gone.html ] || echo 'nothing half'
# A heading is the whole sentence, also where the terminal wraps it.
rehearse plan -w llama-3.1-8b -p dgx-h100:1 --global-batch 64 --seq 4096 --quick -q --fix zero=2 --fix recompute=full --fix mb=2 \
    -o wrapped.html >/dev/null
grep '^<h1' wrapped.html

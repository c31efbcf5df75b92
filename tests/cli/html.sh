#!/usr/bin/env bash
# -o x.html: one file of the same bytes each time, small beside its data, that may load nothing, and whose
# data are what --json prints, whatever words stand in them.
cp "$CASES/inputs/tiny-llama.json" '</script><b>&.json' 2>/dev/null || cp "$CASES/inputs/tiny-llama.json" 'a<b>&.json'
name=$(ls ./*.json)
cp "$CASES/inputs/two-nodes.json" .
job=(-w "$name" -p two-nodes.json --global-batch 32 --seq 1024)
rehearse plan "${job[@]}" --top 3 -q -o plan.html -o plan.json >plan.txt
rehearse plan "${job[@]}" --top 3 -q -j 1 -o again.html >plan.txt
cmp plan.html again.html && echo 'the same bytes'
rehearse simulate "${job[@]}" -s tp2,pp2,mb2 -o run.html -o run.json >run.txt
rehearse explain plan.json --vs 2 -o explain.html -o explain.json >explain.txt
rehearse compare plan.json#1 run.json -o compare.html >compare.txt
rehearse validate --only SimuMax -o validate.html >validate.txt
rehearse serve-simulate -w llama-3.2-1b -p h100-sxm:1x1 -s tp1 --lengths in=100,out=10 --concurrency 4 -o serve.html >serve.txt
rehearse serve-plan -w llama-3.2-1b -p h100-sxm:1x1 -s tp1,batch=16 --find-rate --lengths in=1000,out=100 \
    --count 3000 --ttft 'p99<9s' -o serve-plan.html -q >serve-plan.txt
rehearse capacity -w "$name" -p two-nodes.json --tokens 20B --seq 1024 --gpus 4..8 --global-batch 64 -q -o capacity.html \
    -o capacity-pareto.svg >capacity.txt
for page in plan run explain compare validate serve serve-plan capacity; do
    # Beside its data: blocks of JSON, and pictures.
    sed '/<script type="application\/json"/,/<\/script>/d; /<svg/,/<\/svg>/d' "$page.html" >rest
    [ "$(wc -c <rest)" -lt 60000 ] || echo "$page.html: $(wc -c <rest) bytes beside its data"
    [ "$(grep -c 'content="default-src '"'none'" "$page.html")" = 1 ] || echo "$page.html has no policy"
    grep -E '(src|href)="[^#]|url\(|@import|style="' rest && echo "$page.html names another file"
    sed -n 's/^<h1 [^>]*>\(.*\)<.h1>.*/\1/p' "$page.html"
    head -n 1 "$page.txt"
done
sed -n '/<script type="application\/json" id="data">/,/<\/script>/p' plan.html |
    sed 's/^<script[^>]*>//; s/<\/script>//; s/\\u003c/</g' | sed '$d' >data.json
cmp data.json plan.json && echo 'what -o plan.json holds'
grep -c '<b>' plan.html
# Pictures alone, and that each holds what it is of.
rehearse simulate "${job[@]}" -s tp2,pp2,mb2 -o run-gantt.svg -o memory.svg >run.txt
rehearse plan "${job[@]}" --top 3 -q -o pareto.svg -o gantt.svg >plan.txt
for picture in run-gantt memory pareto gantt capacity-pareto; do
    sed -n "s/.*<desc>\(.*\)<.desc>.*/$picture: \1/p" "$picture.svg"
done
for name in forward backward 'pipeline bubble'; do
    echo "$name: $(grep -c "data-name=\"$name\"" run-gantt.svg) rows, micro-batches $(
        sed -n "s/.*data-name=\"$name\" data-m=\"\([0-9 ]*\)\".*/(\1)/p" run-gantt.svg | tr '\n' ' ')"
done
rehearse simulate "${job[@]}" -s tp2 -o pareto.svg 2>&1
rehearse show platforms two-nodes.json -o memory.svg >/dev/null && grep -c 'gpu' memory.svg
rehearse explain plan.json -o x.csv 2>&1
echo "exit $?"

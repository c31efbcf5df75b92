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
rehearse serve-plan -w llama-3.2-1b -p h100-sxm:1x1 -s tp1,batch=16 --find-rate --lengths in=1000,out=20 \
    --count 402 --ttft 'p99<9s' -o serve-plan.html -q >serve-plan.txt
rehearse capacity -w "$name" -p two-nodes.json --tokens 20B --seq 1024 --gpus 4..8 --global-batch 64 -q -o capacity.html \
    -o capacity-pareto.svg >capacity.txt
rehearse capacity -w llama-3.2-1b -p h100-sxm:1x1 -s tp1,batch=16 --price 2USD --rate 2/s --lengths in=1000,out=20 --count 402 \
    --ttft 'p99<9s' -o serve-capacity.html -q >serve-capacity.txt
for page in plan run explain compare validate serve serve-plan serve-capacity capacity; do
    # Beside its data: blocks of JSON, and pictures.
    sed '/<script type="application\/json"/,/<\/script>/d; /<svg/,/<\/svg>/d' "$page.html" >rest
    [ "$(wc -c <rest)" -lt 60000 ] || echo "$page.html: $(wc -c <rest) bytes beside its data"
    [ "$(grep -c 'content="default-src '"'none'" "$page.html")" = 1 ] || echo "$page.html has no policy"
    grep -E '(src|href)="[^#]|url\(|@import|style="' rest && echo "$page.html names another file"
    sed -n 's/^<h1 [^>]*>\(.*\)<.h1>.*/\1/p' "$page.html"
    head -n 1 "$page.txt"
done
# Pictures of services, of what was played and of what was compared.
for page in serve serve-plan serve-capacity; do
    sed -n "s/.*<desc>\(.*\)<.desc>.*/$page: \1/p" "$page.html"
done
# Sources: of every constant, of each side and platform where they differ, and no name twice.
rehearse capacity -w llama-3.2-1b -p dgx-h100,dgx-b200 --tokens 20B --seq 1024 --gpus 8 --global-batch 64 --price 2USD@2026-11 \
    -q -o two.html >two.txt
rehearse compare plan.json#1 plan.json#2 -o alike.html >alike.txt
for page in plan run explain compare alike capacity two validate serve serve-plan serve-capacity; do
    sed -n '/id="facts"/,/<\/script>/p' "$page.html" >facts
    echo "$page: sources of $(grep -c '"source":' facts) constants"
    for key in nvlink.efficiency nic.efficiency collective.launch hbm gemm.tile.128x128 reserve; do
        grep -q "\"$key\": {" facts || echo "$page: no $key"
    done
done
for page in serve serve-plan serve-capacity; do # what its server adds, and its kernels as the server's profile has them
    sed -n '/id="facts"/,/<\/script>/p' "$page.html" | tr -d '\n' | grep -oE '"(server vllm|step|memory|gemm.bf16)": \{[^}]*"source": ".{30}' | grep -oE '^"[^"]*"|"source.*' | paste -s -d ' '
done
sed -n '/id="facts"/,/<\/script>/p' two.html | grep -A 5 '"price_per' | head -n 6
sed -n '/<script type="application\/json" id="data">/,/<\/script>/p' plan.html |
    sed 's/^<script[^>]*>//; s/<\/script>//; s/\\u003c/</g' | sed '$d' >data.json
cmp data.json plan.json && echo 'what -o plan.json holds'
grep -c '<b>' plan.html
# Pictures alone, and that each holds what it is of.
rehearse simulate "${job[@]}" -s tp2,pp2,mb2 -o run-gantt.svg -o memory.svg >run.txt
rehearse plan "${job[@]}" --top 3 -q -o pareto.svg -o gantt.svg >plan.txt
for picture in run-gantt memory pareto gantt capacity-pareto; do
    # Words stay inside: 7 pixels a letter are wider than those of any sans-serif of 12.
    sed -n "s/.*viewBox=\"0 0 \([0-9]*\) .*/width \1/p; s/.*text-anchor=\"start\" x=\"\([0-9.]*\)\"[^>]*>\([^<]*\)<.*/\1 \2/p" "$picture.svg" |
        awk -v of="$picture" '$1 == "width" { w = $2; next } { s = $0; sub(/^[^ ]* /, "", s); if ($1 + 7 * length(s) > w) print of ": " s " ends outside" }'
    sed -n "s/.*<desc>\(.*\)<.desc>.*/$picture: \1/p" "$picture.svg"
done
for name in forward backward 'pipeline bubble'; do
    echo "$name: $(grep -c "data-name=\"$name\"" run-gantt.svg) rows, micro-batches $(
        sed -n "s/.*data-name=\"$name\" data-m=\"\([0-9 -]*\)\".*/(\1)/p" run-gantt.svg | tr '\n' ' ')"
done
rehearse simulate "${job[@]}" -s tp2 -o pareto.svg 2>&1
rehearse show platforms two-nodes.json -o memory.svg >/dev/null && grep -c 'gpu' memory.svg
rehearse explain plan.json -o x.csv 2>&1
echo "exit $?"
# However narrow a range of times is, its axis says some.
tr -d '\n' <serve.html | grep -oE '<svg[^>]*>.{0,40}How long the [^<]*.*' | sed 's/<svg/\n&/g' | grep 'How long the' |
    while read -r picture; do [ "$(grep -oE '>[0-9.]+ (s|ms|us|µs)<' <<<"$picture" | wc -l)" -ge 2 ] && echo 'times on the axis'; done

#!/usr/bin/env bash
# A whole run: its answer, the same bytes for a seed, and what is refused.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 --tokens 20B -q)
try() {
    printf '$ rehearse run ... %s\n' "$*"
    rehearse run "${job[@]}" "$@" 2>&1
    echo "exit $?"
}
try -s tp2 --mtbf 1h --goodput 90%
try --step-time 1s --mtbf 1d --policy spares --spares hot=1,cold=1 --checkpoint every=10min,write=30s,read=1min
try --step-time 1s --mtbf 1h --policy groups --set price_per_gpu_hour=2USD
rehearse run "${job[@]}" --step-time 1s --mtbf 1h --json -j 1 >a.json
rehearse run "${job[@]}" --step-time 1s --mtbf 1h --json -j 2 >b.json
cmp a.json b.json && echo 'the same bytes'
rehearse run "${job[@]}" --step-time 1s --mtbf 1h -o page.html -o page.json >page.txt
sed -n 's/^<h1 [^>]*>\(.*\)<.h1>.*/\1/p' page.html
grep -c '<svg' page.html
sed -n '/<svg/,/<.svg>/s/^<text class="soft".*>\(.*\)<.text>/\1/p' page.html
sed -n '/id="data">/,/<\/script>/p' page.html | sed 's/^<script[^>]*>//; s/<.script>//; s/\\u003c/</g' |
    sed '$d' | cmp - page.json && echo 'what page.json holds'
try -s tp2 --mtbf 1h --checkpoint async,storage=1GB/s | sed -n '/^checkpoint/,/replications/p'
try -s tp2 --mtbf 1h --checkpoint nvme=1GB/s,storage=1GB/s | sed -n '/^checkpoint/,/replications/p'
try -s tp2 --mtbf 1h --checkpoint nvme
printf 'seconds\n100\n50\n' >backwards.csv
printf 'seconds\n1000\n2000\n' >trace.csv
try --step-time 1s --failures trace.csv | head -2
try --step-time 1s --failures backwards.csv
printf '100\n' >nameless.csv
try --step-time 1s --failures nameless.csv
try --step-time 1e20s
try --step-time 1s --failures nobody
try --step-time 1s --mtbf 0s
try --step-time 1s --mtbf 30s
try --step-time 1s --policy spares --spares hot=99
try --step-time 1s --spares hot=1
try --step-time 1s --checkpoint every=0s
try --step-time 1s --checkpoint often=1h
try --step-time 1s --failures llama-3,bad=3

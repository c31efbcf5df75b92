#!/usr/bin/env bash
# Which of several platforms keeps the levels at a rate, on how many GPUs, for the least money.
what=(-w llama-3.1-8b -s 'tp1,chunk=1024,batch=128' -q)
drawn=(--lengths 'in=1024,out=128,spread=0.8' --count 2000)
levels=(--ttft 'p99<1s' --tpot 'p99<30ms')
two=(-p 'aws-p5:1,dgx-h200:1')
try() {
    echo "\$ $*"
    rehearse capacity "${what[@]}" "$@" 2>&1
    echo "exit $?"
}
files=(-o answer.json -o answer.csv -o answer.md -o answer.html -o pareto.svg)
try "${two[@]}" -p aws-p3:1 --price dgx-h200:1=3.5USD@2026-10 --rate 20/s "${drawn[@]}" "${levels[@]}" --by 30d --budget 4k$ "${files[@]}"
sed -n 's/^  "\([a-z_]*\)":.*/\1/p' answer.json | tr '\n' ' '
echo
grep -E '"(platform|deployment|gpus_count|usd_per_hour|usd_per_million|usd|meets|pareto|reason)":' answer.json | tail -n 22
head -n 3 answer.csv
tail -n 1 answer.csv
head -n 3 answer.md
sed -n 's/.*<desc>\(.*\)<.desc>.*/\1/p' pareto.svg
rehearse capacity "${what[@]}" "${two[@]}" -p aws-p3:1 --price dgx-h200:1=3.5USD@2026-10 --rate 20/s "${drawn[@]}" "${levels[@]}" --by 30d --budget 4k$ --json -j 1 | cmp answer.json && echo 'the same bytes'
rehearse report answer.json -o again.html && grep -c '"rehearse.capacity-service/1"' again.html
# What is printed to go on with runs, and tells the same.
rehearse capacity "${what[@]}" "${two[@]}" --price 3.5USD --rate 20/s "${drawn[@]}" "${levels[@]}" | sed -n '/^next: /,$p' | sed 's/^next: //' >next.sh
bash next.sh | sed -n '1,2p'
# A platform without a number of nodes has as many as it takes; with one, no more.
try -p aws-p5 --price 3.5USD --rate 400/s "${drawn[@]}" "${levels[@]}" | sed -n '1,4p;/^next/,$p'
try -p aws-p5:1 --price 3.5USD --rate 400/s "${drawn[@]}" "${levels[@]}" | sed -n '2p;$p'
# Sizes, of parts of a node and of whole ones; a rate that a trace has; two pools; nothing that serves.
try "${two[@]}" --price 3.5USD --rate 60/s "${drawn[@]}" "${levels[@]}" --gpus 1..4,9
{
    echo arrival_s,input_tokens,output_tokens
    awk 'BEGIN { for (i = 0; i < 2000; i++) print i * 0.05 "," 600 + i % 400 "," 64 + i % 64 }'
} >own.csv
try -p aws-p5:1 --requests own.csv "${levels[@]}" | sed -n '1,3p'
try -p dgx-h200:1 --price 3.5USD --requests own.csv "${levels[@]}" --mode disagg --gpus 3 | sed -n '1,6p'
try "${two[@]}" --price 3.5USD --rate 20/s "${drawn[@]}" --tpot 'p99<1ms'
try "${two[@]}" --rate 20/s "${drawn[@]}" "${levels[@]}" --price 3.5USD --by 30d --budget 10$ | sed -n '1,3p;$p'
try "${two[@]}" --price 3.5USD --rate 20/s "${drawn[@]}" "${levels[@]}" --timeout 1ms
rehearse capacity -w llama-3.1-405b -q -p aws-p5:1,aws-p3:1 --price 9USD --rate 1/s "${drawn[@]}" "${levels[@]}" --gpus 8 2>&1
echo "exit $?"
try "${two[@]}" --rate 20/s "${drawn[@]}" "${levels[@]}" | sed -n '1,6p;/^price/p;/^without/p'
for wrong in '--price dgx-b200=2USD' '--price free' '--price 3USD@soon' '-p aws-p5:1' '--budget 1k$' '--budget 1k$ --by 1d' '--concurrency 4' \
    '--tokens 1T' '--seq 1024' '--global-batch 8' '--risk 5%' '--gpus 8..4' '-o x.svg'; do
    # shellcheck disable=SC2086
    try "${two[@]}" --rate 20/s "${drawn[@]}" "${levels[@]}" $wrong
done
try "${two[@]}" "${drawn[@]}" "${levels[@]}"
try "${two[@]}" "${drawn[@]}" --rate 20/s
for wrong in "--tokens 1T --gpus 8 --rate 20/s" "--gpus 8"; do
    # shellcheck disable=SC2086
    rehearse capacity -w llama-3.1-8b "${two[@]}" $wrong 2>&1
    echo "exit $?"
done

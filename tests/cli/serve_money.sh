#!/usr/bin/env bash
# Which of several platforms keeps the levels at a rate for the least money.
asked=(-w llama-3.1-8b --lengths 'in=1024,out=128,spread=0.8' --count 2000 -s 'tp1,chunk=1024,batch=128' -q)
try() {
    echo "\$ $*"
    rehearse serve-plan "${asked[@]}" "$@" 2>&1
    echo "exit $?"
}
levels=(--ttft 'p99<1s' --tpot 'p99<30ms')
two=(-p aws-p5:1 --or-on 'dgx-h200:1')
try "${two[@]}" --or-on aws-p3:1 --price dgx-h200:1=3.5USD@2026-10 --rate 20/s "${levels[@]}"
rehearse serve-plan "${asked[@]}" "${two[@]}" --price 3.5USD --rate 20/s "${levels[@]}" --json | grep -E 'schema|"platform"|price|per_hour|"deployment"|gpus_count'
try "${two[@]}" --price 3.5USD --rate 20/s --tpot 'p99<1ms'
try "${two[@]}" --price 3.5USD --rate 20/s "${levels[@]}" --timeout 1ms
try "${two[@]}" --rate 20/s "${levels[@]}"
try "${two[@]}" --find-rate "${levels[@]}"
try "${two[@]}" --rate 20/s "${levels[@]}" --price dgx-b200=2USD
try "${two[@]}" --rate 20/s "${levels[@]}" --price free
try "${two[@]}" --rate 20/s "${levels[@]}" --price 3USD@soon
try "${two[@]}" --or-on aws-p5:1 --rate 20/s "${levels[@]}"
try "${two[@]}" --rate 20/s "${levels[@]}" --emit vllm
try -p aws-p5:1 --rate 20/s "${levels[@]}" --price 3USD

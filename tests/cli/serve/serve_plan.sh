#!/usr/bin/env bash
# The highest rate, the fewest GPUs, nothing that keeps the levels; the same bytes whatever -j says.
on=(-w llama-3.1-8b -p dgx-h100 --gpus 4)
asked=(--lengths 'in=1024,out=128,spread=0.8' --count 2000)
rehearse serve-plan "${on[@]}" "${asked[@]}" --find-rate -s chunk=1024 --ttft 'p99<1s' --tpot 'p99<20ms' -q -j 1 -o one.json -o one.csv
echo "exit $?"
rehearse serve-plan "${on[@]}" "${asked[@]}" --find-rate -s chunk=1024 --ttft 'p99<1s' --tpot 'p99<20ms' -q -j 2 --json >two.json
cmp one.json two.json && echo same
cut -d'"' -f2 one.csv
rehearse serve-plan "${on[@]}" "${asked[@]}" --rate 60/s -s chunk=1024 --ttft 'p99<1s' --tpot 'p99<20ms' -q
# With no air for the error of the model.
rehearse serve-plan "${on[@]}" "${asked[@]}" --find-rate -s tp1,pp1,chunk=1024 --ttft 'p99<1s' --tpot 'p99<20ms' -q --error-bar none | sed -n '1,2p;/^margin/,/^next/p'
# What is printed to go on with runs as it stands, whether the rate was found or given.
for rate in --find-rate '--rate 60/s'; do
    # shellcheck disable=SC2086
    rehearse serve-plan "${on[@]}" "${asked[@]}" $rate -s tp1,batch=64,chunk=1024 --ttft 'p99<1s' --set kv_heads=4 --seed 2 -q |
        sed -n '/^next: /,$p' | tee next.txt
    sed 's/^next: //' next.txt | bash | sed -n '1,2p'
done
rehearse serve-plan "${on[@]}" "${asked[@]}" --mode disagg --find-rate -s chunk=8192 --ttft 'p99<1s' --tpot 'p99<15ms' -q
# serve-simulate judges two pools by the same error bar.
rehearse serve-plan "${on[@]}" "${asked[@]}" --mode disagg --rate 50/s -s tp1,pp1,batch=128,chunk=8192 --ttft 'p99<1s' --tpot 'p99<13.6ms' -q >two.txt
head -1 two.txt
sed -n '/^next: /,$p' two.txt | sed 's/^next: //' | bash | grep '^t[a-z]* p99<'
rehearse serve-plan "${on[@]}" "${asked[@]}" --rate 3000/s --ttft 'p99<1s' -q -s tp4
echo "exit $?"
rehearse serve-plan "${on[@]}" "${asked[@]}" --find-rate --tpot 'p99<1ms' -q
echo "exit $?"
rehearse serve-plan "${on[@]}" "${asked[@]}" --find-rate --tpot 'p99<1ms' -q --json | sed -n '/"plans"/,$p'
rehearse serve-plan "${on[@]}" "${asked[@]}" --rate 3000/s --ttft 'p99<1s' -q -s tp4 --json | sed -n '/"plans"/,$p'
for server in vllm sglang trtllm; do
    rehearse serve-plan "${on[@]}" "${asked[@]}" --rate 60/s -s "server=$server,tp2,pp1,batch=128,chunk=8192" --ttft 'p99<2s' -q --emit "$server" |
        sed -n '/^#/,$p'
done
try() {
    echo "\$ $*"
    rehearse serve-plan "${on[@]}" "$@" 2>&1
    echo "exit $?"
}
try "${asked[@]}" --find-rate
try "${asked[@]}" --ttft 'p99<1s'
try "${asked[@]}" --ttft 'p99<1s' --find-rate --rate 3/s
try "${asked[@]}" --ttft 'p99.99<1s' --find-rate -q
try "${asked[@]}" --ttft 'p99<1s' --find-rate -s replicas=2
try "${asked[@]}" --ttft 'p99<1s' --find-rate -s tp3
try "${asked[@]}" --ttft 'p99<1s' --find-rate --emit sglang -s server=trtllm
# Without a server of its own the plan is for the one that is to be started.
rehearse serve-plan "${on[@]}" "${asked[@]}" --rate 60/s --ttft 'p99<2s' -q -s tp2,pp1,batch=128,chunk=8192 --emit sglang | sed -n '1p;/^#/,$p'
try "${asked[@]}" --ttft 'p99<1s' --find-rate --arrivals burst
rehearse serve-plan -w llama-3.1-405b -p h100-sxm:1x1 "${asked[@]}" --find-rate --ttft 'p99<1s' 2>&1
echo "exit $?"
# Prompts of which one would take weeks: the bound says so at once.
try --lengths in=60000000,out=10 --count 402 --rate 1/h --ttft 'p99<5s' --timeout 30s -q
# Prompts that no cache holds, and a few of them among others.
try --lengths in=6000000,out=10 --count 402 --rate 1/h --ttft 'p99<5000s' -q
{
    echo arrival_s,input_tokens,output_tokens
    for ((i = 0; i < 1000; i++)); do echo "$i,$((i == 500 ? 900000 : 500)),20"; done
} >one.csv
try --requests one.csv --rate 1/s --ttft 'p99<5s' -s tp1 -q | grep -e '^best' -e '^refused' -e '^exit'
try --requests one.csv --rate 1/s --ttft 'p99<1ms' -s tp1 -q
# Requests that are all there before the first answer is: rates are those that they come at, and the rate found is doubtful.
rehearse serve-plan -w llama-3.1-8b -p dgx-h100 --lengths in=512,out=256 --count 500 --find-rate --ttft 'p99<2s' -s tp1,pp1,batch=512,chunk=1024 -q |
    sed -n '2p;/^warning/,/^$/p'
# More requests are drawn where more come: two minutes of them.
rehearse serve-plan -w llama-3.1-8b -p dgx-h100 --lengths in=512,out=16 --rate 360/s --ttft 'p99<1s' \
    -s tp1,pp1,batch=128,chunk=1024 -q | grep -o -e '--count [0-9]*'

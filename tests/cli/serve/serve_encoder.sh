#!/usr/bin/env bash
# Models that make no tokens are asked once: batches that wait for more requests, and passes that answer.
try() {
    echo "\$ $*"
    rehearse serve-simulate -p dgx-a100:1 --dtype fp16 "$@" 2>&1
    echo "exit $?"
}
triton='server=triton,batch=32,window=5'
try -w bert-large -s "$triton" --lengths in=128 --rate 500/s --count 1000 --e2e 'p99<20ms'
try -w resnet-50 -s "$triton,replicas=8" --lengths in=1 --rate 8000/s --count 1000
try -w bert-large -s "$triton" --lengths in=20000 --rate 1/s --count 5
printf 'arrival_s,input_tokens\n0,128\n0.001,40\n0.002,512\n' >t.csv
try -w bert-base -s "$triton" --requests t.csv
try -w bert-base -s "$triton" --requests t.csv --json | sed -n '/throughput/,/request_rate/p'
try -w bert-base -s tp1 --requests t.csv
try -w llama-3.1-8b -s tp1 --requests t.csv
try -w bert-base -s "$triton" --lengths in=128 --rate 5/s --ttft 'p99<5s'
try -w bert-base -s "$triton" --lengths in=128,out=4 --rate 5/s
try -w bert-base -s "$triton" --lengths in=128,turns=4 --rate 5/s
try -w resnet-50 -s "$triton" --lengths in=128 --rate 5/s
try -w bert-base -s "$triton" --requests t.csv -o t.program.json
rehearse serve-plan -w bert-base -p dgx-a100:1 -s tp1 --gpus 1 --lengths in=128 --count 1000 --find-rate --e2e 'p99<20ms' -q 2>&1
echo "exit $?"
printf 'arrival_s,input_tokens\n0,128\n1,none\n' >t.csv
try -w bert-base -s "$triton" --requests t.csv
# The fewest GPUs for a rate; a level that no server keeps, however few requests come.
rehearse serve-plan -w bert-large -p dgx-a100:1 --dtype fp16 --lengths in=128 --count 1000 --rate 3000/s --e2e 'p99<20ms' -q
rehearse serve-plan -w bert-large -p dgx-a100:1 --dtype fp16 --lengths in=128 --count 2000 --rate 100/s --e2e 'p99<100us' -q
echo "exit $?"
rehearse serve-plan -w bert-base -p dgx-a100:1 --lengths in=128 --find-rate --e2e 'p99<20ms' --mode disagg 2>&1
echo "exit $?"
# What such a model is not asked, and levels that it does not know; a model that makes tokens, asked for none.
plan=(serve-plan -p dgx-a100:1 --count 2000 --rate 100/s -q)
rehearse "${plan[@]}" -w bert-base --lengths in=128,out=5 --e2e 'p99<20ms' 2>&1
echo "exit $?"
rehearse "${plan[@]}" -w bert-base --lengths in=128 --tpot 'p99<20ms' 2>&1
echo "exit $?"
rehearse "${plan[@]}" -w llama-3.1-8b --lengths in=128 --e2e 'p99<20s' 2>&1
echo "exit $?"

#!/usr/bin/env bash
# What is wrong with requests, rates, service levels and deployments, and how to mend it.
try() {
    echo "\$ $*"
    rehearse serve-simulate -w llama-3.2-1b -p h100-sxm:1x1 "$@" 2>&1
    echo "exit $?"
}
drawn=(-s tp1 --lengths 'in=10,out=5')
try -s tp1
try "${drawn[@]}"
try "${drawn[@]}" --rate 5/m
try "${drawn[@]}" --rate 0/s
try "${drawn[@]}" --rate 1e-300/s
try "${drawn[@]}" --rate 5/s --concurrency 4
try "${drawn[@]}" --concurrency 4 --arrivals even
try "${drawn[@]}" --rate 5/s --arrivals pareto
try "${drawn[@]}" --rate 5/s --arrivals gamma
try "${drawn[@]}" --rate 5/s --arrivals gamma:0
try "${drawn[@]}" --rate 5/s --arrivals ramp:fast
try "${drawn[@]}" --rate 5/s --ttft p99
try "${drawn[@]}" --rate 5/s --tpot 'p99<25'
try "${drawn[@]}" --rate 5/s -o x.md
try -s tp1 --lengths in=10 --rate 5/s
try -s tp1 --lengths in=10,out=0 --rate 5/s
try -s tp1 --lengths in=10,out=5,spread=2 --rate 5/s
try -s tp1 --lengths in=10,out=5 --requests t.csv --rate 5/s
try -s tp2 --lengths in=10,out=5 --rate 5/s
try -s server=trtllm,tp1,batch=1000000 --lengths in=10,out=5 --rate 5/s
try -s tp1,btch=4 --lengths in=10,out=5 --rate 5/s
try -s tp1 --requests nowhere.csv
printf 'input_tokens,output_tokens\n10,5\n10,-5\n' >t.csv
try -s tp1 --requests t.csv
try -s tp1 --requests t.csv --skip-bad
try -s tp1 --requests t.csv --skip-bad --rate 5/s -o t.csv
printf 'arrival_s,input_tokens,output_tokens\n0,10,5\n0,10,5\n' >t.csv
try -s tp1 --requests t.csv --rate 5/s
printf 'arrival_s,input_tokens,output_tokens\n0,10,5\n1e11,10,5\n' >t.csv
try -s tp1 --requests t.csv
printf 'arrival_s,input_tokens,output_tokens\n0,10,2147483647\n' >t.csv
try -s tp1 --requests t.csv
printf 'arrival_s,input_tokens,output_tokens\n0,ten,5\n' >t.csv
try -s tp1 --requests t.csv
printf 'prompt,answer\n10,5\n' >t.csv
try -s tp1 --requests t.csv
printf 'ContextTokens,Generated\n10,5\n' >t.csv
try -s tp1 --requests t.csv --skip-bad
printf '{"input_tokens": 10, "output_tokens": }\n' >t.jsonl
try -s tp1 --requests t.jsonl
printf '\x1f\x8b\x08\x00broken' >t.gz
try -s tp1 --requests t.gz
printf "arrival_s,input_tokens\n" >none.csv
rehearse serve-simulate -w bert-large -p dgx-h100 -s server=triton,batch=8 --requests none.csv 2>&1
echo "exit $?"
# Longer than the model's positions, which rotate: served here, and told.
rehearse serve-simulate -w llama-2-7b -p dgx-h100:1 -s server=vllm,tp1 --lengths in=4000,out=200 --count 3 --rate 3/s -q | grep -A1 '^warning'
# The limits of a number are said; guesses that are never right are said too.
try -s tp1 --lengths in=100000000,out=5 --rate 5/s
try -s tp1 --lengths in=10,out=5 --rate 1000000000/s
try -s tp1,draft=5 --lengths in=10,out=5 --rate 5/s
try -s tp1,draft=5,accept=0 --lengths in=10,out=5 --rate 5/s --count 2 | head -n 2
# A trace that is shorter than what is asked for.
printf 'arrival_s,input_tokens,output_tokens\n0,10,2\n1,10,2\n' >short.csv
rehearse serve-simulate -w llama-3.2-1b -p h100-sxm:1x1 -s tp1 --requests short.csv --count 3 2>&1 | grep -e --count -e '^requests'
# max_model_len refuses what is longer, prompt and answer together.
printf 'arrival_s,input_tokens,output_tokens\n0,10,5\n1,11,5\n' >two.csv
rehearse serve-simulate -w llama-3.2-1b -p h100-sxm:1x1 -s tp1,max_model_len=15 --requests two.csv 2>&1 | grep -A 1 '^done'
# Lengths are said in thousands, too; a part of a token is none.
few=(serve-simulate -w llama-3.2-1b -p h100-sxm:1x1 -s tp1 --rate 5/s --count 3)
cmp <(rehearse "${few[@]}" --lengths in=1k,out=5 2>/dev/null) \
    <(rehearse "${few[@]}" --lengths in=1000,out=5 2>/dev/null) && echo "1k is 1000"
try -s tp1 --lengths in=1.0005k,out=5 --rate 5/s

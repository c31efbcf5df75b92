#!/usr/bin/env bash
# Requests drawn and from a trace, open and closed loop, service levels, files; the same bytes again.
on=(-w llama-3.2-1b -p h100-sxm:1x1 -s tp1)
rehearse serve-simulate "${on[@]}" --lengths in=1024,out=128,spread=0.8 --rate 20/s --count 400 \
    --ttft 'p99<500ms,mean<100ms' --tpot 'p90<1ms' -o open.json -o open.csv
echo "exit $?"
rehearse serve-simulate "${on[@]}" --lengths in=1024,out=128,spread=0.8 --concurrency 8 --count 80
cat >trace.csv <<'END'
# ours
arrival_s,input_tokens,output_tokens,session,priority
0,900,20,a,0
0.001,30,0,b,0
0.5,700,40,a,1
nan,1,1,,
0.2,90000000,10,c,0
END
rehearse serve-simulate "${on[@]}" --requests trace.csv --skip-bad -o trace.csv.csv -q
cut -d, -f1-8 trace.csv.csv
gzip -nk trace.csv
rehearse serve-simulate "${on[@]}" --requests trace.csv.gz --skip-bad --arrivals even --rate 120/min -q | tail -n 11
rehearse serve-simulate "${on[@]}" --lengths in=1024,out=128,spread=0.8 --rate 20/s --count 400 \
    --ttft 'p99<500ms,mean<100ms' --tpot 'p90<1ms' --json >again.json
sed 's/"-o",* *//; /again/d' open.json | cmp - again.json && echo same
sed -n 's/^  "\([a-z_0-9]*\)":.*/\1/p' open.json | tr '\n' ' '
echo
head -n 1 open.csv
wc -l <open.csv
for kind in poisson gamma:0.25 burst ramp:40/s; do
    rehearse serve-simulate "${on[@]}" --lengths in=512,out=16 --rate 20/s --count 200 --arrivals "$kind" |
        grep -E 'requests/s|^TTFT|^requests'
done
# Talks: what was said before is in the cache.
for remembers in on off; do
    rehearse serve-simulate "${on[@]:0:4}" -s "tp1,prefix=$remembers" --lengths in=512,out=32,turns=4 --concurrency 8 --count 80 -q |
        grep -E '^TTFT|^requests|cache'
done
# What has a price has a cost.
rehearse serve-simulate "${on[@]}" --set price_per_gpu_hour=2USD --lengths in=512,out=16 --concurrency 4 --count 40 -q | head -n 3
# A timeline of servers and requests.
rehearse serve-simulate "${on[@]}" --lengths in=512,out=16 --concurrency 4 --count 12 -q -o day.trace.json.gz >/dev/null
gzip -dc day.trace.json.gz | head -n 6
gzip -dc day.trace.json.gz | grep -c '"name":"queue"'
# Experts that are asked unevenly; what says nothing of a server.
mixture=(-w qwen3-30b-a3b -p dgx-h100 -s "tp1,dp8,ep8" --lengths "in=512,out=16" --concurrency 64 --count 128 -q)
for load in balanced histogram:4x8-1x120 histogram:1x7; do
    rehearse serve-simulate "${mixture[@]}" --set experts_load=$load 2>&1 | head -n 2
done
rehearse serve-simulate "${mixture[@]}" --set experts_capacity=1.25 2>&1
echo "exit $?"
# Nothing that is asked can be answered.
rehearse serve-simulate -w llama-3.1-8b -p dgx-h100:1 --lengths in=1000000,out=128 --rate 1/s -s tp1 --count 20 -q 2>&1
echo "exit $?"
# How far off it may be is not known of a device without tables of kernels, of a cache that is full, of tokens that are guessed, and of a server that nobody published.
for what in '-p mi300x:1x8 -s tp1' '-p h100-sxm:1x1 -s tp1,blocks=300' '-p h100-sxm:1x1 -s tp1,draft=2,accept=70' '-p h100-sxm:1x1 -s tp1,server=orca'; do
    # shellcheck disable=SC2086
    rehearse serve-simulate -w llama-3.1-8b $what --lengths in=512,out=64 --concurrency 16 --count 64 -q --ttft 'p90<2s' -o bar.json | sed -n '/^error bar/,/^next/p'
    sed -n '/"error_bar"/,/}/p' bar.json
done
# More comes than is served: said, and no; with --json there is a document where nothing can be played.
rehearse serve-simulate -w llama-3.1-8b -p dgx-h100 -s tp1 --lengths in=1024,out=256 --rate 1000/s --count 500 -q | sed -n 1,4p
echo "exit ${PIPESTATUS[0]}"
# While servers fill up, rates of requests and of tokens agree; without a steady stretch it is said how many would have one.
for count in 20 500; do
    rehearse serve-simulate -w llama-3.1-8b -p dgx-h100 -s tp1 --lengths in=1024,out=256 --rate 19/s --count $count -q | sed -n '1p;/^warning/,/^±/p'
done
rehearse serve-simulate -w llama-3.1-405b -p dgx-h100 -s tp1 --lengths in=8,out=1 --rate 1/s --count 20 -q --json >none.json 2>why.txt
echo "exit $?"
head -n 1 why.txt
sed -n 's/^  "\([a-z_]*\)":.*/\1/p' none.json | tr '\n' ' '
echo
# Of 1,000, 4,000 and 16,000 requests the price is one.
for count in 1000 4000 16000; do
    rehearse serve-simulate -w llama-3.1-8b -p dgx-h100 -s tp1,replicas=4 --lengths in=512,out=256 --rate 60/s --arrivals even --set price=2.4USD --count $count -q | sed -n 3p
done
echo 'where it is not said how many, two minutes of the rate, and 1,000 at least:'
for rate in 4/s 20/s; do
    rehearse serve-simulate "${on[@]}" --lengths in=16,out=2 --rate "$rate" -q --json | grep '"requests_count"'
done
# The constant that most of the first token is, with its source; none is named where kernels are more of it.
for layout in tp8,server=sglang tp8; do
    rehearse serve-simulate -w deepseek-v3 -p dgx-h200:1 --dtype fp8-block -s "$layout" --concurrency 1 --count 1 \
        --lengths in=1024,out=128 | grep -A 6 '^delivery' || echo "no constant of $layout"
done

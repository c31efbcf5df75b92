#!/usr/bin/env bash
# Servers over a day by hourly rates, and what is refused.
printf 'hours,per_s\n0,20\n8,60\n20,30\n' >day.csv
printf 'hours,per_s\n0,20\n8,0\n' >night.csv
printf 'hours,per_s\n0,0\n8,0\n' >zero.csv
job=(-w llama-3.1-8b -p dgx-h100 --lengths 'in=512,out=128' --count 1000 --ttft 'p90<2s' --tpot 'p90<60ms'
    -s 'tp1,batch=256,chunk=2048' --error-bar none -q)
rehearse serve-plan "${job[@]}" --rate-by-hour day.csv -o day.json | sed -n '1p;/^day/,/^next/p'
sed -n '/"day": {/,/"hours"/p' day.json
rehearse serve-plan "${job[@]}" --rate-by-hour zero.csv || echo "exit $?"
# An hour without requests has no servers; the price is the day's.
rehearse serve-plan "${job[@]}" --rate-by-hour night.csv --price 2USD | sed -n '1,/^service/p;/^day/,/^next/p'
printf 'hours,per_s\n0,4\n8,5\n' >even.csv
rehearse serve-plan "${job[@]}" --rate-by-hour even.csv | sed -n '/^day/,/^next/p'
# Two pools: each hour has as many of both.
printf 'hours,per_s\n0,20\n8,240\n20,60\n' >busy.csv
rehearse serve-plan "${job[@]}" --rate-by-hour busy.csv --mode disagg -o pools.json | sed -n '1p;/^day/,/^next/p'
sed -n '/"hours"/,/}/p' pools.json
rehearse serve-plan "${job[@]}" --rate-by-hour day.csv --rate 5/s || echo "exit $?"
# A trace of a day: 60 requests a second for an hour, one in ten seconds else.
awk 'BEGIN { print "arrival_s,input_tokens,output_tokens"
    for (t = 0; t < 86400; t += (t >= 32400 && t < 36000) ? 1 / 60 : 10) printf "%.3f,512,128\n", t }' >trace.csv
rehearse serve-plan "${job[@]}" --rate-by-hour trace.csv | sed -n '1p;/^day/,/ 13 /p'
head -n 3000 trace.csv >morning.csv
rehearse serve-plan "${job[@]}" --rate-by-hour morning.csv || echo "exit $?"

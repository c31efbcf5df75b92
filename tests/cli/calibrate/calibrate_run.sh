#!/usr/bin/env bash
# One measured run: what would have to be wrong, the scale of the kernels, its profile in use, and what is refused.
try() {
    echo "\$ rehearse $*"
    rehearse "$@" 2>&1
    echo "exit $?"
}
job=(-w llama-3.2-1b -p dgx-h100:1 --global-batch 32 --seq 2048)
rehearse simulate "${job[@]}" -s tp2,pp2,mb1 -o run.json | head -n 1
try calibrate --run-was 700ms run.json#1 -o mine.json
try simulate "${job[@]}" -s tp2,pp2,mb1 --profile mine.json
try simulate -w llama-3.1-8b -p dgx-h100:1 --global-batch 32 --seq 2048 -s tp2,pp2,mb1 --profile mine.json | grep -A4 '^error bar'
rehearse check mine.json
rehearse explain run.json#1 --profile mine.json | head -n 1
rehearse capacity "${job[@]:0:2}" -p dgx-h100 --gpus 8 --global-batch 32 --seq 2048 --tokens 1T --profile mine.json -q | head -n 1
rehearse plan "${job[@]}" --profile mine.json --quick -q | grep -A3 '^profile'
# Every command that predicts takes it; tables of collectives and of a server stay.
takes() {
    rehearse "$@" --profile mine.json -q >with.txt 2>&1
    echo "$1: exit $?, $(diff <(rehearse "$@" -q 2>&1) with.txt | grep -c '^>' | sed 's/^0$/the same/; s/^[1-9].*/moved/')"
}
served=(-w llama-3.1-8b -p dgx-h100:1 --lengths 'in=512,out=64')
takes memory "${job[@]:0:4}"
takes run "${job[@]}" -s tp2,mb1 --tokens 1T
takes serve-simulate "${served[@]}" -s tp2 --concurrency 4 --count 8
takes serve-plan "${served[@]}" --gpus 1 --rate 4/s --ttft 'p99<5s' --tpot 'p99<50ms'
takes collective all-reduce --size 1G -p dgx-h100:1
rehearse capacity "${job[@]:0:2}" -p dgx-h100,dgx-a100 --gpus 8 --global-batch 32 --seq 2048 --tokens 1T --profile mine.json 2>&1 | grep '^note'
echo '{"schema": "rehearse.profile/1", "facts": {"nvlink.efficiency": {"value": 0.5, "tag": "measured", "source": "x", "date": "2026-11"}}}' >links.json
rehearse simulate "${job[@]}" -s tp2,pp2,mb1 --profile mine.json,links.json -q | grep -A2 '^profile'
try validate --cases runs.csv --profile mine.json
try calibrate --run-was 50ms run.json#1 -o none.json
ls none.json 2>/dev/null
for ms in 9000 700 700 700 700; do
    echo " iteration $((++i))/ 9 | elapsed time per iteration (ms): $ms | global batch size:    32 |"
done >their.log
try calibrate --from their.log "${job[@]:0:4}" --seq 2048 -s tp2,pp2,mb1
try calibrate --run-was 2h run.json#1
sed 's/7.0 |/5 |/; s/: 700 /: 5 /' their.log >quick.log
try calibrate --from quick.log "${job[@]:0:4}" --seq 2048 -s tp2,pp2,mb1 | grep -A3 '^finding'
rehearse calibrate --run-was 700ms run.json#1 --json | grep -A4 '"run"'
try calibrate --run-was 700ms
try calibrate --from their.log
try calibrate --run-was 700ms run.json#7
try calibrate --run-was 700ms run.json#1 -w llama-3.2-1b
try calibrate --run-was 700ms --from their.log "${job[@]:0:4}" --seq 2048 -s tp2,pp2,mb1
try calibrate --from their.log "${job[@]}" -s tp2,pp2,mb1 --set global_batch=64

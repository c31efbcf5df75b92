#!/usr/bin/env bash
# A file of the catalogues that is wrong is told where it is asked for, and where it is wrong.
root=${REHEARSE_DATA:-$CASES/../..}
mkdir data
cp -rL "$root"/{platforms,workloads,strategies,validate} data/ 2>/dev/null
export REHEARSE_DATA=$PWD/data
job=(-w llama-3.2-1b -p dgx-h100 --global-batch 8 --seq 2048 -q)
try() {
    echo "\$ rehearse $*"
    rehearse "$@" 2>&1 | sed "s|$PWD|.|"
    echo "exit ${PIPESTATUS[0]}"
}
# $1: a file; $2: what is done to it; then a command
with() {
    local file=data/$1 edit=$2
    shift 2
    cp "$file" kept
    sed -i "$edit" "$file"
    try "$@"
    cp kept "$file"
}
with strategies/stacks/torchtitan.json 's/"derives"/"derive"/' show stacks
with strategies/stacks/torchtitan.json '1s/.*/[/' plan "${job[@]}" --stack torchtitan
with strategies/stacks/torchtitan.json '1s/.*/[/' plan "${job[@]}" --stack any
with strategies/stacks/maxtext.json 's/"derives": *"[^"]*"/"derives": "maxtext"/' show stacks maxtext
with strategies/frameworks/megatron.json '1s/.*/[/' plan "${job[@]}"
with strategies/serve/servers/vllm.json '1s/.*/[/' serve-simulate -w llama-3.1-8b -p dgx-h100 -s tp1 \
    --rate 1/s --count 5 --lengths in=128,out=16
with strategies/serve/servers/vllm.json 's/"2": "64MiB"/"1": "64MiB"/' serve-simulate -w llama-3.1-8b -p dgx-h100 -s tp1 \
    --rate 1/s --count 5 --lengths in=128,out=16
{
    echo 'source,model,gpu,gpus,tp,pp,ep,dp,precision,isl,osl,batch_or_concurrency,rps,throughput_tok_s,ttft_ms,tpot_ms,note,where'
    echo 'x,LLaMA-3-70B,H100-80GB-SXM,2,2,1,,,FP8,1000,1000,8,,,500,20,agg; vllm 0.16.0,here'
} >served.csv
with strategies/serve/servers/vllm.json '1s/.*/[/' validate --cases served.csv
with platforms/data/devices/h100-sxm.json '1s/.*/[/' plan "${job[@]}"
try plan "${job[@]}" --stack torchtitn

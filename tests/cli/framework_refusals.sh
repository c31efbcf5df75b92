#!/usr/bin/env bash
# What a framework does not run is told with its project, version, file and line, whoever asks.
job=(-w "$CASES/inputs/tiny-llama.json" -p dgx-h100:1 --global-batch 32 --seq 128 -q)
try() {
    echo "\$ rehearse $1 ${*:2}"
    rehearse "$1" "${job[@]}" "${@:2}" 2>&1 | sed '/^next:/d'
    echo "exit ${PIPESTATUS[0]}"
}
try simulate --stack deepspeed -s pp2,zero2
try simulate --stack megatron -s pp4,dp2,zero3

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
echo 'where the rules leave no layout at all, plan names the one, or those that refuse most:'
try plan --stack deepspeed --fix pp=2
try plan --stack torchtitan --fix zero=1
try plan --stack megatron --fix pp=2 --limit 'zero>=2'
try plan --stack torchtitan --fix tp=2 --limit 'zero<=1' --limit 'dp>=2'
try plan --stack bare --fix pp=4 --limit 'dp>=4'
echo 'a launch says formats as options too, and what goes around both:'
launch() { try plan --quick "$@" | grep -E '^(\$|error:|help|exit)'; }
launch --emit maxtext --dtype fp16 --fix sp=on
launch --emit megatron --set moments=8bit
launch --emit deepspeed --fix zero=0 --fix dp=8 --set job.gradients=fp32
echo 'simulate performs what a framework does not run all the same, and says so:'
watch() {
    echo "\$ rehearse simulate $*"
    rehearse simulate "${job[@]}" "$@" | grep -E -A 4 '^warning: simulated although|/step'
}
watch --stack torchtitan -s pp2,zero1
watch --stack torchtitan -s pp2,zero2
watch --stack deepspeed -s tp2,zero1

#!/usr/bin/env bash
# Experts over ranks: dp left open is what the GPUs allow, and what no degree mends is said so.
job=(-w mixtral-8x7b -p dgx-h100:4 --global-batch 64 --seq 4096 -q)
try() {
    echo "\$ rehearse simulate ... -s $*"
    rehearse simulate "${job[@]}" -s "$@" 2>&1 | grep -E '^(tp|error|note|help)'
}
try ep8
try tp2,ep8
try ep8,etp2
try tp2,pp16,ep8
try ep8 --gpus 12
try ep3
try ep1048576
try ep8,etp1048576
try ep8 --set experts=7
try tp2,etp1 --set experts=0 --set experts_per_token=0
rehearse plan "${job[@]}" --fix ep=8 --gpus 4 2>&1
rehearse simulate -w mixtral-8x7b -p dgx-h100:4 --gpus 20 --global-batch 40 --seq 4096 -s ep8,etp2 2>&1
# Kernels whose file is broken are no reason to take the collectives' pace.
root=${REHEARSE_DATA:-$CASES/../..}
mkdir -p data/strategies/a2a_backends
ln -s "$root/platforms" "$root/workloads" "$root/validate" data/
ln -s "$root"/strategies/{stacks,frameworks} "$root"/strategies/serve data/strategies/
echo '{"name": "deepep"}' >data/strategies/a2a_backends/deepep.json
export REHEARSE_DATA=$PWD/data
rehearse simulate "${job[@]}" -s ep8,dispatch=deepep 2>&1 | sed "s|$PWD|.|"
rehearse plan "${job[@]}" 2>&1 | sed "s|$PWD|.|" | head -n 2
[ "${PIPESTATUS[0]}" = 3 ]

#!/usr/bin/env bash
# Samples that the host loads: before a step, beside it, on a DPU; and what is refused.
layout=zero0,mb32
job=(-w resnet-18 -p dgx-a100 --gpus 8 --stack horovod -q -s "$layout")
cpus=(-w resnet-18 -p xeon-bluefield-2 --global-batch 64 --dtype fp32 --stack bare -q -s "$layout")
try() {
    echo "\$ rehearse simulate $*"
    rehearse simulate "$@" 2>&1 | grep -E '^(error|note|help|GPU util|[0-9.]+ m?s/step)|exposed host'
}
try "${job[@]}" --global-batch 256 --set loader.sample=8ms
try "${job[@]}" --global-batch 256 --set loader.sample=8ms --set loader.workers=8
try "${job[@]}" --global-batch 512 --set loader.sample=8ms --set loader.workers=64 --set clients=2
try "${cpus[@]}" --set loader.sample=4ms
try "${cpus[@]}" --set loader.sample=4ms --set loader.on=dpu
try "${cpus[@]}" --set loader.sample=4ms --set loader.workers=4
try "${job[@]}" --global-batch 256 --set loader.sample=8ms --set loader.on=dpu
try "${job[@]}" --global-batch 256 --set loader.workers=8
try "${job[@]}" --global-batch 256 --set loader.sample=8
try "${job[@]}" --global-batch 256 --set loader.sample=8ms --set loader.on=gpu
try "${job[@]}" --global-batch 256 --set loader.sample=8ms --set loader.workers=-1
try "${job[@]}" --global-batch 256 --set loader.sample=8ms --set loader.workers=some

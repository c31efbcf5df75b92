#!/usr/bin/env bash
# Several processes on a GPU: the job's line, memory of a process, utilisation; and what is refused.
job=(-w shufflenet-v2 -p dgx-a100 --gpus 8 --global-batch 1024 --stack horovod -q)
rehearse simulate "${job[@]}" -s zero0,mb32 --set clients=4
try() {
    echo "\$ rehearse $*"
    rehearse "$@" 2>&1 | grep -E '^(error|note|help|[0-9.]+ m?s/step)'
}
try simulate "${job[@]}" -s zero0,mb32 --set clients=4 --set sharing=time
try simulate "${job[@]}" -s zero0,mb32 --set clients=4 --set sharing=fair
try simulate "${job[@]}" -s zero0,mb32 --set clients=4 --set sharing=mig
try simulate "${job[@]}" -s zero0,mb8 --set clients=8 --set sharing=mig
try simulate -w resnet-50 -p v100-edr --global-batch 128 -q -s zero0,mb16 --set clients=2 --set sharing=mig
try simulate "${job[@]}" -s zero0,mb32,dp8 --set clients=4
try simulate "${job[@]}" -s zero0,mb8 --set clients=64
try simulate -w resnet-50 -p dgx-a100 --gpus 1 --global-batch 4096 --stack horovod -s zero0,mb128 --set clients=32
try simulate -w gpt2 -p dgx-a100 --global-batch 128 --seq 1024 -q -s tp2,mb1 --set clients=4
try simulate -w resnet-50 -p dgx-1 --global-batch 1024 --stack horovod -q -s zero0,mb32 --set clients=4
try serve-simulate -w llama-3.1-8b -p dgx-a100 -s tp1 --rate 1 --lengths in=100,out=10 --set clients=4
rehearse simulate "${job[@]}" -s zero0,mb32 --set clients=4 --json | grep -E 'gpus_count|gpu_busy_frac|"clients'
rehearse memory -w resnet-50 -p dgx-a100 --gpus 8 --stack horovod -q --set clients=4 | sed -n 1p
# Commands that count GPUs of one process each refuse several, and so does a script.
rehearse serve-plan -w llama-3.1-8b -p dgx-h100:1 --rate 1/s --lengths in=128,out=16 --ttft 'p99<5s' --set clients=4 || echo "exit $?"
rehearse run -w resnet-18 -p dgx-a100 --dtype tf32 --stack horovod --gpus 2 --global-batch 128 --set clients=4 \
    --tokens 1B -q || echo "exit $?"
rehearse simulate -w llama-3.2-1b -p dgx-h100:1 --global-batch 128 --seq 1024 -s mb1 --set clients=2 --emit megatron -q \
    >script.txt || echo "exit $?"
# Devices without MPS, and those that belong to one process.
for device in tpu-v5p mi300x gaudi2 bluefield-2 p100-sxm-16; do
    for way in mps time mig; do
        try simulate -w shufflenet-v2 --gpus 1 --global-batch 1024 --stack horovod -q -s zero0,mb32 -p "$device:1x1" \
            --set clients=20 --set sharing=$way
    done
done

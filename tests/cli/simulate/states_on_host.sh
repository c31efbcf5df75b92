#!/usr/bin/env bash
# The optimizer's states, then weights too, in the host's memory and on drives; what starts that, and what of a launch
# says it. The older key of activations is read.
job=(-w llama-3.1-8b -p dgx-a100-40:1 --global-batch 16 --seq 2048 --stack deepspeed)
rehearse simulate "${job[@]}" -s dp8,zero2,recompute=full,states=host | grep -E 'fits|FIT|states|host'
rehearse simulate "${job[@]}" -s dp8,zero3,recompute=full,states=nvme,params=nvme | grep -E 'fits|FIT|drives|host'
rehearse simulate "${job[@]}" -s dp8,zero3,recompute=full,states=host,params=host --emit deepspeed >launch.sh
grep -A 4 offload_ launch.sh
rehearse simulate --from launch.sh -w llama-3.1-8b -p dgx-a100-40:1 2>/dev/null | grep -E 'ZeRO-3|weights on'
rehearse simulate -w llama-3.1-8b -p dgx-h100:1 --global-batch 16 --seq 2048 -s dp8,zero1,states=host,hosted=50 \
    --emit megatron | grep -A 1 -E 'optimizer-(cpu|offload)'
rehearse simulate "${job[@]}" -s dp8,zero1,recompute=full,offload=50 | grep offloaded
rehearse simulate "${job[@]}" -s dp8,zero2,params=host
echo "exit $?"

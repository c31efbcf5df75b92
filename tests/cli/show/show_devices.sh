#!/usr/bin/env bash
# Devices: the list, one in full, and one of one's own from its data sheet, all the way to a plan.
rehearse show devices
rehearse show devices h20-sxm
rehearse show device h100-sxm --template | tee my-gpu.json | head -n 16
# As it stands it is an H100 with the constants of its generation: those of the H100.
job=(-w llama-3.1-8b --global-batch 32 --seq 2048 -s "tp2,mb1")
step() { rehearse simulate "${job[@]}" "$@" --json | sed -n 's/^  "step_time_s": //p'; }
[ "$(step -p my-gpu.json:8x2,ib:400Gb/s)" = "$(step -p h100-sxm:8x2,ib:400Gb/s)" ] && echo 'the same step'
sed -i 's/989.400 TFLOP/500.000 TFLOP/; s/"my-gpu"/"half"/' my-gpu.json
rehearse check my-gpu.json
rehearse plan -w llama-3.1-8b --global-batch 32 --seq 2048 -p my-gpu.json:8x2,ib:400Gb/s --quick --top 3 |
    sed -n '/best/,/^$/p'
# In a file of its own, whose folder it lies in; and with less power.
mkdir -p mine
mv my-gpu.json mine/
echo '{"name": "mine", "derives": "dgx-h100", "device": "half.json", "nodes": 2}' >mine/cluster.json
mv mine/my-gpu.json mine/half.json
rehearse check mine/cluster.json
echo "700 W: $(step -p mine/cluster.json)"
echo "500 W: $(step -p mine/cluster.json --set device.power_limit=500W)"
rehearse show devices --template 2>&1
rehearse show devices h1000-sxm 2>&1 | head -n 1

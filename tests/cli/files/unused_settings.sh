#!/usr/bin/env bash
# A word of --set that changes nothing is told; one that does is not.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --gpus 4 --global-batch 32 --seq 1024)
try() {
    echo "\$ $*"
    { "$@" >/dev/null; } 2>&1
}
# One node: no NIC has a part in it. The model as it is. No experts, no documents. Only what is used below a stack.
for set in ib=50Gb/s layers=8 experts_capacity=1.25 packing=off moments=fp32 model.positions=4096 host.memory=1TB; do
    try rehearse simulate "${job[@]}" -s tp2 --set "$set"
done
for set in nvlink=100GB/s layers=4 price=2USD pue=1.3 gpu.3.speed=0.8 link.nvlink/node0/gpu0/up=0.5 device.power=650W; do
    try rehearse simulate "${job[@]}" -s tp2 --set "$set"
done
try rehearse plan "${job[@]}" --set ib=50Gb/s --set nvlink=100GB/s
try rehearse plan "${job[@]}" --quick --set ib=50Gb/s --set nvlink=100GB/s
# Beyond the node the same word counts; and a straggler that has no part in the job does not.
try rehearse plan -w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024 --set ib=50Gb/s
try rehearse simulate "${job[@]}" -s tp2 --scenario straggler:node1.gpu2=0.5
try rehearse simulate "${job[@]}" -s tp2 -q --set ib=50Gb/s
# Services, capacity and neighbours: the same.
served=(-w tiny-llama.json -p two-nodes.json --lengths 'in=128,out=32')
for set in ib=50Gb/s nvlink=100GB/s layers=4 price=2USD model.positions=8192; do
    try rehearse serve-simulate "${served[@]}" -s tp2 --rate 50/s --count 100 --set "$set"
    try rehearse serve-plan "${served[@]}" -s tp2 --mode colocated --gpus 2 --rate 50/s --count 402 --ttft 'p99<2s' --set "$set"
done
try rehearse serve-simulate "${served[@]}" -s tp2/tp2 --rate 50/s --count 100 --set ib=50Gb/s
try rehearse serve-simulate "${served[@]}" -s tp1,replicas=2 --rate 50/s --count 100 --fail 0@1s --set ib=50Gb/s --set layers=4
some=(capacity -w tiny-llama.json -p two-nodes.json)
try rehearse "${some[@]}" "${served[@]:4}" --gpus 1,2 --rate 20/s --count 402 --ttft 'p99<2s' -s tp1 --set ib=50Gb/s --set layers=4
try rehearse "${some[@]}" --gpus 4,8 --seq 1024 --global-batch 32 --tokens 1B --set experts_capacity=1.25 --set pue=1.3 --set ib=50Gb/s
cat >other.json <<<'{"workload": "tiny-llama.json", "layout": "tp2,dp2", "nodes": "1", "global_batch": 32, "sequence": 1024}'
for set in experts_capacity=1.25 ib=50Gb/s layers=4 nvlink=100GB/s; do
    try rehearse simulate "${job[@]}" -s tp2 --beside other.json --set "$set"
done
try rehearse plan "${job[@]}" --fix tp=2 --top 1 --beside other.json --set ib=50Gb/s --set nvlink=100GB/s
rehearse simulate "${job[@]}" -s tp2 -q -o two.program.json -o two.goal >/dev/null
for set in ib=50Gb/s price=2USD nvlink=100GB/s; do
    try rehearse simulate --program two.program.json -p two-nodes.json --set "$set"
    try rehearse simulate --program two.goal -p two-nodes.json --set "$set"
done

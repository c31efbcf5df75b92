#!/usr/bin/env bash
# A plan beside a neighbour: what it costs, that another layout wins there, which nodes avoid it.
fabric="h100-sxm:4x12,nvlink:450GB/s,ib:100Gb/s,leaf:4,oversub:4"
job=(-w "$CASES/inputs/tiny-llama.json" -p "$fabric" --gpus 16 --global-batch 32 --seq 4096)
echo '{"workload": "llama-3.2-1b", "layout": "tp1,zero3,mb1", "nodes": "1,3,5,7",
 "global_batch": 32, "sequence": 4096}' >other.json
rehearse plan "${job[@]}" --beside other.json --on 0,2,4,6 --top 3 -o plan.json | sed 's/simulated in [0-9.]* s/simulated/'
grep -E "\"(alone_rank|proved|place)\"" plan.json | sed "s, *,,"
rehearse simulate "${job[@]}" -s plan.json#1 --on 8-11 --beside other.json | head -n 1
rehearse plan "${job[@]}" --on 0-3 2>&1
echo "exit $?"
rehearse plan "${job[@]}" --beside other.json --on 0-3 2>&1
echo "exit $?"
rehearse plan "${job[@]}" --beside other.json --objective energy 2>&1
echo "exit $?"
rehearse plan "${job[@]/16/48}" --beside other.json 2>&1
echo "exit $?"
rehearse plan "${job[@]}" --beside missing.json 2>&1
echo "exit $?"

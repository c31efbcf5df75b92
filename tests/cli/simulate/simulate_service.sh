#!/usr/bin/env bash
# A service and a job on one fabric: gradients and caches slow each other where they meet.
fabric="h100-sxm:8x8,nvlink:450GB/s,ib:400Gb/s,leaf:4,oversub:8"
job=(-w llama-3.1-8b -p "$fabric" --gpus 32 --global-batch 32 --seq 4096 -s "tp8,dp4")
service='{"workload": "llama-3.1-8b", "deployment": "tp8/tp8", "nodes": "NODES", "start": "50ms",
 "lengths": "in=16384,out=32,spread=0.8", "rate": "5/s", "count": 40}'
echo "${service/NODES/1,5}" >chat.json
echo "${service/NODES/1,3}" >far.json
rehearse simulate "${job[@]}" --on 0,2,4,6 --beside chat.json --steps 8 -o answer.json
sed -n '/"service"/,/"start_s"/p' answer.json
rehearse simulate "${job[@]}" --on 4-7 --beside far.json --steps 8 | head -n 17
echo "$service" | sed 's/NODES/1,4/; s/5\/s/5m/; s/tp8\/tp8/tp8x\/tp8/; s/"start"/"sart"/; s/: 40}/: 40, "experts_load": "steep"}/' >bad.json
rehearse simulate "${job[@]}" --on 0,2,4,6 --beside bad.json 2>&1
echo "exit $?"
echo "${service/NODES/1,4}" >near.json
rehearse simulate "${job[@]}" --on 0,2,4,6 --beside near.json 2>&1
echo "exit $?"
echo "${service/NODES/1-7}" >wide.json
rehearse simulate "${job[@]}" --on 0,2,4,6 --beside wide.json 2>&1
echo "exit $?"
echo "$service" | sed 's/NODES/1,4/; s/"deployment": "tp8.tp8", //' >forgot.json
rehearse simulate "${job[@]}" --on 0,2,4,6 --beside forgot.json 2>&1
echo "exit $?"
# A server of two nodes has its sums on the fabric, too.
echo "$service" | sed 's/NODES/1,3,5/; s/tp8\/tp8/tp16\/tp8/' >spans.json
rehearse simulate "${job[@]}" --on 0,2,4,6 --beside spans.json --steps 8 | head -n 17
rehearse simulate "${job[@]}" --on 0,2,4,6 --beside chat.json --beside far.json 2>&1
echo "exit $?"

#!/usr/bin/env bash
# Jobs on one fabric: on shared leaves they slow each other, on leaves of their own they do not.
fabric="h100-sxm:8x8,nvlink:450GB/s,ib:400Gb/s,leaf:4,oversub:4"
job=(-w llama-3.1-8b -p "$fabric" --gpus 32 --global-batch 32 --seq 4096 -s "tp8,dp4")
other='{"workload": "llama-3.1-8b", "layout": "tp8,dp4", "nodes": "NODES",
 "global_batch": 32, "sequence": 4096, "start": "50ms", "steps": 3}'
echo "${other/NODES/1,3,5,7}" >other.json
echo "${other/NODES/4-7}" >far.json
rehearse simulate "${job[@]}" --on 0,2,4,6 --beside other.json --steps 2 -o answer.json
grep -E '"(schema|name|start_s|steps_count|steps_performed_count|slowdown_frac|alike_count|met_count)"' answer.json |
    sed 's/^ *//' | head -n 14
rehearse simulate "${job[@]}" --on 0-3 --beside far.json | sed -n 1,6p
rehearse simulate "${job[@]}" --beside other.json 2>&1
echo "exit $?"
rehearse simulate "${job[@]}" --on 0-3 2>&1
echo "exit $?"
rehearse simulate "${job[@]}" --on 0-2 --beside far.json 2>&1
echo "exit $?"
echo '{"workload": "llama-3.1-8x", "layout": "tp8,dp4", "nodes": "5-9", "sequenze": 4096}' >bad.json
rehearse simulate "${job[@]}" --beside bad.json 2>&1
echo "exit $?"
rehearse simulate "${job[@]}" --on 0,2,4,6 --beside other.json --timeout 5ms 2>&1
echo "exit $?"
echo '{"workload": "llama-3.1-8b", "layout": "", "nodes": "4", "global_batch": 8, "sequence": 4096,
 "dtype": "", "start": "1e300s"}' >bad.json
rehearse simulate "${job[@]}" --beside bad.json 2>&1
echo "exit $?"
rehearse simulate "${job[@]}" --beside other.json -o other.json 2>&1
echo "exit $?"
# Neighbours that are wrong in one thing are told of that thing; one that would not run is rehearsed, and said.
wrong='{"name": "NAME", "workload": "llama-3.1-8b", "layout": "tp8,dp4", "nodes": "4-7", "global_batch": 0, "sequence": 4096}'
echo "${wrong/NAME/other}" >bad.json
rehearse simulate "${job[@]}" --beside bad.json 2>&1
echo "exit $?"
sed 's/"global_batch": 0/"global_batch": 32/; s/"other"/""/' bad.json >empty.json
rehearse simulate "${job[@]}" --beside empty.json 2>&1
echo "exit $?"
echo '[]' >bad.json
rehearse simulate "${job[@]}" --beside bad.json 2>&1
echo "exit $?"
echo '{"workload": "llama-3.1-70b", "layout": "tp8,dp4,zero0", "nodes": "4-7", "global_batch": 32, "sequence": 4096}' >large.json
rehearse simulate "${job[@]}" --beside large.json 2>&1 | sed -n 1,2p

#!/usr/bin/env bash
# Failures of components with their own times, planned stops, and nodes that come and go.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 --tokens 20B --step-time 1s -q)
try() {
    printf '$ rehearse run ... %s\n' "$*"
    rehearse run "${job[@]}" "$@" 2>&1
    echo "exit $?"
}
cat >rates.csv <<'END'
component,per_1000_node_days,nodes,detection,diagnosis,repair
GPU,100,1,,5min,2d
switch,20,2,30s,,4h
software,50,0,15s,,
END
cat >spot.csv <<'END'
seconds,event,node
0,add,a
0,add,b
20000,remove,b
30000,add,c
END
printf 'seconds,instances\n0,2\n50000,1\n' >few.csv
printf 'component,per_1000_node_days,detection\nGPU,1,soon\n' >soon.csv
printf 'component,per_1000_node_days\nGPU,0\n' >zero.csv
printf 'seconds,component\n10,laser\n' >laser.csv
try --failures rates.csv --policy spares --spares hot=2 --maintenance every=2d,lasts=3h | sed -n '1,2p;/where/,/^$/p'
try --mtbf 2h --detection 10min,software=15s,host=1min --diagnosis 5min,missed=20% | sed -n '1,2p;/where/,/^$/p'
try --spot spot.csv,price=0.91USD --mtbf 1000d --detection 1min | sed -n '1,3p;/where/,/^$/p'
try --spot spot.csv --mtbf 1000d --detection 1min --policy shrink -s tp4,mb1 --elastic even | sed -n '1,2p;/where/,/^$/p'
try --spot spot.csv --policy redundant -s tp4,pp2,mb1 | sed -n '1,2p'
try --spot few.csv
try --spot soon.csv
try --failures soon.csv
try --failures zero.csv
try --failures laser.csv
try --detection 10min,laser=1s
try --policy redundant
try --maintenance every=1d

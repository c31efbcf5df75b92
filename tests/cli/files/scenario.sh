#!/usr/bin/env bash
# What goes wrong, in words and in a file: settings of single GPUs and links.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
# shellcheck disable=SC2054
job=(-w tiny-llama.json -p two-nodes.json --global-batch 64 --seq 1024 --stack bare -s tp2,pp2,mb1 -q)
each=$(rehearse show platforms two-nodes.json --json | grep -m 1 -oE '"gpus_per_node": [0-9]+' | grep -oE '[0-9]+$')
step() { rehearse simulate "${job[@]}" "$@" | sed -n '1s/ms.*/ms/p'; }
step
echo "one straggler, three ways: $(step --scenario straggler:node1.gpu1=0.5) $(step --scenario "straggler:gpu$((each + 1))=0.5") $(step --set "gpu.$((each + 1)).speed=0.5")"
echo "a node: $(step --scenario straggler:node1=0.5) $(step --set node1.speed=50%)"
printf '# a bad day\nstraggler:node1.gpu1=0.5  # hot\n\n  link:nic/node0/0/tx=0.1\nnic.latency=9us\n' >day.txt
echo "a file: $(step --scenario day.txt) $(step --scenario straggler:node1.gpu1=0.5 --set link.nic/node0/0/tx=0.1 --set nic.latency=9us)"
rehearse simulate "${job[@]}" --scenario day.txt -o day.json >/dev/null
sed -n '/"sets"/,/]/p' day.json
rehearse explain day.json | head -n 1
for wrong in straggler:node9=0.9 straggler:node1.gpu8=0.9 straggler:node1.gpu1=2 straggler:rack1=0.9 flood:x=1 straggler:node1 link:nowhere=0.5 nofile.txt; do
    rehearse simulate "${job[@]}" --scenario "$wrong" 2>&1 | head -n 1
done
for line in '  flood:x=1' 'straggler:node9.gpu0=0.9' 'straggler:nodex=0.9' ' link:nowhere=0.5' 'nosuch=3'; do
    printf 'straggler:node1.gpu1=0.9\n%s\n' "$line" >bad.txt
    rehearse simulate "${job[@]}" --scenario bad.txt 2>&1 | sed -n 1p
    echo "exit ${PIPESTATUS[0]}"
done
rehearse simulate "${job[@]}" --scenario straggler:node1.gpu1=0.9 --set node1.gpu1.speed=0.8 2>&1
echo "exit $?"
# Blanks are no part of a place.
for wrong in 'node 1.speed=0.9' 'node1.gpu 1.speed=0.9' 'node1.speed =0.9' node+1.speed=0.9 node.speed=0.9 .speed=0.9; do
    rehearse simulate "${job[@]}" --set "$wrong" 2>&1 | head -n 2
done

#!/usr/bin/env bash
# A layout that stands in a file and is refused here is told with its place there.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --seq 1024)
rehearse plan "${job[@]}" --global-batch 32 --top 2 -q -o plan.json >/dev/null
printf '# a file, of tp3\nmb1, tp3 # no\n' >tp.txt
printf 'tp2,\npp2 # two\nschedule=gpipe' >schedule.txt
printf 'pp2' >short.txt
for layout in tp.txt schedule.txt short.txt; do
    rehearse simulate "${job[@]}" --global-batch 31 -s "$layout"
    echo "exit $?"
done
sed 's/"pp": [0-9]*,/"pp": 5,/' plan.json >wrong.json
rehearse simulate "${job[@]}" --global-batch 32 -s wrong.json#2 2>&1 | sed 's/:[0-9]*:/:LINE:/; s/^ *[0-9]* |/ |/; s/^ *-/-/; s/^ *|/ |/'
rehearse explain wrong.json 2>&1 | grep -c 'wrong.json:[0-9]*:15$'
# Words of the command line have no file.
rehearse simulate "${job[@]}" --global-batch 32 -s tp3
echo "exit $?"

echo 'a layout by a pipe:'
rehearse simulate -w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024 -s <(echo 'tp2,pp2 # two') -q 2>&1 | head -n 3

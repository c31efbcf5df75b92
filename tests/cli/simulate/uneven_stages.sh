#!/usr/bin/env bash
# The layers of each chunk, from the text to the file and back.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024)
rehearse show strategies pp2,vpp2,stages=1-2-3-2
rehearse simulate "${job[@]}" -s tp2,pp2,mb1,stages=3-5 -o run.json | head -n 3
rehearse simulate "${job[@]}" -s run.json --json | sed -n '/"stage_layers"/,/]/p'
rehearse explain run.json --what-if mb=2 | grep '^  changed: '
rehearse explain run.json --what-if pp=4 | grep '^  changed: '
rehearse explain run.json --what-if stages=even | grep '^  changed: '
rehearse explain run.json --what-if stages=2x4 --what-if pp=4 | grep '^  changed: '
rehearse simulate "${job[@]}" -s tp2,pp2,stages=3-4 2>&1
echo "exit $?"
rehearse simulate "${job[@]}" -s tp2,pp2,stages=3-five 2>&1
echo "exit $?"
rehearse simulate "${job[@]}" -s tp2,pp2,stages=0-8 2>&1
echo "exit $?"

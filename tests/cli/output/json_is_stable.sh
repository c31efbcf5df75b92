#!/usr/bin/env bash
# Equal inputs, seed and version give equal bytes; -j, -q, -o and colour change none.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
job=(-w tiny-llama.json -p two-nodes.json --global-batch 32 --seq 1024)
rehearse plan "${job[@]}" --json -j 1 >one.json
rehearse plan "${job[@]}" --json -j 2 -q --color always -o file.json >two.json
cmp one.json two.json && cmp one.json file.json && echo same
LC_ALL=de_DE.UTF-8 rehearse plan "${job[@]}" --json >three.json
cmp one.json three.json && echo same
head -c 60 one.json
sed -n 's/^  "\([a-z_]*\)":.*/\1/p' one.json

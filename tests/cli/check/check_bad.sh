#!/usr/bin/env bash
# All problems of all files, with places; exit 3.
cp "$CASES/inputs/bad-platform.json" "$CASES/inputs/bad-model.json" .
printf '{"a": 1} junk\n' >trailing.json
printf '{"color": "blue"}\n' >unknown.json
printf 'tp8,pp=many\n' >layout.txt
rehearse check bad-platform.json bad-model.json trailing.json unknown.json layout.txt 2>&1
echo "exit $?"
sed "s/\"vocab_size\": 32000/\"vocab_size\": []/" "$CASES/inputs/tiny-llama.json" >list.json
rehearse check list.json 2>&1
echo "exit $?"
# Heads that one head cannot be shared among, a month that no year has, a name that is none.
sed -E 's/("num_attention_heads"): *[0-9]+/\1: 1/' "$CASES/inputs/tiny-llama.json" >one-head.json
sed -E 's/"name": *"two-nodes"/"name": ""/; 0,/"date"/s/("date"): *"[^"]*"/\1: "2026-99"/' "$CASES/inputs/two-nodes.json" >nameless.json
rehearse check one-head.json nameless.json 2>&1
echo "exit $?"

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
# A configuration that is broken is told where it is.
printf '[model]\nname = "llama3\n' >broken.toml
printf 'a: [1\nb: 2\n' >broken.yaml
rehearse check broken.toml broken.yaml 2>&1
echo "exit $?"
# What a script names is read, and not written over.
cp "$CASES/inputs/launch/ds_config.json" .
printf 'deepspeed --num_gpus 8 train.py --deepspeed ds_config.json --model_name_or_path meta-llama/Llama-3.1-8B --max_seq_length 2048\n' >ds.sh
rehearse simulate --from ds.sh -p dgx-h100 -o ds_config.json 2>&1
echo "exit $?"
cmp "$CASES/inputs/launch/ds_config.json" ds_config.json
# YAML of no kind that is known is no broken JSON.
printf 'kind: Secret\ndata: {a: b}\n' >secret.yaml
rehearse check secret.yaml 2>&1
echo "exit $?"

#!/usr/bin/env bash
# Whether a model fits: trained and served, given and searched, and what makes it fit.
cp "$CASES/inputs/tiny-llama.json" "$CASES/inputs/two-nodes.json" .
rehearse memory -w tiny-llama.json -p two-nodes.json --seq 1024 -s tp2 -o one.json
rehearse memory -w tiny-llama.json -p two-nodes.json --seq 1024 | grep -A 4 '^layouts of'
grep -oE '"(schema|fits|room_makers|fitting)": *[^ ]+' one.json
rehearse memory -w llama-3.1-8b -p rtx-4090:1x1 -s recompute=full --set lora.rank=16 --set lora.base=nf4 |
    sed 's/ GiB.*//' | head -n 1
echo 'does not fit:'
rehearse memory -w llama-3.1-8b -p dgx-h100 -s tp2,zero1 --seq 16k || echo "exit $?"
rehearse memory -w llama-3.1-70b -p "a100-sxm-80:4x1,nvlink:300GB/s" --global-batch 64 || echo "exit $?"
echo 'served:'
rehearse memory -w llama-3.1-8b --serve -p dgx-h100 --gpus 1 --seq 4k
rehearse memory -w llama-3.1-405b --serve -p dgx-h100 || echo "exit $?"
echo 'refused:'
rehearse memory -w resnet-50 -p dgx-h100 --seq 9 || echo "exit $?"
rehearse memory -w llama-3.1-8b -p dgx-h100 -s tp3 || echo "exit $?"
rehearse memory -w llama-3.1-8b --serve -p dgx-h100 -s tp3 || echo "exit $?"

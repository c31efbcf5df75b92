#!/usr/bin/env bash
# Stages on different GPUs: a platform whose file lists its devices node by node.
cat > mixed.json <<'J'
{"name": "mixed", "derives": "dgx-h100",
 "devices": [{"nodes": 1, "device": "h100-sxm"}, {"nodes": 1, "device": "a100-sxm-80"}]}
J
rehearse check mixed.json | head -n 1
rehearse show platforms mixed.json | head -n 1
rehearse simulate -w llama-3.1-8b -p mixed.json --global-batch 64 --seq 4096 -q -s tp8,pp2,mb1 | head -n 4
rehearse simulate -w llama-3.1-8b -p mixed.json --global-batch 64 --seq 4096 -q -s tp8,pp2,mb1,partition=work | head -n 4
rehearse plan -w llama-3.1-8b -p mixed.json --global-batch 64 --seq 4096 -q --fix tp=8 --fix pp=2 --fix vpp=1 --fix mb=1 | head -n 5
rehearse simulate -w llama-3.1-8b -p mixed.json:4 --global-batch 64 --seq 4096 -q -s tp8,pp2,mb1
echo "exit $?"
rehearse serve-plan -w llama-3.1-8b -p mixed.json --rate 1/s --ttft "p99<1s" --tpot "p99<50ms" --lengths "in=1024,out=128" -q 2>&1 | head -n 1

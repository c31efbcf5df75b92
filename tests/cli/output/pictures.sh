#!/usr/bin/env bash
# Nets of convolutions: a sample is a picture, and nobody asks for its tokens.
rehearse plan -w resnet-50 -p dgx-h100:2 --global-batch 2048 -q | head -n 13
rehearse simulate -w amoebanet-d -p dgx-a100 --global-batch 64 -s tp1,pp4,mb4,partition=work -q | head -n 3
rehearse show workloads resnet-18 --set height=32 --set width=32 | head -n 8
rehearse show workloads vgg-16 --json | sed -n '/parameters_count/,/flops/p'
rehearse plan -w resnet-50 -p dgx-h100 --global-batch 2048 --seq 4096
echo "exit $?"
rehearse plan -w llama-3.1-8b -p dgx-h100 --global-batch 64
echo "exit $?"
rehearse plan -w resnet-50 -p dgx-h100 --global-batch 2048 --fix tp=2
echo "exit $?"
rehearse plan -w resnet-50 -p dgx-h100 --global-batch 2048 --dtype fp8
echo "exit $?"
rehearse show workloads resnet-50 --set heads=8
echo "exit $?"
cat > net.json <<'J'
{"model_type": "layers", "height": 32, "width": 32, "channels": 3, "classes": 10,
 "layers": [{"steps": [{"operator": "conv", "out": 16, "kernel": 3}]},
            {"steps": [{"operator": "conv", "out": 16, "groups": 3}]}]}
J
rehearse check net.json
echo "exit $?"

#!/usr/bin/env bash
# The answer is no: exit 1, and the smallest change.
rehearse plan -w llama-3.1-70b -p dgx-h100 --gpus 8 --global-batch 16 --seq 4096
echo "exit $?"
rehearse plan -w llama-3.1-70b -p dgx-h100 --gpus 8 --global-batch 16 --seq 4096 --json |
    sed -n '/"counts"/,/}/p;/"plans"/p;/"smallest_change"/,/}/p'
rehearse plan -w llama-3.1-8b -p dgx-h100:1 --global-batch 16 --seq 4096 --fix tp=2 --limit 'memory<=10%' |
    head -n 3

#!/usr/bin/env bash
# The answer is no: exit 1, and the smallest change.
rehearse plan -w llama-3.1-70b -p dgx-h100 --gpus 8 --global-batch 16 --seq 4096
echo "exit $?"
rehearse plan -w llama-3.1-70b -p dgx-h100 --gpus 8 --global-batch 16 --seq 4096 --json |
    sed -n '/"counts"/,/}/p;/"plans"/p;/"smallest_change"/,/}/p'
rehearse plan -w llama-3.1-8b -p dgx-h100:1 --global-batch 16 --seq 4096 --fix tp=2 --limit 'memory<=10%' |
    head -n 3
# What fits at all, but not as surely as asked, is told as that; the change brings one that is safe.
job=(-w llama-3.2-1b -p h100-sxm:1x1 --global-batch 20 --seq 4608 --fix recompute=none -q)
rehearse plan "${job[@]}" --fix mb=5 | grep -E '^best|^memory|^warning|^ +does'
rehearse plan "${job[@]}" --fix mb=5 --json | sed -n '/"smallest_change"/,/}/p'
rehearse plan "${job[@]}" | grep -E '^best|^warning'
rehearse plan "${job[@]}" --fix mb=5 --risk 60% | grep -E '^best|^warning'
echo 'within a limit:'
rehearse plan -w llama-3.2-1b -p dgx-h100:1 --global-batch 32 --seq 4096 --limit 'memory<=2%' | head -n 2
rehearse simulate -w llama-3.2-1b -p dgx-h100:1 --global-batch 32 --seq 4096 -s pp3 2>&1
